import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Profile } from '#services/identity/contract.ts';
import type { ApiKeyRequest, ApiKeyRow } from '#services/identity/contract/api-keys.ts';
import {
  account,
  failing,
  faultsInEveryLook,
  member,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { type Call, ok, problem, type Reply, sessionOf } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const secret = `sk_${'Qx7-_hT2mZ'.repeat(4)}Abc`;
const idOf = (number: number): string => `key_${String(number).padStart(26, '0')}`;

function keyOf(number: number, change: Partial<ApiKeyRow> = {}): ApiKeyRow {
  return {
    id: idOf(number),
    name: `Program ${number}`,
    prefix: `sk_prefix0${number}`,
    scopes: ['run', 'read'],
    monthly_cap: 100,
    used_this_month: 12,
    created_at: '2026-11-19T12:00:00.000Z',
    last_used_at: new Date(Date.now() - 3 * 3_600_000).toISOString(),
    ...change,
  };
}

const wantsProof = problem(403, 'reauthentication-required', 'Enter your password to continue.');

/** A server that keeps the keys of one account. */
function keeper(
  rows: ApiKeyRow[] = [keyOf(1)],
  { isProved = true, ...change }: Partial<Profile> & { isProved?: boolean } = {},
  answers: Record<string, Reply | ((call: Call) => Reply)> = {},
) {
  let proved = isProved;
  let live = rows;
  const revoke = (id: string): Reply => {
    live = live.filter((row) => row.id !== id);
    return ok({ id, deleted: true });
  };
  return member({
    'GET /api/users/me': ok({
      ...sessionOf().user,
      ...account,
      optimizations_used: 1,
      ...change,
    }),
    'GET /api/api-keys': () => ok(live),
    'POST /api/api-keys': ({ body }) => {
      if (!proved) return wantsProof;
      const { name, scopes, monthly_cap } = body as ApiKeyRequest;
      const made = { name, scopes, monthly_cap, used_this_month: 0, last_used_at: null };
      live = [keyOf(9, { ...made, prefix: secret.slice(0, 11) }), ...live];
      return { status: 201, body: { data: { id: idOf(9), key: secret } } };
    },
    ...Object.fromEntries(rows.map(({ id }) => [`DELETE /api/api-keys/${id}`, () => revoke(id)])),
    'POST /api/auth/reauthenticate': ({ body }) => {
      proved = (body as { password: string }).password === 'Correct1horse';
      return proved
        ? ok({ ok: true })
        : problem(403, 'wrong-password', "That isn't your current password.");
    },
    ...answers,
  });
}

const part = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
const keysOf = (page: Page): Locator => part(page, 'API keys');
const called = (method: string, path: string): Call[] =>
  site().calls.filter((call) => call.method === method && call.path === path);
const focused = (page: Page): Promise<string | null | undefined> =>
  page.evaluate(
    () =>
      document.activeElement?.getAttribute('aria-label') ??
      document.activeElement?.getAttribute('name') ??
      document.activeElement?.textContent,
  );

async function openForm(page: Page): Promise<Locator> {
  await keysOf(page).getByRole('button', { name: 'Create key' }).click();
  const form = keysOf(page).getByRole('form', { name: 'New API key' });
  await form.waitFor();
  return form;
}

describe('the list of API keys', () => {
  it('the list is loaded only for users who have a key', async () => {
    let rows: ApiKeyRow[] = [];
    const page = await open('/profile', {
      api: keeper([], {}, { 'GET /api/api-keys': () => ok(rows) }),
    });
    const lists: string[] = [];
    page.on('request', (request) => {
      if (/\/key-list-[\w-]+\.js$/.test(request.url())) lists.push(request.url());
    });
    await page.reload();
    await keysOf(page).getByText('You have no API keys.').waitFor();
    await keysOf(page).getByRole('button', { name: 'Create key' }).waitFor();
    expect(lists).toEqual([]);
    rows = [keyOf(1)];
    await page.reload();
    await keysOf(page).getByText('Program 1').first().waitFor();
    expect(lists).toHaveLength(1);
  });

  it('a key shows its name, its beginning, what it can do, its use of the cap, and its dates', async () => {
    const unused = keyOf(2, {
      name: 'Nightly report',
      scopes: ['credits:read'],
      monthly_cap: 1,
      used_this_month: 0,
      last_used_at: null,
    });
    const page = await open('/profile', { api: keeper([keyOf(1), unused]) });
    const section = keysOf(page);
    await section.getByText('use Sevenfold as you').waitFor();
    const links = section.getByRole('link');
    expect(await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')))).toEqual([
      '/api-docs/programs',
      '/api-docs',
    ]);
    const rows = section.getByRole('listitem');
    const [first, second] = await Promise.all([rows.nth(0).innerText(), rows.nth(1).innerText()]);
    for (const words of [
      'Program 1',
      'sk_prefix01… Can run questions and read runs.',
      '12 of 100 credits used this month (UTC)',
      'Created November 19, 2026, last used 3 hours ago',
    ])
      expect(first).toContain(words);
    for (const words of [
      'Can read credits.',
      '0 of 1 credit used this month (UTC)',
      'Created November 19, 2026, never used',
    ])
      expect(second).toContain(words);
  });

  it('a key is revoked after a confirmation, and the focus stays with the keys', async () => {
    const page = await open('/profile', { api: keeper([keyOf(1), keyOf(2)]) });
    const section = keysOf(page);
    const rows = section.getByRole('listitem');
    const revoke = (number: number) =>
      section.getByRole('button', { name: `Revoke Program ${number}` });
    await revoke(1).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke this key?' });
    await dialog.getByText('Program 1').waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Keep key' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(called('DELETE', `/api/api-keys/${idOf(1)}`)).toEqual([]);
    for (const number of [1, 2]) {
      await revoke(number).click();
      await dialog.getByRole('button', { name: 'Revoke key' }).click();
      await section.getByText(`Revoked Program ${number}.`).waitFor();
      await expect.poll(() => rows.count()).toBe(2 - number);
      await expect.poll(() => focused(page)).toBe('Your API keys');
    }
    await section.getByText('You have no API keys.').waitFor();
  });

  it('a key that ended elsewhere counts as revoked, and a failure leaves the key in the list', async () => {
    let isDown = true;
    let isThere = true;
    const page = await open('/profile', {
      api: keeper(
        [keyOf(1)],
        {},
        {
          'GET /api/api-keys': () => ok(isThere ? [keyOf(1)] : []),
          [`DELETE /api/api-keys/${idOf(1)}`]: () => {
            if (isDown) return failing;
            isThere = false;
            return problem(404, 'not-found', "There's nothing at this address.");
          },
        },
      ),
    });
    const section = keysOf(page);
    const revoke = async (): Promise<void> => {
      await section.getByRole('button', { name: 'Revoke Program 1' }).click();
      await page.getByRole('button', { name: 'Revoke key' }).click();
    };
    await revoke();
    await section.getByText("We couldn't revoke that key").waitFor();
    await expect.poll(() => section.getByRole('listitem').count()).toBe(1);
    isDown = false;
    await revoke();
    await section.getByText('Revoked Program 1.').waitFor();
    await expect.poll(() => section.getByRole('listitem').count()).toBe(0);
  });

  it('a list that cannot be read says so and can be read again', async () => {
    let isDown = true;
    const whole = keeper();
    const page = await open('/profile', {
      api: (call) => (isDown && call.path === '/api/api-keys' ? failing : whole(call)),
    });
    const section = keysOf(page);
    await section.getByText("We couldn't load your API keys").waitFor();
    await expect
      .poll(() => part(page, 'Password').getByLabel('Also revoke my API keys').count())
      .toBe(0);
    isDown = false;
    await section.getByRole('button', { name: 'Try Again' }).click();
    await section.getByText('Program 1').first().waitFor();
  });
});

describe('a new API key', () => {
  it('a new key needs the password, is shown once with the focus, and is kept nowhere', async () => {
    const logged: string[] = [];
    const page = await open('/profile', {
      api: keeper([keyOf(1)], { isProved: false }),
      prepare: async (opened) => {
        opened.on('console', (message) => logged.push(message.text()));
        await opened.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      },
    });
    const section = keysOf(page);
    const form = await openForm(page);
    await expect.poll(() => focused(page)).toBe('name');
    await form.getByLabel('Name').fill('  Nightly report ');
    await form.getByLabel('Credits per month').fill('50');
    await page.keyboard.press('Enter');

    const gate = section.getByRole('form', { name: 'Please confirm it is you' });
    await gate.getByLabel('Your password', { exact: true }).fill('wrong');
    await page.keyboard.press('Enter');
    await gate.getByText("That isn't your current password.").waitFor();
    await gate.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => focused(page)).toBe('New API key');
    await expect.poll(() => form.getByLabel('Name').inputValue()).toBe('  Nightly report ');
    await form.getByRole('button', { name: 'Create key' }).click();
    await gate.getByLabel('Your password', { exact: true }).fill('Correct1horse');
    await page.keyboard.press('Enter');

    const field = section.getByLabel('Your new API key');
    await expect.poll(() => field.inputValue()).toBe(secret);
    expect(called('POST', '/api/api-keys').at(-1)?.body).toEqual({
      name: 'Nightly report',
      scopes: ['run', 'read'],
      monthly_cap: 50,
    });
    await expect.poll(() => focused(page)).toBe('new_api_key');
    expect(await page.evaluate(() => getSelection()?.toString())).toBe(secret);
    await section.getByText("It won't be shown again.").waitFor();
    const commands = [
      `export SEVENFOLD_URL=${site().origin}`,
      `export SEVENFOLD_KEY=${secret}`,
      'curl "$SEVENFOLD_URL/api/optimizations" \\\n  -H "Authorization: Bearer $SEVENFOLD_KEY"',
    ].join('\n');
    expect(await section.locator('pre').innerText()).toBe(commands);
    await section.getByRole('button', { name: 'Copy call' }).click();
    await section.getByRole('button', { name: 'Copied', exact: true }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(commands);
    // Following the guide must not leave the page, which alone knows the key.
    const guide = section.getByRole('link', { name: 'programs guide' }).last();
    expect(await guide.getAttribute('href')).toBe('/api-docs/programs');
    expect(await guide.getAttribute('target')).toBe('_blank');
    await section.getByRole('button', { name: 'Copy key' }).click();
    await expect
      .poll(() => section.getByRole('button', { name: 'Copied', exact: true }).count())
      .toBe(2);
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret);
    expect(await faultsInEveryLook(page)).toEqual([]);

    await section.getByText(`${secret.slice(0, 11)}…`).waitFor();
    await section.getByRole('button', { name: 'Done' }).click();
    await expect.poll(() => focused(page)).toBe('Create key');
    const kept = await page.evaluate(async () =>
      JSON.stringify([
        document.documentElement.outerHTML,
        location.href,
        history.state,
        document.cookie,
        localStorage,
        sessionStorage,
        await indexedDB.databases(),
        await caches.keys(),
      ]),
    );
    expect(kept).toContain('Nightly report');
    expect(kept).not.toContain(secret);
    expect(logged.join('\n')).not.toContain(secret);
    const sent = site().calls.map(({ path, search, body }) => JSON.stringify([path, search, body]));
    expect(sent.join('\n')).not.toContain(secret);
  });

  it('each wrong field has its sentence, the first takes the focus, and an edit removes it', async () => {
    const page = await open('/profile', { api: keeper() });
    const form = await openForm(page);
    for (const label of ['Run questions', 'Read runs']) await form.getByLabel(label).uncheck();
    await form.getByLabel('Credits per month').fill('1.5');
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByText('Name the key, for example').waitFor();
    await form.getByText('Choose at least one scope.').waitFor();
    await form.getByText('Enter a whole number of credits from 1 to 1,000,000.').waitFor();
    await expect.poll(() => focused(page)).toBe('name');
    expect(await violations(page)).toEqual([]);
    await form.getByLabel('Name').fill('Report');
    await form.getByLabel('Credits per month').fill('');
    await form.getByRole('button', { name: 'Create key' }).click();
    await expect.poll(() => focused(page)).toBe('scopes');
    await form.getByLabel('Read credits').check();
    await expect.poll(() => form.getByText('Choose at least one scope.').count()).toBe(0);
    await form.getByText('Enter a whole number of credits').waitFor();
    await form.getByLabel('Credits per month').fill('7');
    await form.getByRole('button', { name: 'Create key' }).click();
    await keysOf(page).getByLabel('Your new API key').waitFor();
    expect(called('POST', '/api/api-keys').map(({ body }) => body)).toEqual([
      { name: 'Report', scopes: ['credits:read'], monthly_cap: 7 },
    ]);
    // The example is a call that this key may make.
    expect(await keysOf(page).locator('pre').innerText()).toContain('/api/credits/balance');
  });

  it('a refusal of the server keeps the form: too many keys, too many attempts, a field', async () => {
    const replies = [
      problem(409, 'too-many-api-keys', 'You can have up to 20 API keys. Revoke one.'),
      problem(429, 'rate-limited', 'Too many.', { headers: { 'retry-after': '42' } }),
      problem(400, 'validation', 'Check the fields.', {
        errors: [{ field: 'name', message: 'The name can have up to 80 characters.' }],
      }),
    ];
    const page = await open('/profile', {
      api: keeper([keyOf(1)], {}, { 'POST /api/api-keys': () => replies.shift() ?? failing }),
    });
    const form = await openForm(page);
    await form.getByLabel('Name').fill('Report');
    for (const words of [
      'You can have up to 20 API keys. Revoke one.',
      'Please try again in 42 seconds.',
      'The name can have up to 80 characters.',
    ]) {
      await form.getByRole('button', { name: 'Create key' }).click();
      await form.getByText(words).waitFor();
      await expect.poll(() => form.getByLabel('Name').inputValue()).toBe('Report');
    }
    await form.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => focused(page)).toBe('Create key');
  });

  it('without a response the list is read again, and the page says what to do with such a key', async () => {
    const page = await open('/profile', { api: keeper([]) });
    const form = await openForm(page);
    await page.route('**/api/api-keys', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      // The server creates the key, and its reply is lost.
      await route.fetch();
      return route.abort();
    });
    await form.getByLabel('Name').fill('Lost');
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByText('If the key is in your list, revoke it.').waitFor();
    await keysOf(page).getByRole('button', { name: 'Revoke Lost' }).waitFor();
    expect(await keysOf(page).getByText('No key was created.').count()).toBe(0);
  });

  it('an account without a password reads how to prove who it is', async () => {
    const page = await open('/profile', {
      api: keeper([], { isProved: false, has_password: false }),
    });
    const form = await openForm(page);
    await form.getByLabel('Name').fill('Report');
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByText('This account has no password. Sign in with a new link').waitFor();
  });

  it('a user with as many keys as possible is asked to revoke one first', async () => {
    const rows = Array.from({ length: 20 }, (_, index) => keyOf(index + 10));
    const page = await open('/profile', { api: keeper(rows) });
    await keysOf(page).getByText('You can have up to 20 keys.').waitFor();
    const create = keysOf(page).getByRole('button', { name: 'Create key' });
    expect(await create.isDisabled()).toBe(true);
    await keysOf(page).getByRole('button', { name: 'Revoke Program 10' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await expect.poll(() => create.isDisabled()).toBe(false);
  });
});

describe('a change of the password', () => {
  it('a change of the password revokes the keys only when its user asks for it', async () => {
    let live = [keyOf(1)];
    const page = await open('/profile', {
      api: keeper(
        [keyOf(1)],
        {},
        {
          'GET /api/api-keys': () => ok(live),
          'POST /api/auth/password/change': ({ body }) => {
            if ((body as { revoke_api_keys: boolean }).revoke_api_keys) live = [];
            return ok({ ok: true });
          },
        },
      ),
    });
    const section = part(page, 'Password');
    const box = section.getByLabel('Also revoke my API keys');
    const change = async (): Promise<void> => {
      await section.getByLabel('Current password', { exact: true }).fill('Correct1horse');
      await section.getByLabel('New password', { exact: true }).fill('Another1horse');
      await section.getByRole('button', { name: 'Change password' }).click();
    };
    expect(await box.isChecked()).toBe(false);
    await change();
    await section.getByText("Password changed. You're signed out everywhere else.").waitFor();
    await keysOf(page).getByText('Program 1').first().waitFor();
    await box.check();
    await change();
    await section.getByText('and your API keys are revoked.').waitFor();
    await expect.poll(() => box.count()).toBe(0);
    expect(
      called('POST', '/api/auth/password/change').map(
        ({ body }) => (body as { revoke_api_keys: boolean }).revoke_api_keys,
      ),
    ).toEqual([false, true]);
    await keysOf(page).getByText('You have no API keys.').waitFor();
  });
});
