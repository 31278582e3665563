import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { tokenCommands } from '#services/cli/access/tokens.ts';
import { listServiceTokens } from '#services/identity/service-tokens.ts';
import { databaseOf } from '#tests/cli/in-process.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { operate } from '#tests/support/processes/operator.ts';
import { commandLine } from '#tests/support/processes/processes.ts';
import type { Settings } from '#tests/support/processes/processes.ts';
import { consume, give, issueToken } from '#tests/support/processes/service.ts';

let app: TestApp;
let ann: Person;
let settings: Settings;

beforeAll(async () => {
  app = await createTestApp();
  ann = await app.signUp();
  await give(app, ann.userId, 100);
  settings = {
    SUDO_USER: 'olga',
    DATABASE_URL: app.database.appUrl,
    MIGRATE_DATABASE_URL: app.database.ownerUrl,
    DATA_KEY: randomBytes(32).toString('base64'),
    JWT_KEYS: randomBytes(32).toString('base64'),
  };
});
afterAll(async () => app.close());

const issue = ['tokens', 'issue', '--scope', 'credits:consume', '--name', 'Reports'] as const;

async function audited(subject: string): Promise<unknown[]> {
  const { rows } = await app.database.ownerPool.query<Record<string, unknown>>(
    'select actor, action, detail from audit_log where subject = $1 order by entry_id',
    [subject],
  );
  return rows;
}

test('a token is issued, shown once, listed without its secret, used, and revoked', async () => {
  const issued = await commandLine(settings, ...issue, '--daily-cap', '8', '--json');
  expect(issued.code).toBe(0);
  const { id, token, ...rest } = JSON.parse(issued.stdout) as Record<string, string>;
  expect(rest).toEqual({ name: 'Reports', scope: 'credits:consume', daily_cap: 8 });
  expect(token).toMatch(/^svct_[\w-]{43}$/);
  expect(issued.stderr).not.toContain(token);

  expect((await consume(app, token ?? '', { user_id: ann.userId })).status).toBe(201);
  expect((await consume(app, token ?? '', { user_id: ann.userId })).status).toBe(403);

  const listed = await operate(settings, 'tokens', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([
    {
      id,
      name: 'Reports',
      scope: 'credits:consume',
      daily_cap: 8,
      used_today: 5,
      created_by: 'operator:olga',
      revoked_at: null,
    },
  ]);
  const shown = await operate(settings, 'tokens', 'list');
  expect(shown.stdout).toMatch(/ {2}valid$/m);
  for (const secret of [token ?? '', token?.slice(5) ?? ''])
    expect(listed.stdout + listed.stderr + shown.stdout + shown.stderr).not.toContain(secret);

  for (const line of ['is revoked', 'was already revoked']) {
    const revoked = await operate(settings, 'tokens', 'revoke', id ?? '');
    expect([revoked.code, revoked.stdout.trim()]).toEqual([0, `${id} ${line}`]);
  }
  expect((await consume(app, token ?? '', { user_id: ann.userId })).status).toBe(401);
  expect(await audited(id ?? '')).toEqual([
    {
      actor: 'operator:olga',
      action: 'token.issued',
      detail: { scope: 'credits:consume', daily_cap: 8 },
    },
    { actor: 'operator:olga', action: 'token.revoked', detail: {} },
  ]);
}, 60_000);

test('without --json stdout holds only the secret, so that it can be piped into a file', async () => {
  const { code, stdout, stderr } = await commandLine(settings, ...issue, '--daily-cap', '8');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^svct_[\w-]{43}\n$/);
  expect(stderr).not.toContain(stdout.trim());
  expect(stderr).toContain('be shown again');
});

test('tokens issue with wrong arguments says what is missing and issues nothing', async () => {
  const commandNamed = (verb: string) => tokenCommands.find((command) => command.verb === verb);
  const before = (await listServiceTokens(app.core.pool, new Date())).length;
  const good = { scope: 'credits:consume', name: 'Reports', 'daily-cap': '8' };
  for (const [wrong, line] of [
    [{ scope: undefined }, 'Missing: --scope'],
    [{ scope: 'all' }, '--scope must be one of: credits:consume'],
    [{ name: undefined }, 'Missing: --name'],
    [{ name: ' ' }, 'Missing: --name'],
    [{ name: 'Two\nlines' }, '--name can have up to 80 characters on one line'],
    [{ 'daily-cap': undefined }, 'Missing: --daily-cap'],
    [{ 'daily-cap': '0' }, 'The credits must be a whole number from 1 to 1000000'],
    [{ 'daily-cap': '1e3' }, 'The credits must be a whole number from 1 to 1000000'],
  ] as const) {
    const call = { positionals: [], options: { ...good, ...wrong }, database: databaseOf(app) };
    await expect(commandNamed('issue')?.run(call)).rejects.toEqual(new UsageError(line));
  }
  expect(await listServiceTokens(app.core.pool, new Date())).toHaveLength(before);
  const unknown = await commandLine(settings, 'tokens', 'revoke', 'svc_none');
  expect([unknown.code, unknown.stderr]).toEqual([1, 'Token not found\n']);
});

test('verify checks what services consumed, and a rebuild gives the same result', async () => {
  const { secret } = await issueToken(app);
  await give(app, ann.userId, 30, 'bonus');
  for (const credits of [7, 20, 9])
    expect((await consume(app, secret, { user_id: ann.userId, credits })).status).toBe(201);
  const balance = await app.data('/credits/balance', { token: ann.token });
  const history = await app.data('/credits/history', { token: ann.token });
  expect(await operate(settings, 'projections', 'rebuild', '--all')).toMatchObject({ code: 0 });
  expect(await app.data('/credits/balance', { token: ann.token })).toEqual(balance);
  expect(await app.data('/credits/history', { token: ann.token })).toEqual(history);
  expect(await operate(settings, 'projections', 'verify', '--all')).toMatchObject({ code: 0 });
  const verified = await operate(settings, 'credits', 'verify', '--json');
  expect(JSON.parse(verified.stdout)).toMatchObject({
    verified: true,
    differences: [],
    unbalanced_transactions: [],
    trial_balance: { balanced: true, consumed: 41 },
  });
  expect(await operate(settings, 'events', 'verify', `credits-${ann.userId}`)).toMatchObject({
    code: 0,
  });
}, 60_000);
