import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { apiKeyCommands } from '#services/cli/access/api-keys.ts';
import { UsageError } from '#services/cli/command.ts';
import { NoSuchPerson } from '#services/cli/database.ts';
import { userCommands } from '#services/cli/users.ts';
import { listApiKeys } from '#services/identity/api-keys/api-keys.ts';
import { runHere } from '#tests/cli/in-process.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { commandLine } from '#tests/support/processes/processes.ts';
import { give } from '#tests/support/processes/service.ts';

let app: TestApp;
let ann: Person;

beforeAll(async () => {
  vi.stubEnv('SUDO_USER', 'olga');
  app = await createTestApp();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await app.close();
});
beforeEach(async () => {
  ann = await app.signUp();
});

const options = ['--name', 'Report', '--scopes', 'run,read', '--monthly-cap', '50'] as const;

async function ran(...words: string[]): Promise<{ code: number; out: string }> {
  return runHere(app, apiKeyCommands, ['api-keys', ...words]);
}

async function json<Data>(...words: string[]): Promise<Data> {
  const { code, out } = await ran(...words, '--json');
  expect(code).toBe(0);
  return JSON.parse(out) as Data;
}

async function audited(subject: string): Promise<unknown[]> {
  const { rows } = await app.database.ownerPool.query<Record<string, unknown>>(
    `select actor, action, user_id as "userId", detail from audit_log
     where actor like 'operator:%' and subject = $1 order by entry_id`,
    [subject],
  );
  return rows;
}

test('a key is created for a person, listed without its secret, and revoked', async () => {
  await give(app, ann.userId, 50);
  const created = await json<{ id: string; key: string }>('create', ann.email, ...options);
  const { id, key, ...rest } = created;
  expect(rest).toEqual({
    user_id: ann.userId,
    name: 'Report',
    scopes: ['run', 'read'],
    monthly_cap: 50,
  });
  const question = { challenge: 'Shall we raise our prices?', strategy: 'ultra-economy' };
  const run = await app.data<{ id: string; credits: { price: number } }>('/optimizations', {
    token: key,
    body: question,
  });
  await app.data(`/optimizations/${run.id}/process`, { token: key, body: {} });

  const listed = await ran('list', ann.email, '--json');
  expect(JSON.parse(listed.out)).toMatchObject([
    {
      id,
      name: 'Report',
      prefix: key.slice(0, 11),
      scopes: ['run', 'read'],
      monthly_cap: 50,
      used_this_month: run.credits.price,
      last_used_at: expect.any(String) as string,
    },
  ]);
  const shown = await ran('list', ann.userId);
  expect(shown.out).toMatch(/ Report .* run,read +50 +\d+ {2}20/);
  expect(listed.out + shown.out).not.toContain(key);

  for (const words of ['is revoked', 'was already revoked'])
    expect(await ran('revoke', id)).toMatchObject({ code: 0, out: `${id} ${words}\n` });
  expect((await app.call('/optimizations', { token: key })).status).toBe(401);
  expect(await json('list', ann.email)).toEqual([]);

  const by = { actor: 'operator:olga', userId: ann.userId };
  expect(await audited(id)).toEqual([
    { ...by, action: 'api-key.created', detail: { scopes: 'run read', monthly_cap: 50 } },
    { ...by, action: 'api-key.revoked', detail: {} },
  ]);
  expect(await audited(ann.userId)).toEqual([
    { ...by, action: 'api-key.listed', detail: { count: 1 } },
    { ...by, action: 'api-key.listed', detail: { count: 1 } },
    { ...by, action: 'api-key.listed', detail: { count: 0 } },
  ]);
});

test('without --json stdout holds only the key, so that it can be piped into a file', async () => {
  const settings = {
    DATABASE_URL: app.database.appUrl,
    MIGRATE_DATABASE_URL: app.database.ownerUrl,
    DATA_KEY: randomBytes(32).toString('base64'),
    JWT_KEYS: randomBytes(32).toString('base64'),
  };
  const words = ['api-keys', 'create', ann.email, ...options] as const;
  const { code, stdout, stderr } = await commandLine(settings, ...words);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^sk_[\w-]{43}\n$/);
  expect(stderr).not.toContain(stdout.trim());
  expect(stderr).toContain('be shown again');
});

test('users show counts the live keys', async () => {
  const { id } = await json<{ id: string }>('create', ann.email, ...options);
  await json('create', ann.email, ...options);
  const keys = async () => {
    const { out } = await runHere(app, userCommands, ['users', 'show', ann.email, '--json']);
    return (JSON.parse(out) as { api_keys: number }).api_keys;
  };
  expect(await keys()).toBe(2);
  await ran('revoke', id);
  expect(await keys()).toBe(1);
  const { out } = await runHere(app, userCommands, ['users', 'show', ann.email]);
  expect(out).toContain('\n1 live API key\n');
});

test('api-keys create with wrong arguments says what is wrong and creates nothing', async () => {
  const good = { name: 'Report', scopes: 'run,read', 'monthly-cap': '50' };
  const cap = 'The credits must be a whole number from 1 to 1000000';
  const scopes = '--scopes must be some of run,read,credits:read, each once';
  for (const [wrong, line] of [
    [{ name: '' }, 'Missing: --name'],
    [{ name: ' ' }, 'Missing: --name'],
    [{ name: 'n'.repeat(81) }, 'The name can have up to 80 characters.'],
    [{ scopes: '' }, 'Missing: --scopes'],
    [{ scopes: 'run,all' }, scopes],
    [{ 'monthly-cap': '' }, 'Missing: --monthly-cap'],
    [{ 'monthly-cap': '0' }, cap],
    [{ 'monthly-cap': '-5' }, cap],
    [{ 'monthly-cap': '1.5' }, cap],
    [{ 'monthly-cap': '1e3' }, cap],
    [{ 'monthly-cap': 'many' }, cap],
  ] as const) {
    const words = Object.entries({ ...good, ...wrong }).flatMap(([name, value]) => [
      `--${name}`,
      value,
    ]);
    await expect(ran('create', ann.email, ...words)).rejects.toEqual(new UsageError(line));
  }
  await expect(ran('create', 'nobody@example.com', ...options)).rejects.toThrow(NoSuchPerson);
  expect(await listApiKeys(app.core.pool, ann.userId)).toEqual([]);
  expect((await ran('revoke', 'key_none')).code).toBe(1);
});

test('an account that is being erased gets no key', async () => {
  await app.database.pool.query('update users set erasing_at = now() where id = $1', [ann.userId]);
  await expect(ran('create', ann.email, ...options)).rejects.toMatchObject({
    code: 'account-erasing',
  });
});
