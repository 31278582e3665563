import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEnv } from '#services/platform/process/env.ts';
import { createLog, type Log } from '#services/platform/process/log.ts';

/**
 * Builds the pages into web/dist when their sources have changed. They are built beside it and put in its
 * place with the hash of their sources, so that an interrupted build is repeated.
 */
export type WebBuildOptions = {
  /** The repository; absolute path. */
  root: string;
  /** Settings that are built into the pages. */
  productName: string;
  contactEmail: string | null;
  analyticsUrl: string | null;
  socialLinks: readonly string[];
  /** The operator's catalogue, whose prices the home page shows. */
  modelsFile: string | null;
  /** Aborts the build, which then throws. */
  signal: AbortSignal;
  log: Log;
};

const sources = [
  'web/**/*',
  'services/*/*contract.ts',
  'services/*/contract/*.ts',
  // The page that explains the method.
  'docs/method.md',
  'services/http/guide.ts',
  'services/identity/refusals.ts',
  // The pages share the view of a run and everything it is built from.
  'services/optimizations/{run,council,prompts,reading,refinement,check,files}/**/*.ts',
  'services/platform/*.ts',
  // The prices on the home page.
  'services/payments/catalogue.ts',
  'services/models/catalogue.json',
  'services/models/{*,seating/*}.ts',
  'package-lock.json',
  'tsconfig.json',
];
const notSources = ['web/dist/**', 'web/.tanstack/**', 'web/src/app/route-tree.gen.ts'];

/** True when it had to build. @throws WebBuildError */
export async function buildWebWhenStale(options: WebBuildOptions): Promise<boolean> {
  if (recordedHash(options.root) === sourceHash(options)) return false;
  const release = await takeTurn(options);
  try {
    const hash = sourceHash(options);
    // Another process may have built it during the wait.
    if (recordedHash(options.root) === hash) return false;
    const { root } = options;
    const draft = join(root, 'web/.tanstack/dist');
    await buildWeb(options, draft);
    writeFileSync(join(draft, recordName), `${hash}\n`);
    // A process that reads a page in between finds none, and never half of one.
    rmSync(join(root, dist), { recursive: true, force: true });
    renameSync(draft, join(root, dist));
    return true;
  } finally {
    release();
  }
}

const dist = 'web/dist';
const recordName = '.source-hash';
const turnPollMs = 200;

/**
 * One build at a time, because each empties the folder that another would be writing to. The turn is
 * a file that names its holder; it appears whole by a link, and that of a dead holder is taken over.
 */
async function takeTurn({ root, signal }: WebBuildOptions): Promise<() => void> {
  const folder = join(root, 'web/.tanstack');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'build.pid');
  const draft = `${path}.${process.pid}`;
  for (;;) {
    writeFileSync(draft, String(process.pid));
    try {
      linkSync(draft, path);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    await sleep(turnPollMs, undefined, { signal });
    if (!isHeld(path)) rmSync(path, { force: true });
  }
}

/** Whether a living process holds the turn. */
function isHeld(path: string): boolean {
  try {
    return process.kill(Number(readFileSync(path, 'utf8')), 0);
  } catch (error) {
    // ENOENT: it has given its turn back. ESRCH: it died with it. EPERM: it belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

export class WebBuildError extends Error {
  override readonly name = 'WebBuildError';
}

async function buildWeb(
  { root, log, signal, ...names }: WebBuildOptions,
  draft: string,
): Promise<void> {
  const startedMs = Date.now();
  log.info('building the web pages');
  const args = ['build', '--config', 'web/vite.config.ts', '--logLevel', 'warn'];
  const child = spawn(join(root, 'node_modules/.bin/vite'), args, {
    cwd: root,
    signal,
    // Its progress is drawn for a terminal of its own; what went wrong comes on stderr.
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      WEB_DIST: draft,
      PRODUCT_NAME: names.productName,
      CONTACT_EMAIL: names.contactEmail ?? '',
      ANALYTICS_URL: names.analyticsUrl ?? '',
      SOCIAL_LINKS: names.socialLinks.join(' '),
      MODELS_FILE: names.modelsFile ?? '',
    },
  });
  const how = await endOf(child);
  if (how !== null) throw new WebBuildError(`the web pages could not be built (${how})`);
  log.info({ duration_ms: Date.now() - startedMs }, 'built the web pages');
}

/** Null when it ended well. */
async function endOf(child: ChildProcess): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  child.once('error', (error) => resolve(error.message));
  child.once('exit', (code, signal) => {
    resolve(code === 0 ? null : (signal ?? `exit code ${code}`));
  });
  return promise;
}

function sourceHash(options: WebBuildOptions): string {
  const { root, productName, contactEmail, analyticsUrl, socialLinks, modelsFile } = options;
  const operators = modelsFile === null ? null : readFileSync(modelsFile, 'utf8');
  const names = [productName, contactEmail, analyticsUrl, socialLinks];
  const hash = createHash('sha256').update(JSON.stringify([names, operators]));
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
  return join(root, dist, recordName);
}

if (import.meta.main) {
  const { logLevel, productName, contactEmail, analyticsUrl, socialLinks, modelsFile } = readEnv(
    process.env,
  );
  await buildWebWhenStale({
    root: join(import.meta.dirname, '..'),
    log: createLog({ level: logLevel, process: 'build' }),
    productName,
    contactEmail,
    analyticsUrl,
    socialLinks,
    modelsFile,
    signal: new AbortController().signal,
  });
}
