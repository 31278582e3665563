import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LinkReply } from '#services/identity/contract.ts';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { purgeLinks } from '#services/identity/links/links.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { mailedLink, mailedToken, mailsTo, openBrowser } from '#tests/identity/browser.ts';
import type { TestBrowser } from '#tests/identity/browser.ts';

let app: TestApp;
/** Milliseconds that the application's clock is ahead. */
let ahead = 0;
beforeAll(async () => {
  app = await createTestApp({
    env: { REQUIRE_EMAIL_CONFIRMATION: 'true' },
    clock: () => Date.now() + ahead,
  });
});
afterAll(async () => app.close());

const seconds = 1_000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

/** Does something at a later time. */
async function after<Result>(time: number, work: () => Promise<Result>): Promise<Result> {
  ahead += time;
  try {
    return await work();
  } finally {
    ahead -= time;
  }
}

const ascending = (one: number, other: number) => one - other;

const fresh = () => `ann-${randomBytes(4).toString('hex')}@example.com`;

async function signUp(browser: TestBrowser, more: object = {}): Promise<string> {
  const email = fresh();
  await browser.post('/auth/signup', { name: 'Ann Other', email, password: testPassword, ...more });
  return email;
}

const follow = async (browser: TestBrowser, kind: string, token: string) =>
  browser.post<LinkReply>(`/auth/links/${kind}`, { token });

const ask = async (browser: TestBrowser, path: string, email: string, more: object = {}) =>
  browser.post(`/auth/${path}`, { email, ...more });

const logIn = async (browser: TestBrowser, email: string, password = testPassword) =>
  browser.post<SessionReply>('/auth/login', { email, password });

/** The parameters of an address, from its query or fragment. */
function carried(redirect: string): Record<string, string> {
  const url = new URL(redirect, 'http://localhost');
  return Object.fromEntries([...url.searchParams, ...new URLSearchParams(url.hash.slice(1))]);
}

const pairOf = (redirect: string) => {
  const { access_token, refresh_token } = carried(redirect);
  return { access_token, refresh_token };
};

async function exchange(browser: TestBrowser, body: object) {
  return browser.post<SessionReply>('/auth/exchange', body);
}

/** A user who has confirmed and is signed in nowhere. */
async function confirmedPerson(): Promise<string> {
  const browser = openBrowser(app);
  const email = await signUp(browser);
  await follow(browser, 'confirm', await mailedToken(app, email, 'confirm'));
  return email;
}

async function accountOf(email: string) {
  const { rows } = await app.database.pool.query<{
    id: string;
    password_hash: string | null;
    email_confirmed_at: Date | null;
    name: string;
  }>('select id, password_hash, email_confirmed_at, name from users where email = $1', [email]);
  return rows[0];
}

describe('the email with a link', () => {
  test('a link opens a page that only shows a button; opening it any number of times does not use the link', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const { page, token } = await mailedLink(app, email, 'confirm');
    expect(page).toBe('/auth/link/confirm');
    for (const path of [page, `/api/auth/links/confirm`, `/api/auth/links/confirm?token=${token}`])
      for (const method of ['GET', 'HEAD', 'OPTIONS'])
        await app.app.request(`http://localhost${path}`, { method });
    expect((await follow(browser, 'confirm', token)).status).toBe(200);
  });

  test('an email is not sent once its link has expired', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const [mail] = await mailsTo(app, email, 'confirm');
    expect(mail?.notAfter?.getTime()).toBeGreaterThan(Date.now() + 23 * hours);
    expect(mail?.notAfter?.getTime()).toBeLessThanOrEqual(Date.now() + 24 * hours);
  });

  test('a token is only in the email; the table holds a hash', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const token = await mailedToken(app, email, 'confirm');
    const { rows } = await app.database.pool.query<{ token_hash: Buffer; whole: string }>(
      'select token_hash, auth_link::text as whole from auth_link where email = $1',
      [email],
    );
    expect(rows[0]?.token_hash).toEqual(createHash('sha256').update(token).digest());
    expect(rows.map(({ whole }) => whole).join()).not.toContain(token);
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  });
});

describe('confirming an address', () => {
  test('a confirmation continues to the page that the user signed up for, never to another site', async () => {
    for (const [asked, carriedOn] of [
      ['/credits/purchase?package=boost-50', '/credits/purchase?package=boost-50'],
      ['https://elsewhere.example/credits', undefined],
      ['//elsewhere.example', undefined],
    ]) {
      const browser = openBrowser(app);
      const email = await signUp(browser, { redirect: asked });
      const { data } = await follow(browser, 'confirm', await mailedToken(app, email, 'confirm'));
      expect(carried(data.redirect)['redirect']).toBe(carriedOn);
      expect(pairOf(data.redirect).access_token).toBeTypeOf('string');
    }
  });

  test('a confirmation from a repeated email continues to the same page', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    await ask(browser, 'resend-confirmation', email, { redirect: '/credits/plan' });
    const { data } = await follow(browser, 'confirm', await mailedToken(app, email, 'confirm'));
    expect(carried(data.redirect)['redirect']).toBe('/credits/plan');
  });

  test('a confirmation in the browser that signed up signs in, by a pair that works once', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const token = await mailedToken(app, email, 'confirm');
    const { status, data } = await follow(browser, 'confirm', token);
    expect(status).toBe(200);
    expect(data.redirect).toMatch(
      /^\/auth\/confirm\?confirmed=true&access_token=[\w-]+\.[\w-]+\.[\w-]+&refresh_token=[\w-]+\.[\w-]+\.[\w-]+$/,
    );
    const session = await exchange(browser, pairOf(data.redirect));
    expect(session.status).toBe(200);
    expect(session.data.user.email).toBe(email);
    expect((await browser.get('/users/me', session.data.token)).status).toBe(200);
    const { rows } = await app.database.pool.query(
      'select method from sessions where user_id = $1',
      [session.data.user.id],
    );
    expect(rows).toEqual([{ method: 'confirm' }]);
    expect(await exchange(browser, pairOf(data.redirect))).toMatchObject({
      status: 409,
      problem: { code: 'link-used' },
    });
    // And the password that was chosen at sign-up is good from now on.
    expect((await logIn(openBrowser(app), email)).status).toBe(200);
  });

  test('a confirmation starts no second session for a signed-in user', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const late = await mailedToken(app, email, 'confirm');
    await ask(browser, 'magic-link', email);
    const magic = await follow(browser, 'magic', await mailedToken(app, email, 'magic'));
    await exchange(browser, pairOf(magic.data.redirect));
    const { data } = await follow(browser, 'confirm', late);
    expect(data.redirect).toBe('/auth/confirm?confirmed=true');
  });

  test('a confirmation in the browser that signed up, but did not ask for this email, does not sign in and keeps the password', async () => {
    const [first, second] = [openBrowser(app), openBrowser(app)];
    const email = await signUp(first);
    const { data } = await after(11 * minutes, async () => {
      await ask(second, 'resend-confirmation', email);
      return follow(first, 'confirm', await mailedToken(app, email, 'confirm'));
    });
    expect(data.redirect).toBe('/auth/confirm?confirmed=true');
    expect((await logIn(first, email)).status).toBe(200);
  });

  test('a second confirmation in another browser does not sign in', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const late = await mailedToken(app, email, 'confirm');
    await ask(browser, 'magic-link', email);
    await follow(browser, 'magic', await mailedToken(app, email, 'magic'));
    const other = openBrowser(app);
    const { data } = await follow(other, 'confirm', late);
    expect(data.redirect).toBe('/auth/confirm?confirmed=true');
    const kept = await accountOf(email);
    expect(kept?.password_hash).not.toBeNull();
    expect(kept?.name).toBe('Ann Other');
    expect(other.cookies.size).toBe(0);
  });
});

describe('the first proof of an address, from another browser than the one that signed up', () => {
  test.each([
    ['confirm', 'resend-confirmation'],
    ['magic', 'magic-link'],
    ['reset', 'password/reset-request'],
  ])(
    'a %s link in another browser removes everything that a stranger set up with the address',
    async (kind, path) => {
      const attacker = openBrowser(app, '198.51.100.66');
      const email = await signUp(attacker);
      const account = await accountOf(email);
      // As if a session had begun before addresses had to be confirmed.
      await app.database.pool.query(
        `insert into sessions (id, user_id, expires_at, ends_at, idle_seconds)
         values ($1, $2, now() + interval '1 day', now() + interval '1 day', 86400)`,
        [`ses_${randomBytes(13).toString('hex')}`, account?.id],
      );
      const owner = openBrowser(app);
      await ask(owner, path, email);
      const { data } = await follow(owner, kind, await mailedToken(app, email, kind));
      expect(data.redirect).toMatch(/^\/reset-password\?reason=confirmed#[\w-]{43}$/);
      const stripped = await accountOf(email);
      expect(stripped?.password_hash).toBeNull();
      expect(stripped?.email_confirmed_at).not.toBeNull();
      expect(stripped?.name).toBe('User');
      const { rows: living } = await app.database.pool.query(
        'select from sessions where user_id = $1 and revoked_at is null',
        [account?.id],
      );
      expect(living).toHaveLength(0);
      expect((await logIn(attacker, email)).status).toBe(401);

      const ticket = data.redirect.split('#')[1];
      const stolen = await attacker.post('/auth/password/reset', {
        token: ticket,
        password: 'Attackers-Own-31',
      });
      expect(stolen).toMatchObject({ status: 403, problem: { code: 'link-other-browser' } });
      const chosen = await owner.post<SessionReply>('/auth/password/reset', {
        token: ticket,
        password: 'Harbour-Cliff-82',
      });
      expect(chosen.status).toBe(200);
      expect(chosen.data.user.email).toBe(email);
      expect((await logIn(owner, email, 'Harbour-Cliff-82')).status).toBe(200);
    },
  );

  test('the sign-up’s own email in another browser removes everything that a stranger set up', async () => {
    const attacker = openBrowser(app, '198.51.100.66');
    const email = await signUp(attacker);
    const owner = openBrowser(app);
    const { data } = await follow(owner, 'confirm', await mailedToken(app, email, 'confirm'));
    expect(data.redirect).toMatch(/^\/reset-password\?reason=confirmed#/);
    expect((await logIn(attacker, email)).status).toBe(401);
  });

  test('a code in another browser removes everything that a stranger set up', async () => {
    const attacker = openBrowser(app, '198.51.100.66');
    const email = await signUp(attacker);
    const owner = openBrowser(app);
    const challenge = createHash('sha256').update('v'.repeat(43)).digest('base64url');
    await ask(owner, 'magic-link', email, { code_challenge: challenge });
    const { data } = await follow(owner, 'magic', await mailedToken(app, email, 'magic'));
    expect(data.redirect).toMatch(/^\/reset-password\?reason=confirmed#/);
  });
});

describe('where confirmation is not required', () => {
  let open: TestApp;
  beforeAll(async () => {
    open = await createTestApp({ env: { REQUIRE_EMAIL_CONFIRMATION: 'false' } });
  });
  afterAll(async () => open.close());

  async function signedUp(browser: TestBrowser): Promise<{ email: string; token: string }> {
    const email = fresh();
    const account = { name: 'Ann Other', email, password: testPassword };
    const { data } = await browser.post<SessionReply>('/auth/signup', account);
    return { email, token: data.token };
  }

  test('a user who signed up signs in again, and the address stays unproved', async () => {
    const browser = openBrowser(open);
    const { email, token } = await signedUp(browser);
    expect((await browser.get('/users/me', token)).data).toMatchObject({ email_confirmed: false });
    expect((await logIn(openBrowser(open), email)).status).toBe(200);
    expect((await browser.get('/users/me', token)).data).toMatchObject({ email_confirmed: false });
  });

  test.each([
    ['confirm', 'resend-confirmation'],
    ['magic', 'magic-link'],
    ['reset', 'password/reset-request'],
  ])(
    'a %s link in another browser takes the account from the user who signed up',
    async (kind, path) => {
      const attacker = openBrowser(open, '198.51.100.66');
      const { email, token } = await signedUp(attacker);
      const again = await logIn(openBrowser(open, '198.51.100.66'), email);
      const owner = openBrowser(open);
      await ask(owner, path, email);
      const { data } = await follow(owner, kind, await mailedToken(open, email, kind));
      expect(data.redirect).toMatch(/^\/reset-password\?reason=confirmed#[\w-]{43}$/);
      for (const held of [token, again.data.token])
        expect((await attacker.get('/users/me', held)).status).toBe(401);
      expect((await attacker.post('/auth/refresh')).status).toBe(401);
      expect((await logIn(attacker, email)).status).toBe(401);
      const chosen = await owner.post<SessionReply>('/auth/password/reset', {
        token: data.redirect.split('#')[1],
        password: 'Harbour-Cliff-82',
      });
      expect(chosen).toMatchObject({ status: 200, data: { user: { email } } });
    },
  );

  test('a link in the browser that signed up leaves everything as it is', async () => {
    const browser = openBrowser(open);
    const { email, token } = await signedUp(browser);
    await ask(browser, 'resend-confirmation', email);
    await follow(browser, 'confirm', await mailedToken(open, email, 'confirm'));
    expect((await browser.get('/users/me', token)).data).toMatchObject({ email_confirmed: true });
    expect((await logIn(openBrowser(open), email)).status).toBe(200);
  });
});

describe('signing in by a link', () => {
  test('a sign-in link in the browser that asked carries a pair in the fragment and the page to return to', async () => {
    const email = await confirmedPerson();
    const browser = openBrowser(app);
    await ask(browser, 'magic-link', email, {
      redirect: '/optimizations/opt_1?tab=votes',
      remember_me: true,
    });
    const { data } = await follow(browser, 'magic', await mailedToken(app, email, 'magic'));
    expect(data.redirect).toMatch(/^\/#access_token=/);
    expect(carried(data.redirect)['redirect']).toBe('/optimizations/opt_1?tab=votes');
    const session = await exchange(browser, pairOf(data.redirect));
    expect(session.status).toBe(200);
    const cookie = session.headers.getSetCookie().find((line) => line.startsWith('sf_refresh='));
    expect(cookie).toContain('Max-Age=2592000');
    const { rows } = await app.database.pool.query<{ method: string; remembered: boolean }>(
      'select method, remembered from sessions where user_id = $1',
      [session.data.user.id],
    );
    expect(rows).toEqual([{ method: 'magic', remembered: true }]);
  });

  test.each(['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)'])(
    'a sign-in link never leads to %s',
    async (redirect) => {
      const email = await confirmedPerson();
      const browser = openBrowser(app);
      await ask(browser, 'magic-link', email, { redirect });
      const { data } = await follow(browser, 'magic', await mailedToken(app, email, 'magic'));
      expect(carried(data.redirect)['redirect']).toBeUndefined();
      expect(data.redirect).not.toContain('evil');
    },
  );

  test('a sign-in link in another browser does not sign in, and still works in its own', async () => {
    const email = await confirmedPerson();
    const browser = openBrowser(app);
    await ask(browser, 'magic-link', email);
    const token = await mailedToken(app, email, 'magic');
    expect(await follow(openBrowser(app), 'magic', token)).toMatchObject({
      status: 403,
      problem: { code: 'link-other-browser' },
    });
    const { data } = await follow(browser, 'magic', token);
    expect(data.redirect).toMatch(/^\/#access_token=/);
  });

  test('the pair of one browser does not work in another, and still works in its own', async () => {
    const email = await confirmedPerson();
    const browser = openBrowser(app);
    await ask(browser, 'magic-link', email);
    const { data } = await follow(browser, 'magic', await mailedToken(app, email, 'magic'));
    const thief = openBrowser(app, '198.51.100.66');
    await ask(thief, 'magic-link', 'nobody@example.com');
    expect(thief.cookies.has('sf_nonce')).toBe(true);
    expect(await exchange(thief, pairOf(data.redirect))).toMatchObject({
      status: 403,
      problem: { code: 'link-other-browser' },
    });
    expect((await exchange(browser, pairOf(data.redirect))).status).toBe(200);
  });

  test('the pair lasts a minute, belongs together, and is no access token', async () => {
    const email = await confirmedPerson();
    const browser = openBrowser(app);
    const pairs = [];
    for (let time = 0; time < 2; time += 1) {
      await ask(browser, 'magic-link', email);
      const { data } = await follow(browser, 'magic', await mailedToken(app, email, 'magic'));
      pairs.push(pairOf(data.redirect));
    }
    const [older, newer] = pairs;
    const refused = { status: 400, problem: { code: 'link-invalid' } };
    expect(
      await exchange(browser, { ...newer, refresh_token: older?.refresh_token }),
    ).toMatchObject(refused);
    expect(
      await exchange(browser, {
        access_token: newer?.refresh_token,
        refresh_token: newer?.access_token,
      }),
    ).toMatchObject(refused);
    expect((await browser.get('/users/me', newer?.access_token)).status).toBe(401);
    expect((await browser.get('/users/me', newer?.refresh_token)).status).toBe(401);
    // The next link voided the earlier pair.
    expect(await exchange(browser, older ?? {})).toMatchObject({ status: 400 });
    await after(61 * seconds, async () =>
      expect(await exchange(browser, newer ?? {})).toMatchObject(refused),
    );
    expect((await exchange(browser, newer ?? {})).status).toBe(200);
  });
});

describe('the response to a link names its account', () => {
  test.each([
    ['magic', 'magic-link'],
    ['reset', 'password/reset-request'],
  ])('the response to a %s link names the address of its account', async (kind, path) => {
    const email = await confirmedPerson();
    const browser = openBrowser(app);
    await ask(browser, path, email);
    const { data } = await follow(browser, kind, await mailedToken(app, email, kind));
    expect(data.email).toBe(email);
  });

  test('the response to a confirmation names the address also to a user who was sent another user’s link', async () => {
    const email = await signUp(openBrowser(app, '198.51.100.66'));
    const victim = openBrowser(app);
    const { data } = await follow(victim, 'confirm', await mailedToken(app, email, 'confirm'));
    expect(data.redirect).toMatch(/^\/reset-password/);
    expect(data.email).toBe(email);
  });

  test('the responses to a change and an undo name the address that the account has from then on', async () => {
    const email = await confirmedPerson();
    const moved = `zoe-${fresh()}`;
    const browser = openBrowser(app);
    const { token } = (await logIn(browser, email)).data;
    await browser.post('/auth/email/change', { email: moved, password: testPassword }, token);
    const changed = await follow(browser, 'email', await mailedToken(app, moved, 'email'));
    expect(changed.data.email).toBe(moved);
    const undo = await mailedToken(app, email, 'email-changed');
    const undone = await follow(openBrowser(app), 'undo', undo);
    expect(undone.data.redirect).toMatch(/^\/reset-password/);
    expect(undone.data.email).toBe(email);
  });
});

describe('a code for the holder of a verifier', () => {
  const verifier = 'aZ09-._~'.repeat(6);
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');

  async function codeFor(email: string): Promise<string> {
    const client = openBrowser(app);
    await ask(client, 'magic-link', email, { code_challenge, code_challenge_method: 'S256' });
    // Any browser may open the email: the code alone does not sign in.
    const { data } = await follow(
      openBrowser(app),
      'magic',
      await mailedToken(app, email, 'magic'),
    );
    expect(data.redirect).toMatch(/^\/\?code=[\w-]{43}$/);
    return carried(data.redirect)['code'] ?? '';
  }

  test('a code is exchanged only with its verifier, and a wrong one does not use it up', async () => {
    const code = await codeFor(await confirmedPerson());
    const wrong = `${verifier.slice(0, -1)}x`;
    expect(await exchange(openBrowser(app), { code, code_verifier: wrong })).toMatchObject({
      status: 400,
      problem: { code: 'link-invalid' },
    });
    expect((await exchange(openBrowser(app), { code, code_verifier: verifier })).status).toBe(200);
  });

  test('a code that is presented again ends the session that it began', async () => {
    const code = await codeFor(await confirmedPerson());
    const browser = openBrowser(app);
    const { data } = await exchange(browser, { code, code_verifier: verifier });
    expect((await browser.get('/users/me', data.token)).status).toBe(200);
    const replay = await exchange(openBrowser(app), { code, code_verifier: verifier });
    expect(replay).toMatchObject({ status: 409, problem: { code: 'link-used' } });
    expect((await browser.get('/users/me', data.token)).status).toBe(401);
    expect((await browser.post('/auth/refresh')).status).toBe(401);
  });

  test('a code that is presented twenty times at once leaves no session alive', async () => {
    const code = await codeFor(await confirmedPerson());
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () =>
        exchange(openBrowser(app), { code, code_verifier: verifier }),
      ),
    );
    for (const { data } of answers.filter(({ status }) => status === 200))
      expect((await openBrowser(app).get('/users/me', data.token)).status).toBe(401);
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  test('a code lasts a minute, and takes only S256 and verifiers of 43 to 128 characters', async () => {
    const email = await confirmedPerson();
    const code = await codeFor(email);
    await after(61 * seconds, async () =>
      expect(await exchange(openBrowser(app), { code, code_verifier: verifier })).toMatchObject({
        status: 400,
        problem: { code: 'link-expired' },
      }),
    );
    for (const length of [42, 129])
      expect(
        (await exchange(openBrowser(app), { code, code_verifier: 'v'.repeat(length) })).status,
      ).toBe(400);
    const plain = { code_challenge, code_challenge_method: 'plain' };
    expect((await ask(openBrowser(app), 'magic-link', email, plain)).status).toBe(400);
  });
});

describe('a link that does not work', () => {
  const refusals = {
    invalid: { status: 400, problem: { code: 'link-invalid' } },
    expired: { status: 400, problem: { code: 'link-expired' } },
    used: { status: 409, problem: { code: 'link-used' } },
    elsewhere: { status: 403, problem: { code: 'link-other-browser' } },
  };

  test.each([
    ['confirm', 'resend-confirmation', 24 * hours],
    ['magic', 'magic-link', 10 * minutes],
    ['reset', 'password/reset-request', 10 * minutes],
  ])('a %s link expires to the second', async (kind, path, lifetime) => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    await ask(browser, path, email);
    const token = await mailedToken(app, email, kind);
    await after(lifetime + seconds, async () =>
      expect(await follow(browser, kind, token)).toMatchObject(refusals.expired),
    );
    await after(lifetime - 30 * seconds, async () =>
      expect((await follow(browser, kind, token)).status).toBe(200),
    );
  });

  test.each([
    ['confirm', 'resend-confirmation'],
    ['magic', 'magic-link'],
    ['reset', 'password/reset-request'],
  ])('asking for a %s link again voids the earlier one', async (kind, path) => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    await ask(browser, path, email);
    const first = await mailedToken(app, email, kind);
    await ask(browser, path, email);
    await app.settled();
    expect(await follow(browser, kind, first)).toMatchObject(refusals.expired);
    const second = await mailedToken(app, email, kind);
    expect((await follow(browser, kind, second)).status).toBe(200);
    expect(await follow(browser, kind, second)).toMatchObject(refusals.used);
  });

  test('the token of one kind of link works as no other kind', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const token = await mailedToken(app, email, 'confirm');
    for (const kind of ['magic', 'reset', 'email', 'undo'])
      expect(await follow(browser, kind, token)).toMatchObject(refusals.invalid);
    expect(
      await browser.post('/auth/password/reset', { token, password: 'Harbour-Cliff-82' }),
    ).toMatchObject(refusals.invalid);
    expect(await exchange(browser, { code: token, code_verifier: 'v'.repeat(43) })).toMatchObject(
      refusals.invalid,
    );
    for (const kind of ['set_password', 'exchange', 'nothing'])
      expect((await follow(browser, kind, token)).status).toBe(404);
    expect((await follow(browser, 'confirm', token)).status).toBe(200);
  });

  test('a malformed token is refused without a query, and never repeated', async () => {
    const browser = openBrowser(app);
    expect((await follow(browser, 'confirm', '')).status).toBe(400);
    for (const token of ['xyzzy', 'x'.repeat(44), `${'x'.repeat(42)}'`]) {
      const { status, text } = await follow(browser, 'confirm', token);
      expect(status).toBe(400);
      expect(text).not.toContain(token);
    }
    const unknown = randomBytes(32).toString('base64url');
    expect(await follow(browser, 'confirm', unknown)).toMatchObject(refusals.invalid);
  });

  test('a reset in another browser is refused and not used up', async () => {
    const email = await confirmedPerson();
    const browser = openBrowser(app);
    await ask(browser, 'password/reset-request', email);
    const token = await mailedToken(app, email, 'reset');
    expect(await follow(openBrowser(app), 'reset', token)).toMatchObject(refusals.elsewhere);
    const { data } = await follow(browser, 'reset', token);
    expect(data.redirect).toMatch(/^\/reset-password#[\w-]{43}$/);
  });

  test('one of twenty concurrent uses of a link works', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const token = await mailedToken(app, email, 'confirm');
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await follow(browser, 'confirm', token)).status),
    );
    expect(statuses.toSorted(ascending)).toEqual([200, ...Array<number>(19).fill(409)]);
  });

  test('one of twenty links that were asked for at once works', async () => {
    const email = await confirmedPerson();
    const browser = openBrowser(app);
    await ask(browser, 'magic-link', 'nobody@example.com');
    await Promise.all(Array.from({ length: 20 }, async () => ask(browser, 'magic-link', email)));
    await app.settled();
    const { rows } = await app.database.pool.query(
      `select from auth_link where email = $1 and kind = 'magic' and voided_at is null`,
      [email],
    );
    expect(rows).toHaveLength(1);
  });

  test('no link works for an account that is being erased', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const token = await mailedToken(app, email, 'confirm');
    await app.database.pool.query('update users set erasing_at = now() where email = $1', [email]);
    expect(await follow(browser, 'confirm', token)).toMatchObject(refusals.invalid);
    await ask(browser, 'magic-link', email);
    expect(await mailsTo(app, email, 'magic')).toEqual([]);
  });

  test('every use and every refusal is recorded without the token', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    const token = await mailedToken(app, email, 'confirm');
    await follow(browser, 'confirm', token);
    await follow(browser, 'confirm', token);
    const { rows } = await app.database.ownerPool.query<{ action: string; whole: string }>(
      'select action, audit_log::text as whole from audit_log order by entry_id',
    );
    const actions = new Set(rows.map(({ action }) => action));
    for (const action of ['link.asked', 'link.used', 'link.refused', 'address.confirmed'])
      expect(actions).toContain(action);
    const written = [...rows.map(({ whole }) => whole), ...app.logged].join('\n');
    for (const secret of [token, email, '@example.com']) expect(written).not.toContain(secret);
  });
});

describe('asking for a link', () => {
  test.each(['resend-confirmation', 'magic-link', 'password/reset-request'])(
    '%s: an address with an account and one without get the same answer',
    async (path) => {
      const email = await confirmedPerson();
      const answers = [];
      for (const address of [email, fresh()]) {
        const { status, text, headers } = await ask(openBrowser(app), path, address);
        answers.push({
          status,
          text,
          headers: [...headers.keys()].toSorted(),
          cookies: headers.getSetCookie().map((line) => line.replace(/=[\w-]{43};/, '=…;')),
        });
      }
      expect(answers[0]).toEqual(answers[1]);
      expect(answers[0]).toMatchObject({ status: 200, text: '{"data":{"ok":true}}' });
    },
  );

  test('nothing is read before the response, which is sent although the table is locked', async () => {
    const email = await confirmedPerson();
    const client = await app.database.ownerPool.connect();
    try {
      await client.query('begin');
      await client.query('lock table users in access exclusive mode');
      for (const address of [email, fresh()])
        expect((await ask(openBrowser(app), 'magic-link', address)).status).toBe(200);
    } finally {
      await client.query('rollback');
      client.release();
    }
    expect(await mailsTo(app, email, 'magic')).toHaveLength(1);
  });

  test('a confirmed user gets no confirmation email', async () => {
    const email = await confirmedPerson();
    await ask(openBrowser(app), 'resend-confirmation', email);
    expect(await mailsTo(app, email, 'confirm')).toHaveLength(1);
  });

  test.each([
    ['magic-link', 'link'],
    ['resend-confirmation', 'link'],
    ['password/reset-request', 'reset'],
  ])('%s is limited by account, known or not, and by address', async (path, limit) => {
    const limited = await createTestApp({
      env: { RATE_LIMITS: `${limit}=2/h,mail-address=5/h` },
    });
    const person = await limited.signUp();
    for (const email of [person.email, fresh()]) {
      const from = async (address: string) => {
        const browser = openBrowser(limited, address);
        return (await ask(browser, path, ` ${email.toUpperCase()} `)).status;
      };
      const stranger = [await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.1')];
      expect(stranger).toEqual([200, 200, 429]);
      // One stranger does not lock the owner out.
      expect([await from('192.0.2.2'), await from('192.0.2.3')]).toEqual([200, 200]);
    }
    const browser = openBrowser(limited, '192.0.2.99');
    const statuses = [];
    for (let number = 0; number < 6; number += 1)
      statuses.push((await ask(browser, path, fresh())).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    await limited.close();
  });

  test('tries of tokens are limited by address', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'link-use=3/m' } });
    const browser = openBrowser(limited);
    const statuses = [];
    for (let number = 0; number < 4; number += 1)
      statuses.push(
        (await follow(browser, 'confirm', randomBytes(32).toString('base64url'))).status,
      );
    expect(statuses).toEqual([400, 400, 400, 429]);
    await limited.close();
  });
});

test('links that expired a week ago are forgotten; until then they say why they do not work', async () => {
  const browser = openBrowser(app);
  const email = await signUp(browser);
  const token = await mailedToken(app, email, 'confirm');
  const purgeAt = async (time: number) => purgeLinks(app.core.pool, new Date(Date.now() + time));
  await purgeAt(8 * 24 * hours - minutes);
  await after(8 * 24 * hours - minutes, async () =>
    expect(await follow(browser, 'confirm', token)).toMatchObject({
      problem: { code: 'link-expired' },
    }),
  );
  expect(await purgeAt(8 * 24 * hours + minutes)).toBeGreaterThan(0);
  expect(await follow(browser, 'confirm', token)).toMatchObject({
    problem: { code: 'link-invalid' },
  });
});

test('over https the nonce is bound to this very host', async () => {
  const secure = await createTestApp({
    env: {
      PUBLIC_URL: 'https://sevenfold.example',
      ALLOW_PUBLIC_SANDBOX: 'true',
      REQUIRE_EMAIL_CONFIRMATION: 'true',
    },
  });
  const browser = openBrowser(secure);
  const email = await signUp(browser);
  expect([...browser.cookies.keys()]).toEqual(['__Host-nonce']);
  const mail = (await mailsTo(secure, email, 'confirm'))[0];
  expect(mail?.text).toMatch(/https:\/\/sevenfold\.example\/auth\/link\/confirm#[\w-]{43}/);
  await secure.close();
});
