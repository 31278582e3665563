import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { transact } from '#db/transaction.ts';
import type { LinkReply } from '#services/identity/contract.ts';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { hashPassword } from '#services/identity/passwords/passwords.ts';
import { mailChange } from '#services/identity/links/mailed.ts';
import { findUser, insertUser } from '#services/identity/accounts/users.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { mailedToken, mailsTo, openBrowser } from './browser.ts';
import type { TestBrowser } from './browser.ts';

/** Attacks that once worked. */
let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

const fresh = () => `ann-${randomBytes(4).toString('hex')}@example.com`;

type Member = { email: string; userId: string; browser: TestBrowser; token: string };

async function member(): Promise<Member> {
  const browser = openBrowser(app);
  const email = fresh();
  const { data } = await browser.post<SessionReply>('/auth/signup', {
    name: 'Ann Other',
    email,
    password: testPassword,
  });
  const { id: userId } = data.user;
  await app.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
    userId,
  ]);
  return { email, userId, browser, token: data.token };
}

describe('a thief who moves a stolen account to another address', () => {
  test('a thief cannot sign up with the old address while the account moves away from it', async () => {
    const { userId, email } = await member();
    const account = { email, name: 'Squatter', passwordHash: await hashPassword(testPassword) };
    const client = await app.database.pool.connect();
    const signUp = await transact(client, async () => {
      await client.query('update users set email = $2 where id = $1', [userId, fresh()]);
      const under = insertUser(app.core.pool, { ...account, termsVersion: null });
      await expect.poll(async () => waitingInserts(), { timeout: 30_000 }).toBe(1);
      await client.query(
        `insert into auth_link (id, user_id, kind, token_hash, email, expires_at)
         values ($1, $2, 'undo', $3, $4, now() + interval '7 days')`,
        [`lnk_${randomBytes(13).toString('hex')}`, userId, randomBytes(32), email],
      );
      // Not awaited here: it ends after the commit.
      return { under };
    });
    client.release();
    expect(await signUp.under).toBeNull();
    const { rows } = await app.database.pool.query('select from users where email = $1', [email]);
    expect(rows).toEqual([]);
  });
});

async function waitingInserts(): Promise<number> {
  const { rows } = await app.database.ownerPool.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]?.count ?? 0;
}

describe('a stranger who asks for links of an account', () => {
  test.each([
    ['magic', 'magic-link'],
    ['reset', 'password/reset-request'],
  ])(
    'a stranger who asks for a %s link does not void the one that the owner asked for',
    async (kind, path) => {
      const { email } = await member();
      const [owner, stranger] = [openBrowser(app), openBrowser(app, '198.51.100.66')];
      await owner.post(`/auth/${path}`, { email });
      const token = await mailedToken(app, email, kind);
      await stranger.post(`/auth/${path}`, { email });
      expect(await mailsTo(app, email, kind)).toHaveLength(1);
      const { status, data } = await owner.post<LinkReply>(`/auth/links/${kind}`, { token });
      expect(status).toBe(200);
      expect(data.redirect).toMatch(kind === 'magic' ? /^\/#access_token=/ : /^\/reset-password#/);
    },
  );

  test('a stranger who asks for a confirmation does not void the one that the owner asked for', async () => {
    const open = await createTestApp({ env: { REQUIRE_EMAIL_CONFIRMATION: 'true' } });
    const owner = openBrowser(open);
    const email = fresh();
    await owner.post('/auth/signup', { name: 'Ann Other', email, password: testPassword });
    const token = await mailedToken(open, email, 'confirm');
    await openBrowser(open, '198.51.100.66').post('/auth/resend-confirmation', { email });
    expect(await mailsTo(open, email, 'confirm')).toHaveLength(1);
    const { data } = await owner.post<LinkReply>('/auth/links/confirm', { token });
    expect(data.redirect).toMatch(/^\/auth\/confirm\?confirmed=true&access_token=/);
    await open.close();
  });

  test('a stranger cannot fill a mailbox by changing the addresses of many accounts to it', async () => {
    const open = await createTestApp({ env: { RATE_LIMITS: 'mail-account=3/h' } });
    const target = fresh();
    const statuses = [];
    for (let number = 1; number <= 4; number += 1) {
      const { token } = await open.signUp();
      const body = { email: target, password: testPassword };
      const address = `192.0.2.${number}`;
      statuses.push((await open.call('/auth/email/change', { body, token, address })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
    await open.close();
  });
});

test('where sign-up does not reveal accounts, a login with the same password does not either', async () => {
  const neutral = await createTestApp({ env: { SIGNUP_DISCLOSES_ACCOUNTS: 'false' } });
  const known = fresh();
  const account = { email: known, name: 'Ann Other', termsVersion: null };
  const passwordHash = await hashPassword('Harbour-Cliff-82');
  await insertUser(neutral.core.pool, { ...account, passwordHash });
  await neutral.core.pool.query('update users set email_confirmed_at = now() where email = $1', [
    known,
  ]);
  const answers = [];
  for (const email of [known, fresh()]) {
    const browser = openBrowser(neutral, '198.51.100.66');
    const person = { email, password: testPassword };
    const signUp = await browser.post('/auth/signup', { ...person, name: 'Mallory' });
    await neutral.settled();
    const { status, problem } = await browser.post('/auth/login', person);
    answers.push({ signUp: signUp.status, status, problem });
  }
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toMatchObject({ signUp: 201, status: 401 });
  await neutral.close();
});

test('a change of address fails when a change of password overtakes it', async () => {
  const { userId, token } = await member();
  const asked = await findUser(app.core.pool, userId);
  if (!asked) throw new Error('No account');
  const passwords = { current_password: testPassword, new_password: 'Harbour-Cliff-82' };
  expect((await openBrowser(app).post('/auth/password/change', passwords, token)).status).toBe(200);
  const email = fresh();
  const change = { account: asked, email, browser: randomBytes(32), owner: null };
  await mailChange({ ...app.core, productName: 'Sevenfold' }, change);
  expect(await mailsTo(app, email)).toEqual([]);
  const { rows } = await app.database.pool.query('select from auth_link where email = $1', [email]);
  expect(rows).toEqual([]);
});
