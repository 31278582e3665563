import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { Problem } from '#services/platform/problem.ts';

/**
 * Which run a program's request has started. Clients of other services repeat a request that was cut off,
 * without saying that it is a repeat. So an identical request of the same API key joins the run of the
 * first one for a while. With an Idempotency-Key the run is the key's for good.
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
 * The run of an earlier request, and whether that request was the same; null for the first.
 *
 * @throws Problem 400 for an Idempotency-Key of other characters
 */
export async function findAskedRun(
  pool: pg.Pool,
  asking: Asking,
  now: Date,
): Promise<{ runId: string; isSame: boolean } | null> {
  const { place, fingerprint } = placeOf(asking);
  const { rows } = await pool.query<{ runId: string; isSame: boolean }>(
    `select run_id as "runId", fingerprint = $3 as "isSame" from asked_run
     where api_key_id = $1 and place = $2 and (expires_at is null or expires_at > $4)`,
    [asking.apiKeyId, place, fingerprint, now],
  );
  return rows[0] ?? null;
}

/**
 * The run of a request: `newRunId`, or that of an equal request at the same time.
 *
 * @param replacing the run of an earlier request that is not to be joined
 * @throws Problem 409 `idempotency-mismatch` for a key that another request took at the same time
 */
export async function runOfRequest(
  pool: pg.Pool,
  asking: Asking,
  { newRunId, replacing }: { newRunId: string; replacing: string | null },
  now: Date,
): Promise<string> {
  const { place, fingerprint } = placeOf(asking);
  const expiresAt =
    asking.idempotencyKey === undefined
      ? new Date(now.getTime() + joinedWithinMinutes * 60_000)
      : null;
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
       where asked.expires_at <= $5 or asked.run_id = $8`,
    [asking.apiKeyId, place, fingerprint, newRunId, now, expiresAt, forgottenAtOnce, replacing],
  );
  // A statement of its own, so that it sees what was committed during the insertion.
  const found = await findAskedRun(pool, asking, now);
  if (found === null)
    throw new Problem('busy', 'Please send this request again.', { retryAfterSeconds: 1 });
  if (!found.isSame) throw anotherRequest();
  return found.runId;
}

export function anotherRequest(): Problem {
  return new Problem(
    'idempotency-mismatch',
    'This Idempotency-Key was already used for a different request.',
  );
}

/** After a refusal: the next identical request starts anew. */
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
