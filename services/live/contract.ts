import * as v from 'valibot';
import { creditEventTypes } from '#services/credits/account/movements.ts';
import { Balance } from '#services/credits/contract.ts';
import { Optimization } from '#services/optimizations/contract/run.ts';
import { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { IdText, Time } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/**
 * The messages of `GET /api/stream`. A fact is absolute: merging it twice or late changes nothing,
 * because it carries the stream and the version that it stands for.
 */
export const Snapshot = v.object({
  balance: v.pipe(
    v.optional(Balance),
    v.description('Absent for an API key without the scope `credits:read`'),
  ),
  runs: v.pipe(v.array(OptimizationSummary), v.description('The 20 newest runs')),
  /** The watched run. */
  run: v.optional(Optimization),
});
export type Snapshot = v.InferOutput<typeof Snapshot>;

const factTypes = [
  ...creditEventTypes,
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
  'OutcomeRecorded',
] as const;

/**
 * `account`: the patch is a Balance. `run`: it merges into the `council` of the watched run.
 * `run_row`: what changed in that run's row; the list itself is read again. `hidden` removes the row or
 * restores it.
 */
export const Fact = v.object({
  type: v.picklist(factTypes),
  at: v.pipe(Time, v.description('When it occurred, ISO 8601 in UTC')),
  stream: v.pipe(v.string(), v.description('The stream whose positions `version` counts')),
  version: v.pipe(
    v.number(),
    v.description(
      'Of the stream, from 1: a fact that is not above the one last heard changes nothing',
    ),
  ),
  entity: v.object({
    kind: v.picklist(['account', 'run', 'run_row']),
    id: v.pipe(v.string(), v.description('The id of the account or the run')),
  }),
  patch: v.pipe(
    v.record(v.string(), v.unknown()),
    v.description(
      'Absolute values: of `account` a Balance, of `run_row` the few fields of that row that moved (read the list again for the others), of `run` parts of `council`',
    ),
  ),
});
export type Fact = v.InferOutput<typeof Fact>;
export type FactType = Fact['type'];

/** Streaming text: `text` begins at character `offset` of the call's text. */
export const Delta = v.object({
  run: v.pipe(v.string(), v.description("The run's id: `opt_` and 26 characters")),
  seat: v.pipe(
    v.nullable(v.string()),
    v.description("The model's seat; null for calls that belong to no seat"),
  ),
  slot: v.pipe(v.string(), v.description('Which call of the run it is')),
  attempt: v.pipe(v.number(), v.description('The attempt, from 1')),
  offset: v.pipe(
    v.number(),
    v.description('How many characters of the call precede `text`, in UTF-16 units'),
  ),
  text: v.pipe(v.string(), v.description('The text written since the last one')),
  progress: v.pipe(v.number(), v.description('0–100: how much of a typical reply has arrived')),
});
export type Delta = v.InferOutput<typeof Delta>;

export const Bye = v.object({
  reason: v.pipe(
    v.picklist(['token', 'session', 'drain', 'overflow']),
    v.description(
      '`token`: it expires, refresh it first; `session`: signed out, do not come back; `drain`: the process stops; `overflow`, which this version does not send: begin without the last id',
    ),
  ),
  retry_ms: v.pipe(v.number(), v.description('Milliseconds to wait before reconnecting')),
});
export type Bye = v.InferOutput<typeof Bye>;

/** `GET /stream`: which run to watch in full. */
export const StreamQuery = v.strictObject({
  optimization: v.optional(
    v.pipe(
      IdText('opt'),
      v.description('The run to watch in full; without it only the balance and the list are sent'),
    ),
  ),
});

/**
 * Figures of the user that lag behind the events have changed: `run_usage` or `credit_analytics`. At most
 * once a second each; the message has no id and is not repeated.
 */
export const Stale = v.object({
  name: v.pipe(v.string(), v.description('`run_usage` or `credit_analytics`: fetch it again')),
});

/** The live stream. */
export const liveEndpoints = {
  'GET /stream': {
    summary: 'Follow changes as server-sent events',
    description:
      'Sends a snapshot first, then every change of the balance and of runs. With `Last-Event-ID`, it sends only what came after that event. To an API key without the scope `credits:read` it sends nothing of the balance.',
    access: 'person',
    scope: 'read',
    query: StreamQuery,
    status: 200,
    files: ['text/event-stream'],
    refuses: [404],
  },
} as const satisfies EndpointList;
