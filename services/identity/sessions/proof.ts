import type pg from 'pg';
import type { Audit } from '#services/platform/audit.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { verifyPassword } from '#services/identity/passwords/passwords.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { recentlyAuthenticated } from './sessions.ts';
import { findUser } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';

/** Proof that the caller is the user: a session alone may be stolen or left open. */
export type ProofDependencies = {
  pool: pg.Pool;
  audit: Audit;
  rateLimits: RateLimits;
  clock: () => number;
};

/** @throws Problem 403 `reauthentication-required` unless the session was proved in the last five minutes */
export async function requireRecentProof(
  { pool, clock }: ProofDependencies,
  context: HttpContext,
): Promise<void> {
  const isRecent = await recentlyAuthenticated(pool, context.get('sessionId'), new Date(clock()));
  if (!isRecent) throw identityProblem('reauthentication-required');
}

/**
 * The account of the caller, whose password was given.
 *
 * @throws Problem 403 `wrong-password`, 409 `no-password`, 429
 */
export async function requirePassword(
  { pool, audit, rateLimits }: Pick<ProofDependencies, 'pool' | 'audit' | 'rateLimits'>,
  context: HttpContext,
  password: string,
): Promise<Account> {
  const userId = context.get('userId');
  await rateLimits.take('password', userId, { userId, address: context.get('address') });
  const account = await findUser(pool, userId);
  if (!account) throw identityProblem('authentication-required');
  if (account.password_hash === null) throw identityProblem('no-password');
  if (await verifyPassword(password, account.password_hash)) return account;
  await audit({
    actor: userId,
    action: 'login.refused',
    subject: context.get('sessionId'),
    userId,
    detail: { reason: 'wrong-password' },
  });
  throw identityProblem('wrong-password');
}
