import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { encodeAvatar } from '#services/identity/accounts/avatar.ts';
import { avatarLimits } from '#services/identity/contract.ts';
import { jpeg, png, webp } from './pictures.ts';

const script = Buffer.from('<script>alert(1)</script>');
const flat = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#f00' } });

test.each([
  ['a PNG', png, 'image/png'],
  ['a JPEG', jpeg, 'image/jpeg'],
  ['a WebP', webp, 'image/webp'],
  ['a type with a parameter', png, 'Image/PNG; charset=x'],
])('%s becomes a WebP of the same size', async (_what, bytes, type) => {
  const encoded = await encodeAvatar(type, bytes);
  expect(await sharp(encoded).metadata()).toMatchObject({ format: 'webp', width: 1, height: 1 });
});

test('a large picture is scaled down and turned upright, and its metadata is dropped', async () => {
  const camera = await flat(1200, 600)
    .withExif({ IFD0: { Artist: 'Ann', Orientation: '6' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
  expect((await sharp(camera).metadata()).exif).toBeDefined();
  const shown = await sharp(await encodeAvatar('image/jpeg', camera)).metadata();
  expect(shown).toMatchObject({ width: 256, height: 512 });
  for (const kept of ['exif', 'icc', 'iptc', 'xmp', 'orientation'] as const)
    expect(shown[kept]).toBeUndefined();
});

test.each([
  ['a script after its end', Buffer.concat([png, script])],
  ['an archive after its end', Buffer.concat([png, Buffer.from('PK\u0005\u0006')])],
  ['a second picture after its end', Buffer.concat([png, jpeg])],
])('nothing is left of %s', async (_what, bytes) => {
  expect(await encodeAvatar('image/png', bytes)).toEqual(await encodeAvatar('image/png', png));
});

test.each([
  ['a type that is not its own', png, 'image/jpeg'],
  ['no type', png, ''],
  ['a script before its start', Buffer.concat([script, png]), 'image/png'],
  ['only its first half', png.subarray(0, 60), 'image/png'],
  ['no bytes', Buffer.alloc(0), 'image/png'],
  ['the bytes of an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/png'],
  ['the type of an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'],
  [
    'the bytes of a GIF',
    Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64'),
    'image/gif',
  ],
  ['the bytes of a PDF', Buffer.from('%PDF-1.7\n'), 'image/png'],
])('a file with %s is refused', async (_what, bytes, type) => {
  await expect(encodeAvatar(type, bytes)).rejects.toMatchObject({ code: 'avatar-not-an-image' });
});

test('a small file that unfolds to more pixels than the limit is refused', async () => {
  const bomb = await flat(2049, 2048).png().toBuffer();
  expect(bomb.length).toBeLessThan(avatarLimits.bytes);
  await expect(encodeAvatar('image/png', bomb)).rejects.toMatchObject({
    code: 'avatar-not-an-image',
  });
  const largest = await flat(2048, 2048).png().toBuffer();
  expect(await encodeAvatar('image/png', largest)).toBeInstanceOf(Buffer);
});

test('of 30 pictures at once a few wait for their turn, and the others are refused', async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 30 }, async () => encodeAvatar('image/png', png)),
  );
  const refused = outcomes.filter((one) => one.status === 'rejected');
  expect(refused).toHaveLength(21);
  for (const { reason } of refused)
    expect(reason).toMatchObject({ code: 'busy', extras: { retryAfterSeconds: 2 } });
  expect(await encodeAvatar('image/png', png)).toBeInstanceOf(Buffer);
});

test('a picture that encoding makes larger than the limit is refused', async () => {
  // Noise in black and white behind noise in opacity.
  const pixels = randomBytes(400 * 400 * 2).map((byte, at) =>
    at % 2 === 0 ? (byte & 1) * 255 : byte,
  );
  const noise = await sharp(pixels, { raw: { width: 400, height: 400, channels: 2 } })
    .png()
    .toBuffer();
  expect(noise.length).toBeLessThan(avatarLimits.bytes);
  await expect(encodeAvatar('image/png', noise)).rejects.toMatchObject({
    code: 'avatar-too-large',
  });
});
