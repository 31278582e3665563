import type * as v from 'valibot';
import {
  type ExchangeRequest,
  type LinkKind,
  LinkReply,
  type PasswordResetRequest,
} from '#services/identity/contract.ts';
import type { User } from '#services/identity/contract/session.ts';
import { write } from '#web/api/api.ts';
import { enter, note, SignedInReply } from '#web/features/identity/sessions/session.ts';

/** Calls of the pages that an emailed link leads to. No other page loads them. */

/** Signs in with a link's one-time pair of tokens or its code. */
export async function exchange(request: v.InferInput<typeof ExchangeRequest>): Promise<User> {
  const reply = await write('POST', '/auth/exchange', request, SignedInReply);
  enter(reply);
  return reply.user;
}

/** Sets a password with the ticket of a reset link, and signs in. */
export async function resetPassword(
  request: v.InferInput<typeof PasswordResetRequest>,
): Promise<void> {
  const reply = await write('POST', '/auth/password/reset', request, SignedInReply);
  note('password recovery');
  enter(reply);
}

/** Uses up a link of an email and returns the path to go to. */
export async function followLink(kind: LinkKind, token: string): Promise<LinkReply> {
  return write('POST', `/auth/links/${kind}`, { token }, LinkReply);
}
