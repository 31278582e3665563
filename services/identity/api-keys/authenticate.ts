import type { MiddlewareHandler } from 'hono';
import type pg from 'pg';
import { bearerOf } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import type { HttpEnv } from '#services/platform/http/http.ts';
import { looksLikeApiKey, useApiKey } from './api-keys.ts';

/** A stream that a key opened is cut after a day, so that a client which forgot it does not hold it for ever. */
const streamHours = 24;

/** Accepts API keys beside the tokens that `ofSessions` accepts. */
export function withApiKeys(
  { pool, clock }: { pool: pg.Pool; clock: () => number },
  ofSessions: Authenticate,
): Authenticate {
  return async (bearer) => {
    if (!looksLikeApiKey(bearer)) return ofSessions(bearer);
    const now = clock();
    const key = await useApiKey(pool, bearer, new Date(now));
    if (key === null) return null;
    const { userId, ...apiKey } = key;
    const expiresAt = new Date(now + streamHours * 3_600_000);
    return { userId, sessionId: apiKey.id, expiresAt, apiKey };
  };
}

/** A call with a key is the key's alone: its cookies are not read. */
export function ignoreCookiesOfKeys(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const bearer = bearerOf(context.req.header('authorization'));
    if (bearer !== undefined && looksLikeApiKey(bearer)) context.req.raw.headers.delete('cookie');
    await next();
  };
}
