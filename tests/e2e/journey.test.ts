import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { testPassword } from '#tests/support/password.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  commandLine,
  createClient,
  eventually,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Application } from '#tests/support/processes/processes.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';
import { isEntryOf, kept, unregistered } from '#tests/web/support/kept.ts';

/**
 * A user's journeys after `npm start`: the real application in its own processes and a real browser.
 */
const folder = temporaryFolder();
const longPoll = { timeout: 60_000 };
let application: Application;
let browser: Browser;

beforeAll(async () => {
  application = await startApplication({ dataDir: folder.path, port: await freePort() });
  browser = await launchBrowser();
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await application?.[Symbol.asyncDispose]();
  folder.remove();
});

/** Of a visitor who has not chosen about cookies yet. */
const undecided = { cookies: [], origins: [] };

/** A new window, without motion by default: its frames are costly. An error in its console fails the test. */
async function openPage(
  options: {
    width?: number;
    height?: number;
    storageState?: typeof undecided;
    reducedMotion?: 'no-preference';
  } = {},
): Promise<{ page: Page; context: BrowserContext; consoleErrors: string[] }> {
  const { width = 1440, height = 900, ...state } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    reducedMotion: 'reduce',
    ...state,
  });
  const page = await context.newPage();
  const consoleErrors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') consoleErrors.push(message.text());
  });
  page.on('pageerror', (error) => consoleErrors.push(error.message));
  return { page, context, consoleErrors };
}

type Person = Readonly<Record<'email' | 'password', string>>;

async function signIn(page: Page, person: Person): Promise<void> {
  await page.goto(`${application.url}/login`);
  await page.getByLabel('Email').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Login', exact: true }).click();
}

async function signInAsDemo(page: Page): Promise<void> {
  await signIn(page, application.demo);
  await page.waitForURL('**/dashboard');
}

/** What the question of the main job is checked with, as the form sends it. */
const checked = {
  challenge: 'Should I sell yearly plans only, or keep monthly plans for my scheduling tool?',
  context: 'Two hundred customers, half of them pay monthly.',
  files: [{ name: 'customers.csv', text: 'Plan,Customers\nMonthly,100\nYearly,100' }],
  challenge_type: 'sales',
  objectives: [],
  constraints: [],
} as const;

/** A start does not wait for a slow check, so a journey that needs its questions has the server know them first. */
async function checkBefore(): Promise<void> {
  const client = createClient(application.url, {});
  const { token } = await client.data<{ token: string }>('/auth/login', { body: application.demo });
  await eventually('a check that was not skipped', async () => {
    const { skipped } = await client.data<{ skipped: boolean }>('/optimizations/check', {
      token,
      body: checked,
    });
    return !skipped;
  });
}

describe('the main job', () => {
  test('the demo user asks a question, watches seven models to the end, and reads the result and the ledger', async () => {
    await checkBefore();
    const { page, context, consoleErrors } = await openPage({ reducedMotion: 'no-preference' });
    await signInAsDemo(page);
    await page
      .getByRole('heading', { level: 1, name: /^Good (morning|afternoon|evening), Demo/ })
      .waitFor();

    await page.getByRole('link', { name: 'New Optimization' }).first().click();
    await page.waitForURL('**/optimization');
    await page.getByLabel(/What business challenge are you facing/).fill(checked.challenge);
    await page.getByLabel('Context').fill(checked.context);
    const [file] = checked.files;
    await page.getByLabel('Files to add').setInputFiles({
      name: file.name,
      mimeType: 'text/csv',
      buffer: Buffer.from(file.text),
    });
    await page.getByRole('button', { name: `Show text of ${file.name}` }).click();
    expect(await page.getByLabel(`Text of ${file.name}`, { exact: true }).inputValue()).toBe(
      file.text,
    );
    await page.getByRole('radio', { name: /^Balanced/ }).check();
    const [check] = await Promise.all([
      page.waitForRequest('**/api/optimizations/check'),
      page.getByRole('button', { name: 'Start Optimization' }).click(),
    ]);
    expect(check.postDataJSON()).toEqual(checked);
    await page.getByText('3 facts would help the models', { exact: true }).waitFor(longPoll);
    await page.locator('[name="answer-1"]').fill('$19 a month');
    await page.getByRole('button', { name: 'Add answers' }).click();
    await page.getByRole('button', { name: 'Start Optimization' }).click();

    await page.waitForURL('**/evolution-chamber?id=opt_*');
    await page
      .getByRole('heading', { level: 1, name: /Should I sell yearly plans only/ })
      .waitFor();
    await page
      .getByText(/^Simulated\. A prepared case/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'View results' }).waitFor({ timeout: 60_000 });
    for (const model of ['GPT-6.1 Terra', 'Claude Sonnet 5.5', 'Gemini 4 Hydrogen'])
      await page.getByText(model).first().waitFor();
    await expect.poll(() => page.title()).toMatch(/^Done/);
    await expect.poll(() => page.getByText('7 of 7').count()).toBeGreaterThan(0);

    await page.getByRole('link', { name: 'View results' }).click();
    await page.waitForURL('**/optimizations/opt_*');
    const runId = /opt_[0-9a-z]{26}/.exec(page.url())?.[0] ?? '';
    await page.getByRole('heading', { name: 'Next steps' }).waitFor();
    await expect
      .poll(() => page.getByText('Agreement is not correctness').count())
      .toBeGreaterThan(0);
    await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(10);

    await page.getByRole('button', { name: 'Request Refinement' }).click();
    await page.getByText('Included with this run').waitFor();
    await page.getByLabel('What is different').fill('Most customers ask for monthly plans.');
    await page.getByRole('button', { name: 'Send request' }).click();
    await page.getByText('Refinement 1').waitFor();
    await page.getByRole('link', { name: 'View results' }).click({ timeout: 60_000 });
    await page.getByRole('heading', { name: 'What changed' }).waitFor();
    const refinedId = /opt_[0-9a-z]{26}/.exec(page.url())?.[0] ?? '';
    expect(refinedId).not.toBe(runId);

    expect(await unregistered(page)).toEqual([]);

    await page.goto(`${application.url}/credits`);
    const line = page.getByRole('listitem').filter({ hasText: 'Balanced run' });
    await line.waitFor();
    await expect.poll(() => line.textContent()).toMatch(/−14/);
    await expect
      .poll(() => line.getByRole('link').getAttribute('href'))
      .toBe(`/optimizations/${runId}`);
    await page.getByText('86', { exact: true }).first().waitFor();

    const settings = { DATA_DIR: folder.path };
    for (const verify of [
      ['optimizations', 'verify', runId],
      ['optimizations', 'verify', refinedId],
      ['credits', 'verify'],
      ['events', 'verify'],
    ]) {
      const { code, stdout } = await commandLine(settings, ...verify);
      expect([verify.join(' '), code, stdout]).toEqual([verify.join(' '), 0, stdout]);
    }
    expect(consoleErrors).toEqual([]);
    await context.close();
  }, 300_000);

  test(
    'a reload during a run and a second tab end with the same picture',
    { tags: ['long'] },
    async () => {
      const { page, context } = await openPage();
      await signInAsDemo(page);
      await page.goto(`${application.url}/optimization`);
      await page
        .getByLabel(/What business challenge are you facing/)
        .fill('Hire a cook or 2 waiters?');
      await page.getByRole('radio', { name: /^Fast/ }).check();
      await page.getByRole('button', { name: 'Start Optimization' }).click();
      await page.waitForURL('**/evolution-chamber?id=opt_*');
      const second = await context.newPage();
      await Promise.all([page.reload(), second.goto(page.url())]);
      for (const tab of [page, second])
        await tab.getByRole('link', { name: 'View results' }).waitFor({ timeout: 60_000 });
      const cards = (tab: Page) => tab.locator('main').innerText();
      const settled = async (tab: Page) =>
        (await cards(tab)).replace(/\d+ s\b/g, '').replace(/\s+/g, ' ');
      await expect
        .poll(async () => (await settled(page)) === (await settled(second)), longPoll)
        .toBe(true);
      await context.close();
    },
  );
});

describe('the dashboards', () => {
  test('a user switches the dashboard for good, opens the brief and downloads it as Markdown', async () => {
    const { page, context, consoleErrors } = await openPage();
    await signInAsDemo(page);
    // A user with an address sees the elite dashboard first.
    await page.getByRole('heading', { name: 'Competitive Intelligence' }).waitFor();
    const switched = page.waitForResponse(
      (response) => response.request().method() === 'PATCH' && response.url().endsWith('/users/me'),
    );
    await page.getByText('Standard', { exact: true }).click();
    await page.getByRole('heading', { name: 'Monthly Usage' }).waitFor();
    expect((await switched).status()).toBe(200);
    await page.getByText('A plan adds credits every month').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Monthly Usage' }).waitFor();
    await page.getByText('Elite', { exact: true }).click();
    await page.getByText('Not enough shared results yet').waitFor();

    await page.getByRole('link', { name: 'Intelligence Brief' }).click();
    await page.waitForURL('**/dashboard/brief');
    await page
      .getByText(/^\d completed, refinements and deleted runs included\. \d+ credits/)
      .waitFor();
    const titles = await page.locator('main').getByRole('heading', { level: 2 }).allInnerTexts();
    expect(titles.length).toBeGreaterThan(0);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download Markdown' }).click(),
    ]);
    const text = (await readFile(await download.path(), 'utf8')).replaceAll('\\', '');
    expect(text).toContain('# Intelligence Brief');
    expect(text.match(/^## .+$/gm)).toEqual(titles.map((title) => `## ${title}`));
    expect(consoleErrors).toEqual([]);
    await context.close();
  });
});

describe('a new user', () => {
  test('a visitor of the home page refuses cookies, allows drafts later, signs up, buys credits and starts a run on a phone', async () => {
    const { page, context, consoleErrors } = await openPage({
      width: 390,
      height: 844,
      storageState: undecided,
    });
    await page.goto(application.url);
    const banner = page.getByRole('region', { name: 'Cookies' });
    await banner.getByRole('button', { name: 'Refuse all' }).click();
    await expect.poll(() => banner.count()).toBe(0);
    expect((await kept(page)).map(({ name }) => name)).toEqual(['sf_consent', 'sevenfold.consent']);
    await page.getByRole('contentinfo').getByRole('button', { name: 'Cookie Settings' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cookie Settings' });
    await dialog.getByLabel('Functional').check();
    await dialog.getByRole('button', { name: 'Save choice' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    await page.locator('main a[href^="/signup"]').first().click();
    await page.waitForURL('**/signup*');
    await page.getByLabel('Full name').fill('New Person');
    await page.getByLabel('Email').fill('new.person@example.com');
    await page.getByLabel('Password', { exact: true }).fill(testPassword);
    await page.getByLabel('Confirm password', { exact: true }).fill(testPassword);
    await page.getByRole('checkbox', { name: /Terms of Service/ }).check();
    await page.getByRole('button', { name: 'Start Finding Opportunities - $5' }).click();
    await page.waitForURL('**/dashboard');

    await page.goto(`${application.url}/optimization`);
    await page
      .getByLabel(/What business challenge are you facing/)
      .fill('Rent a shop for 3 months, or sell at the market?');
    await page.getByRole('radio', { name: /^Balanced/ }).check();
    await page.getByText(/You need 14 credits to run this optimization/).waitFor();
    await page.getByRole('link', { name: 'Buy More Credits' }).click();
    await page.waitForURL('**/credits/purchase**');
    await page.getByRole('button', { name: /Buy for .*Boost 50/ }).click();
    await page.waitForURL('**/dev/stripe/checkout/**');
    await page.getByRole('button', { name: /^Pay/ }).first().click();
    await page.waitForURL('**/credits/success**');
    await page.getByRole('link', { name: 'Start Optimizing' }).waitFor();

    await page.goto(`${application.url}/optimization`);
    // The draft was kept.
    await expect
      .poll(() => page.getByLabel(/What business challenge are you facing/).inputValue(), longPoll)
      .toContain('Rent a shop');
    await page.getByRole('button', { name: 'Start Optimization', disabled: false }).waitFor();
    await page.getByLabel(/What business challenge are you facing/).focus();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: /^Start for 14 credits/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/evolution-chamber?id=opt_*');
    await page.getByRole('link', { name: 'View results' }).waitFor({ timeout: 60_000 });
    await expect
      .poll(() => page.evaluate('document.documentElement.scrollWidth - window.innerWidth'))
      .toBeLessThanOrEqual(0);

    // In the same tab, whose session storage a new one would not have.
    await page.goto(`${application.url}/cookies`);
    await page.getByRole('term').first().waitFor();
    const shown = await page.getByRole('term').allInnerTexts();
    const names = (await kept(page)).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['sf_consent', 'sf_refresh', 'sf_device']));
    expect(names.filter((name) => !shown.some((entry) => isEntryOf(name, entry)))).toEqual([]);
    expect(await unregistered(page)).toEqual([]);
    expect(consoleErrors).toEqual([]);
    await context.close();
  });
});

/** Presses Tab until the control has the focus, as a person without a mouse does. */
async function tabTo(page: Page, control: Locator): Promise<void> {
  await control.waitFor();
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await control.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${control.toString()}`);
}

test(
  'the onboarding leads to a real run and a question of one’s own by keyboard alone',
  { tags: ['long'] },
  async () => {
    const { page, context, consoleErrors } = await openPage();
    await signInAsDemo(page);
    await page.goto(`${application.url}/onboarding/singularity`);

    await tabTo(page, page.getByLabel('Hours a week between AI tools'));
    await page.keyboard.type('12');
    await page.getByText('To calculate, add your yearly revenue.', { exact: true }).waitFor();
    await tabTo(page, page.getByLabel('Yearly revenue'));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await tabTo(page, page.getByLabel('Type of business'));
    const next = page.getByRole('button', { name: 'Experience Superintelligence' });
    expect(await next.isDisabled()).toBe(true);
    await page.keyboard.press('ArrowDown');
    await tabTo(page, page.getByRole('button', { name: 'Calculate' }));
    await page.keyboard.press('Enter');
    await page.getByText('624 hours × $500 = $312,000').waitFor();
    await tabTo(page, next);
    await page.keyboard.press('Enter');

    await page.locator('h2:focus', { hasText: 'Choose a challenge' }).waitFor();
    await tabTo(page, page.getByRole('radio', { name: 'Competitive intelligence deep dive' }));
    await page.keyboard.press('Space');
    await tabTo(page, page.getByRole('button', { name: 'Continue' }));
    await page.keyboard.press('Enter');

    await tabTo(page, page.getByRole('button', { name: 'Start run · 2 credits' }));
    await page.keyboard.press('Enter');
    await page.getByText('Your run continues if you leave this page.').waitFor();
    await page.reload();
    await page.getByText(/It took [\d.]+ minutes?\./).waitFor(longPoll);
    await tabTo(page, page.getByRole('button', { name: 'Continue' }));
    await page.keyboard.press('Enter');

    await page.getByText('Measured, the run alone, with simulated models').waitFor();
    await tabTo(page, page.getByRole('button', { name: 'Activate' }));
    await page.keyboard.press('Enter');
    await page.waitForURL('**/optimization?challenge=competitive-intelligence');
    await page
      .getByText('Welcome to Sevenfold', { exact: true })
      .filter({ visible: true })
      .first()
      .waitFor();
    expect(await page.getByLabel(/What business challenge are you facing/).inputValue()).toMatch(
      /^Which competitors are most likely/,
    );
    expect(await page.getByLabel('Context', { exact: true }).inputValue()).toMatch(
      /^Type of business: .+\nYearly revenue: /,
    );

    await page.goto(`${application.url}/onboarding/singularity`);
    await page.waitForURL('**/dashboard');
    await page.goto(`${application.url}/credits`);
    await page.getByText('Onboarding bonus').waitFor();
    expect(consoleErrors).toEqual([]);
    await context.close();
  },
);

test(
  'a question is asked, its result read and a refinement requested by keyboard alone',
  { tags: ['long'] },
  async () => {
    const { page, context, consoleErrors } = await openPage();
    await signInAsDemo(page);
    await tabTo(page, page.locator('a[href="/optimization"]:visible').first());
    await page.keyboard.press('Enter');
    await page.waitForURL('**/optimization');

    await tabTo(page, page.getByLabel(/What business challenge are you facing/));
    await page.keyboard.type('Lease a second oven, or bake in 2 shifts?');
    // Without a choice Tab stops at the first that can be chosen, else at the chosen one.
    const anyStrategy = page.locator('[name="strategy"]:focus');
    for (let presses = 0; presses < 80 && (await anyStrategy.count()) === 0; presses += 1)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    const fast = page.getByRole('radio', { name: /^Fast/ });
    for (let presses = 0; presses < 8 && !(await fast.isChecked()); presses += 1)
      await page.keyboard.press('ArrowDown');
    await tabTo(page, page.getByRole('button', { name: 'Start Optimization' }));
    await page.keyboard.press('Enter');
    await page.waitForURL('**/evolution-chamber?id=opt_*');
    const results = page.getByRole('link', { name: 'View results' });
    await results.waitFor(longPoll);
    await tabTo(page, results);
    await page.keyboard.press('Enter');

    await page.waitForURL('**/optimizations/opt_*');
    const runId = /opt_[0-9a-z]{26}/.exec(page.url())?.[0] ?? '';
    await page.getByRole('heading', { name: 'Next steps' }).waitFor();
    const refine = page.getByRole('button', { name: 'Request Refinement', disabled: false });
    await tabTo(page, refine);
    // Escape closes the dialog, and the focus is back on what opened it.
    await page.keyboard.press('Enter');
    await page.getByText('Included with this run').waitFor();
    await page.keyboard.press('Escape');
    await refine.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByLabel('What is different'));
    await page.keyboard.type('The landlord forbids night work.');
    await tabTo(page, page.getByRole('button', { name: 'Send request' }));
    await page.keyboard.press('Enter');
    await page.getByText('Refinement 1').waitFor();
    await results.waitFor(longPoll);
    await tabTo(page, results);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What changed' }).waitFor();
    expect(page.url()).not.toContain(runId);
    expect(consoleErrors).toEqual([]);
    await context.close();
  },
);

/** How a session lives and ends, on several devices. */
describe('a session', () => {
  const question = /What business challenge are you facing/;
  let opened: BrowserContext[] = [];
  let complaints: string[] = [];

  afterEach(async () => {
    await Promise.all(opened.map((context) => context.close()));
    opened = [];
    const heard = complaints;
    complaints = [];
    expect(heard).toEqual([]);
  });

  /** A browser of its own, as another device is. */
  async function newDevice(): Promise<BrowserContext> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      reducedMotion: 'reduce',
    });
    opened.push(context);
    context.on('weberror', (error) => complaints.push(error.error().message));
    context.on('console', (message) => {
      // The status of a call is not a fault of the page's.
      const isCall = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isCall) complaints.push(message.text());
    });
    return context;
  }

  /** A new user, signed in on this page. */
  async function signUp(page: Page, email: string): Promise<Person> {
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
    await signInAsDemo(first);
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
      tab.waitForResponse((response) => /auth\/(refresh|session)$/.test(response.url()), longPoll),
    );
    const [replies] = await Promise.all([
      Promise.all(asked),
      (async () => {
        // Half of a token's life. Then the clock stands, so no attempt and no wait runs out.
        await context.clock.pauseAt(Date.now() + 330_000);
        await vi.waitFor(async () => {
          const locks = await first.evaluate(() => navigator.locks.query());
          expect(locks.pending?.map(({ mode }) => mode)).toEqual(['shared']);
        }, longPoll);
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

  test(
    'a session ended elsewhere asks to sign in again within seconds, and nothing typed is lost',
    { tags: ['long'] },
    async () => {
      const here = await (await newDevice()).newPage();
      await signInAsDemo(here);
      await here.goto(`${application.url}/optimization`);
      await here.getByLabel(question).fill('Rent or buy 2 vans?');

      const there = await (await newDevice()).newPage();
      await signInAsDemo(there);
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
      await expect.poll(() => here.getByText('Your session has expired').count(), longPoll).toBe(0);
      expect(new URL(here.url()).pathname).toBe('/optimization');
      await expect.poll(() => here.getByLabel(question).inputValue()).toBe('Rent or buy 2 vans?');
      await here.getByRole('radio', { name: /^Fast/ }).check();
      await here.getByRole('button', { name: 'Start Optimization' }).click();
      await here.waitForURL('**/evolution-chamber?id=opt_*');
    },
  );

  test('an API key from the account settings opens the interface for programs until it is revoked', async () => {
    const page = await (await newDevice()).newPage();
    await signUp(page, 'programmer@example.com');
    await page.goto(`${application.url}/profile`);
    const keys = part(page, 'API keys');
    await keys.getByRole('button', { name: 'Create key' }).click();
    const form = keys.getByRole('form', { name: 'New API key' });
    await form.getByLabel('Name').fill('Nightly report');
    await form.getByRole('button', { name: 'Create key' }).click();
    const key = await keys.getByLabel('Your new API key').inputValue();
    const call = async () =>
      fetch(`${application.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect((await call()).status).toBe(200);

    await keys.getByRole('button', { name: 'Done' }).click();
    await keys.getByRole('button', { name: 'Revoke Nightly report' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke this key?' });
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await keys.getByText('Revoked Nightly report.').waitFor();
    expect((await call()).status).toBe(401);
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
});
