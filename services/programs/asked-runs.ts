import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { Problem } from '#services/platform/problem.ts';

/**
 * Which run a program's request has started. Clients of other services repeat a request that was cut off,
 * without saying that it is a repeat. So an identical request of the same API key joins the run of the
 * first one for a while. With an Idempotency-Key the run is the key's for good once it has begun.
 *
 * The row is committed before the run is created: a repeat after a crash creates that run, not another.
 */
export type Asking = {
  apiKeyId: string;
  /** The API key itself; the HMACs of the texts are made under it. */
  secret: string;
  /** What was asked, in one form for equal requests. */
  body: unknown;
  /** As sent; undefined without one. */
  idempotencyKey: string | undefined;
};

/** An identical request joins the run that the first one started within this time. */
export const joinedWithinMinutes = 15;

/** Expired rows that a new one deletes, so that no sweep is needed. */
const forgottenAtOnce = 10;

/**
 * The run of an earlier request; null for the first.
 *
 * @throws Problem 400 for an Idempotency-Key of other characters, 409 `idempotency-mismatch` for one that
 * came with another request
 */
export async function findAskedRun(
  pool: pg.Pool,
  asking: Asking,
  now: Date,
): Promise<string | null> {
  const { place, fingerprint } = placeOf(asking);
  const { rows } = await pool.query<{ run_id: string; fingerprint: string }>(
    `select run_id, fingerprint from asked_run
     where api_key_id = $1 and place = $2 and (expires_at is null or expires_at > $3)`,
    [asking.apiKeyId, place, now],
  );
  const row = rows[0];
  if (!row) return null;
  if (row.fingerprint !== fingerprint)
    throw new Problem(
      'idempotency-mismatch',
      'This Idempotency-Key was already used for a different request.',
    );
  return row.run_id;
}

/** The run of a request: `newRunId`, or that of an equal request at the same time. @throws as above */
export async function runOfRequest(
  pool: pg.Pool,
  asking: Asking,
  newRunId: string,
  now: Date,
): Promise<string> {
  const { place, fingerprint } = placeOf(asking);
  const expiresAt = new Date(now.getTime() + joinedWithinMinutes * 60_000);
  await pool.query(
    `with forgotten as (
       delete from asked_run where ctid = any (array(
         select ctid from asked_run where expires_at <= $5 and place <> $2
         limit $7 for update skip locked)))
     insert into asked_run as asked (api_key_id, place, fingerprint, run_id, expires_at)
     values ($1, $2, $3, $4, $6)
     on conflict (api_key_id, place) do update
       set run_id = excluded.run_id, fingerprint = excluded.fingerprint,
           expires_at = excluded.expires_at
       where asked.expires_at <= $5`,
    [asking.apiKeyId, place, fingerprint, newRunId, now, expiresAt, forgottenAtOnce],
  );
  // A statement of its own, so that it sees what was committed during the insertion.
  const runId = await findAskedRun(pool, asking, now);
  if (runId === null)
    throw new Problem('busy', 'Please send this request again.', { retryAfterSeconds: 1 });
  return runId;
}

/** Binds the run to the Idempotency-Key of its request, if that has one. */
export async function keepForGood(pool: pg.Pool, asking: Asking): Promise<void> {
  if (asking.idempotencyKey === undefined) return;
  await pool.query('update asked_run set expires_at = null where api_key_id = $1 and place = $2', [
    asking.apiKeyId,
    placeOf(asking).place,
  ]);
}

/** A run that was deleted is joined by nobody: the next identical request starts another. */
export async function forgetAskedRun(
  pool: pg.Pool,
  { apiKeyId, runId }: { apiKeyId: string; runId: string },
): Promise<void> {
  await pool.query(
    'delete from asked_run where api_key_id = $1 and run_id = $2 and expires_at is not null',
    [apiKeyId, runId],
  );
}

function placeOf({ secret, body, idempotencyKey }: Asking) {
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,128}$/.test(idempotencyKey))
    throw new Problem(
      'validation',
      'The Idempotency-Key must be 1 to 128 visible ASCII characters.',
    );
  const macOf = (kind: string, text: string) =>
    createHmac('sha256', secret).update(`${kind}\n${text}`).digest('base64url');
  const fingerprint = macOf('body', JSON.stringify(body));
  return {
    fingerprint,
    place: idempotencyKey === undefined ? fingerprint : macOf('key', idempotencyKey),
  };
}
