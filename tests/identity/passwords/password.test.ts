import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LinkReply, Profile } from '#services/identity/contract.ts';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { mailedToken, mailsTo, openBrowser } from '#tests/identity/browser.ts';
import type { TestBrowser } from '#tests/identity/browser.ts';

let app: TestApp;
let ahead = 0;
beforeAll(async () => {
  app = await createTestApp({ clock: () => Date.now() + ahead });
});
afterAll(async () => app.close());

const ascending = (one: number, other: number) => one - other;
const fresh = () => `ann-${randomBytes(4).toString('hex')}@example.com`;
const days = 86_400_000;
const next = 'Harbour-Cliff-82';

type Member = { email: string; userId: string; browser: TestBrowser; token: string };

async function member(): Promise<Member> {
  const browser = openBrowser(app);
  const email = fresh();
  const { data } = await browser.post<SessionReply>('/auth/signup', {
    name: 'Ann Other',
    email,
    password: testPassword,
  });
  return { email, userId: data.user.id, browser, token: data.token };
}

const logIn = async (browser: TestBrowser, email: string, password: string) =>
  browser.post<SessionReply>('/auth/login', { email, password });

const follow = async (browser: TestBrowser, kind: string, token: string) =>
  browser.post<LinkReply>(`/auth/links/${kind}`, { token });

const isIn = async (browser: TestBrowser, token: string) =>
  (await browser.get('/users/me', token)).status === 200;

async function ticketFor(browser: TestBrowser, email: string): Promise<string> {
  await browser.post('/auth/password/reset-request', { email });
  const { data } = await follow(browser, 'reset', await mailedToken(app, email, 'reset'));
  return data.redirect.split('#')[1] ?? '';
}

async function actionsOf(userId: string): Promise<string[]> {
  const { rows } = await app.database.ownerPool.query<{ action: string }>(
    'select action from audit_log where user_id = $1 order by entry_id',
    [userId],
  );
  return rows.map(({ action }) => action);
}

describe('a reset', () => {
  test('a reset sets the password, signs in, ends every other session, voids links, and sends an email', async () => {
    const person = await member();
    const elsewhere = await logIn(openBrowser(app), person.email, testPassword);
    const browser = openBrowser(app);
    await browser.post('/auth/magic-link', { email: person.email });
    const magic = await mailedToken(app, person.email, 'magic');
    const token = await ticketFor(browser, person.email);
    const { status, data } = await browser.post<SessionReply>('/auth/password/reset', {
      token,
      password: next,
    });
    expect(status).toBe(200);
    expect(await isIn(browser, data.token)).toBe(true);
    for (const old of [person.token, elsewhere.data.token])
      expect(await isIn(browser, old)).toBe(false);
    const { rows } = await app.database.pool.query<{ method: string }>(
      `select method from sessions where user_id = $1 and revoked_at is null`,
      [person.userId],
    );
    expect(rows).toEqual([{ method: 'reset' }]);
    expect(await follow(browser, 'magic', magic)).toMatchObject({ status: 400 });
    expect((await logIn(browser, person.email, testPassword)).status).toBe(401);
    expect((await logIn(browser, person.email, next)).status).toBe(200);
    expect(await mailsTo(app, person.email, 'password-changed')).toHaveLength(1);
    expect(await actionsOf(person.userId)).toContain('password.reset');
  });

  test('a ticket works once, in its browser, for ten minutes, with an acceptable password', async () => {
    const { email } = await member();
    const browser = openBrowser(app);
    const token = await ticketFor(browser, email);
    const reset = async (from: TestBrowser, password = next) =>
      from.post('/auth/password/reset', { token, password });
    expect(await reset(openBrowser(app))).toMatchObject({
      status: 403,
      problem: { code: 'link-other-browser' },
    });
    expect(await reset(browser, 'alllowercase')).toMatchObject({
      problem: { code: 'password-too-weak', errors: [{ field: 'password' }] },
    });
    expect(await reset(browser, 'Passw0rd-1')).toMatchObject({
      status: 400,
      problem: {
        code: 'password-too-weak',
        title: 'Password too weak',
        errors: [{ field: 'password' }],
      },
    });
    ahead = 601_000;
    expect(await reset(browser)).toMatchObject({ problem: { code: 'link-expired' } });
    ahead = 0;
    expect((await reset(browser)).status).toBe(200);
    expect(await reset(browser)).toMatchObject({ status: 409, problem: { code: 'link-used' } });
  });

  test('twenty concurrent resets with one ticket set one password', async () => {
    const { email } = await member();
    const browser = openBrowser(app);
    const token = await ticketFor(browser, email);
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, number) => {
        const password = `Harbour-Cliff-${number}0`;
        return (await browser.post('/auth/password/reset', { token, password })).status;
      }),
    );
    expect(statuses.toSorted(ascending)).toEqual([200, ...Array<number>(19).fill(409)]);
    expect(await mailsTo(app, email, 'password-changed')).toHaveLength(1);
  });

  test('a reset gives a password to an account without one', async () => {
    const person = await member();
    await app.database.pool.query('update users set password_hash = null where id = $1', [
      person.userId,
    ]);
    const browser = openBrowser(app);
    const token = await ticketFor(browser, person.email);
    await browser.post('/auth/password/reset', { token, password: next });
    expect((await logIn(browser, person.email, next)).status).toBe(200);
  });
});

describe('a change of password', () => {
  const change = async ({ browser, token }: Member, body: object) =>
    browser.post('/auth/password/change', body, token);

  test('a change of password needs the current one, keeps this session and ends the others', async () => {
    const person = await member();
    const elsewhere = await logIn(openBrowser(app), person.email, testPassword);
    expect(
      await change(person, { current_password: 'Wrong-pass-1', new_password: next }),
    ).toMatchObject({ status: 403, problem: { code: 'wrong-password' } });
    const done = await change(person, { current_password: testPassword, new_password: next });
    expect(done).toMatchObject({ status: 200, data: { ok: true } });
    expect(await isIn(person.browser, person.token)).toBe(true);
    expect(await isIn(person.browser, elsewhere.data.token)).toBe(false);
    expect((await logIn(openBrowser(app), person.email, testPassword)).status).toBe(401);
    expect((await logIn(openBrowser(app), person.email, next)).status).toBe(200);
    expect(await mailsTo(app, person.email, 'password-changed')).toHaveLength(1);
    expect(await actionsOf(person.userId)).toContain('password.changed');
  });

  test('a change to the current password changes nothing, and says so', async () => {
    const person = await member();
    const elsewhere = await logIn(openBrowser(app), person.email, testPassword);
    expect(
      await change(person, { current_password: testPassword, new_password: testPassword }),
    ).toMatchObject({ status: 400, problem: { errors: [{ field: 'new_password' }] } });
    expect(await isIn(person.browser, elsewhere.data.token)).toBe(true);
    expect(await mailsTo(app, person.email, 'password-changed')).toHaveLength(0);
  });

  test('a change of password voids every open link and ticket', async () => {
    const person = await member();
    const { browser, email } = person;
    await browser.post('/auth/magic-link', { email });
    const magic = await mailedToken(app, email, 'magic');
    const ticket = await ticketFor(browser, email);
    await change(person, { current_password: testPassword, new_password: next });
    expect(await follow(browser, 'magic', magic)).toMatchObject({ status: 400 });
    expect(
      await browser.post('/auth/password/reset', { token: ticket, password: 'Third-Window-19' }),
    ).toMatchObject({ status: 400, problem: { code: 'link-expired' } });
  });

  test.each([
    ['Short-1', 'password-too-short', 'Password must be at least 8 characters'],
    [
      'alllowercase1',
      'password-too-weak',
      'Password must contain at least one uppercase letter, one lowercase letter, and one number',
    ],
    [
      'Password123',
      'password-too-weak',
      'This password is among the first that others would try. Choose another one.',
    ],
  ])('a change of password refuses %s beside its field', async (password, code, sentence) => {
    const person = await member();
    const { problem, text } = await change(person, {
      current_password: testPassword,
      new_password: password,
    });
    expect(problem).toMatchObject({
      code,
      errors: [{ field: 'new_password', message: sentence }],
    });
    expect(text).not.toContain(password);
  });

  test('a change of password says when the account has none', async () => {
    const person = await member();
    await app.database.pool.query('update users set password_hash = null where id = $1', [
      person.userId,
    ]);
    expect(
      await change(person, { current_password: testPassword, new_password: next }),
    ).toMatchObject({ status: 409, problem: { code: 'no-password' } });
  });

  test('the second of two concurrent changes of password is refused as a wrong password', async () => {
    const person = await member();
    const statuses = await Promise.all(
      Array.from({ length: 5 }, async (_, number) => {
        const body = { current_password: testPassword, new_password: `Harbour-Cliff-${number}1` };
        return (await change(person, body)).status;
      }),
    );
    expect(statuses.toSorted(ascending)).toEqual([200, 403, 403, 403, 403]);
  });

  test('a change of password needs a signed-in user, and tries are limited', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'password=2/m' } });
    const { token } = await limited.signUp();
    const browser = openBrowser(limited);
    const body = { current_password: 'Wrong-pass-1', new_password: next };
    const statuses = [];
    for (let time = 0; time < 3; time += 1)
      statuses.push((await browser.post('/auth/password/change', body, token)).status);
    expect(statuses).toEqual([403, 403, 429]);
    expect((await browser.post('/auth/password/change', body)).status).toBe(401);
    await limited.close();
  });
});

describe('a change of address', () => {
  const change = async ({ browser, token }: Member, email: string, password = testPassword) =>
    browser.post('/auth/email/change', { email, password }, token);

  /** Asked for and confirmed in the same browser. */
  async function moved(person: Member, email: string): Promise<void> {
    await change(person, email);
    await follow(person.browser, 'email', await mailedToken(app, email, 'email'));
  }

  const addressOf = async (userId: string) => {
    const { rows } = await app.database.pool.query<{ email: string }>(
      'select email from users where id = $1',
      [userId],
    );
    return rows[0]?.email;
  };

  test('a change of address takes effect once the new address is proved in the browser that asked', async () => {
    const person = await member();
    const email = fresh();
    expect(await change(person, email, 'Wrong-pass-1')).toMatchObject({
      status: 403,
      problem: { code: 'wrong-password' },
    });
    expect(await change(person, email.toUpperCase())).toMatchObject({
      status: 200,
      data: { ok: true },
    });
    await app.settled();
    const profile = await person.browser.get<Profile>('/users/me', person.token);
    expect(profile.data).toMatchObject({ email: person.email, pending_email: email });
    const token = await mailedToken(app, email, 'email');
    expect(await follow(openBrowser(app), 'email', token)).toMatchObject({
      status: 403,
      problem: { code: 'link-other-browser' },
    });
    const { data } = await follow(person.browser, 'email', token);
    expect(data.redirect).toBe('/auth/confirm?confirmed=true');
    expect(await addressOf(person.userId)).toBe(email);
    expect(await isIn(person.browser, person.token)).toBe(true);
    expect((await logIn(openBrowser(app), email, testPassword)).status).toBe(200);
    expect((await logIn(openBrowser(app), person.email, testPassword)).status).toBe(401);
    expect(await actionsOf(person.userId)).toContain('address.changed');
  });

  test('a change of address voids links to the old address, which has a week to undo it', async () => {
    const person = await member();
    await person.browser.post('/auth/magic-link', { email: person.email });
    const magic = await mailedToken(app, person.email, 'magic');
    await moved(person, fresh());
    expect(await follow(person.browser, 'magic', magic)).toMatchObject({ status: 400 });
    const [mail] = await mailsTo(app, person.email, 'email-changed');
    const lasts = (mail?.notAfter?.getTime() ?? 0) - Date.now();
    expect(Math.round(lasts / days)).toBe(7);
  });

  test('a change to a taken address gets the same response and the same profile, and an email to its owner', async () => {
    const [person, owner] = [await member(), await member()];
    const answers = [];
    for (const email of [owner.email, fresh()]) {
      const { status, text } = await change(person, email);
      await app.settled();
      const { data } = await person.browser.get<Profile>('/users/me', person.token);
      answers.push({ status, text, isShown: data.pending_email === email });
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(await mailsTo(app, owner.email, 'email')).toEqual([]);
    expect(await mailsTo(app, owner.email, 'account-exists')).toHaveLength(1);
    expect(await addressOf(owner.userId)).toBe(owner.email);
  });

  test('a change to an address that was taken in the meantime is refused, and the link stays unused', async () => {
    const person = await member();
    const email = fresh();
    await change(person, email);
    const token = await mailedToken(app, email, 'email');
    await app.database.pool.query(
      `insert into users (id, email, name, subscription_tier)
       values ($1, $2, 'Another', 'free')`,
      [`usr_${randomBytes(13).toString('hex')}`, email],
    );
    expect(await follow(person.browser, 'email', token)).toMatchObject({
      status: 409,
      problem: { code: 'email-in-use' },
    });
    expect(await addressOf(person.userId)).toBe(person.email);
  });

  test('a change to the current address is refused', async () => {
    const person = await member();
    expect(await change(person, ` ${person.email.toUpperCase()} `)).toMatchObject({
      status: 400,
      problem: { code: 'invalid-email', errors: [{ field: 'email' }] },
    });
  });

  test('an undo from any browser restores the address, ends password and sessions, and asks for a new password', async () => {
    const person = await member();
    const stolen = fresh();
    await moved(person, stolen);
    const owner = openBrowser(app, '198.51.100.40');
    const undo = await mailedToken(app, person.email, 'email-changed');
    const { data } = await follow(owner, 'undo', undo);
    expect(data.redirect).toMatch(/^\/reset-password\?reason=undone#[\w-]{43}$/);
    expect(await addressOf(person.userId)).toBe(person.email);
    expect(await isIn(person.browser, person.token)).toBe(false);
    expect((await logIn(openBrowser(app), person.email, testPassword)).status).toBe(401);
    const reset = await owner.post<SessionReply>('/auth/password/reset', {
      token: data.redirect.split('#')[1],
      password: next,
    });
    expect(reset.data.user.email).toBe(person.email);
    expect(await follow(owner, 'undo', undo)).toMatchObject({ problem: { code: 'link-used' } });
    expect(await actionsOf(person.userId)).toEqual(
      expect.arrayContaining(['address.changed', 'address.restored', 'password.removed']),
    );
  });

  test('a change of address can be undone for seven days', async () => {
    const person = await member();
    await moved(person, fresh());
    const undo = await mailedToken(app, person.email, 'email-changed');
    ahead = 7 * days + 1_000;
    expect(await follow(openBrowser(app), 'undo', undo)).toMatchObject({
      problem: { code: 'link-expired' },
    });
    ahead = 7 * days - 60_000;
    expect((await follow(openBrowser(app), 'undo', undo)).status).toBe(200);
    ahead = 0;
  });

  test('a thief who changes twice, and the password, still loses the account to its first address', async () => {
    const person = await member();
    const [second, third] = [fresh(), fresh()];
    await moved(person, second);
    await moved(person, third);
    await person.browser.post(
      '/auth/password/change',
      { current_password: testPassword, new_password: next },
      person.token,
    );
    const first = await mailedToken(app, person.email, 'email-changed');
    const later = await mailedToken(app, second, 'email-changed');
    expect((await follow(openBrowser(app), 'undo', first)).status).toBe(200);
    expect(await addressOf(person.userId)).toBe(person.email);
    // And the mailbox in between, which was the thief's, brings nothing back.
    expect(await follow(openBrowser(app), 'undo', later)).toMatchObject({
      status: 400,
      problem: { code: 'link-expired' },
    });
    expect(await addressOf(person.userId)).toBe(person.email);
  });

  test('an address that an undo may restore cannot be taken', async () => {
    const [person, other] = [await member(), await member()];
    await moved(person, fresh());
    const signUp = await openBrowser(app).post('/auth/signup', {
      name: 'Squatter',
      email: person.email,
      password: next,
    });
    expect(signUp).toMatchObject({ status: 409, problem: { code: 'email-in-use' } });
    await change(other, person.email);
    const token = await mailedToken(app, person.email, 'email');
    expect(await follow(other.browser, 'email', token)).toMatchObject({
      status: 409,
      problem: { code: 'email-in-use' },
    });
  });
});

test('the mails of the account are short, plain, and say what to do when it was not you', async () => {
  const { rows } = await app.database.pool.query<{ kind: string }>(
    'select distinct kind from mail',
  );
  expect(rows.map(({ kind }) => kind).toSorted()).toEqual([
    'account-exists',
    'email',
    'email-changed',
    'magic',
    'password-changed',
    'reset',
  ]);
  const { rows: people } = await app.database.pool.query<{ email: string }>(
    'select email from users',
  );
  const mails = (await Promise.all(people.map(async ({ email }) => mailsTo(app, email)))).flat();
  expect(mails.length).toBeGreaterThan(10);
  for (const { text, subject } of mails) {
    expect(text).toMatch(/if it wasn't you/i);
    expect(text.length).toBeLessThan(900);
    expect(subject.length).toBeLessThan(60);
    expect(text).not.toContain('Ann Other');
    expect(text).not.toMatch(/undefined|null|\[object/);
  }
});
