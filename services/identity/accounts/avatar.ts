import { randomBytes } from 'node:crypto';
import pLimit from 'p-limit';
import type pg from 'pg';
import sharp from 'sharp';
import { avatarLimits } from '#services/identity/contract.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { Problem } from '#services/platform/problem.ts';

// Only the decoders of the three formats may read an upload.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp'],
});
sharp.cache(false);
// One picture occupies one core.
sharp.concurrency(1);

/** A small file can decode to a picture that fills the memory. */
const maxInputPixels = 2_048 * 2_048;
const maxSidePx = 512;
const maxSeconds = 5;

/** Decoding shares Node's thread pool with the hashes of passwords, so it takes one thread at most. */
const oneAtATime = pLimit(1);
const maxWaiting = 8;
const retryAfterSeconds = 2;

/**
 * Encodes a picture again as WebP. The result holds only the pixels: no metadata, such as a camera's
 * location, and no second file hidden in the first.
 *
 * @throws Problem 415 `avatar-not-an-image`, 413 `avatar-too-large`, 503 `busy` when too many wait
 */
export async function encodeAvatar(declaredType: string, bytes: Buffer): Promise<Buffer> {
  if (bytes.length > avatarLimits.bytes) throw identityProblem('avatar-too-large');
  const declared = declaredType.split(';')[0]?.trim().toLowerCase();
  if (oneAtATime.pendingCount >= maxWaiting)
    throw new Problem('busy', "We're busy right now. Please try again in a moment.", {
      retryAfterSeconds,
    });
  const encoded = await oneAtATime(async () => encode(bytes, declared));
  if (encoded === null) throw identityProblem('avatar-not-an-image');
  if (encoded.length > avatarLimits.bytes) throw identityProblem('avatar-too-large');
  return encoded;
}

/** Null for a file that is not a picture of this type. */
async function encode(bytes: Buffer, mediaType: string | undefined): Promise<Buffer | null> {
  try {
    const image = sharp(bytes, { limitInputPixels: maxInputPixels, failOn: 'warning' });
    const { format } = await image.metadata();
    if (`image/${format}` !== mediaType) return null;
    return await image
      .timeout({ seconds: maxSeconds })
      .autoOrient()
      .resize({ width: maxSidePx, height: maxSidePx, fit: 'inside', withoutEnlargement: true })
      .webp()
      .toBuffer();
  } catch {
    // The library has no error class; any error means a file that cannot be shown.
    return null;
  }
}

/**
 * Replaces the picture of an account. An `img` cannot send a bearer token, so the address itself grants
 * access: 128 random bits, new with each picture.
 */
export async function storeAvatar(pool: pg.Pool, userId: string, bytes: Buffer): Promise<void> {
  const id = randomBytes(16).toString('base64url');
  await pool.query(
    `with person as (
       update users set avatar = $2, updated_at = now()
       where id = $1 and erasing_at is null returning id)
     insert into avatar (id, user_id, bytes)
     select $3, id, $4 from person
     on conflict (user_id) do update
       set id = excluded.id, bytes = excluded.bytes, created_at = now()`,
    [userId, `/api/avatars/${id}`, id, bytes],
  );
}

export async function removeAvatar(pool: pg.Pool, userId: string): Promise<void> {
  await pool.query(
    `with person as (
       update users set avatar = null, updated_at = now()
       where id = $1 and avatar is not null returning id)
     delete from avatar where user_id in (select id from person)`,
    [userId],
  );
}

/** Null when no picture has this id. */
export async function readAvatar(pool: pg.Pool, id: string): Promise<Buffer | null> {
  if (!/^[\w-]{22}$/.test(id)) return null;
  const { rows } = await pool.query<{ bytes: Buffer }>('select bytes from avatar where id = $1', [
    id,
  ]);
  return rows[0]?.bytes ?? null;
}
