import { join } from 'node:path';
import type pg from 'pg';
import { appendFunction } from '#db/append-function.ts';
import { createPool, createSql } from '#db/connect.ts';
import { readStream } from '#db/event-store.ts';
import { projectionStatus } from '#projections/checkpoint.ts';
import { projections } from '#projections/index.ts';
import { countRunsInMonth } from '#projections/optimization-list.ts';
import { createApp } from '#services/app.ts';
import { createGiveCredits } from '#services/credits/grants.ts';
import { createHolds } from '#services/credits/holds.ts';
import { createTokens } from '#services/identity/tokens.ts';
import { findUser } from '#services/identity/users.ts';
import { openLiveView } from '#services/live-view.ts';
import { modelRegistry } from '#services/models/registry.ts';
import { createReadRun, createReadState } from '#services/optimizations/read-run.ts';
import { createCommandBus } from '#services/platform/command.ts';
import { databaseUrlOf, SettingsError } from '#services/platform/env.ts';
import type { Mode } from '#services/platform/env.ts';
import type { ProcessContext } from '#services/platform/lifecycle.ts';
import { healthLimits } from '#services/platform/limits.ts';
import { patiently } from '#services/platform/patiently.ts';
import { createSealer } from '#services/platform/seal.ts';
import { readManifest } from '#services/web-pages.ts';

/** What every process of ours stands on, opened in order and closed in reverse. */
export type Core = Awaited<ReturnType<typeof openCore>>;

export async function openCore(
  name: string,
  { env, log, resources }: ProcessContext,
  /** Connections of the pool. */
  connections: number,
  clock: () => number = Date.now,
) {
  const url = databaseUrlOf(env);
  const pool = createPool(url, {
    max: connections,
    applicationName: `sevenfold ${name}`,
    onError: (error) => log.warn({ err: error }, 'A database connection was lost'),
  });
  resources.defer(async () => pool.end());
  const sql = createSql(url, { max: 5, applicationName: `sevenfold ${name} queries` });
  resources.defer(async () => sql.end());
  // Whoever keeps processes alive counts how often they end; a restart of Postgres is no such end.
  await patiently(async () => refuseOtherMode(pool, env.mode), healthLimits.databaseAwayMs);
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
  const read = async (streamId: string) => readStream(pool, streamId);
  const readRun = createReadRun({ readStream: read, sealer });
  const readState = createReadState(read);
  return {
    url,
    clock,
    pool,
    sql,
    sealer,
    bus,
    registry,
    readRun,
    readState,
    holds: createHolds(bus),
  };
}

/** @throws SettingsError when the database was written in the other mode */
async function refuseOtherMode(pool: pg.Pool, mode: Mode): Promise<void> {
  const { rows } = await pool.query<{ mode: Mode }>('select mode from database_mode');
  const marked = rows[0]?.mode ?? mode;
  if (marked !== mode)
    throw new SettingsError([
      `MODE is ${mode}, but this database was written in ${marked} mode; use another database`,
    ]);
}

/** The HTTP application over the core: routes, live view and pages. */
export async function openHttp(context: ProcessContext, core: Core) {
  const { env, log } = context;
  const { pool, sql, bus, clock } = core;
  const giveCredits = createGiveCredits(bus, clock);
  const isLocal = env.mode === 'local';
  const live = await openLiveView(context, core);
  const dist = join(import.meta.dirname, '../web/dist');
  const app = createApp({
    ...core,
    ...live,
    log,
    giveCredits,
    isLocal,
    sandboxSeed: env.sandboxSeed,
    tokens: createTokens({ keys: env.jwtKeys, publicUrl: env.publicUrl, clock }),
    publicUrl: env.publicUrl,
    monthlyLimits: env.monthlyLimits,
    monthlyLimitOf: async (userId) => {
      const account = await findUser(sql, userId);
      return env.monthlyLimits[account?.subscription_tier ?? 'free'] ?? 0;
    },
    dailyCostLimitUsd: env.dailyCostLimitUsd,
    runsThisMonth: async (userId) =>
      countRunsInMonth(pool, userId, new Date(clock()).toISOString().slice(0, 7)),
    functionName: appendFunction(projections).name,
    readerLagMs: async () => {
      const all = await projectionStatus(pool, projections);
      return Math.max(0, ...all.map((one) => one.lagSeconds * 1000));
    },
    version: '0.1.0',
    web: readManifest(dist) ? { dist, isLocal } : null,
  });
  return { app, hub: live.hub, giveCredits };
}
