import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { avatarLimits } from '#services/identity/contract.ts';
import { pictureType } from './picture.ts';
import type { PictureType } from './picture.ts';
import { identityProblem } from '#services/identity/problems.ts';

/**
 * The picture of an account. An `img` cannot send a bearer token, so its address is the right to see
 * it: 128 random bits, new with each picture.
 */
export type Avatar = { mediaType: PictureType; bytes: Buffer };

/** @throws Problem 415 `avatar-not-an-image`, 413 `avatar-too-large` */
export function checkedAvatar(declaredType: string, bytes: Buffer): Avatar {
  if (bytes.length > avatarLimits.bytes) throw identityProblem('avatar-too-large');
  const declared = declaredType.split(';')[0]?.trim().toLowerCase();
  const mediaType = pictureType(bytes);
  if (mediaType === null || mediaType !== declared) throw identityProblem('avatar-not-an-image');
  return { mediaType, bytes };
}

function avatarAddress(id: string): string {
  return `/api/avatars/${id}`;
}

/** Puts it in the place of an earlier one, whose address ends. */
export async function storeAvatar(pool: pg.Pool, userId: string, avatar: Avatar): Promise<void> {
  const id = randomBytes(16).toString('base64url');
  await pool.query(
    `with person as (
       update users set avatar = $2, updated_at = now()
       where id = $1 and erasing_at is null returning id)
     insert into avatar (id, user_id, media_type, bytes)
     select $3, id, $4, $5 from person
     on conflict (user_id) do update
       set id = excluded.id, media_type = excluded.media_type, bytes = excluded.bytes,
         created_at = now()`,
    [userId, avatarAddress(id), id, avatar.mediaType, avatar.bytes],
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

/** Null when there is no such address, or no longer. */
export async function readAvatar(pool: pg.Pool, id: string): Promise<Avatar | null> {
  if (!/^[\w-]{22}$/.test(id)) return null;
  const { rows } = await pool.query<{ media_type: PictureType; bytes: Buffer }>(
    'select media_type, bytes from avatar where id = $1',
    [id],
  );
  const found = rows[0];
  return found ? { mediaType: found.media_type, bytes: found.bytes } : null;
}
