import { setTimeout as sleep } from 'node:timers/promises';
import { applicationName } from './guard.ts';
import {
  answers,
  connect,
  foldersOf,
  isOurPostmaster,
  readOrCreatePasswords,
  readPidFile,
  stopPostmaster,
  tryLock,
  usersLock,
} from './embedded.ts';

/**
 * Runs once a process that used the Postgres of a data folder has ended without leaving it. It ends as
 * soon as Postgres is gone or has another user, who has a guard of its own, and stops a Postgres that
 * had none for the whole wait.
 */
const [dataDir = '', endedPid = '', unusedMs = ''] = process.argv.slice(2);
const limits = { pollMs: Math.min(1_000, Number(unusedMs) / 4), answerMs: 15_000, stopMs: 30_000 };

const folders = foldersOf(dataDir);
const passwords = readOrCreatePasswords(folders);
const server = readPidFile(folders);

async function isRunning(pid: number): Promise<boolean> {
  return readPidFile(folders)?.pid === pid && (await isOurPostmaster(pid, folders));
}

/** Not counting the process that ended, whose session Postgres may take a moment to notice. */
async function hasUser(port: number): Promise<boolean> {
  const client = await connect(port, passwords, 'postgres');
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

/** Under the lock that keeps new users away until Postgres is gone; they then start it again. */
async function stopUnused(pid: number, port: number): Promise<void> {
  // One that answers nobody is of no use to a new user either.
  if (!(await answers({ folders, passwords }, { pid, port }, limits.answerMs)))
    return stopPostmaster(pid, limits.stopMs);
  const client = await connect(port, passwords, 'postgres');
  const isUnused = await tryLock(client, 'pg_try_advisory_lock');
  if (isUnused) await stopPostmaster(pid, limits.stopMs);
  await client.end();
}

async function guard(pid: number, port: number): Promise<void> {
  const endsAt = performance.now() + Number(unusedMs);
  while (performance.now() < endsAt) {
    await sleep(limits.pollMs);
    if (!(await isRunning(pid))) return;
    // It may be starting, or recovering from a crash: then nobody uses it yet.
    if (await hasUser(port).catch(() => false)) return;
  }
  await stopUnused(pid, port);
}

if (server?.port) await guard(server.pid, server.port);
