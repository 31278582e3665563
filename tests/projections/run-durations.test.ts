import type pg from 'pg';
import { expect, test } from 'vitest';
import { optimizationList, readDurations } from '#projections/optimization-list.ts';
import { applyTo, useRolledBackClient } from '#tests/credits/tables.ts';
import type { StoredEvent } from '#tests/credits/tables.ts';

let client: pg.PoolClient;
useRolledBackClient((given) => (client = given));

type Run = {
  seconds: number;
  strategyVersion?: number;
  providerClass?: string;
  simulated?: boolean;
  end?: string;
  startedAt?: string;
};
const kind = { strategyVersion: 2, providerClass: 'vendor' };

function eventsOf(run: Run, index: number): StoredEvent[] {
  const { seconds, simulated = false, end = 'OptimizationCompleted', ...more } = run;
  const { startedAt = '2026-11-20T12:00:00.000Z', ...version } = more;
  const endedAt = new Date(Date.parse(startedAt) + seconds * 1000).toISOString();
  const created = {
    ...version,
    userId: 'usr_1',
    challengeType: 'marketing',
    strategy: 'balanced',
    price: 14,
    seats: [{ seat: 'S1', simulated }],
    createdAt: startedAt,
    sealed: { title: 'sealed', challenge: 'sealed' },
  };
  const all: [string, Record<string, unknown>][] = [
    ['OptimizationCreated', created],
    ['ProcessingStarted', { startedAt }],
    [end, { captured: 14, refunded: 0 }],
  ];
  return all.map(([type, data], position) => ({
    stream_id: `optimization-opt_${index}`,
    stream_position: position + 1,
    message_id: `${index}-${position}`,
    message_type: type,
    message_data: data,
    message_metadata: { occurredAt: endedAt },
  }));
}

test('durations are of completed runs of one version, class and kind of seats, where there are enough', async () => {
  const runs: Run[] = [
    ...[50, 10, 40, 20, 30, 60, 70, 80, 100, 90].map((seconds) => ({ ...kind, seconds })),
    ...[1000, 2000].map((seconds) => ({ ...kind, seconds, strategyVersion: 1 })),
    ...[3000, 4000].map((seconds) => ({ ...kind, seconds, providerClass: 'local' })),
    ...[5, 6].map((seconds) => ({ ...kind, seconds, simulated: true })),
    // None of these counts.
    { ...kind, seconds: 1, end: 'OptimizationCancelled' },
    { ...kind, seconds: 1, end: 'OptimizationFailed' },
    { ...kind, seconds: 1, startedAt: '2026-08-01T12:00:00.000Z' },
    { seconds: 1 },
    { ...kind, seconds: 7, providerClass: 'router' },
  ];
  await client.query('truncate optimization_list');
  await applyTo(client, optimizationList, 'optimization_list', runs.flatMap(eventsOf));
  const found = await readDurations(client, { since: '2026-08-22T12:00:00.000Z', least: 2 });
  const common = { strategy: 'balanced', version: 2, providerClass: 'vendor', simulated: false };
  expect(new Set(found)).toEqual(
    new Set([
      { ...common, runs: 10, p50: 50, p90: 90 },
      { ...common, version: 1, runs: 2, p50: 1000, p90: 2000 },
      { ...common, providerClass: 'local', runs: 2, p50: 3000, p90: 4000 },
      { ...common, simulated: true, runs: 2, p50: 5, p90: 6 },
    ]),
  );
});
