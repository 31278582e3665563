import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { identityProblems } from '#services/identity/refusals.ts';
import type { CaughtMail } from '#services/sandbox/mail/mailbox.ts';
import { linkIn } from '#tests/support/mail.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  type Application,
  eventually,
  ownerUrlOf,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';
import { unregistered } from '#tests/web/support/kept.ts';

/**
 * Every way in, as a person goes it: the real application, its mails from the mailbox that this
 * machine shows, real browsers. What a page logs as an error fails the test, a report of the content
 * policy included; so does a secret of a link in any address that was asked for.
 */
const folder = temporaryFolder();
const password = 'Quiet-Harbour-7';
const loginsAMinute = 4;
let application: Application;
let browser: Browser;
let opened: BrowserContext[] = [];
let complaints: string[] = [];
let asked: string[] = [];
let secrets: string[] = [];

beforeAll(async () => {
  application = await startApplication({
    dataDir: folder.path,
    port: await freePort(),
    settings: {
      REQUIRE_EMAIL_CONFIRMATION: 'true',
      RATE_LIMITS: `login=${loginsAMinute}/m`,
      LOG_LEVEL: 'debug',
    },
  });
  browser = await launchBrowser();
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await application?.[Symbol.asyncDispose]();
  folder.remove();
});

afterEach(async () => {
  await Promise.all(opened.map((context) => context.close()));
  const violations = {
    complaints,
    leaked: [
      ...secrets.filter((secret) => isKnownOutside(secret)),
      ...asked.filter((address) => address.includes('access_token')),
    ],
  };
  [opened, complaints, asked, secrets] = [[], [], [], []];
  expect(violations).toEqual({ complaints: [], leaked: [] });
});

function isKnownOutside(secret: string): boolean {
  return application.output().includes(secret) || asked.some((address) => address.includes(secret));
}

// --- people, browsers and mails ---

let people = 0;
/** An unused address. */
function newAddress(): string {
  people += 1;
  return `person-${people}-${randomBytes(3).toString('hex')}@example.com`;
}

type State = Awaited<ReturnType<BrowserContext['storageState']>>;

/** A browser of its own, as another device is; with `state` what it kept when it was closed. */
async function newBrowser(state?: State): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
    ...(state ? { storageState: state } : {}),
  });
  opened.push(context);
  context.on('request', (request) => asked.push(request.url()));
  context.on('weberror', (error) => complaints.push(error.error().message));
  context.on('console', (message) => {
    // The status of a call is not a fault of the page's.
    const isCall = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isCall) complaints.push(message.text());
  });
  return context;
}

async function newPage(path: string, context?: BrowserContext): Promise<Page> {
  const page = await (context ?? (await newBrowser())).newPage();
  await page.goto(`${application.url}${path}`);
  return page;
}

/** The address of the button in the newest mail with these words in its subject. */
async function mailedLink(to: string, subject: RegExp): Promise<string> {
  const mail = await eventually(`a mail to ${to}`, async () => {
    const response = await fetch(`${application.url}/dev/mail?to=${encodeURIComponent(to)}`, {
      headers: { accept: 'application/json' },
    });
    const mails = (await response.json()) as CaughtMail[];
    return mails.find((one) => subject.test(one.subject)) ?? null;
  });
  const link = linkIn(mail);
  secrets.push(new URL(link).hash.slice(1));
  return link;
}

const confirmation = /confirm/i;
const signInLink = /sign.in/i;
const resetLink = /password/i;

async function signUp(page: Page, email: string, secret = password): Promise<void> {
  await page.goto(`${application.url}/signup`);
  await page.getByLabel('Full name').fill('Ada Example');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(secret);
  await page.getByLabel('Confirm password', { exact: true }).fill(secret);
  await page.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Start Finding Opportunities - $5' }).click();
  await page.waitForURL('**/auth/verify-email');
  expect(await unregistered(page)).toEqual([]);
}

async function pressButton(page: Page, link: string, name: string): Promise<void> {
  await page.goto(link);
  await page.waitForURL(link.replace(/#.*/, ''));
  await page.getByRole('button', { name, exact: true }).click();
}

const onDashboard = async (page: Page, name = 'Ada'): Promise<void> => {
  await page.waitForURL('**/dashboard');
  await page.getByRole('heading', { level: 1, name: new RegExp(`^Good .+, ${name}`) }).waitFor();
};

async function logIn(page: Page, email: string, secret: string): Promise<void> {
  if (!page.url().includes('/login')) await page.goto(`${application.url}/login`);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(secret);
  await page.getByRole('button', { name: 'Login', exact: true }).click();
}

async function choosePassword(page: Page, secret: string): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(secret);
  await page.getByLabel('Confirm password', { exact: true }).fill(secret);
  await page.getByRole('button', { name: 'Save and sign in' }).click();
}

/** A confirmed user and the browser that confirmed the address, signed out again. */
async function newMember(): Promise<{ email: string; context: BrowserContext }> {
  const email = newAddress();
  const context = await newBrowser();
  const page = await context.newPage();
  await signUp(page, email);
  await pressButton(page, await mailedLink(email, confirmation), 'Confirm my address');
  await onDashboard(page);
  await page.getByRole('button', { name: 'Logout' }).click();
  await page.waitForURL('**/login');
  await page.close();
  return { email, context };
}

async function isSignedIn(context: BrowserContext): Promise<boolean> {
  const response = await context.request.get(`${application.url}/api/auth/session`);
  const { data } = (await response.json()) as { data: unknown };
  return data !== null;
}

// --- the journeys ---

describe('signing up', () => {
  test('the confirmation mail confirms the address and signs in, and the waiting tab continues automatically', async () => {
    const email = newAddress();
    const context = await newBrowser();
    const waiting = await context.newPage();
    await signUp(waiting, email);
    await waiting.getByRole('heading', { name: 'Superintelligence Access Initiated' }).waitFor();
    await waiting.getByText('p•••@example.com').waitFor();
    expect(await isSignedIn(context)).toBe(false);

    const mail = await context.newPage();
    const link = await mailedLink(email, confirmation);
    await pressButton(mail, link, 'Confirm my address');
    await mail
      .getByText('Your email has been confirmed successfully! You are now logged in.')
      .first()
      .waitFor();
    expect(mail.url()).toBe(`${application.url}/auth/confirm?confirmed=true`);
    await onDashboard(mail);
    await onDashboard(waiting);

    // The same link again, with the session still there, is no error.
    await pressButton(mail, link, 'Confirm my address');
    await mail.getByText("You're signed in").first().waitFor();
  });

  test(
    'signing up with another person’s address gives no access: its owner chooses a new password',
    { tags: ['long'] },
    async () => {
      const email = newAddress();
      const attacker = await newBrowser();
      const attackersPage = await attacker.newPage();
      await signUp(attackersPage, email, 'Attackers-Choice-1');

      const owner = await newPage('/terms');
      await pressButton(owner, await mailedLink(email, confirmation), 'Confirm my address');
      await owner.waitForURL('**/reset-password?reason=confirmed');
      await owner.getByText('Your email address is confirmed').first().waitFor();
      await choosePassword(owner, password);
      // What the stranger had called the account is gone, too.
      await onDashboard(owner, 'User');

      expect(await isSignedIn(attacker)).toBe(false);
      await logIn(attackersPage, email, 'Attackers-Choice-1');
      await attackersPage
        .getByText('Login failed. Please check your credentials.')
        .first()
        .waitFor();
      await logIn(attackersPage, email, password);
      await onDashboard(attackersPage, 'User');
    },
  );
});

describe('a mailed sign-in link', () => {
  test('a mailed sign-in link signs in the browser that requested it and opens the page it asked for', async () => {
    const { email, context } = await newMember();
    const page = await newPage('/credits', context);
    await page.waitForURL('**/login?redirect=*');
    await page.getByLabel('Email').fill(email);
    await page.getByRole('button', { name: 'Email me a sign-in link' }).click();
    await page.getByText('If an account exists, a link is on its way').first().waitFor();
    const mail = await context.newPage();
    await pressButton(mail, await mailedLink(email, signInLink), 'Sign in');
    await mail.waitForURL(`${application.url}/credits`);
    await mail.getByRole('heading', { name: 'Transaction History' }).waitFor();
  });

  test(
    'a mailed sign-in link is refused in another browser, says why, and stays valid in its own',
    { tags: ['long'] },
    async () => {
      const { email, context } = await newMember();
      const page = await newPage('/login', context);
      await page.getByLabel('Email').fill(email);
      await page.getByRole('button', { name: 'Email me a sign-in link' }).click();
      await page.getByText('If an account exists, a link is on its way').first().waitFor();
      const elsewhere = await newBrowser();
      const mail = await elsewhere.newPage();
      const link = await mailedLink(email, signInLink);
      await pressButton(mail, link, 'Sign in');
      await mail.getByText(identityProblems['link-other-browser'].message).first().waitFor();
      await mail.getByRole('link', { name: 'Login' }).first().waitFor();
      expect(await isSignedIn(elsewhere)).toBe(false);
      await pressButton(page, link, 'Sign in');
      await onDashboard(page);
    },
  );
});

test('a forgotten password is replaced in the browser that asked, once, and every other session ends', async () => {
  const { email, context } = await newMember();
  const otherDevice = await newPage('/login');
  await logIn(otherDevice, email, password);
  await onDashboard(otherDevice);

  const page = await newPage('/forgot-password', context);
  await page.getByLabel('Email').fill(email);
  await page.getByRole('button', { name: 'Send link' }).click();
  await page.getByText('If an account exists, a link is on its way').first().waitFor();
  const link = await mailedLink(email, resetLink);

  const elsewhere = await newPage('/terms');
  await pressButton(elsewhere, link, 'Choose a new password');
  await elsewhere.getByText(identityProblems['link-other-browser'].message).first().waitFor();

  const mail = await context.newPage();
  await pressButton(mail, link, 'Choose a new password');
  await mail.waitForURL(`${application.url}/reset-password`);
  await choosePassword(mail, 'Another-Harbour-8');
  await onDashboard(mail);
  await otherDevice.getByText('Please sign in again').first().waitFor();

  await pressButton(elsewhere, link, 'Choose a new password');
  await elsewhere.getByText('This link was already used.').first().waitFor();
  const fresh = await newPage('/login');
  await logIn(fresh, email, password);
  await fresh.getByText('Login failed. Please check your credentials.').first().waitFor();
  await logIn(fresh, email, 'Another-Harbour-8');
  await onDashboard(fresh);
});

describe('Remember me', () => {
  test.each([
    ['with', true],
    ['without', false],
  ])(
    'after a login %s Remember me, a restarted browser is signed in: %s',
    async (_with, remembers) => {
      const context = await newBrowser();
      const page = await newPage('/login', context);
      const remember = page.getByLabel('Remember me');
      if (remembers) await remember.check();
      await logIn(page, application.demo.email, application.demo.password);
      await page.waitForURL('**/dashboard');
      const state = await context.storageState();
      // A browser drops cookies without an expiry when it closes.
      const kept = state.cookies.filter(({ expires }) => expires > 0);
      const restarted = await newBrowser({ ...state, cookies: kept });
      const again = await newPage('/dashboard', restarted);
      await again.waitForURL(remembers ? '**/dashboard' : '**/login?redirect=*');
      expect(await isSignedIn(restarted)).toBe(remembers);
    },
  );
});

describe('a refused login', () => {
  test('a refused login gives the same message for every wrong pair, and how long to wait after too many', async () => {
    const email = newAddress();
    const page = await newPage('/login');
    for (let attempt = 0; attempt < loginsAMinute; attempt += 1) {
      await logIn(page, email, `Wrong-Password-${attempt}`);
      await page.getByText('Login failed. Please check your credentials.').first().waitFor();
    }
    await logIn(page, email, 'Wrong-Password-again');
    await page
      .getByText(/Too many attempts. Please try again in \d+ s./)
      .first()
      .waitFor();
  });
});

describe('an invalid link', () => {
  test('an invalid link says why and offers another one', { tags: ['long'] }, async () => {
    const { email, context } = await newMember();
    const page = await context.newPage();
    const askForLink = async (): Promise<string> => {
      await page.goto(`${application.url}/login`);
      await page.getByLabel('Email').fill(email);
      await page.getByRole('button', { name: 'Email me a sign-in link' }).click();
      await page.getByText('If an account exists, a link is on its way').first().waitFor();
      return mailedLink(email, signInLink);
    };
    const link = await askForLink();

    await pressButton(page, `${application.url}/auth/link/magic#${'A'.repeat(43)}`, 'Sign in');
    await page.getByText("This link isn't valid. Ask for a new one.").first().waitFor();

    await inDatabase(
      "update auth_link set expires_at = now() - interval '1 s' where kind = 'magic'",
    );
    await pressButton(page, link, 'Sign in');
    await page.getByText(identityProblems['link-expired'].message).first().waitFor();
    await page.getByLabel('Email').fill(email);
    await page.getByRole('button', { name: 'Send a new link' }).click();
    await page.getByText('If an account exists, a link is on its way').first().waitFor();

    const next = await eventually('the new link', async () => {
      const newest = await mailedLink(email, signInLink);
      return newest === link ? null : newest;
    });
    await pressButton(page, next, 'Sign in');
    await onDashboard(page);
    await context.clearCookies();
    await pressButton(page, next, 'Sign in');
    await page.getByText('This link was already used. Ask for a new one.').first().waitFor();
  });
});

async function inDatabase(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrlOf(folder.path) });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
