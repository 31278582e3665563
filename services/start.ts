import { watch } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '#db/embedded.ts';
import { checkAppConnection } from '#db/connect.ts';
import { migrate, MigrationError } from '#db/migrate.ts';
import { projections } from '#projections/index.ts';
import { SettingsError, type Env } from '#services/platform/env.ts';
import { nextStopRequest, settingsOrExit } from '#services/platform/lifecycle.ts';
import type { ReadyDetails } from '#services/platform/lifecycle.ts';
import { listen, stopListening } from '#services/platform/listen.ts';
import { createLog, type Log } from '#services/platform/log.ts';
import { createSupervisor, processService, ServiceEnded } from '#services/platform/supervise.ts';
import type { GivenUp, Service, Supervisor } from '#services/platform/supervise.ts';
import { buildWebWhenStale, WebBuildError } from '#services/web-build.ts';

/**
 * Everything at once for one machine: the embedded Postgres (unless DATABASE_URL names another), its
 * migrations, the web pages, the sandbox (local mode), and as many worker and API processes as the
 * settings ask for. It ends everything that it started, last started first, on Ctrl-C, on SIGTERM, or
 * when whoever started it is gone.
 */
type Context = { env: Env; log: Log; supervisor: Supervisor; dev: boolean };

type DatabaseUrls = { ownerUrl: string; appUrl: string; auditorUrl: string | null };

const root = join(import.meta.dirname, '..');

async function main(): Promise<number> {
  const stopRequested = nextStopRequest();
  const env = settingsOrExit();
  const log = createLog({ level: env.logLevel, process: 'start' });
  const supervisor = createSupervisor(log);
  const context = { env, log, supervisor, dev: process.argv.includes('--dev') };

  const failed = startAll(context).then(
    async () => Promise.withResolvers<GivenUp>().promise,
    (error: unknown) => reasonOf(error, log),
  );
  const end = await Promise.race([failed, supervisor.givenUp, stopRequested]);
  if (typeof end === 'string') console.log('Stopping…');
  else if (end.line !== null) console.error(end.line);
  await supervisor.stop();
  return typeof end === 'string' ? 0 : end.exitCode;
}

async function startAll(context: Context): Promise<void> {
  const { env, log, supervisor, dev } = context;
  await refuseTakenPort(env);
  const [urls] = await Promise.all([
    openDatabase(context),
    dev ? null : buildWebWhenStale({ root, log }),
  ]);
  const sandboxUrl = env.sandboxUrl ?? (env.mode === 'local' ? await freeLoopbackUrl() : null);
  const variables = {
    DATABASE_URL: urls.appUrl,
    ...(sandboxUrl === null ? {} : { SANDBOX_URL: sandboxUrl }),
  };
  if (env.mode === 'local' && env.sandboxUrl === null) {
    await supervisor.start(nodeProcess('sandbox', 'sandbox/server.ts', variables));
  }
  const workers = numbered('worker', env.workerProcesses);
  const apis = numbered('api', env.apiProcesses);
  const [, [api]] = await Promise.all([
    supervisor.start(...workers.map((name) => nodeProcess(name, 'worker.ts', variables))),
    supervisor.start(...apis.map((name) => nodeProcess(name, 'api.ts', variables, true))),
  ]);
  const [pages] = dev
    ? await supervisor.start(
        nodeProcess('web', 'web-dev.ts', { API_URL: String(api?.['address'] ?? env.publicUrl) }),
      )
    : [api];
  if (dev) restartOnChange(context, [...workers, ...apis]);
  greet(env, pages ?? {}, api ?? {});
}

function nodeProcess(
  name: string,
  file: string,
  variables: Readonly<Record<string, string>>,
  sharesPort: boolean = false,
): Service {
  const path = join(import.meta.dirname, file);
  return processService({ name, file: path, variables: () => variables, sharesPort });
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name} ${index + 1}`);
}

// --- the database ---

async function openDatabase({ env, log, supervisor }: Context): Promise<DatabaseUrls> {
  const urls =
    env.databaseUrl === null
      ? await startPostgres({ env, log, supervisor })
      : {
          ownerUrl: env.migrateDatabaseUrl ?? env.databaseUrl,
          appUrl: env.databaseUrl,
          auditorUrl: null,
        };
  const owner = urls.ownerUrl === urls.appUrl ? 'DATABASE_URL' : 'MIGRATE_DATABASE_URL';
  await naming(owner, urls.ownerUrl, async () =>
    migrate({
      ownerUrl: urls.ownerUrl,
      appRole: roleOf(urls.appUrl),
      auditorRole: urls.auditorUrl === null ? null : roleOf(urls.auditorUrl),
      projections,
      log: (message) => log.info(message),
    }),
  );
  await naming('DATABASE_URL', urls.appUrl, async () => checkAppConnection(urls.appUrl));
  return urls;
}

/** Under the supervisor, so that a killed Postgres comes back, on the port that everyone knows. */
async function startPostgres({
  env,
  log,
  supervisor,
}: Omit<Context, 'dev'>): Promise<DatabaseUrls> {
  let urls: DatabaseUrls | null = null;
  const service: Service = {
    name: 'postgres',
    async launch() {
      const port = urls === null ? null : Number(new URL(urls.ownerUrl).port);
      try {
        const server = await startEmbeddedPostgres({
          dataDir: env.dataDir,
          ...(port === null ? {} : { port }),
          log: (message) => log.info(message),
        });
        urls = server;
        const stopped = Promise.withResolvers<void>();
        return {
          details: { port: server.port },
          ended: Promise.race([server.exited, stopped.promise]).then(() => ({
            final: false,
            how: 'it is gone',
          })),
          async stop() {
            await server.stop();
            stopped.resolve();
          },
        };
      } catch (error) {
        if (!(error instanceof EmbeddedPostgresError)) throw error;
        throw new ServiceEnded({ final: true, line: error.message });
      }
    },
  };
  await supervisor.start(service);
  if (urls === null) throw new Error('Postgres started without addresses');
  return urls;
}

function roleOf(url: string): string {
  return decodeURIComponent(new URL(url).username);
}

/** Runs `work` on a connection; a failure to connect names the variable and the server, no more. */
async function naming<T>(variable: string, url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MigrationError || !(error instanceof Error)) throw error;
    if (!('code' in error) || !isConnectionCode(String(error.code))) throw error;
    const reason = 'severity' in error ? error.message : String(error.code);
    throw new SettingsError([`${variable}: no connection to ${new URL(url).host} (${reason})`], {
      cause: error,
    });
  }
}

/** Of the system (ECONNREFUSED, ENOTFOUND …), of signing in (28…), or of a missing database. */
function isConnectionCode(code: string): boolean {
  return /^E[A-Z]/.test(code) || code.startsWith('28') || code === '3D000';
}

// --- ports and addresses ---

/** Before anything is started, because Postgres takes longer to start than this takes to say. */
async function refuseTakenPort(env: Env): Promise<void> {
  const probe = createServer();
  await listen(probe, env);
  await stopListening(probe);
}

async function freeLoopbackUrl(): Promise<string> {
  const probe = createServer();
  const address = await listen(probe, { host: '127.0.0.1', port: 0 });
  await stopListening(probe);
  return address;
}

// --- words ---

function greet(env: Env, pages: ReadyDetails, api: ReadyDetails): void {
  const lines = [`${env.productName} is at ${pages['address'] ?? env.publicUrl}`];
  if (typeof api['demo_email'] === 'string') {
    lines.push(`Demo account: ${api['demo_email']} with the password ${api['demo_password']}`);
  }
  console.log(['', ...lines, 'Ctrl-C stops it.', ''].join('\n'));
}

function reasonOf(error: unknown, log: Log): GivenUp {
  if (error instanceof SettingsError) return { line: error.message, exitCode: 2 };
  if (error instanceof MigrationError || error instanceof WebBuildError) {
    return { line: error.message, exitCode: 1 };
  }
  log.fatal({ err: error }, 'could not start');
  return { line: 'It could not start; the log above says why.', exitCode: 1 };
}

// --- reloading ---

const reloadDelayMs = 200;

/** Editors write a file in several steps and formatters write many files: one restart for all. */
function restartOnChange({ supervisor, log }: Context, names: readonly string[]): void {
  let timer: NodeJS.Timeout | undefined;
  const restartAll = async (): Promise<void> => {
    log.info('the code changed');
    await Promise.all(names.map(async (name) => supervisor.restart(name)));
  };
  for (const folder of ['services', 'db', 'projections']) {
    watch(join(root, folder), { recursive: true }, () => {
      clearTimeout(timer);
      timer = setTimeout(() => void restartAll(), reloadDelayMs);
    });
  }
}

process.exit(await main());
