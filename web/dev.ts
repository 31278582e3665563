import { join } from 'node:path';
import { createServer } from 'vite';
import { runProcess } from '#services/platform/process/lifecycle.ts';

/**
 * Vite's dev server on PORT. It reloads on every change and forwards API calls to API_ORIGIN (see
 * web/vite.config.ts).
 */
await runProcess('web', async ({ env, resources }) => {
  const server = await createServer({
    configFile: join(import.meta.dirname, './vite.config.ts'),
    server: { host: env.host, port: env.port, strictPort: true },
  });
  resources.defer(async () => server.close());
  await server.listen();
  return { address: server.resolvedUrls?.local[0] ?? null };
});
