import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import {
  connect,
  database,
  EmbeddedPostgresError,
  foldersOf,
  isRunning,
  openCluster,
  prepareFolders,
  roles,
  runningServer,
  startServer,
  stopMs,
  stopServer,
  tryLock,
  urlOf,
  usersLock,
  type Cluster,
  type Server,
} from './cluster.ts';
import { startGuard, type Guard } from './guard.ts';

/**
 * Postgres 18 for one machine, in a data folder (docs/decisions/0036-one-postgres-for-a-folder.md).
 *
 * One server serves a folder, for any number of our processes. The first process starts it, later ones
 * join, and the last one to leave stops it. Each holds a shared advisory lock on a session of its own.
 * A process that leaves releases its lock and tries for the exclusive one, which only the last can get,
 * and which keeps newcomers away while the server stops. Locks end with their sessions, so a killed
 * process does not count.
 */
export type EmbeddedPostgres = {
  /** Owns the database and may create others: migrate, rebuild. No superuser. */
  ownerUrl: string;
  /** The application's role: cannot write events but through the append function. */
  appUrl: string;
  /** Reads events and read models. */
  auditorUrl: string;
  port: number;
  /** Resolves when the server has ended without a call of `stop`. */
  exited: Promise<void>;
  /** Leaves the server, and stops it when no other process uses it. */
  stop(): Promise<void>;
};

export type EmbeddedOptions = {
  /** DATA_DIR. The cluster is its folder `postgres`, the passwords its file `keys/postgres.json`. */
  dataDir: string;
  /** Wanted port; without it the last one when free, else any free one. */
  port?: number;
  log: (message: string) => void;
  /** Further settings, such as `fsync=off` for tests. */
  settings?: readonly string[];
  limits?: Partial<EmbeddedLimits>;
};

type EmbeddedLimits = { [Name in keyof typeof defaultLimits]: number };

const defaultLimits = {
  /** Start, with crash recovery of a big log. */
  answerMs: 60_000,
  /** A server that we did not start and that does not answer counts as stuck after this. */
  strangerAnswerMs: 15_000,
  stopMs,
  logBytes: 10_000_000,
  /** A Postgres whose users were all killed is stopped after this. */
  unusedMs: 60_000,
} as const;

type Setup = {
  cluster: Cluster;
  options: EmbeddedOptions;
  limits: EmbeddedLimits;
  guard: Guard;
};

/**
 * Starts the Postgres of a data folder, or joins the one that runs there.
 *
 * @throws EmbeddedPostgresError with one line that says what to do
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const folders = foldersOf(options.dataDir);
  prepareFolders(folders);
  const limits = { ...defaultLimits, ...options.limits };
  const guard = startGuard({ ...options, logFile: folders.log, unusedMs: limits.unusedMs });
  try {
    const cluster = await openCluster(options.dataDir, options.log);
    return await startOrJoin({ cluster, options, limits, guard });
  } catch (error) {
    await guard.release();
    throw error;
  }
}

/** Another round is needed when another process starts or stops the server at the same moment. */
async function startOrJoin(setup: Setup): Promise<EmbeddedPostgres> {
  const { cluster, options, limits } = setup;
  for (let round = 0; round < rounds; round += 1) {
    const running = await runningServer(cluster.folders);
    const server =
      running ??
      (await startServer(cluster, {
        ...options,
        settings: options.settings ?? [],
        timeoutMs: limits.answerMs,
        logBytes: limits.logBytes,
      }));
    const session = server === null ? null : await join(setup, server);
    if (server === null || session === null) {
      await sleep(betweenRoundsMs);
      continue;
    }
    await prepareDatabase(cluster, server.port);
    return hold(setup, server, session);
  }
  throw new EmbeddedPostgresError(
    `DATA_DIR: Postgres could neither be started nor joined in ${cluster.folders.cluster}; see ${cluster.folders.log}`,
  );
}

const rounds = 20;
const betweenRoundsMs = 250;
const betweenTriesMs = 25;

/** A session that counts as one user; null when the server has ended, if need be by us. */
async function join(setup: Setup, server: Server): Promise<pg.Client | null> {
  const { cluster, options, limits } = setup;
  const end = performance.now() + limits.strangerAnswerMs;
  while (await isRunning(server, cluster.folders)) {
    const client = await connect(cluster, server.port).catch(unlessRefused);
    if (client !== null && (await tryLock(client, 'shared'))) return client;
    // It starts, or its last user is stopping it.
    await client?.end();
    if (performance.now() > end) {
      options.log(`A Postgres in ${cluster.folders.cluster} does not answer; stopping it`);
      await stopServer(cluster, server, limits.stopMs);
    }
    await sleep(betweenTriesMs);
  }
  return null;
}

function unlessRefused(error: unknown): null {
  if (error instanceof EmbeddedPostgresError) throw error;
  return null;
}

const preparingLock = 7_305_002;

/**
 * Roles and database, each created when missing. Passwords travel in `create role` once; the statement
 * is not logged by default. The owner reads statistics and may end sessions, as an operator must.
 */
async function prepareDatabase(cluster: Cluster, port: number): Promise<void> {
  const client = await connect(cluster, port);
  try {
    // Two first starts at once would both find nothing and both create it.
    await client.query('select pg_advisory_lock($1)', [preparingLock]);
    const { rows } = await client.query<{ name: string }>(
      'select rolname as name from pg_roles union all select datname from pg_database',
    );
    const existing = new Set(rows.map((row) => row.name));
    for (const name of ['owner', 'app', 'auditor'] as const) {
      if (existing.has(roles[name])) continue;
      const rights = name === 'owner' ? 'login createdb' : 'login';
      const password = client.escapeLiteral(cluster.passwords[name]);
      await client.query(`create role ${roles[name]} with ${rights} password ${password}`);
      if (name === 'owner')
        await client.query(`grant pg_monitor, pg_signal_backend to ${roles.owner}`);
      // An open transaction would hide new events from the app's readers.
      if (name === 'auditor')
        await client.query(
          `alter role ${roles.auditor} set idle_in_transaction_session_timeout = '10min'`,
        );
    }
    if (!existing.has(database))
      await client.query(`create database ${database} owner ${roles.owner}`);
  } finally {
    await client.end();
  }
}

function hold(setup: Setup, server: Server, joined: pg.Client): EmbeddedPostgres {
  const { cluster, options, limits, guard } = setup;
  const exited = Promise.withResolvers<void>();
  let stopping = false;
  let session = watched(joined);

  function watched(client: pg.Client): pg.Client {
    client.on('end', () => {
      if (!stopping) void sessionLost();
    });
    return client;
  }

  /** An operator may terminate a session; only the end of the server is an exit. */
  async function sessionLost(): Promise<void> {
    const again = await join(setup, server).catch((error: unknown) => {
      options.log(`Postgres was lost: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    });
    if (again !== null) {
      session = watched(again);
      return;
    }
    if (stopping) return;
    await guard.release();
    exited.resolve();
  }

  const url = (role: 'owner' | 'app' | 'auditor') =>
    urlOf(server.port, role, cluster.passwords, database);
  return {
    ownerUrl: url('owner'),
    appUrl: url('app'),
    auditorUrl: url('auditor'),
    port: server.port,
    exited: exited.promise,
    async stop() {
      if (stopping) return;
      stopping = true;
      if (await isLastUser(setup, server, session))
        await stopServer(cluster, server, limits.stopMs);
      await session.end();
      await guard.release();
    },
  };
}

/** Gives up the session's own lock. */
async function isLastUser({ cluster }: Setup, server: Server, session: pg.Client) {
  try {
    await session.query('select pg_advisory_unlock_shared($1)', [usersLock]);
    return await tryLock(session, 'exclusive');
  } catch {
    // The session was lost, and its lock with it: another session answers.
  }
  try {
    const client = await connect(cluster, server.port);
    const last = await tryLock(client, 'exclusive');
    await client.end();
    return last;
  } catch {
    // A server that does not answer is of no use to other processes either.
    return true;
  }
}
