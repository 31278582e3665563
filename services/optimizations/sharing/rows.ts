import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { shareLimits } from '#services/optimizations/contract/sharing.ts';

/**
 * Share links are plain rows beside the run's events. A token is 256 random bits, of which the SHA-256
 * and a sealed copy are stored. Whether a link works is decided from its row at each request.
 */
export type ShareRow = {
  id: string;
  user_id: string;
  run_id: string;
  sealed_token: string;
  shows_context: boolean;
  created_at: Date;
  expires_at: Date;
};

const columns = 'id, user_id, run_id, sealed_token, shows_context, created_at, expires_at';

/** Neither revoked nor expired; the first value of the statement is the time. */
const isLive = 'revoked_at is null and expires_at > $1';

export type NewShare = ShareRow & { token: string };

/**
 * Adds a link; one with the same id is left as it is. `full` where the run has as many live links as it
 * may; `gone` where the account is gone or being erased. Links of one account are made in turn.
 */
export async function insertShare(
  client: pg.ClientBase,
  { token, ...row }: NewShare,
): Promise<'added' | 'there' | 'full' | 'gone'> {
  const { rowCount: accounts } = await client.query(
    'select from users where id = $1 and erasing_at is null for update',
    [row.user_id],
  );
  if (accounts === 0) return 'gone';
  const { rows } = await client.query<{ id: string }>(
    `select id from share_link where id = $2 or (run_id = $3 and ${isLive})`,
    [row.created_at, row.id, row.run_id],
  );
  if (rows.some(({ id }) => id === row.id)) return 'there';
  if (rows.length >= shareLimits.live) return 'full';
  await client.query(
    `insert into share_link (${columns}, token_hash) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      row.id,
      row.user_id,
      row.run_id,
      row.sealed_token,
      row.shows_context,
      row.created_at,
      row.expires_at,
      hashOf(token),
    ],
  );
  return 'added';
}

/** The live links of a run, newest first. */
export async function liveShares(
  client: Queryable,
  runId: string,
  now: number,
): Promise<ShareRow[]> {
  const { rows } = await client.query<ShareRow>(
    `select ${columns} from share_link where run_id = $2 and ${isLive}
     order by created_at desc, id desc`,
    [new Date(now), runId],
  );
  return rows;
}

/** The live link with this token, whose owner's account is not being erased. */
export async function findShare(
  client: Queryable,
  token: string,
  now: number,
): Promise<ShareRow | null> {
  const { rows } = await client.query<ShareRow>(
    `select ${columns} from share_link where token_hash = $2 and ${isLive}
     and exists (select from users where users.id = user_id and erasing_at is null)`,
    [new Date(now), hashOf(token)],
  );
  return rows[0] ?? null;
}

/** Revokes a link of a run, and removes what opens it. */
export async function revokeShare(
  client: Queryable,
  { id, runId, now }: { id: string; runId: string; now: number },
): Promise<'revoked' | 'already' | 'unknown'> {
  const { rowCount } = await client.query(
    `update share_link set revoked_at = $3, sealed_token = null
     where id = $1 and run_id = $2 and revoked_at is null`,
    [id, runId, new Date(now)],
  );
  if (rowCount === 1) return 'revoked';
  const { rowCount: known } = await client.query(
    'select from share_link where id = $1 and run_id = $2',
    [id, runId],
  );
  return known === 1 ? 'already' : 'unknown';
}

/** Of all runs. Returns how many. */
export async function revokeEveryShare(client: Queryable, now: Date): Promise<number> {
  const { rowCount } = await client.query(
    `update share_link set revoked_at = $1, sealed_token = null
     where revoked_at is null and expires_at > $1`,
    [now],
  );
  return rowCount ?? 0;
}

/** Whether one of these runs has a live link. */
export async function isAnyShared(
  client: Queryable,
  runIds: readonly string[],
  now: number,
): Promise<boolean> {
  if (runIds.length === 0) return false;
  const { rows } = await client.query(
    `select from share_link where run_id = any ($2) and ${isLive} limit 1`,
    [new Date(now), runIds],
  );
  return rows.length === 1;
}

/** Once the texts of the run and of its refinements are erased, no link has anything to show. */
export async function forgetShares(client: Queryable, runId: string): Promise<void> {
  await client.query(
    `delete from share_link
     where run_id in (select run_id from optimization_list where run_id = $1 or root_id = $1)`,
    [runId],
  );
}

/** Tokens are long and random, so the hash needs no salt. */
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
