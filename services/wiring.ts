import { appendFunction } from '#db/append-function.ts';
import { createPool, createSql } from '#db/connect.ts';
import { readStream } from '#db/event-store.ts';
import { projections } from '#projections/index.ts';
import { createHolds } from '#services/credits/holds.ts';
import { modelRegistry } from '#services/models/registry.ts';
import { createReadRun } from '#services/optimizations/read-run.ts';
import { createCommandBus } from '#services/platform/command.ts';
import { databaseUrlOf } from '#services/platform/env.ts';
import type { ProcessContext } from '#services/platform/lifecycle.ts';
import { createSealer } from '#services/platform/seal.ts';

/** What every process of ours stands on, opened in order and closed in reverse. */
export type Core = Awaited<ReturnType<typeof openCore>>;

export async function openCore(
  name: string,
  { env, log, resources }: ProcessContext,
  /** Connections of the pool. */
  connections: number,
) {
  const url = databaseUrlOf(env);
  const clock = Date.now;
  const pool = createPool(url, {
    max: connections,
    applicationName: `sevenfold ${name}`,
    onError: (error) => log.warn({ err: error }, 'A database connection was lost'),
  });
  resources.defer(async () => pool.end());
  const sql = createSql(url, { max: 5, applicationName: `sevenfold ${name} queries` });
  resources.defer(async () => sql.end());
  await pool.query('select 1');
  const sealer = createSealer({ dataKeys: env.dataKeys, pool });
  const bus = createCommandBus({
    pool,
    functionName: appendFunction(projections).name,
    clock,
    log,
  });
  resources.defer(async () => bus.close());
  const registry = modelRegistry({
    mode: env.mode,
    providerKeys: env.providerKeys,
    compatibleEndpoints: env.compatibleEndpoints,
    sandboxUrl: env.sandboxUrl,
  });
  const readRun = createReadRun({ readStream: async (id) => readStream(pool, id), sealer });
  return { url, clock, pool, sql, sealer, bus, registry, readRun, holds: createHolds(bus) };
}
