import { createHmac } from 'node:crypto';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type pg from 'pg';
import type { Endpoint } from '#services/platform/contract.ts';
import { answerData } from './http.ts';
import type { HttpContext } from './http.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';

/** After this a request counts as dead, and its Idempotency-Key may be taken over. */
const requestSeconds = 30;

/** Expired Idempotency-Keys that a new one deletes. */
const expiredKeysPerKey = 10;

/**
 * One effect for one `Idempotency-Key` of one person or service and one route, for 24 hours. The row,
 * with the id of what will be made, is committed before anything happens, so a repeat after a crash continues
 * with the same object instead of making a second one. A refusal leaves no row: a repeat decides again.
 */
export type Attempt = {
  /** The same for each repeat: the id of the object to make. */
  resourceId: string;
  /** The same for each repeat. */
  commandId: string;
  fingerprint: string;
};

/** What a handler returns where the Idempotency-Key decides whether the work is done. */
export type Once<Data> = {
  newResourceId: () => string;
  /**
   * For answers that hold a person's text: they are kept sealed under the data key of the object.
   * `afterErasure` answers a repeat when that key is gone.
   */
  texts?: { sealer: Sealer; afterErasure: (resourceId: string) => Promise<Data> };
  /** For answers that hold a secret: nothing is kept of them, and a repeat makes the answer again. */
  remake?: (resourceId: string) => Promise<Data>;
  work: (attempt: Attempt) => Promise<Data>;
};

type Request = {
  pool: pg.Pool;
  /** The person or service whose key it is. */
  owner: string;
  /** Method and path, with the object's id where the path has one. */
  route: string;
  /** What the client sent, after parsing. */
  body: unknown;
  status: Endpoint['status'];
};

export async function answerOnce<Data>(
  context: HttpContext,
  { pool, owner, route, body, status }: Request,
  once: Once<Data>,
): Promise<Response> {
  const { newResourceId, work } = once;
  const key = context.req.header('idempotency-key');
  if (key === undefined) {
    const resourceId = newResourceId();
    const commandId = uuidV5(owner, route, resourceId);
    const attempt = { resourceId, commandId, fingerprint: commandId };
    return answerData(context, await work(attempt), status);
  }
  if (!/^[\x21-\x7e]{1,128}$/.test(key))
    throw new Problem(
      'validation',
      'The Idempotency-Key must be 1 to 128 visible ASCII characters.',
    );
  const place = [owner, route, key] as const;
  const commandId = uuidV5(...place);
  const fingerprint = fingerprintOf(key, body);
  const claim = await claimKey(pool, { place, fingerprint, newResourceId });
  if (claim.kind === 'done')
    return answerData(context, await keptAnswer(once, claim), claim.status);
  const { resourceId, claimedAt } = claim;
  try {
    const data = await work({ resourceId, commandId, fingerprint });
    await pool.query(
      `update idempotency_key set status = $4, body = $5
       where user_id = $1 and route = $2 and key = $3`,
      [...place, status, await answerToKeep(once, resourceId, data)],
    );
    return answerData(context, data, status);
  } catch (error) {
    await giveUp(pool, place, claimedAt, error);
    throw error;
  }
}

type Place = readonly [owner: string, route: string, key: string];

/**
 * Keyed by the Idempotency-Key, which is kept for a day only. So the fingerprint in the events reveals
 * nothing about the text, however many texts are tried against it.
 */
function fingerprintOf(key: string, body: unknown): string {
  return createHmac('sha256', key).update(JSON.stringify(body)).digest('hex');
}

/**
 * A refusal removes the row. After an internal error the outcome is unknown, so the row stays, and the
 * next try need not wait. A late end of an attempt that was taken over changes nothing: the row belongs
 * to the attempt that took it over.
 */
async function giveUp(
  pool: pg.Pool,
  place: Place,
  claimedAt: string,
  error: unknown,
): Promise<void> {
  const refused = error instanceof Problem && error.status < 500;
  const mine = 'user_id = $1 and route = $2 and key = $3 and created_at = $4 and status is null';
  await pool.query(
    refused
      ? `delete from idempotency_key where ${mine}`
      : `update idempotency_key set created_at = '-infinity' where ${mine}`,
    [...place, claimedAt],
  );
}

/** As JSON. Null when it holds a secret, or the text was erased while the answer was made. */
async function answerToKeep(
  { texts, remake }: Pick<Once<unknown>, 'texts' | 'remake'>,
  resourceId: string,
  data: unknown,
): Promise<string | null> {
  if (remake) return null;
  const json = JSON.stringify(data);
  if (!texts) return json;
  try {
    return JSON.stringify(await texts.sealer.seal(resourceId, answerPlace(resourceId), json));
  } catch (error) {
    if (error instanceof ErasedKeyError) return null;
    throw error;
  }
}

async function keptAnswer(
  { texts, remake }: Pick<Once<unknown>, 'texts' | 'remake'>,
  { resourceId, body }: { resourceId: string; body: unknown },
): Promise<unknown> {
  if (remake) return remake(resourceId);
  if (!texts) return body;
  if (typeof body !== 'string') return texts.afterErasure(resourceId);
  const opened = await texts.sealer.open(body, answerPlace(resourceId));
  return 'erased' in opened ? texts.afterErasure(resourceId) : JSON.parse(opened.text);
}

function answerPlace(resourceId: string): { stream: string; field: string } {
  return { stream: resourceId, field: 'answer' };
}

type Claim =
  | { kind: 'begin'; resourceId: string; claimedAt: string }
  | { kind: 'done'; resourceId: string; status: ContentfulStatusCode; body: unknown };

type Row = {
  fingerprint: string;
  resource_id: string;
  status: number | null;
  body: unknown;
};

async function claimKey(
  pool: pg.Pool,
  wanted: { place: Place; fingerprint: string; newResourceId: () => string },
): Promise<Claim> {
  const { place, fingerprint } = wanted;
  // A first attempt that has not ended after the time a request may take has crashed: it is taken over.
  const { rows } = await pool.query<{ resource_id: string; claimed_at: string }>(
    `insert into idempotency_key (user_id, route, key, fingerprint, resource_id, expires_at)
     values ($1, $2, $3, $4, $5, now() + interval '24 hours')
     on conflict (user_id, route, key) do update
       set fingerprint = case when idempotency_key.expires_at < now()
             then excluded.fingerprint else idempotency_key.fingerprint end,
           resource_id = case when idempotency_key.expires_at < now()
             then excluded.resource_id else idempotency_key.resource_id end,
           status = case when idempotency_key.expires_at < now()
             then null else idempotency_key.status end,
           body = case when idempotency_key.expires_at < now()
             then null else idempotency_key.body end,
           created_at = now(),
           expires_at = greatest(idempotency_key.expires_at, excluded.expires_at)
       where idempotency_key.expires_at < now()
          or (idempotency_key.status is null and idempotency_key.fingerprint = excluded.fingerprint
              and idempotency_key.created_at < now() - make_interval(secs => $6))
     returning resource_id, created_at::text as claimed_at`,
    [...place, fingerprint, wanted.newResourceId(), requestSeconds],
  );
  const mine = rows[0];
  if (mine) {
    await removeExpired(pool);
    return { kind: 'begin', resourceId: mine.resource_id, claimedAt: mine.claimed_at };
  }
  const { rows: earlier } = await pool.query<Row>(
    `select fingerprint, resource_id, status, body from idempotency_key
     where user_id = $1 and route = $2 and key = $3`,
    [...place],
  );
  const found = earlier[0];
  // Refused and removed between the two statements: the next try decides again.
  if (!found) throw inProgress();
  if (found.fingerprint !== fingerprint)
    throw new Problem(
      'idempotency-mismatch',
      'This Idempotency-Key was already used for a different request.',
    );
  if (found.status === null) throw inProgress();
  return {
    kind: 'done',
    resourceId: found.resource_id,
    status: found.status as ContentfulStatusCode,
    body: found.body,
  };
}

/** Each new key deletes a few old ones, so no sweep is needed. */
async function removeExpired(pool: pg.Pool): Promise<void> {
  await pool.query(
    `delete from idempotency_key where ctid = any (array(
       select ctid from idempotency_key where expires_at < now() limit $1 for update skip locked))`,
    [expiredKeysPerKey],
  );
}

function inProgress(): Problem {
  return new Problem('in-progress', 'The first request with this key is still in progress.', {
    retryAfterSeconds: 1,
  });
}
