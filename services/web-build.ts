import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLog, type Log } from '#services/platform/log.ts';

/**
 * The browser's part, built into web/dist when its sources have changed since the last build. What a
 * build was made from is recorded beside it as a hash, written last: a build that was interrupted
 * has none and is made again.
 */
export type WebBuildOptions = {
  /** The repository; absolute path. */
  root: string;
  log: Log;
};

const sources = ['web/**/*', 'services/*/contract.ts', 'package-lock.json', 'tsconfig.json'];
const notSources = ['web/dist/**', 'web/.tanstack/**', 'web/src/route-tree.gen.ts'];

/** The steps of a build, each a file or a command with its arguments, run from `root` in turn. */
const steps = [['vite', 'build', '--config', 'web/vite.config.ts', '--logLevel', 'warn']];

/** True when it had to build. @throws WebBuildError */
export async function buildWebWhenStale(options: WebBuildOptions): Promise<boolean> {
  const hash = sourceHash(options.root);
  if (recordedHash(options.root) === hash) return false;
  await buildWeb(options);
  writeFileSync(recordPath(options.root), `${hash}\n`);
  return true;
}

export class WebBuildError extends Error {
  override readonly name = 'WebBuildError';
}

async function buildWeb({ root, log }: WebBuildOptions): Promise<void> {
  const startedMs = Date.now();
  log.info('building the web pages');
  for (const step of steps) await runStep(root, step);
  log.info({ duration_ms: Date.now() - startedMs }, 'built the web pages');
}

async function runStep(root: string, [command = '', ...args]: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(join(root, 'node_modules/.bin', command), args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  child.once('error', reject);
  child.once('exit', (code, signal) => {
    if (code === 0) resolve();
    else
      reject(
        new WebBuildError(`the web pages could not be built (${signal ?? `exit code ${code}`})`),
      );
  });
  await promise;
}

function sourceHash(root: string): string {
  const hash = createHash('sha256');
  for (const path of sourceFiles(root)) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0');
  }
  return hash.digest('hex');
}

function sourceFiles(root: string): string[] {
  const entries = globSync(sources, { cwd: root, exclude: notSources, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .toSorted();
}

function recordedHash(root: string): string | null {
  const path = recordPath(root);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

function recordPath(root: string): string {
  return join(root, 'web/dist/.source-hash');
}

if (import.meta.main) {
  const log = createLog({ level: 'info', process: 'build' });
  await buildWebWhenStale({ root: join(import.meta.dirname, '..'), log });
}
