import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { createSlowDown } from '#services/identity/slow-down.ts';
import { Problem } from '#services/platform/problem.ts';
import { keptKey } from '#services/platform/http/rate-limits.ts';
import { callsOf, createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { openBrowser } from '#tests/identity/browser.ts';
import type { TestBrowser } from '#tests/identity/browser.ts';
import { openHttp } from '#services/http/open.ts';

/** Guesses come from many addresses, so only the limits by account and device apply. */
const limits = 'login=off,login-address=off,login-account=1/h,login-device=3/h';

let app: TestApp;
let other: TestApp;
beforeAll(async () => {
  app = await createTestApp({ env: { RATE_LIMITS: limits } });
  const second = await openHttp(app.context, app.core);
  other = { ...app, ...callsOf(second.app) };
});
afterAll(async () => app.close());

const wrong = 'Wrong-pass-1';

async function logIn(
  browser: TestBrowser,
  { email }: Pick<Person, 'email'>,
  password: string,
): Promise<number> {
  return (await browser.post('/auth/login', { email, password })).status;
}

/** A browser that has had a session of this user, and is signed out. */
async function knownBrowser(person: Person): Promise<TestBrowser> {
  const browser = openBrowser(app);
  expect(await logIn(browser, person, testPassword)).toBe(200);
  browser.cookies.delete('sf_refresh');
  return browser;
}

/** Uses up the limit of the account, and every turn that may be waited for. */
async function flood(email: string): Promise<number[]> {
  return Promise.all(
    Array.from({ length: 10 }, async (_, number) =>
      logIn(openBrowser(number % 2 === 0 ? app : other, `198.51.100.${number}`), { email }, wrong),
    ),
  );
}

/** The state after others' guesses: the limit is used up, and the next turn is half a minute away. */
async function guessedLately(email: string): Promise<void> {
  await logIn(openBrowser(app, '198.51.100.1'), { email }, wrong);
  await app.core.pool.query(
    `insert into rate_limit (key, points, expire) values ($1, 1, $2)
     on conflict (key) do update set expire = excluded.expire`,
    [`login-turn:${keptKey(email)}`, Date.now() + 35_000],
  );
}

describe('guesses of one account’s password beyond its limit', () => {
  test('guesses beyond the limit take turns over all processes with growing pauses, and a turn too far away is refused', async () => {
    const { pool } = app.core;
    const rules = { firstMs: 100, longestMs: 400, waitMs: 500, places: 50 };
    const processes = [createSlowDown(pool, rules), createSlowDown(pool, rules)];
    const account = randomBytes(4).toString('hex');
    const began = performance.now();
    const went: number[] = [];
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, async (_, number) => {
        const over = number + 1;
        return processes[number % 2]?.wait(account, over).then(
          () => void went.push(performance.now() - began),
          (error: unknown) => error,
        );
      }),
    );
    const refused = outcomes.filter((outcome) => outcome instanceof Problem);
    expect(went.length + refused.length).toBe(8);
    expect(refused[0]).toMatchObject({ status: 429, code: 'rate-limited' });
    expect(Number(refused[0]?.extras.retryAfterSeconds)).toBeGreaterThan(0);
    // At least 100 ms lie between two turns, and no turn is more than 500 ms away.
    for (const [index, at] of went.entries()) expect(at).toBeGreaterThan(index * 100 - 5);
    expect(went.length).toBeLessThanOrEqual(6);
  });

  test(
    'guesses beyond the limit end alike for existing and unknown accounts, and lock neither',
    { tags: ['long'] },
    async () => {
      const known = await app.signUp();
      const unknown = { email: `nobody-${randomBytes(4).toString('hex')}@example.com` };
      const [mine, theirs] = await Promise.all([flood(known.email), flood(unknown.email)]);
      for (const statuses of [mine, theirs]) {
        expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(2);
        expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
      }
      const after = await Promise.all(
        [known, unknown].map(async ({ email }) => {
          await guessedLately(email);
          return openBrowser(app).post('/auth/login', { email, password: wrong });
        }),
      );
      for (const { status, problem, headers } of after) {
        expect([status, problem]).toEqual([429, after[0]?.problem]);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(20);
        expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(30);
      }
    },
  );
});

describe('a known browser of an account', () => {
  test('a known browser signs in to its account at once while others guess, and to no other account', async () => {
    const [person, stranger] = [await app.signUp(), await app.signUp()];
    const browser = await knownBrowser(person);
    await guessedLately(person.email);
    await guessedLately(stranger.email);
    const began = performance.now();
    expect(await logIn(browser, person, testPassword)).toBe(200);
    expect(performance.now() - began).toBeLessThan(900);
    expect(await logIn(browser, stranger, testPassword)).toBe(429);
    expect(await logIn(openBrowser(app), person, testPassword)).toBe(429);
  });

  test('a known browser has a few tries of its own, and beyond them is treated like any other', async () => {
    const person = await app.signUp();
    const browser = await knownBrowser(person);
    const thief = openBrowser(app, '198.51.100.66');
    for (const [name, value] of browser.cookies) thief.cookies.set(name, value);
    await guessedLately(person.email);
    const statuses = [];
    for (let time = 0; time < 4; time += 1) statuses.push(await logIn(thief, person, wrong));
    expect(statuses).toEqual([401, 401, 401, 429]);
  });

  test('a known browser gets no new tries by signing in again', async () => {
    const person = await app.signUp();
    const browser = await knownBrowser(person);
    await guessedLately(person.email);
    const statuses = [];
    for (let time = 0; time < 4; time += 1)
      statuses.push(await logIn(browser, person, testPassword));
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  test('after a change of password only the browser that changed it is known', async () => {
    const person = await app.signUp();
    const old = await knownBrowser(person);
    const here = openBrowser(app);
    const { data } = await here.post<SessionReply>('/auth/login', {
      email: person.email,
      password: testPassword,
    });
    const next = 'Harbour-Cliff-83';
    const change = { current_password: testPassword, new_password: next };
    expect((await here.post('/auth/password/change', change, data.token)).status).toBe(200);
    await guessedLately(person.email);
    expect(await logIn(old, person, next)).toBe(429);
    expect(await logIn(here, person, next)).toBe(200);
  });

  test('a known browser has a cookie that no script can read, bound to the host over https', async () => {
    const cookieOf = async (of: TestApp) => {
      const { email } = await of.signUp();
      const { headers } = await openBrowser(of).post('/auth/login', {
        email,
        password: testPassword,
      });
      return headers.getSetCookie().find((line) => line.includes('device='));
    };
    expect(await cookieOf(app)).toMatch(
      /^sf_device=[\w.-]+; Max-Age=15552000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const secure = await createTestApp({
      env: { PUBLIC_URL: 'https://sevenfold.example', ALLOW_PUBLIC_SANDBOX: 'true' },
    });
    expect(await cookieOf(secure)).toMatch(
      /^__Host-device=[\w.-]+; Max-Age=15552000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    await secure.close();
  });
});
