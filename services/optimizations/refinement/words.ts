import type { Optimization } from '#services/optimizations/contract.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';

/** What refinements say in words: the same on their pages and in their files. */

export const changedTitle = 'What changed';

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
