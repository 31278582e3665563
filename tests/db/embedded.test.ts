import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { EmbeddedPostgresError } from '#db/embedded/cluster.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#db/embedded/embedded.ts';

let dataDir: string;
const running: EmbeddedPostgres[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  dataDir = newFolder();
  await (await begin()).stop();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of running.splice(0).toReversed()) await server.stop();
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

test('a second start finds the port and the data of the first', async () => {
  const first = await begin();
  await run(first.ownerUrl, 'create table kept as select 7 as number');
  const { port } = first;
  await first.stop();
  const second = await begin();
  expect(second.port).toBe(port);
  expect(await run(second.ownerUrl, 'select number from kept')).toEqual([{ number: 7 }]);
  await run(second.ownerUrl, 'drop table kept');
});

test('the three roles sign in with their passwords, which only this user can read', async () => {
  const server = await begin();
  for (const [url, role] of [
    [server.ownerUrl, 'sevenfold_owner'],
    [server.appUrl, 'sevenfold_app'],
    [server.auditorUrl, 'sevenfold_auditor'],
  ] as const)
    expect(
      await run(
        url,
        'select current_user as role, rolsuper from pg_roles where rolname = current_user',
      ),
    ).toEqual([{ role, rolsuper: false }]);
  const wrong = new URL(server.appUrl);
  wrong.password = 'wrong';
  await expect(run(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  expect(statSync(join(dataDir, 'keys', 'postgres.json')).mode & 0o777).toBe(0o600);
  expect(statSync(join(dataDir, 'keys')).mode & 0o777).toBe(0o700);
});

test('Postgres flushes the log at every commit and allows no prepared transactions', async () => {
  const server = await begin();
  expect(
    await run(
      server.appUrl,
      `select name, setting from pg_settings where name in
         ('fsync', 'full_page_writes', 'synchronous_commit', 'max_prepared_transactions',
          'listen_addresses')
       order by name`,
    ),
  ).toEqual([
    { name: 'fsync', setting: 'on' },
    { name: 'full_page_writes', setting: 'on' },
    { name: 'listen_addresses', setting: '127.0.0.1' },
    { name: 'max_prepared_transactions', setting: '0' },
    { name: 'synchronous_commit', setting: 'on' },
  ]);
});

test('the log of Postgres holds no value of a statement', async () => {
  const address = 'ann.canary@example.com';
  const server = await begin();
  await run(server.ownerUrl, 'create table person (email text primary key)');
  await run(server.ownerUrl, 'insert into person values ($1)', [address]);
  for (const [statement, values, code] of [
    ['insert into person values ($1)', [address], '23505'],
    [`insert into person values ('${address}')`, [], '23505'],
    ['select $1::integer', [address], '22P02'],
    [`do $$ begin raise warning '%', '${address}'; end $$`, [], null],
  ] as const) {
    const outcome = run(server.ownerUrl, statement, values).catch((error: unknown) => error);
    expect(await outcome).toMatchObject(code === null ? [] : { code });
  }
  await run(server.ownerUrl, 'drop table person');
  await server.stop();
  const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8');
  expect(log).toContain('database system is shut down');
  expect(log).not.toContain('canary');
});

test('Postgres runs until the last of three processes stops', async () => {
  const holder = await startHolder();
  const [second, third] = [await begin(), await begin()];
  expect([second.port, third.port]).toEqual([holder.port, holder.port]);
  await holder.stop();
  expect(await run(second.appUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  await second.stop();
  expect(await run(third.appUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  await third.stop();
  await expect(run(third.appUrl, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test(
  'four users that start and stop at random each have a Postgres while they run',
  { tags: ['long'] },
  async () => {
    const visits = Array.from({ length: 4 }, async (_, visitor) => {
      for (let time = 0; time < 3; time += 1) {
        await sleep(Math.random() * 60 * visitor);
        const server = await begin();
        expect(await run(server.appUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
        await server.stop();
      }
    });
    await Promise.all(visits);
    expect(existsSync(pidFile())).toBe(false);
  },
);

test('two processes that start an empty folder at once share one Postgres', async () => {
  const empty = newFolder();
  try {
    const holders = await Promise.all([startHolder(empty), startHolder(empty)]);
    expect(holders[0].port).toBe(holders[1].port);
    await Promise.all(holders.map((holder) => holder.stop()));
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
});

test('the next process takes over the Postgres of a killed process, and stops it', async () => {
  const holder = await startHolder();
  const exited = once(holder.child, 'exit');
  holder.child.kill('SIGKILL');
  await exited;
  const heir = await begin();
  expect(heir.port).toBe(holder.port);
  await heir.stop();
  await expect(run(heir.appUrl, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a kill of Postgres resolves `exited`, and the next start recovers', async () => {
  const server = await begin();
  await run(server.ownerUrl, 'create table survivor as select 1 as number');
  process.kill(postmasterPid(), 'SIGKILL');
  await server.exited;
  const next = await begin();
  expect(await run(next.ownerUrl, 'select number from survivor')).toEqual([{ number: 1 }]);
  await run(next.ownerUrl, 'drop table survivor');
});

test('a leftover pid file with the number of another program does not prevent a start', async () => {
  for (const pid of [process.pid, 2 ** 22 - 3]) {
    writeFileSync(pidFile(), `${pid}\n${join(dataDir, 'postgres')}\n0\n5432\n\n127.0.0.1\n`);
    const server = await begin();
    expect(await run(server.appUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.stop();
  }
});

test('a Postgres is joined through a link to its folder, and after a move of it', async () => {
  const first = await begin();
  const pid = postmasterPid();
  const other = `${dataDir}-other`;
  const joined = async () => {
    const server = await startEmbeddedPostgres({ dataDir: other, log: () => undefined });
    await server.stop();
    return server.port;
  };
  symlinkSync(dataDir, other);
  expect(await joined()).toBe(first.port);
  unlinkSync(other);
  renameSync(dataDir, other);
  try {
    expect(await joined()).toBe(first.port);
  } finally {
    renameSync(other, dataDir);
  }
  expect(postmasterPid()).toBe(pid);
  expect(await run(first.appUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('a Postgres that does not answer is stopped and started again', async () => {
  const server = await begin();
  const pid = postmasterPid();
  // The pid file names its port; now it names one without a listener.
  const lines = readFileSync(pidFile(), 'utf8').split('\n');
  writeFileSync(pidFile(), lines.with(3, '1').join('\n'));
  const lost = server.exited;
  const next = await begin({ strangerAnswerMs: 200 });
  await lost;
  expect(postmasterPid()).not.toBe(pid);
  expect(await run(next.appUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('a start uses the last port again, and another one when that is taken', async () => {
  const server = await begin();
  const { port } = server;
  await server.stop();
  const taker = createServer().listen(port, '127.0.0.1');
  await once(taker, 'listening');
  const next = await begin();
  expect(next.port).not.toBe(port);
  taker.close();
});

// --- errors that a user can repair are one line ---

test('the error for a folder that cannot be written names it', async () => {
  const folder = newFolder();
  const file = join(folder, 'file');
  writeFileSync(file, '');
  expect(await lineOf(file)).toMatch(/^DATA_DIR: cannot write to .*file/);
  rmSync(folder, { recursive: true });
});

test.each(['$HOME', '$(exit)', '`exit`', 'a"b', 'a\\b', 'a\nb'])(
  'a folder whose name a shell would read is refused: %j',
  async (name) => {
    const folder = join(dataDir, name);
    expect(await lineOf(folder)).toMatch(/^DATA_DIR: .* choose another folder$/);
    expect(existsSync(folder)).toBe(false);
  },
);

test('the error for another Postgres version names the way out', async () => {
  const versionFile = join(dataDir, 'postgres', 'PG_VERSION');
  const version = readFileSync(versionFile, 'utf8');
  writeFileSync(versionFile, '17\n');
  try {
    expect(await lineOf(dataDir)).toMatch(/^DATA_DIR: .*Postgres 17 .*18.*docs\/backup\.md/);
  } finally {
    writeFileSync(versionFile, version);
  }
});

test('missing or wrong passwords are named, and the data stays as it is', async () => {
  const path = join(dataDir, 'keys', 'postgres.json');
  const text = readFileSync(path, 'utf8');
  unlinkSync(path);
  try {
    expect(await lineOf(dataDir)).toMatch(/^DATA_DIR: .*postgres\.json is missing/);
    writeFileSync(path, text.replaceAll(/"superuser": "[^"]*"/g, '"superuser": "wrong"'));
    expect(await lineOf(dataDir)).toMatch(
      /^DATA_DIR: the password in .*postgres\.json does not open/,
    );
  } finally {
    writeFileSync(path, text, { mode: 0o600 });
  }
  expect(await run((await begin()).appUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
});

// --- support ---

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sevenfold-embedded-'));
  chmodSync(folder, 0o755);
  return folder;
}

async function begin(limits: { strangerAnswerMs?: number } = {}): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log: () => undefined, limits });
  running.push(server);
  return server;
}

/** The one line of a start that fails. */
async function lineOf(folder: string): Promise<string> {
  const failed = startEmbeddedPostgres({ dataDir: folder, log: () => undefined });
  const error: unknown = await failed.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(EmbeddedPostgresError);
  const { message } = error as EmbeddedPostgresError;
  expect(message).not.toContain('\n');
  return message;
}

type Holder = { child: ChildProcess; port: number; stop(): Promise<void> };

async function startHolder(folder: string = dataDir): Promise<Holder> {
  const path = fileURLToPath(import.meta.resolve('#tests/support/processes/embedded-holder.ts'));
  const child = spawn(process.execPath, [path, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const details = JSON.parse(line) as { port: number };
  return {
    child,
    ...details,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

function pidFile(): string {
  return join(dataDir, 'postgres', 'postmaster.pid');
}

function postmasterPid(): number {
  return Number(readFileSync(pidFile(), 'utf8').split('\n')[0]);
}

async function run(
  url: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}
