import { globSync, readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { cookieName } from '#services/identity/sessions/cookie.ts';
import { consentVersion } from '#web/consent/consent.ts';
import { consentCookie } from '#web/consent/cookie.ts';
import { cookies } from '#web/consent/register.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';
import { unregistered } from '#tests/web/support/kept.ts';
import { violations } from '#tests/web/support/member-site.ts';
import { settled, watchRequests } from '#tests/web/support/settled.ts';
import { serveSite, type Site } from '#tests/web/support/site.ts';

let browser: Browser;
let site: Site;
let context: BrowserContext;
beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveSite()]);
});
afterEach(async () => context.close());
afterAll(async () => {
  await browser.close();
  await site.close();
});

const unasked = { storageState: { cookies: [], origins: [] } };

async function open(path: string): Promise<Page> {
  context = await browser.newContext({ ...unasked, viewport: { width: 390, height: 800 } });
  const page = await context.newPage();
  watchRequests(page);
  await page.goto(`${site.origin}${path}`);
  await settled(page);
  return page;
}

const banner = (page: Page) => page.getByRole('region', { name: 'Cookies' });
const stored = (page: Page): Promise<string[]> =>
  page.evaluate(() => Object.keys(localStorage).toSorted());
const cookieOf = async (): Promise<string | undefined> =>
  (await context.cookies()).find(({ name }) => name === consentCookie)?.value;
const write = (page: Page): Promise<void> => page.getByLabel('Message').fill('Half a question');

describe('the consent banner', () => {
  test('the banner is refused with one press and stays away, also from what the server sends', async () => {
    const page = await open('/terms');
    await banner(page).waitFor();
    expect(await violations(page)).toEqual([]);
    await banner(page).getByRole('button', { name: 'Refuse all' }).click();
    await expect.poll(() => banner(page).count()).toBe(0);
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('main');
    expect(await cookieOf()).toBe(`${consentVersion}.-`);
    const record = await page.evaluate(() => localStorage.getItem('sevenfold.consent'));
    expect(JSON.parse(record ?? '')).toMatchObject({
      choice: `${consentVersion}.-`,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    const next = await page.request.get(`${site.origin}/privacy`);
    expect(await next.text()).not.toContain('id="consent"');
  });

  test('the banner covers no element that has the focus', async () => {
    const page = await open('/');
    const covered: string[] = [];
    for (let stop = 0; stop < 40; stop += 1) {
      await page.keyboard.press('Tab');
      const hidden = await page.evaluate(() => {
        const focused = document.activeElement;
        const box = document.getElementById('consent')?.getBoundingClientRect();
        if (!focused || !box || focused.closest('#consent')) return null;
        return focused.getBoundingClientRect().top >= box.top ? focused.outerHTML : null;
      });
      if (hidden !== null) covered.push(hidden);
    }
    expect(covered).toEqual([]);
  });

  test('Cookie Settings opens the choice again, and saves each purpose alone', async () => {
    const page = await open('/cookies');
    await banner(page).getByRole('button', { name: 'Accept all' }).click();
    await expect.poll(() => cookieOf()).toBe(`${consentVersion}.f`);
    await page.getByRole('contentinfo').getByRole('button', { name: 'Cookie Settings' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cookie Settings' });
    expect(await violations(page)).toEqual([]);
    expect(await dialog.getByLabel('Necessary').isDisabled()).toBe(true);
    // The operator of this site measures nothing.
    expect(await dialog.getByLabel('Analytics').count()).toBe(0);
    // Nothing asks for consent to emails that nobody sends.
    expect(await dialog.getByLabel('Marketing').count()).toBe(0);
    await dialog.getByLabel('Functional').uncheck();
    await dialog.getByRole('button', { name: 'Save choice' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    expect(await cookieOf()).toBe(`${consentVersion}.-`);
  });
});

describe('functional storage', () => {
  test('a draft lives in memory until it may be kept, and leaves the device with the consent', async () => {
    const page = await open('/contact');
    await write(page);
    expect(await stored(page)).toEqual([]);
    // Another page of this tab and back: memory holds it.
    await page.getByRole('main').getByRole('link', { name: 'Help' }).click();
    await page.goBack();
    await expect.poll(() => page.getByLabel('Message').inputValue()).toBe('Half a question');
    await banner(page).getByRole('button', { name: 'Accept all' }).click();
    await expect
      .poll(() => stored(page))
      .toEqual(['sevenfold.consent', 'sevenfold.draft.visitor.contact']);
    await page.reload();
    await expect.poll(() => page.getByLabel('Message').inputValue()).toBe('Half a question');
    await page.getByRole('button', { name: 'Cookie Settings' }).click();
    await page.getByRole('button', { name: 'Refuse all' }).click();
    await expect.poll(() => stored(page)).toEqual(['sevenfold.consent']);
    expect(await unregistered(page)).toEqual([]);
  });

  test('a choice in one tab also moves what another tab keeps for itself', async () => {
    const page = await open('/terms');
    await banner(page).getByRole('button', { name: 'Accept all' }).click();
    await expect.poll(() => banner(page).count()).toBe(0);
    const other = await context.newPage();
    await other.goto(`${site.origin}/terms`);
    const kept = () => other.evaluate(() => Object.keys(sessionStorage).join(' '));
    await other.evaluate(() => sessionStorage.setItem('sevenfold.purchases-announced', 'pur_1'));
    expect(await kept()).toContain('sevenfold.purchases-announced');
    await page.getByRole('button', { name: 'Cookie Settings' }).click();
    await page.getByRole('button', { name: 'Refuse all' }).click();
    await expect.poll(kept).not.toContain('sevenfold.purchases-announced');
  });
});

describe('the register of what is kept', () => {
  test('the register names the cookies of the server, and both pages list every cookie', async () => {
    for (const what of ['refresh', 'nonce', 'device'] as const)
      expect(Object.keys(cookies)).toContain(cookieName(what, 'https://example.com'));
    const page = await open('/cookies');
    for (const path of ['/cookies', '/privacy']) {
      await page.goto(`${site.origin}${path}`);
      const listed = await page.locator('#cookies').locator('..').innerText();
      const named = listed.match(/\b(__Host-|sf_)[a-z]+/g);
      expect(named).toEqual(Object.keys(cookies));
    }
  });

  test('pages reach storage and cookies in one place only', () => {
    const elsewhere = globSync('web/src/**/*.{ts,tsx}').filter(
      (file) =>
        !/^web\/src\/(consent\/(consent|choose|device)|ui\/display)\.ts$/.test(file) &&
        /\b(localStorage|sessionStorage|indexedDB|cookieStore)\b|document\.cookie/.test(
          readFileSync(file, 'utf8'),
        ),
    );
    expect(elsewhere).toEqual([]);
  });
});
