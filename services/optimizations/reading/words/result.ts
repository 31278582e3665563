import type {
  BiasAnalysis,
  Flaw,
  NextStep,
  OptionSide,
  RunResult,
} from '#services/optimizations/contract/result.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { undecidableOption } from '#services/optimizations/run/events.ts';
import { listed } from '#services/models/seating/words.ts';
import { dateFormat } from '#services/platform/locale.ts';
import { counted } from '#services/platform/numbers.ts';
import { flawsTitle, isListed, objectionWords, objectorWords } from './doubts.ts';
import { quoted, seatName, seatNames } from './names.ts';
import { correctedOf } from '#services/optimizations/reading/view.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';

/** What a result says in words: the same on its page, in exports, in emails and on the command line. */

// ── the heading ─────────────────────────────────────────────────────────────────────────────────

type Counted = Pick<RunResult, 'heading' | 'votes_for' | 'votes_total' | 'seat'>;

/** The heading with its count. A run of v0.1 may know no votes. */
export function headingWords(result: Counted): string {
  const { heading, votes_for: votes, votes_total: total } = result;
  switch (heading) {
    case 'recommendation':
      return total === 0
        ? 'Recommendation'
        : `Recommended by ${votes} of ${counted(total, 'model')}${halfNote(result)}`;
    case 'no_majority':
      return 'No majority';
    case 'best_single_answer':
      return result.seat === null ? 'The option with most votes' : 'Best single answer';
    case 'undecidable':
      return 'Cannot be decided from what was given';
  }
}

/** The heading as lists say it; null without a result. */
export function outcomeOf(
  heading: RunResult['heading'] | null,
  { votes_for: votes, votes_total: total }: Pick<OptimizationSummary, 'votes_for' | 'votes_total'>,
  seat: string | null,
): string | null {
  if (heading === null) return null;
  if (heading === 'recommendation' && votes === null) return 'Recommended (votes on its page)';
  return headingWords({ heading, votes_for: votes ?? 0, votes_total: total ?? 0, seat });
}

/** Whether the decision is advice to follow, and no tie-break or missing fact. */
export function isAdvice({ heading }: Pick<RunResult, 'heading'>): boolean {
  return heading === 'recommendation' || heading === 'best_single_answer';
}

/** The vote behind the heading, who wrote the text below it and who checked that; a paragraph each. */
export function outcomeSentences(run: Optimization, result: RunResult): string[] {
  const unwritten = unwrittenWords(run, result);
  const about = unwritten ?? verifiedWords(run, result);
  return [...voteSentences(run.council, result), about];
}

/** Whether the decision of an open question says more than that it is open. */
export function saysMore({ heading, decision, decision_option: option }: RunResult): boolean {
  return heading === 'undecidable' && decision !== option;
}

function voteSentences(view: RunView, result: RunResult): string[] {
  const { heading, votes_for: votes, votes_total: total, decision_option: option } = result;
  if (heading === 'no_majority') return noMajoritySentences(view, result);
  if (total === 0 || option === null) return [];
  const count = `${votes} of ${counted(total, 'model')}`;
  const voted = result.decision === option ? 'it' : quoted(option);
  return [
    {
      recommendation: `They voted for ${voted}.`,
      undecidable: `${count} ${votes === 1 ? 'says' : 'say'} so${halfNote(result)}.`,
      best_single_answer: `${count} voted for ${voted}${halfNote(result)}.`,
    }[heading],
  ];
}

/** Why the option with most votes was not chosen: it needs most models, most makers, and no camp against it. */
function noMajoritySentences(view: RunView, result: RunResult): string[] {
  const { most, first, count } = leadOf(result);
  const tie = `${count} options have ${counted(most, 'vote')} each`;
  if (count > 1) return [`${tie}, so none of them is recommended.`];
  const lead = `${most} of ${counted(result.votes_total, 'model')} voted for ${quoted(first?.text ?? '')}. It is not recommended, because`;
  const [one = [], other = []] = view.scores?.verdict?.camps ?? [];
  if (one.length === 0)
    return [
      `${lead} models of one maker share weight, and counted by makers it is not ahead of all others.`,
    ];
  return [
    `${lead} the models form two camps: each ranks the answers much alike, against the order of the other. An option is recommended only if neither camp prefers another one.`,
    `One camp is ${campWords(view, result, one)}.`,
    `The other is ${campWords(view, result, other)}.`,
  ];
}

/** "GPT-6.1 Terra (S1) and Grok 5 (R2): 1 vote for “A”, 1 vote for “B”". */
function campWords({ seats }: RunView, { options }: RunResult, camp: readonly string[]): string {
  const votes = options.flatMap(({ text, voters }) => {
    const count = voters.filter((seat) => camp.includes(seat)).length;
    return count === 0 ? [] : [`${counted(count, 'vote')} for ${quoted(text)}`];
  });
  return `${seatNames(seats, camp)}: ${votes.join(', ')}`;
}

/** The option with most votes by heads, and how many have as many. */
function leadOf({ options }: Pick<RunResult, 'options'>) {
  const most = Math.max(0, ...options.map(({ voters }) => voters.length));
  const leading = options.filter(({ voters }) => voters.length === most);
  return { most, first: leading[0], count: leading.length };
}

function halfNote({ votes_for: votes, votes_total: total }: Counted): string {
  return votes * 2 > total ? '' : '; no option has more than half';
}

/** Why a page without a checked recommendation looks as it does; null on any other. */
function unwrittenWords(run: Optimization, result: RunResult): string | null {
  const end = run.council.conclusion;
  const isUnwritten = end?.draftFailed ?? result.heading === 'best_single_answer';
  if (!isUnwritten && result.seat === null) return null;
  const because =
    end?.reason === 'no_ledger'
      ? "The claims couldn't be merged"
      : 'No text about this vote passed its checks';
  return result.seat === null
    ? `${because}, so this page is put together from the votes and the answers.`
    : `${because}, so this page shows the answer of ${seatName(run.models, result.seat)}, unchanged.`;
}

/** Who compared the text with what, and what they found. */
function verifiedWords(
  { evolution, council }: Optimization,
  { heading, verified }: RunResult,
): string {
  const text = heading === 'recommendation' ? 'the recommendation' : 'the text below';
  const points = evolution.bias?.consensus_points ?? [];
  if (points.length === 0)
    return `The models agree on no claim, so there was nothing to check ${text} against.`;
  const said = correctedOf(council).map(({ id }) => id);
  const agreed = points.filter(({ claim_id: id }) => !said.includes(id)).length;
  const against = [
    ...(agreed === 0
      ? []
      : [`${agreed === 1 ? 'the claim' : `the ${agreed} claims`} that the panel agrees on`]),
    ...(said.length === 0
      ? []
      : [`what ${council.shared ? 'was' : 'you'} said about ${listed(said)}`]),
  ].join(' and with ');
  const found = `compared ${text} with ${against}${said.length === 0 ? '' : ','} and found no contradiction.`;
  return {
    two: `Two other models ${found}`,
    one: `One other model ${found}`,
    self: `Only the model that wrote ${text} has checked it.`,
    none: `No other model has checked ${text}.`,
    nothing_to_verify: '',
  }[verified];
}

/** Stands beside every agreement score. */
export const agreementCaution = 'Agreement is not correctness.';

/** Whether one answer is clearly first, or why none is; null before the reviews are counted. */
export function winnerWords({ scores, seats, ledger }: RunView): string | null {
  if (scores === null) return null;
  const first = scores.order[0] ?? '';
  const chosen = scores.verdict ? ledger?.options[scores.verdict.optionId ?? ''] : null;
  const place = `the reviewers place the answer of ${seatName(seats, first)} clearly first`;
  return {
    clear:
      chosen === null || chosen?.seats.includes(first)
        ? `Clear winner: ${place}.`
        : `T${place.slice(1)}, but the vote does not choose its option.`,
    tied_orders: 'No clear winner among the answers: the rankings fit more than one order.',
    orders_differ:
      'No clear winner among the answers: two ways of ordering them place different ones first.',
    narrow_margin: 'No clear winner among the answers: the top two rank too closely.',
    no_rank_agreement:
      'No clear winner among the answers: the reviewers rank them too differently.',
    not_enough_comparisons: 'Clear winner not judged: too few reviewers compared the same answers.',
    copies: 'Clear winner not judged: too few different models sit on the panel.',
  }[scores.clearWinnerReason];
}

/** What ordered the answers. */
export function orderingWords({ ordering }: Pick<BiasAnalysis, 'ordering'>): string {
  return ordering === 'kemeny'
    ? 'The answers are in the order that contradicts the fewest comparisons of the reviewers.'
    : 'The answers are in the order of their win rates.';
}

export const indicatorsTitle = 'Bias indicators';

/** "Leniency: spread 0.42 points". */
export function indicatorWords({ name, value }: BiasAnalysis['indicators'][number]): string {
  return `${name}: ${value ?? 'not measured'}`;
}

// ── options and steps ───────────────────────────────────────────────────────────────────────────

export const optionsTitle = 'The options side by side';

/** What is known about an option that no majority decided on. */
export function optionFacts(
  view: RunView,
  { voters, answer, objection, settled_by: settled }: OptionSide,
  flaws: readonly Flaw[],
): { title: string; text: string }[] {
  return [
    { title: counted(voters.length, 'vote'), text: seatNames(view.seats, voters) },
    ...(answer === null
      ? []
      : [
          { title: `Best case for it, by ${seatName(view.seats, answer.seat)}`, text: answer.text },
        ]),
    objection === null
      ? { title: 'Objection', text: 'No reviewer wrote one.' }
      : {
          title: `Objection${objection.claim_id === null ? '' : ' to one of its claims'}, by ${objectorWords(view.seats, objection)}`,
          text: isListed(flaws, objection)
            ? `It is under “${flawsTitle}”.`
            : objectionWords(view, objection),
        },
    { title: 'What would settle it', text: settled ?? 'No model named a fact.' },
  ];
}

export const tieBreakTitle = 'If you must decide today';

/** Why it is this option: others cannot decide, it has most votes, or the order of the answers chose. */
export function tieBreakNote({ scores }: RunView, result: RunResult): string {
  const { options, tie_break: chosen, votes_total: total } = result;
  const votesOf = (id: string | null) =>
    options.find((option) => option.option_id === id)?.voters.length ?? 0;
  const [votes, open] = [votesOf(chosen), votesOf(undecidableOption)];
  const { most, count } = leadOf(result);
  const hasCamps = (scores?.verdict?.camps.length ?? 0) > 0;
  const leads = hasCamps ? 'in a camp' : 'by models or by makers';
  const order = `Of the options that lead ${leads}, the reviewers placed the answer of this one first.`;
  if (open === most) {
    const said = `${open} of ${total} ${open === 1 ? 'says' : 'say'} it cannot be decided; of the others, ${votes} chose this. It is no recommendation.`;
    const others = options.filter(({ option_id: id }) => id !== chosen && id !== undecidableOption);
    return others.every(({ voters }) => voters.length < votes) ? said : `${said} ${order}`;
  }
  if (count > 1 && votes === most)
    return `This is a tie-break: ${count} options have ${counted(most, 'vote')} each, and the order in which the reviewers placed the answers chooses between them.`;
  return hasCamps
    ? `This is the option with most votes, ${most} of ${total}. It is no recommendation, because one camp prefers another one.`
    : `This is a tie-break: no option is alone in first place both by models and by makers. ${order}`;
}

/** The option of the tie-break in words; null without one. */
export function tieBreakOption({ tie_break: chosen, options }: RunResult): string | null {
  return options.find(({ option_id: id }) => id === chosen)?.text ?? null;
}

/** Without a majority the steps belong to the option of the tie-break. */
export function stepsTitle({ heading }: Pick<RunResult, 'heading'>): string {
  return heading === 'no_majority' ? 'Next steps, if you decide today' : 'Next steps';
}

/** Everything about a step but its action, each with its label. */
export function stepFacts(
  { owner, by_days: days, measure, stop_if: stop }: NextStep,
  endedAt: string | null,
  locale?: string,
): { label: string; text: string }[] {
  return [
    { label: 'Who', text: owner === 'you' ? '' : owner },
    { label: 'By', text: endedAt === null || days === null ? '' : dayAfter(endedAt, days, locale) },
    { label: 'Measure', text: measure },
    { label: 'Stop if', text: stop },
  ].filter(({ text }) => text !== '');
}

/** "December 7, 2026": so many days after a moment, in UTC, so that all readers see one date. */
function dayAfter(at: string, days: number, locale: string | undefined): string {
  const day = new Date(Date.parse(at) + days * 86_400_000);
  return dateFormat({ dateStyle: 'long', timeZone: 'UTC' }, locale).format(day);
}

export const missingTitle = 'What the models would need to know';

/** What nobody knows, without the facts and claims that a result lists elsewhere. */
export function openPoints(result: RunResult, bias: BiasAnalysis): string[] {
  const factors = bias.uncertainty_factors.filter(
    ({ kind }) =>
      kind !== 'flips' && (kind !== 'missing_info' || result.missing_facts.length === 0),
  );
  return [...new Set([...result.uncertainties, ...factors.map(({ text }) => text)])];
}
