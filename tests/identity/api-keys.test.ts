import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiKeyRow } from '#services/identity/contract/api-keys.ts';
import type { Balance } from '#services/credits/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { KeyScope } from '#services/platform/contract.ts';
import { liveLimits } from '#services/live/limits.ts';
import { createOpenStreams } from '#services/live/open-streams.ts';
import { listenTo, nowListeningTo } from '#tests/live/client.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import type { Person } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { give } from '#tests/support/processes/service.ts';

let app: TestCouncil;

beforeAll(async () => {
  app = await createTestCouncil();
});
afterAll(async () => app.close());

const everyScope: readonly KeyScope[] = ['run', 'read', 'credits:read'];

async function createKey(
  { token }: Person,
  { scopes = everyScope, cap = 100 }: { scopes?: readonly KeyScope[]; cap?: number } = {},
): Promise<{ id: string; key: string }> {
  const body = { name: 'Weekly report', scopes, monthly_cap: cap };
  return app.data('/api-keys', { token, body });
}

const listOf = async ({ token }: Person) => app.data<ApiKeyRow[]>('/api-keys', { token });

async function customer(): Promise<Person> {
  const person = await app.signUp();
  await give(app, person.userId, 1_000);
  return person;
}

async function codeOf(answer: Response): Promise<string> {
  return `${answer.status} ${((await answer.json()) as { code?: string }).code ?? ''}`.trim();
}

const question = {
  challenge: 'Should we raise prices by 10%?',
  strategy: 'fast',
  allow_simulated: true,
};

describe('a key', () => {
  test('is shown once, stored as a hash, and listed with its use', async () => {
    const ann = await customer();
    const { id, key } = await createKey(ann, { scopes: ['read'], cap: 7 });
    expect(key).toMatch(/^sk_[\w-]{43}$/);
    const [unused] = await listOf(ann);
    expect(unused).toEqual({
      id,
      name: 'Weekly report',
      prefix: key.slice(0, 11),
      scopes: ['read'],
      monthly_cap: 7,
      used_this_month: 0,
      created_at: expect.any(String),
      last_used_at: null,
    });
    await app.data('/optimizations', { token: key });
    const [used] = await listOf(ann);
    expect(Date.parse(used?.last_used_at ?? '')).toBeGreaterThan(Date.now() - 60_000);
    const dump = await app.database.ownerPool.query('select api_key::text as row from api_key');
    expect(JSON.stringify(dump.rows)).not.toContain(key.slice(11));
    const { rows } = await app.database.ownerPool.query(
      'select action, actor, detail from audit_log where subject = $1',
      [id],
    );
    expect(rows).toEqual([
      { action: 'api-key.created', actor: ann.userId, detail: { scopes: 'read', monthly_cap: 7 } },
    ]);
    expect(app.logged.join('\n')).not.toContain(key.slice(11));
  });

  test.each([
    ['no scope', { scopes: [] }, 'scopes', 'Choose at least one scope.'],
    ['an unknown scope', { scopes: ['admin'] }, 'scopes.0', 'Choose among run, read, credits:read'],
    [
      'more scopes than there are',
      { scopes: ['run', 'run', 'run', 'run'] },
      'scopes',
      'Name each scope once.',
    ],
    ['no name', { name: ' ' }, 'name', 'Name the key, for example after the program that uses it.'],
    ['a cap of 0', { monthly_cap: 0 }, 'monthly_cap', expect.stringMatching(/^Enter a whole/)],
    ['a cap of 1.5', { monthly_cap: 1.5 }, 'monthly_cap', expect.stringMatching(/^Enter a whole/)],
  ])('with %s is refused by its field', async (_what, fault, field, message) => {
    const { token } = await app.signUp();
    const body = { name: 'A', scopes: ['run'], monthly_cap: 5, ...fault };
    const answer = await app.call('/api-keys', { token, body });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ errors: [{ field, message }] });
  });

  test('needs a sign-in of the last five minutes', async () => {
    const { token, userId } = await app.signUp();
    await app.database.ownerPool.query(
      `update sessions set authenticated_at = now() - interval '6 minutes' where user_id = $1`,
      [userId],
    );
    const body = { name: 'A', scopes: ['run'], monthly_cap: 5 };
    expect(await codeOf(await app.call('/api-keys', { token, body }))).toBe(
      '403 reauthentication-required',
    );
  });

  test('is one of at most 20, also when many are created at once', async () => {
    const ann = await app.signUp();
    const made = await Promise.allSettled(Array.from({ length: 24 }, async () => createKey(ann)));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    const body = { name: 'A', scopes: ['run'], monthly_cap: 5 };
    const refused = await app.call('/api-keys', { token: ann.token, body });
    expect(await codeOf(refused)).toBe('409 too-many-api-keys');
    const [first] = await listOf(ann);
    await app.data(`/api-keys/${first?.id}`, { token: ann.token, method: 'DELETE' });
    await createKey(ann);
  });
});

describe('the monthly cap of a key', () => {
  test('bounds its runs, gives back what comes back, and leaves the user’s own runs alone', async () => {
    const ann = await customer();
    const { id, key } = await createKey(ann, { cap: 7 });
    const draft = async (token: string) =>
      app.data<Optimization>('/optimizations', { token, body: question });
    const start = async (token: string) => {
      const run = await draft(token);
      return {
        run,
        answer: await app.call(`/optimizations/${run.id}/process`, { token, method: 'POST' }),
      };
    };
    const first = await start(key);
    expect(first.answer.status).toBe(202);
    const { price } = first.run.credits;
    const used = async () => (await listOf(ann)).find((row) => row.id === id)?.used_this_month;
    expect(await used()).toBe(price);
    expect(price * 2).toBeGreaterThan(7);
    const second = await start(key);
    expect(second.answer.status).toBe(403);
    expect(await second.answer.json()).toMatchObject({
      code: 'monthly-cap-reached',
      monthly_cap: 7,
      remaining_credits: 7 - price,
      required_credits: price,
    });
    expect((await start(ann.token)).answer.status).toBe(202);
    const ended = await app.ended(ann, first.run.id);
    const { charged, refunded } = ended.credits;
    expect(await used()).toBe((charged ?? 0) - (refunded ?? 0));
    const { rows } = await app.database.ownerPool.query<{ key: string }>(
      `select message_data #>> '{apiKey,id}' as key from emt_messages
       where message_type = 'CreditsReserved' and message_data ->> 'runId' = $1`,
      [first.run.id],
    );
    expect(rows).toEqual([{ key: id }]);
  });

  test('holds for many starts at once', async () => {
    const ann = await customer();
    const { id, key } = await createKey(ann, { cap: 10 });
    const drafts = await Promise.all(
      Array.from({ length: 8 }, async () =>
        app.data<Optimization>('/optimizations', { token: key, body: question }),
      ),
    );
    const answers = await Promise.all(
      drafts.map(async (run) =>
        app.call(`/optimizations/${run.id}/process`, { token: key, method: 'POST' }),
      ),
    );
    const price = drafts[0]?.credits.price ?? 0;
    const most = Math.floor(10 / price);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(most);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(8 - most);
    const row = (await listOf(ann)).find((one) => one.id === id);
    expect(row?.used_this_month).toBeLessThanOrEqual(10);
  });
});

describe('the end of a key', () => {
  test('closes its streams within a second and refuses its next call', async () => {
    const ann = await customer();
    const { id, key } = await createKey(ann);
    const { hearing } = await nowListeningTo(app, { token: key, enough: () => false });
    const revokedAt = performance.now();
    await app.data(`/api-keys/${id}`, { token: ann.token, method: 'DELETE' });
    const next = await app.call('/optimizations', { token: key });
    expect(next.status).toBe(401);
    const heard = await hearing;
    expect(heard.at(-1)).toMatchObject({ event: 'bye', data: { reason: 'session' } });
    // Half a second on a machine that is not busy.
    expect(liveLimits.sessionsEveryMs).toBeLessThanOrEqual(500);
    expect(performance.now() - revokedAt).toBeLessThan(5_000);
  });

  test('leaves the user’s own streams open', async () => {
    const ann = await customer();
    const { id } = await createKey(ann);
    const { hearing } = await nowListeningTo(app, {
      token: ann.token,
      enough: ({ data }) => 'patch' in data,
    });
    await app.data(`/api-keys/${id}`, { token: ann.token, method: 'DELETE' });
    await give(app, ann.userId, 3);
    expect((await hearing).at(-1)?.event).toBe('fact');
  });

  test('comes with a new password if its user asks for it', async () => {
    const ann = await app.signUp();
    const { key } = await createKey(ann);
    const change = async (current: string, next: string, others: object) =>
      app.data('/auth/password/change', {
        token: ann.token,
        body: { current_password: current, new_password: next, ...others },
      });
    await change(testPassword, 'Another-Pass-7!', {});
    await app.data('/optimizations', { token: key });
    await change('Another-Pass-7!', 'A-Third-Pass-8!', { revoke_api_keys: true });
    expect((await app.call('/optimizations', { token: key })).status).toBe(401);
    const { rows } = await app.database.ownerPool.query(
      `select detail from audit_log where action = 'password.changed' and actor = $1
       order by entry_id`,
      [ann.userId],
    );
    expect(rows).toEqual([
      { detail: { api_keys_revoked: 0 } },
      { detail: { api_keys_revoked: 1 } },
    ]);
  });
});

test('a key without the scope for credits reads nothing of the balance in the stream', async () => {
  const ann = await customer();
  const { key } = await createKey(ann, { scopes: ['read'] });
  const { key: full } = await createKey(ann);
  const listen = async (token: string, lastEventId?: string) =>
    nowListeningTo(app, {
      token,
      lastEventId,
      enough: ({ data }) => JSON.stringify(data).includes('OptimizationCreated'),
    });
  const [blind, seeing] = [await listen(key), await listen(full)];
  await give(app, ann.userId, 3);
  await app.data('/optimizations', { token: ann.token, body: question });
  const [heard, all] = [await blind.hearing, await seeing.hearing];
  expect(JSON.stringify(all)).toContain('available_credits');
  expect(JSON.stringify(heard)).not.toContain('available_credits');
  expect(heard.map(({ event }) => event)).toEqual(['snapshot', 'fact']);
  const resumed = await (await listen(key, all[0]?.id)).hearing;
  expect(JSON.stringify(resumed)).not.toContain('available_credits');
});

test('streams of keys leave a user’s own places free', async () => {
  const limited = createOpenStreams({ perPerson: 4, perAddress: 100 });
  const place = { userId: 'usr_1', address: '192.0.2.1' };
  for (const id of ['key_1', 'key_2']) limited.open({ ...place, apiKey: { id } });
  expect(() => limited.open({ ...place, apiKey: { id: 'key_3' } })).toThrow('too many');
  for (let own = 0; own < 4; own += 1) limited.open({ ...place, apiKey: null });
  expect(() => limited.open({ ...place, apiKey: null })).toThrow('too many');
});

test('a key sees what its user sees, and its cookies are ignored', async () => {
  const ann = await customer();
  const { key } = await createKey(ann);
  const balance = await app.data<Balance>('/credits/balance', { token: key });
  expect(balance).toEqual(await app.data<Balance>('/credits/balance', { token: ann.token }));
  const [snapshot] = await listenTo(app, { token: key, enough: () => true });
  expect(snapshot?.event).toBe('snapshot');
  const withCookie = await app.call('/optimizations', {
    token: key,
    headers: { cookie: 'sf_refresh=anything', 'sec-fetch-site': 'cross-site' },
  });
  expect(withCookie.status).toBe(200);
});
