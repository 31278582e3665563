import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { prepareDemoAccount } from '#services/identity/demo.ts';
import { runProcess } from '#services/platform/lifecycle.ts';
import { listen, stopListening } from '#services/platform/listen.ts';
import { openCore, openHttp } from '#services/wiring.ts';

/** The HTTP process: settings, database, wiring, listen; closed in reverse order. */
await runProcess('api', async (context) => {
  const { env, log, resources } = context;
  const core = await openCore('api', context, 20);
  const { app, hub, giveCredits } = await openHttp(context, core);
  const demo =
    env.mode === 'local'
      ? await prepareDemoAccount({ sql: core.sql, giveCredits, dataDir: env.dataDir })
      : null;
  const handle = getRequestListener(app.fetch);
  const server = createServer((request, response) => void handle(request, response));
  resources.defer(async () => {
    hub.drain();
    await stopListening(server);
  });
  const address = await listen(server, env);
  log.info({ address }, 'Listening');
  return {
    address,
    ...(demo ? { demo_email: demo.email, demo_password: demo.password } : {}),
  };
});
