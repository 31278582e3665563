import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCommandBus } from '#services/platform/command.ts';
import { createSupervisor } from '#services/platform/process/supervise.ts';
import { strategyIds } from '#services/models/strategy-list.ts';
import { ledgerOf } from '#tests/credits/ledger.ts';
import { testPassword } from '#tests/support/password.ts';
import type { GrowthDatabase } from './database.ts';

/** Runs in flight at once. */
const atOnce = 8;

/**
 * Real runs of every strategy through the real processes in the instant profile, each by a user of
 * their own kind: four runs a user, as in the generated database.
 */
export async function realRuns(database: GrowthDatabase, runs: number): Promise<void> {
  const supervisor = createSupervisor(database.log);
  try {
    await supervisor.start(database.service('sandbox', 'sandbox/server.ts'));
    await supervisor.start(
      database.service('worker', 'worker.ts'),
      database.service('api', 'api.ts'),
    );
    let next = 0;
    const workers = Array.from({ length: atOnce }, async () => {
      while (next < runs) {
        const token = await signUp(database);
        for (let own = 0; own < runsPerUser && next < runs; own += 1) {
          const number = next;
          next += 1;
          await oneRun(database, token, number);
        }
      }
    });
    await Promise.all(workers);
  } finally {
    await supervisor.stop();
  }
}

const runsPerUser = 4;

/** Returns the token of a user with enough credits. */
async function signUp(database: GrowthDatabase): Promise<string> {
  const { token, user } = await send<{ token: string; user: { id: string } }>(
    database,
    '',
    '/auth/signup',
    { name: 'Bench', email: `bench-${randomUUID()}@example.com`, password: testPassword },
  );
  const bus = createCommandBus({ ...database, clock: Date.now });
  await ledgerOf(database.pool, bus).give({
    userId: user.id,
    credits: 10_000,
    source: 'other',
    reason: 'operator',
    actor: 'bench',
    commandId: randomUUID(),
  });
  await bus.close();
  return token;
}

async function oneRun(database: GrowthDatabase, token: string, number: number): Promise<void> {
  const { id } = await send<{ id: string }>(database, token, '/optimizations', {
    challenge: `Should I open a second workshop number ${number}, or raise my prices?`,
    strategy: strategyIds[number % strategyIds.length],
  });
  await send(database, token, `/optimizations/${id}/process`);
  for (;;) {
    const { rows } = await database.pool.query<{ status: string }>(
      'select status from optimization_list where run_id = $1',
      [id],
    );
    const status = rows[0]?.status;
    if (status === 'completed') return;
    if (status !== 'pending' && status !== 'processing') throw new Error(`The run ${status}`);
    await sleep(50);
  }
}

async function send<Data>(
  { publicUrl }: GrowthDatabase,
  token: string,
  path: string,
  body?: unknown,
): Promise<Data> {
  const response = await fetch(`${publicUrl}/api${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: Data }).data;
}
