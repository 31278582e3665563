import { createServer } from 'node:http';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { appendFunction } from '#db/append-function.ts';
import { projectionStatus } from '#projections/checkpoint.ts';
import { projections } from '#projections/index.ts';
import { countRunsInMonth } from '#projections/optimization-list.ts';
import { createApp } from '#services/app.ts';
import { createGiveCredits } from '#services/credits/grants.ts';
import { prepareDemoAccount } from '#services/identity/demo.ts';
import { createTokens } from '#services/identity/tokens.ts';
import { findUser } from '#services/identity/users.ts';
import { openLiveView } from '#services/live-view.ts';
import { runProcess } from '#services/platform/lifecycle.ts';
import { listen, stopListening } from '#services/platform/listen.ts';
import { readManifest } from '#services/web-pages.ts';
import { openCore } from '#services/wiring.ts';

/** The HTTP process: settings, database, wiring, listen; closed in reverse order. */
await runProcess('api', async (context) => {
  const { env, log, resources } = context;
  const core = await openCore('api', context, 20);
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
  const demo = isLocal
    ? await prepareDemoAccount({ sql, giveCredits, dataDir: env.dataDir })
    : null;

  const handle = getRequestListener(app.fetch);
  const server = createServer((request, response) => void handle(request, response));
  resources.defer(async () => {
    live.hub.drain();
    await stopListening(server);
  });
  const address = await listen(server, env);
  log.info({ address }, 'Listening');
  return {
    address,
    ...(demo ? { demo_email: demo.email, demo_password: demo.password } : {}),
  };
});
