import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Postgres runs in a process group of its own and outlives a process that is killed outright. Each
 * process that uses a data folder therefore has a guard, tied to it by a pipe. While the pipe is open the
 * guard is a shell that reads from it; once it closes, the shell becomes `guard-process.ts`,
 * which stops a Postgres that nobody uses.
 */
export type Guard = {
  /** Ends the guard; never rejects. */
  release(): Promise<void>;
};

type GuardOptions = {
  dataDir: string;
  /** Takes what the guard has to say. */
  logFile: string;
  /** How long nobody may have used Postgres before it is stopped. */
  unusedMs: number;
  log: (message: string) => void;
};

/** Says which process a session of Postgres belongs to. */
export const applicationName = (pid: number | string): string => `sevenfold supervisor ${pid}`;

/** Does the work with a guard, which ends when the work fails. */
export async function guarded<Result>(
  options: GuardOptions,
  work: (guard: Guard) => Promise<Result>,
): Promise<Result> {
  const guard = startGuard(options);
  try {
    return await work(guard);
  } catch (error) {
    await guard.release();
    throw error;
  }
}

const file = join(import.meta.dirname, 'guard-process.ts');

function startGuard({ dataDir, logFile, unusedMs, log }: GuardOptions): Guard {
  const output = openSync(logFile, 'a', 0o600);
  const node = [process.execPath, file, resolve(dataDir), String(process.pid), String(unusedMs)];
  const child = spawn('/bin/sh', ['-c', 'read -r line; exec "$@"', 'sh', ...node], {
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
    log(`Nothing will stop Postgres if this process is killed: ${error.message}`);
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
