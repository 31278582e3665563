import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LinkReply } from '#services/identity/contract.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { mailedToken, mailsTo, openBrowser } from '#tests/identity/browser.ts';
import type { TestBrowser } from '#tests/identity/browser.ts';

/** Each test is a row of the table in docs/decisions/0031: who can delay whose email, and for how long. */
const minutes = 60_000;
let now = Date.now();
let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({
    // No two emails have the same time.
    clock: () => (now += 1),
    env: {
      RATE_LIMITS: 'mail-device=2/h,reset=3/h,link=3/h,mail-account=4/h',
      REQUIRE_EMAIL_CONFIRMATION: 'true',
    },
  });
});
afterAll(async () => app.close());
beforeEach(() => {
  // Links and rate limits of earlier tests have expired.
  now += 2 * 60 * minutes;
});

const fresh = () => `ann-${randomBytes(4).toString('hex')}@example.com`;
const strange = () => openBrowser(app, `198.51.${randomBytes(1)[0]}.${randomBytes(1)[0]}`);

const asked = {
  magic: 'magic-link',
  reset: 'password/reset-request',
  confirm: 'resend-confirmation',
} as const;
type Kind = keyof typeof asked;

async function ask(browser: TestBrowser, kind: Kind, email: string): Promise<number> {
  const { status } = await browser.post(`/auth/${asked[kind]}`, { email });
  await app.settled();
  return status;
}

async function signUp(browser: TestBrowser): Promise<string> {
  const email = fresh();
  await browser.post('/auth/signup', { name: 'Ann Other', email, password: testPassword });
  return email;
}

/** A confirmed account, and a browser that has had a session of it. */
async function owner(): Promise<{ email: string; browser: TestBrowser }> {
  const email = await signUp(openBrowser(app));
  await app.database.pool.query('update users set email_confirmed_at = now() where email = $1', [
    email,
  ]);
  const browser = openBrowser(app, '203.0.113.50');
  const { status } = await browser.post('/auth/login', { email, password: testPassword });
  expect(status).toBe(200);
  browser.cookies.delete('sf_nonce');
  return { email, browser };
}

const mails = async (email: string, kind: Kind) => (await mailsTo(app, email, kind)).length;

/** Whether the newest mail's link works in this browser. */
async function works(browser: TestBrowser, kind: Kind, email: string): Promise<boolean> {
  const token = await mailedToken(app, email, kind);
  return (await browser.post<LinkReply>(`/auth/links/${kind}`, { token })).status === 200;
}

describe.each(['magic', 'reset'] as const)('the email of kind %s', (kind) => {
  test('the email is sent to strangers once in ten minutes, from any address, with the same response', async () => {
    const { email } = await owner();
    const statuses = [];
    for (let count = 0; count < 12; count += 1) statuses.push(await ask(strange(), kind, email));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await mails(email, kind)).toBe(1);
    now += 10 * minutes + 1;
    await ask(strange(), kind, email);
    await ask(strange(), kind, email);
    expect(await mails(email, kind)).toBe(2);
  });

  test('the email is sent to a browser that had a session of the account, also while a stranger’s link works', async () => {
    const { email, browser } = await owner();
    await ask(strange(), kind, email);
    expect(await ask(browser, kind, email)).toBe(200);
    expect(await mails(email, kind)).toBe(2);
    expect(await works(browser, kind, email)).toBe(true);
  });

  test('the email is sent to such a browser also when others at its address are over the limit', async () => {
    const { email, browser } = await owner();
    const neighbour = openBrowser(app, '203.0.113.50');
    for (let count = 0; count < 3; count += 1) await ask(neighbour, kind, email);
    expect(await ask(neighbour, kind, email)).toBe(429);
    expect(await ask(browser, kind, email)).toBe(200);
    expect(await works(browser, kind, email)).toBe(true);
  });

  test('the email is sent at once to a new browser that opens the stranger’s link', async () => {
    const { email } = await owner();
    await ask(strange(), kind, email);
    const browser = strange();
    await ask(browser, kind, email);
    expect(await mails(email, kind)).toBe(1);
    expect(await works(browser, kind, email)).toBe(false);
    await ask(browser, kind, email);
    expect(await mails(email, kind)).toBe(2);
    expect(await works(browser, kind, email)).toBe(true);
  });

  test('the email is withheld from a new browser for ten minutes at most', async () => {
    const { email } = await owner();
    await ask(strange(), kind, email);
    const browser = strange();
    await ask(browser, kind, email);
    now += 10 * minutes + 1;
    await ask(browser, kind, email);
    expect(await works(browser, kind, email)).toBe(true);
  });

  test('the email is repeated for the browser that asked first, ten times an hour, without blocking the mailbox’s reader', async () => {
    const { email } = await owner();
    const stranger = strange();
    for (let count = 0; count < 15; count += 1) {
      // One browser that changes its address each time.
      const elsewhere = strange();
      for (const [name, value] of stranger.cookies) elsewhere.cookies.set(name, value);
      await ask(elsewhere, kind, email);
      for (const [name, value] of elsewhere.cookies) stranger.cookies.set(name, value);
    }
    expect(await mails(email, kind)).toBe(10);
    const reader = strange();
    expect(await works(reader, kind, email)).toBe(false);
    await ask(reader, kind, email);
    expect(await works(reader, kind, email)).toBe(true);
  });

  test('the email is withheld from a known browser that is over its own limit', async () => {
    const { email, browser } = await owner();
    for (let count = 0; count < 2; count += 1) await ask(browser, kind, email);
    expect(await mails(email, kind)).toBe(2);
    browser.cookies.delete('sf_nonce');
    expect(await ask(browser, kind, email)).toBe(200);
    expect(await mails(email, kind)).toBe(2);
  });
});

describe('the email that confirms an address', () => {
  test('the confirmation is repeated for the browser that signed up, and for no stranger, while a stranger’s link works', async () => {
    const browser = openBrowser(app);
    const email = await signUp(browser);
    for (let count = 0; count < 3; count += 1) await ask(strange(), 'confirm', email);
    expect(await mails(email, 'confirm')).toBe(1);
    now += 10 * minutes + 1;
    await ask(strange(), 'confirm', email);
    expect(await mails(email, 'confirm')).toBe(2);
    expect(await ask(browser, 'confirm', email)).toBe(200);
    expect(await mails(email, 'confirm')).toBe(3);
    expect(await works(browser, 'confirm', email)).toBe(true);
  });
});

describe('the email that confirms a change of address', () => {
  test('the email about a change is sent although strangers asked for others, and once while its link works', async () => {
    const { email, browser } = await owner();
    const { data } = await browser.post<{ token: string }>('/auth/login', {
      email,
      password: testPassword,
    });
    const target = fresh();
    for (let count = 0; count < 5; count += 1) await ask(strange(), 'magic', target);
    const body = { email: target, password: testPassword };
    for (let count = 0; count < 2; count += 1)
      expect((await browser.post('/auth/email/change', body, data.token)).status).toBe(200);
    expect(await mailsTo(app, target, 'email')).toHaveLength(1);
    const token = await mailedToken(app, target, 'email');
    expect((await browser.post('/auth/links/email', { token })).status).toBe(200);
  });
});
