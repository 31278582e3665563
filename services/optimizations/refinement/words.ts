import type { Optimization } from '#services/optimizations/contract.ts';
import { listed } from '#services/models/seating/words.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';

/** What refinements say in words: the same on their pages and in their files. */

export const changedTitle = 'What changed';
export const wouldChangeTitle = 'What would change this';

type Refined = NonNullable<Optimization['refines']>;

/** "Refinement 2 of 3", or without the total where it is unknown. */
export function refinementTitle(number: number, total: number): string {
  return total < number ? `Refinement ${number}` : `Refinement ${number} of ${total}`;
}

/** What the models were given, each with its label. */
export function givenFacts(
  view: RunView,
  { about, text, claim_id: claim, given_before: before, decision_before: decision }: Refined,
): { label: string; text: string }[] {
  const given = {
    instruction: 'The instruction',
    fact: 'The changed fact',
    contested: 'Given',
  }[about];
  return [
    {
      label: given,
      text: text ?? 'Nothing new. The models voted again on what they contested.',
    },
    ...(claim === null ? [] : [{ label: 'About', text: claimText(view, claim) }]),
    ...before.map((earlier) => ({ label: 'Given before', text: earlier })),
    ...(decision === null ? [] : [{ label: 'The decision before', text: decision }]),
  ];
}

/** Claims whose seats said that they would change their advice if they were false, most seats first. */
export function changingClaims({ ledger }: RunView): { id: string; seats: readonly string[] }[] {
  return Object.entries(ledger?.claims ?? {})
    .filter(([, { flips }]) => flips.length > 0)
    .toSorted(
      ([, one], [, other]) =>
        other.flips.length - one.flips.length || other.importance - one.importance,
    )
    .map(([id, { flips }]) => ({ id, seats: flips }));
}

/** "S1 and R2 would change their advice if this were false." */
export function changingWords(seats: readonly string[]): string {
  return `${listed(seats)} would change ${seats.length === 1 ? 'its' : 'their'} advice if this were false.`;
}
