import { isDeepStrictEqual } from 'node:util';
import { readStream } from '#db/streams.ts';
import { verifyEvents } from '#db/verify-events.ts';
import { costMicros, rowOf } from '#services/models/catalogue/prices.ts';
import type { OptimizationEvent, Schedule } from '#services/optimizations/run/events.ts';
import { evolve, initialState } from '#services/optimizations/run/state.ts';
import { currentMetric, metricOf } from '#services/optimizations/council/metric.ts';
import { councilBefore } from '#services/optimizations/refinement/before.ts';
import { claimsToVoteOn } from '#services/optimizations/run/second-round.ts';
import { countReviews } from '#services/optimizations/run/stages.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { settlement } from '#services/optimizations/council/settlement.ts';
import { printResult, required, say } from './command.ts';
import type { CliCommand } from './command.ts';
import type { Database } from './database.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { hasNoDraft, streamOf } from '#services/optimizations/run/events.ts';

type Check = { name: string; recorded: unknown; recomputed: unknown; equal: boolean };

const verify: CliCommand = {
  noun: 'optimizations',
  verb: 'verify',
  arguments: '<run id>',
  summary:
    "Recomputes a run's ranking, agreement, cost, and charge from its events, and checks them.",
  options: {},
  async run(call) {
    const runId = required(call, 0, 'run id');
    const { events: recorded } = await readStream(call.database.pool, streamOf(runId));
    if (recorded.length === 0) {
      say('Run not found');
      return 1;
    }
    const events = recorded.map(runEventOf);
    const chain = await verifyEvents(call.database.pool, { streamId: streamOf(runId) });
    const checks = [
      compare('hash chain and order of the stream', chain.faults.length, 0),
      ...(await beforeChecks(call.database, events)),
      ...scoreChecks(events),
      ...costChecks(events),
      ...chargeChecks(events),
      ...(await ledgerChecks(call.database, runId, events)),
    ];
    const verified = checks.every((check) => check.equal);
    printResult(call, { run_id: runId, events: events.length, verified, checks }, [
      ...checks.map(
        ({ name, recorded: was, recomputed, equal }) =>
          `${equal ? 'ok  ' : 'NOT '} ${name}${equal ? '' : `: recorded ${JSON.stringify(was)}, recomputed ${JSON.stringify(recomputed)}`}`,
      ),
      ...(storedPrices(events) === undefined
        ? ['     costs were not checked: prices not stored with this run']
        : []),
      verified ? `Verified: ${events.length} events.` : 'Differences were found.',
    ]);
    return verified ? 0 : 1;
  },
};

/** What a refinement starts from, against the run that it names, whose stream is checked, too. */
async function beforeChecks(
  { pool }: Database,
  [created]: readonly OptimizationEvent[],
): Promise<Check[]> {
  if (created?.type !== 'OptimizationCreated' || !created.data.refines) return [];
  const { previous, before: recorded, claims, claimId } = created.data.refines;
  const streamId = streamOf(previous);
  const { events } = await readStream(pool, streamId);
  const chain = await verifyEvents(pool, { streamId });
  const { before, seats, contested } = councilBefore(previous, events.map(runEventOf));
  return [
    compare('hash chain and order of the stream that it refines', chain.faults.length, 0),
    compare('votes, claims and order that it starts from', recorded, before),
    compare('seats that vote again', created.data.seats, seats),
    compare(
      'claims that are voted on again',
      claims,
      claimsToVoteOn(before.ledger, contested, claimId),
    ),
  ];
}

/** Counts the ballots again. */
function scoreChecks(events: readonly OptimizationEvent[]): Check[] {
  const at = events.findIndex((event) => event.type === 'ScoresComputed');
  const scored = events[at];
  if (scored?.type !== 'ScoresComputed') return [];
  const before = events.slice(0, at).reduce<RunState>(evolve, initialState());
  if (before.stage !== 'reviews') return [compare('stage of the count', before.stage, 'reviews')];
  const metric = metricOf(scored.data.metricVersion);
  if (metric === null)
    return [compare('version of the metric', scored.data.metricVersion, currentMetric.version)];
  const { scores, inputs, excluded } = countReviews(before, metric);
  const closed = events.find((event) => event.type === 'ReviewsClosed');
  const { inputs: counted, synthesisHardAt: _hardAt, ...recorded } = scored.data;
  return [
    compare('ballots that were counted', counted, inputs),
    compare('seat left out', closed?.data.excluded ?? null, excluded),
    compare('order', recorded.order, scores.order),
    compare('agreement', recorded.agreement, scores.agreement),
    compare('all other scores', plain(recorded), plain(scores)),
  ];
}

/** The cost of each call that has a price, from its usage and the run's own price at its start. */
function costChecks(events: readonly OptimizationEvent[]): Check[] {
  const prices = storedPrices(events);
  if (prices === undefined) return [];
  const began = new Map<string, { model: string; at: string }>();
  const checks: Check[] = [];
  let recordedSum = 0;
  let recomputedSum = 0;
  for (const event of events) {
    if (event.type === 'CallStarted')
      began.set(`${event.data.slot} ${event.data.attempt}`, {
        model: event.data.model,
        at: event.data.startedAt,
      });
    if (
      event.type !== 'CallSucceeded' &&
      event.type !== 'CallFailed' &&
      event.type !== 'CallCostRecorded'
    )
      continue;
    const call = `${event.data.slot} ${event.data.attempt}`;
    const start = began.get(call);
    const isPriced = (event.data.costSource ?? 'priced') === 'priced';
    const priced = start
      ? costMicros(event.data.usage, rowOf(prices, start.model, start.at))
      : null;
    // A bill and a local call cannot be computed again.
    const cost = isPriced ? priced : event.data.costMicros;
    if (cost !== event.data.costMicros)
      checks.push(compare(`cost of ${call}`, event.data.costMicros, cost));
    recordedSum += event.data.costMicros ?? 0;
    recomputedSum += cost ?? 0;
  }
  return [...checks, compare('cost in micro-dollars', recordedSum, recomputedSum)];
}

/** Undefined in a run of v0.1, whose costs cannot be computed again. */
function storedPrices([created]: readonly OptimizationEvent[]): Schedule['prices'] {
  return created?.type === 'OptimizationCreated' ? created.data.schedule.prices : undefined;
}

/** Checks the conclusion's settlement and its count of started calls. */
function chargeChecks(events: readonly OptimizationEvent[]): Check[] {
  const concluded = events.find((event) => event.type === 'RunConcluded');
  if (concluded?.type !== 'RunConcluded') return [];
  const { callsStarted } = concluded.data;
  const started = events.filter((event) => event.type === 'CallStarted').length;
  return [
    compare('calls that were started', callsStarted, startedBefore(events, started)),
    compare(
      'settlement',
      concluded.data.settlement,
      settlement({ ...concluded.data, draftFailed: hasNoDraft(concluded.data) }),
    ),
  ];
}

function startedBefore(events: readonly OptimizationEvent[], all: number): number {
  const end = events.findIndex((event) => event.type === 'RunConcluded');
  return end < 0
    ? all
    : events.slice(0, end).filter((event) => event.type === 'CallStarted').length;
}

/** Compares the account's charge for the run with the run's own events. */
async function ledgerChecks(
  database: Database,
  runId: string,
  events: readonly OptimizationEvent[],
): Promise<Check[]> {
  const created = events[0];
  const ended = events.find(
    (event) =>
      event.type === 'OptimizationCompleted' ||
      event.type === 'OptimizationFailed' ||
      event.type === 'OptimizationCancelled',
  );
  if (created?.type !== 'OptimizationCreated' || !ended || !('captured' in ended.data)) return [];
  const { events: account } = await readStream(database.pool, creditStream(created.data.userId));
  const sum = (type: string) =>
    account
      .filter((event) => event.type === type && event.data['runId'] === runId)
      .reduce((total, event) => total + Number(event.data['credits']), 0);
  const { rows } = await database.pool.query<{ charged: number }>(
    `select coalesce(-sum(amount), 0)::float8 as charged from credit_history where run_id = $1`,
    [runId],
  );
  const { captured, refunded } = ended.data;
  return [
    compare('credits captured', captured, sum('CreditsCaptured')),
    compare('credits returned', refunded, sum('CreditsReturned')),
    compare('charge in the history', rows[0]?.charged ?? 0, captured - refunded),
  ];
}

function compare(name: string, recorded: unknown, recomputed: unknown): Check {
  return {
    name,
    recorded,
    recomputed,
    equal: isDeepStrictEqual(plain(recorded), plain(recomputed)),
  };
}

/** In stored form: undefined properties are dropped. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

export const optimizationCommands: readonly CliCommand[] = [verify];
