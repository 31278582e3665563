import type { ClaimRow } from '#services/optimizations/contract/claims.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';
import { ballotOf, correctedOf } from '#services/optimizations/reading/view.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { wholePercent } from '#services/platform/numbers.ts';

/** The claims of a run with their votes: the same in the table of its page and in its files. */

export const importanceWords: Readonly<Record<ClaimRow['importance'], string>> = {
  1: 'minor',
  2: 'matters',
  3: 'decisive',
};

/** Beside the claim on the page; the API and the CSV keep the value. */
export const outcomeWords: Readonly<Record<ClaimRow['outcome'], string>> = {
  agreed: 'agreed',
  majority: 'most agree',
  disputed: 'disputed',
  rejected: 'rejected',
  uncertain: 'uncertain',
  unscored: 'not scored',
};

/** In the order of the ledger; empty without one. */
export function claimRows(view: RunView): ClaimRow[] {
  return Object.entries(view.ledger?.claims ?? {}).map(([id, claim]) => {
    const share = view.scores?.claims[id]?.agreeShare ?? null;
    return {
      id,
      text: claimText(view, id),
      importance: claim.importance,
      outcome: outcomeOf(view, id),
      agree_percent: share === null ? null : wholePercent(share),
      authors: [...claim.authors],
      votes: view.seats.map(({ seat, name, simulated }) => {
        const vote = ballotOf(view, seat)?.votes[id];
        return {
          seat,
          name,
          simulated,
          stance: vote?.stance ?? null,
          reason: vote?.reason ?? null,
        };
      }),
      quotes: claim.quotes.map(({ seat, quote }) => ({ seat, text: quote })),
      changed_fact: correctedOf(view).find((corrected) => corrected.id === id)?.fact ?? null,
    };
  });
}

/** In which list of the result a claim is. */
function outcomeOf({ scores }: RunView, id: string): ClaimRow['outcome'] {
  const share = scores?.claims[id]?.agreeShare ?? null;
  if (scores === null) return 'unscored';
  if (scores.disagreements.some(({ about }) => about === id)) return 'disputed';
  if (scores.consensus.includes(id)) return 'agreed';
  if (scores.uncertainty.some(({ kind, ref }) => kind === 'unsure_claim' && ref === id))
    return 'uncertain';
  if (share === null) return 'unscored';
  return share < 1 / 2 ? 'rejected' : 'majority';
}
