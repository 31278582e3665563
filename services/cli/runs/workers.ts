import { createServer } from 'node:http';
import { join } from 'node:path';
import { heartbeatStaleSeconds } from '#services/platform/http/health.ts';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { createSupervisor, processService } from '#services/platform/process/supervise.ts';
import { say } from '#services/cli/command.ts';
import type { Database } from '#services/cli/database.ts';

/** Uses the running workers if one was active recently; otherwise starts one until the command ends. */
export async function workersFor(database: Database): Promise<AsyncDisposable & { own: boolean }> {
  const { env, log } = database;
  if ((await countWorkers(database)) > 0) return { own: false, async [Symbol.asyncDispose]() {} };
  const supervisor = createSupervisor(log);
  const sandboxUrl = env.sandboxUrl ?? (env.mode === 'local' ? await freeUrl() : null);
  const variables = {
    DATABASE_URL: database.url,
    LOG_LEVEL: 'error',
    ...(sandboxUrl === null ? {} : { SANDBOX_URL: sandboxUrl }),
  };
  const service = (name: string, file: string) =>
    processService({
      name,
      file: join(import.meta.dirname, '../..', file),
      variables,
      // The command's stdout holds its data, or a protocol.
      printsToStderr: true,
    });
  if (env.mode === 'local' && env.sandboxUrl === null)
    await supervisor.start(service('sandbox', 'sandbox/server.ts'));
  await supervisor.start(service('worker', 'worker.ts'));
  say('No worker is running, so this command does the work itself.');
  return { own: true, [Symbol.asyncDispose]: async () => supervisor.stop() };
}

/** Workers that wrote their heartbeat lately. */
export async function countWorkers({ pool }: Pick<Database, 'pool'>): Promise<number> {
  const { rowCount } = await pool.query(
    `select from process_heartbeat
     where kind = 'worker' and beat_at > now() - make_interval(secs => $1)`,
    [heartbeatStaleSeconds],
  );
  return rowCount ?? 0;
}

async function freeUrl(): Promise<string> {
  const probe = createServer();
  const url = await listen(probe, { host: '127.0.0.1', port: 0 });
  await stopListening(probe);
  return url;
}
