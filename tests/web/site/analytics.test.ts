import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '#tests/web/support/browser.ts';

/**
 * The consent of a site whose operator measures visits. The setting is built into the pages, so the real
 * modules are built once more, alone, and run on the banner of the real page.
 */
const root = join(import.meta.dirname, '../../..');
const script = 'https://stats.example.com/script.js';
const origin = 'http://localhost';
const entry = 'consent-entry';
const settings = '<button type="button" id="open">Cookie Settings</button>';

let browser: Browser;
let context: BrowserContext;
let loads: string[];
const files = new Map<string, string>();

beforeAll(async () => {
  const built = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    define: { 'import.meta.env.ANALYTICS_URL': JSON.stringify(script) },
    plugins: [
      {
        name: entry,
        resolveId: (id) => (id.endsWith(entry) ? join(root, `web/src/${entry}.ts`) : null),
        load: (id) =>
          id.endsWith(`${entry}.ts`)
            ? `import { connectBanner, openSettings } from '#web/consent/banner.ts';
               connectBanner();
               document.getElementById('open').onclick = openSettings;`
            : null,
      },
    ],
    build: { write: false, minify: false, rolldownOptions: { input: entry } },
  })) as Rolldown.RolldownOutput;
  for (const file of built.output) if (file.type === 'chunk') files.set(file.fileName, file.code);
  const page = readFileSync(join(root, 'web/index.html'), 'utf8');
  const banner = /<section id="consent"[^]*?<\/section>/.exec(page)?.[0] ?? '';
  const main = built.output[0].fileName;
  files.set(
    '',
    `${banner}<main id="main">${settings}</main><script type="module" src="/${main}"></script>`,
  );
  browser = await launchBrowser();
}, 120_000);
afterEach(async () => context.close());
afterAll(async () => browser.close());

async function visit(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(origin);
  return page;
}

/** A new visitor of the site; the operator's script is answered here. */
async function newVisitor(): Promise<void> {
  context = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  loads = [];
  await context.route('**/*', async (route) => {
    const url = new URL(route.request().url());
    if (url.href === script) {
      loads.push(url.href);
      return route.fulfill({ contentType: 'text/javascript', body: 'window.isMeasured = true' });
    }
    const body = url.origin === origin ? files.get(url.pathname.slice(1)) : undefined;
    if (body === undefined) return route.fulfill({ status: 404 });
    const contentType = url.pathname === '/' ? 'text/html' : 'text/javascript';
    return route.fulfill({ contentType, body });
  });
}

const isMeasured = (page: Page) => page.evaluate(() => 'isMeasured' in window);
const choice = async () =>
  (await context.cookies(origin)).find(({ name }) => name === 'sf_consent')?.value;

test('analytics load after consent and not before, and a withdrawal ends them in every tab', async () => {
  await newVisitor();
  const page = await visit();
  await page.getByRole('button', { name: 'Refuse all' }).click();
  await expect.poll(choice).toBe('1a.-');
  await page.reload();
  expect([await isMeasured(page), loads]).toEqual([false, []]);

  await page.getByRole('button', { name: 'Cookie Settings' }).click();
  await page.getByLabel('Analytics').check();
  expect(loads).toEqual([]);
  await page.getByRole('button', { name: 'Save choice' }).click();
  await expect.poll(() => isMeasured(page)).toBe(true);
  expect(await choice()).toBe('1a.a');
  const other = await visit();
  await expect.poll(() => isMeasured(other)).toBe(true);
  expect(loads).toHaveLength(2);

  await page.getByRole('button', { name: 'Cookie Settings' }).click();
  await page.getByRole('button', { name: 'Refuse all' }).click();
  await expect.poll(() => isMeasured(page)).toBe(false);
  await expect.poll(() => isMeasured(other)).toBe(false);
  await (await visit()).getByRole('button', { name: 'Cookie Settings' }).waitFor();
  expect(await other.locator(`script[src="${script}"]`).count()).toBe(0);
  expect(loads).toHaveLength(2);
});

test('a browser that sends Global Privacy Control allows no analytics with “Accept all”', async () => {
  await newVisitor();
  await context.addInitScript(
    `Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })`,
  );
  const page = await visit();
  await page.getByRole('button', { name: 'Accept all' }).click();
  await expect.poll(choice).toBe('1a.f');
  await page.reload();
  expect([await isMeasured(page), loads]).toEqual([false, []]);
});
