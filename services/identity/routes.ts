import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type postgres from 'postgres';
import { requireUser } from '#services/platform/auth.ts';
import type { Authenticate } from '#services/platform/auth.ts';
import { answerData, createRouter, parseBody } from '#services/platform/http.ts';
import type { HttpContext } from '#services/platform/http.ts';
import { Problem } from '#services/platform/problem.ts';
import { identityProblems, LoginRequest, policyVersion, SignupRequest } from './contract.ts';
import type { SessionReply, User } from './contract.ts';
import { hashPassword, verifyPassword } from './passwords.ts';
import { beginSession, endSession, sessionLives, useSession } from './sessions.ts';
import type { Tokens } from './tokens.ts';
import { createUser, describeUser, findUser, findUserByEmail } from './users.ts';
import type { Account } from './users.ts';

export type IdentityDependencies = {
  sql: postgres.Sql;
  tokens: Tokens;
  publicUrl: string;
  /** Runs that a person began this month. */
  runsThisMonth: (userId: string) => Promise<number>;
  monthlyLimits: Readonly<Record<string, number>>;
  clock: () => number;
};

/** A valid token whose session has not ended. */
export function authenticator({
  sql,
  tokens,
}: Pick<IdentityDependencies, 'sql' | 'tokens'>): Authenticate {
  return async (bearer) => {
    const claims = await tokens.verify(bearer);
    return claims && (await sessionLives(sql, claims.sessionId)) ? claims : null;
  };
}

export function identityRoutes(dependencies: IdentityDependencies, authenticate: Authenticate) {
  const { sql } = dependencies;
  return createRouter()
    .post('/auth/signup', async (context) => {
      const request = await parseBody(context, SignupRequest);
      const account = await createUser(sql, {
        email: request.email,
        name: request.name,
        passwordHash: await hashPassword(request.password),
        termsVersion: policyVersion,
      });
      const session = await signIn(dependencies, context, account, false);
      return answerData(context, { ...session, needsEmailVerification: false }, 201);
    })
    .post('/auth/login', async (context) => {
      const request = await parseBody(context, LoginRequest);
      const account = await findUserByEmail(sql, request.email);
      const correct = await verifyPassword(request.password, account?.password_hash ?? null);
      if (!account || !correct) {
        const { status, message } = identityProblems['wrong-credentials'];
        throw new Problem(status, 'wrong-credentials', message);
      }
      return answerData(context, await signIn(dependencies, context, account, request.remember));
    })
    .get('/auth/session', async (context) => {
      refuseCrossSite(context);
      const token = getCookie(context, cookieName(dependencies.publicUrl));
      const session = token === undefined ? null : await useSession(sql, token);
      const account = session && (await findUser(sql, session.userId));
      if (!session || !account) return answerData(context, null);
      return answerData(context, await describeSession(dependencies, account, session.id));
    })
    .post('/auth/logout', async (context) => {
      refuseCrossSite(context);
      const name = cookieName(dependencies.publicUrl);
      const token = getCookie(context, name);
      if (token !== undefined) await endSession(sql, token);
      deleteCookie(context, name, cookieAttributes(dependencies.publicUrl));
      return answerData(context, { ok: true });
    })
    .get('/users/me', requireUser(authenticate), async (context) => {
      const account = await findUser(sql, context.get('userId'));
      if (!account) throw new Problem(401, 'authentication-required', 'Authentication required');
      return answerData(context, await describePerson(dependencies, account));
    });
}

async function signIn(
  dependencies: IdentityDependencies,
  context: HttpContext,
  account: Account,
  remember: boolean,
): Promise<SessionReply> {
  const { sql, publicUrl } = dependencies;
  const { session, token, cookieSeconds } = await beginSession(sql, account.id, remember);
  setCookie(context, cookieName(publicUrl), token, {
    ...cookieAttributes(publicUrl),
    ...(cookieSeconds === null ? {} : { maxAge: cookieSeconds }),
  });
  return describeSession(dependencies, account, session.id);
}

async function describeSession(
  dependencies: IdentityDependencies,
  account: Account,
  sessionId: string,
): Promise<SessionReply> {
  const { token, expiresAt } = await dependencies.tokens.sign(account.id, sessionId);
  return {
    token,
    access_token: token,
    expires_at: expiresAt.toISOString(),
    expires_in: Math.round((expiresAt.getTime() - dependencies.clock()) / 1000),
    user: await describePerson(dependencies, account),
  };
}

async function describePerson(
  { runsThisMonth, monthlyLimits }: IdentityDependencies,
  account: Account,
): Promise<User> {
  const used = await runsThisMonth(account.id);
  return describeUser(account, used, monthlyLimits[account.subscription_tier] ?? 0);
}

/** `__Host-` needs https; over http, which is loopback only, browsers refuse it. */
function cookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-refresh' : 'sf_refresh';
}

function cookieAttributes(publicUrl: string) {
  return {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: publicUrl.startsWith('https:'),
  } as const;
}

/** Cookies speak only for pages of our own. */
function refuseCrossSite(context: HttpContext): void {
  if (context.req.header('sec-fetch-site') === 'cross-site')
    throw new Problem(403, 'cross-site', 'This call is answered to our own pages only.');
}
