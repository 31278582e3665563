import type pg from 'pg';
import { readBalance } from '#projections/credit-account.ts';
import type { Balance } from '#services/credits/contract.ts';
import type { Payer } from '#services/optimizations/commands.ts';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import type { RefineRequest } from '#services/optimizations/contract/refinement.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { describeStrategies } from '#services/optimizations/create.ts';
import type { CreateDependencies } from '#services/optimizations/create.ts';
import { readDetail } from '#services/optimizations/detail.ts';
import { findOwnRun } from '#services/optimizations/own-run.ts';
import { nextRefinementId, refineRun } from '#services/optimizations/refinement/begin.ts';
import type { RefineDependencies } from '#services/optimizations/refinement/begin.ts';
import type { Known } from '#services/optimizations/run/state.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { KeyScope } from '#services/platform/contract.ts';
import { notFound } from '#services/platform/http/http.ts';
import { Problem } from '#services/platform/problem.ts';
import { followRun } from '#services/programs/follow.ts';

/** What the tools do for one caller, over any transport. */
export type McpActions = {
  /** Of every strategy the id and the price, for what a model reads before it calls. */
  prices: readonly { id: string; credits: number }[];
  /** @throws Problem 403 `scope-missing` */
  requireScope: (scope: KeyScope) => void;
  strategies(allowSimulated: boolean): Promise<Strategy[]>;
  balance(): Promise<Balance>;
  /** The id of the run that was started. */
  ask(request: CreateOptimizationRequest): Promise<string>;
  refine(runId: string, request: RefineRequest): Promise<string>;
  /** A run that was just begun: as `read`, without a turn, because its price is reserved. */
  begun(runId: string): Promise<Optimization>;
  /** @throws Problem 404, the same for a run that does not exist and for another user's */
  read(runId: string): Promise<Optimization>;
  /** As `followRun`, of a run that the caller may see. @throws as `read` */
  follow(runId: string, signal: AbortSignal): AsyncGenerator<Optimization>;
  pageOf(runId: string): string;
};

export type McpDependencies = CreateDependencies &
  RefineDependencies & { pool: pg.Pool; publicUrl: string };

/** What differs between a program with an API key and an operator on the machine. */
export type McpCaller = Payer & {
  requireScope: McpActions['requireScope'];
  /** @throws Problem 429 */
  takeTurn(limit: 'reads' | 'streams'): Promise<void>;
  ask(request: CreateOptimizationRequest): Promise<string>;
  /**
   * The id of the refinement that `begin` was called with, or that an equal call of the same program has
   * begun. @throws what `begin` throws
   */
  refineOnce(
    call: { runId: string; request: RefineRequest; newId: string },
    begin: (id: string) => Promise<void>,
  ): Promise<string>;
  /**
   * Before something waits for a run. `signal` aborts when it must not wait any longer; with a Problem as
   * its reason, the wait is refused.
   */
  wait(): { signal: AbortSignal; end(): void };
};

export function createActions(dependencies: McpDependencies, caller: McpCaller): McpActions {
  const { pool, publicUrl, catalogue } = dependencies;
  const { userId, apiKey } = caller;
  const ownRun = async (runId: string): Promise<Known> => {
    const state = await findOwnRun(dependencies, userId, runId);
    if (state === null) throw noSuchRun();
    return state;
  };
  const detail = async (runId: string) => readDetail(dependencies, runId);
  const shown = async (runId: string) => {
    const run = await detail(runId);
    if (run === null) throw noSuchRun();
    return run;
  };
  return {
    prices: catalogue.strategies.map(({ id, credits }) => ({ id, credits })),
    requireScope: caller.requireScope,
    async strategies(allowSimulated) {
      await caller.takeTurn('reads');
      return describeStrategies(dependencies, allowSimulated);
    },
    async balance() {
      await caller.takeTurn('reads');
      return readBalance(pool, userId);
    },
    ask: async (request) => caller.ask(request),
    async refine(runId, request) {
      const newId = await nextRefinementId(pool, runId, await ownRun(runId));
      return caller.refineOnce({ runId, request, newId }, async (id) => {
        // Derived, so that a repeat after a crash continues and another request does not.
        const commandId = uuidV5(id, 'create', JSON.stringify(request));
        const asked = { userId, apiKey, runId, id, commandId, fingerprint: commandId };
        await refineRun(dependencies, asked, request);
      });
    },
    begun: shown,
    async read(runId) {
      await caller.takeTurn('reads');
      await ownRun(runId);
      return shown(runId);
    },
    async *follow(runId, signal) {
      await caller.takeTurn('streams');
      await ownRun(runId);
      const waiting = caller.wait();
      try {
        const until = AbortSignal.any([signal, waiting.signal]);
        yield* followRun({ pool, readDetail: detail }, runId, until);
        if (waiting.signal.reason instanceof Problem) throw waiting.signal.reason;
      } finally {
        waiting.end();
      }
    },
    pageOf: (runId) => `${publicUrl}/optimizations/${runId}`,
  };
}

function noSuchRun() {
  return notFound('There is no run of this id in this account.');
}
