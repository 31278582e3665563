import type {
  BiasAnalysis,
  Disagreement,
  Flaw,
  Objection,
  Rejected,
  RunResult,
} from '#services/optimizations/contract/result.ts';
import { listed } from '#services/models/seating/words.ts';
import { counted } from '#services/platform/numbers.ts';
import { quoted, seatName, seatNames } from './names.ts';
import type { Names } from './names.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';
import { undecidableOption } from '#services/optimizations/run/events.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';

/** What speaks against a result, in words: the same on its page and in its file. */

// ── objections ──────────────────────────────────────────────────────────────────────────────────

export const flawsTitle = 'What two or more models call a mistake';

export function replyWords({ reply, voted_for_since: since }: Flaw): string {
  const before =
    since.length === 0
      ? null
      : `Raised before the second vote, in which ${listed(since)} chose this option.`;
  if (reply === null) return before ?? 'No answer was written.';
  return [...(before === null ? [] : [before]), `The answer: ${reply}`].join(' ');
}

export function isListed(flaws: readonly Flaw[], { text }: { text: string }): boolean {
  return flaws.some(({ texts }) => texts.some((one) => one.text === text));
}

/** The one objection beside the decision; null where it is listed elsewhere on the page. */
export function headObjection({ heading, objection, flaws }: RunResult): Objection | null {
  if (objection === null || heading === 'no_majority') return null;
  return isListed(flaws, objection) ? null : objection;
}

/** "Objection to the recommendation, by GPT-6.1 Terra (S1)". */
export function objectionTitle(
  names: Names,
  heading: RunResult['heading'],
  objection: { seat: string } & Partial<Objection>,
): string {
  const what = heading === 'recommendation' ? 'the recommendation' : 'this answer';
  const about = objection.claim_id ? `a claim behind ${what}` : what;
  const when = objection.voted_for_since ? ' from before the second vote' : '';
  return `Objection to ${about}${when}, by ${objectorWords(names, objection)}`;
}

/** "GPT-6.1 Terra (S1), who voted for it all the same". */
export function objectorWords(
  names: Names,
  { seat, voted_for, voted_for_since }: Pick<Objection, 'seat'> & Partial<Objection>,
): string {
  const name = seatName(names, seat);
  if (voted_for_since) return `${name}, who then voted for it`;
  return voted_for ? `${name}, who voted for it all the same` : name;
}

/** What it says, after the claim that it is about. */
export function objectionWords(
  view: RunView,
  { text, claim_id: claim }: Pick<Objection, 'text' | 'claim_id'>,
): string {
  return claim === null ? text : `On ${quoted(claimText(view, claim))}: ${text}`;
}

// ── the minority ────────────────────────────────────────────────────────────────────────────────

type Minority = NonNullable<BiasAnalysis['minority_report']>;

export const minorityTitle = 'Minority report';

/** "3 models voted otherwise:", before the options that they voted for. */
export function minorityCount({ votes }: Minority): string {
  const count = votes.reduce((sum, { seats }) => sum + seats.length, 0);
  return `${counted(count, 'model')} voted otherwise:`;
}

/** An option of the minority: "2 for “Wait”: GPT-6.1 Terra (S1) and Grok 5 (R2)", and its best case. */
export function minorityVotes(
  names: Names,
  { votes }: Minority,
  areas: readonly Disagreement[],
): { votes: string; argument: string }[] {
  return votes.map(({ text, seats, argument }) => ({
    votes: `${seats.length} for ${quoted(text)}: ${seatNames(names, seats)}`,
    argument:
      argument === null
        ? 'None of them gave a reason.'
        : isQuoted(areas, argument.text)
          ? 'Their case is quoted with the divergences.'
          : `${seatName(names, argument.seat)} argues: ${argument.text}`,
  }));
}

function isQuoted(areas: readonly Disagreement[], text: string): boolean {
  return areas.some(({ sides }) => sides.some(({ quote }) => quote?.text === text));
}

/** What the minority calls a mistake in the chosen answer, unless it is said elsewhere on the page. */
export function minorityFlaws(
  { flaws, objection }: RunResult,
  report: Minority,
): { seat: string; text: string }[] {
  return report.flaws.filter((flaw) => !isListed(flaws, flaw) && flaw.text !== objection?.text);
}

// ── divergences ─────────────────────────────────────────────────────────────────────────────────

/** That there are camps, where the outcome does not say who is in which; null without camps. */
export function campsWords({ scores }: RunView): string | null {
  const isSaid = (scores?.verdict?.camps.length ?? 0) > 0;
  return scores?.twoCamps && !isSaid
    ? 'The reviewers form two camps, which rank the answers in opposite orders.'
    : null;
}

/** The divergences as they are listed: the decision first. */
export function divergencesOf({ disagreement_areas: areas }: BiasAnalysis): Disagreement[] {
  return areas.toSorted(
    (one, other) => Number(other.about === 'decision') - Number(one.about === 'decision'),
  );
}

export const noDivergences = "The models didn't split on anything.";

type Side = Disagreement['sides'][number];

/** Whose words a side's quote is, or that nobody on that side gave any. */
export function sideWords(names: Names, about: string, { stance, seats, quote }: Side): string {
  if (quote !== null) {
    const name = seatName(names, quote.seat);
    return quote.source === 'reason'
      ? `${name} wrote with its ${quote.earlier ? 'earlier ' : ''}vote:`
      : `From the ${quote.earlier ? 'first ' : ''}answer of ${name}:`;
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

/** Whose sureness alone makes a claim disputed; null where the votes do. */
export function firmWords(names: Names, { firm }: Disagreement): string | null {
  if (firm.length === 0) return null;
  const sure = firm.map(({ seat, percent }) => `${seatName(names, seat)} is ${percent}% sure`);
  return `Disputed although one side is small: ${listed(sure)}.`;
}

export const settledTitle = 'Both sides, and what would settle the question';

const holding: Readonly<Record<string, readonly [one: string, several: string]>> = {
  agree: ['agrees', 'agree'],
  disagree: ['disagrees', 'disagree'],
  unsure: ['is unsure', 'are unsure'],
};

// ── rejected claims ─────────────────────────────────────────────────────────────────────────────

export const rejectedTitle = 'Rejected claims';

/** "4 of 7 models disagree, 2 are unsure, 1 agrees." */
export function rejectedWords({ agree, unsure, against: { seats: disagree } }: Rejected): string {
  const total = agree.length + unsure.length + disagree.length;
  const rest = (stance: 'agree' | 'unsure', { length }: readonly string[]) =>
    length === 0 ? [] : [`${length} ${holding[stance]![length === 1 ? 0 : 1]}`];
  const most = `${disagree.length} of ${counted(total, 'model')} ${holding['disagree']![disagree.length === 1 ? 0 : 1]}`;
  return `${[most, ...rest('unsure', unsure), ...rest('agree', agree)].join(', ')}.`;
}

// ── what would change the result ────────────────────────────────────────────────────────────────

export const wouldChangeTitle = 'What would change this';

/** A claim, and who said that it would change its advice if that were false. */
export type ChangingClaim = {
  id: string;
  /** Of those who voted for the chosen option; of all, where none was chosen. */
  seats: readonly string[];
  /** Of those who voted otherwise: the result would only gain by their change. */
  others: readonly string[];
};

/** Claims that carry the advice of seats, those of most voters for the result first. */
export function changingClaims({ ledger, scores }: RunView): ChangingClaim[] {
  const chosen = chosenOption(scores);
  const votes = Object.entries(scores?.decision.votes ?? {});
  const votersOf = (isChosen: boolean) =>
    votes.flatMap(([option, seats]) =>
      (chosen === null || option === chosen) === isChosen ? seats : [],
    );
  const [winners, losers] = [votersOf(true), votersOf(false)];
  return Object.entries(ledger?.claims ?? {})
    .map(([id, { flips, importance }]) => ({
      id,
      importance,
      seats: flips.filter((seat) => winners.includes(seat)),
      others: flips.filter((seat) => losers.includes(seat)),
    }))
    .filter(({ seats, others }) => seats.length + others.length > 0)
    .toSorted(
      (one, other) =>
        other.seats.length - one.seats.length ||
        other.importance - one.importance ||
        other.others.length - one.others.length,
    )
    .map(({ id, seats, others }) => ({ id, seats, others }));
}

/** In v0.1 the option with most votes. */
export function chosenOption(scores: RunView['scores']): string | null {
  return (scores?.verdict ? scores.verdict.optionId : scores?.decision.modal) ?? null;
}

/** Over a claim of that list: who rests on it. */
export function restingTitle(view: RunView, claimId: string): string {
  const found = changingClaims(view).find(({ id }) => id === claimId);
  const chosen = chosenOption(view.scores);
  if (found?.seats.length === 0) return 'Models that voted otherwise rest on this:';
  return chosen === null || chosen === undecidableOption
    ? 'Models rest on this:'
    : 'The recommendation rests on this:';
}

/** "GPT-6.1 Terra (S1) and Claude Opus 5 (R2) would change their advice if this is wrong." */
export function changingWords(names: Names, { seats, others }: Omit<ChangingClaim, 'id'>): string {
  const change = (who: readonly string[]) =>
    `would change ${who.length === 1 ? 'its' : 'their'} advice if this is wrong`;
  const [mine, theirs] = [seatNames(names, seats), seatNames(names, others)];
  if (others.length === 0) return `${mine} ${change(seats)}.`;
  if (seats.length === 0) return `${theirs} voted otherwise, and ${change(others)}.`;
  return `${mine} ${change(seats)}. So would ${theirs}, which voted otherwise.`;
}
