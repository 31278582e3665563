import type { Queryable } from '#db/connect.ts';
import { balanceParts, movementRows } from '#services/credits/account/movements.ts';
import type { LedgerAccount, Posting } from '#services/credits/account/movements.ts';
import type { AccountBalance } from '#services/credits/account/events.ts';
import type { View } from './engine/define.ts';

/** The figure of a balance as a column: `refundPending` is `refund_pending`. */
export function columnOf(part: keyof AccountBalance): string {
  return part.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`);
}

/** What events move, as SQL: a row for each movement, with what one credit adds to the balance. */
const movement = `(values ${movementRows
  .map(({ event, variant, from, to, change }) => {
    const texts = [event, variant, from, to].map((text) => (text === null ? 'null' : `'${text}'`));
    return `(${[...texts, ...balanceParts.map((part) => change[part])].join(', ')})`;
  })
  .join(
    ', ',
  )}) as movement (event, variant, out_of, into_account, ${balanceParts.map(columnOf).join(', ')})`;

/** Which movement of its type the event `e` is; null when the type has only one. */
const variantOfEvent = `coalesce(e.message_data ->> 'source', e.message_data ->> 'from')`;

/** The event `e` and its variant in one text, for `signedBy`. */
export const kindOfEvent = `e.message_type || coalesce('.' || ${variantOfEvent}, '')`;

/**
 * The credits of a movement with the sign that `signOf` gives it; null when it has none. Compares texts,
 * because a join with the movements made rebuilds slower by a third.
 */
export function signedBy(
  signOf: (change: AccountBalance) => number,
  { kind, credits }: { kind: string; credits: string },
): string {
  const cases = [1, -1].flatMap((sign) => {
    const kinds = movementRows
      .filter(({ change }) => signOf(change) === sign)
      .map(({ event, variant }) => `'${event}${variant === null ? '' : `.${variant}`}'`);
    const signed = sign === 1 ? credits : `-${credits}`;
    return kinds.length === 0 ? [] : [`when ${kind} in (${kinds.join(', ')}) then ${signed}`];
  });
  return `case ${cases.join(' ')} end`;
}

/** Joined with the event `e`; an event that moves nothing has no row. */
const movementOfEvent = `${movement} on movement.event = e.message_type
    and movement.variant is not distinct from ${variantOfEvent}`;

/**
 * Credits in double entry: each event that moves credits has two lines, out of one account and into
 * another. The lines of a transaction sum to 0, and so do all lines.
 */
export const creditLedgerView: View = {
  name: 'credit_ledger',
  select: `select substr(e.stream_id, 9) as user_id, e.stream_id, e.stream_position,
      e.global_position, e.message_id as transaction_id, e.message_type as event, line.account,
      line.sign * (e.message_data ->> 'credits')::bigint as credits,
      e.message_metadata ->> 'occurredAt' as occurred_at
    from emt_messages e
    join ${movementOfEvent}
    cross join lateral (values (movement.out_of, -1), (movement.into_account, 1)) as line (account, sign)`,
};

export type LedgerTransaction = { transactionId: string; event: string; postings: Posting[] };

/** One user's transactions in order. */
export async function readLedger(client: Queryable, userId: string): Promise<LedgerTransaction[]> {
  const { rows } = await client.query<{ id: string; event: string; postings: Posting[] }>(
    `select transaction_id as id, event,
       json_agg(json_build_object('account', account, 'credits', credits) order by credits)
         as postings
     from credit_ledger where stream_id = 'credits-' || $1
     group by stream_position, transaction_id, event order by stream_position`,
    [userId],
  );
  return rows.map(({ id, event, postings }) => ({ transactionId: id, event, postings }));
}

/** The sum of each account's lines, of one user or of all. */
export async function readLedgerSums(
  client: Queryable,
  userId?: string,
): Promise<ReadonlyMap<LedgerAccount, number>> {
  const { rows } = await client.query<{ account: LedgerAccount; credits: number }>(
    `select account, sum(credits)::float8 as credits from credit_ledger
     where $1::text is null or stream_id = 'credits-' || $1
     group by account`,
    [userId ?? null],
  );
  return new Map(rows.map(({ account, credits }) => [account, credits]));
}

/** The transactions whose lines do not sum to 0; a sound ledger has none. */
export async function readUnbalanced(client: Queryable): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select transaction_id as id from credit_ledger
     group by stream_id, transaction_id
     having sum(credits) <> 0 or count(*) <> 2 or bool_or(account is null)`,
  );
  return rows.map(({ id }) => id);
}
