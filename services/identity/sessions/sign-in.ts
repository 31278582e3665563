import type { HttpContext } from '#services/platform/http/http.ts';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { answerSignedIn, clearSessionCookie } from './cookie.ts';
import type { SignInDependencies } from './cookie.ts';
import { endSession } from './sessions.ts';
import type { SessionMethod } from './sessions.ts';
import { changedAt, findUser } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';

/**
 * Signs in a user who has just proved who they are; `account` is as it was then. A change of password
 * ends all sessions, but would miss one that was proved before it and begins after it. So the account is
 * read once more, and such a session ended.
 *
 * @throws Problem 401 `wrong-credentials` when the password was changed or removed in between
 */
export async function signIn(
  dependencies: SignInDependencies,
  context: HttpContext,
  account: Account,
  how: { method: SessionMethod; remembered: boolean },
): Promise<SessionReply> {
  const { pool, publicUrl, clock } = dependencies;
  const reply = await answerSignedIn(dependencies, context, account, how);
  const current = await findUser(pool, account.id);
  if (current && changedAt(current) === changedAt(account)) return reply;
  const sessionId = context.get('sessionId');
  await endSession(pool, sessionId, account.id, 'password-changed', new Date(clock()));
  clearSessionCookie(context, publicUrl);
  throw identityProblem('wrong-credentials');
}
