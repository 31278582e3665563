import type { Queryable } from '#db/connect.ts';
import { defineProjection, eventUses } from './engine/define.ts';
import { creditEventTypes } from '#services/credits/account/movements.ts';
import type { CreditEventType } from '#services/credits/account/events.ts';

/**
 * The runs of each user, with the UTC month that they count in: the month of the hold. A release no longer
 * counts in its month, but its event names no month, so every run has a row.
 */
export const runUsage = defineProjection<CreditEventType>({
  name: 'run_usage',
  kind: 'async',
  events: eventUses(creditEventTypes, ['CreditsReserved', 'CreditsReleased']),
  key: ['user_id', 'run_id'],
  create: (table) => `create table ${table} (
    user_id text not null,
    run_id text not null,
    month text not null check (month ~ '^[0-9]{4}-[0-9]{2}$'),
    -- Bonus credits pay for it, wholly or partly: such runs count against the limit.
    by_bonus boolean not null,
    released boolean not null,
    primary key (user_id, run_id)
  );
  create index on ${table} (user_id, month)`,
  apply: (table, events) => `merge into ${table} as usage using (
      select substr(e.stream_id, 9) as user_id, e.message_data ->> 'runId' as run_id,
        max(coalesce(e.message_data ->> 'bonusMonth', left(e.message_metadata ->> 'occurredAt', 7)))
          filter (where e.message_type = 'CreditsReserved') as month,
        coalesce(bool_or(e.message_data ->> 'bonusMonth' is not null), false) as by_bonus,
        bool_or(e.message_type = 'CreditsReleased') as released
      from ${events} e
      group by 1, 2
    ) as change on usage.user_id = change.user_id and usage.run_id = change.run_id
    when matched then update set released = usage.released or change.released
    when not matched then insert (user_id, run_id, month, by_bonus, released)
      values (change.user_id, change.run_id, change.month, change.by_bonus, change.released)`,
});

export type MonthUsage = {
  /** Runs whose credits were held in the month, less those that were fully released. */
  runs: number;
  /** Those, and refinements, that bonus credits pay for, wholly or partly. */
  byBonus: number;
};

/**
 * A user's runs in the UTC month `2026-11`. A refinement belongs to its root and is no run of its own;
 * the limit of bonus credits counts it like any other.
 */
export async function readMonthUsage(
  client: Queryable,
  userId: string,
  month: string,
): Promise<MonthUsage> {
  const { rows } = await client.query<MonthUsage>(
    `select (count(*) filter (where not exists (
         select from optimization_list run
         where run.run_id = run_usage.run_id and run.root_id is not null)))::integer as runs,
       (count(*) filter (where by_bonus))::integer as "byBonus"
     from run_usage where user_id = $1 and month = $2 and not released`,
    [userId, month],
  );
  return rows[0] ?? { runs: 0, byBonus: 0 };
}
