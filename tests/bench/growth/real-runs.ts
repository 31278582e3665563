import { setTimeout as sleep } from 'node:timers/promises';
import { createSupervisor } from '#services/platform/process/supervise.ts';
import { strategyIds } from '#services/models/strategy-list.ts';
import { send, signUp } from '#tests/bench/runs.ts';
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
        const { token } = await signUp(database.publicUrl, database);
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

async function oneRun(database: GrowthDatabase, token: string, number: number): Promise<void> {
  const { publicUrl } = database;
  const { id } = await send<{ id: string }>(publicUrl, token, 'POST', '/optimizations', {
    challenge: `Should I open a second workshop number ${number}, or raise my prices?`,
    strategy: strategyIds[number % strategyIds.length],
  });
  await send(publicUrl, token, 'POST', `/optimizations/${id}/process`);
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
