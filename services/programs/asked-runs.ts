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

/** Longer than it takes to begin a run: the claim of a process that has crashed lasts no longer. */
export const claimSeconds = 30;

type AskedRun = {
  runId: string;
  /** Whether it was the same request. */
  isSame: boolean;
  /** Whether a request is beginning the run. */
  isClaimed: boolean;
};

/**
 * The run of an earlier request; null for the first.
 *
 * @throws Problem 400 for an Idempotency-Key of other characters
 */
export async function findAskedRun(
  pool: pg.Pool,
  asking: Asking,
  now: Date,
): Promise<AskedRun | null> {
  const { place, fingerprint } = placeOf(asking);
  const { rows } = await pool.query<AskedRun>(
    `select run_id as "runId", fingerprint = $3 as "isSame",
       coalesce(claimed_at > now() - make_interval(secs => $5), false) as "isClaimed"
     from asked_run
     where api_key_id = $1 and place = $2 and (expires_at is null or expires_at > $4)`,
    [asking.apiKeyId, place, fingerprint, now, claimSeconds],
  );
  return rows[0] ?? null;
}

/** The right to begin a run, of one request at a time. */
export type Claim = { runId: string; claimedAt: string };

/**
 * Claims the run of a request: the one that was found, when `continues`, or else `newRunId`. Null when
 * another request came first.
 */
export async function claimRun(
  pool: pg.Pool,
  asking: Asking,
  { newRunId, found, continues }: { newRunId: string; found: string | null; continues: boolean },
  now: Date,
): Promise<Claim | null> {
  const { place, fingerprint } = placeOf(asking);
  const expiresAt =
    asking.idempotencyKey === undefined
      ? new Date(now.getTime() + joinedWithinMinutes * 60_000)
      : null;
  const { rows } = await pool.query<Claim>(
    `with forgotten as (
       delete from asked_run where ctid = any (array(
         select ctid from asked_run where expires_at <= $5 and place <> $2
         limit $7 for update skip locked)))
     insert into asked_run as asked (api_key_id, place, fingerprint, run_id, expires_at, claimed_at)
     values ($1, $2, $3, $4, $6, clock_timestamp())
     on conflict (api_key_id, place) do update
       set run_id = excluded.run_id, fingerprint = excluded.fingerprint,
           expires_at = excluded.expires_at, claimed_at = excluded.claimed_at
       where (asked.expires_at <= $5 or asked.run_id = $8)
         and (asked.claimed_at is null or asked.claimed_at < now() - make_interval(secs => $9))
     returning run_id as "runId", claimed_at::text as "claimedAt"`,
    [
      asking.apiKeyId,
      place,
      fingerprint,
      continues ? found : newRunId,
      now,
      expiresAt,
      forgottenAtOnce,
      found,
      claimSeconds,
    ],
  );
  return rows[0] ?? null;
}

/** Another request may join the run, or continue to begin it. */
export async function releaseClaim(
  pool: pg.Pool,
  { apiKeyId }: Asking,
  { runId, claimedAt }: Claim,
): Promise<void> {
  await pool.query(
    `update asked_run set claimed_at = null
     where api_key_id = $1 and run_id = $2 and claimed_at = $3::timestamptz`,
    [apiKeyId, runId, claimedAt],
  );
}

/** After a refusal, which binds nothing: the next request, equal or not, begins another run. */
export async function forgetClaim(
  pool: pg.Pool,
  { apiKeyId }: Asking,
  { runId, claimedAt }: Claim,
): Promise<void> {
  await pool.query(
    `delete from asked_run
     where api_key_id = $1 and run_id = $2 and claimed_at = $3::timestamptz`,
    [apiKeyId, runId, claimedAt],
  );
}

export function anotherRequest(): Problem {
  return new Problem(
    'idempotency-mismatch',
    'This Idempotency-Key was already used for a different request.',
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
