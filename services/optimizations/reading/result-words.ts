import type {
  BiasAnalysis,
  Disagreement,
  Flaw,
  NextStep,
  Objection,
  Optimization,
  OptionSide,
  RunResult,
} from '#services/optimizations/contract.ts';
import type { Vote } from '#services/optimizations/run/events.ts';
import { claimText, fatalFlawsOf } from './texts.ts';
import { ballotOf } from './view.ts';
import type { RunView } from './view.ts';

/** What a result says in words: the same on its page, in exports, in emails and on the command line. */

export type Names = readonly { seat: string; name: string }[];

/** "GPT-6.1 Terra (S1)". */
export function seatName(names: Names, seat: string): string {
  const name = names.find((one) => one.seat === seat)?.name;
  return name === undefined ? seat : `${name} (${seat})`;
}

export function seatNames(names: Names, seats: readonly string[]): string {
  return listed(seats.map((seat) => seatName(names, seat)));
}

/** "S1", "S1 and R2", "S1, R2 and I1". */
export function listed(items: readonly string[]): string {
  if (items.length < 2) return items[0] ?? '';
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

// ── the heading ─────────────────────────────────────────────────────────────────────────────────

type Counted = Pick<RunResult, 'heading' | 'votes_for' | 'votes_total'>;

/** The heading with its count. A run of v0.1 may know no votes. */
export function headingWords(result: Counted): string {
  const { heading, votes_for: votes, votes_total: total } = result;
  switch (heading) {
    case 'recommendation':
      return total === 0
        ? 'Recommendation'
        : `Recommended by ${votes} of ${models(total)}${halfNote(result)}`;
    case 'no_majority':
      return 'No majority';
    case 'best_single_answer':
      return 'Best single answer';
    case 'undecidable':
      return 'Cannot be decided from what was given';
  }
}

/** Whether the decision is advice to follow, and no tie-break or missing fact. */
export function isAdvice({ heading }: Pick<RunResult, 'heading'>): boolean {
  return heading === 'recommendation' || heading === 'best_single_answer';
}

/** The vote behind the heading; null where a run of v0.1 knows none. */
export function voteWords(view: RunView, result: RunResult): string | null {
  const { heading, votes_for: votes, votes_total: total, decision_option: option } = result;
  if (heading === 'no_majority') return noMajorityWords(view, result);
  if (total === 0 || option === null) return null;
  const count = `${votes} of ${models(total)}`;
  const named = `“${option.replace(/\.$/, '')}”`;
  return {
    recommendation: `They voted for ${named}.`,
    undecidable: `${count} ${votes === 1 ? 'says' : 'say'} so${halfNote(result)}.`,
    best_single_answer: `${count} voted for ${named}${halfNote(result)}.`,
  }[heading];
}

/** Why the option with most votes was not chosen: it needs most models, most makers, and every camp. */
function noMajorityWords(view: RunView, { options, votes_total: total }: RunResult): string {
  const most = Math.max(...options.map(({ voters }) => voters.length));
  const [first, ...others] = options.filter(({ voters }) => voters.length === most);
  if (others.length > 0)
    return `${others.length + 1} options have ${most} ${most === 1 ? 'vote' : 'votes'} each.`;
  const lead = `“${first?.text ?? ''}” has most votes, ${most} of ${total}`;
  return view.scores?.twoCamps && view.scores.decision.modal === first?.option_id
    ? `${lead}, but the reviewers form two camps that favor different options.`
    : `${lead}, but models of one maker count for less, and by makers it does not lead.`;
}

function models(count: number): string {
  return count === 1 ? '1 model' : `${count} models`;
}

function halfNote({ votes_for: votes, votes_total: total }: Counted): string {
  return votes * 2 > total ? '' : '; no option has more than half';
}

/** Why a page without a checked recommendation looks as it does; null on any other. */
export function unwrittenWords(run: Optimization, result: RunResult): string | null {
  const end = run.council.conclusion;
  const isUnwritten = end?.draftFailed ?? result.heading === 'best_single_answer';
  if (!isUnwritten && result.seat === null) return null;
  const because =
    end?.reason === 'no_ledger'
      ? 'The claims of the answers could not be merged'
      : 'No text about this vote passed its checks';
  return result.seat === null
    ? `${because}, so this page is put together from the votes and the answers.`
    : `${because}, so this page shows the answer of ${seatName(run.models, result.seat)}, unchanged.`;
}

/** Who checked the recommendation; null where none was written. */
export function verifiedWords(run: Optimization, result: RunResult): string | null {
  if (unwrittenWords(run, result) !== null) return null;
  return {
    two: 'Two other models checked it against what the panel agreed on.',
    one: 'One other model checked it against what the panel agreed on.',
    self: 'Checked only by the model that wrote it.',
    none: 'Not independently checked.',
    nothing_to_verify: 'The models agreed on no claim, so there was nothing to check it against.',
  }[result.verified];
}

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
    tied_orders: 'No clear winner: the rankings fit more than one order of the answers.',
    orders_differ: 'No clear winner: two ways of ordering the answers place different ones first.',
    narrow_margin: 'No clear winner: the first answers are too close.',
    no_rank_agreement: 'No clear winner: the reviewers rank the answers too differently.',
    not_enough_comparisons: 'Clear winner not judged: too few reviewers compared the same answers.',
    // Why copies say little stands in the note of the score.
    copies: 'Clear winner not judged.',
  }[scores.clearWinnerReason];
}

// ── objections and divergences ──────────────────────────────────────────────────────────────────

/** "Strongest objection, by GPT-6.1 Terra (S1)". */
export function objectionTitle(
  names: Names,
  { seat, voted_for_since: isBefore }: Pick<Objection, 'seat' | 'voted_for_since'>,
): string {
  const title = isBefore ? 'Strongest objection before the second vote' : 'Strongest objection';
  return `${title}, by ${seatName(names, seat)}`;
}

/** What it says, after the claim that it is about. */
export function objectionWords(view: RunView, { text, claim_id: claim }: Objection): string {
  return claim === null ? text : `On “${claimText(view, claim).replace(/\.$/, '')}”: ${text}`;
}

export const flawsTitle = 'What two or more models call a mistake';

/** What the reviewers wrote, each text once with all who wrote it; empty once the texts are erased. */
export function flawTexts(
  { council }: Optimization,
  { about_seat: about, reviewers }: Flaw,
): { seats: string[]; text: string }[] {
  const authors = new Map<string, string[]>();
  for (const seat of reviewers)
    for (const text of fatalFlawsOf(council, seat, about))
      authors.set(text, [...(authors.get(text) ?? []), seat]);
  return [...authors].map(([text, seats]) => ({ seats, text }));
}

export function replyWords({ reply, voted_for_since: since }: Flaw): string {
  const before =
    since.length === 0
      ? null
      : `Raised before the second vote, in which ${listed(since)} chose this option.`;
  if (reply === null) return before ?? 'No answer was written.';
  return [...(before === null ? [] : [before]), `The answer: ${reply}`].join(' ');
}

export const campsWords = 'The models split into two camps.';

/** The divergences as they are listed: the decision first. */
export function divergencesOf({ disagreement_areas: areas }: BiasAnalysis): Disagreement[] {
  return areas.toSorted(
    (one, other) => Number(other.about === 'decision') - Number(one.about === 'decision'),
  );
}

type Side = Disagreement['sides'][number];

/** Whose words a side's quote is, or that nobody on that side gave any. */
export function sideWords(names: Names, about: string, { stance, seats, quote }: Side): string {
  if (quote !== null) {
    const name = seatName(names, quote.seat);
    return quote.source === 'reason'
      ? `${name} wrote with its vote:`
      : `From the answer of ${name}:`;
  }
  const [one, several] =
    about === 'decision'
      ? ['voted for this', 'voted for this']
      : (holding[stance] ?? [stance, stance]);
  return `${seatNames(names, seats)} ${seats.length === 1 ? one : several} and gave no reason.`;
}

/** Stances on a claim are three fixed words; on the decision they are the options. */
export function stanceWord(stance: string): string {
  return { agree: 'Agree', disagree: 'Disagree', unsure: 'Unsure' }[stance] ?? stance;
}

export const settledTitle = 'Both sides, and what would settle the question';

const holding: Readonly<Record<string, readonly [one: string, several: string]>> = {
  agree: ['agrees', 'agree'],
  disagree: ['disagrees', 'disagree'],
  unsure: ['is unsure', 'are unsure'],
};

// ── options and steps ───────────────────────────────────────────────────────────────────────────

export const optionsTitle = 'The options side by side';

/** What is known about an option that no majority decided on. */
export function optionFacts(
  view: RunView,
  { voters, answer, objection, settled_by: settled }: OptionSide,
): { title: string; text: string }[] {
  return [
    {
      title: voters.length === 1 ? '1 vote' : `${voters.length} votes`,
      text: seatNames(view.seats, voters),
    },
    ...(answer === null
      ? []
      : [
          { title: `Best case for it, by ${seatName(view.seats, answer.seat)}`, text: answer.text },
        ]),
    objection === null
      ? { title: 'Strongest objection', text: 'No reviewer wrote one.' }
      : { title: objectionTitle(view.seats, objection), text: objectionWords(view, objection) },
    { title: 'What would settle it', text: settled ?? 'No model named a fact.' },
  ];
}

export const tieBreakTitle = 'If you must decide today';
export const tieBreakNote =
  'This is a tie-break. It is chosen by the order in which the reviewers placed the answers, because the vote chose no option.';

/** The option of the tie-break in words; null without one. */
export function tieBreakOption({ tie_break: chosen, options }: RunResult): string | null {
  return options.find(({ option_id: id }) => id === chosen?.option_id)?.text ?? null;
}

/** Without a majority the steps belong to the option of the tie-break. */
export function stepsTitle({ heading }: Pick<RunResult, 'heading'>): string {
  return heading === 'no_majority' ? 'Next steps, if you decide today' : 'Next steps';
}

/** Everything about a step but its action, each with its label. */
export function stepFacts(
  { owner, by_days: days, measure, stop_if: stop }: NextStep,
  endedAt: string | null,
): { label: string; text: string }[] {
  return [
    { label: 'Who', text: owner === 'you' ? '' : owner },
    { label: 'By', text: endedAt === null || days === null ? '' : dayAfter(endedAt, days) },
    { label: 'Measure', text: measure },
    { label: 'Stop if', text: stop },
  ].filter(({ text }) => text !== '');
}

/** "December 7, 2026": so many days after a moment, in UTC, so that all readers see one date. */
function dayAfter(at: string, days: number): string {
  const day = new Date(Date.parse(at) + days * 86_400_000);
  return new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' }).format(day);
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

/** What the minority has against the top answer, unless it is listed among the mistakes. */
export function minorityFlaws(
  { flaws }: RunResult,
  report: NonNullable<BiasAnalysis['minority_report']>,
): { seat: string; text: string }[] {
  const listedOnes = new Set(flaws.flatMap(({ texts }) => texts));
  return report.flaws.filter(({ text }) => !listedOnes.has(text));
}

/** What seats wrote with their votes on a claim, in the order of the panel. */
export function reasonsOn(
  view: RunView,
  claimId: string,
): { seat: string; stance: Vote['stance']; text: string }[] {
  return view.seats.flatMap(({ seat }) => {
    const vote = ballotOf(view, seat)?.votes[claimId];
    return vote?.reason ? [{ seat, stance: vote.stance, text: vote.reason }] : [];
  });
}
