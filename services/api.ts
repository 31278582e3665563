import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { createPool } from '#db/connect.ts';
import { databaseUrlOf } from '#services/platform/env.ts';
import { runProcess } from '#services/platform/lifecycle.ts';
import { listen, stopListening } from '#services/platform/listen.ts';

/** The HTTP process: settings, database, wiring, listen; closed in reverse order. */
await runProcess('api', async ({ env, log, resources }) => {
  const pool = createPool(databaseUrlOf(env), {
    max: 20,
    applicationName: 'sevenfold api',
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
  resources.defer(async () => pool.end());
  await pool.query('select 1');

  const app = new Hono().get('/api/health', (c) => c.json({ data: { status: 'ok' } }));

  const handle = getRequestListener(app.fetch);
  const server = createServer((request, response) => void handle(request, response));
  resources.defer(async () => stopListening(server));
  const address = await listen(server, env);
  log.info({ address }, 'listening');
  return { address };
});
