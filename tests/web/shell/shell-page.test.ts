import { describe, expect, it } from 'vitest';
import {
  account,
  faultsInEveryLook,
  member,
  useMemberSite,
} from '#tests/web/support/member-site.ts';
import { ok, sessionOf } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

describe('the shell of signed-in pages', () => {
  it('palette, list of shortcuts and bell work by keyboard alone', async () => {
    const page = await open('/dashboard');
    await page.getByRole('button', { name: 'Notifications' }).waitFor();

    await page.keyboard.press('Control+k');
    const search = page.getByRole('combobox');
    await search.waitFor();
    await expect.poll(() => search.evaluate((box) => box === document.activeElement)).toBe(true);
    await page.keyboard.type('Theme: D');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.evaluate(() => document.documentElement.dataset['theme']))
      .toBe('dark');
    await expect
      .poll(() => site().calls.find(({ method }) => method === 'PATCH')?.body)
      .toEqual({ preferences: { theme: 'dark' } });

    // The fake server refused to keep it: the bell holds that message, and the run of the server.
    const bell = page.getByRole('button', { name: 'Notifications, 1 unread' });
    await bell.focus();
    await page.keyboard.press('Enter');
    const list = page.getByRole('region', { name: 'Recent notifications' });
    await list.getByText("We couldn't save this to your account").waitFor();
    await list.getByText('Done · Question 1', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => list.count()).toBe(0);
    await page.getByRole('button', { name: 'Notifications', exact: true }).waitFor();

    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.waitForURL('**/recipes');

    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    await page.keyboard.type('refund');
    await page.getByRole('option', { name: 'Search Help for “refund”' }).click();
    await page.waitForURL('**/help?search=*');
    await page.getByText(/\d+ answers? found/).waitFor();
  });

  it('an open palette passes axe and fits every window, light and dark', async () => {
    const page = await open('/credits');
    await page.getByRole('button', { name: 'Notifications' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: /^Credits/ }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('the preferences of the account apply on a device that has none', async () => {
    const user = {
      ...sessionOf().user,
      preferences: {
        ...sessionOf().user.preferences,
        theme: 'dark' as const,
        motion: 'reduced' as const,
        density: 'compact' as const,
        locale: 'de-DE',
        single_keys: false,
      },
    };
    const page = await open('/profile', {
      api: member({
        'GET /api/auth/session': ok({ ...sessionOf(), user }),
        'GET /api/users/me': ok({ ...user, ...account }),
      }),
    });
    await expect
      .poll(() =>
        page.evaluate(() => JSON.parse(JSON.stringify(document.documentElement.dataset)) as object),
      )
      .toMatchObject({ theme: 'dark', motion: 'reduced', density: 'compact' });
    await page.getByText('23 November 2026 at 15:04 · 12.345,6').waitFor();
    await page.locator('main h1').press('n');
    expect(new URL(page.url()).pathname).toBe('/profile');
  });

  it('a page that is offline says so, and says when it is back', async () => {
    const page = await open('/dashboard');
    await page.getByRole('button', { name: 'Notifications' }).waitFor();
    await page.context().setOffline(true);
    await page.getByText("You're offline", { exact: true }).waitFor();
    await page.context().setOffline(false);
    await expect.poll(() => page.getByText("You're offline", { exact: true }).count()).toBe(0);
    await page.getByText("You're back online.").waitFor({ state: 'attached' });
  });
});
