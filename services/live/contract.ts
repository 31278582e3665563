import * as v from 'valibot';
import { Balance } from '#services/credits/contract.ts';
import { Optimization, OptimizationSummary } from '#services/optimizations/contract.ts';

/**
 * The messages of `GET /api/stream`. A fact is absolute: merging it twice or late changes nothing,
 * because it carries the stream and the version that it stands for.
 */
export const Snapshot = v.object({
  balance: Balance,
  runs: v.array(OptimizationSummary),
  run: v.optional(Optimization),
});
export type Snapshot = v.InferOutput<typeof Snapshot>;

const factTypes = [
  'CreditsGranted',
  'CreditsReserved',
  'CreditsCaptured',
  'CreditsReturned',
  'CreditsReleased',
  'LotRevoked',
  'DebtIncurred',
  'DebtSettled',
  'RevocationDeferred',
  'OptimizationCreated',
  'ProcessingStarted',
  'CallStarted',
  'CallLost',
  'CallSucceeded',
  'CallFailed',
  'CallCostRecorded',
  'SoftPassed',
  'OpinionsClosed',
  'ClaimsFixed',
  'ReviewsClosed',
  'ScoresComputed',
  'DraftChecked',
  'SynthesisJudged',
  'RunConcluded',
  'OptimizationCompleted',
  'OptimizationFailed',
  'OptimizationCancelled',
  'OptimizationHidden',
  'OptimizationRestored',
  'OptimizationRenamed',
] as const;

/**
 * `account`: the patch is a Balance. `run`: it merges into the `council` of the watched run.
 * `run_row`: it merges into that run's row in lists.
 */
export const Fact = v.object({
  type: v.picklist(factTypes),
  /** When it occurred, ISO 8601. */
  at: v.string(),
  stream: v.string(),
  version: v.number(),
  entity: v.object({ kind: v.picklist(['account', 'run', 'run_row']), id: v.string() }),
  patch: v.record(v.string(), v.unknown()),
});
export type Fact = v.InferOutput<typeof Fact>;
export type FactType = Fact['type'];

/** Text as it streams: `text` begins at character `offset` of what the call has said so far. */
export const Delta = v.object({
  run: v.string(),
  /** Null for calls that belong to no seat. */
  seat: v.nullable(v.string()),
  slot: v.string(),
  attempt: v.number(),
  offset: v.number(),
  text: v.string(),
  /** 0–100: how much of a usual reply has arrived. */
  progress: v.number(),
});
export type Delta = v.InferOutput<typeof Delta>;

export const Bye = v.object({
  reason: v.picklist(['token', 'session', 'drain', 'overflow']),
  retry_ms: v.number(),
});
export type Bye = v.InferOutput<typeof Bye>;

export const Stale = v.object({ name: v.string() });
