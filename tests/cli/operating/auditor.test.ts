import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';
import { anchorCommands } from '#services/cli/credits/anchors.ts';
import { grantCommands } from '#services/cli/credits/grants.ts';
import { creditCommands } from '#services/cli/credits.ts';
import { NoSuchPerson } from '#services/cli/database.ts';
import { eventCommands } from '#services/cli/events.ts';
import { optimizationCommands } from '#services/cli/optimizations.ts';
import { projectionCommands } from '#services/cli/projections.ts';
import { userCommands } from '#services/cli/users.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import { commandLine } from '#tests/support/processes/processes.ts';
import { runAsAuditor } from '#tests/cli/in-process.ts';

let council: TestCouncil;
let ann: Person;
let runId: string;

beforeAll(async () => {
  council = await createTestCouncil();
  ann = await council.signUp();
  await give(council, ann.userId, 100);
  const run = await council.ask(ann, { challenge: 'Rent or buy?', strategy: 'balanced' });
  runId = run.id;
});
afterAll(async () => council.close());

const commands: readonly CliCommand[] = [
  ...creditCommands,
  ...grantCommands,
  ...anchorCommands,
  ...eventCommands,
  ...optimizationCommands,
  ...projectionCommands,
  ...userCommands,
];
const asAuditor = async (...words: string[]) => runAsAuditor(council.database, commands, words);

test.each([
  ['credits verify', 'Verified.'],
  ['credits anchors', 'anchor  made at'],
  ['credits grants', 'operator'],
  ['events verify', ', 0 faults'],
  ['projections list', 'credit_account'],
  ['users erasures', 'erased at'],
])('an auditor runs %s', async (words, expected) => {
  const { code, out } = await asAuditor(...words.split(' '));
  expect(out).toContain(expected);
  expect(code).toBe(0);
});

test('an auditor replays an account by its id, and knows no addresses', async () => {
  const { code, out } = await asAuditor('credits', 'replay', ann.userId);
  expect(out).toContain('CreditsCaptured');
  expect(code).toBe(0);
  expect((await asAuditor('credits', 'balance', ann.userId)).out).toContain('available credits');
  expect((await asAuditor('credits', 'verify', ann.userId)).out).toContain('Verified.');
  for (const named of [ann.email, 'usr_unknown'])
    await expect(asAuditor('credits', 'replay', named)).rejects.toThrow(NoSuchPerson);
});

test('an auditor verifies a run without its texts, which stay sealed', async () => {
  const { code, out } = await asAuditor('optimizations', 'verify', runId);
  expect(out).toContain('ok   settlement\n');
  expect(code).toBe(0);
  const shown = await asAuditor('events', 'show', `optimization-${runId}`);
  expect(shown.out).toContain('"challenge":"[sealed]"');
  await expect(asAuditor('events', 'show', `optimization-${runId}`, '--open')).rejects.toThrow(
    UsageError,
  );
  const { out: file } = await asAuditor('optimizations', 'export', runId, '--evidence');
  expect(file).toContain('"texts":"sealed"');
});

test('an auditor finds every read model equal to its events, and leaves nothing behind', async () => {
  const tables = async () =>
    (await council.database.ownerPool.query('select from pg_class')).rowCount;
  const before = await tables();
  const { code, out } = await asAuditor('projections', 'verify', '--all');
  expect(out).toMatch(/^credit_account +[1-9]\d* +0 /m);
  expect(code).toBe(0);
  await expect.poll(tables).toBe(before);
});

test('an auditor finds a changed row of a read model', async () => {
  const change = async (by: number) =>
    council.database.ownerPool.query(
      `update credit_account set available = available + $2, other = other + $2 where user_id = $1`,
      [ann.userId, by],
    );
  await change(1);
  const { code, out, said } = await asAuditor('projections', 'verify', 'credit_account');
  await change(-1);
  expect(out).toMatch(/^credit_account +\d+ +1 /m);
  expect(said).toContain(ann.userId);
  expect(code).toBe(1);
});

test('an auditor verifies read models while writers continue', async () => {
  const stopping = new AbortController();
  let written = 0;
  const writers = [1, 2].map(async () => {
    const { userId } = await council.signUp();
    while (!stopping.signal.aborted) {
      await give(council, userId, 1);
      written += 1;
    }
  });
  try {
    for (let round = 0; round < 3; round += 1) {
      const { code, said } = await asAuditor('projections', 'verify', 'credit_account');
      expect([code, said]).toEqual([0, 'Verifying credit_account…\n']);
    }
  } finally {
    stopping.abort();
    await Promise.all(writers);
  }
  expect(written).toBeGreaterThan(0);
});

test("an auditor's DATABASE_URL is the only setting, and other commands refuse it", async () => {
  const settings = { DATABASE_URL: council.database.auditorUrl, MODE: '', DATA_DIR: '/nowhere' };
  const verified = await commandLine(settings, 'credits', 'verify');
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('Verified.')]);
  const refused = await commandLine(settings, 'users', 'list');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/^DATABASE_URL is an auditor's, who may only read.*events verify/);
});
