import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { layOut } from '#services/platform/mail/layout.ts';
import { createMailbox } from '#services/sandbox/mail/mailbox.ts';
import { mailboxPages } from '#services/sandbox/mail/mailbox-pages.ts';
import { findings } from './support/axe.ts';
import { launchBrowser } from './support/browser.ts';

/** The mailbox of local mode with one of our emails, in a browser. */
let browser: Browser;
let url: string;
let close: () => Promise<void>;
const directory = mkdtempSync(join(tmpdir(), 'sevenfold-mailbox-page-'));

const ours = layOut(
  {
    subject: 'Confirm your address',
    paragraphs: ['Welcome to Sevenfold, Ann.', 'Confirm that this mailbox is yours.'],
    action: {
      label: 'Confirm my address',
      url: 'http://127.0.0.1:9/auth/link/confirm#u3JmX0V4YW1wbGVUb2tlbkZvckFUZXN0T25seQ',
    },
    closing: ['The link works once, for 24 hours. Only you have it.'],
  },
  { productName: 'Sevenfold', contactEmail: 'help@example.com' },
);

beforeAll(async () => {
  const mailbox = createMailbox(directory);
  const show = getRequestListener(mailboxPages(mailbox, 'Sevenfold').fetch);
  const server = createServer((request, response) => void show(request, response));
  url = await listen(server, { host: '127.0.0.1', port: 0 });
  close = async () => stopListening(server);
  const mail = { from: 'Sevenfold <no-reply@localhost>', message_id: '<mai_1@localhost>' };
  await mailbox.keep({
    ...mail,
    to: 'evil@example.com',
    subject: 'Hostile',
    text: 'Hostile',
    html: '<script>parent.document.title = "owned"</script><img src="https://example.com/x.png">',
  });
  await mailbox.keep({ ...mail, ...ours, to: 'ann@example.com' });
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
  await close();
  rmSync(directory, { recursive: true, force: true });
});

async function axeFaults(page: Page, without: readonly string[] = []): Promise<string[]> {
  return findings(page, {
    iframes: false,
    rules: Object.fromEntries(without.map((rule) => [rule, { enabled: false }])),
  });
}

const looks = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 360 },
] as const;

describe.each(looks)('the mailbox, $colorScheme at $width px', ({ colorScheme, width }) => {
  test('the mailbox passes axe, fits its window and keeps to its policy', async () => {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
    const messages: string[] = [];
    page.on('console', (message) => messages.push(message.text()));
    for (const path of ['/dev/mail', '/dev/mail?to=unknown@example.com', '/dev/mail/gone']) {
      await page.goto(`${url}${path}`);
      expect(await axeFaults(page)).toEqual([]);
      expect(await sidewaysOverflow(page)).toBeLessThanOrEqual(0);
    }
    await page.goto(`${url}/dev/mail`);
    await page.getByRole('link', { name: ours.subject }).click();
    await page.frameLocator('iframe').getByRole('link', { name: 'Confirm my address' }).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    expect(await sidewaysOverflow(page)).toBeLessThanOrEqual(0);
    expect(messages.filter((line) => /Content.Security.Policy/.test(line))).toEqual([]);
    await page.close();
  });

  test('an email passes axe and fits its window', async () => {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
    await page.setContent(ours.html);
    // Mail programs show it inside a page that has the landmarks.
    expect(await axeFaults(page, ['landmark-one-main', 'region'])).toEqual([]);
    expect(await sidewaysOverflow(page)).toBeLessThanOrEqual(0);
    await page.close();
  });
});

async function sidewaysOverflow(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
}

test('the mailbox can be used by keyboard: to an email, its link and back', async () => {
  const page = await browser.newPage();
  await page.goto(`${url}/dev/mail?to=ann@example.com`);
  const focused = async () => page.evaluate(() => document.activeElement?.textContent ?? '');
  // The field, Show, Reload, Show all, the mail.
  for (let stop = 0; stop < 5; stop += 1) await page.keyboard.press('Tab');
  await expect.poll(() => focused()).toBe(ours.subject);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: ours.subject }).waitFor();
  await page.keyboard.press('Tab');
  await expect.poll(() => focused()).toBe('All emails');
  await page.keyboard.press('Tab');
  await expect.poll(() => focused()).toContain('/auth/link/confirm#');
  await page.close();
});

test('a hostile email runs no script and requests nothing', async () => {
  const page = await browser.newPage();
  const refused: (string | undefined)[] = [];
  const answered: string[] = [];
  page.on('requestfailed', (request) => refused.push(request.failure()?.errorText));
  page.on('response', (response) => answered.push(response.url()));
  await page.goto(`${url}/dev/mail?to=evil@example.com`);
  await page.getByRole('link', { name: 'Hostile' }).click();
  await page.frameLocator('iframe').locator('img').waitFor({ state: 'attached' });
  await expect.poll(() => page.title()).toBe('Hostile · Sevenfold');
  await expect.poll(() => refused).toEqual(['csp']);
  expect(answered.filter((address) => !address.startsWith(url))).toEqual([]);
  await page.close();
});
