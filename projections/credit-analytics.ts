import type { Queryable } from '#db/connect.ts';
import type { CreditAnalytics } from '#services/credits/contract.ts';
import type { OptimizationEventType } from '#services/optimizations/run/events.ts';
import { readAccount } from './credit-account.ts';
import { defineProjection } from './engine/define.ts';

/**
 * What each seat of each run did and cost, and its share of the run's charge (captured less returned
 * credits) in thousandths of a credit, so that a cheap run leaves no model without a share.
 *
 * The seats that answered share the charge by their known cost, by largest remainder, so that the rows
 * of a run sum to it. If the cost of an answer is unknown, or all cost nothing, they share equally. If
 * no seat answered, those that were called share by their cost, else equally.
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
    CallLost: 'ignored',
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
    OutcomeRecorded: 'ignored',
  },
  key: ['user_id', 'run_id', 'seat'],
  create: (table) => `create table ${table} (
    user_id text not null,
    run_id text not null,
    seat text not null,
    model text not null,
    simulated boolean not null,
    -- Calls that began, and how many were answered with an opinion or a review.
    calls integer not null check (calls >= 0),
    answers integer not null check (answers >= 0),
    -- Of the calls whose usage is known.
    input_tokens bigint not null,
    output_tokens bigint not null,
    cost_micros bigint not null,
    -- Calls that began and whose cost is not known, and answers among them.
    unpriced_calls integer not null check (unpriced_calls >= 0),
    unpriced_answers integer not null check (unpriced_answers >= 0),
    -- Of a refinement, which is charged but counts as no run.
    refinement boolean not null,
    outcome text check (outcome in ('completed', 'failed', 'cancelled')),
    -- What the whole run was charged, in credits, and this seat's share of it in thousandths of a
    -- credit; null before the end.
    charged bigint,
    millicredits bigint check (millicredits >= 0),
    primary key (user_id, run_id, seat)
  );
  create index on ${table} (run_id)`,
  apply: (table, events) => `insert into ${table} as analytics
      (user_id, run_id, seat, model, simulated, calls, answers, input_tokens, output_tokens,
        cost_micros, unpriced_calls, unpriced_answers, refinement, outcome, charged, millicredits)
    with event as materialized (
      select substr(e.stream_id, 14) as run_id, e.message_type as type, e.message_data as data,
        e.message_data -> 'usage' as usage
      from ${events} e
    ), spent as (
      select event.run_id, split_part(event.data ->> 'slot', '.', 2) as seat,
        (count(*) filter (where event.type = 'CallStarted'))::integer as calls,
        (count(*) filter (where event.type = 'CallSucceeded'))::integer as answers,
        coalesce(sum(coalesce((event.usage ->> 'inputUncached')::bigint, 0)
          + coalesce((event.usage ->> 'inputCached')::bigint, 0)
          + coalesce((event.usage ->> 'cacheWrite')::bigint, 0)), 0)::bigint as input_tokens,
        coalesce(sum(coalesce((event.usage ->> 'outputVisible')::bigint, 0)
          + coalesce((event.usage ->> 'outputThinking')::bigint, 0)), 0)::bigint as output_tokens,
        coalesce(sum((event.data ->> 'costMicros')::bigint), 0)::bigint as cost_micros,
        (count(*) filter (where event.type = 'CallStarted')
          - count(event.data ->> 'costMicros'))::integer as unpriced_calls,
        (count(*) filter (where event.type = 'CallSucceeded'
          and event.data ->> 'costMicros' is null))::integer as unpriced_answers
      from event
      where event.type in ('CallStarted', 'CallSucceeded', 'CallFailed', 'CallCostRecorded')
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
        seat ->> 'model' as model, coalesce((seat ->> 'simulated')::boolean, false) as simulated,
        0 as calls, 0 as answers, 0::bigint as input_tokens, 0::bigint as output_tokens,
        0::bigint as cost_micros, 0 as unpriced_calls, 0 as unpriced_answers,
        event.data ? 'refines' as refinement, null::text as outcome, null::bigint as charged
      from event cross join lateral jsonb_array_elements(event.data -> 'seats') seat
      where event.type = 'OptimizationCreated'
      union all
      select row.user_id, row.run_id, row.seat, row.model, row.simulated, row.calls, row.answers,
        row.input_tokens, row.output_tokens, row.cost_micros, row.unpriced_calls,
        row.unpriced_answers, row.refinement, row.outcome, row.charged
      from ${table} row
      where row.run_id in (select spent.run_id from spent union select ended.run_id from ended)
    ), after as (
      select before.user_id, before.run_id, before.seat, before.model, before.simulated,
        before.calls + coalesce(spent.calls, 0) as calls,
        before.answers + coalesce(spent.answers, 0) as answers,
        before.input_tokens + coalesce(spent.input_tokens, 0) as input_tokens,
        before.output_tokens + coalesce(spent.output_tokens, 0) as output_tokens,
        before.cost_micros + coalesce(spent.cost_micros, 0) as cost_micros,
        before.unpriced_calls + coalesce(spent.unpriced_calls, 0) as unpriced_calls,
        before.unpriced_answers + coalesce(spent.unpriced_answers, 0) as unpriced_answers,
        before.refinement,
        coalesce(ended.outcome, before.outcome) as outcome,
        coalesce(ended.charged, before.charged) as charged
      from before
      left join spent on spent.run_id = before.run_id and spent.seat = before.seat
      left join ended on ended.run_id = before.run_id
    ), sharing as (
      select after.*,
        case when bool_or(after.answers > 0) over run then after.answers > 0
          when bool_or(after.calls > 0) over run then after.calls > 0
          else true end as shares,
        sum(after.unpriced_answers) over run = 0 as is_priced
      from after
      window run as (partition by after.run_id)
    ), weighed as (
      select sharing.*,
        case when not sharing.shares then 0::numeric
          when sharing.is_priced
            and sum(sharing.cost_micros) filter (where sharing.shares) over run > 0
            then sharing.cost_micros::numeric
          else 1::numeric end as weight
      from sharing
      window run as (partition by sharing.run_id)
    ), divided as (
      select weighed.*, weighed.charged * 1000 as millis,
        div(weighed.charged * 1000 * weighed.weight, sum(weighed.weight) over run) as whole,
        mod(weighed.charged * 1000 * weighed.weight, sum(weighed.weight) over run) as remainder
      from weighed
      window run as (partition by weighed.run_id)
    ), ranked as (
      select divided.*,
        divided.millis - sum(divided.whole) over (partition by divided.run_id) as left_over,
        row_number() over (
          partition by divided.run_id order by divided.remainder desc, divided.seat collate "C") as rank
      from divided
    )
    select ranked.user_id, ranked.run_id, ranked.seat, ranked.model, ranked.simulated, ranked.calls,
      ranked.answers, ranked.input_tokens, ranked.output_tokens, ranked.cost_micros,
      ranked.unpriced_calls, ranked.unpriced_answers, ranked.refinement, ranked.outcome,
      ranked.charged,
      (ranked.whole + case when ranked.rank <= ranked.left_over then 1 else 0 end)::bigint
    from ranked
    on conflict (user_id, run_id, seat) do update set
      calls = excluded.calls, answers = excluded.answers, input_tokens = excluded.input_tokens,
      output_tokens = excluded.output_tokens, cost_micros = excluded.cost_micros,
      unpriced_calls = excluded.unpriced_calls, unpriced_answers = excluded.unpriced_answers,
      outcome = excluded.outcome, charged = excluded.charged,
      millicredits = excluded.millicredits`,
});

/** Of `consumption_by_month` and `consumption_by_day`, the present one included. */
const periods = {
  months: { unit: 'month', format: 'YYYY-MM', count: 12 },
  days: { unit: 'day', format: 'YYYY-MM-DD', count: 90 },
} as const;
/** Rows of `most_used_models`. */
const topModels = 5;

/** Names a model as people read it; an unlisted one by its id, without a maker. */
export type ModelNames = (model: string) => { name: string; maker: string | null };

/**
 * `now` decides which month and which day are the present ones (UTC). Months and days come from the
 * ledger's lines and the total from the account, as of now; models and the average follow the runs'
 * events by a moment.
 */
export async function readAnalytics(
  client: Queryable,
  userId: string,
  now: Date,
  namesOf: ModelNames,
): Promise<Omit<CreditAnalytics, 'as_of'>> {
  const byMonth = await readConsumption(client, userId, now, periods.months);
  const byDay = await readConsumption(client, userId, now, periods.days);
  const models = await readModels(client, userId, namesOf);
  const runs = await readOutcomes(client, userId);
  const { consumed } = await readAccount(client, userId);
  const shared = models.filter(({ millicredits }) => millicredits > 0);
  return {
    monthly_consumption: byMonth.at(-1)?.credits ?? 0,
    consumption_by_month: byMonth.map(({ period, credits }) => ({ month: period, credits })),
    consumption_by_day: byDay.map(({ period, credits }) => ({ day: period, credits })),
    average_cost_per_optimization: runs.average,
    completed_optimizations: runs.completed,
    total_consumed: consumed,
    most_used_models: shared.slice(0, topModels).map((row) => ({
      model: row.model,
      name: row.name,
      total_credits: Math.round(row.millicredits / 1000),
      millicredits: row.millicredits,
    })),
    models,
  };
}

/** Credits that runs and services used in each month or day, less what came back; the present one last. */
async function readConsumption(
  client: Queryable,
  userId: string,
  now: Date,
  { unit, format, count }: (typeof periods)[keyof typeof periods],
): Promise<{ period: string; credits: number }[]> {
  const { rows } = await client.query<{ period: string; credits: number }>(
    `select to_char(period.begins, $5) as period,
       coalesce(-sum(h.amount), 0)::float8 as credits
     from (select date_trunc($4, $2::timestamptz at time zone 'utc') as begins) present
     cross join lateral generate_series(
       present.begins - ($3::integer - 1) * ('1 ' || $4)::interval, present.begins,
       ('1 ' || $4)::interval) as period (begins)
     left join credit_history h on h.user_id = $1
       and h.transaction_type in ('consumption', 'refund')
       and h.created_at >= period.begins at time zone 'utc'
       and h.created_at < (period.begins + ('1 ' || $4)::interval) at time zone 'utc'
     group by period.begins order by period.begins`,
    [userId, now.toISOString(), count, unit, format],
  );
  return rows;
}

/** Every model that was called in a user's runs, the one with most credits first. */
async function readModels(
  client: Queryable,
  userId: string,
  namesOf: ModelNames,
): Promise<CreditAnalytics['models']> {
  const { rows } = await client.query<
    Omit<CreditAnalytics['models'][number], 'name' | 'maker' | 'cost'> & { micros: number }
  >(
    `select model, bool_or(simulated) as simulated, sum(calls)::float8 as calls,
       sum(answers)::float8 as answers, sum(input_tokens)::float8 as input_tokens,
       sum(output_tokens)::float8 as output_tokens, sum(cost_micros)::float8 as micros,
       sum(unpriced_calls) filter (where outcome is not null) > 0 is true as cost_is_minimum,
       coalesce(sum(millicredits), 0)::float8 as millicredits
     from credit_analytics where user_id = $1
     group by model having sum(calls) > 0 or sum(millicredits) > 0
     order by coalesce(sum(millicredits), 0) desc, sum(calls) desc, model`,
    [userId],
  );
  return rows.map(({ micros, ...row }) => ({
    ...row,
    ...namesOf(row.model),
    cost: micros / 1_000_000,
  }));
}

export type Outcomes = {
  completed: number;
  failed: number;
  /** Credits that a completed run was charged, to one decimal; null before the first. */
  average: number | null;
  /** Different models that answered in any run or refinement. */
  models: number;
};

/** How a user's runs have ended, over all time, without refinements. */
export async function readOutcomes(client: Queryable, userId: string): Promise<Outcomes> {
  const { rows } = await client.query<Outcomes>(
    `select (count(*) filter (where run.outcome = 'completed'))::float8 as completed,
       (count(*) filter (where run.outcome = 'failed'))::float8 as failed,
       round(avg(run.charged) filter (where run.outcome = 'completed'), 1)::float8 as average,
       (select count(distinct model) from credit_analytics
        where user_id = $1 and answers > 0)::integer as models
     from (
       select distinct run_id, outcome, charged from credit_analytics
       where user_id = $1 and outcome is not null and not refinement
     ) run`,
    [userId],
  );
  return rows[0] ?? { completed: 0, failed: 0, average: null, models: 0 };
}
