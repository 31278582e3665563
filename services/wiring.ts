import { join } from 'node:path';
import type pg from 'pg';
import { appendFunction } from '#db/append-function.ts';
import { createPool, createSql } from '#db/connect.ts';
import { readStream } from '#db/event-store.ts';
import { projections } from '#projections/index.ts';
import { readSetAside } from '#projections/set-aside.ts';
import { readMonthUsage } from '#projections/run-usage.ts';
import { createApp } from '#services/app.ts';
import { createCloseAccount } from '#services/credits/closing.ts';
import { createConsumeCredits } from '#services/credits/consume.ts';
import { creditExport } from '#services/credits/export.ts';
import { createGiveCredits } from '#services/credits/grants.ts';
import { createHolds } from '#services/credits/holds.ts';
import { createPaidCredits } from '#services/credits/paid.ts';
import { createAfterwards } from '#services/identity/afterwards.ts';
import type { ErasureDependencies } from '#services/identity/erasure.ts';
import { createExporter } from '#services/identity/export.ts';
import { noticeAddress, provedAddress } from '#services/identity/notices.ts';
import { createSlowDown } from '#services/identity/slow-down.ts';
import { createDailyCap } from '#services/identity/daily-cap.ts';
import { createTokens } from '#services/identity/tokens.ts';
import { findUser } from '#services/identity/users.ts';
import { openLiveView } from '#services/live-view.ts';
import { modelRegistry } from '#services/models/registry.ts';
import { runExport } from '#services/optimizations/export.ts';
import { endRunsOf, hideRunsOf } from '#services/optimizations/leave-runs.ts';
import { optimization } from '#services/optimizations/optimization.ts';
import { streamOf } from '#services/optimizations/reactions.ts';
import { createReadRun } from '#services/optimizations/read-run.ts';
import { packageName } from '#services/payments/catalogue.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import {
  endCheckouts,
  endPlans,
  forgetCustomer,
  refundsLetter,
  refundUnused,
} from '#services/payments/leave-payments.ts';
import { createStripeProvider } from '#services/payments/stripe.ts';
import { unavailableProvider } from '#services/payments/unavailable.ts';
import { createAudit } from '#services/platform/audit.ts';
import { createCommandBus, readState } from '#services/platform/command.ts';
import { databaseUrlOf, SettingsError } from '#services/platform/env.ts';
import type { Mode } from '#services/platform/env.ts';
import type { ProcessContext } from '#services/platform/lifecycle.ts';
import { healthLimits } from '#services/platform/limits.ts';
import { createMailQueue } from '#services/platform/mail.ts';
import { patiently } from '#services/platform/patiently.ts';
import { createRateLimits } from '#services/platform/rate-limits.ts';
import { recipeExport } from '#services/recipes/export.ts';
import { recordUse } from '#services/recipes/recipes.ts';
import { createSealer } from '#services/platform/seal.ts';
import { createSocketPort } from '#services/socket-port.ts';
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
  // Text is sealed inside transactions, too. Were the keys read through the same connections, as many
  // transactions as there are connections would wait for one more, for ever.
  const keyPool = createPool(url, {
    max: 2,
    applicationName: `sevenfold ${name} keys`,
    onError: (error) => log.warn({ err: error }, 'A database connection was lost'),
  });
  resources.defer(async () => keyPool.end());
  const sealer = createSealer({ dataKeys: env.dataKeys, pool: keyPool });
  const queueMail = createMailQueue({
    pool,
    sealer,
    clock,
    sender: { productName: env.productName, contactEmail: env.contactEmail },
  });
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
  return {
    url,
    log,
    clock,
    pool,
    sql,
    audit: createAudit(pool),
    sealer,
    queueMail,
    noticeAddress: async (userId: string) => noticeAddress(sql, userId),
    sendsMail: env.smtpUrl !== null,
    publicUrl: env.publicUrl,
    productName: env.productName,
    contactEmail: env.contactEmail,
    bus,
    registry,
    readStream: read,
    readRun,
    readState: async (runId: string) => readState(pool, optimization, streamOf(runId)),
    holds: createHolds(bus, pool),
    paid: createPaidCredits({ bus, pool, readStream: read, clock }),
    /** Test keys begin otherwise, and so does the sandbox's. */
    movesMoney: /^[sr]k_live_/.test(env.stripe?.secretKey ?? ''),
    provider:
      env.stripe === null ? unavailableProvider : createStripeProvider({ ...env.stripe, clock }),
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

/** What everything about payments stands on. */
export function paymentsOf(core: Core): PaymentDependencies {
  const { sql } = core;
  return {
    ...core,
    noticeAddress: async (userId) => provedAddress(sql, userId),
    billedPerson: async (userId) => {
      const account = await findUser(sql, userId);
      return account === null || account.erasing_at !== null ? null : account;
    },
  };
}

/** What erasing a person asks of the other slices. */
export function erasureOf(core: Core): ErasureDependencies {
  const payments = paymentsOf(core);
  return {
    ...core,
    endRuns: async (userId) => endRunsOf(core, userId),
    hideRuns: async (userId) => hideRunsOf(core, userId),
    closeAccount: createCloseAccount(core.bus),
    leavePayments: {
      endCheckouts: async (userId) => endCheckouts(payments, userId),
      endPlans: async (userId) => endPlans(payments, userId),
      refundUnused: async (userId) => refundUnused(payments, userId),
      forgetCustomer: async (userId) => forgetCustomer(payments, userId),
    },
    refundsLetter: async (userId) => refundsLetter(payments, userId),
  };
}

/** The HTTP application over the core: routes, live view and pages. */
export async function openHttp(context: ProcessContext, core: Core) {
  const { env, log, resources } = context;
  const { pool, sql, bus, clock } = core;
  const giveCredits = createGiveCredits(bus, clock);
  const isLocal = env.mode === 'local';
  const live = await openLiveView(context, core);
  const dist = join(import.meta.dirname, '../web/dist');
  const afterwards = createAfterwards(log);
  resources.defer(async () => afterwards.settled());
  const tokens = createTokens({ keys: env.jwtKeys, publicUrl: env.publicUrl, clock });
  const rateLimits = createRateLimits({
    pool,
    mode: env.mode,
    overrides: env.rateLimits,
    apiProcesses: env.apiProcesses,
    log,
    audit: core.audit,
  });
  const app = createApp({
    ...core,
    ...live,
    payments: paymentsOf(core),
    packageName,
    consumeCredits: createConsumeCredits(bus, core.sealer),
    withinDailyCap: createDailyCap(pool, clock),
    takesCommands: async (userId) => (await findUser(sql, userId))?.erasing_at === null,
    exportPerson: createExporter({
      pool,
      clock,
      parts: [creditExport({ ...core, packageName }), runExport(core), recipeExport(core)],
    }),
    recordRecipeUse: async (use) => recordUse(pool, { ...use, now: clock() }),
    isLocal,
    sandboxSeed: env.sandboxSeed,
    tokens,
    requireEmailConfirmation: env.requireEmailConfirmation,
    signupDisclosesAccounts: env.signupDisclosesAccounts,
    afterwards,
    slowDown: createSlowDown(pool),
    monthlyLimits: env.monthlyLimits,
    monthlyLimitOf: async (userId) => {
      const account = await findUser(sql, userId);
      return env.monthlyLimits[account?.subscription_tier ?? 'free'] ?? 0;
    },
    dailyCostLimitUsd: env.dailyCostLimitUsd,
    runsThisMonth: async (userId) =>
      (await readMonthUsage(pool, userId, new Date(clock()).toISOString().slice(0, 7))).runs,
    functionName: appendFunction(projections).name,
    readerLagMs: async () => live.hub.lagMs(),
    readSetAside: async (limit) =>
      readSetAside(
        pool,
        projections.map((projection) => ({ projection, table: projection.name })),
        limit,
      ),
    version: '0.1.0',
    corsOrigins: env.corsOrigins,
    trustedProxyHops: env.trustedProxyHops,
    rateLimits,
    dev: isLocal
      ? {
          sandboxUrl: env.sandboxUrl,
          publicUrl: env.publicUrl,
          isPublic: env.allowPublicSandbox,
          token: env.devPagesToken,
        }
      : null,
    web: readManifest(dist) ? { dist, isLocal, publicUrl: env.publicUrl } : null,
  });
  const sockets = createSocketPort(context, core, { ...live, tokens, rateLimits });
  return { app, hub: live.hub, sockets, giveCredits, afterwards };
}
