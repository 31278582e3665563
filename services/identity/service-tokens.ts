import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import type { Audit } from '#services/platform/audit.ts';
import { bearerOf } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { identityProblem } from './problems.ts';
import { hashOf } from './token-hash.ts';

/**
 * Tokens of other services. They are opaque, stored as hashes, so that a reader of the table can use
 * none of them, and shown once, when they are issued.
 *
 * Where an endpoint needs a user, a service's token is not a signed token and gets 401. Where it needs a
 * service, a user's valid token is recognised and gets 403.
 */
export const serviceScopes = ['credits:consume'] as const;
export type ServiceScope = (typeof serviceScopes)[number];

/** 256 random bits cannot be guessed, so they need neither a slow hash nor a salt. */
const tokenPattern = /^svct_[A-Za-z0-9_-]{43}$/;

/** The resolution of a token's last use, which saves a write for most calls. */
const lastUseSeconds = 60;

export type ServiceToken = {
  id: string;
  name: string;
  scope: ServiceScope;
  /** Credits that it may consume per UTC day. */
  dailyCap: number;
  createdBy: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
};

export type NewServiceToken = Pick<ServiceToken, 'name' | 'scope' | 'dailyCap' | 'createdBy'>;

/** `secret` is what the service sends; it cannot be shown again. */
export async function issueServiceToken(
  client: Queryable,
  { name, scope, dailyCap, createdBy }: NewServiceToken,
  now: Date,
): Promise<{ id: string; secret: string }> {
  const id = newId('svc', now.getTime());
  const secret = `svct_${randomBytes(32).toString('base64url')}`;
  await client.query(
    `insert into service_token (id, name, token_hash, scope, daily_cap, created_by, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [id, name, hashOf(secret), scope, dailyCap, createdBy, now],
  );
  return { id, secret };
}

/** All tokens, revoked ones included, newest first. */
export async function listServiceTokens(
  client: Queryable,
  now: Date,
): Promise<(ServiceToken & { usedToday: number })[]> {
  const { rows } = await client.query<ServiceToken & { usedToday: number }>(
    `select t.id, t.name, t.scope, t.daily_cap as "dailyCap", t.created_by as "createdBy",
       t.created_at as "createdAt", t.last_used_at as "lastUsedAt", t.revoked_at as "revokedAt",
       coalesce(d.credits, 0)::float8 as "usedToday"
     from service_token t
     left join service_token_day d on d.token_id = t.id and d.day = $1
     order by t.id desc`,
    [now.toISOString().slice(0, 10)],
  );
  return rows;
}

/** Returns how many. */
export async function revokeEveryServiceToken(client: Queryable, now: Date): Promise<number> {
  const { rowCount } = await client.query(
    'update service_token set revoked_at = $1 where revoked_at is null',
    [now],
  );
  return rowCount ?? 0;
}

/** 'already' if it was revoked before; null for an unknown id. */
export async function revokeServiceToken(
  client: Queryable,
  id: string,
  now: Date,
): Promise<'revoked' | 'already' | null> {
  const { rowCount } = await client.query(
    'update service_token set revoked_at = $2 where id = $1 and revoked_at is null',
    [id, now],
  );
  if (rowCount === 1) return 'revoked';
  const { rowCount: known } = await client.query('select from service_token where id = $1', [id]);
  return known === 1 ? 'already' : null;
}

export type ServiceDependencies = {
  pool: pg.Pool;
  audit: Audit;
  clock: () => number;
};

/**
 * The id of the calling service, which must have this scope. A refused caller with a valid token is
 * recorded in the audit table.
 *
 * @throws Problem 401 without a valid token, 403 `service-token-required` for a user's, 403
 * `scope-missing` for a service with other scopes
 */
export function serviceAuthenticator(
  dependencies: ServiceDependencies,
  authenticate: Authenticate,
  scope: ServiceScope,
): (context: HttpContext) => Promise<string> {
  return async (context) => {
    const bearer = bearerOf(context.req.header('authorization'));
    return callingService(dependencies, authenticate, { bearer, scope });
  };
}

async function callingService(
  dependencies: ServiceDependencies,
  authenticate: Authenticate,
  { bearer, scope }: { bearer: string | undefined; scope: ServiceScope },
): Promise<string> {
  if (bearer === undefined) throw identityProblem('authentication-required');
  const refuse = async (actor: string, reason: string, userId?: string) =>
    dependencies.audit({
      actor,
      action: 'access.refused',
      subject: scope,
      ...(userId === undefined ? {} : { userId }),
      detail: { reason },
    });
  if (!tokenPattern.test(bearer)) {
    const person = await authenticate(bearer);
    if (!person) throw identityProblem('authentication-required');
    await refuse(person.userId, 'person', person.userId);
    throw new Problem(
      'service-token-required',
      'This call is for services and needs a service token.',
    );
  }
  const token = await useServiceToken(dependencies, bearer);
  if (!token) throw identityProblem('authentication-required');
  if (token.isRevoked) {
    await refuse(token.id, 'revoked');
    throw identityProblem('authentication-required');
  }
  if (token.scope !== scope) {
    await refuse(token.id, 'scope');
    throw new Problem('scope-missing', `This token doesn't have the scope ${scope}.`);
  }
  return token.id;
}

type KnownToken = { id: string; scope: string; isRevoked: boolean };

async function useServiceToken(
  { pool, clock }: ServiceDependencies,
  secret: string,
): Promise<KnownToken | null> {
  const now = new Date(clock());
  const { rows } = await pool.query<KnownToken & { lastUsedAt: Date | null }>(
    `select id, scope, revoked_at is not null as "isRevoked", last_used_at as "lastUsedAt"
     from service_token where token_hash = $1`,
    [hashOf(secret)],
  );
  const row = rows[0];
  if (!row) return null;
  const { lastUsedAt, ...token } = row;
  const isStale =
    lastUsedAt === null || now.getTime() - lastUsedAt.getTime() >= lastUseSeconds * 1000;
  if (isStale && !token.isRevoked)
    await pool.query(
      'update service_token set last_used_at = greatest(last_used_at, $2) where id = $1',
      [token.id, now],
    );
  return token;
}
