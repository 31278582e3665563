import { inTransaction } from '#db/transaction.ts';
import { networkOf } from '#services/platform/http/client-address.ts';
import { notFound } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import { Problem } from '#services/platform/problem.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { linkKinds } from '#services/identity/contract.ts';
import type { identityEndpoints, LinkKind, LinkReply } from '#services/identity/contract.ts';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { follow } from './follow.ts';
import type { FollowDependencies } from './follow.ts';
import {
  CodeReplayed,
  findLink,
  holdAccount,
  noteOpened,
  noteReplay,
  noteSession,
  takeExchange,
  takeLink,
} from './links.ts';
import type { ExchangeProof, Link } from './links.ts';
import { identityProblem } from '#services/identity/problems.ts';
import {
  browserNonce,
  clearSessionCookie,
  knownBrowser,
  sessionToken,
} from '#services/identity/sessions/cookie.ts';
import type { SignInDependencies } from '#services/identity/sessions/cookie.ts';
import { endSession, sessionOfToken } from '#services/identity/sessions/sessions.ts';
import { signIn } from '#services/identity/sessions/sign-in.ts';
import { findUser } from '#services/identity/accounts/users.ts';

/**
 * The use of emailed links. A link opens a page that only shows a button, so a scanner that opens links
 * uses none up. The button posts the token here and opens the page that the response names.
 */
export type LinkDependencies = SignInDependencies & FollowDependencies & { rateLimits: RateLimits };

export function linkHandlers(dependencies: LinkDependencies) {
  return {
    'POST /auth/links/{kind}': async ({ context, path, body }) => {
      const kind = linkKinds.find((one) => one === path.kind);
      if (kind === undefined) throw notFound();
      await limitTries(dependencies, context);
      return useLink(dependencies, context, kind, body.token);
    },
    'POST /auth/exchange': async ({ context, body }) => {
      await limitTries(dependencies, context);
      const proof: ExchangeProof =
        'code' in body
          ? { code: body.code, verifier: body.code_verifier }
          : await provenPair(dependencies, context, body);
      return exchange(dependencies, context, proof);
    },
  } satisfies Partial<Handlers<typeof identityEndpoints>>;
}

async function limitTries({ rateLimits }: LinkDependencies, context: HttpContext): Promise<void> {
  await rateLimits.takeFrom('link-use', context.get('address'));
}

// --- the use of a link ---

async function useLink(
  dependencies: LinkDependencies,
  context: HttpContext,
  kind: LinkKind,
  token: string,
): Promise<LinkReply> {
  const { pool, publicUrl, audit, clock } = dependencies;
  const browser = knownBrowser(context, publicUrl);
  const now = new Date(clock());
  const isSignedIn = await signedInHere(dependencies, context, now);
  try {
    const link = await findLink(pool, kind, token, browser, now);
    const destination = await inTransaction(pool, async (client) => {
      const account = await holdAccount(client, link.user_id);
      // A link to an address that the account has left was voided; this is the second check.
      if (!account || (kind !== 'email' && kind !== 'undo' && link.email !== account.email))
        throw identityProblem('link-invalid');
      await takeLink(client, link, browser, now);
      await audit(
        {
          actor: account.id,
          action: 'link.used',
          subject: link.id,
          userId: account.id,
          detail: { kind },
        },
        client,
      );
      const bind = () => browserNonce(context, publicUrl);
      const use = { client, link, account, browser, bind, now };
      return follow(dependencies, kind, use, isSignedIn(account.id));
    });
    const redirect =
      typeof destination === 'string' ? destination : await destination(dependencies);
    // The address that the account has after this use.
    return { redirect, email: link.email };
  } catch (error) {
    if (error instanceof Problem) {
      await noteOpened(pool, token, browserNonce(context, publicUrl), now);
      await audit({
        actor: 'anonymous',
        action: 'link.refused',
        subject: 'unknown',
        detail: { kind, reason: error.code, network: networkOf(context.get('address')) },
      });
    }
    throw error;
  }
}

async function signedInHere(
  { pool, publicUrl }: LinkDependencies,
  context: HttpContext,
  now: Date,
): Promise<(userId: string) => boolean> {
  const token = sessionToken(context, publicUrl);
  const session = token === undefined ? null : await sessionOfToken(pool, token, now);
  return (userId) => session?.userId === userId;
}

// --- the exchange ---

async function provenPair(
  { tokens, publicUrl }: LinkDependencies,
  context: HttpContext,
  pair: { access_token: string; refresh_token: string },
): Promise<ExchangeProof> {
  const ticket = await tokens.verifyLinkPair(pair.access_token, pair.refresh_token);
  if (!ticket) throw identityProblem('link-invalid');
  return { ...ticket, browser: knownBrowser(context, publicUrl) };
}

async function exchange(
  dependencies: LinkDependencies,
  context: HttpContext,
  proof: ExchangeProof,
): Promise<SessionReply> {
  const { pool, clock, publicUrl } = dependencies;
  const now = new Date(clock());
  const link = await takeExchange(pool, proof, now).catch(async (error: unknown) => {
    if (!(error instanceof CodeReplayed)) throw error;
    await endReplayed(dependencies, error.link, now);
    throw identityProblem('link-used');
  });
  const account = await findUser(pool, link.user_id);
  if (!account || account.email_confirmed_at === null || link.method === null)
    throw identityProblem('link-invalid');
  // The password may have changed since the exchange was used.
  const isOlder = (account.password_changed_at ?? link.created_at) > link.created_at;
  if (isOlder || account.email !== link.email) throw identityProblem('link-expired');
  const { method, remembered } = link;
  const reply = await signIn(dependencies, context, account, { method, remembered });
  const sessionId = context.get('sessionId');
  if (await noteSession(pool, link, sessionId)) return reply;
  await endSession(pool, sessionId, account.id, 'code-replayed', now);
  clearSessionCookie(context, publicUrl);
  throw identityProblem('link-used');
}

async function endReplayed(
  { pool, audit }: LinkDependencies,
  link: Link,
  now: Date,
): Promise<void> {
  const sessionId = await noteReplay(pool, link, now);
  if (sessionId !== null) await endSession(pool, sessionId, link.user_id, 'code-replayed', now);
  await audit({
    actor: 'anonymous',
    action: 'link.refused',
    subject: link.id,
    userId: link.user_id,
    detail: { kind: 'exchange', reason: 'replayed', session: sessionId },
  });
}
