import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '#services/platform/process/listen.ts';
import {
  type Application,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';

/** How a session lives and ends: the real application, real browsers, nothing between them. */
const folder = temporaryFolder();
const patient = { timeout: 60_000 };
const question = /What business challenge are you facing/;
let application: Application;
let browser: Browser;
let opened: BrowserContext[] = [];
let complaints: string[] = [];

beforeAll(async () => {
  application = await startApplication({ dataDir: folder.path, port: await freePort() });
  browser = await launchBrowser();
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await application?.[Symbol.asyncDispose]();
  folder.remove();
});

afterEach(async () => {
  await Promise.all(opened.map((context) => context.close()));
  opened = [];
  const heard = complaints;
  complaints = [];
  expect(heard).toEqual([]);
});

/** A browser of its own, as another device is. */
async function newDevice(): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  opened.push(context);
  context.on('weberror', (error) => complaints.push(error.error().message));
  context.on('console', (message) => {
    // The status of a call is not a fault of the page's.
    const isCall = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isCall) complaints.push(message.text());
  });
  return context;
}

async function signIn(page: Page, person: { email: string; password: string }): Promise<void> {
  await page.goto(`${application.url}/login`);
  await page.getByLabel('Email').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Login', exact: true }).click();
}

/** A new user, signed in on this device. */
async function signUp(page: Page, email: string): Promise<{ email: string; password: string }> {
  const person = { email, password: 'Quiet-Harbour-7' };
  await page.goto(`${application.url}/login`);
  const status = await page.evaluate(
    async (body) => {
      const response = await fetch('/api/auth/signup', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return response.status;
    },
    { ...person, name: 'Somebody New' },
  );
  expect(status).toBe(201);
  return person;
}

/** The shown name of the part of the account settings. */
const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

test('two tabs that renew the session at the same moment both stay signed in', async () => {
  const context = await newDevice();
  const tabs = [await context.newPage(), await context.newPage()];
  const [first, second] = tabs;
  if (!first || !second) throw new Error('Two tabs were opened');
  // The tabs of a browser share its clock.
  await context.clock.install();
  await signIn(first, application.demo);
  await first.waitForURL('**/dashboard');
  await second.goto(`${application.url}/profile`);
  await part(second, 'Sessions').getByText('This device').waitFor();

  let rotations = 0;
  const bothWantIt = Promise.withResolvers<void>();
  await context.route('**/api/auth/refresh', async (route) => {
    rotations += 1;
    await bothWantIt.promise;
    await route.continue();
  });
  const asked = tabs.map(async (tab) =>
    tab.waitForResponse((response) => /auth\/(refresh|session)$/.test(response.url()), patient),
  );
  const [replies] = await Promise.all([
    Promise.all(asked),
    (async () => {
      // Half of a token's life. Then the clock stands, so no attempt and no wait runs out.
      await context.clock.pauseAt(Date.now() + 330_000);
      await vi.waitFor(async () => {
        const locks = await first.evaluate(() => navigator.locks.query());
        expect(locks.pending?.map(({ mode }) => mode)).toEqual(['shared']);
      }, patient);
      await context.clock.resume();
      bothWantIt.resolve();
    })(),
  ]);
  expect(replies.map((reply) => reply.status())).toEqual([200, 200]);
  expect(rotations).toBe(1);

  // Both stay signed in, with a page load and without one.
  await first.getByRole('banner').getByTitle('Account Settings').click();
  await part(first, 'Sessions').getByText('This device').waitFor();
  await second.reload();
  await part(second, 'Sessions').getByText('This device').waitFor();
  for (const tab of tabs) expect(await tab.getByText('Please sign in again').count()).toBe(0);
});

test('a session ended elsewhere asks to sign in again within seconds, and nothing typed is lost', async () => {
  const here = await (await newDevice()).newPage();
  await signIn(here, application.demo);
  await here.waitForURL('**/dashboard');
  await here.goto(`${application.url}/optimization`);
  await here.getByLabel(question).fill('Rent or buy 2 vans?');

  const there = await (await newDevice()).newPage();
  await signIn(there, application.demo);
  await there.waitForURL('**/dashboard');
  await there.goto(`${application.url}/profile`);
  await part(there, 'Sessions').getByRole('button', { name: 'End all other sessions' }).click();
  await part(there, 'Sessions')
    .getByText(/^Signed out \d+ other devices?\.$/)
    .waitFor();

  await here.getByText('Your session has expired').waitFor({ timeout: 30_000 });
  await expect.poll(() => here.getByLabel(question).inputValue()).toBe('Rent or buy 2 vans?');
  await here.getByRole('button', { name: 'Login', exact: true }).click();
  const dialog = here.getByRole('dialog', { name: 'Please sign in again' });
  await dialog.getByLabel('Password', { exact: true }).fill(application.demo.password);
  await dialog.getByRole('button', { name: 'Login', exact: true }).click();
  await expect.poll(() => here.getByText('Your session has expired').count(), patient).toBe(0);
  expect(new URL(here.url()).pathname).toBe('/optimization');
  await expect.poll(() => here.getByLabel(question).inputValue()).toBe('Rent or buy 2 vans?');
  await here.getByRole('radio', { name: /^Fast/ }).check();
  await here.getByRole('button', { name: 'Start Optimization' }).click();
  await here.waitForURL('**/evolution-chamber?id=opt_*');
});

test('a user exports their data and deletes the account, and cannot sign in afterwards', async () => {
  const page = await (await newDevice()).newPage();
  const person = await signUp(page, 'leaving@example.com');
  await page.goto(`${application.url}/profile`);

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export my data' }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe('sevenfold-export.json');
  expect(await readFile(await file.path(), 'utf8')).toContain(person.email);

  await page.getByRole('button', { name: 'Delete my account' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete your account?' });
  await dialog.getByLabel(`Type ${person.email} to confirm`).fill(person.email);
  await dialog.getByLabel('Your password', { exact: true }).fill(person.password);
  await dialog.getByRole('button', { name: 'Delete my account' }).click();
  await page.waitForURL('**/account-deleted');
  await page.getByRole('heading', { name: 'Your account is being deleted' }).waitFor();

  await page.goto(`${application.url}/dashboard`);
  await page.waitForURL('**/login?redirect=*');
  await signIn(page, person);
  await page.getByText('Login failed', { exact: true }).waitFor();
});
