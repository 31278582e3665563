import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  applicationName,
  connect,
  foldersOf,
  isRunning,
  openCluster,
  runningServer,
  stopMs,
  stopServer,
  tryLock,
  usersLock,
  type Cluster,
  type Server,
} from './cluster.ts';

/**
 * Postgres has a session of its own and outlives a process that is killed. Each process that uses a data
 * folder therefore has a guard, tied to it by a pipe. While the pipe is open the guard is a shell that
 * reads from it; once it closes, the shell runs this file, which stops a Postgres without users.
 */
export type Guard = {
  /** Ends the guard; never rejects. */
  release(): Promise<void>;
};

export type GuardOptions = {
  dataDir: string;
  /** For the guard's own output. */
  logFile: string;
  /** How long Postgres may be without users before it is stopped. */
  unusedMs: number;
  log: (message: string) => void;
};

export function startGuard({ dataDir, logFile, unusedMs, log }: GuardOptions): Guard {
  const output = openSync(logFile, 'a', 0o600);
  const node = [process.execPath, import.meta.filename, resolve(dataDir)];
  const command = [...node, String(process.pid), String(unusedMs)];
  const child = spawn('/bin/sh', ['-c', 'read -r line; exec "$@"', 'sh', ...command], {
    cwd: '/',
    // A group of its own: a signal to the whole group of its user must leave it alive.
    detached: true,
    stdio: ['pipe', output, output],
    env: { PATH: process.env['PATH'] ?? '' },
  });
  closeSync(output);
  const ended = Promise.withResolvers<void>();
  child.once('exit', () => ended.resolve());
  child.once('error', (error) => {
    log(`Postgres would continue to run after a kill of this process: ${error.message}`);
    ended.resolve();
  });
  child.unref();
  return {
    async release() {
      child.ref();
      child.kill('SIGKILL');
      await ended.promise;
    },
  };
}

// --- the process ---

/** Ends as soon as Postgres has ended or has another user, who has a guard of its own. */
async function watch(dataDir: string, endedPid: string, unusedMs: number): Promise<void> {
  const server = await runningServer(foldersOf(dataDir));
  if (server === null) return;
  const cluster = await openCluster(dataDir, console.log);
  const endsAt = performance.now() + unusedMs;
  while (performance.now() < endsAt) {
    await sleep(Math.min(1_000, unusedMs / 4));
    if (!(await isRunning(server, cluster.folders))) return;
    // While it starts or recovers it has no users yet.
    if (await hasUser(cluster, server, endedPid).catch(() => false)) return;
  }
  await stopUnused(cluster, server);
}

/** Without the process that ended, whose session Postgres may notice a moment later. */
async function hasUser(cluster: Cluster, server: Server, endedPid: string): Promise<boolean> {
  const client = await connect(cluster, server.port);
  try {
    const { rows } = await client.query<{ used: boolean }>(
      `select exists (
         select from pg_locks join pg_stat_activity using (pid)
         where locktype = 'advisory' and objid = $1 and granted and application_name <> $2) as used`,
      [usersLock, applicationName(endedPid)],
    );
    return rows[0]?.used === true;
  } finally {
    await client.end();
  }
}

/** Under the lock that keeps new users away until Postgres has ended; they then start it again. */
async function stopUnused(cluster: Cluster, server: Server): Promise<void> {
  const client = await connect(cluster, server.port).catch(() => null);
  // A server that does not answer is of no use to a new user either.
  if (client === null || (await tryLock(client, 'exclusive')))
    await stopServer(cluster, server, stopMs);
  await client?.end();
}

if (import.meta.main) {
  const [dataDir = '', endedPid = '', unusedMs = ''] = process.argv.slice(2);
  await watch(dataDir, endedPid, Number(unusedMs));
}
