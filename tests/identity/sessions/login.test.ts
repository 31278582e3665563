import { argon2Sync, randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { LoginForm } from '#services/identity/contract/forms.ts';
import type { SessionReply } from '#services/identity/contract/session.ts';
import {
  hashPassword,
  needsRehash,
  verifyPassword,
} from '#services/identity/passwords/passwords.ts';
import { answerSignedIn } from '#services/identity/sessions/cookie.ts';
import type * as SessionCookie from '#services/identity/sessions/cookie.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { openBrowser } from '#tests/identity/browser.ts';
import type { Answer } from '#tests/identity/browser.ts';

vi.mock(import('#services/identity/passwords/passwords.ts'), { spy: true });
vi.mock(import('#services/identity/sessions/cookie.ts'), { spy: true });

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());
beforeEach(() => void vi.mocked(verifyPassword).mockClear());

const hashes = () => vi.mocked(verifyPassword).mock.calls.length;

async function auditOf(of: TestApp, userId: string): Promise<string[]> {
  const { rows } = await of.database.ownerPool.query<{ action: string }>(
    'select action from audit_log where user_id = $1 order by entry_id',
    [userId],
  );
  return rows.map(({ action }) => action);
}

describe('the rules of login, in the words that people read', () => {
  test.each([
    ['email', {}, 'Email is required'],
    ['email', { email: 'nowhere' }, 'Please enter a valid email address'],
    ['password', {}, 'Password is required'],
    ['password', { password: '' }, 'Password is required'],
  ])('a login with the wrong %s of %j is answered with: %s', async (field, given, sentence) => {
    const right = { email: 'ann@example.com', password: testPassword };
    const body = { ...right, [field]: undefined, ...given };
    const { status, problem } = await openBrowser(app).post('/auth/login', body);
    expect(status).toBe(400);
    expect(problem.errors[0]).toEqual({ field, message: sentence });
  });

  test('six characters are a hint of the form; the server answers any wrong pair alike', async () => {
    const short = { email: 'ann@example.com', password: 'Ab-1' };
    const issues = v.safeParse(LoginForm, short).issues?.map(({ message }) => message);
    expect(issues).toEqual(['Password must be at least 6 characters']);
    expect((await openBrowser(app).post('/auth/login', short)).status).toBe(401);
  });
});

describe('a login', () => {
  test('a login refuses every account with the same response and one hash', async () => {
    const [wrong, without, erasing] = [await app.signUp(), await app.signUp(), await app.signUp()];
    const { pool } = app.database;
    await pool.query('update users set password_hash = null where id = $1', [without.userId]);
    await pool.query('update users set erasing_at = now() where id = $1', [erasing.userId]);
    const tries = [
      { email: wrong.email, password: 'Wrong-pass-1' },
      { email: 'nobody@example.com', password: testPassword },
      { email: without.email, password: testPassword },
      { email: erasing.email, password: testPassword },
    ];
    const answers: Answer<unknown>[] = [];
    for (const [number, body] of tries.entries()) {
      answers.push(await openBrowser(app).post('/auth/login', body));
      expect(hashes()).toBe(number + 1);
    }
    for (const { status, problem, headers } of answers) {
      expect(status).toBe(401);
      expect(problem).toEqual(answers[0]?.problem);
      expect([...headers.keys()]).toEqual([...(answers[0]?.headers.keys() ?? [])]);
    }
    expect(answers[0]?.problem).toMatchObject({
      code: 'wrong-credentials',
      message: 'Login failed. Please check your credentials.',
    });
    for (const { userId } of [wrong, without, erasing])
      expect(await auditOf(app, userId)).toContain('login.refused');
  });

  test('a login keeps addresses and passwords out of the audit table and the log', async () => {
    const { rows } = await app.database.ownerPool.query<{ text: string }>(
      'select audit_log::text as text from audit_log',
    );
    const written = [...rows.map(({ text }) => text), ...app.logged].join('\n');
    expect(written).toContain('203.0.113.0/24');
    for (const secret of ['@example.com', testPassword, 'Wrong-pass-1', '203.0.113.7'])
      expect(written).not.toContain(secret);
  });

  test('a login begins a session with its method, lifetime and browser', async () => {
    const person = await app.signUp();
    const browser = openBrowser(app);
    const { status, data } = await browser.post<SessionReply>('/auth/login', {
      email: ` ${person.email.toUpperCase()}`,
      password: testPassword,
      remember_me: true,
    });
    expect(status).toBe(200);
    expect(data.token).toBe(data.access_token);
    const { rows } = await app.database.pool.query(
      'select method, remembered, device from sessions where user_id = $1 order by created_at',
      [person.userId],
    );
    expect(rows.at(-1)).toEqual({
      method: 'password',
      remembered: true,
      device: 'Firefox on Linux',
    });
    expect(await auditOf(app, person.userId)).toEqual([
      'account.created',
      'session.started',
      'session.started',
    ]);
  });
});

test('a login whose password changes during the comparison leaves no session', async () => {
  const person = await app.signUp();
  const { answerSignedIn: answer } = await vi.importActual<typeof SessionCookie>(
    '#services/identity/sessions/cookie.ts',
  );
  // After the comparison of the hash, a whole reset runs first.
  vi.mocked(answerSignedIn).mockImplementationOnce(async (...call) => {
    const { pool } = app.database;
    await pool.query('update users set password_changed_at = now() where id = $1', [person.userId]);
    await pool.query('update sessions set revoked_at = now() where user_id = $1', [person.userId]);
    return answer(...call);
  });
  const browser = openBrowser(app);
  const { status } = await browser.post('/auth/login', {
    email: person.email,
    password: testPassword,
  });
  expect(status).toBe(401);
  expect(browser.cookies.has('sf_refresh')).toBe(false);
  const { rows } = await app.database.pool.query(
    'select from sessions where user_id = $1 and revoked_at is null',
    [person.userId],
  );
  expect(rows).toHaveLength(0);
});

describe('how a password is stored', () => {
  /** As an older version of ours would have stored it. */
  function weakHash(password: string): string {
    const nonce = randomBytes(16);
    const hash = argon2Sync('argon2id', {
      message: password,
      nonce,
      memory: 8_192,
      passes: 1,
      parallelism: 1,
      tagLength: 32,
    });
    const plain = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
    return `$argon2id$v=19$m=8192,t=1,p=1$${plain(nonce)}$${plain(hash)}`;
  }

  const storedFor = async (userId: string) => {
    const { rows } = await app.database.pool.query<{ password_hash: string }>(
      'select password_hash from users where id = $1',
      [userId],
    );
    return rows[0]?.password_hash ?? '';
  };

  test('older parameters still verify, and that login replaces them', async () => {
    const person = await app.signUp();
    const old = weakHash(testPassword);
    await app.database.pool.query('update users set password_hash = $2 where id = $1', [
      person.userId,
      old,
    ]);
    const login = async (password: string) =>
      (await openBrowser(app).post('/auth/login', { email: person.email, password })).status;
    expect(await login('Wrong-pass-1')).toBe(401);
    expect(await storedFor(person.userId)).toBe(old);
    expect(await login(testPassword)).toBe(200);
    const renewed = await storedFor(person.userId);
    expect(renewed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await login(testPassword)).toBe(200);
    expect(await storedFor(person.userId)).toBe(renewed);
  });

  test('today’s parameters need no new hash; cheaper ones and unreadable ones do', async () => {
    const today = await hashPassword(testPassword);
    expect(needsRehash(today)).toBe(false);
    expect(needsRehash(weakHash(testPassword))).toBe(true);
    expect(needsRehash(today.replace('t=2', 't=1'))).toBe(true);
    expect(needsRehash('md5:1234')).toBe(true);
  });

  test('the same password is stored differently each time, and a damaged hash admits no login', async () => {
    const [one, other] = [await hashPassword(testPassword), await hashPassword(testPassword)];
    expect(one).not.toBe(other);
    expect(await verifyPassword(testPassword, one)).toBe(true);
    expect(await verifyPassword(testPassword, one.slice(0, -2))).toBe(false);
    expect(await verifyPassword(testPassword, '')).toBe(false);
    expect(await verifyPassword(testPassword, null)).toBe(false);
  });
});

describe('the limits of logging in', () => {
  test('of 200 wrong passwords at once exactly the allowed ones are hashed; elsewhere the right one works', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'login=5/m,login-address=off' } });
    const person = await limited.signUp();
    vi.mocked(verifyPassword).mockClear();
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, number) =>
        openBrowser(limited).post('/auth/login', {
          email: person.email,
          password: `Wrong-pass-${number}`,
        }),
      ),
    );
    expect(hashes()).toBe(5);
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(401), count(429)]).toEqual([5, 195]);
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    const { status } = await openBrowser(limited, '198.51.100.20').post('/auth/login', {
      email: person.email,
      password: testPassword,
    });
    expect(status).toBe(200);
    await limited.close();
  });

  test('an unknown account meets the same limits', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'login=2/m' } });
    const statuses = [];
    for (let time = 0; time < 3; time += 1)
      statuses.push(
        (
          await openBrowser(limited).post('/auth/login', {
            email: 'nobody@example.com',
            password: testPassword,
          })
        ).status,
      );
    expect(statuses).toEqual([401, 401, 429]);
    expect(hashes()).toBe(2);
    await limited.close();
  });

  test('one address that tries many accounts is stopped, one by one and through IPv6 as well', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'login-address=3/m' } });
    const statuses = [];
    for (let number = 1; number <= 4; number += 1)
      statuses.push(
        (
          await openBrowser(limited, `2001:db8::${number}`).post('/auth/login', {
            email: `nobody-${number}@example.com`,
            password: testPassword,
          })
        ).status,
      );
    expect(statuses).toEqual([401, 401, 401, 429]);
    await limited.close();
  });

  test('an account that is tried from everywhere is never locked', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'login-account=1/h' } });
    const person = await limited.signUp();
    const from = async (address: string, password: string) =>
      (await openBrowser(limited, address).post('/auth/login', { email: person.email, password }))
        .status;
    expect(await from('198.51.100.1', 'Wrong-pass-1')).toBe(401);
    expect(await from('198.51.101.1', 'Wrong-pass-1')).toBe(401);
    expect(await from('198.51.102.1', testPassword)).toBe(200);
    await limited.close();
  });
});
