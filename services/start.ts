import { randomBytes } from 'node:crypto';
import { watch } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { EmbeddedPostgresError } from '#db/embedded/cluster.ts';
import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';
import { MigrationError } from '#db/migrate.ts';
import {
  checkedConnection,
  embeddedDatabase,
  namedDatabase,
  prepareDatabase,
} from '#services/migrate.ts';
import type { DatabaseUrls } from '#services/migrate.ts';
import { findLocalServers } from './models/local-servers.ts';
import type { LocalServer } from './models/local-servers.ts';
import { loadCatalogue } from './models/catalogue.ts';
import { SettingsError, type Env } from './platform/process/env.ts';
import { endProcess, nextStopRequest, settingsOrExit } from './platform/process/lifecycle.ts';
import type { ReadyDetails } from './platform/process/lifecycle.ts';
import { freePort, listen, stopListening } from './platform/process/listen.ts';
import { createLog, type Log } from './platform/process/log.ts';
import { mergedMetrics } from './platform/telemetry/merge.ts';
import { serveMetrics } from './platform/telemetry/server.ts';
import {
  createSupervisor,
  processService,
  restartPolicy,
  ServiceEnded,
} from './platform/process/supervise.ts';
import type { GivenUp, Service, Supervisor } from './platform/process/supervise.ts';
import { buildWebWhenStale, WebBuildError } from '#web/build.ts';

/**
 * Starts everything on one machine: the embedded Postgres (unless DATABASE_URL names another), migrations,
 * web pages, the sandbox (local mode), worker and API processes. It ends them, the last started first, on
 * Ctrl-C, on SIGTERM, or when its parent has ended.
 */
type Context = {
  env: Env;
  log: Log;
  supervisor: Supervisor;
  /** `--dev`: pages and processes reload as their code changes. */
  dev: boolean;
  /** Ends builds in progress. */
  signal: AbortSignal;
};

const root = join(import.meta.dirname, '..');

async function main(): Promise<number> {
  const stopRequested = nextStopRequest();
  const env = settingsOrExit();
  const log = createLog({ level: env.logLevel, process: 'start' });
  const dev = process.argv.includes('--dev');
  // While code is edited it may fail more than five times a minute.
  const policy = dev ? { ...restartPolicy, endsInWindow: Number.POSITIVE_INFINITY } : restartPolicy;
  const supervisor = createSupervisor(log, policy);
  const abort = new AbortController();
  const context = { env, log, supervisor, dev, signal: abort.signal };

  const failed = startAll(context).then(
    async () => Promise.withResolvers<GivenUp>().promise,
    (error: unknown) => reasonOf(error, log),
  );
  const end = await Promise.race([failed, supervisor.givenUp, stopRequested]);
  if (typeof end === 'string') console.log('Stopping…');
  else if (end.line !== null) console.error(end.line);
  abort.abort();
  await supervisor.stop();
  return typeof end === 'string' ? 0 : end.exitCode;
}

async function startAll(context: Context): Promise<void> {
  const { env, supervisor, dev } = context;
  // Checked once here, not in the log of every process.
  loadCatalogue(env.modelsFile);
  await refuseTakenPorts(env);
  const urls = await openDatabase(context);
  await Promise.all([
    prepareDatabase(urls, env.mode, context.log),
    dev ? null : buildPages(context),
  ]);
  const startsSandbox = env.mode === 'local' && env.sandboxUrl === null;
  const sandboxUrl = env.sandboxUrl ?? (startsSandbox ? await freeLoopbackUrl() : null);
  const smtpUrl =
    env.smtpUrl ?? (startsSandbox ? (await freeLoopbackUrl()).replace('http:', 'smtp:') : null);
  const stripeUrl = env.stripe === null && startsSandbox ? await freeLoopbackUrl() : null;
  const apiUrl = dev ? await freeLoopbackUrl() : null;
  const variables = {
    DATABASE_URL: urls.appUrl,
    PUBLIC_URL: env.publicUrl,
    ...(env.poolThreads === null ? {} : { UV_THREADPOOL_SIZE: String(env.poolThreads) }),
    ...(sandboxUrl === null ? {} : { SANDBOX_URL: sandboxUrl }),
    ...(smtpUrl === null ? {} : { SMTP_URL: smtpUrl }),
    ...(stripeUrl === null ? {} : { STRIPE_URL: stripeUrl }),
    ...(apiUrl === null ? {} : { PORT: new URL(apiUrl).port }),
  };
  if (startsSandbox) {
    // The sandbox replaces the real service and never runs beside it.
    const played = {
      ...variables,
      ...(env.smtpUrl === null ? {} : { SMTP_URL: '' }),
      ...(env.stripe?.url ? { STRIPE_URL: '' } : {}),
    };
    await supervisor.start(nodeProcess('sandbox', 'sandbox/server.ts', played));
  }
  const devToken =
    env.mode === 'local' && env.allowPublicSandbox ? randomBytes(32).toString('base64url') : null;
  const apiVariables = {
    ...variables,
    ...(devToken === null ? {} : { DEV_PAGES_TOKEN: devToken }),
  };
  const workers = numbered('worker', env.workerProcesses);
  const apis = numbered('api', env.apiProcesses);
  const portOf = await showMetrics(context, [...workers, ...apis]);
  const [, [api = {}]] = await Promise.all([
    supervisor.start(
      ...workers.map((name) => nodeProcess(name, 'worker.ts', { ...variables, ...portOf(name) })),
    ),
    supervisor.start(
      ...apis.map((name) =>
        nodeProcess(name, 'api.ts', { ...apiVariables, ...portOf(name) }, true),
      ),
    ),
  ]);
  if (apiUrl !== null) {
    await supervisor.start(nodeProcess('web', '../web/dev.ts', { API_ORIGIN: apiUrl }));
    restartOnChange(context, [...workers, ...apis]);
  }
  greet(env, api, devToken, await unusedServers(env));
}

/** Model servers on this machine that no setting names, in local mode. */
async function unusedServers(env: Env): Promise<LocalServer[]> {
  if (env.mode !== 'local') return [];
  return findLocalServers({
    ollamaUrl: env.ollamaUrl,
    endpointUrls: env.compatibleEndpoints.map(({ baseUrl }) => baseUrl),
  });
}

async function buildPages({ env, log, signal }: Context): Promise<void> {
  const { productName, contactEmail, analyticsUrl, socialLinks, modelsFile } = env;
  const names = { productName, contactEmail, analyticsUrl, socialLinks, modelsFile };
  await buildWebWhenStale({ root, log, signal, ...names });
}

function nodeProcess(
  name: string,
  file: string,
  variables: Readonly<Record<string, string>>,
  sharesPort: boolean = false,
): Service {
  const path = join(import.meta.dirname, file);
  return processService({ name, file: path, variables, sharesPort });
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name} ${index + 1}`);
}

// --- the database ---

async function openDatabase(context: Context): Promise<DatabaseUrls> {
  if (context.env.databaseUrl === null) return startPostgres(context);
  const urls = namedDatabase(context.env);
  await checkedConnection(urls.appUrl);
  return urls;
}

/** Under the supervisor, so that a killed Postgres restarts on the same port. */
async function startPostgres({ env, log, supervisor }: Context): Promise<DatabaseUrls> {
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
        urls = embeddedDatabase(server);
        const stopped = Promise.withResolvers<void>();
        return {
          details: { port: server.port },
          ended: Promise.race([server.exited, stopped.promise]).then(() => ({
            final: false,
            how: 'the server ended',
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
  if (urls === null) throw new Error('Postgres started without an address');
  return urls;
}

// --- metrics ---

/** Shows the metrics of all processes at one address. Each has a port of its own, also after a restart. */
async function showMetrics(
  { env, log }: Context,
  names: readonly string[],
): Promise<(name: string) => Record<string, string>> {
  if (env.metricsPort === null) return () => ({});
  const ports = new Map<string, number>();
  for (const name of names) ports.set(name, await freePort());
  const page = mergedMetrics([...ports].map(([name, port]) => ({ name, port })));
  await serveMetrics(page, { host: env.host, port: env.metricsPort }, log);
  return (name) => ({ METRICS_PORT: String(ports.get(name)) });
}

// --- ports and addresses ---

/** Before Postgres, which takes longer to start. */
async function refuseTakenPorts(env: Env): Promise<void> {
  const places = [
    env,
    ...(env.metricsPort === null
      ? []
      : [{ host: env.host, port: env.metricsPort, variable: 'METRICS_PORT' }]),
  ];
  for (const place of places) {
    const probe = createServer();
    await listen(probe, place);
    await stopListening(probe);
  }
}

async function freeLoopbackUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

// --- messages ---

function greet(
  env: Env,
  api: ReadyDetails,
  devToken: string | null,
  servers: readonly LocalServer[],
): void {
  const lines = [`${env.productName} is running at ${env.publicUrl}`];
  if (typeof api['demo_email'] === 'string') {
    lines.push(`Demo account: ${api['demo_email']}, password ${api['demo_password']}`);
  }
  if (env.mode === 'local' && env.smtpUrl === null && env.sandboxUrl === null) {
    lines.push(`Read emails at ${env.publicUrl}/dev/mail`);
  }
  if (env.stripe === null && env.mode === 'local' && env.sandboxUrl === null) {
    lines.push(`Test payments at ${env.publicUrl}/dev/stripe`);
  }
  if (env.mode === 'local' && devToken === null) {
    lines.push(`See connected models at ${env.publicUrl}/dev/models`);
  }
  if (env.metricsPort !== null)
    lines.push(`Metrics at http://${env.host}:${env.metricsPort}/metrics`);
  for (const { found, line } of servers) {
    lines.push(`${found}, not in use. To use it, add this line to .env:`, line);
  }
  if (devToken !== null) {
    lines.push(
      'Pages under /dev open only in a browser that has opened this link (it changes at each start):',
    );
    lines.push(`${env.publicUrl}/dev/mail?token=${devToken}`);
  }
  console.log(['', ...lines, 'Press Ctrl-C to stop.', ''].join('\n'));
}

function reasonOf(error: unknown, log: Log): GivenUp {
  if (error instanceof SettingsError) return { line: error.message, exitCode: 2 };
  if (error instanceof MigrationError || error instanceof WebBuildError) {
    return { line: error.message, exitCode: 1 };
  }
  log.fatal({ err: error }, 'Could not start');
  return { line: "Couldn't start. See the log above for the reason.", exitCode: 1 };
}

// --- reloading ---

const reloadDelayMs = 200;

/** Editors write a file in several steps and formatters write many files: one restart for all. */
function restartOnChange({ supervisor, log }: Context, names: readonly string[]): void {
  let timer: NodeJS.Timeout | undefined;
  const restartAll = async (): Promise<void> => {
    log.info('The code changed');
    await Promise.all(names.map(async (name) => supervisor.restart(name)));
  };
  for (const folder of ['services', 'db', 'projections']) {
    watch(join(root, folder), { recursive: true }, () => {
      clearTimeout(timer);
      timer = setTimeout(() => void restartAll(), reloadDelayMs);
    });
  }
}

await endProcess(await main());
