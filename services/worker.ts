import { run } from 'graphile-worker';
import { createPool } from '#db/connect.ts';
import { databaseUrlOf } from '#services/platform/env.ts';
import { runProcess } from '#services/platform/lifecycle.ts';

/** The background process: settings, database, wiring, the job runner; closed in reverse order. */
await runProcess('worker', async ({ env, log, resources }) => {
  const pool = createPool(databaseUrlOf(env), {
    max: 20,
    applicationName: 'sevenfold worker',
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
  resources.defer(async () => pool.end());

  const runner = await run({ pgPool: pool, taskList: {}, noHandleSignals: true });
  resources.defer(async () => runner.stop());
  log.info('working');
  return {};
});
