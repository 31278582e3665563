import { creditAccount } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import { councilBefore } from '#services/optimizations/refinement/before.ts';
import { refinableOf } from '#services/optimizations/refinement/offer.ts';
import type { Refinement } from '#services/optimizations/refinement/offer.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import { claimsToVoteOn } from '#services/optimizations/run/second-round.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Chance } from '#tests/support/chance.ts';
import { create } from './run-script.ts';

/** What the route that refines a result reads and decides in a world, as `begin.ts` does. */

/** As `Guards` of the memory bus. */
export type RefiningGuards = {
  /** A refinement waits until the one before has ended. */
  oneAtOnce: boolean;
  /** The id of a refinement is its number among those of its root. */
  numberedIds: boolean;
  /** An included refinement that began was a try. */
  countsTries: boolean;
};

export type Streams = {
  stateOf: (runId: string) => RunState | null;
  eventsOf: (runId: string) => readonly OptimizationEvent[];
  accountOf: (userId: string) => AccountState;
  /** The first one first. */
  refinementsOf: (rootId: string) => readonly string[];
};

/** One call of the route; a repeat of it has the same key and the same id. */
export type RefineCall = { rootId: string; fromId: string; key: string; id: string };

export function createRefining(streams: Streams, guards: RefiningGuards, chance: Chance) {
  const { stateOf, eventsOf, accountOf, refinementsOf } = streams;
  /** Seats whose model is no longer offered. */
  const gone = new Set<string>();
  /** By run; they are counted once, because a scored council changes no more. */
  const councils = new Map<string, ReturnType<typeof councilBefore>>();

  const statusOf = (runId: string): Refinement['status'] => {
    const state = stateOf(runId);
    if (state?.stage === 'draft') return 'pending';
    if (state?.stage !== 'closed') return 'processing';
    return state.outcome === 'not_started' ? 'failed' : state.outcome;
  };

  function rowOf(runId: string): Refinement {
    const begun = eventsOf(runId).find(({ type }) => type === 'ProcessingStarted');
    return {
      run_id: runId,
      status: statusOf(runId),
      price: createdOf(runId).price,
      started_at: begun?.type === 'ProcessingStarted' ? begun.data.startedAt : null,
    };
  }

  function createdOf(runId: string) {
    const [first] = eventsOf(runId);
    if (first?.type !== 'OptimizationCreated') throw new Error(`${runId} has not been created`);
    return first.data;
  }

  function nextId(rootId: string, key: string): string {
    const numbered = `${rootId}r${refinementsOf(rootId).length + 1}`;
    return guards.numberedIds ? numbered : `${numbered}-${key}`;
  }

  const isCounted = ({ status }: Refinement) => guards.countsTries || status === 'completed';

  function isInWork(runId: string): boolean {
    return ['pending', 'processing'].includes(statusOf(runId));
  }

  /** @throws Problem 404 */
  function requireShown({ rootId, fromId }: RefineCall): void {
    const isHidden = [rootId, fromId].some((runId) => {
      const state = stateOf(runId);
      return !state || !('hiddenAt' in state) || state.hiddenAt !== null;
    });
    if (isHidden) throw new Problem('not-found', 'There is no such run');
  }

  /** @throws Problem that keeps a refinement from being begun */
  function command(
    { rootId, fromId, key, id }: RefineCall,
    hold: (credits: number) => CreditCommand,
  ): OptimizationCommand {
    if (!eventsOf(fromId).some(({ type }) => type === 'ScoresComputed')) throw refused('no result');
    const root = createdOf(rootId);
    const account = accountOf(root.userId);
    const refinements = refinementsOf(rootId).map(rowOf);
    const council = councils.get(fromId) ?? councilBefore(fromId, eventsOf(fromId));
    councils.set(fromId, council);
    const { before, seats, contested } = council;
    const notOffered = seats.map(({ seat }) => seat).filter((seat) => gone.has(seat));
    const { allowed, reason, price } = refinableOf({
      rootPrice: root.price,
      refinements: refinements
        .filter((one) => guards.oneAtOnce || !isInWork(one.run_id))
        .map((one) => (isCounted(one) ? one : { ...one, started_at: null })),
      from: {
        runId: fromId,
        isRefinement: fromId !== rootId,
        completed: statusOf(fromId) === 'completed',
        erased: false,
        scored: before.scored,
      },
      seats: seats.length,
      offered: seats.length - notOffered.length,
      writers: true,
      debt: account.debts.reduce((sum, { credits }) => sum + credits, 0),
    });
    if (!allowed) throw refused(reason ?? '');
    if (price > 0) creditAccount.decide(hold(price), account);
    if (id !== nextId(rootId, key)) throw refused('begun by another call');
    const about = (['instruction', 'fact', 'contested'] as const)[chance.below(3)]!;
    const claimId = about === 'fact' ? chance.pick(before.ledger.claims)?.id : undefined;
    return create({
      userId: root.userId,
      price,
      seats,
      schedule: { ...root.schedule, extractors: [] },
      seed: uuidV5(before.seed, id).replaceAll('-', ''),
      sealed: { title: 'sealed title', challenge: 'sealed challenge' },
      refines: {
        root: rootId,
        previous: fromId,
        number: refinements.length + 1,
        about,
        ...(claimId === undefined ? {} : { claimId }),
        claims: claimsToVoteOn(before.ledger, contested, claimId),
        notOffered,
        before,
      },
    });
  }

  return { gone, nextId, isInWork, requireShown, command };
}

export function refused(why: string): Problem {
  return new Problem('not-refinable', why);
}
