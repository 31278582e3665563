import type { Queryable } from '#db/connect.ts';
import type { CreditAnalytics } from '#services/credits/contract.ts';
import type { OptimizationEventType } from '#services/optimizations/run/events.ts';
import { readAccount } from './credit-account.ts';
import { defineProjection } from './engine/define.ts';

/**
 * What each seat of each run cost, and its share of the run's charge (captured less returned credits).
 * The seats whose calls ended share the charge by their cost, by largest remainder, so that the rows of a
 * run sum to it. If one of these costs is unknown, they share equally; if no call ended, all seats do.
 *
 * A late answer may be priced after the run was closed. The shares are then computed again from all
 * costs, so that they depend on the events alone and never on the pages.
 */
export const creditAnalytics = defineProjection<OptimizationEventType>({
  name: 'credit_analytics',
  kind: 'async',
  events: {
    OptimizationCreated: 'used',
    ProcessingStarted: 'ignored',
    CallStarted: 'used',
    CallLost: 'used',
    CallSucceeded: 'used',
    CallFailed: 'used',
    CallCostRecorded: 'used',
    SoftPassed: 'ignored',
    OpinionsClosed: 'ignored',
    ClaimsFixed: 'ignored',
    ReviewsClosed: 'ignored',
    ScoresComputed: 'ignored',
    DraftChecked: 'ignored',
    SynthesisJudged: 'ignored',
    RunConcluded: 'ignored',
    OptimizationCompleted: 'used',
    OptimizationFailed: 'used',
    OptimizationCancelled: 'used',
    OptimizationHidden: 'ignored',
    OptimizationRestored: 'ignored',
    OptimizationRenamed: 'ignored',
  },
  key: ['user_id', 'run_id', 'seat'],
  create: (table) => `create table ${table} (
    user_id text not null,
    run_id text not null,
    seat text not null,
    model text not null,
    cost_micros bigint not null,
    -- Calls of this seat that began and whose cost is not known.
    unpriced_calls integer not null check (unpriced_calls >= 0),
    -- A call of this seat ended.
    closed boolean not null,
    -- Of a refinement, which is charged but counts as no run.
    refinement boolean not null,
    outcome text check (outcome in ('completed', 'failed', 'cancelled')),
    -- What the whole run was charged, and this seat's share of it; null before the end.
    charged bigint,
    credits bigint check (credits >= 0),
    primary key (user_id, run_id, seat)
  );
  create index on ${table} (run_id)`,
  apply: (table, events) => `insert into ${table} as analytics
      (user_id, run_id, seat, model, cost_micros, unpriced_calls, closed, refinement, outcome,
        charged, credits)
    with event as materialized (
      select substr(e.stream_id, 14) as run_id, e.message_type as type, e.message_data as data
      from ${events} e
    ), spent as (
      select event.run_id, split_part(event.data ->> 'slot', '.', 2) as seat,
        coalesce(sum((event.data ->> 'costMicros')::bigint), 0)::bigint as cost_micros,
        (count(*) filter (where event.type = 'CallStarted')
          - count(event.data ->> 'costMicros'))::integer as unpriced_calls,
        bool_or(event.type <> 'CallStarted') as closed
      from event
      where event.type in
          ('CallStarted', 'CallLost', 'CallSucceeded', 'CallFailed', 'CallCostRecorded')
        and split_part(event.data ->> 'slot', '.', 1) in ('opinion', 'review')
      group by 1, 2
    ), ended as (
      select event.run_id,
        case event.type when 'OptimizationCompleted' then 'completed'
          when 'OptimizationFailed' then 'failed' else 'cancelled' end as outcome,
        (event.data ->> 'captured')::bigint - (event.data ->> 'refunded')::bigint as charged
      from event
      where event.type in ('OptimizationCompleted', 'OptimizationFailed', 'OptimizationCancelled')
    ), before as (
      select event.data ->> 'userId' as user_id, event.run_id, seat ->> 'seat' as seat,
        seat ->> 'model' as model, 0::bigint as cost_micros, 0 as unpriced_calls, false as closed,
        event.data ? 'refines' as refinement, null::text as outcome, null::bigint as charged
      from event cross join lateral jsonb_array_elements(event.data -> 'seats') seat
      where event.type = 'OptimizationCreated'
      union all
      select row.user_id, row.run_id, row.seat, row.model, row.cost_micros, row.unpriced_calls,
        row.closed, row.refinement, row.outcome, row.charged
      from ${table} row
      where row.run_id in (select spent.run_id from spent union select ended.run_id from ended)
    ), after as (
      select before.user_id, before.run_id, before.seat, before.model,
        before.cost_micros + coalesce(spent.cost_micros, 0) as cost_micros,
        before.unpriced_calls + coalesce(spent.unpriced_calls, 0) as unpriced_calls,
        before.closed or coalesce(spent.closed, false) as closed, before.refinement,
        coalesce(ended.outcome, before.outcome) as outcome,
        coalesce(ended.charged, before.charged) as charged
      from before
      left join spent on spent.run_id = before.run_id and spent.seat = before.seat
      left join ended on ended.run_id = before.run_id
    ), sharing as (
      select after.*,
        after.closed or not bool_or(after.closed) over run as shares,
        coalesce(sum(after.unpriced_calls) filter (where after.closed) over run, 0) = 0
          and coalesce(sum(after.cost_micros) filter (where after.closed) over run, 0) > 0 as by_cost
      from after
      window run as (partition by after.run_id)
    ), weighed as (
      select sharing.*,
        case when not sharing.shares then 0::numeric
          when sharing.by_cost then sharing.cost_micros::numeric else 1::numeric end as weight
      from sharing
    ), divided as (
      select weighed.*,
        div(weighed.charged * weighed.weight, sum(weighed.weight) over run) as whole,
        mod(weighed.charged * weighed.weight, sum(weighed.weight) over run) as remainder
      from weighed
      window run as (partition by weighed.run_id)
    ), ranked as (
      select divided.*,
        divided.charged - sum(divided.whole) over (partition by divided.run_id) as left_over,
        row_number() over (
          partition by divided.run_id order by divided.remainder desc, divided.seat collate "C") as rank
      from divided
    )
    select ranked.user_id, ranked.run_id, ranked.seat, ranked.model, ranked.cost_micros,
      ranked.unpriced_calls, ranked.closed, ranked.refinement, ranked.outcome, ranked.charged,
      (ranked.whole + case when ranked.rank <= ranked.left_over then 1 else 0 end)::bigint
    from ranked
    on conflict (user_id, run_id, seat) do update set
      cost_micros = excluded.cost_micros, unpriced_calls = excluded.unpriced_calls,
      closed = excluded.closed, outcome = excluded.outcome, charged = excluded.charged,
      credits = excluded.credits`,
});

/** Months of `consumption_by_month`, the present one included. */
const months = 12;
/** Rows of `most_used_models`. */
const topModels = 5;

/**
 * `now` decides which month is the present one (UTC). The months come from the ledger's lines and the
 * total from the account, as of now; models and the average follow the runs' events by a moment.
 */
export async function readAnalytics(
  client: Queryable,
  userId: string,
  now: Date,
): Promise<Omit<CreditAnalytics, 'as_of'>> {
  const byMonth = await readMonths(client, userId, now);
  const models = await readModels(client, userId);
  const runs = await readOutcomes(client, userId);
  const { consumed } = await readAccount(client, userId);
  return {
    monthly_consumption: byMonth.at(-1)?.credits ?? 0,
    consumption_by_month: byMonth,
    average_cost_per_optimization: runs.average,
    completed_optimizations: runs.completed,
    total_consumed: consumed,
    most_used_models: models,
  };
}

async function readMonths(
  client: Queryable,
  userId: string,
  now: Date,
): Promise<{ month: string; credits: number }[]> {
  const { rows } = await client.query<{ month: string; credits: number }>(
    `select to_char(month.begins, 'YYYY-MM') as month,
       coalesce(-sum(h.amount), 0)::float8 as credits
     from (select date_trunc('month', $2::timestamptz at time zone 'utc') as begins) present
     cross join lateral generate_series(
       present.begins - make_interval(months => $3::integer - 1), present.begins,
       interval '1 month') as month (begins)
     left join credit_history h on h.user_id = $1
       and h.transaction_type in ('consumption', 'refund')
       and h.created_at >= month.begins at time zone 'utc'
       and h.created_at < (month.begins + interval '1 month') at time zone 'utc'
     group by month.begins order by month.begins`,
    [userId, now.toISOString(), months],
  );
  return rows;
}

async function readModels(
  client: Queryable,
  userId: string,
): Promise<{ model: string; total_credits: number }[]> {
  const { rows } = await client.query<{ model: string; total_credits: number }>(
    `select model, sum(credits)::float8 as total_credits
     from credit_analytics where user_id = $1
     group by model having sum(credits) > 0
     order by sum(credits) desc, model limit $2`,
    [userId, topModels],
  );
  return rows;
}

export type Outcomes = {
  completed: number;
  failed: number;
  /** Credits that a completed run was charged, to one decimal; null before the first. */
  average: number | null;
};

/** How a user's runs have ended, over all time, without refinements. */
export async function readOutcomes(client: Queryable, userId: string): Promise<Outcomes> {
  const { rows } = await client.query<Outcomes>(
    `select (count(*) filter (where run.outcome = 'completed'))::float8 as completed,
       (count(*) filter (where run.outcome = 'failed'))::float8 as failed,
       round(avg(run.charged) filter (where run.outcome = 'completed'), 1)::float8 as average
     from (
       select distinct run_id, outcome, charged from credit_analytics
       where user_id = $1 and outcome is not null and not refinement
     ) run`,
    [userId],
  );
  return rows[0] ?? { completed: 0, failed: 0, average: null };
}
