import type pg from 'pg';
import * as v from 'valibot';
import { inTransaction } from '#db/transaction.ts';
import { newId } from '#services/platform/ids.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import { Problem } from '#services/platform/problem.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { SealContext, Sealer } from '#services/platform/seal.ts';
import { contactLimits } from './contract.ts';
import type { ContactReply, ContactRequest, ContactTopic } from './contract.ts';
import { damaged, messageEmail, receiptEmail } from './emails.ts';
import type { SenderAccount } from './emails.ts';

/**
 * Messages to the operator: rows of a plain table, each sealed. A visitor's message has a data key of its
 * own, under the id of a user that does not exist; an account's message has the account's.
 */
export type ContactDependencies = {
  pool: pg.Pool;
  sealer: Sealer;
  queueMail: QueueMail;
  clock: () => number;
  productName: string;
  publicUrl: string;
  /** Where messages go; null: they are only stored. */
  contactEmail: string | null;
  /** Without a mail server emails wait. */
  sendsMail: boolean;
};

export type ContactMessage = {
  id: string;
  reference: string;
  /** Null for a visitor's. */
  account: SenderAccount | null;
  topic: ContactTopic;
  email: string;
  message: string;
  at: Date;
};

/** How long an email about a message is worth sending. */
const mailMs = 4 * 86_400_000;

/** Emails to the operator on one UTC day; messages beyond it are stored and not emailed. */
const mailedADay = 200;

/** Such as `K7Q2-9M4D`: the random end of the id, as people read it out. */
function referenceOf(id: string): string {
  const end = id.slice(-8).toUpperCase();
  return `${end.slice(0, 4)}-${end.slice(4)}`;
}

/**
 * Stores it and queues the email to the operator and, unless the mailbox had too many, the receipt. A
 * repeat with the same id changes nothing.
 */
export async function takeMessage(
  dependencies: ContactDependencies,
  { id, userId, getsReceipt }: { id: string; userId: string | null; getsReceipt: boolean },
  { topic, email, message }: ContactRequest,
): Promise<ContactReply> {
  const { pool, sealer, queueMail, clock, contactEmail } = dependencies;
  const reference = referenceOf(id);
  const reply = { reference, emailed: dependencies.sendsMail && getsReceipt };
  const now = new Date(clock());
  const owner = userId ?? newId('usr', clock());
  const keyId = await sealer.createDataKey('account', owner, owner);
  const account = userId === null ? null : await accountOf(pool, userId);
  const content = { email, message, account } satisfies Content;
  const sealed = await sealer.seal(keyId, contextOf(id), JSON.stringify(content));
  const notAfter = new Date(now.getTime() + mailMs);
  const isMailed = contactEmail !== null && !(await isDayFull(pool, now));
  const isNew = await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `insert into contact_message (id, user_id, key_id, topic, sealed, created_at)
       values ($1, $2, $3, $4, $5, $6) on conflict (id) do nothing`,
      [id, userId, keyId, topic, sealed, now],
    );
    if (rowCount === 0) return false;
    if (isMailed)
      await queueMail(
        {
          userId: owner,
          to: contactEmail,
          replyTo: email,
          kind: 'contact-message',
          content: messageEmail({ reference, topic, email, account, message }),
          notAfter,
        },
        client,
      );
    if (getsReceipt)
      await queueMail(
        {
          userId: owner,
          to: email,
          kind: 'contact-receipt',
          content: receiptEmail(dependencies, reference),
          notAfter,
        },
        client,
      );
    return true;
  });
  if (!isNew && userId === null) await sealer.erasePerson(owner);
  return reply;
}

/** So that a flood from many networks does not bury the operator's mailbox. */
async function isDayFull(pool: pg.Pool, now: Date): Promise<boolean> {
  const day = new Date(now.getTime() - (now.getTime() % 86_400_000));
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count
     from (select from contact_message where created_at >= $1 limit $2) today`,
    [day, mailedADay],
  );
  return (rows[0]?.count ?? 0) >= mailedADay;
}

async function accountOf(pool: pg.Pool, userId: string): Promise<SenderAccount> {
  const { rows } = await pool.query<SenderAccount>(
    `select id, email, email_confirmed_at is not null as "isConfirmed" from users where id = $1`,
    [userId],
  );
  // Deleted since the call was authenticated: its token has ended.
  if (rows[0] === undefined)
    throw new Problem('authentication-required', 'Authentication required');
  return rows[0];
}

type Row = {
  id: string;
  topic: ContactTopic;
  sealed: string;
  created_at: Date;
};

const columns = 'id, topic, sealed, created_at';

/** Newest first. */
export async function listMessages(
  { pool, sealer }: Pick<ContactDependencies, 'pool' | 'sealer'>,
  { topic, limit }: { topic: ContactTopic | null; limit: number },
): Promise<ContactMessage[]> {
  const { rows } = await pool.query<Row>(
    `select ${columns} from contact_message where $1::text is null or topic = $1
     order by created_at desc, id desc limit $2`,
    [topic, limit],
  );
  return opened(sealer, rows);
}

/** All of one user, oldest first. */
export async function messagesOf(
  { pool, sealer }: Pick<ContactDependencies, 'pool' | 'sealer'>,
  userId: string,
): Promise<ContactMessage[]> {
  const { rows } = await pool.query<Row>(
    `select ${columns} from contact_message where user_id = $1 order by created_at, id`,
    [userId],
  );
  return opened(sealer, rows);
}

/** By reference or id; null when there is none. */
export async function findMessage(
  { pool, sealer }: Pick<ContactDependencies, 'pool' | 'sealer'>,
  named: string,
): Promise<ContactMessage | null> {
  const end = named.toLowerCase().replace('-', '');
  const { rows } = await pool.query<Row>(
    `select ${columns} from contact_message where id = $1 or right(id, 8) = $2
     order by created_at desc limit 1`,
    [named, end],
  );
  const [message] = await opened(sealer, rows);
  return message ?? null;
}

/** With the key of a visitor's message; an account keeps its own. */
export async function deleteMessage(
  { pool, sealer }: Pick<ContactDependencies, 'pool' | 'sealer'>,
  id: string,
): Promise<void> {
  const { rows } = await pool.query<{ key_id: string; user_id: string | null }>(
    'select key_id, user_id from contact_message where id = $1',
    [id],
  );
  // First: without its row, nothing would name a key that is left.
  for (const { key_id: keyId, user_id: userId } of rows)
    if (userId === null) await sealer.erasePerson(keyId);
  await pool.query('delete from contact_message where id = $1', [id]);
}

const purgedAtOnce = 500;

/** Deletes messages whose time is over. Returns how many. */
export async function purgeMessages({
  pool,
  sealer,
  clock,
}: Pick<ContactDependencies, 'pool' | 'sealer' | 'clock'>): Promise<number> {
  const before = new Date(clock() - contactLimits.keptDays * 86_400_000);
  const { rows } = await pool.query<{ id: string }>(
    'select id from contact_message where created_at < $1 order by created_at limit $2',
    [before, purgedAtOnce],
  );
  for (const { id } of rows) await deleteMessage({ pool, sealer }, id);
  return rows.length;
}

const Content = v.object({
  email: v.string(),
  message: v.string(),
  account: v.nullable(v.object({ id: v.string(), email: v.string(), isConfirmed: v.boolean() })),
});
type Content = v.InferOutput<typeof Content>;

function contextOf(id: string): SealContext {
  return { stream: `contact-${id}`, field: 'content' };
}

/** Leaves out what was erased in the meantime. */
async function opened(sealer: Sealer, rows: readonly Row[]): Promise<ContactMessage[]> {
  const messages: ContactMessage[] = [];
  for (const { id, topic, sealed, created_at: at } of rows) {
    const written = await contentOf(sealer, id, sealed);
    if (written !== null) messages.push({ id, reference: referenceOf(id), topic, at, ...written });
  }
  return messages;
}

/** Null for an erased one; a damaged one does not hide the others. */
async function contentOf(sealer: Sealer, id: string, sealed: string): Promise<Content | null> {
  try {
    const content = await sealer.open(sealed, contextOf(id));
    return 'erased' in content ? null : v.parse(Content, JSON.parse(content.text));
  } catch (error) {
    if (error instanceof IntegrityError) return { email: damaged, message: damaged, account: null };
    throw error;
  }
}
