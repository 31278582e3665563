import { dayInWords } from '#services/platform/locale.ts';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import type { Package, Plan, Purchase, Statement } from '#services/payments/contract.ts';
import type { CaughtMail } from '#services/sandbox/mail/mailbox.ts';
import { taxOf } from '#services/sandbox/stripe/objects/tax.ts';
import { linkIn } from '#tests/support/mail.ts';
import { testPassword } from '#tests/support/password.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  type Application,
  type Client,
  commandLine,
  createClient,
  eventually,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';

/**
 * Money as the payer sees it: every figure agrees on the pages, in emails, in files and at the payment
 * provider, and follows from price and credits. With tax, so that price and payment differ and must
 * not be confused.
 */
const folder = temporaryFolder();
const settings = { DATA_DIR: folder.path };
/** Milliseconds for a journey on a busy machine. */
const journeyMs = 300_000;
let application: Application;
let client: Client;
let browser: Browser;
let opened: BrowserContext[] = [];
let consoleErrors: string[] = [];

beforeAll(async () => {
  application = await startApplication({
    dataDir: folder.path,
    port: await freePort(),
    // Receipts go only to confirmed addresses.
    settings: { STRIPE_AUTOMATIC_TAX: 'true', REQUIRE_EMAIL_CONFIRMATION: 'true' },
  });
  client = createClient(application.url, settings);
  browser = await launchBrowser();
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await application?.[Symbol.asyncDispose]();
  folder.remove();
});

afterEach(async () => {
  await Promise.all(opened.map((context) => context.close()));
  const unexpected = consoleErrors;
  [opened, consoleErrors] = [[], []];
  expect(unexpected).toEqual([]);
});

// --- payers and their tabs ---

type Payer = { email: string; token: string; context: BrowserContext };

/** Signs up a new payer without credits; the page stays open. */
async function newPayer(): Promise<{ payer: Payer; page: Page }> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-US',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
  });
  opened.push(context);
  context.setDefaultTimeout(60_000);
  context.on('weberror', (error) => consoleErrors.push(error.error().message));
  context.on('console', (message) => {
    if (message.type() === 'error') consoleErrors.push(message.text());
  });
  const email = `payer-${randomBytes(4).toString('hex')}@example.com`;
  const page = await context.newPage();
  await page.goto(`${application.url}/signup`);
  await page.getByLabel('Full name').fill('Penny Payer');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(testPassword);
  await page.getByLabel('Confirm password', { exact: true }).fill(testPassword);
  await page.getByRole('checkbox', { name: /Terms of Service/ }).check();
  await page.getByRole('button', { name: 'Start Finding Opportunities - $5' }).click();
  await page.waitForURL('**/auth/verify-email');
  await page.goto(linkIn(await mailTo({ email }, /confirm/i)));
  await page.getByRole('button', { name: 'Confirm my address', exact: true }).click();
  await page.waitForURL('**/dashboard');
  await badge(page, 0).waitFor();
  const { token } = await client.data<{ token: string }>('/auth/login', {
    body: { email, password: testPassword },
  });
  return { payer: { email, token, context }, page };
}

async function newTab({ context }: Payer, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${application.url}${path}`);
  return page;
}

function badge(page: Page, credits: number): Locator {
  return page
    .getByRole('banner')
    .getByRole('link', { name: new RegExp(`^${inWords(credits)}(?: |$)`) });
}

/** Marks the document, to prove later that the tab was not reloaded. */
async function mark(page: Page): Promise<void> {
  await page.evaluate('window.isSameDocument = true');
}

async function expectSameDocument(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate('window.isSameDocument === true')).toBe(true);
}

// --- expected amounts ---

function mustPackage(id: string): Package {
  const found = packageOf(id);
  if (found === null) throw new Error(`There is no package ${id}`);
  return found;
}

/** What a package costs with tax, in cents. */
function paidFor({ price_cents: price }: Package): number {
  return price + taxOf(price);
}

/** The unused share of a payment, in whole cents, rounded down. */
function refundFor(bought: Package, unused: number): number {
  return Math.floor((paidFor(bought) * unused) / bought.credits);
}

function dollars(cents: number): string {
  const amount = Math.abs(cents) / 100;
  return `${cents < 0 ? '−' : ''}${amount.toLocaleString('en-US', { style: 'currency', currency: 'USD' })}`;
}

function inWords(credits: number): string {
  return `${credits} ${credits === 1 ? 'credit' : 'credits'}`;
}

function signed(credits: number): string {
  if (credits === 0) return '0';
  return credits < 0 ? `−${-credits}` : `+${credits}`;
}

function priceOf(strategy: string): number {
  const found = loadCatalogue(null).strategies.find(({ id }) => id === strategy);
  if (found === undefined) throw new Error(`There is no strategy ${strategy}`);
  return found.credits;
}

// --- what the payer does ---

async function buy(page: Page, name: RegExp, { price_cents: price, ...bought }: Package) {
  await page.getByRole('button', { name }).click();
  await page.waitForURL('**/dev/stripe/checkout/**');
  await page.getByRole('heading', { name: `Pay for ${bought.name}` }).waitFor();
  await page.getByRole('button', { name: `Pay ${dollars(price + taxOf(price))}` }).click();
  await page.waitForURL('**/credits/success**');
  await mark(page);
  await page.getByRole('link', { name: 'Start Optimizing' }).waitFor();
}

/** Runs an optimization to its end and returns its id. */
async function run(page: Page, strategy: RegExp): Promise<string> {
  await page
    .getByRole('link', { name: /^(?:Start Optimizing|New Optimization)$/ })
    .first()
    .click();
  await page
    .getByLabel(/What business challenge/)
    .fill('Rent a shop for 2 years, or sell at the market?');
  await page.getByRole('radio', { name: strategy }).check();
  await page.getByRole('button', { name: 'Start Optimization' }).click();
  await page.waitForURL('**/evolution-chamber?id=opt_*');
  const runId = /opt_[0-9a-z]{26}/.exec(page.url())?.[0] ?? '';
  await page.getByRole('link', { name: 'View results' }).waitFor({ timeout: 60_000 });
  return runId;
}

/** The rows of purchases on the credits page, newest first. */
function purchaseRows(page: Page): Locator {
  return page.getByRole('region', { name: 'Purchases' }).getByRole('listitem');
}

/** A day as the pages write it. */
function dayOf(at: string | number): string {
  const format = { dateStyle: 'long', timeZone: 'UTC' } as const;
  return new Date(at).toLocaleDateString('en-US', format);
}

/** Moves the provider's clock to just after a moment; everything due by then happens. */
async function moveClockPast(moment: string): Promise<void> {
  const { now } = await advanceClock(1);
  await advanceClock(Math.ceil((Date.parse(moment) - Date.parse(now)) / 1000) + 60);
}

async function advanceClock(seconds: number): Promise<{ now: string }> {
  const response = await fetch(`${application.url}/dev/stripe/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ advance: seconds }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { now: string };
}

async function planOf({ token }: Payer): Promise<NonNullable<Plan['plan']>> {
  const { plan } = await client.data<Plan>('/credits/plan', { token });
  if (plan === null) throw new Error('There is no plan');
  return plan;
}

async function purchasesOf({ token }: Payer): Promise<Purchase[]> {
  return client.data<Purchase[]>('/credits/purchases', { token });
}

/**
 * Refunds the unused credits of the purchase in this row, and follows the amount: offered, confirmed, in
 * the provider's books, in the email. It must not announce the end of a plan.
 */
async function refund(payer: Payer, row: Locator, bought: Package, unused: number): Promise<void> {
  const page = row.page();
  const amount = dollars(refundFor(bought, unused));
  await row.getByText(`${unused} unused`).waitFor();
  await row.getByText(`${amount}, until`).waitFor();
  await row.getByRole('button', { name: `Refund unused credits of ${bought.name}` }).click();
  const dialog = page.getByRole('dialog', { name: 'Refund unused credits?' });
  await dialog.getByText(`${inWords(unused)} for ${amount}`).waitFor();
  await expect.poll(() => dialog.getByText('Your plan will end now').count()).toBe(0);
  await dialog.getByRole('button', { name: `Refund ${amount}` }).click();
  await row.getByText(`${amount} for ${inWords(unused)}.`).waitFor();
  await row.getByText('Refunded', { exact: true }).waitFor();
  await row.getByText('0 unused', { exact: true }).waitFor();

  const provider = await newTab(payer, '/dev/stripe');
  const payment = provider
    .getByRole('listitem')
    .filter({ hasText: `${dollars(paidFor(bought))}, ${payer.email}` })
    .filter({ hasText: 'of it refunded' });
  await expect.poll(() => payment.textContent()).toContain(`, ${amount} of it refunded`);
  await provider.close();

  const mail = await mailTo(payer, new RegExp(`^We refunded ${RegExp.escape(amount)}$`));
  expect(mail.text).toContain(
    `We've refunded ${amount} for ${unused} unused credits from ${bought.name}.`,
  );
}

/** Waits for the newest email with such a subject. */
async function mailTo(payer: Pick<Payer, 'email'>, subject: RegExp): Promise<CaughtMail> {
  return eventually(`a mail with the subject ${String(subject)}`, async () => {
    const mails = await mailsTo(payer);
    return mails.find((mail) => subject.test(mail.subject)) ?? null;
  });
}

async function mailsTo({ email }: Pick<Payer, 'email'>): Promise<CaughtMail[]> {
  const response = await fetch(`${application.url}/dev/mail?to=${encodeURIComponent(email)}`, {
    headers: { accept: 'application/json' },
  });
  return (await response.json()) as CaughtMail[];
}

// --- the statement ---

/** An expected line: change, money in cents if any moved, and its link. */
type Line = { says: string; change: number; cents: number | null; leadsTo: string };

/**
 * The page of the newest month, its file and both replies of the server agree with each other and with
 * these lines, which start at a balance of 0.
 */
async function expectStatement(payer: Payer, page: Page, lines: readonly Line[]): Promise<void> {
  await page.goto(`${application.url}/credits/statements`);
  await page.getByRole('heading', { name: /^Statement of / }).waitFor();
  await page.waitForURL(/\/credits\/statements\/\d{4}-\d{2}$/);
  const path = new URL(page.url()).pathname;
  const statement = await client.data<Statement>(path, { token: payer.token });

  const balances = lines.map((_, index) =>
    lines.slice(0, index + 1).reduce((sum, { change }) => sum + change, 0),
  );
  expect(
    statement.lines.map((line) => ({
      says: line.description,
      change: line.amount,
      balance: line.balance_after,
      cents: line.payment?.amount_cents ?? null,
    })),
  ).toEqual(
    lines.map(({ says, change, cents }, index) => ({
      says,
      change,
      balance: balances[index],
      cents,
    })),
  );
  expect([statement.opening_balance, statement.closing_balance]).toEqual([0, balances.at(-1) ?? 0]);

  const rows = page.getByRole('table', { name: /^Transactions of / }).getByRole('row');
  await rows.filter({ hasText: 'Opening balance' }).waitFor();
  await expect.poll(() => rows.count()).toBe(lines.length + 3);
  for (const [index, line] of lines.entries()) {
    const row = rows.nth(index + 2);
    const [, what = '', change, balance] = await row.getByRole('cell').allInnerTexts();
    expect([what.split('\n')[0], change, balance]).toEqual([
      line.says,
      signed(line.change),
      String(balances[index]),
    ]);
    expect(/[−]?\$[\d,]+\.\d\d/.exec(what)?.[0] ?? null).toBe(
      line.cents === null ? null : dollars(line.cents),
    );
    await expect.poll(() => row.getByRole('link').first().getAttribute('href')).toBe(line.leadsTo);
  }
  const { purchased, bonus, consumed, other } = statement.totals;
  const summary = page.getByRole('region', { name: 'Summary' });
  const figures = await summary.locator('dl > div > dd:first-of-type').allInnerTexts();
  expect(figures).toEqual([
    '0',
    signed(purchased),
    signed(bonus),
    signed(-consumed),
    signed(other),
    String(balances.at(-1) ?? 0),
  ]);
  expect(purchased + bonus - consumed + other).toBe(balances.at(-1));

  // The file is the server's, byte for byte.
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV' }).click();
  const file = await readFile(await (await download).path(), 'utf8');
  const csv = await client.call(`${path}?format=csv`, { token: payer.token });
  expect(file.replace(/^\uFEFF/, '')).toBe(await csv.text());
  const [head = [], ...cells] = tableOf(file.replace(/^\uFEFF/, ''));
  const column = (name: string) => cells.map((row) => row[head.indexOf(name)] ?? '');
  const descriptions = column('description');
  expect(descriptions.slice(1, -1)).toEqual(lines.map(({ says }) => says));
  expect(column('amount').slice(1, -1)).toEqual(lines.map(({ change }) => String(change)));
  expect(column('balance_after')).toEqual(
    [0, ...balances, balances.at(-1) ?? 0].map((balance) => String(balance)),
  );
  expect(column('payment_amount').slice(1, -1)).toEqual(
    lines.map(({ cents }) => (cents === null ? '' : String(cents / 100))),
  );
  expect(column('run_id').slice(1, -1)).toEqual(statement.lines.map((line) => line.run_id ?? ''));
}

/** RFC 4180 without quotes, which these files do not need. */
function tableOf(csv: string): string[][] {
  expect(csv).not.toContain('"');
  return csv
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => line.split(','));
}

const toRun = (runId: string) => `/optimizations/${runId}`;
const toPurchase = ({ id }: Purchase) => `/credits#purchase-${id}`;

type Books = { differences: unknown[]; settling: unknown[]; compared: Record<string, number> };

/**
 * The operator's own checks: every credit from its events, and every payment from the provider's books,
 * at least `least` of each. Recent payments only count as settling, so none of those may be left.
 */
async function expectSoundBooks(least: Record<string, number>): Promise<void> {
  const verified = await commandLine(settings, 'credits', 'verify');
  expect([verified.code, verified.stdout]).toEqual([0, verified.stdout]);
  const { code, stdout } = await eventually('books in which nothing settles', async () => {
    const outcome = await commandLine(settings, 'credits', 'reconcile', '--json');
    const isOver = outcome.code !== 0 || booksIn(outcome.stdout).settling.length === 0;
    return isOver ? outcome : null;
  });
  const books = booksIn(stdout);
  expect({ code, differences: books.differences }).toEqual({ code: 0, differences: [] });
  const missing = Object.entries(least).filter(
    ([kind, count]) => (books.compared[kind] ?? 0) < count,
  );
  expect(missing).toEqual([]);
}

function booksIn(stdout: string): Books {
  return JSON.parse(stdout) as Books;
}

// --- the journeys ---

test(
  'a bought pack shows in every tab at once, is used and accounted for, and its rest is refunded to the cent',
  { timeout: journeyMs },
  async () => {
    const pack = mustPackage('boost-20');
    const { payer, page } = await newPayer();
    const dashboard = await newTab(payer, '/dashboard');
    await badge(dashboard, 0).waitFor();
    await mark(dashboard);

    await page.getByRole('link', { name: 'Buy More Credits' }).first().click();
    await page.waitForURL('**/credits/purchase');
    await buy(page, /Buy for .*Boost 20/, pack);
    for (const tab of [page, dashboard]) {
      await badge(tab, pack.credits).waitFor();
      await expectSameDocument(tab);
    }

    const runId = await run(page, /^Fast/);
    const used = priceOf('fast');
    const left = pack.credits - used;
    for (const tab of [page, dashboard]) {
      await badge(tab, left).waitFor();
      await expectSameDocument(tab);
    }

    const [purchase] = await purchasesOf(payer);
    if (purchase === undefined) throw new Error('The purchase is not listed');
    const lines: Line[] = [
      {
        says: `Purchase: ${pack.name}`,
        change: pack.credits,
        cents: paidFor(pack),
        leadsTo: toPurchase(purchase),
      },
      { says: 'Fast run', change: -used, cents: null, leadsTo: toRun(runId) },
    ];
    await expectStatement(payer, page, lines);

    await page.getByRole('link', { name: 'Back to credits' }).click();
    await mark(page);
    const row = purchaseRows(page).first();
    await refund(payer, row, pack, left);
    await badge(page, 0).waitFor();
    await badge(dashboard, 0).waitFor();
    const history = page.getByRole('listitem').filter({ hasText: 'Money refunded' });
    await expect.poll(() => history.textContent()).toContain(`−${left}balance 0`);
    await expectSameDocument(page);
    await expectSameDocument(dashboard);

    await expectStatement(payer, page, [
      ...lines,
      {
        says: `Refund of unused credits: ${pack.name}`,
        change: -left,
        cents: -refundFor(pack, left),
        leadsTo: toPurchase(purchase),
      },
    ]);
    const receipt = await mailTo(payer, new RegExp(`^Your receipt: ${pack.name}`));
    expect(receipt.text).toContain(
      `${dollars(paidFor(pack))}. That includes ${dollars(taxOf(pack.price_cents))} tax.`,
    );
    await expectSoundBooks({ charges: 1, refunds: 1 });
  },
);

test(
  'a plan is bought, renewed by the clock, cancelled and ended, and its first month is refunded',
  { tags: ['long'], timeout: journeyMs },
  async () => {
    const bought = mustPackage('empire-builder');
    const { payer, page } = await newPayer();
    const [planTab, creditsTab] = await Promise.all([
      newTab(payer, '/credits/plan'),
      newTab(payer, '/credits'),
    ]);
    await planTab.getByText('Free Plan').waitFor();
    await badge(creditsTab, 0).waitFor();
    await Promise.all([mark(planTab), mark(creditsTab)]);

    await page.goto(`${application.url}/credits/plan`);
    await page.getByRole('link', { name: 'See the plans' }).click();
    await page.waitForURL('**/credits/purchase#monthly');
    await buy(page, /Subscribe for \$150 a month Empire Builder/, bought);
    for (const tab of [page, planTab, creditsTab]) await badge(tab, bought.credits).waitFor();
    const first = await planOf(payer);
    await planTab.getByText('Scale Plan').waitFor();
    await planTab
      .getByText(`Renews on ${dayOf(first.current_period_end ?? '')}: $150 for 400 credits.`)
      .waitFor();
    await expectSameDocument(planTab);
    const rows = purchaseRows(creditsTab);
    await rows.filter({ hasText: 'Empire Builder' }).waitFor();

    // This makes the refund's exact share a fraction of a cent.
    const runId = await run(page, /^Economy/);
    const left = bought.credits - priceOf('economy');
    await badge(page, left).waitFor();

    await moveClockPast(first.current_period_end ?? '');
    for (const tab of [page, planTab, creditsTab])
      await badge(tab, left + bought.credits).waitFor();
    const second = await planOf(payer);
    const end = second.current_period_end ?? '';
    expect(end > (first.current_period_end ?? '')).toBe(true);
    await planTab.getByText(`Renews on ${dayOf(end)}: $150 for 400 credits.`).waitFor();
    await rows.nth(1).waitFor();
    await expect
      .poll(() => rows.getByRole('link', { name: 'Receipt of Empire Builder' }).count())
      .toBe(2);
    for (const tab of [planTab, creditsTab]) await expectSameDocument(tab);
    const receipts = await eventually('a receipt for each month', async () => {
      const mails = await mailsTo(payer);
      const found = mails.filter(({ subject }) =>
        subject.startsWith('Your receipt: Empire Builder'),
      );
      return found.length === 2 ? found : null;
    });
    for (const { text } of receipts) expect(text).toContain(dollars(paidFor(bought)));

    await planTab.getByRole('button', { name: 'Cancel plan' }).click();
    const dialog = planTab.getByRole('dialog', { name: 'Cancel Empire Builder?' });
    await dialog.getByText(`It ends on ${dayOf(end)}.`).waitFor();
    await dialog.getByRole('button', { name: 'Cancel plan' }).click();
    await planTab
      .getByText(`Ends on ${dayOf(end)}. You won't be charged again, and you keep your credits.`)
      .waitFor();
    await planTab.getByText('Scale Plan').waitFor();
    const cancelled = await mailTo(payer, /^Your plan is canceled$/);
    expect(cancelled.text).toContain(`It lasts until ${dayInWords(end)} (UTC) and won't renew.`);

    await moveClockPast(end);
    await eventually('the end of the plan', async () => (await planOf(payer)).status === 'ended');
    await planTab.reload();
    await planTab.getByText('Empire Builder has ended').waitFor();
    await planTab.getByText('Free Plan').waitFor();
    await badge(planTab, left + bought.credits).waitFor();

    // The rest of each month is still worth its own price, for as long as any purchase.
    const purchases = await purchasesOf(payer);
    expect(
      purchases.map(({ refundable }) => [refundable?.credits, refundable?.amount_cents]),
    ).toEqual([
      [bought.credits, paidFor(bought)],
      [left, refundFor(bought, left)],
    ]);
    const [later, earlier] = purchases;
    if (later === undefined || earlier === undefined) throw new Error('A month is missing');
    await creditsTab.reload();
    await refund(payer, rows.nth(1), bought, left);
    await badge(creditsTab, bought.credits).waitFor();
    await badge(planTab, bought.credits).waitFor();

    const month = (purchase: Purchase): Line => ({
      says: `Purchase: ${bought.name}`,
      change: bought.credits,
      cents: paidFor(bought),
      leadsTo: toPurchase(purchase),
    });
    await expectStatement(payer, page, [
      month(earlier),
      { says: 'Economy run', change: -priceOf('economy'), cents: null, leadsTo: toRun(runId) },
      month(later),
      {
        says: `Refund of unused credits: ${bought.name}`,
        change: -left,
        cents: -refundFor(bought, left),
        leadsTo: toPurchase(earlier),
      },
    ]);
    await expectSoundBooks({ invoices: 2, refunds: 1 });
  },
);
