import { freePort } from '#services/platform/process/listen.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { startFaultProxy } from '#tests/support/processes/fault-proxy.ts';
import type { FaultProxy } from '#tests/support/processes/fault-proxy.ts';
import { startProcess, temporaryFolder } from '#tests/support/processes/processes.ts';
import type { OwnProcess, Settings } from '#tests/support/processes/processes.ts';

/** Who opens the connections, and to whom. */
export const pairs = [
  'api to database',
  'worker to database',
  'api to models',
  'worker to models',
  'worker to mail',
  'api to stripe',
  'worker to stripe',
  'stripe to api',
  'browser to api',
  'socket to api',
] as const;
export type Pair = (typeof pairs)[number];

/** The application in its real processes, with a network of its own between each two of them. */
export type Stage = AsyncDisposable & {
  network: Readonly<Record<Pair, FaultProxy>>;
  database: TestDatabase;
  /** Of the command line, past the faults. */
  settings: Settings;
  /** Of the API, past the faults. */
  apiUrl: string;
  sandboxUrl: string;
  processes: Readonly<Record<'api' | 'worker' | 'sandbox', OwnProcess>>;
};

export async function openStage(profile: 'instant' | 'realistic'): Promise<Stage> {
  const started = new AsyncDisposableStack();
  const database = await createTestDatabase();
  started.defer(async () => database.drop());
  const folder = temporaryFolder();
  started.defer(() => folder.remove());
  const proxy = async (port: number) => started.use(await startFaultProxy({ port }));
  const portOf = (url: unknown) => Number(new URL(String(url)).port);

  const apiPort = await freePort();
  const toApi = {
    'stripe to api': await proxy(apiPort),
    'browser to api': await proxy(apiPort),
    'socket to api': await proxy(apiPort),
  };
  const sandbox = started.use(
    await startProcess('sandbox/server.ts', {
      DATA_DIR: folder.path,
      SANDBOX_PROFILE: profile,
      // Its payment provider sends webhook events to this port.
      PORT: String(toApi['stripe to api'].port),
    }),
  );
  const { url: sandboxUrl, smtp_url: smtpUrl, stripe_url: stripeUrl } = sandbox.details;
  const network: Stage['network'] = {
    ...toApi,
    'api to database': await proxy(portOf(database.appUrl)),
    'worker to database': await proxy(portOf(database.appUrl)),
    'api to models': await proxy(portOf(sandboxUrl)),
    'worker to models': await proxy(portOf(sandboxUrl)),
    'worker to mail': await proxy(portOf(smtpUrl)),
    'api to stripe': await proxy(portOf(stripeUrl)),
    'worker to stripe': await proxy(portOf(stripeUrl)),
  };
  const settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_DIR: folder.path,
    SANDBOX_URL: String(sandboxUrl),
  };
  const settingsOf = (name: 'api' | 'worker') => ({
    ...settings,
    DATABASE_URL: network[`${name} to database`].through(database.appUrl),
    SANDBOX_URL: network[`${name} to models`].through(String(sandboxUrl)),
    STRIPE_URL: network[`${name} to stripe`].through(String(stripeUrl)),
    SMTP_URL: network['worker to mail'].through(String(smtpUrl)),
    PORT: String(apiPort),
  });
  const [api, worker] = await Promise.all([
    startProcess('api.ts', settingsOf('api')),
    startProcess('worker.ts', settingsOf('worker')),
  ]);
  started.use(api);
  started.use(worker);
  return {
    network,
    database,
    settings,
    apiUrl: `http://127.0.0.1:${apiPort}`,
    sandboxUrl: String(sandboxUrl),
    processes: { api, worker, sandbox },
    [Symbol.asyncDispose]: async () => started.disposeAsync(),
  };
}
