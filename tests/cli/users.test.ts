import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { NoSuchPerson } from '#services/cli/database.ts';
import { creditCommands } from '#services/cli/credits.ts';
import { userCommands } from '#services/cli/users.ts';
import { runHere } from '#tests/cli/in-process.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { give } from '#tests/support/processes/service.ts';
import { commandJson, commandLine, temporaryFolder } from '#tests/support/processes/processes.ts';
import type { Settings } from '#tests/support/processes/processes.ts';
import { shapeOf, tracesOf } from '#tests/identity/erasure/traces.ts';

let app: TestApp;
let settings: Settings;
let ann: Person;
const folder = temporaryFolder();

beforeAll(async () => {
  vi.stubEnv('SUDO_USER', 'olga');
  app = await createTestApp();
  settings = {
    DATABASE_URL: app.database.appUrl,
    MIGRATE_DATABASE_URL: app.database.ownerUrl,
    DATA_KEY: randomBytes(32).toString('base64'),
    JWT_KEYS: randomBytes(32).toString('base64'),
    SUDO_USER: 'olga',
  };
});
afterAll(async () => {
  vi.unstubAllEnvs();
  folder.remove();
  await app.close();
});
beforeEach(async () => {
  ann = await app.signUp();
});

async function audited(subject: string): Promise<unknown[]> {
  const { rows } = await app.database.pool.query<{ action: string; detail: unknown }>(
    `select action, detail from audit_log
     where actor = 'operator:olga' and subject = $1 order by entry_id`,
    [subject],
  );
  return rows.map(({ action, detail }) => [action, detail]);
}

/** What a command printed; it must succeed. */
async function ran(verb: string, ...args: string[]): Promise<string> {
  const { code, out } = await runHere(app, userCommands, ['users', verb, ...args]);
  expect(code).toBe(0);
  return out;
}

async function json<Data>(verb: string, ...args: string[]): Promise<Data> {
  return JSON.parse(await ran(verb, ...args, '--json')) as Data;
}

describe('users', () => {
  test('users list shows the newest first, up to --limit', async () => {
    const ben = await app.signUp();
    const rows = await json<{ id: string; state: string }[]>('list', '--limit', '2');
    expect(rows).toMatchObject([
      { id: ben.userId, email: ben.email, name: 'A Person', tier: 'free', state: 'unconfirmed' },
      { id: ann.userId },
    ]);
    expect(await audited('all')).toContainEqual(['account.listed', { count: 2 }]);
    await expect(ran('list', '--limit', '0')).rejects.toThrow(UsageError);
  });

  test('users list never lets a name act as a formula or a terminal command', async () => {
    const name = '=cmd|1 \u001b[31mred';
    await app.database.pool.query('update users set name = $2 where id = $1', [ann.userId, name]);
    const csv = await ran('list', '--limit', '1', '--csv');
    expect(csv).toContain(`${ann.email},'=cmd|1 `);
    const lines = await ran('list', '--limit', '1');
    expect(lines).toContain('=cmd|1 \uFFFD[31mred');
    expect(lines).not.toContain('\u001b');
  });

  test('users show reports state, sessions and credits by address or id, and no secret', async () => {
    await give(app, ann.userId, 50);
    for (const named of [ann.email.toUpperCase(), ann.userId]) {
      const shown = await json<Record<string, unknown>>('show', named);
      expect(shown).toMatchObject({
        id: ann.userId,
        email: ann.email,
        state: 'unconfirmed',
        has_password: true,
        sessions: [{ method: 'signup' }],
        api_keys: 0,
        credits: { available_credits: 50 },
      });
      expect(JSON.stringify(shown)).not.toMatch(/argon2|hash/);
    }
    expect(await audited(ann.userId)).toEqual([
      ['account.shown', {}],
      ['account.shown', {}],
    ]);
    await expect(ran('show', 'nobody@example.com')).rejects.toThrow(NoSuchPerson);
  });

  test('users confirm marks an address as confirmed, once', async () => {
    await app.database.pool.query('update users set email_confirmed_at = null where id = $1', [
      ann.userId,
    ]);
    expect(await json('confirm', ann.email)).toEqual({
      id: ann.userId,
      confirmed: true,
    });
    expect(await json('confirm', ann.email)).toMatchObject({
      confirmed: false,
    });
    expect(await app.data('/users/me', { token: ann.token })).toMatchObject({
      email_confirmed: true,
    });
    expect(await audited(ann.userId)).toEqual([['address.confirmed', { by: 'operator' }]]);
  });

  test('users end-sessions signs out one user everywhere and no other user', async () => {
    const ben = await app.signUp();
    expect(await json('end-sessions', ann.email)).toEqual({
      id: ann.userId,
      ended: 1,
    });
    expect((await app.call('/users/me', { token: ann.token })).status).toBe(401);
    expect((await app.call('/users/me', { token: ben.token })).status).toBe(200);
    expect(await audited(ann.userId)).toEqual([
      ['session.ended', { reason: 'operator', count: 1 }],
    ]);
  });
});

describe('users erase', () => {
  test('users erase requires a user, a reason without personal data, and --yes', async () => {
    const wrong: [string[], string][] = [
      [[], 'Name a person, or a list with --from'],
      [[ann.email], 'Missing: --reason'],
      [[ann.email, '--reason', 'Ticket 7'], 'Add --yes to continue'],
      [[ann.email, '--reason', `asked by ${ann.email}`, '--yes'], '--reason is at most'],
      [[ann.email, '--reason', 'so says a person', '--yes'], '--reason is at most'],
      [['--from', join(folder.path, 'none.json'), '--yes'], "can't be read"],
    ];
    for (const [args, message] of wrong) {
      const error = await ran('erase', ...args).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UsageError);
      expect(String(error)).toContain(message);
    }
    expect((await app.call('/users/me', { token: ann.token })).status).toBe(200);
  });

  test(
    'users erase works without a worker and records who did it and why',
    { tags: ['long'] },
    async () => {
      await give(app, ann.userId, 50);
      const args = ['users', 'erase', ann.email, '--reason', 'Ticket 4711', '--yes'];
      expect(await commandJson(settings, ...args)).toEqual({
        id: ann.userId,
        erased: true,
        waits_for: null,
      });
      expect(await tracesOf(app.database.ownerPool, [ann.email])).toEqual([]);
      expect(await audited(ann.userId)).toEqual([
        ['account.erasure-asked', { reason: 'Ticket 4711' }],
      ]);
      const again = ran('erase', ann.email, '--reason', 'Again', '--yes');
      await expect(again).rejects.toThrow(NoSuchPerson);
      expect((await commandLine(settings, 'credits', 'verify')).code).toBe(0);
    },
  );

  test('users erase applies its list to a restored backup', async () => {
    const list = await json<{ key_id: string; user_id: string }[]>('erasures');
    const path = join(folder.path, 'erasures.json');
    const entry = { key_id: ann.userId, kind: 'account', user_id: ann.userId };
    const later = [...list, { ...entry, erased_at: new Date().toISOString() }];
    writeFileSync(path, JSON.stringify(later));
    const args = ['--from', path, '--yes'];
    expect(await json('erase', ...args)).toEqual({
      listed: later.length,
      added: 1,
      erased: [ann.userId],
      waiting: [],
    });
    expect(await tracesOf(app.database.ownerPool, [ann.email])).toEqual([]);
    const { 'public.users': account } = await shapeOf(app.database.ownerPool, ann.userId);
    expect(account).toBeUndefined();
    expect(await json('erase', ...args)).toMatchObject({ added: 0, erased: [] });
    expect(await audited('all')).toContainEqual([
      'account.erasures-applied',
      { listed: later.length, added: 1, people: 1 },
    ]);
  });

  test('users erase refuses an invalid list before it changes anything', async () => {
    const path = join(folder.path, 'wrong.json');
    for (const content of ['[', '[{"key_id":"x"}]', '{"a":1}', '{"a"']) {
      writeFileSync(path, content);
      const refused = ran('erase', '--from', path, '--yes');
      await expect(refused).rejects.toThrow("isn't a list of erasures");
    }
  });
});

test('an account that is being erased gets no credits', async () => {
  await app.database.pool.query('update users set erasing_at = now() where id = $1', [ann.userId]);
  const args = ['credits', 'grant', ann.email, '5', '--reason', 'A gift'];
  await expect(runHere(app, creditCommands, args)).rejects.toMatchObject({
    code: 'account-erasing',
  });
});
