import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { newId } from '#services/platform/ids.ts';
import type { LinkKind } from '#services/identity/contract.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { hashOf } from '#services/identity/token-hash.ts';
import { accountColumns } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';

/**
 * Links that carry tokens. A token is 256 random bits, of which only the SHA-256 is stored. It works
 * once: a single UPDATE marks it as used.
 *
 * Two kinds are not sent by email but follow from a link: the ticket to set a password, and the exchange
 * that signs a browser in. An exchange is a pair of signed tokens that name the row, or a code for the
 * holder of a verifier.
 *
 * Every change to a user's links locks the account's row first, so that changes take turns.
 */
export type TokenKind = LinkKind | 'set_password' | 'exchange';

export const linkSeconds: Readonly<Record<TokenKind, number>> = {
  confirm: 86_400,
  email: 86_400,
  magic: 600,
  reset: 600,
  undo: 7 * 86_400,
  set_password: 600,
  exchange: 60,
};

/** These work only in the browser that they were made for; a try elsewhere does not use them up. */
const boundToBrowser: readonly TokenKind[] = ['reset', 'email', 'set_password'];

export type Link = {
  id: string;
  user_id: string;
  kind: TokenKind;
  /** The address that it proves, or, for an undo, brings back. */
  email: string;
  browser_hash: Buffer | null;
  code_challenge: string | null;
  redirect: string | null;
  remembered: boolean;
  method: 'confirm' | 'magic' | null;
  created_at: Date;
  expires_at: Date;
  used_at: Date | null;
  voided_at: Date | null;
  session_id: string | null;
};

const linkColumns = `id, user_id, kind, email, browser_hash, code_challenge, redirect, remembered,
  method, created_at, expires_at, used_at, voided_at, session_id`;

export type NewLink = {
  userId: string;
  kind: TokenKind;
  email: string;
  browser: Buffer | null;
} & Partial<Pick<Link, 'code_challenge' | 'redirect' | 'remembered' | 'method'>>;

/** The account, locked until the transaction ends; null when it is gone or being erased. */
export async function holdAccount(client: pg.ClientBase, userId: string): Promise<Account | null> {
  const { rows } = await client.query<Account>(
    `select ${accountColumns} from users where id = $1 and erasing_at is null for update`,
    [userId],
  );
  return rows[0] ?? null;
}

/**
 * A new link, which voids the earlier ones of its kind. Undos stay: if each change of address voided
 * the undo before it, two changes would be enough to keep a stolen account. A kind that strangers can
 * ask for voids only links that the same browser asked for. Otherwise anyone who knows an address could
 * void every link that its owner is about to open.
 */
export async function issueLink(
  client: Queryable,
  link: NewLink,
  now: Date,
): Promise<{ id: string; token: string; expiresAt: Date }> {
  if (askedByAnyone.includes(link.kind)) await voidOfSameBrowser(client, link, now);
  else if (link.kind !== 'undo') await voidLinks(client, link.userId, now, [link.kind]);
  const id = newId('lnk', now.getTime());
  const token = randomBytes(32).toString('base64url');
  const expiresAt = new Date(now.getTime() + linkSeconds[link.kind] * 1000);
  await client.query(
    `insert into auth_link (id, user_id, kind, token_hash, email, browser_hash, code_challenge,
       redirect, remembered, method, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      id,
      link.userId,
      link.kind,
      hashOf(token),
      link.email,
      link.browser,
      link.code_challenge ?? null,
      link.redirect ?? null,
      link.remembered ?? false,
      link.method ?? null,
      now,
      expiresAt,
    ],
  );
  return { id, token, expiresAt };
}

/** An address is enough to ask for these. */
const askedByAnyone: readonly TokenKind[] = ['confirm', 'magic', 'reset'];

async function voidOfSameBrowser(
  client: Queryable,
  { userId, kind, browser, code_challenge }: NewLink,
  now: Date,
): Promise<void> {
  await client.query(
    `update auth_link set voided_at = $5
     where user_id = $1 and kind = $2 and used_at is null and voided_at is null
       and browser_hash is not distinct from $3 and code_challenge is not distinct from $4`,
    [userId, kind, browser, code_challenge ?? null, now],
  );
}

/** Every kind that a change of password or address voids. */
const ordinaryKinds: readonly TokenKind[] = [
  'confirm',
  'magic',
  'reset',
  'email',
  'set_password',
  'exchange',
];

/** Voids a user's unused links: of these kinds, or all but undos. */
export async function voidLinks(
  client: Queryable,
  userId: string,
  now: Date,
  kinds: readonly TokenKind[] = ordinaryKinds,
): Promise<void> {
  await client.query(
    `update auth_link set voided_at = $3
     where user_id = $1 and kind = any ($2) and used_at is null and voided_at is null`,
    [userId, kinds, now],
  );
}

/** Of all users and kinds. Returns how many. */
export async function voidEveryLink(client: Queryable, now: Date): Promise<number> {
  const { rowCount } = await client.query(
    `update auth_link set voided_at = $1
     where used_at is null and voided_at is null and expires_at > $1`,
    [now],
  );
  return rowCount ?? 0;
}

/**
 * Voids the undos of later changes: an owner who has restored an earlier address must not lose it
 * again to a later mailbox.
 */
export async function voidLaterUndos(client: Queryable, undo: Link, now: Date): Promise<void> {
  await client.query(
    `update auth_link set voided_at = $3
     where user_id = $1 and kind = 'undo' and created_at > $2
       and used_at is null and voided_at is null`,
    [undo.user_id, undo.created_at, now],
  );
}

/**
 * Reads a link without using it, for a caller that prepares its use.
 *
 * @throws Problem `link-invalid`, `link-used`, `link-expired`, `link-other-browser`
 */
export async function findLink(
  client: Queryable,
  kind: TokenKind,
  token: string,
  browser: Buffer | null,
  now: Date,
): Promise<Link> {
  const { rows } = await client.query<Link>(
    `select ${linkColumns} from auth_link where token_hash = $1 and kind = $2`,
    [hashOf(token), kind],
  );
  const link = rows[0];
  const refusal = refusalOf(link, browser, now);
  if (link === undefined || refusal !== null) throw identityProblem(refusal ?? 'link-invalid');
  return link;
}

/**
 * The recent emails to an account, and which of them this browser asked for or opened. `quietMs`: how
 * long unknown browsers get no further email.
 */
export type AskedBefore = {
  /** A link younger than `quietMs` still works. */
  isOut: boolean;
  /** This browser asked for one of those. */
  isOwn: boolean;
  /** This browser has opened an emailed link of the account. */
  hasOpened: boolean;
  /** Of the last hour: all, and those that this browser asked for. */
  mails: number;
  ownMails: number;
};

/** The caller has locked the account. */
export async function askedBefore(
  client: Queryable,
  { userId, kind, nonce }: { userId: string; kind: TokenKind; nonce: Buffer },
  { now, quietMs }: { now: Date; quietMs: number },
): Promise<AskedBefore> {
  const { rows } = await client.query<AskedBefore>(
    `with mailed as (
       select kind, created_at, opened_by, browser_hash = $3 is true as is_own,
         used_at is null and voided_at is null and expires_at > $4
           and created_at > $4::timestamptz - $5::interval as is_out
       from auth_link where user_id = $1 and kind = any ($6)
         and created_at > $4::timestamptz - interval '1 day')
     select coalesce(bool_or(is_out) filter (where kind = $2), false) as "isOut",
       coalesce(bool_or(is_out and is_own) filter (where kind = $2), false) as "isOwn",
       coalesce(bool_or(opened_by = $3), false) as "hasOpened",
       count(*) filter (where kind = $2 and created_at > $4::timestamptz - interval '1 hour')::int
         as mails,
       count(*) filter (where kind = $2 and is_own
         and created_at > $4::timestamptz - interval '1 hour')::int as "ownMails"
     from mailed`,
    [userId, kind, nonce, now, `${quietMs} milliseconds`, askedByAnyone],
  );
  const [before] = rows;
  if (!before) throw new Error('An aggregate has one row');
  return before;
}

/** Another browser than the one that asked has the link, so its user reads the mailbox. */
export async function noteOpened(
  pool: Queryable,
  token: string,
  browser: Buffer,
  now: Date,
): Promise<void> {
  await pool.query(
    `update auth_link set opened_by = $2
     where token_hash = $1 and kind = any ($3) and expires_at > $4`,
    [hashOf(token), browser, askedByAnyone, now],
  );
}

/** Whether this browser asked for a change to this address whose link still works. */
export async function changeIsOut(
  client: Queryable,
  { userId, email, browser }: { userId: string; email: string; browser: Buffer },
  { now, quietMs }: { now: Date; quietMs: number },
): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from auth_link where user_id = $1 and kind = 'email' and email = $2
       and browser_hash = $3 and used_at is null and voided_at is null and expires_at > $4
       and created_at > $4::timestamptz - $5::interval`,
    [userId, email, browser, now, `${quietMs} milliseconds`],
  );
  return rowCount !== 0;
}

/**
 * Uses a link, for good once the transaction commits. The caller has locked its account.
 *
 * @throws Problem as `findLink`; then the link stays unused
 */
export async function takeLink(
  client: pg.ClientBase,
  link: Link,
  browser: Buffer | null,
  now: Date,
): Promise<void> {
  const { rowCount } = await client.query(
    `update auth_link set used_at = $2
     where id = $1 and used_at is null and voided_at is null and expires_at > $2
     returning id`,
    [link.id, now],
  );
  if (rowCount === 1) return;
  const { rows } = await client.query<Link>(`select ${linkColumns} from auth_link where id = $1`, [
    link.id,
  ]);
  throw identityProblem(refusalOf(rows[0], browser, now) ?? 'link-invalid');
}

/** What proves the right to an exchange: a pair of signed tokens, or a code and its verifier. */
export type ExchangeProof =
  | { id: string; userId: string; browser: Buffer | null }
  | { code: string; verifier: string };

/** @throws Problem as `findLink`, and `CodeReplayed` when a code is presented again */
export async function takeExchange(
  pool: Queryable,
  proof: ExchangeProof,
  now: Date,
): Promise<Link> {
  const isCode = 'code' in proof;
  const key = isCode ? hashOf(proof.code) : proof.id;
  const named = isCode
    ? `kind = 'exchange' and token_hash = $1 and code_challenge is not null`
    : `kind = 'exchange' and id = $1 and code_challenge is null`;
  const holder = isCode
    ? createHash('sha256').update(proof.verifier).digest('base64url')
    : proof.browser;
  const { rows: taken } = await pool.query<Link>(
    `update auth_link set used_at = $2
     where ${named} and used_at is null and voided_at is null and expires_at > $2
       and ${isCode ? 'code_challenge' : 'browser_hash'} = $3
     returning ${linkColumns}`,
    [key, now, holder],
  );
  if (taken[0]) return taken[0];
  const { rows } = await pool.query<Link>(`select ${linkColumns} from auth_link where ${named}`, [
    key,
  ]);
  const found = rows[0];
  if (isCode && found && found.used_at !== null) throw new CodeReplayed(found);
  const refusal = found && refusalOfTime(found, now);
  throw identityProblem(refusal ?? (found && !isCode ? 'link-other-browser' : 'link-invalid'));
}

/** A code that was already exchanged: one of its two holders did not ask for it. */
export class CodeReplayed extends Error {
  override readonly name = 'CodeReplayed';
  readonly link: Link;

  constructor(link: Link) {
    super('A code was presented twice');
    this.link = link;
  }
}

/**
 * Records which session an exchange began. False when its code was presented again in the meantime;
 * then that session must end at once.
 */
export async function noteSession(
  pool: Queryable,
  link: Link,
  sessionId: string,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    'update auth_link set session_id = $2 where id = $1 and voided_at is null',
    [link.id, sessionId],
  );
  return rowCount === 1;
}

/** Marks a code as replayed. Returns the session that it began, if there is one. */
export async function noteReplay(pool: Queryable, link: Link, now: Date): Promise<string | null> {
  const { rows } = await pool.query<{ session_id: string | null }>(
    'update auth_link set voided_at = coalesce(voided_at, $2) where id = $1 returning session_id',
    [link.id, now],
  );
  return rows[0]?.session_id ?? null;
}

/** How long an expired link can still say why it does not work, and how many are deleted at a time. */
const linkKeeping = { afterExpirySeconds: 7 * 86_400, purgedAtOnce: 1_000 } as const;

/** Deletes links that expired a week ago. Returns how many. */
export async function purgeLinks(pool: Queryable, now: Date): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from auth_link where id in (
       select id from auth_link
       where expires_at < $1::timestamptz - make_interval(secs => $2)
       limit $3)`,
    [now, linkKeeping.afterExpirySeconds, linkKeeping.purgedAtOnce],
  );
  return rowCount ?? 0;
}

export function isSameBrowser(one: Buffer | null, other: Buffer | null): boolean {
  return one !== null && other !== null && one.equals(other);
}

type Refusal = 'link-invalid' | 'link-used' | 'link-expired' | 'link-other-browser';

function refusalOf(link: Link | undefined, browser: Buffer | null, now: Date): Refusal | null {
  if (link === undefined) return 'link-invalid';
  const isElsewhere =
    boundToBrowser.includes(link.kind) && !isSameBrowser(link.browser_hash, browser);
  return refusalOfTime(link, now) ?? (isElsewhere ? 'link-other-browser' : null);
}

/** A voided link is reported as expired: in both cases the user needs a newer one. */
function refusalOfTime(link: Link, now: Date): Refusal | null {
  if (link.used_at !== null) return 'link-used';
  return link.voided_at !== null || link.expires_at <= now ? 'link-expired' : null;
}
