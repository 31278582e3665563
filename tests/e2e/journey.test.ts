import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testPassword } from '#tests/support/password.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  commandLine,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Application } from '#tests/support/processes/processes.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';

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

/** A new window; an error in its console fails the test. */
async function openPage(
  options: { width?: number; height?: number } = {},
): Promise<{ page: Page; context: BrowserContext; consoleErrors: string[] }> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
  });
  const page = await context.newPage();
  const consoleErrors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') consoleErrors.push(message.text());
  });
  page.on('pageerror', (error) => consoleErrors.push(error.message));
  return { page, context, consoleErrors };
}

async function signInAsDemo(page: Page): Promise<void> {
  await page.goto(`${application.url}/login`);
  await page.getByLabel('Email').fill(application.demo.email);
  await page.getByLabel('Password', { exact: true }).fill(application.demo.password);
  await page.getByRole('button', { name: /^log ?in$|^sign in$/i }).click();
  await page.waitForURL('**/dashboard');
}

describe('the main job', () => {
  test('the demo user asks a question, watches seven models to the end, and reads the result and the ledger', async () => {
    const { page, context, consoleErrors } = await openPage();
    await signInAsDemo(page);
    await page
      .getByRole('heading', { level: 1, name: /^Good (morning|afternoon|evening), Demo/ })
      .waitFor();

    await page.getByRole('link', { name: 'New Optimization' }).first().click();
    await page.waitForURL('**/optimization');
    await page
      .getByLabel(/What business challenge are you facing/)
      .fill('Should I sell yearly plans only, or keep monthly plans for my scheduling tool?');
    await page.getByLabel('Context').fill('Two hundred customers, half of them pay monthly.');
    await page.getByLabel('Files to add').setInputFiles({
      name: 'customers.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('Plan,Customers\nMonthly,100\nYearly,100'),
    });
    await page.getByRole('button', { name: 'Show text of customers.csv' }).click();
    expect(await page.getByLabel('Text of customers.csv', { exact: true }).inputValue()).toBe(
      'Plan,Customers\nMonthly,100\nYearly,100',
    );
    await page.getByRole('radio', { name: /^Balanced/ }).check();
    await page.getByRole('button', { name: 'Start Optimization' }).click();
    await page.getByText('3 facts would help the models', { exact: true }).waitFor();
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
  });

  test('a reload during a run and a second tab end with the same picture', async () => {
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
  });
});

describe('a new user', () => {
  test('a new user signs up, buys credits and starts a run on a phone with the keyboard', async () => {
    const { page, context, consoleErrors } = await openPage({ width: 390, height: 844 });
    await page.goto(`${application.url}/signup`);
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
    expect(consoleErrors).toEqual([]);
    await context.close();
  });

  test("a user cannot see another user's run", async () => {
    const { page, context } = await openPage();
    await signInAsDemo(page);
    await page.goto(`${application.url}/dashboard`);
    const href = await page
      .getByRole('link', { name: /yearly plans|View Results/i })
      .first()
      .getAttribute('href');
    await context.clearCookies();
    await page.goto(`${application.url}/login`);
    await page.getByLabel('Email').fill('new.person@example.com');
    await page.getByLabel('Password', { exact: true }).fill(testPassword);
    await page.getByRole('button', { name: /^log ?in$|^sign in$/i }).click();
    await page.waitForURL('**/dashboard');
    await page.goto(`${application.url}${href ?? ''}`);
    await page
      .getByText(/not found|does not exist|no such/i)
      .first()
      .waitFor();
    await context.close();
  });
});

test('a signed-out visitor returns to the requested page after signing in', async () => {
  const { page, context } = await openPage();
  await page.goto(`${application.url}/credits`);
  await page.waitForURL('**/login?redirect=*');
  await page.getByLabel('Email').fill(application.demo.email);
  await page.getByLabel('Password', { exact: true }).fill(application.demo.password);
  await page.getByRole('button', { name: /^log ?in$|^sign in$/i }).click();
  await page.waitForURL('**/credits');
  await page.getByRole('heading', { name: 'Transaction History' }).waitFor();
  await context.close();
});
