import { join } from 'node:path';
import { createServer } from 'vite';
import { runProcess } from '#services/platform/lifecycle.ts';

/**
 * The web pages while they are being written: Vite's own server, which reloads as you type and hands
 * every call of the API on to the API process, whose address is in API_URL.
 */
await runProcess('web', async ({ env, resources }) => {
  const apiUrl = process.env['API_URL'] ?? env.publicUrl;
  const server = await createServer({
    configFile: join(import.meta.dirname, '../web/vite.config.ts'),
    server: {
      host: env.host,
      port: env.port + 1,
      proxy: { '^/(api|auth|dev|socket\\.io)/': { target: apiUrl, ws: true } },
    },
  });
  resources.defer(async () => server.close());
  await server.listen();
  return { address: server.resolvedUrls?.local[0] ?? null };
});
