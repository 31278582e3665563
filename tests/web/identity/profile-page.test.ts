import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Profile, SessionRow } from '#services/identity/contract.ts';
import { purchaseOf } from '#tests/web/support/credit-story.ts';
import {
  account,
  balance,
  failing,
  member,
  page as pageOf,
  runOf,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { type Call, ok, problem, type Reply, sessionOf } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const wrongPassword = problem(403, 'wrong-password', "That isn't your current password.");
const common = problem(400, 'password-too-weak', 'Please choose a stronger password.', {
  errors: [{ field: 'new_password', message: 'This password is among the first to be tried.' }],
});
const isKnownPassword = ({ body }: Call): boolean =>
  JSON.stringify(body).includes('"Correct1horse"');

function rowOf(number: number, change: Partial<SessionRow> = {}): SessionRow {
  return {
    id: `ses_0000000000000000000000000${number}`,
    current: false,
    device: 'Firefox on Linux',
    address: '203.0.113.7',
    method: 'password',
    remembered: false,
    created_at: '2026-11-19T08:00:00.000Z',
    last_used_at: new Date(Date.now() - number * 3_600_000).toISOString(),
    expires_at: '2026-11-27T08:00:00.000Z',
    ...change,
  };
}

/** A server that keeps the changes of one account. */
function keeper(
  change: Partial<Profile> = {},
  answers: Record<string, Reply | ((call: Call) => Reply)> = {},
) {
  let profile: Profile = { ...sessionOf().user, ...account, ...change };
  let rows = [
    rowOf(1, { current: true, device: 'Chrome on macOS' }),
    rowOf(2, { remembered: true }),
    rowOf(3, { device: '', address: '2001:db8:1234:5678:9abc:def0:1234:5678', method: 'magic' }),
  ];
  let isProved = false;
  const changed = (next: Partial<Profile>): Reply => {
    profile = { ...profile, ...next };
    return ok(profile);
  };
  const end = (keep: (row: SessionRow) => boolean): number => {
    const before = rows.length;
    rows = rows.filter(keep);
    return before - rows.length;
  };
  return member({
    'GET /api/users/me': () => ok(profile),
    'PATCH /api/users/me': ({ body }) => changed(body as Partial<Profile>),
    'PUT /api/users/me/avatar': () => changed({ avatar_url: '/mark.svg' }),
    'DELETE /api/users/me/avatar': () => {
      changed({ avatar_url: null });
      return ok({ id: profile.id, deleted: true });
    },
    'POST /api/auth/email/change': (call) => {
      if (!isKnownPassword(call)) return wrongPassword;
      changed({ pending_email: (call.body as { email: string }).email });
      return ok({ ok: true });
    },
    'POST /api/auth/password/change': (call) => {
      if (!isKnownPassword(call)) return wrongPassword;
      return JSON.stringify(call.body).includes('"Password1"') ? common : ok({ ok: true });
    },
    'POST /api/auth/password/reset-request': ok({ ok: true }),
    'GET /api/auth/sessions': () => ok(rows),
    [`DELETE /api/auth/sessions/${rowOf(2).id}`]: () => {
      end(({ id }) => id !== rowOf(2).id);
      return ok({ id: rowOf(2).id, deleted: true });
    },
    'POST /api/auth/sessions/end-others': () => ok({ ended: end(({ current }) => current) }),
    'POST /api/auth/reauthenticate': (call) => {
      isProved = isKnownPassword(call);
      return isProved ? ok({ ok: true }) : wrongPassword;
    },
    'GET /api/users/me/export': () =>
      isProved
        ? ok({
            exported_at: '2026-11-20T08:00:00.000Z',
            tables: { account: [{ email: 'ada@example.com' }] },
            csv: { 'account.csv': 'email\nada@example.com\n' },
          })
        : problem(403, 'reauthentication-required', 'Enter your password to continue.'),
    'DELETE /api/users/me': (call) =>
      isKnownPassword(call) ? ok({ id: profile.id, deleted: true }) : wrongPassword,
    'GET /api/optimizations': pageOf([runOf(1)], 12),
    ...answers,
  });
}

const part = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
const called = (method: string, path: string): Call[] =>
  site().calls.filter((call) => call.method === method && call.path === path);
const password = (within: Locator, label: string): Locator =>
  within.getByLabel(label, { exact: true });

describe('the account settings', () => {
  it('the account settings are drawn by at most 170 kB of script', async () => {
    const page = await open('/profile', { api: keeper() });
    await page.getByText('This device', { exact: true }).waitFor();
    const scripts: Promise<Buffer | null>[] = [];
    page.on('response', (response) => {
      // Bell and palette are loaded once the page is drawn, with the ring that only they need here.
      // One that the first visit was still loading cannot be read after the second, and is none of its own.
      if (/(?<!\/(?:extras|ring)-[\w-]+)\.js$/.test(response.url()))
        scripts.push(response.body().catch(() => null));
    });
    await page.reload();
    await page.getByText('This device', { exact: true }).waitFor();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    const sizes = (await Promise.all(scripts))
      .filter((script) => script !== null)
      .map((script) => gzipSync(script).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    console.log(`account settings: ${total} bytes of script in ${sizes.length} files`);
    expect(sizes.length).toBeGreaterThan(2);
    expect(total).toBeLessThanOrEqual(170_000);
  });

  it('the account settings are linked from the bar, the dashboard and the phone menu', async () => {
    const page = await open('/dashboard', { api: keeper() });
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Ada' }).click();
    await page.waitForURL('**/profile');
    await page.goBack();
    await part(page, 'Quick Actions').getByRole('link', { name: 'Account Settings' }).click();
    await page.waitForURL('**/profile');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Account Settings' }).waitFor();
  });

  it('the settings keep working when the account cannot be read, and a retry reads it', async () => {
    let isDown = true;
    const whole = keeper();
    const page = await open('/profile', {
      api: (call) => (isDown && call.path === '/api/users/me' ? failing : whole(call)),
    });
    await page.getByText("We couldn't load your account").first().waitFor();
    await page.getByText('This device', { exact: true }).waitFor();
    await expect
      .poll(() => part(page, 'Name').getByLabel('Full name').inputValue())
      .toBe('Ada Example');
    isDown = false;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await password(part(page, 'Password'), 'New password').waitFor();
  });

  it('typed text survives the end of the session and can be saved after signing in', async () => {
    let isOver = false;
    const whole = keeper();
    const page = await open('/profile', {
      api: (call) => {
        if (call.path === '/api/auth/login') {
          isOver = false;
          return ok(sessionOf());
        }
        if (!isOver) return whole(call);
        return call.path === '/api/auth/session'
          ? ok(null)
          : problem(401, 'authentication-required', 'Authentication required');
      },
    });
    const name = part(page, 'Name');
    await name.getByLabel('Full name').fill('Ada Lovelace');
    isOver = true;
    await name.getByRole('button', { name: 'Save name' }).click();
    await page.getByText('Your session has expired').waitFor();
    await page.getByRole('button', { name: 'Login' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByRole('button', { name: /sign-in link/ }).count()).toBe(0);
    await password(dialog, 'Password').fill('Correct1horse');
    await dialog.getByRole('button', { name: 'Login' }).click();
    await expect.poll(() => page.getByText('Your session has expired').count()).toBe(0);
    await name.getByRole('button', { name: 'Save name' }).click();
    await name.getByText('Name saved.').waitFor();
    expect(called('PATCH', '/api/users/me').at(-1)?.body).toEqual({ name: 'Ada Lovelace' });
  });
});

describe('the name', () => {
  it('a name is trimmed, and the bar shows it as soon as it is saved', async () => {
    const page = await open('/profile', { api: keeper() });
    const section = part(page, 'Name');
    await section.getByLabel('Full name').fill('  Grace Example ');
    await section.getByRole('button', { name: 'Save name' }).click();
    await section.getByText('Name saved.').waitFor();
    await page.getByRole('navigation', { name: 'Main' }).getByText('Grace Example').waitFor();
    expect(called('PATCH', '/api/users/me')[0]?.body).toEqual({ name: 'Grace Example' });
  });

  it('an invalid name is reported beside the field, and a refusal above the button', async () => {
    const page = await open('/profile', { api: keeper({}, { 'PATCH /api/users/me': failing }) });
    const section = part(page, 'Name');
    await section.getByLabel('Full name').fill('A');
    await section.getByRole('button', { name: 'Save name' }).click();
    await section.getByText('Name must be at least 2 characters').waitFor();
    await section.getByLabel('Full name').fill('Grace');
    await section.getByRole('button', { name: 'Save name' }).click();
    await section.getByText("We couldn't save your name").waitFor();
    await section.getByText('req_of_this_test').waitFor();
    await expect.poll(() => section.getByLabel('Full name').inputValue()).toBe('Grace');
  });
});

describe('the picture', () => {
  /** A photo of several megabytes: noise cannot be compressed. */
  const photo = async (page: Page): Promise<Buffer> => {
    const base64 = await page.evaluate(async () => {
      const canvas = new OffscreenCanvas(1_600, 1_000);
      const context = canvas.getContext('2d');
      const image = context?.createImageData(1_600, 1_000);
      if (!context || !image) return '';
      for (let at = 0; at < image.data.length; at += 65_536)
        crypto.getRandomValues(image.data.subarray(at, at + 65_536));
      context.putImageData(image, 0, 0);
      const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
      let text = '';
      for (let at = 0; at < bytes.length; at += 8_192)
        text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
      return btoa(text);
    });
    return Buffer.from(base64, 'base64');
  };

  it('a picture is cropped and shrunk before it is sent, then shown, and can be removed', async () => {
    const page = await open('/profile', { api: keeper() });
    const section = part(page, 'Picture');
    const buffer = await photo(page);
    expect(buffer.length).toBeGreaterThan(1_000_000);
    await section
      .getByLabel('Picture file')
      .setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer });
    const preview = section.getByAltText("Preview of how you'll appear");
    await preview.waitFor();
    await expect
      .poll(() =>
        preview.evaluate((image) =>
          image instanceof HTMLImageElement ? image.naturalWidth / image.naturalHeight : 0,
        ),
      )
      .toBe(1);
    expect(called('PUT', '/api/users/me/avatar')).toEqual([]);
    await section.getByRole('button', { name: 'Save picture' }).click();
    await section.getByText('Picture saved.').waitFor();
    const [sent] = called('PUT', '/api/users/me/avatar');
    expect(sent?.headers.get('content-type')).toBe('image/webp');
    expect(sent?.body).toSatisfy(
      (body: Buffer) => body.length <= 256 * 1024 && body.subarray(8, 12).toString() === 'WEBP',
    );
    const shown = page.getByRole('navigation', { name: 'Main' }).locator('img');
    await shown.waitFor();
    await section.getByRole('button', { name: 'Remove picture' }).click();
    await section.getByText('Picture removed.').waitFor();
    await expect.poll(() => shown.count()).toBe(0);
  });

  it('a file that is no picture is refused', async () => {
    const page = await open('/profile', { api: keeper() });
    const section = part(page, 'Picture');
    await section
      .getByLabel('Picture file')
      .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await section.getByText("This browser can't open that file as a picture.").waitFor();
  });
});

describe('the email address', () => {
  it('a new email waits for its confirmation, and a wrong password is reported at its field', async () => {
    const page = await open('/profile', { api: keeper() });
    const section = part(page, 'Email');
    await section.getByLabel('New email').fill('new@example.com');
    await password(section, 'Your password').fill('wrong');
    await section.getByRole('button', { name: 'Change email' }).click();
    await section.getByText("That isn't your current password.").waitFor();
    await expect.poll(() => section.getByLabel('New email').inputValue()).toBe('new@example.com');
    await password(section, 'Your password').fill('Correct1horse');
    await section.getByRole('button', { name: 'Change email' }).click();
    await section.getByText('Pending: new@example.com').waitFor();
    expect(await violations(page)).toEqual([]);
    await section.getByText('We sent a link to new@example.com.').waitFor();
    await section.getByText('undo the change within 7 days').waitFor();
    await expect.poll(() => password(section, 'Your password').inputValue()).toBe('');
  });
});

describe('the password', () => {
  it('a password is changed with the current one, under the rules of sign-up', async () => {
    const page = await open('/profile', { api: keeper() });
    const section = part(page, 'Password');
    await password(section, 'Current password').fill('wrong');
    await password(section, 'New password').fill('short');
    await section.getByRole('button', { name: 'Change password' }).click();
    await section.getByText('Password must be at least 8 characters').waitFor();
    await password(section, 'New password').fill('Another1horse');
    await expect.poll(() => section.getByText('Met:').count()).toBe(4);
    await section.getByRole('button', { name: 'Change password' }).click();
    await section.getByText("That isn't your current password.").waitFor();
    await password(section, 'Current password').fill('Correct1horse');
    await password(section, 'New password').fill('Password1');
    await section.getByRole('button', { name: 'Change password' }).click();
    await section.getByText('This password is among the first to be tried.').waitFor();
    await password(section, 'New password').fill('Another1horse');
    await section.getByRole('button', { name: 'Change password' }).click();
    await section.getByText('Password changed.').waitFor();
    await expect.poll(() => password(section, 'New password').inputValue()).toBe('');
  });

  it('an account without a password sets one by an emailed link', async () => {
    const page = await open('/profile', { api: keeper({ has_password: false }) });
    const section = part(page, 'Password');
    await section.getByRole('button', { name: /link to set a password/ }).click();
    await section.getByText('A link is on its way to ada@example.com.').waitFor();
    expect(called('POST', '/api/auth/password/reset-request')[0]?.body).toEqual({
      email: 'ada@example.com',
    });
    await expect.poll(() => part(page, 'Email').getByRole('textbox').count()).toBe(0);
    await page.getByRole('button', { name: 'Delete my account' }).click();
    await expect.poll(() => page.getByRole('dialog').getByLabel('Your password').count()).toBe(0);
  });
});

describe('the sessions', () => {
  it('the sessions mark this device, and end one by one or all others at once', async () => {
    const page = await open('/profile', { api: keeper() });
    const section = part(page, 'Sessions');
    const rows = section.getByRole('listitem');
    await expect.poll(() => rows.count()).toBe(3);
    await expect.poll(() => rows.nth(0).innerText()).toContain('Chrome on macOS');
    await expect.poll(() => rows.nth(0).getByRole('button').count()).toBe(0);
    await expect.poll(() => rows.nth(2).innerText()).toContain('Unknown device');
    await section.getByRole('button', { name: /^End the session of Firefox on Linux, / }).click();
    await section.getByText('Signed out Firefox on Linux.').waitFor();
    await expect.poll(() => rows.count()).toBe(2);
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')))
      .toBe('Sessions');
    await section.getByRole('button', { name: 'End all other sessions' }).click();
    await section.getByText('Signed out 1 other device.').waitFor();
    await expect.poll(() => rows.count()).toBe(1);
  });
});

describe('the mail when a run has ended', () => {
  it('a notification is switched on at once, and off again when the server failed', async () => {
    let isDown = false;
    const whole = keeper();
    const page = await open('/profile', {
      api: (call) => (isDown && call.method === 'PATCH' ? failing : whole(call)),
    });
    const section = part(page, 'Emails and notifications');
    const box = section.getByRole('checkbox', { name: 'Email me when a run ends' });
    await box.click();
    await section.getByText("We'll email you when a run ends.").waitFor();
    await expect.poll(() => box.isChecked()).toBe(true);
    const few = section.getByRole('checkbox', { name: 'Email me when my credits run low' });
    await section.getByText('When you have fewer than 20, at most once a week.').waitFor();
    await few.click();
    await section.getByText("We won't email you about low credits.").waitFor();
    isDown = true;
    await box.click();
    await section.getByText("We couldn't save your choice").waitFor();
    await expect.poll(() => box.isChecked()).toBe(true);
  });
});

describe('the export', () => {
  it('an export asks for the password when the server does, then downloads', async () => {
    const page = await open('/profile', { api: keeper() });
    const section = part(page, 'Your data');
    await section.getByRole('button', { name: 'Export my data' }).click();
    const gate = section.getByRole('form', { name: 'Please confirm it is you' });
    await password(gate, 'Your password').fill('wrong');
    await page.keyboard.press('Enter');
    await gate.getByText("That isn't your current password.").waitFor();
    await password(gate, 'Your password').fill('Correct1horse');
    const whole = page.waitForEvent('download');
    await page.keyboard.press('Enter');
    const file = await whole;
    expect(file.suggestedFilename()).toBe('sevenfold-export.json');
    expect(JSON.parse(await readFile(await file.path(), 'utf8'))).toEqual({
      exported_at: '2026-11-20T08:00:00.000Z',
      tables: { account: [{ email: 'ada@example.com' }] },
    });
    await section.getByText('sevenfold-export.json is in your downloads.').waitFor();
    const table = page.waitForEvent('download');
    await section.getByRole('button', { name: 'account.csv' }).click();
    expect(await readFile(await (await table).path(), 'utf8')).toBe('email\nada@example.com\n');
  });
});

describe('deleting the account', () => {
  it('a deletion names what is lost, requires address and password, and ends on its own page', async () => {
    const page = await open('/profile', { width: 390, api: keeper() });
    await page.getByRole('button', { name: 'Delete my account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete your account?' });
    await expect.poll(() => dialog.innerText()).toContain('86 credits');
    await expect.poll(() => dialog.innerText()).toContain('12 optimizations');
    await dialog.getByText("If the payment service doesn't respond").waitFor();
    expect(await violations(page)).toEqual([]);
    const address = dialog.getByLabel('Type ada@example.com to confirm');
    await address.fill('other@example.com');
    await password(dialog, 'Your password').fill('wrong');
    await dialog.getByRole('button', { name: 'Delete my account' }).click();
    await dialog.getByText("That isn't this account's address").waitFor();
    await address.fill('Ada@example.com');
    await dialog.getByRole('button', { name: 'Delete my account' }).click();
    await dialog.getByText("That isn't your current password.").waitFor();
    await password(dialog, 'Your password').fill('Correct1horse');
    await dialog.getByRole('button', { name: 'Delete my account' }).click();
    await page.waitForURL('**/account-deleted');
    await page.getByRole('heading', { name: 'Your account is being deleted' }).waitFor();
    await page.getByText("If the money doesn't arrive").waitFor();
    expect(called('DELETE', '/api/users/me').at(-1)?.body).toEqual({ password: 'Correct1horse' });
    await expect.poll(() => called('POST', '/api/auth/logout').length).toBe(1);
  });

  it('a deletion names the refund and what is lost, and can be called off without a trace', async () => {
    const page = await open('/profile', {
      api: keeper(
        {},
        {
          'GET /api/credits/balance': ok({ ...balance, available_credits: 13 }),
          'GET /api/credits/purchases': ok([purchaseOf(4)]),
        },
      ),
    });
    await page.getByRole('button', { name: 'Delete my account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete your account?' });
    await expect.poll(() => dialog.innerText()).toContain('You get $6.00 back. You lose 1 credit.');
    await page.getByRole('button', { name: 'Keep account' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(called('DELETE', '/api/users/me')).toEqual([]);
    expect(page.url()).toBe(`${site().origin}/profile`);
  });
});
