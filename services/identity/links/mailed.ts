import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import type { Audit } from '#services/platform/audit.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import {
  accountExistsEmail,
  changeAskedEmail,
  confirmEmail,
  magicEmail,
  resetEmail,
} from './emails.ts';
import type { EmailHead } from './emails.ts';
import { askedBefore, changeIsOut, holdAccount, isSameBrowser, issueLink } from './links.ts';
import type { NewLink } from './links.ts';
import { changedAt } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/** Links that users ask for: row, email and audit entry in one transaction. */
export type MailedLinkDependencies = EmailHead & {
  pool: pg.Pool;
  queueMail: QueueMail;
  audit: Audit;
  clock: () => number;
};

/** What a user asks for by naming their address. */
export type AskedLink = Omit<NewLink, 'userId' | 'email' | 'kind'> & {
  kind: 'confirm' | 'magic' | 'reset';
};

const emails: Readonly<
  Record<AskedLink['kind'], (head: EmailHead, token: string) => EmailContent>
> = {
  confirm: confirmEmail,
  magic: magicEmail,
  reset: resetEmail,
};

/** Bounds on the emails that a stranger can cause, and on those they can keep from an owner. */
const mailedLimits = {
  /** How long unknown browsers get no second email of a kind while the first link still works. */
  quietMs: 600_000,
  /** Emails of a kind in an hour, after which the browser that asked first gets no repeats. */
  perHour: 10,
  /** Emails an hour for one browser that has opened a link of the account. */
  perReader: 5,
} as const;

/** The browser that asks. The turns of a known one are counted before (`mail-device`). */
export type Asker = { nonce: Buffer; isKnown: boolean };

/**
 * Emails a link to an account's own address, unless the account has no use for it. An asker who may be
 * a stranger gets none while the link of an earlier email of the kind still works.
 */
export async function mailLink(
  dependencies: MailedLinkDependencies,
  userId: string,
  ask: AskedLink,
  asker?: Asker,
): Promise<void> {
  const now = new Date(dependencies.clock());
  await inTransaction(dependencies.pool, async (client) => {
    const account = await holdAccount(client, userId);
    if (!account || (ask.kind === 'confirm' && account.email_confirmed_at !== null)) return;
    if (asker && !(await mayHaveMail(client, account, ask, asker, now))) return;
    const link = await issueLink(client, { ...ask, userId, email: account.email }, now);
    await dependencies.queueMail(
      {
        userId,
        to: account.email,
        kind: ask.kind,
        content: emails[ask.kind](dependencies, link.token),
        notAfter: link.expiresAt,
      },
      client,
    );
    await noteAsked(dependencies, client, userId, link.id, ask.kind);
  });
}

/**
 * A stranger who asks first delays the emails of others by `quietMs` at most. The mailbox's owner need
 * not wait: after opening the stranger's link, their own browser may ask.
 */
async function mayHaveMail(
  client: pg.ClientBase,
  account: Account,
  { kind }: AskedLink,
  { nonce, isKnown }: Asker,
  now: Date,
): Promise<boolean> {
  if (isKnown) return true;
  const { quietMs, perHour, perReader } = mailedLimits;
  const of = { userId: account.id, kind, nonce };
  const before = await askedBefore(client, of, { now, quietMs });
  if (!before.isOut) return true;
  const signedUpHere = kind === 'confirm' && isSameBrowser(account.signup_browser, nonce);
  if (before.hasOpened || signedUpHere) return before.ownMails < perReader;
  return before.isOwn && before.mails < perHour;
}

/**
 * Emails the link that confirms a new address. When the address is another user's, the link is made but
 * not sent, so that the pending change looks the same. No link is made when the password was changed
 * after it was given (`account` is as it was then): a thief may have asked, and the link needs no session.
 */
export async function mailChange(
  dependencies: MailedLinkDependencies,
  change: { account: Account; email: string; browser: Buffer; owner: Account | null },
): Promise<void> {
  const { account, email, browser, owner } = change;
  const userId = account.id;
  const now = new Date(dependencies.clock());
  await inTransaction(dependencies.pool, async (client) => {
    const held = await holdAccount(client, userId);
    if (!held || changedAt(held) !== changedAt(account)) return;
    const { quietMs } = mailedLimits;
    if (await changeIsOut(client, { userId, email, browser }, { now, quietMs })) return;
    const link = await issueLink(client, { userId, kind: 'email', email, browser }, now);
    await noteAsked(dependencies, client, userId, link.id, 'email');
    if (owner !== null) return;
    await dependencies.queueMail(
      {
        userId,
        to: email,
        kind: 'email',
        content: changeAskedEmail(dependencies, link.token),
        notAfter: link.expiresAt,
      },
      client,
    );
  });
  if (owner !== null) await mailAccountExists(dependencies, owner);
}

const hourMs = 3_600_000;

/** At most one an hour: strangers must not fill a mailbox through us. */
export async function mailAccountExists(
  dependencies: MailedLinkDependencies,
  owner: Account,
): Promise<void> {
  if (owner.erasing_at !== null) return;
  const hour = Math.floor(dependencies.clock() / hourMs);
  await dependencies.queueMail({
    id: `mai_${uuidV5(owner.id, 'account-exists', hour)}`,
    userId: owner.id,
    to: owner.email,
    kind: 'account-exists',
    content: accountExistsEmail(dependencies),
  });
}

async function noteAsked(
  { audit }: MailedLinkDependencies,
  client: pg.ClientBase,
  userId: string,
  linkId: string,
  kind: string,
): Promise<void> {
  await audit(
    {
      actor: kind === 'email' ? userId : 'anonymous',
      action: 'link.asked',
      subject: linkId,
      userId,
      detail: { kind },
    },
    client,
  );
}
