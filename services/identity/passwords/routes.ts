import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import type { Call, Handlers } from '#services/platform/http/serve.ts';
import { Problem } from '#services/platform/problem.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { Afterwards } from '#services/identity/afterwards.ts';
import type { identityEndpoints } from '#services/identity/contract.ts';
import type { DoneReply, SessionReply } from '#services/identity/contract/session.ts';
import { passwordChangedEmail } from '#services/identity/links/emails.ts';
import type { EmailHead } from '#services/identity/links/emails.ts';
import { findLink, holdAccount, takeLink, voidLinks } from '#services/identity/links/links.ts';
import { mailChange } from '#services/identity/links/mailed.ts';
import { refuseCommonPassword } from './new-password.ts';
import { hashPassword } from './passwords.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { requirePassword } from '#services/identity/sessions/proof.ts';
import { browserNonce, knownBrowser, setDeviceCookie } from '#services/identity/sessions/cookie.ts';
import type { SignInDependencies } from '#services/identity/sessions/cookie.ts';
import { revokeApiKeysOf } from '#services/identity/api-keys/api-keys.ts';
import { endSessionsOf, markAuthenticated } from '#services/identity/sessions/sessions.ts';
import { signIn } from '#services/identity/sessions/sign-in.ts';
import { findUser, findUserByEmail, normalizedEmail } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';

/**
 * New passwords and new addresses. The transaction that changes a password also ends the other
 * sessions, voids open links and queues an email.
 */
export type PasswordDependencies = SignInDependencies &
  EmailHead & {
    queueMail: QueueMail;
    rateLimits: RateLimits;
    afterwards: Afterwards;
  };

export function passwordHandlers(dependencies: PasswordDependencies) {
  return {
    'POST /auth/password/reset': (call) => resetPassword(dependencies, call),
    'POST /auth/password/change': (call) => changePassword(dependencies, call),
    'POST /auth/email/change': (call) => changeAddress(dependencies, call),
  } satisfies Partial<Handlers<typeof identityEndpoints>>;
}

type CallOf<Name extends keyof typeof identityEndpoints> = Call<typeof identityEndpoints, Name>;

/** The ticket comes from a link that proved the address; choosing the password signs in. */
async function resetPassword(
  dependencies: PasswordDependencies,
  { context, body: { token, password } }: CallOf<'POST /auth/password/reset'>,
): Promise<SessionReply> {
  const { pool, rateLimits, publicUrl, productName, clock } = dependencies;
  await rateLimits.takeFrom('link-use', context.get('address'));
  const browser = knownBrowser(context, publicUrl);
  const now = new Date(clock());
  const link = await findLink(pool, 'set_password', token, browser, now);
  const owner = await findUser(pool, link.user_id);
  if (!owner) throw identityProblem('link-invalid');
  refuseCommonPassword(password, owner, { productName, field: 'password' });
  const passwordHash = await hashPassword(password);
  const account = await inTransaction(pool, async (client) => {
    const held = await holdAccount(client, link.user_id);
    if (!held || held.email_confirmed_at === null || held.email !== link.email)
      throw identityProblem('link-invalid');
    await takeLink(client, link, browser, now);
    const action = 'password.reset';
    await setPassword(dependencies, client, held, {
      passwordHash,
      action,
      now,
      revokeApiKeys: true,
    });
    return { ...held, password_changed_at: now };
  });
  const how = { method: 'reset', remembered: false } as const;
  return signIn(dependencies, context, account, how);
}

async function changePassword(
  dependencies: PasswordDependencies,
  { context, sessionId, body }: CallOf<'POST /auth/password/change'>,
): Promise<DoneReply> {
  const { pool, productName, clock } = dependencies;
  const { current_password: current, new_password: next } = body;
  const account = await requirePassword(dependencies, context, current);
  if (next === current) {
    const message = "That's already your password.";
    throw new Problem('validation', message, { errors: [{ field: 'new_password', message }] });
  }
  refuseCommonPassword(next, account, { productName, field: 'new_password' });
  const passwordHash = await hashPassword(next);
  const now = new Date(clock());
  await inTransaction(pool, async (client) => {
    const held = await holdAccount(client, account.id);
    if (!held) throw identityProblem('account-erasing');
    // It may have been changed since it was compared.
    if (held.password_hash !== account.password_hash) throw identityProblem('wrong-password');
    const action = 'password.changed';
    await setPassword(dependencies, client, held, {
      passwordHash,
      action,
      now,
      except: sessionId,
      revokeApiKeys: body.revoke_api_keys,
    });
    await markAuthenticated(client, sessionId, now);
  });
  await setDeviceCookie(dependencies, context, { id: account.id, password_changed_at: now });
  return { ok: true };
}

/** The change waits for proof of the new address. The response does not say whether it is taken. */
async function changeAddress(
  dependencies: PasswordDependencies,
  { context, userId, sessionId, body }: CallOf<'POST /auth/email/change'>,
): Promise<DoneReply> {
  const { pool, rateLimits, publicUrl, afterwards, clock } = dependencies;
  const account = await requirePassword(dependencies, context, body.password);
  const email = normalizedEmail(body.email);
  if (email === account.email)
    throw identityProblem('invalid-email', {
      errors: [{ field: 'email', message: "That's already your address." }],
    });
  const address = context.get('address');
  await rateLimits.takeFrom('mail-address', address, { userId });
  await rateLimits.take('link', userId, { address, userId });
  // Limited by mailbox, too: it may be a stranger's, and a user may have many accounts.
  await rateLimits.take('mail-account', email, { address, userId });
  const browser = browserNonce(context, publicUrl);
  await markAuthenticated(pool, sessionId, new Date(clock()));
  afterwards.begin(async () => {
    const owner = await findUserByEmail(pool, email);
    await mailChange(dependencies, { account, email, browser, owner });
  });
  return { ok: true };
}

type PasswordSetting = {
  passwordHash: string;
  action: 'password.reset' | 'password.changed';
  now: Date;
  /** The session that does not end. */
  except?: string;
  revokeApiKeys: boolean;
};

async function setPassword(
  dependencies: PasswordDependencies,
  client: pg.ClientBase,
  { id, email }: Account,
  { passwordHash, action, now, except, revokeApiKeys }: PasswordSetting,
): Promise<void> {
  await client.query(
    `update users set password_hash = $2, password_changed_at = $3, updated_at = $3 where id = $1`,
    [id, passwordHash, now],
  );
  await endSessionsOf(client, id, 'password-changed', now, except);
  const revoked = revokeApiKeys ? await revokeApiKeysOf(client, id, now) : 0;
  await voidLinks(client, id, now);
  const content = passwordChangedEmail(dependencies);
  await dependencies.queueMail(
    { userId: id, to: email, kind: 'password-changed', content },
    client,
  );
  const detail = { api_keys_revoked: revoked };
  await dependencies.audit({ actor: id, action, subject: id, userId: id, detail }, client);
}
