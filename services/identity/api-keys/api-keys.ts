import { randomBytes } from 'node:crypto';
import type { Queryable } from '#db/connect.ts';
import type { KeyScope } from '#services/platform/contract.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { ApiKeyRow } from '#services/identity/contract/api-keys.ts';
import { apiKeyLimits } from '#services/identity/contract/api-keys.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { hashOf } from '#services/identity/token-hash.ts';

/**
 * A user's API keys: opaque, 256 bits, stored as hashes, shown once. A key never expires; it ends when it
 * is revoked, when its user resets the password, and when the account is erased.
 */
export type ApiKey = {
  id: string;
  name: string;
  prefix: string;
  scopes: readonly KeyScope[];
  monthlyCap: number;
  createdAt: Date;
  lastUsedAt: Date | null;
};

export type NewApiKey = Pick<ApiKey, 'name' | 'scopes' | 'monthlyCap'>;

const keyPattern = /^sk_[\w-]{43}$/;

/** Whether a bearer token claims to be an API key; a signed token never looks like one. */
export function looksLikeApiKey(bearer: string): boolean {
  return bearer.startsWith('sk_');
}

/** The characters of a key that may be shown: 48 of its 256 bits. */
const prefixLength = 'sk_'.length + 8;

/** The resolution of a key's last use, which saves a write for most calls. */
const lastUseSeconds = 60;

/**
 * Call it in a transaction. `key` cannot be shown again.
 *
 * @throws Problem 409 `too-many-api-keys`, 409 `account-erasing`
 */
export async function createApiKey(
  client: Queryable,
  userId: string,
  { name, scopes, monthlyCap }: NewApiKey,
  now: Date,
): Promise<{ id: string; key: string }> {
  // The lock serializes creation and erasure. The count is a separate statement, so it sees what the
  // previous holder committed.
  const { rowCount: open } = await client.query(
    'select from users where id = $1 and erasing_at is null for update',
    [userId],
  );
  if (open !== 1) throw identityProblem('account-erasing');
  if ((await listApiKeys(client, userId)).length >= apiKeyLimits.live)
    throw new Problem(
      'too-many-api-keys',
      `You can have up to ${apiKeyLimits.live} API keys. Revoke one that you no longer use.`,
    );
  const id = newId('key', now.getTime());
  const key = `sk_${randomBytes(32).toString('base64url')}`;
  await client.query(
    `insert into api_key (id, user_id, name, prefix, key_hash, scopes, monthly_cap, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, userId, name, key.slice(0, prefixLength), hashOf(key), scopes, monthlyCap, now],
  );
  return { id, key };
}

/** A user's live keys, newest first. */
export async function listApiKeys(client: Queryable, userId: string): Promise<ApiKey[]> {
  const { rows } = await client.query<ApiKey>(
    `select id, name, prefix, scopes, monthly_cap as "monthlyCap", created_at as "createdAt",
       last_used_at as "lastUsedAt"
     from api_key where user_id = $1 and revoked_at is null order by id desc`,
    [userId],
  );
  return rows;
}

/** A key as lists show it. `used` are the credits that its runs of this month hold or have used. */
export function apiKeyRow(key: ApiKey, used: number): ApiKeyRow {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    scopes: [...key.scopes],
    monthly_cap: key.monthlyCap,
    used_this_month: used,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}

/** False when the user has no such live key. */
export async function revokeApiKey(
  client: Queryable,
  { id, userId }: { id: string; userId: string },
  now: Date,
): Promise<boolean> {
  const { rowCount } = await client.query(
    'update api_key set revoked_at = $3 where id = $1 and user_id = $2 and revoked_at is null',
    [id, userId, now],
  );
  return rowCount === 1;
}

/** Whose key it is, revoked or not; null for an unknown id. */
export async function ownerOfApiKey(pool: Queryable, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ userId: string }>(
    'select user_id as "userId" from api_key where id = $1',
    [id],
  );
  return rows[0]?.userId ?? null;
}

/** Revokes all of a user's keys; returns how many were live. */
export async function revokeApiKeysOf(
  client: Queryable,
  userId: string,
  now: Date,
): Promise<number> {
  const { rowCount } = await client.query(
    `update api_key set revoked_at = $2 where id in (
       select id from api_key where user_id = $1 and revoked_at is null order by id for update)`,
    [userId, now],
  );
  return rowCount ?? 0;
}

/** Of all users. Returns how many. */
export async function revokeEveryApiKey(client: Queryable, now: Date): Promise<number> {
  const { rowCount } = await client.query(
    'update api_key set revoked_at = $1 where revoked_at is null',
    [now],
  );
  return rowCount ?? 0;
}

/** What a live key stands for; null for every other text. Records its use. */
export async function useApiKey(
  pool: Queryable,
  key: string,
  now: Date,
): Promise<{ userId: string; id: string; scopes: readonly KeyScope[]; monthlyCap: number } | null> {
  if (!keyPattern.test(key)) return null;
  // Named, so that it is parsed once per connection: every call of a program asks this.
  const { rows } = await pool.query<
    Pick<ApiKey, 'id' | 'scopes' | 'monthlyCap' | 'lastUsedAt'> & { userId: string }
  >({
    name: 'use-api-key',
    text: `select k.id, k.user_id as "userId", k.scopes, k.monthly_cap as "monthlyCap",
             k.last_used_at as "lastUsedAt"
           from api_key k join users u on u.id = k.user_id
           where k.key_hash = $1 and k.revoked_at is null and u.erasing_at is null`,
    values: [hashOf(key)],
  });
  const row = rows[0];
  if (!row) return null;
  const { lastUsedAt, ...used } = row;
  if (lastUsedAt === null || now.getTime() - lastUsedAt.getTime() >= lastUseSeconds * 1000)
    await pool.query('update api_key set last_used_at = greatest(last_used_at, $2) where id = $1', [
      row.id,
      now,
    ]);
  return used;
}

/** Of these keys the ones that have ended, or never were. */
export async function endedApiKeys(
  pool: Queryable,
  ids: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select wanted.id from unnest($1::text[]) as wanted (id)
     where not exists (
       select from api_key k join users u on u.id = k.user_id
       where k.id = wanted.id and k.revoked_at is null and u.erasing_at is null)`,
    [ids],
  );
  return rows.map(({ id }) => id);
}
