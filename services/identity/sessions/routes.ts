import { inOneTurn } from '#services/platform/one-turn.ts';
import { bearerOf } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import { refuseCrossSite } from '#services/platform/http/csrf.ts';
import { createRouter, notFound } from '#services/platform/http/http.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import { idPattern } from '#services/platform/ids.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { identityEndpoints } from '#services/identity/contract.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { requirePassword } from './proof.ts';
import {
  clearSessionCookie,
  describeSession,
  endCookieSession,
  sessionToken,
  setSessionCookie,
} from './cookie.ts';
import type { SignInDependencies } from './cookie.ts';
import {
  endSession,
  endSessionsOf,
  listSessions,
  markAuthenticated,
  refreshSession,
  liveSessions,
  useSession,
} from './sessions.ts';
import type { Session } from './sessions.ts';
import type { Tokens } from './tokens.ts';
import { findUser } from '#services/identity/accounts/users.ts';

export type SessionRouteDependencies = SignInDependencies & {
  rateLimits: RateLimits;
};

/** Accepts a valid token whose session belongs to its user and lives, of an account not being erased. */
export function authenticator({
  pool,
  tokens,
  clock,
}: Pick<SessionRouteDependencies, 'pool' | 'tokens' | 'clock'>): Authenticate {
  const userOf = inOneTurn(async (ids: readonly string[]) =>
    liveSessions(pool, ids, new Date(clock())),
  );
  return async (bearer) => {
    const claims = await tokens.verify(bearer);
    if (!claims) return null;
    const isLive = (await userOf(claims.sessionId)) === claims.userId;
    return isLive ? { ...claims, apiKey: null } : null;
  };
}

/** Refresh, logout, and the list of sessions. */
export function sessionHandlers(
  dependencies: SessionRouteDependencies & { authenticate: Authenticate },
) {
  const { pool, publicUrl, rateLimits, authenticate } = dependencies;
  const now = () => new Date(dependencies.clock());
  return {
    'POST /auth/refresh': async ({ context }) => {
      await rateLimits.takeFrom('refresh', context.get('address'));
      const token = sessionToken(context, publicUrl);
      const refreshed =
        token === undefined ? null : await refreshSession(dependencies, token, now());
      const account =
        refreshed === null || refreshed === 'reused'
          ? null
          : await findUser(pool, refreshed.userId);
      if (refreshed === null || refreshed === 'reused' || account === null) {
        clearSessionCookie(context, publicUrl);
        if (refreshed !== null && refreshed !== 'reused')
          context.get('log').warn('No authenticated user found');
        throw identityProblem('authentication-required');
      }
      setSessionCookie(context, publicUrl, refreshed);
      return describeSession(dependencies, account, refreshed.sessionId);
    },
    'GET /auth/session': async ({ context }) => {
      refuseCrossSite(context);
      const token = sessionToken(context, publicUrl);
      const session = token === undefined ? null : await useSession(dependencies, token, now());
      if (session === 'reused') clearSessionCookie(context, publicUrl);
      // An old cookie stays: another tab may have signed in meanwhile.
      if (session === null || session === 'reused') return null;
      const account = await findUser(pool, session.userId);
      if (account === null) context.get('log').warn('No authenticated user found');
      return account && describeSession(dependencies, account, session.sessionId);
    },
    'POST /auth/logout': async ({ context }) => {
      await endCookieSession(dependencies, context, 'logout');
      // A client that keeps no cookies signs out by its token.
      const bearer = bearerOf(context.req.header('authorization'));
      const caller = bearer === undefined ? null : await authenticate(bearer);
      if (caller) await endOne(dependencies, caller, 'logout', now());
      clearSessionCookie(context, publicUrl);
      // Pages that the back button would show again, and pictures. Not "storage": it holds the
      // colours and the consent that the user chose, and nothing of the session. Not "cookies": the
      // nonce of a link that was just asked for must stay.
      context.header('Clear-Site-Data', '"cache"');
      return { ok: true as const };
    },
    'GET /auth/sessions': async ({ userId, sessionId }) =>
      listSessions(pool, userId, sessionId, now()),
    'DELETE /auth/sessions/{id}': async ({ context, userId, sessionId, path: { id } }) => {
      if (!idPattern('ses').test(id)) throw notFound();
      if (!(await endOne(dependencies, { sessionId: id, userId }, 'ended', now())))
        throw notFound();
      if (id === sessionId) clearSessionCookie(context, publicUrl);
      return { id, deleted: true as const };
    },
    'POST /auth/sessions/end-others': async ({ userId, sessionId }) => {
      const ended = await endSessionsOf(pool, userId, 'others-ended', now(), sessionId);
      await dependencies.audit({
        actor: userId,
        action: 'session.ended',
        subject: userId,
        userId,
        detail: { reason: 'others-ended', count: ended },
      });
      return { ended };
    },
    'POST /auth/reauthenticate': async ({ context, sessionId, body }) => {
      await requirePassword(dependencies, context, body.password);
      await markAuthenticated(pool, sessionId, now());
      return { ok: true as const };
    },
  } satisfies Partial<Handlers<typeof identityEndpoints>>;
}

/** `GET /.well-known/jwks.json`, beside the pages and not under /api. */
export function keySetRoutes({ tokens }: { tokens: Tokens }) {
  return createRouter().get('/.well-known/jwks.json', (context) => {
    context.header('Cache-Control', 'public, max-age=300');
    return context.json(tokens.jwks());
  });
}

async function endOne(
  { pool, audit }: SessionRouteDependencies,
  { sessionId, userId }: Session,
  reason: string,
  now: Date,
): Promise<boolean> {
  const isEnded = await endSession(pool, sessionId, userId, reason, now);
  if (isEnded)
    await audit({
      actor: userId,
      action: 'session.ended',
      subject: sessionId,
      userId,
      detail: { reason },
    });
  return isEnded;
}
