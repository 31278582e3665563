import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { answerData } from './http.ts';
import type { HttpContext } from './http.ts';
import { uuidV5 } from './ids.ts';
import { httpLimits } from './limits.ts';
import { Problem } from './problem.ts';

/**
 * One effect for one `Idempotency-Key` of one person and route, for 24 hours. The row, with the id of
 * what will be made, is committed before anything happens, so a repeat after a crash goes on with the
 * same object instead of making a second one. A refusal leaves no row: asking again decides anew.
 */
export type Attempt = {
  /** The same for each repeat: the id of the object to make. */
  resourceId: string;
  /** The same for each repeat. */
  commandId: string;
  fingerprint: string;
};

export async function answerOnce(
  context: HttpContext,
  options: {
    pool: pg.Pool;
    /** Method and path pattern, with the object's id where the path has one. */
    route: string;
    /** What the client sent, after parsing. */
    body: unknown;
    newResourceId: () => string;
    status: ContentfulStatusCode;
  },
  work: (attempt: Attempt) => Promise<unknown>,
): Promise<Response> {
  const { pool, route, body, newResourceId, status } = options;
  const userId = context.get('userId');
  const key = context.req.header('idempotency-key');
  const fingerprint = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  if (key === undefined) {
    const resourceId = newResourceId();
    const commandId = uuidV5(userId, route, resourceId);
    return answerData(context, await work({ resourceId, commandId, fingerprint }), status);
  }
  if (!/^[\x21-\x7e]{1,128}$/.test(key))
    throw new Problem(400, 'validation', 'Idempotency-Key: 1 to 128 visible ASCII characters.');
  const claim = await claimKey(pool, { userId, route, key, fingerprint, newResourceId });
  if (claim.kind === 'done') return answerData(context, claim.body, claim.status);
  const attempt = {
    resourceId: claim.resourceId,
    commandId: uuidV5(userId, route, key),
    fingerprint,
  };
  try {
    const data = await work(attempt);
    await pool.query(
      'update idempotency_key set status = $4, body = $5 where user_id = $1 and route = $2 and key = $3',
      [userId, route, key, status, JSON.stringify(data)],
    );
    return answerData(context, data, status);
  } catch (error) {
    if (error instanceof Problem && error.status < 500)
      await pool.query(
        'delete from idempotency_key where user_id = $1 and route = $2 and key = $3',
        [userId, route, key],
      );
    throw error;
  }
}

type Claim =
  | { kind: 'begin'; resourceId: string }
  | { kind: 'done'; status: ContentfulStatusCode; body: unknown };

type Row = {
  fingerprint: string;
  resource_id: string;
  status: number | null;
  body: unknown;
  mine: boolean;
};

async function claimKey(
  pool: pg.Pool,
  wanted: {
    userId: string;
    route: string;
    key: string;
    fingerprint: string;
    newResourceId: () => string;
  },
): Promise<Claim> {
  const { userId, route, key, fingerprint } = wanted;
  // A first attempt that has not ended after the time a request may take has crashed: it is taken over.
  const { rows } = await pool.query<Row>(
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
     returning fingerprint, resource_id, status, body, true as mine`,
    [userId, route, key, fingerprint, wanted.newResourceId(), httpLimits.requestSeconds],
  );
  const mine = rows[0];
  if (mine) return { kind: 'begin', resourceId: mine.resource_id };
  const { rows: earlier } = await pool.query<Row>(
    `select fingerprint, resource_id, status, body, false as mine from idempotency_key
     where user_id = $1 and route = $2 and key = $3`,
    [userId, route, key],
  );
  const found = earlier[0];
  // Refused and removed between the two statements: the next try decides anew.
  if (!found) throw inProgress();
  if (found.fingerprint !== fingerprint)
    throw new Problem(
      409,
      'idempotency-mismatch',
      'This Idempotency-Key was used before with another request.',
    );
  if (found.status === null) throw inProgress();
  return { kind: 'done', status: found.status as ContentfulStatusCode, body: found.body };
}

function inProgress(): Problem {
  return new Problem(409, 'in-progress', 'The first request with this key is still running.', {
    retryAfterSeconds: 1,
  });
}
