import type { Queryable } from '#db/connect.ts';
import type { Balance } from '#services/credits/contract.ts';
import { columnOf, kindOfEvent, signedBy } from './credit-ledger.ts';
import { defineProjection, eventUses } from './engine/define.ts';
import { balanceParts, creditEventTypes, noCredits } from '#services/credits/account/movements.ts';
import type { AccountBalance, CreditEventType } from '#services/credits/account/events.ts';

/** What a set of events adds to a figure. */
function changeOf(part: keyof AccountBalance): string {
  const signed = signedBy((change) => change[part], {
    kind: 'moved.kind',
    credits: 'moved.credits',
  });
  return `coalesce(sum(${signed}), 0)::bigint`;
}

const figures = balanceParts.map(columnOf);
/** Freezes hold no credits. */
const credits = balanceParts.filter((part) => part !== 'freezes');

/**
 * One row per user with the user's balance, written with the events, so that a balance read after a
 * reservation always shows it. The figures are summed from the events' amounts, not taken from their
 * `balance`, so that verify compares two computations. The CHECKs are the last defence: a faulty decision
 * fails the append instead of creating credits.
 */
export const creditAccountTable = defineProjection<CreditEventType>({
  name: 'credit_account',
  kind: 'inline',
  // An event that moves nothing still advances the stream's version.
  events: eventUses(creditEventTypes, creditEventTypes),
  key: ['user_id'],
  create: (table) => `create table ${table} (
    user_id text primary key,
    ${figures.map((figure) => `${figure} bigint not null,`).join('\n    ')}
    version bigint not null,
    check (least(${figures.join(', ')}) >= 0),
    check (purchased + bonus + other = available + held + consumed
      + refund_pending + refunded + revoked)
  ) with (fillfactor = 70)`,
  apply: (table, events) => `merge into ${table} as account
    using (
      select moved.user_id, max(moved.position) as version,
        ${credits.map((part) => `${changeOf(part)} as ${columnOf(part)},`).join('\n        ')}
        sum(moved.freezes)::bigint as freezes
      from (
        select substr(e.stream_id, 9) as user_id, e.stream_position as position,
          ${kindOfEvent} as kind,
          (e.message_data ->> 'credits')::bigint as credits,
          case e.message_type
            when 'SpendingFrozen' then 1
            when 'SpendingUnfrozen' then -(e.message_data ->> 'freezes')::bigint
            else 0 end as freezes
        from ${events} e offset 0
      ) moved
      group by moved.user_id
    ) as change on account.user_id = change.user_id
    when matched then update set
      ${figures.map((figure) => `${figure} = account.${figure} + change.${figure},`).join('\n      ')}
      version = change.version
    when not matched then insert (user_id, ${figures.join(', ')}, version)
      values (change.user_id, ${figures.map((figure) => `change.${figure}`).join(', ')},
        change.version)`,
});

const accountColumns = [...balanceParts, 'version' as const]
  .map((part) => `${part === 'version' ? part : columnOf(part)}::float8 as "${part}"`)
  .join(', ');

export type AccountRow = AccountBalance & { version: number };

/** The rows of users by their ids, with their streams' versions; users without events have none. */
export async function readAccounts(
  client: Queryable,
  userIds: readonly string[],
): Promise<Map<string, AccountRow>> {
  const { rows } = await client.query<AccountRow & { userId: string }>({
    name: 'accounts',
    text: `select user_id as "userId", ${accountColumns} from credit_account
           where user_id = any ($1)`,
    values: [userIds],
  });
  return new Map(rows.map(({ userId, ...row }) => [userId, row]));
}

/** The row of one user; zeros and version 0 for a user without events. */
export async function readAccount(client: Queryable, userId: string): Promise<AccountRow> {
  return (await readAccounts(client, [userId])).get(userId) ?? { ...noCredits, version: 0 };
}

/** As `GET /credits/balance` and the stream's snapshot show it. */
export async function readBalance(client: Queryable, userId: string): Promise<Balance> {
  return balanceOf(await readAccount(client, userId));
}

/** The users with an account, in order of id, from `after` on. */
export async function readAccountIds(
  client: Queryable,
  page: { after: string; limit: number },
): Promise<string[]> {
  const { rows } = await client.query<{ user_id: string }>(
    'select user_id from credit_account where user_id > $1 order by user_id limit $2',
    [page.after, page.limit],
  );
  return rows.map((row) => row.user_id);
}

/** The figures of an account, or of an event's `balance`, as the contract names them. */
export function balanceOf(account: AccountBalance): Balance {
  const { available, held, debt, purchased, bonus, other, consumed, freezes } = account;
  return {
    available_credits: available,
    reserved_credits: held,
    debt_credits: debt,
    spending_frozen: freezes > 0,
    total_purchased: purchased,
    total_consumed: consumed,
    total_credits: purchased + bonus + other,
    used_credits: consumed,
  };
}
