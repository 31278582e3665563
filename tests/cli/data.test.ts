import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';
import { dataCommands, ResetRefused } from '#services/cli/data.ts';
import { variablesOf, type Settings } from '#tests/support/variables.ts';
import { runOnSettings } from './in-process.ts';

let parent: string;
let dataDir: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'sevenfold-reset-'));
  chmodSync(parent, 0o755);
  dataDir = join(parent, 'data');
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

type Ended = { code: number | null; stderr: string };

async function reset(args: string[], input = ''): Promise<Ended> {
  const path = fileURLToPath(import.meta.resolve('#services/cli/main.ts'));
  const child = spawn(process.execPath, [path, 'data', 'reset', ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: variablesOf({ DATA_DIR: dataDir }),
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  let stderr = '';
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

/** Without a process of its own. */
const resetHere = async (settings: Settings = {}) =>
  runOnSettings(dataCommands, ['data', 'reset', '--yes'], { DATA_DIR: dataDir, ...settings });

test('data reset asks, and without the answer yes it changes nothing', async () => {
  mkdirSync(join(dataDir, 'postgres'), { recursive: true });
  const outcomes = await Promise.all(['', 'no\n'].map(async (input) => reset([], input)));
  for (const { code, stderr } of outcomes) {
    expect(stderr).toContain(`Move ${dataDir} to `);
    expect(stderr).toContain('Nothing changed. Without a terminal, pass --yes');
    expect(code).toBe(1);
  }
  expect(readdirSync(parent)).toEqual(['data']);
});

test.each([
  ['the answer yes', [], 'yes\n'],
  ['--yes', ['--yes'], ''],
])('data reset with %s moves the folder aside and deletes nothing', async (_, args, input) => {
  mkdirSync(join(dataDir, 'postgres', 'base'), { recursive: true });
  expect(await reset(args, input)).toMatchObject({ code: 0 });
  const [moved, ...others] = readdirSync(parent);
  expect(moved).toMatch(/^data-\d{4}-/);
  expect(others).toEqual([]);
  expect(existsSync(join(parent, moved!, 'postgres', 'base'))).toBe(true);
  expect(existsSync(join(parent, moved!, 'keys', 'data.key'))).toBe(true);
});

test('data reset refuses a folder without a database, a database elsewhere and production', async () => {
  const url = 'postgres://app:secret@127.0.0.1:1/none';
  const production = {
    MODE: 'production',
    DATABASE_URL: url,
    DATA_KEY: Buffer.alloc(32).toString('base64'),
    JWT_KEYS: Buffer.alloc(32).toString('base64'),
    MAIL_FROM: 'a@example.com',
    CONTACT_EMAIL: 'a@example.com',
    PUBLIC_URL: 'https://example.com',
    ERASURE_LOG: '/none/erasures.ndjson',
    SMTP_URL: 'smtps://mail.example.com',
  };
  const missing = `DATA_DIR: there is no database in ${dataDir}`;
  expect(await reset(['--yes'])).toEqual({ code: 1, stderr: `${missing}\n` });
  await expect(resetHere({ DATABASE_URL: url })).rejects.toThrow(
    /^DATABASE_URL names the database/,
  );
  await expect(resetHere(production)).rejects.toThrow(
    new ResetRefused('data reset works in local mode only'),
  );
});

test('data reset refuses while a Postgres runs on the folder', async () => {
  const server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const link = join(parent, 'link');
  symlinkSync(dataDir, link);
  try {
    for (const settings of [{}, { DATA_DIR: link }])
      await expect(resetHere(settings)).rejects.toThrow(/is in use; stop the app and try again$/);
  } finally {
    await server.stop();
  }
  expect(readdirSync(parent)).toEqual(['data', 'link']);
});

test('data reset of a link moves the folder, and the link leads to an empty one', async () => {
  mkdirSync(join(dataDir, 'postgres', 'base'), { recursive: true });
  const link = join(parent, 'link');
  symlinkSync(dataDir, link);
  expect(await resetHere({ DATA_DIR: link })).toMatchObject({ code: 0 });
  const [, moved] = readdirSync(parent);
  expect(existsSync(join(parent, moved!, 'postgres', 'base'))).toBe(true);
  expect(readdirSync(link)).toEqual([]);
});
