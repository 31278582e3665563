import { execFile, fork, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { knownVariables } from '#services/platform/process/env.ts';
import type { ReadyDetails, ReadyMessage } from '#services/platform/process/lifecycle.ts';
import { withNodeSettings } from '#services/platform/process/supervise.ts';
import type { CallOptions, Person } from '#tests/support/app.ts';
import { operateJson, type Outcome } from './operator.ts';
import { testPassword } from '#tests/support/password.ts';
import { variablesOf, type Settings } from '#tests/support/variables.ts';

/**
 * The product as real processes, for tests that kill, stop and double them: the whole application, or
 * single processes over a test's own database. The caller disposes of what it started.
 */
export type { Settings };

const services = join(import.meta.dirname, '../../../services');

/** A folder that Postgres may enter when root runs the tests. Remove it at the end. */
export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'sevenfold-processes-'));
  chmodSync(path, 0o755);
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Polls until there is a result; the error names what was missing. */
export async function eventually<Found>(
  what: string,
  poll: () => Promise<Found | null | false> | Found | null | false,
  timeoutMs = 120_000,
): Promise<Found> {
  const end = performance.now() + timeoutMs;
  let last: unknown = null;
  while (performance.now() < end) {
    try {
      const found = await poll();
      if (found !== null && found !== false) return found;
      last = null;
    } catch (error) {
      // It may be restarting; the last error becomes the cause.
      last = error;
    }
    await sleep(25);
  }
  throw new Error(`Not within ${timeoutMs} ms: ${what}`, { cause: last });
}

// --- what runs ---

export type Listed = { pid: number; parent: number; command: string };

/** Every process of this machine but those that have ended and were not collected yet. */
export async function listProcesses(): Promise<Listed[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=,command='], {
    maxBuffer: 16_000_000,
  });
  return stdout.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (match === null || match[3]?.startsWith('Z') === true) return [];
    return [{ pid: Number(match[1]), parent: Number(match[2]), command: match[4] ?? '' }];
  });
}

/** Ends without an error when it is gone already. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

// --- the whole application ---

export type Part = 'api' | 'worker' | 'sandbox' | 'postgres';

const commandOf: Readonly<Record<Part, string>> = {
  api: join(services, 'api.ts'),
  worker: join(services, 'worker.ts'),
  sandbox: join(services, 'sandbox/server.ts'),
  postgres: 'postgres -D',
};

export type Application = AsyncDisposable & {
  url: string;
  demo: { email: string; password: string };
  supervisor: number;
  /** What it printed, both streams. */
  output(): string;
  /** Of the living processes that do this part; of Postgres the postmaster. */
  pids(part: Part): Promise<number[]>;
  /** Everything that it started and that lives, itself included. */
  family(): Promise<Listed[]>;
  /** Ended: its exit code, or null when it was killed. */
  ended: Promise<number | null>;
};

export type ApplicationOptions = {
  dataDir: string;
  port: number;
  settings?: Settings;
  /** By `npm start`; then `supervisor` is npm itself. */
  byNpm?: boolean;
};

/** As `npm start` does; resolves when it has greeted. */
export async function startApplication(options: ApplicationOptions): Promise<Application> {
  const { dataDir, port, settings = {}, byNpm = false } = options;
  const [program, args] = byNpm
    ? ['npm', ['--prefix', join(services, '..'), 'start']]
    : [process.execPath, [join(services, 'start.ts')]];
  const child = spawn(program, args, {
    // Elsewhere than here, where a developer may keep settings in a file.
    cwd: tmpdir(),
    // A group of its own, as a terminal gives a command, which Ctrl-C reaches as one.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: variablesOf({
      // npm runs in our folder: an empty value hides what its `.env` says.
      ...(byNpm ? Object.fromEntries(knownVariables().map((name) => [name, ''])) : {}),
      SANDBOX_PROFILE: 'instant',
      ...settings,
      DATA_DIR: dataDir,
      PORT: String(port),
    }),
  });
  const output = collectOutput(child);
  const ended = endOf(child);
  const supervisor = child.pid ?? 0;
  const seen = new Map<number, Listed>();

  const family = async (): Promise<Listed[]> => {
    const all = await listProcesses();
    for (const one of all)
      if (
        one.pid === supervisor ||
        seen.has(one.parent) ||
        // Postgres outlives a supervisor that was killed, and its next one did not start it.
        (one.command.includes(commandOf.postgres) && one.command.includes(dataDir))
      )
        seen.set(one.pid, one);
    return all.filter(({ pid, command }) => seen.get(pid)?.command === command);
  };
  const application: Application = {
    url: `http://127.0.0.1:${port}`,
    demo: { email: '', password: '' },
    supervisor,
    output,
    family,
    ended,
    async pids(part) {
      const living = await family();
      return living
        .filter(({ command }) => command.includes(commandOf[part]))
        .map(({ pid }) => pid);
    },
    async [Symbol.asyncDispose]() {
      for (const { pid } of await family()) signal(pid, 'SIGKILL');
      await ended;
      // A child that was just being launched is seen now.
      for (const { pid } of await family()) signal(pid, 'SIGKILL');
    },
  };
  let over = false;
  void ended.then(() => (over = true));
  try {
    const greeting = await eventually('the greeting', () => {
      if (over) return { email: '', password: '' };
      const match = /Demo account: (\S+), password (\S+)/.exec(output());
      return match === null ? null : { email: match[1] ?? '', password: match[2] ?? '' };
    });
    if (over) throw new Error('It ended before its greeting');
    await family();
    return Object.assign(application, { demo: greeting });
  } catch (error) {
    await application[Symbol.asyncDispose]();
    throw new Error(`The application did not start:\n${output()}`, { cause: error });
  }
}

/** Of the embedded Postgres in a data folder, as its owner. */
export function ownerUrlOf(dataDir: string): string {
  const passwords = JSON.parse(readFileSync(join(dataDir, 'keys/postgres.json'), 'utf8')) as {
    owner: string;
  };
  const port = readFileSync(join(dataDir, 'postgres.port'), 'utf8').trim();
  return `postgres://sevenfold_owner:${passwords.owner}@127.0.0.1:${port}/sevenfold`;
}

// --- single processes ---

export type OwnProcess = AsyncDisposable & {
  pid: number;
  details: ReadyDetails;
  output(): string;
  /** Its log so far. */
  log(): Record<string, unknown>[];
  signal(name: NodeJS.Signals): void;
  /** Exit code, null when it was killed. */
  ended: Promise<number | null>;
};

/** One process with a channel, as the supervisor runs it; resolves when it says that it is ready. */
export async function startProcess(
  file: 'api.ts' | 'worker.ts' | 'sandbox/server.ts',
  settings: Settings,
): Promise<OwnProcess> {
  const child = fork(join(services, file), [], {
    cwd: tmpdir(),
    // Not the options of the Node that runs the tests.
    execArgv: [],
    env: withNodeSettings(variablesOf({ SANDBOX_PROFILE: 'instant', ...settings })),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const output = collectOutput(child);
  const ended = endOf(child);
  const pid = child.pid ?? 0;
  const ready = once(child, 'message') as Promise<[ReadyMessage]>;
  const first = await Promise.race([ready, ended]);
  if (!Array.isArray(first)) throw new Error(`${file} did not start:\n${output()}`);
  return {
    pid,
    details: first[0].details,
    output,
    log: () => linesOf(output()),
    signal: (name) => signal(pid, name),
    ended,
    async [Symbol.asyncDispose]() {
      signal(pid, 'SIGCONT');
      signal(pid, 'SIGTERM');
      const timer = setTimeout(() => signal(pid, 'SIGKILL'), 15_000);
      await ended;
      clearTimeout(timer);
    },
  };
}

function collectOutput(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data: Buffer) => (text += data.toString()));
  return () => text;
}

function linesOf(output: string): Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function endOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

// --- the command line ---

/** The command line as an operator types it; `settings` name the database. */
export async function commandLine(settings: Settings, ...args: string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [join(services, 'cli/main.ts'), ...args], {
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: variablesOf({ LOG_LEVEL: 'error', ...settings }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

/** The JSON that a command prints. @throws when it did not end with 0 */
export async function commandJson<Data>(settings: Settings, ...args: string[]): Promise<Data> {
  const { code, stdout, stderr } = await commandLine(settings, ...args, '--json');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
  return JSON.parse(stdout) as Data;
}

// --- over HTTP ---

export type Client = {
  call(path: string, options?: CallOptions): Promise<Response>;
  /** The `data` of a success; anything else throws with what was answered. */
  data<Data>(path: string, options?: CallOptions): Promise<Data>;
  /** By default with 50 credits that an operator grants. */
  signUp(options?: { credits: number }): Promise<Person>;
};

/** `settings` name the database, for the command line. */
export function createClient(url: string, settings: Settings): Client {
  const call: Client['call'] = async (
    path,
    { method, body, token, key, headers, signal: stop } = {},
  ) =>
    fetch(`${url}/api${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(stop === undefined ? {} : { signal: stop }),
    });
  const data: Client['data'] = async <Data>(path: string, options?: CallOptions) => {
    const response = await call(path, options);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return (JSON.parse(text) as { data: Data }).data;
  };
  return {
    call,
    data,
    async signUp({ credits } = { credits: 50 }) {
      const email = `person-${randomBytes(6).toString('hex')}@example.com`;
      const { token, user } = await data<{ token: string; user: { id: string } }>('/auth/signup', {
        body: { name: 'A Person', email, password: testPassword },
      });
      if (credits > 0)
        await operateJson(settings, 'credits', 'grant', email, String(credits), '--reason', 'Test');
      return { token, userId: user.id, email };
    },
  };
}
