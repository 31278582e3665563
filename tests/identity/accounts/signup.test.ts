import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { policyVersion } from '#services/identity/contract/forms.ts';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { hashPassword } from '#services/identity/passwords/passwords.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { mailedToken, mailsTo, openBrowser } from '#tests/identity/browser.ts';

vi.mock(import('#services/identity/passwords/passwords.ts'), { spy: true });

type Pending = { needsEmailVerification: boolean; pending_token: string };

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ env: { REQUIRE_EMAIL_CONFIRMATION: 'true' } });
});
afterAll(async () => app.close());

const fresh = () => `ann-${randomBytes(4).toString('hex')}@example.com`;
const ann = () => ({ name: 'Ann Other', email: fresh(), password: testPassword });

async function accounts(of: TestApp, email: string) {
  const { rows } = await of.database.pool.query<Record<string, unknown>>(
    'select * from users where email = $1',
    [email],
  );
  return rows;
}

describe('the rules of sign-up, in the words that people read', () => {
  test.each([
    ['name', { name: undefined }, 'Full name is required'],
    ['name', { name: '   ' }, 'Full name is required'],
    ['name', { name: ' A ' }, 'Name must be at least 2 characters'],
    ...['Ann\nOther', 'Ann\u0007Other', 'Ann\u2028Other', 'Ann \u202Erehto', '\u2066Ann Other'].map(
      (name) => ['name', { name }, "Name can't contain line breaks or hidden characters"] as const,
    ),
    ['email', { email: undefined }, 'Email is required'],
    ['email', { email: 'nowhere' }, 'Please enter a valid email address'],
    ['email', { email: 'two@at@example.com' }, 'Please enter a valid email address'],
    ['password', { password: undefined }, 'Password is required'],
    ['password', { password: 'Short-1' }, 'Password must be at least 8 characters'],
    ...['alllowercase1', 'ALLUPPERCASE1', 'NoDigitAnywhere'].map(
      (password) =>
        [
          'password',
          { password },
          'Password must contain at least one uppercase letter, one lowercase letter, and one number',
        ] as const,
    ),
  ] as const)('%s of %j: %s', async (field, change, sentence) => {
    const { status, problem, text } = await openBrowser(app).post('/auth/signup', {
      ...ann(),
      ...change,
    });
    expect(status).toBe(400);
    expect(problem.errors[0]).toEqual({ field, message: sentence });
    const sent = Object.values<string | undefined>(change)
      .map((value) => value?.trim() ?? '')
      .filter((value) => value.length > 1);
    expect(sent.filter((value) => text.includes(value))).toEqual([]);
  });

  test('the request has no repeated password, and unknown fields are refused', async () => {
    const { status } = await openBrowser(app).post('/auth/signup', {
      ...ann(),
      confirmPassword: testPassword,
    });
    expect(status).toBe(400);
  });

  test('the name is stored without surrounding white space', async () => {
    const person = ann();
    await openBrowser(app).post('/auth/signup', { ...person, name: '  Ann Other ' });
    expect(await accounts(app, person.email)).toMatchObject([{ name: 'Ann Other' }]);
  });

  test.each(['José Ångström-O’Neill', 'علی\u200Cرضا', 'Ann 👩\u200D🔬'])(
    'a name in any script is stored as it is: %s',
    async (name) => {
      const person = ann();
      expect((await openBrowser(app).post('/auth/signup', { ...person, name })).status).toBe(201);
      expect(await accounts(app, person.email)).toMatchObject([{ name }]);
    },
  );

  test('a password may have 256 characters and is neither cut nor trimmed', async () => {
    const open = await createTestApp();
    const browser = openBrowser(open);
    const long = ` Aa1${'-x'.repeat(126)}`;
    const person = { ...ann(), password: long };
    expect(long).toHaveLength(256);
    expect((await browser.post('/auth/signup', person)).status).toBe(201);
    const login = async (password: string) =>
      (await browser.post('/auth/login', { email: person.email, password })).status;
    expect(await login(long)).toBe(200);
    expect(await login(long.slice(0, 255))).toBe(401);
    expect(await login(long.trim())).toBe(401);
    expect((await browser.post('/auth/signup', { ...ann(), password: `${long}y` })).status).toBe(
      400,
    );
    await open.close();
  });
});

describe("the server's messages", () => {
  // Keywords, title and detail stand as older clients look for them and as people read them.
  const cases: {
    keywords: string[];
    title: string;
    detail: string;
    provoke: () => Promise<object>;
    of?: () => Promise<TestApp>;
    first?: (person: object) => Promise<unknown>;
  }[] = [
    {
      keywords: ['already registered'],
      title: 'Email already in use',
      detail: 'An account with this email already exists. Try signing in instead.',
      provoke: async () => {
        const person = ann();
        await openBrowser(app).post('/auth/signup', person);
        return person;
      },
    },
    {
      keywords: ['invalid email'],
      title: 'Invalid email address',
      detail: 'Please enter a valid email address.',
      provoke: async () => ({ ...ann(), email: 'nowhere' }),
    },
    {
      keywords: ['password', 'too short'],
      title: 'Password too short',
      detail: 'Password must be at least 8 characters long.',
      provoke: async () => ({ ...ann(), password: 'Short-1' }),
    },
    {
      keywords: ['password', 'weak'],
      title: 'Password too weak',
      detail: 'Please choose a stronger password with uppercase, lowercase, and numbers.',
      provoke: async () => ({ ...ann(), password: 'alllowercase1' }),
    },
    {
      keywords: ['password', 'weak'],
      title: 'Password too weak',
      detail: 'Please choose a stronger password with uppercase, lowercase, and numbers.',
      provoke: async () => ({ ...ann(), password: 'Password123' }),
    },
  ];
  test.each(cases)(
    'a sign-up is refused in the words that people read: $title ($keywords)',
    async ({ keywords, title, detail, provoke }) => {
      const { problem } = await openBrowser(app).post('/auth/signup', await provoke());
      expect(problem).toMatchObject({ title, detail });
      for (const keyword of keywords) expect(problem.message.toLowerCase()).toContain(keyword);
      expect(problem.errors.length).toBeGreaterThan(0);
    },
  );

  test("any other error in a password comes with the server's own sentence", async () => {
    const { problem } = await openBrowser(app).post('/auth/signup', {
      ...ann(),
      password: `Aa1${'x'.repeat(254)}`,
    });
    expect(problem.message).toBe('Password must be at most 256 characters');
    for (const other of ['too short', 'weak', 'rate limit', 'invalid email'])
      expect(problem.message).not.toContain(other);
  });

  test("everything else comes with the server's sentence", async () => {
    const { problem } = await openBrowser(app).post('/auth/signup', { ...ann(), name: '' });
    expect(problem).toMatchObject({ code: 'validation', message: 'Full name is required' });
  });

  test('Too many attempts (rate limit)', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'signup=3/h' } });
    const browser = openBrowser(limited);
    // A request that is not valid uses no turn.
    for (let mistake = 0; mistake < 5; mistake += 1)
      await browser.post('/auth/signup', { ...ann(), password: 'Short-1' });
    for (let turn = 0; turn < 3; turn += 1)
      expect((await browser.post('/auth/signup', ann())).status).toBe(201);
    const { status, problem, headers } = await browser.post('/auth/signup', ann());
    expect(status).toBe(429);
    expect(problem.message.toLowerCase()).toContain('rate limit');
    expect(problem.code).toBe('rate-limited');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    const elsewhere = openBrowser(limited, '198.51.100.9');
    expect((await elsewhere.post('/auth/signup', ann())).status).toBe(201);
    await limited.close();
  });
});

describe('the terms that a sign-up accepts', () => {
  test('terms other than the current ones are refused, and the refusal names the current version', async () => {
    const person = { ...ann(), terms_version: '1999-01-01' };
    const { status, problem, text } = await openBrowser(app).post('/auth/signup', person);
    expect(status).toBe(400);
    expect(problem.errors).toEqual([
      {
        field: 'terms_version',
        message: `The terms have changed. Version ${policyVersion} is current: reload the page, read it, and accept it.`,
      },
    ]);
    expect(text).not.toContain('1999');
    expect(await accounts(app, person.email)).toEqual([]);
  });

  test('terms are stored as not accepted for a client that accepts none', async () => {
    const person = ann();
    expect((await openBrowser(app).post('/auth/signup', person)).status).toBe(201);
    expect(await accounts(app, person.email)).toMatchObject([
      { terms_version: null, terms_accepted_at: null },
    ]);
  });
});

describe('a sign-up that has to be confirmed', () => {
  test('a sign-up that needs confirmation opens no session, stores the accepted terms and emails a link', async () => {
    const browser = openBrowser(app);
    const person = { ...ann(), terms_version: policyVersion };
    const { status, data, text } = await browser.post<Pending>('/auth/signup', person);
    expect(status).toBe(201);
    expect(data.needsEmailVerification).toBe(true);
    expect(Object.keys(data).toSorted()).toEqual(['needsEmailVerification', 'pending_token']);
    expect(text).not.toContain('access_token');
    expect([...browser.cookies.keys()]).toEqual(['sf_nonce']);
    const [account] = await accounts(app, person.email);
    expect(account).toMatchObject({
      email_confirmed_at: null,
      terms_version: policyVersion,
      terms_accepted_at: expect.any(Date),
      signup_browser: expect.any(Buffer),
      subscription_tier: 'free',
    });
    expect(String(account?.['password_hash'])).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    const { rows: keys } = await app.database.pool.query('select from data_key where key_id = $1', [
      account?.['id'],
    ]);
    expect(keys).toHaveLength(1);
    const [mail] = await mailsTo(app, person.email);
    expect(mail).toMatchObject({ kind: 'confirm', subject: 'Confirm your email address' });
    // The sign-up may use a stranger's address: nothing that was typed is mailed there.
    expect(`${mail?.text}${mail?.html}`).not.toContain('Ann Other');
  });

  test('the nonce lasts a day, is kept if present, and no script can read it', async () => {
    const browser = openBrowser(app);
    const first = await browser.post('/auth/signup', ann());
    const cookie = first.headers.getSetCookie().find((line) => line.startsWith('sf_nonce='));
    for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Path=/', 'Max-Age=86400'])
      expect(cookie).toContain(attribute);
    const nonce = browser.cookies.get('sf_nonce');
    await browser.post('/auth/signup', ann());
    expect(browser.cookies.get('sf_nonce')).toBe(nonce);
  });

  test('before confirmation, only a login with the right password learns that confirmation is missing', async () => {
    const browser = openBrowser(app);
    const person = ann();
    await browser.post('/auth/signup', person);
    const { email, password } = person;
    const right = await browser.post('/auth/login', { email, password });
    expect(right.status).toBe(403);
    expect(right.problem.code).toBe('email-not-confirmed');
    const wrong = await browser.post('/auth/login', { email, password: 'Wrong-pass-1' });
    expect(wrong).toMatchObject({ status: 401, problem: { code: 'wrong-credentials' } });
  });

  test('the pending token can only request the email again', async () => {
    const browser = openBrowser(app);
    const person = ann();
    const { data } = await browser.post<Pending>('/auth/signup', person);
    const first = await mailedToken(app, person.email, 'confirm');
    const again = await browser.post('/auth/resend-confirmation', {
      pending_token: data.pending_token,
    });
    expect(again).toMatchObject({ status: 200, data: { ok: true } });
    const second = await mailedToken(app, person.email, 'confirm');
    expect(second).not.toBe(first);
    // The earlier link is void.
    const old = await browser.post('/auth/links/confirm', { token: first });
    expect(old).toMatchObject({ status: 400, problem: { code: 'link-expired' } });
    expect((await browser.get('/users/me', data.pending_token)).status).toBe(401);
    const pair = { access_token: data.pending_token, refresh_token: data.pending_token };
    expect((await browser.post('/auth/exchange', pair)).status).toBe(400);
    const forged = await browser.post('/auth/resend-confirmation', { pending_token: 'abc' });
    expect(forged).toMatchObject({ status: 200, data: { ok: true } });
  });

  test('twenty concurrent sign-ups with one address make one account', async () => {
    const person = ann();
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => openBrowser(app).post('/auth/signup', person)),
    );
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([201, ...Array<number>(19).fill(409)]);
    expect(await accounts(app, person.email)).toHaveLength(1);
  });

  test('an address is the same in any case and with surrounding white space', async () => {
    const person = ann();
    await openBrowser(app).post('/auth/signup', person);
    const again = await openBrowser(app).post('/auth/signup', {
      ...person,
      email: `  ${person.email.toUpperCase()} `,
    });
    expect(again).toMatchObject({ status: 409, problem: { code: 'email-in-use' } });
  });
});

describe('a sign-up that says nothing of other accounts', () => {
  let quiet: TestApp;
  beforeAll(async () => {
    quiet = await createTestApp({ env: { SIGNUP_DISCLOSES_ACCOUNTS: 'false' } });
  });
  afterAll(async () => quiet.close());

  test('a neutral sign-up answers alike, with the same work, and always asks for confirmation', async () => {
    const taken = ann();
    await openBrowser(quiet).post('/auth/signup', taken);
    await quiet.settled();
    const before = await accounts(quiet, taken.email);
    const answers = [];
    for (const person of [{ ...taken, password: 'Another-Harbour-3' }, ann()]) {
      vi.mocked(hashPassword).mockClear();
      const { status, data, headers } = await openBrowser(quiet).post<Pending>(
        '/auth/signup',
        person,
      );
      answers.push({
        status,
        keys: Object.keys(data),
        verification: data.needsEmailVerification,
        headers: [...headers.keys()].toSorted(),
        hashes: vi.mocked(hashPassword).mock.calls.length,
      });
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ status: 201, verification: true, hashes: 1 });
    await quiet.settled();
    expect(await accounts(quiet, taken.email)).toEqual(before);
  });

  test('a neutral sign-up notifies the owner by email, at most once an hour', async () => {
    const person = ann();
    await openBrowser(quiet).post('/auth/signup', person);
    await quiet.settled();
    for (let time = 0; time < 3; time += 1)
      await openBrowser(quiet).post('/auth/signup', { ...person, name: 'Buy Now' });
    const mails = await mailsTo(quiet, person.email, 'account-exists');
    expect(mails).toHaveLength(1);
    expect(mails[0]?.text).not.toContain('Buy Now');
  });

  test('twenty concurrent neutral sign-ups make one account', async () => {
    const person = ann();
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => openBrowser(quiet).post('/auth/signup', person)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    await quiet.settled();
    expect(await accounts(quiet, person.email)).toHaveLength(1);
  });
});

test('without confirmation a session comes at once, with the token where clients read it', async () => {
  const open = await createTestApp();
  const browser = openBrowser(open);
  const person = ann();
  const { status, data } = await browser.post<SessionReply & Pending>('/auth/signup', person);
  expect(status).toBe(201);
  expect(data.needsEmailVerification).toBe(false);
  expect(data.token).toBe(data.access_token);
  expect(data.user.email).toBe(person.email);
  expect((await browser.get('/users/me', data.token)).status).toBe(200);
  expect(browser.cookies.has('sf_refresh')).toBe(true);
  await open.close();
});
