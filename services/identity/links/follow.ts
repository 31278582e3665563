import type pg from 'pg';
import { sqlState } from '#db/transaction.ts';
import type { Audit, AuditEntry } from '#services/platform/audit.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import type { LinkKind } from '#services/identity/contract.ts';
import { addressChangedEmail } from './emails.ts';
import type { EmailHead } from './emails.ts';
import { isSameBrowser, issueLink, voidLaterUndos, voidLinks } from './links.ts';
import type { Link } from './links.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { revokeApiKeysOf } from '#services/identity/api-keys/api-keys.ts';
import { endSessionsOf } from '#services/identity/sessions/sessions.ts';
import type { Tokens } from '#services/identity/sessions/tokens.ts';
import type { Account } from '#services/identity/accounts/users.ts';

/**
 * The effects of a used link, in the transaction that used it, and the page to open next.
 */
export type FollowDependencies = EmailHead & {
  tokens: Tokens;
  queueMail: QueueMail;
  audit: Audit;
};

/** Everything that decides what one use of a link does. */
export type Use = {
  client: pg.ClientBase;
  link: Link;
  account: Account;
  /** Of this request; null for a browser without a nonce. */
  browser: Buffer | null;
  /** Gives this browser a nonce, to which later links are bound. */
  bind: () => Buffer;
  now: Date;
};

/** The page to open; a function when it is known only after the commit. */
export type Destination = string | ((dependencies: FollowDependencies) => Promise<string>);

export async function follow(
  dependencies: FollowDependencies,
  kind: LinkKind,
  use: Use,
  isSignedIn: boolean,
): Promise<Destination> {
  switch (kind) {
    case 'confirm':
      return followConfirm(dependencies, use, isSignedIn);
    case 'magic':
      return followMagic(dependencies, use);
    case 'reset':
      return followReset(dependencies, use);
    case 'email':
      return followEmail(dependencies, use);
    case 'undo':
      return followUndo(dependencies, use);
  }
}

const confirmed = '/auth/confirm?confirmed=true';

async function followConfirm(
  dependencies: FollowDependencies,
  use: Use,
  isSignedIn: boolean,
): Promise<Destination> {
  const landing = `${confirmed}${redirectOf(use)}`;
  if (use.account.email_confirmed_at !== null && isSignedIn) return landing;
  const ticket = await proveAddress(dependencies, use);
  if (ticket !== null) return resetPage(ticket, 'confirmed');
  if (!askedHere(use)) return landing;
  return pairFor(use, 'confirm', (pair) => `${landing}&${pair}`);
}

/** The page that was asked for together with the link, as a further parameter. */
function redirectOf({ link: { redirect } }: Use): string {
  return redirect === null ? '' : `&redirect=${encodeURIComponent(redirect)}`;
}

async function followMagic(dependencies: FollowDependencies, use: Use): Promise<Destination> {
  const { link } = use;
  const ticket = await proveAddress(dependencies, use);
  if (ticket !== null) return resetPage(ticket, 'confirmed');
  const redirect = redirectOf(use);
  if (link.code_challenge !== null) {
    const { token } = await issueExchange(use, 'magic');
    return `/?code=${token}${redirect}`;
  }
  // The link stays unused, so the browser that asked can still open it.
  if (!askedHere(use)) throw identityProblem('link-other-browser');
  return pairFor(use, 'magic', (pair) => `/#${pair}${redirect}`);
}

/** Reached only in the browser that asked. */
async function followReset(dependencies: FollowDependencies, use: Use): Promise<Destination> {
  const ticket = await proveAddress(dependencies, use);
  return ticket === null ? resetPage(await issueTicket(use)) : resetPage(ticket, 'confirmed');
}

/** Reached only in the browser that asked. The previous address has a week to undo the change. */
async function followEmail(dependencies: FollowDependencies, use: Use): Promise<Destination> {
  const { client, link, account, now } = use;
  await moveTo(client, account, link.email, now);
  await voidLinks(client, account.id, now);
  const undo = await issueLink(
    client,
    { userId: account.id, kind: 'undo', email: account.email, browser: null },
    now,
  );
  await dependencies.queueMail(
    {
      userId: account.id,
      to: account.email,
      kind: 'email-changed',
      content: addressChangedEmail(dependencies, undo.token),
      notAfter: undo.expiresAt,
    },
    client,
  );
  await noteAccount(dependencies, use, 'address.changed');
  return confirmed;
}

/** In any browser: the reader of the account's previous mailbox counts as its owner. */
async function followUndo(dependencies: FollowDependencies, use: Use): Promise<Destination> {
  const { client, link, account, now } = use;
  await moveTo(client, account, link.email, now);
  await voidLaterUndos(client, link, now);
  await noteAccount(dependencies, use, 'address.restored');
  await removeEntrances(dependencies, use, 'address-restored');
  return resetPage(await issueTicket(use), 'undone');
}

/**
 * The first proof that a user reads mail at the address of an account. When it comes from another
 * browser than the one that signed up, the sign-up may have used a stranger's address. Then everything
 * set up so far is removed, and a ticket to choose a password is returned. Null when the password stays.
 */
async function proveAddress(dependencies: FollowDependencies, use: Use): Promise<string | null> {
  const { client, account, browser, now } = use;
  if (account.email_confirmed_at !== null) return null;
  await client.query(
    'update users set email_confirmed_at = $2, signup_browser = null, updated_at = $2 where id = $1',
    [account.id, now],
  );
  await noteAccount(dependencies, use, 'address.confirmed');
  if (isSameBrowser(account.signup_browser, browser)) return null;
  await client.query('update users set name = $2 where id = $1', [account.id, namelessName]);
  await removeEntrances(dependencies, use, 'confirmed-elsewhere');
  return issueTicket(use);
}

/** Replaces the name, which a stranger may have chosen. */
const namelessName = 'User';

/** Removes password, sessions, API keys and open links: nothing set up before can sign in. */
async function removeEntrances(
  dependencies: FollowDependencies,
  use: Use,
  reason: string,
): Promise<void> {
  const { client, account, now } = use;
  await client.query(
    `update users set password_hash = null, password_changed_at = $2, updated_at = $2
     where id = $1`,
    [account.id, now],
  );
  await endSessionsOf(client, account.id, reason, now);
  const revoked = await revokeApiKeysOf(client, account.id, now);
  await voidLinks(client, account.id, now);
  await noteAccount(dependencies, use, 'password.removed', { api_keys_revoked: revoked });
}

/** @throws Problem 409 `email-in-use` when another account has taken the address in the meantime */
async function moveTo(
  client: pg.ClientBase,
  account: Account,
  email: string,
  now: Date,
): Promise<void> {
  const { rowCount } = await client
    .query(
      `update users set email = $2, email_confirmed_at = $3, updated_at = $3
       where id = $1 and not exists (
         select from auth_link where kind = 'undo' and email = $2 and user_id <> $1
           and used_at is null and voided_at is null and expires_at > $3)`,
      [account.id, email, now],
    )
    .catch((error: unknown) => {
      if (sqlState(error) === uniqueViolation) throw identityProblem('email-in-use');
      throw error;
    });
  if (rowCount !== 1) throw identityProblem('email-in-use');
}

const uniqueViolation = '23505';

/** Whether this is the browser in which the link was asked for. */
function askedHere({ link, browser }: Use): boolean {
  return isSameBrowser(link.browser_hash, browser);
}

/** What allows this browser to choose a password. */
async function issueTicket({ client, account, link, bind, now }: Use): Promise<string> {
  const isUndo = link.kind === 'undo';
  const { token } = await issueLink(
    client,
    {
      userId: account.id,
      kind: 'set_password',
      email: isUndo ? link.email : account.email,
      browser: bind(),
    },
    now,
  );
  return token;
}

function resetPage(ticket: string, reason?: 'confirmed' | 'undone'): string {
  return `/reset-password${reason === undefined ? '' : `?reason=${reason}`}#${ticket}`;
}

async function issueExchange(
  { client, account, link, now }: Use,
  method: 'confirm' | 'magic',
): Promise<{ id: string; token: string }> {
  const { browser_hash: browser, code_challenge, remembered } = link;
  return issueLink(
    client,
    {
      userId: account.id,
      kind: 'exchange',
      email: account.email,
      browser,
      code_challenge,
      remembered,
      method,
    },
    now,
  );
}

/** The one-time pair, as the parameters of an address. */
async function pairFor(
  use: Use,
  method: 'confirm' | 'magic',
  page: (pair: string) => string,
): Promise<Destination> {
  const { id } = await issueExchange(use, method);
  return async ({ tokens }) => {
    const pair = await tokens.signLinkPair({ id, userId: use.account.id });
    return page(`access_token=${pair.access}&refresh_token=${pair.refresh}`);
  };
}

async function noteAccount(
  { audit }: FollowDependencies,
  { client, account }: Use,
  action: string,
  detail: AuditEntry['detail'] = {},
): Promise<void> {
  const { id } = account;
  await audit({ actor: id, action, subject: id, userId: id, detail }, client);
}
