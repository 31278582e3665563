import type pg from 'pg';
import { costSince } from '#projections/optimization-list.ts';
import type { Ledger, Price } from '#services/credits/ledger/ledger.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { CommandBus, CommandOutcome, Patience } from '#services/platform/command.ts';
import type { Caller } from '#services/platform/http/auth.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { notFound } from '#services/platform/http/http.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { platformCostSince } from './check/platform-calls.ts';
import { knownStrategy } from './create.ts';
import { readWait, refuseLongWait } from './lanes.ts';
import type { ReadState } from './reading/read-run.ts';
import { streamOf } from './run/events.ts';
import type { OptimizationEvent } from './run/events.ts';
import { optimization } from './run/optimization.ts';
import type { OptimizationCommand } from './run/optimization.ts';
import { askedSeats, everyModel } from './run/slots.ts';
import type { RunState } from './run/state.ts';

/**
 * The commands of a run that routes, jobs and the command line share. Each has an id that names the
 * thing done, so that a repeat changes nothing.
 */
export type CommandDependencies = {
  bus: CommandBus;
  /** Milliseconds since the epoch. */
  clock: () => number;
};

export type StartDependencies = CommandDependencies & {
  pool: pg.Pool;
  ledger: Ledger;
  catalogue: Catalogue;
  /** Runs a month that bonus credits may pay for; −1 is unlimited. */
  monthlyLimitOf: (userId: string) => Promise<number>;
  /** What models may cost a day, over all people; null is no limit. */
  dailyCostLimitUsd: number | null;
};

/** Whose credits a run uses, and the API key that asks, if one does. */
export type Payer = Pick<Caller, 'userId' | 'apiKey'>;

/** The system as the actor of jobs. */
export const actor = 'system:worker';

export async function issue(
  { bus }: Pick<CommandDependencies, 'bus'>,
  runId: string,
  command: OptimizationCommand,
  idParts: readonly (string | number)[],
  patience: Patience = 'job',
): Promise<CommandOutcome<RunState, OptimizationEvent>> {
  const commandId = uuidV5(runId, ...idParts);
  // The clock in the command differs between tries, so the id alone identifies the command.
  return executeOn(bus, runId, { command, commandId, fingerprint: commandId, actor }, patience);
}

/** One command of a run; `actor` is a person, or the system. */
export async function executeOn(
  bus: CommandBus,
  runId: string,
  asked: { command: OptimizationCommand; commandId: string; fingerprint: string; actor: string },
  patience: Patience,
): Promise<CommandOutcome<RunState, OptimizationEvent>> {
  return bus.execute<RunState, OptimizationCommand, OptimizationEvent>(
    optimization,
    { ...asked, streamId: streamOf(runId), correlationId: runId },
    patience,
  );
}

/**
 * Holds the price, then starts. If this process dies in between, the hold's own job starts the run.
 */
export async function processRun(
  dependencies: StartDependencies & { registry: Pick<ModelRegistry, 'provider'> },
  { userId, apiKey }: Payer,
  runId: string,
  state: RunState,
): Promise<void> {
  if (state.stage === 'settling' || state.stage === 'closed')
    throw new Problem('concluded', 'The run has already ended.', {
      members: { outcome: state.outcome },
    });
  if (state.stage !== 'draft') return;
  const price = state.refines
    ? state.price
    : knownStrategy(dependencies.catalogue, state.strategy).credits;
  if (dependencies.clock() > Date.parse(state.priceUntil) && price !== state.price)
    throw new Problem(
      'price-changed',
      `This strategy now costs ${price} credits. It cost ${state.price} when you created the run.`,
      { members: { price } },
    );
  const asked = await priceOfRun(dependencies, { userId, apiKey }, state.price);
  if (asked instanceof Problem) throw asked;
  await refuseLongWait(dependencies.pool, state.schedule);
  if (state.price > 0) await dependencies.ledger.reserve({ ...asked, runId, actor: userId });
  await startRun(dependencies, runId, state, 'http');
}

/** Starts a run after its credits were held. */
export async function startRun(
  dependencies: CommandDependencies & {
    pool: pg.Pool;
    registry: Pick<ModelRegistry, 'provider'>;
  },
  runId: string,
  state: RunState,
  patience: Patience,
): Promise<RunState> {
  const seatable =
    !('seats' in state) ||
    everyModel({ ...state, seats: askedSeats(state) }).every(
      ({ provider, simulated }) => dependencies.registry.provider(provider, simulated) !== null,
    );
  const waitMs = 'schedule' in state ? await readWait(dependencies.pool, state.schedule) : 0;
  const start = { type: 'Start', now: isoNow(dependencies), seatable, waitMs } as const;
  const after = await issue(dependencies, runId, start, ['start'], patience);
  return after.state;
}

/** The Problem with which the user's credits would refuse a run of this price; null for none. */
export async function creditRefusal(
  dependencies: StartDependencies,
  payer: Payer,
  credits: number,
): Promise<Problem | null> {
  return dependencies.ledger.refusal(await priceFor(dependencies, payer, credits));
}

/** The Problem that would refuse a run of this price now; null when it could start. */
export async function startRefusal(
  dependencies: StartDependencies,
  payer: Payer,
  credits: number,
): Promise<Problem | null> {
  const asked = await priceOfRun(dependencies, payer, credits);
  if (asked instanceof Problem) return asked;
  return credits === 0 ? null : dependencies.ledger.refusal(asked);
}

/**
 * The checks before a run may hold credits; a Problem 503 `paused` until the next day (UTC) once
 * today's models have cost the limit.
 */
async function priceOfRun(
  dependencies: StartDependencies,
  payer: Payer,
  credits: number,
): Promise<Price | Problem> {
  if (await isDailyLimitReached(dependencies))
    return new Problem(
      'paused',
      "We've reached today's limit for new runs. You weren't charged. Please try again tomorrow (UTC).",
      { retryAfterSeconds: Math.ceil((dayMs - (dependencies.clock() % dayMs)) / 1000) },
    );
  return priceFor(dependencies, payer, credits);
}

async function priceFor(
  { clock, monthlyLimitOf }: StartDependencies,
  { userId, apiKey }: Payer,
  credits: number,
): Promise<Price> {
  const month = new Date(clock()).toISOString().slice(0, 7);
  const key = apiKey ? { apiKey: { id: apiKey.id, cap: apiKey.monthlyCap } } : {};
  return { userId, credits, month, limit: await monthlyLimitOf(userId), ...key };
}

/** Whether today's models (UTC), of all runs and checks, have cost the limit. */
export async function isDailyLimitReached({
  pool,
  clock,
  dailyCostLimitUsd,
}: Pick<StartDependencies, 'pool' | 'clock' | 'dailyCostLimitUsd'>): Promise<boolean> {
  if (dailyCostLimitUsd === null) return false;
  const midnight = new Date(clock() - (clock() % dayMs)).toISOString();
  const [runs, calls] = await Promise.all([
    costSince(pool, midnight),
    platformCostSince(pool, midnight),
  ]);
  return runs + calls >= dailyCostLimitUsd * 1_000_000;
}

const dayMs = 86_400_000;

export async function cancelRun(dependencies: CommandDependencies, runId: string): Promise<void> {
  const now = isoNow(dependencies);
  await issue(dependencies, runId, { type: 'Cancel', now }, ['cancel'], 'http');
}

/** Ends a draft that its person did not cancel; nothing happens to a run that has started. */
export async function discardDraft(
  dependencies: CommandDependencies,
  runId: string,
): Promise<void> {
  const now = isoNow(dependencies);
  await issue(dependencies, runId, { type: 'Discard', now }, ['discard'], 'http');
}

/** Cancels a run if that is still possible; false while its recommendation is being written. */
export async function cancelIfOpen(
  { bus, clock }: CommandDependencies,
  runId: string,
  patience: Patience = 'job',
): Promise<boolean> {
  try {
    await issue({ bus }, runId, { type: 'Cancel', now: isoNow({ clock }) }, ['cancel'], patience);
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === 'concluded') return true;
    if (error instanceof Problem && error.code === 'finishing') return false;
    throw error;
  }
}

/** The run's settlement on the credits stream, then the ledger's figures on the run's. */
export async function settleRun(
  dependencies: Pick<CommandDependencies, 'bus'> & {
    ledger: Pick<Ledger, 'settle'>;
    readState: ReadState;
  },
  runId: string,
): Promise<void> {
  const state = await dependencies.readState(runId);
  if (state.stage !== 'settling' && state.stage !== 'closed') return;
  const { userId, conclusion } = state;
  const { settlement } = conclusion;
  const figures =
    settlement.kind === 'nothing'
      ? { captured: 0, refunded: 0, creditsVersion: 0 }
      : await dependencies.ledger.settle({ userId, runId, settlement, actor });
  if (state.stage === 'closed') return;
  await issue(dependencies, runId, { type: 'Close', ...figures }, ['close']);
}

/** @throws Problem 404 once the run's texts are erased */
export async function sealedText(
  sealer: Sealer,
  { runId, keyId, field }: { runId: string; keyId: string; field: string },
  text: string,
): Promise<string> {
  try {
    return await sealer.seal(keyId, { stream: streamOf(runId), field }, text);
  } catch (error) {
    if (error instanceof ErasedKeyError) throw notFound('Failed to get optimization');
    throw error;
  }
}

export function isoNow({ clock }: Pick<CommandDependencies, 'clock'>): string {
  return new Date(clock()).toISOString();
}
