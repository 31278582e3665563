import { randomBytes } from 'node:crypto';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type pg from 'pg';
import type { Audit } from '#services/platform/audit.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import type { SessionReply, User } from '#services/identity/contract/session.ts';
import { hashOf } from '#services/identity/token-hash.ts';
import { beginSession, endSessionOfToken } from './sessions.ts';
import type { CookieContent, SessionMethod } from './sessions.ts';
import { deviceSeconds } from './tokens.ts';
import type { KnownDevice, Tokens } from './tokens.ts';
import { changedAt, describeUser } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';

/**
 * The browser gets the refresh token in a cookie that no script can read, and the access token only in
 * the response's body.
 */
export type SignInDependencies = {
  pool: pg.Pool;
  tokens: Tokens;
  audit: Audit;
  publicUrl: string;
  /** Runs that a user began this month. */
  runsThisMonth: (userId: string) => Promise<number>;
  monthlyLimits: Readonly<Record<string, number>>;
  clock: () => number;
};

/**
 * Begins a session, sets its cookie and answers with the first access token; the context then has
 * `userId` and `sessionId`. The session of this browser's earlier cookie ends, because it would be
 * unreachable. The caller checks whether the address must be proved first.
 *
 * @throws Problem 409 `account-erasing`
 */
export async function answerSignedIn(
  dependencies: SignInDependencies,
  context: HttpContext,
  account: Account,
  how: { method: SessionMethod; remembered: boolean },
): Promise<SessionReply> {
  const { pool, audit, publicUrl, clock } = dependencies;
  const begun = await beginSession(
    pool,
    {
      ...how,
      userId: account.id,
      device: deviceOf(context.req.header('user-agent')),
      address: context.get('address'),
    },
    new Date(clock()),
  );
  await endCookieSession(dependencies, context, 'replaced');
  await audit({
    actor: account.id,
    action: 'session.started',
    subject: begun.sessionId,
    userId: account.id,
    detail: how,
  });
  setSessionCookie(context, publicUrl, begun);
  await setDeviceCookie(dependencies, context, account);
  context.set('userId', account.id);
  context.set('sessionId', begun.sessionId);
  return describeSession(dependencies, account, begun.sessionId);
}

/** A new access token of a session, and its user. */
export async function describeSession(
  { tokens, clock, runsThisMonth, monthlyLimits }: SignInDependencies,
  account: Account,
  sessionId: string,
): Promise<SessionReply> {
  const { token, expiresAt } = await tokens.sign(account.id, sessionId);
  const used = await runsThisMonth(account.id);
  const user: User = describeUser(account, used, monthlyLimits[account.subscription_tier] ?? 0);
  return {
    token,
    access_token: token,
    expires_at: expiresAt.toISOString(),
    expires_in: Math.round((expiresAt.getTime() - clock()) / 1000),
    user,
  };
}

// --- the cookie of the session ---

export function sessionToken(context: HttpContext, publicUrl: string): string | undefined {
  return getCookie(context, cookieName('refresh', publicUrl));
}

/** A cookie without an age ends with the browser. */
export function setSessionCookie(
  context: HttpContext,
  publicUrl: string,
  { token, cookieSeconds }: CookieContent,
): void {
  setCookie(context, cookieName('refresh', publicUrl), token, {
    ...attributes(publicUrl),
    ...(cookieSeconds === null ? {} : { maxAge: cookieSeconds }),
  });
}

/** Ends the session of the request's cookie, if there is one, and keeps the cookie. */
export async function endCookieSession(
  { pool, audit, publicUrl, clock }: SignInDependencies,
  context: HttpContext,
  reason: string,
): Promise<void> {
  const token = sessionToken(context, publicUrl);
  const ended =
    token === undefined ? null : await endSessionOfToken(pool, token, reason, new Date(clock()));
  if (ended)
    await audit({
      actor: ended.userId,
      action: 'session.ended',
      subject: ended.sessionId,
      userId: ended.userId,
      detail: { reason },
    });
}

export function clearSessionCookie(context: HttpContext, publicUrl: string): void {
  deleteCookie(context, cookieName('refresh', publicUrl), attributes(publicUrl));
}

// --- the account that was last signed in here ---

/** Outlives the session, so that others' guesses and requests cannot keep the owner out. */
export async function setDeviceCookie(
  { tokens, publicUrl }: Pick<SignInDependencies, 'tokens' | 'publicUrl'>,
  context: HttpContext,
  account: Pick<Account, 'id' | 'password_changed_at'>,
): Promise<void> {
  const passwordAt = changedAt(account) ?? 0;
  const token = await tokens.signDevice({ userId: account.id, passwordAt });
  setCookie(context, cookieName('device', publicUrl), token, {
    ...attributes(publicUrl),
    maxAge: deviceSeconds,
  });
}

/** The content of the cookie. The caller compares it with the account and its current password. */
export async function deviceOfCookie(
  { tokens, publicUrl }: Pick<SignInDependencies, 'tokens' | 'publicUrl'>,
  context: HttpContext,
): Promise<KnownDevice | null> {
  const token = getCookie(context, cookieName('device', publicUrl));
  return token === undefined ? null : tokens.verifyDevice(token);
}

// --- the nonce of the browser that asks for a link ---

/** As long as the longest link that is bound to the nonce. */
const nonceSeconds = 86_400;

/**
 * Gives this browser a nonce for a day and returns its SHA-256, to which links are bound. An existing
 * nonce is kept, so that earlier links stay usable.
 */
export function browserNonce(context: HttpContext, publicUrl: string): Buffer {
  const nonce = nonceOf(context, publicUrl) ?? randomBytes(32).toString('base64url');
  setCookie(context, cookieName('nonce', publicUrl), nonce, {
    ...attributes(publicUrl),
    maxAge: nonceSeconds,
  });
  return hashOf(nonce);
}

/** The SHA-256 of this browser's nonce; null when it has none. */
export function knownBrowser(context: HttpContext, publicUrl: string): Buffer | null {
  const nonce = nonceOf(context, publicUrl);
  return nonce === null ? null : hashOf(nonce);
}

function nonceOf(context: HttpContext, publicUrl: string): string | null {
  const nonce = getCookie(context, cookieName('nonce', publicUrl));
  return nonce !== undefined && /^[\w-]{43}$/.test(nonce) ? nonce : null;
}

// --- names and attributes ---

/** The name of a cookie. `__Host-` needs https; over http, which is loopback only, browsers refuse it. */
export function cookieName(what: 'refresh' | 'nonce' | 'device', publicUrl: string): string {
  return publicUrl.startsWith('https:') ? `__Host-${what}` : `sf_${what}`;
}

function attributes(publicUrl: string) {
  return {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: publicUrl.startsWith('https:'),
  } as const;
}

// --- the name of the user's browser ---

/** Such as 'Firefox on Linux', from known names only; empty for an unknown browser. */
export function deviceOf(userAgent: string | undefined): string {
  if (userAgent === undefined) return '';
  const start = userAgent.slice(0, userAgentCharacters);
  const browser = browsers.find(([pattern]) => pattern.test(start))?.[1];
  const system = systems.find(([pattern]) => pattern.test(start))?.[1];
  if (browser === undefined) return system ?? '';
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** No browser sends more; a header may hold 16 kB. */
const userAgentCharacters = 500;

// The user agent of each also names those below it.
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac(?:intosh| OS X)\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];
