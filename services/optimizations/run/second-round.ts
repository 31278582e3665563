import type { CouncilInput } from '#services/optimizations/council/council.ts';
import { refinedClaims } from './events.ts';
import type { Ledger, Refines, SecondVote } from './events.ts';
import { mergedBallots } from './second-ballot.ts';
import { reviewSlot } from './slots.ts';
import type { At } from './state.ts';

/**
 * A refinement votes again on what matters most and keeps everything else: the answers, their order,
 * and every vote that was not given again (`docs/decisions/0046-refinement.md`).
 */
type Refining = At<'reviews'> & { refines: Refines };

export function isRefining(state: At<'reviews'>): state is Refining {
  return state.refines !== undefined;
}

/**
 * The claims that a refinement votes on: the one that a changed fact is about, then those of importance
 * 3, then contested ones, then those that would change an answer.
 *
 * @param contested claim ids
 */
export function claimsToVoteOn(
  { claims }: Pick<Ledger, 'claims'>,
  contested: readonly string[],
  changed?: string,
): string[] {
  const rules: ((claim: Ledger['claims'][number]) => boolean)[] = [
    ({ id }) => id === changed,
    ({ id, importance }) => importance === 3 && contested.includes(id),
    ({ importance }) => importance === 3,
    ({ id }) => contested.includes(id),
    ({ flips }) => flips.length > 0,
  ];
  const chosen = rules.flatMap((rule) => claims.filter(rule).map(({ id }) => id));
  return [...new Set(chosen)].slice(0, refinedClaims);
}

/** The votes of this refinement alone, by seat. */
export function secondVotes(state: At<'reviews'>): Record<string, SecondVote> {
  return Object.fromEntries(
    state.accepted.flatMap((seat) => {
      const outcome = state.calls[reviewSlot(seat)]?.outcome;
      return outcome?.kind === 'second_vote' ? [[seat, outcome] as const] : [];
    }),
  );
}

/** All ballots as they now are, in the order of the root because nobody ranks again. */
export function secondCouncil(
  { seats, schedule, refines: { before } }: Refining,
  votes: Readonly<Record<string, SecondVote>>,
  isComplete: boolean,
): CouncilInput {
  const process = before.process.filter((fact) => fact !== votesMissing);
  return {
    seed: before.seed,
    seats,
    ballots: mergedBallots(before, votes),
    ledger: { ...before.ledger, scored: before.scored },
    opinions: before.opinions,
    reviewOrder: { order: before.order, offsets: before.offsets },
    minFamilies: schedule.minFamilies,
    process: [...process, ...(isComplete ? [] : [votesMissing])],
  };
}

const votesMissing = 'votes_missing';
