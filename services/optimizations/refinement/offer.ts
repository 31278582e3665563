import type { RunRow } from '#projections/optimization-list.ts';
import { reviewsQuorum } from '#services/optimizations/council/quorum.ts';
import type { Refinable } from '#services/optimizations/contract/summary.ts';
import { isOpenStatus } from '#services/optimizations/contract/summary.ts';
import { laterRefinementPrice, refinementTerms } from './price.ts';

/** What the next refinement of a run would cost, and what keeps it from being begun. */

export type Refinement = Pick<RunRow, 'run_id' | 'status' | 'price' | 'started_at'>;

/** Everything that decides whether a run can be refined now. */
export type RefinementFacts = {
  /** Of the root, in credits. */
  rootPrice: number;
  /** All of the root's, the first one first. */
  refinements: readonly Refinement[];
  /** The run whose result is refined. */
  from: {
    runId: string;
    isRefinement: boolean;
    completed: boolean;
    erased: boolean;
    /** Its claims were merged. */
    scored: boolean;
  };
  /** Seats of its vote, and how many of their models are still offered. */
  seats: number;
  offered: number;
  /** The models that write and check the recommendation are offered. */
  writers: boolean;
  debt: number;
};

/** Bounds how many streams a refinement is read from; one that never started is in none of them. */
const mostRefinements = 20;

/**
 * The price of a run covers one refinement, which is used up when it completes, and three tries at
 * most; a try that was cancelled before it began is none.
 */
export function refinementPrice(
  rootPrice: number,
  refinements: readonly Pick<Refinement, 'status' | 'price' | 'started_at'>[],
): number {
  const tries = refinements.filter((one) => one.price === 0 && one.started_at !== null);
  const isLeft =
    tries.length < refinementTerms.tries && !tries.some(({ status }) => status === 'completed');
  return isLeft ? 0 : laterRefinementPrice(rootPrice);
}

export function refinableOf(facts: RefinementFacts): Refinable {
  const reason = obstacle(facts);
  return {
    allowed: reason === null,
    reason,
    price: refinementPrice(facts.rootPrice, facts.refinements),
    running_id: openRefinement(facts.refinements)?.run_id ?? null,
  };
}

/** The one that has not ended; a root has one at most. */
export function openRefinement<One extends Pick<Refinement, 'status'>>(
  refinements: readonly One[],
): One | undefined {
  return refinements.find(({ status }) => isOpenStatus(status));
}

function obstacle(facts: RefinementFacts): string | null {
  const { from, refinements, seats, offered } = facts;
  const newest = refinements.findLast(({ status }) => status === 'completed');
  if (!from.completed) return 'Only a completed run can be refined.';
  if (from.erased) return 'The texts of this run have been erased.';
  if (!from.scored)
    return 'The claims of this run could not be merged, so there is nothing to vote on again.';
  if (openRefinement(refinements))
    return 'A refinement of this run is in progress. Wait until it ends, or cancel it.';
  if (from.isRefinement && newest?.run_id !== from.runId)
    return 'There is a newer refinement. Refine that one, or the run itself.';
  if (refinements.filter((one) => one.started_at !== null).length >= mostRefinements)
    return `A run can be refined ${mostRefinements} times at most.`;
  if (!reviewsQuorum(seats, offered))
    return `Only ${offered} of its ${seats} models are still offered, too few for a vote.`;
  if (!facts.writers)
    return 'A model that writes or checks the recommendation is no longer offered.';
  return facts.debt > 0 ? 'You owe credits. Buy credits first, which settles the debt.' : null;
}
