import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeAvatar } from '#services/identity/accounts/avatar.ts';
import { avatarLimits } from '#services/identity/contract.ts';
import type { Profile } from '#services/identity/contract.ts';
import { defaultPreferences } from '#services/identity/contract/preferences.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { png, webp } from './pictures.ts';

let app: TestApp;
let ann: Person;
let ben: Person;
beforeAll(async () => {
  app = await createTestApp();
  ann = await app.signUp();
  ben = await app.signUp();
});
afterAll(async () => app.close());

async function read(person: Person): Promise<Profile> {
  return app.data<Profile>('/users/me', { token: person.token });
}

async function change(body: unknown): Promise<Response> {
  return app.call('/users/me', { method: 'PATCH', token: ann.token, body });
}

describe('the profile', () => {
  test('the profile shows a user their own data', async () => {
    expect(await read(ann)).toMatchObject({
      id: ann.userId,
      email: ann.email,
      name: 'A Person',
      subscription_tier: 'free',
      has_password: true,
      pending_email: null,
      preferred_dashboard: null,
      onboarding_completed_at: null,
      notify_run_finished: false,
      preferences: defaultPreferences,
      avatar_url: null,
    });
  });

  test('a change of the profile affects only the named fields', async () => {
    const first = await change({
      name: '  Ann Other ',
      notify_run_finished: true,
      notify_low_balance: false,
    });
    expect(await first.json()).toMatchObject({
      data: {
        name: 'Ann Other',
        notify_run_finished: true,
        notify_low_balance: false,
        preferred_dashboard: null,
      },
    });
    await change({ preferred_dashboard: 'elite' });
    expect(await read(ann)).toMatchObject({
      name: 'Ann Other',
      notify_run_finished: true,
      preferred_dashboard: 'elite',
    });
    await change({ preferred_dashboard: null, notify_run_finished: false });
    expect(await read(ann)).toMatchObject({
      name: 'Ann Other',
      notify_run_finished: false,
      preferred_dashboard: null,
    });
    expect(await read(ben)).toMatchObject({ name: 'A Person', preferred_dashboard: null });
  });

  test('a change of one preference leaves the others', async () => {
    await change({ preferences: { theme: 'dark', locale: 'de-DE' } });
    await change({ preferences: { motion: 'reduced', single_keys: false } });
    const chosen = {
      ...defaultPreferences,
      theme: 'dark',
      locale: 'de-DE',
      motion: 'reduced',
      single_keys: false,
    };
    expect((await read(ann)).preferences).toEqual(chosen);
    await change({ preferences: { locale: null } });
    expect((await read(ann)).preferences).toEqual({ ...chosen, locale: null });
    expect((await read(ben)).preferences).toEqual(defaultPreferences);
  });

  test.each([
    [{ name: ' A ' }, 'name', 'Name must be at least 2 characters'],
    [{ name: 'x'.repeat(81) }, 'name', 'Name must be at most 80 characters'],
    [{ subscription_tier: 'scale' }, '', 'Unknown field.'],
    [{ email: 'other@example.com' }, '', 'Unknown field.'],
    [{ preferred_dashboard: 'both' }, 'preferred_dashboard', "This field isn't valid."],
    [{ preferences: { theme: 'pink' } }, 'preferences.theme', "This field isn't valid."],
    [{ preferences: { locale: 'en_US' } }, 'preferences.locale', "This field isn't valid."],
    [{ preferences: [] }, 'preferences', "This field isn't valid."],
    [{ preferences: { font: 'big' } }, '', 'Unknown field.'],
  ])('the profile refuses %j', async (body, field, message) => {
    const response = await change(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ field, message }] });
  });

  test('the profile shows a new address until it is confirmed', async () => {
    const waiting = async (email: string, ended: 'used_at' | 'voided_at' | null, hours = 24) =>
      app.database.pool.query(
        `insert into auth_link (id, user_id, kind, token_hash, email, expires_at, used_at, voided_at)
         values ('lnk_' || $2, $1, 'email', sha256(convert_to($2, 'utf8')), $2,
           now() + make_interval(hours => $4),
           case when $3 = 'used_at' then now() end, case when $3 = 'voided_at' then now() end)`,
        [ben.userId, email, ended, hours],
      );
    await waiting('used@example.com', 'used_at');
    await waiting('voided@example.com', 'voided_at');
    await waiting('late@example.com', null, -1);
    expect((await read(ben)).pending_email).toBeNull();
    await waiting('new@example.com', null);
    expect((await read(ben)).pending_email).toBe('new@example.com');
  });
});

async function put(bytes: Buffer, type: string, token = ann.token): Promise<Response> {
  return app.call('/users/me/avatar', {
    method: 'PUT',
    token,
    headers: { 'content-type': type },
    raw: Uint8Array.from(bytes),
  });
}

async function addressAfter(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: Profile };
  return (data.avatar_url ?? '').replace(/^\/api/, '');
}

/** A PNG of exactly this many bytes; decoders ignore what follows its end. */
const pngOf = (size: number) => Buffer.concat([png, Buffer.alloc(size - png.length)]);

describe('the picture of an account', () => {
  test('the picture of an account is served without a token, with headers that make it nothing but a picture', async () => {
    const address = await addressAfter(await put(png, 'image/png'));
    expect(address).toMatch(/^\/avatars\/[\w-]{22}$/);
    const shown = await app.call(address);
    expect(shown.status).toBe(200);
    expect(Buffer.from(await shown.arrayBuffer())).toEqual(await encodeAvatar('image/png', png));
    expect(Object.fromEntries(shown.headers)).toMatchObject({
      'content-type': 'image/webp',
      'content-disposition': 'inline',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'private, max-age=3600',
    });
  });

  test('a new picture has a new address, and the earlier address stops working', async () => {
    const before = await addressAfter(await put(png, 'image/png'));
    const after = await addressAfter(await put(png, 'image/png'));
    expect(after).not.toBe(before);
    expect((await app.call(before)).status).toBe(404);
    expect((await app.call(after)).status).toBe(200);
  });

  test('a removed picture is gone, and removing it again is no error', async () => {
    const address = await addressAfter(await put(png, 'image/png'));
    for (let time = 0; time < 2; time += 1) {
      const removed = await app.data('/users/me/avatar', { method: 'DELETE', token: ann.token });
      expect(removed).toEqual({ id: ann.userId, deleted: true });
    }
    expect((await read(ann)).avatar_url).toBeNull();
    expect((await app.call(address)).status).toBe(404);
  });

  test('a picture may have 256 kB and not a byte more, with and without a content length', async () => {
    expect((await put(pngOf(avatarLimits.bytes), 'image/png')).status).toBe(200);
    const large = pngOf(avatarLimits.bytes + 1);
    const streamed = await app.call('/users/me/avatar', {
      method: 'PUT',
      token: ann.token,
      headers: { 'content-type': 'image/png' },
      raw: new Blob([Uint8Array.from(large)]).stream(),
    });
    for (const response of [await put(large, 'image/png'), streamed]) {
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({
        code: 'avatar-too-large',
        message: 'Pictures can be up to 256 kB.',
      });
    }
  });

  test('a picture stays when a new one is refused', async () => {
    const address = await addressAfter(await put(webp, 'image/webp'));
    const response = await put(Buffer.from('<svg/>'), 'image/png');
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({
      code: 'avatar-not-an-image',
      title: "We can't use this picture",
    });
    expect((await app.call(address)).status).toBe(200);
  });

  test.each(['/avatars/x', `/avatars/${'A'.repeat(22)}`, '/avatars/..%2Fusers', '/avatars/%00'])(
    'a picture at an address that was never issued is not found: %s',
    async (address) => expect((await app.call(address)).status).toBe(404),
  );

  test('only a signed-in user can put or remove a picture', async () => {
    expect((await put(png, 'image/png', 'none')).status).toBe(401);
    expect((await app.call('/users/me/avatar', { method: 'DELETE' })).status).toBe(401);
  });
});
