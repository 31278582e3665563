import { join } from 'node:path';
import { appendFunction } from '#db/append-function.ts';
import { projections } from '#projections/index.ts';
import { readSetAside } from '#projections/engine/set-aside.ts';
import { shownRun } from '#projections/optimization-list.ts';
import { readMonthUsage } from '#projections/run-usage.ts';
import { createAnnouncement } from './announcement.ts';
import { createApp } from './app.ts';
import { contactExport } from '#services/contact/export.ts';
import { creditExport } from '#services/credits/export.ts';
import { createAfterwards } from '#services/identity/afterwards.ts';
import { createExporter } from '#services/identity/accounts/export.ts';
import { createSlowDown } from '#services/identity/slow-down.ts';
import { createDailyCap } from '#services/identity/daily-cap.ts';
import { createTokens } from '#services/identity/sessions/tokens.ts';
import { findUser } from '#services/identity/accounts/users.ts';
import { openLiveView } from './live-view.ts';
import { createAddressHashes } from '#services/onboarding/bonus.ts';
import { onboardingExport } from '#services/onboarding/export.ts';
import { readDetail } from '#services/optimizations/detail.ts';
import { createFileReader } from '#services/optimizations/files/reader.ts';
import { runExport } from '#services/optimizations/reading/export.ts';
import { oneTimePrice, packageName } from '#services/payments/catalogue.ts';
import type { ProcessContext } from '#services/platform/process/lifecycle.ts';
import { softwareVersion } from '#services/platform/process/software.ts';
import { createRateLimits } from '#services/platform/http/rate-limits.ts';
import { recipeExport } from '#services/recipes/export.ts';
import { recordUse } from '#services/recipes/recipes.ts';
import { createSocketPort } from './socket-port.ts';
import { readManifest } from './pages.ts';
import { paymentsOf } from '#services/core.ts';
import type { Core } from '#services/core.ts';
import { countedStreams, observedRequests } from '#services/telemetry/requests.ts';

/** The HTTP application over the core: routes, live view and pages. */
export async function openHttp(context: ProcessContext, core: Core) {
  const { env, log, resources } = context;
  const { pool, clock } = core;
  const { metrics, tracing, requests } = core.telemetry;
  const isLocal = env.mode === 'local';
  const live = await openLiveView(context, core);
  const dist = join(import.meta.dirname, '../../web/dist');
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
  const files = createFileReader({ log });
  resources.defer(() => files.close());
  const stopping = new AbortController();
  const app = createApp({
    ...core,
    files,
    ...live,
    openStreams: countedStreams(live.openStreams, requests && requests.streams),
    observeRequests: metrics || tracing.isOn ? observedRequests(requests, tracing) : null,
    payments: paymentsOf(core),
    packageName,
    withinDailyCap: createDailyCap(pool, clock),
    takesCommands: async (userId) => (await findUser(pool, userId))?.erasing_at === null,
    exportPerson: createExporter({
      pool,
      clock,
      parts: [
        creditExport({ ...core, packageName }),
        runExport(core),
        recipeExport(core),
        contactExport(core),
        onboardingExport(core),
      ],
    }),
    recordRecipeUse: async (use) => recordUse(pool, { ...use, now: clock() }),
    bonusCredits: env.onboardingBonusCredits,
    usedByApiKeys: async (userId) => core.ledger.usedByApiKeys(userId),
    addressHashes: createAddressHashes(env.dataKeys),
    priceOf: oneTimePrice,
    statusOfRun: async (userId, runId) => {
      const run = await shownRun(pool, runId);
      return run?.userId === userId ? run.status : null;
    },
    readDetail: async (runId) => readDetail(core, runId),
    isLocal,
    sandboxSeed: env.sandboxSeed,
    tokens,
    requireEmailConfirmation: env.requireEmailConfirmation,
    signupDisclosesAccounts: env.signupDisclosesAccounts,
    afterwards,
    slowDown: createSlowDown(pool),
    monthlyLimits: env.monthlyLimits,
    monthlyLimitOf: async (userId) => {
      const account = await findUser(pool, userId);
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
    version: softwareVersion,
    stopping: stopping.signal,
    corsOrigins: env.corsOrigins,
    trustedProxyHops: env.trustedProxyHops,
    rateLimits,
    dev: isLocal
      ? {
          sandboxUrl: env.sandboxUrl,
          publicUrl: env.publicUrl,
          isPublic: env.allowPublicSandbox,
          token: env.devPagesToken,
          models: { ...core, settings: env },
        }
      : null,
    web: readManifest(dist)
      ? {
          dist,
          isLocal,
          publicUrl: env.publicUrl,
          analyticsUrl: env.analyticsUrl,
          announcement: createAnnouncement({ pool, clock, log }),
        }
      : null,
  });
  const sockets = createSocketPort(context, core, {
    ...live,
    openStreams: countedStreams(live.openStreams, requests && requests.sockets),
    tokens,
    rateLimits,
  });
  const drain = () => {
    stopping.abort();
    live.hub.drain();
  };
  return { app, drain, sockets, hub: live.hub, afterwards };
}
