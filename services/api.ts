import { prepareDemoAccount } from './identity/accounts/demo.ts';
import { openErasureLog } from './platform/process/erasure-log.ts';
import { runProcess } from './platform/process/lifecycle.ts';
import {
  connectionLimits,
  createHttpServer,
  listen,
  stopListening,
} from './platform/process/listen.ts';
import { openCore } from './core.ts';
import { openHttp } from './http/open.ts';
import { openTelemetry } from './telemetry/open.ts';
import { showApiMetrics } from './telemetry/show.ts';

/** The HTTP process: settings, database, wiring, listen; closed in reverse order. */
await runProcess('api', async (context) => {
  const { env, log, resources } = context;
  const telemetry = await openTelemetry('api', context);
  await openErasureLog(env.erasureLog);
  const core = await openCore('api', { ...context, telemetry }, 20);
  // https means that there is a proxy, and every call comes from its address.
  if (env.publicUrl.startsWith('https:') && env.trustedProxyHops === 0)
    log.warn(
      'All callers share one set of rate limits until TRUSTED_PROXY_HOPS counts the proxies',
    );
  const { app, drain, sockets, hub } = await openHttp(context, core);
  const demo =
    env.mode === 'local' ? await prepareDemoAccount({ ...core, dataDir: env.dataDir }) : null;
  await showApiMetrics(context, telemetry, {
    pool: core.pool,
    readerLagMs: async () => hub.lagMs(),
  });
  const server = createHttpServer(app.fetch, connectionLimits, sockets.protocol);
  resources.defer(async () => {
    drain();
    await Promise.all([stopListening(server), sockets.close()]);
  });
  const address = await listen(server, env);
  log.info({ address }, 'Listening');
  return {
    address,
    ...(demo ? { demo_email: demo.email, demo_password: demo.password } : {}),
  };
});
