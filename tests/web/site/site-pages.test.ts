import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser } from '#tests/web/support/browser.ts';
import { violations } from '#tests/web/support/member-site.ts';
import { settled, watchRequests } from '#tests/web/support/settled.ts';
import {
  member,
  ok,
  problem,
  serveSite,
  sessionOf,
  type Site,
  visitor,
} from '#tests/web/support/site.ts';

let browser: Browser;
let site: Site;
beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveSite()]);
});
afterEach(() => {
  site.answer(visitor);
  site.calls.length = 0;
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

async function open(path: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  watchRequests(page);
  await page.goto(`${site.origin}${path}`);
  await settled(page);
  return page;
}

describe('help', () => {
  test('a search shows the answers with all of its words, without a call and by keyboard', async () => {
    const page = await open('/help');
    const before = site.files.length + site.calls.length;
    const all = await page.locator('[data-question]').count();
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('REFUND unused');
    await page.getByText(/^\d+ answers? found$/).waitFor();
    const shown = page.locator('[data-question]:visible');
    expect(await shown.count()).toBeLessThan(all / 2);
    for (const text of await shown.allInnerTexts()) expect(text.toLowerCase()).toContain('unused');
    await page.getByRole('searchbox').fill('zeppelin');
    await page.getByText('No answer has all of these words').waitFor();
    expect(await shown.count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('searchbox').fill('');
    await expect.poll(() => shown.count()).toBe(all);
    expect(site.files.length + site.calls.length).toBe(before);
    await page.close();
  });

  test('the answers also appear when the page is opened from another one', async () => {
    const page = await open('/terms');
    await page.getByRole('contentinfo').getByRole('link', { name: 'Help' }).click();
    await page.getByRole('heading', { name: 'Do credits expire?' }).waitFor();
    await page.close();
  });
});

describe('contact', () => {
  const sent = { reference: 'K7Q2-9M4D', emailed: true };

  test('a signed-in user finds their address filled in, sends a message and gets a reference', async () => {
    site.answer((call) =>
      call.path === '/api/contact' ? { ...ok(sent), status: 201 } : member(call),
    );
    const page = await open('/support');
    await page.waitForURL('**/contact?topic=support');
    await expect.poll(() => page.getByLabel('Your email').inputValue()).toBe('ada@example.com');
    await page.getByLabel('Topic').selectOption('billing');
    await page.getByRole('textbox', { name: 'Message' }).fill('Where is my invoice?');
    await page.getByRole('button', { name: 'Send message' }).click();
    await page.getByText('K7Q2-9M4D', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    const { body, headers } = site.calls.find(({ path }) => path === '/api/contact') ?? {};
    expect(body).toEqual({
      topic: 'billing',
      message: 'Where is my invoice?',
      email: 'ada@example.com',
      website: '',
    });
    expect(headers?.get('authorization')).toBe('Bearer token-of-this-test');
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([]);
    await page.close();
  });

  test('the words of a user leave the form when they sign out in another tab', async () => {
    site.answer(member);
    const page = await open('/contact');
    const email = page.getByLabel('Your email');
    await expect.poll(() => email.inputValue()).toBe('ada@example.com');
    await page.getByRole('textbox', { name: 'Message' }).fill('Only for the operator');
    site.answer(visitor);
    await page.evaluate(() => new BroadcastChannel('sevenfold').postMessage('signed-out'));
    await expect.poll(() => email.inputValue()).toBe('');
    expect(await page.getByLabel('Message').inputValue()).toBe('');
    await page.close();
  });

  const keptOf = (page: Page, writer: string): Promise<string | null> =>
    page.evaluate((key) => localStorage.getItem(key), `sevenfold.draft.${writer}.contact`);

  test("a visitor's draft does not hide a user's own, and neither outlives the sending", async () => {
    site.answer((call) =>
      call.path === '/api/contact' ? { ...ok(sent), status: 201 } : member(call),
    );
    const page = await open('/contact');
    const message = page.getByRole('textbox', { name: 'Message' });
    await message.fill('My own draft');
    await page.evaluate(() => {
      const draft = { topic: 'billing', message: 'Of a stranger', email: 'eve@example.com' };
      localStorage.setItem('sevenfold.draft.visitor.contact', JSON.stringify(draft));
    });
    await page.reload();
    await expect.poll(() => message.inputValue()).toBe('My own draft');
    expect(await page.getByLabel('Your email').inputValue()).toBe('ada@example.com');
    await page.getByRole('button', { name: 'Send message' }).click();
    await page.getByText('K7Q2-9M4D', { exact: true }).waitFor();
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([]);
    await page.close();
  });

  test('what a visitor typed on the form moves to the account that signs in, and nothing else', async () => {
    for (const typed of [null, 'Typed here']) {
      site.answer(visitor);
      const page = await open('/contact');
      const message = page.getByRole('textbox', { name: 'Message' });
      await message.fill('Of an earlier visit');
      await page.reload();
      await expect.poll(() => message.inputValue()).toBe('Of an earlier visit');
      if (typed !== null) await message.fill(typed);
      site.answer(member);
      await page.evaluate(() => new BroadcastChannel('sevenfold').postMessage('signed-in'));
      const email = page.getByLabel('Your email');
      await expect.poll(() => email.inputValue()).toBe('ada@example.com');
      expect(await message.inputValue()).toBe(typed ?? '');
      expect((await keptOf(page, 'visitor')) === null).toBe(typed !== null);
      expect((await keptOf(page, sessionOf().user.id)) === null).toBe(typed === null);
      await page.close();
    }
  });

  test('a message that could not be sent stays, and a repeat is the same message', async () => {
    site.answer((call) =>
      call.path === '/api/contact' ? problem(503, 'unavailable', 'Unavailable') : visitor(call),
    );
    const page = await open('/contact?topic=security');
    expect(await page.getByLabel('Topic').inputValue()).toBe('security');
    await page.getByRole('button', { name: 'Send message' }).click();
    await page.getByText('Enter a message').waitFor();
    await page.getByLabel('Message').fill('A hole');
    await page.getByLabel('Your email').fill('eve@example.com');
    await page.getByRole('button', { name: 'Send message' }).click();
    await page.getByText("We couldn't send your message").first().waitFor();
    site.answer((call) =>
      call.path === '/api/contact' ? { ...ok(sent), status: 201 } : visitor(call),
    );
    await page.getByRole('button', { name: 'Send message' }).click();
    await page.getByText('K7Q2-9M4D', { exact: true }).waitFor();
    const keys = site.calls
      .filter(({ path }) => path === '/api/contact')
      .map(({ headers }) => headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(1);
    await page.close();
  });
});
