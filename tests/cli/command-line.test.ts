import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { eventCommands } from '#services/cli/events.ts';
import { runCommands } from '#services/cli/runs/run.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { give } from '#tests/support/processes/service.ts';
import { variablesOf } from '#tests/support/variables.ts';
import { runHere } from './in-process.ts';

let app: TestApp;
let ann: Person;

beforeAll(async () => {
  app = await createTestApp();
  ann = await app.signUp();
  await give(app, ann.userId, 50);
});
afterAll(async () => app.close());

type Ended = { code: number | null; stdout: string; stderr: string };

/** As an operator types it; `read` closes the pipe after the first bytes, as `head` does. */
async function cli(args: readonly string[], read: 'all' | 'some' = 'all'): Promise<Ended> {
  const path = fileURLToPath(import.meta.resolve('#services/cli/main.ts'));
  const child = spawn(process.execPath, [path, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: variablesOf({
      DATABASE_URL: app.database.appUrl,
      MIGRATE_DATABASE_URL: app.database.ownerUrl,
      DATA_KEY: randomBytes(32).toString('base64'),
      JWT_KEYS: randomBytes(32).toString('base64'),
    }),
  });
  const ended = { code: null, stdout: '', stderr: '' } as Ended;
  child.stdout.on('data', (data: Buffer) => {
    ended.stdout += data.toString();
    if (read === 'some') child.stdout.destroy();
  });
  child.stderr.on('data', (data: Buffer) => (ended.stderr += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { ...ended, code };
}

test('wrong usage prints one line before the usage and ends with 2', async () => {
  for (const [args, line] of [
    [['credits', 'grant', ann.email], 'Missing: <credits>'],
    [['users', 'nonsense'], 'Unknown command: users nonsense'],
    [['nonsense', 'list'], 'Unknown command: nonsense'],
  ] as const) {
    const { code, stdout, stderr } = await cli(args);
    expect(stderr.split('\n')[0]).toBe(line);
    expect(stderr).toContain('npm run cli --');
    expect([code, stdout]).toEqual([2, '']);
  }
});

test.each([
  [['run', '   '], 'What business challenge are you facing?'],
  [['run', 'Rent or buy?', '--strategy', 'best'], 'Choose one of the listed strategies'],
])('%j is wrong usage', async (words, line) => {
  await expect(runHere(app, runCommands, words)).rejects.toThrow(new UsageError(line));
});

test('help and --help show the same', async () => {
  const [asked, optional] = await Promise.all([
    cli(['help', 'credits', 'unfreeze']),
    cli(['credits', 'unfreeze', '--help']),
  ]);
  expect(asked.stderr + asked.stdout).toContain('npm run cli -- credits unfreeze');
  expect(asked).toEqual({ ...optional, code: 0 });
});

test.each(['show', 'verify'])('events %s of a missing stream says so', async (verb) => {
  const words = ['events', verb, 'credits-usr_mistyped'];
  const { code, said } = await runHere(app, eventCommands, words);
  expect(said).toContain('There is no stream of this name');
  expect(code).toBe(1);
});

test('a reader that closes the pipe early is no error', async () => {
  for (let round = 0; round < 3; round += 1)
    await Promise.all(Array.from({ length: 100 }, async () => give(app, ann.userId, 1)));
  const { code, stderr } = await cli(['events', 'show', `credits-${ann.userId}`], 'some');
  expect([code, stderr]).toEqual([0, '']);
});

test('tail ends when its reader has closed the pipe', { tags: ['long'] }, async () => {
  const tailing = cli(['events', 'tail'], 'some');
  let over = false;
  void tailing.then(() => (over = true));
  await expect
    .poll(
      async () => {
        await give(app, ann.userId, 50);
        return over;
      },
      { timeout: 60_000, interval: 200 },
    )
    .toBe(true);
  expect(await tailing).toMatchObject({ code: 0, stderr: '' });
});
