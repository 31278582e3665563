import type { Queryable } from '#db/connect.ts';
import type { OptimizationEventType } from '#services/optimizations/run/events.ts';
import { defineProjection } from './engine/define.ts';

/**
 * The cost of opinions per model and UTC day, over all users: a row of sums, and a row for each call in
 * progress, because the event that ends a call names only its slot. Answers of unknown cost, or too late
 * to count, are left out.
 */
export const modelCosts = defineProjection<OptimizationEventType>({
  name: 'model_costs',
  kind: 'async',
  events: {
    OptimizationCreated: 'ignored',
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
    OptimizationCompleted: 'ignored',
    OptimizationFailed: 'ignored',
    OptimizationCancelled: 'ignored',
    OptimizationHidden: 'ignored',
    OptimizationRestored: 'ignored',
    OptimizationRenamed: 'ignored',
    OutcomeRecorded: 'ignored',
  },
  key: ['model', 'simulated', 'day', 'call'],
  create: (table) => `create table ${table} (
    model text not null,
    simulated boolean not null,
    -- On which its calls began: 2026-11-22.
    day text not null,
    -- Empty for the sums; else the run, slot and attempt of an answer that is under way.
    call text not null,
    answers bigint not null check (answers >= 0),
    cost_micros bigint not null check (cost_micros >= 0),
    check (call = '' or (answers = 0 and cost_micros = 0)),
    primary key (model, simulated, day, call)
  );
  create index on ${table} (call) where call <> '';
  create index on ${table} (day) where call = ''`,
  apply: (table, events) => `merge into ${table} as costs using (
      with event as materialized (
        select e.message_type as type, e.message_data as data, e.stream_position as position,
          substr(e.stream_id, 14) || ' ' || (e.message_data ->> 'slot') || ' '
            || (e.message_data ->> 'attempt') as call
        from ${events} e
        where starts_with(e.message_data ->> 'slot', 'opinion.')
      ), ended as (
        -- Later events of an ended call change nothing here.
        select distinct on (event.call) event.call, event.type = 'CallSucceeded' as answered,
          (event.data ->> 'costMicros')::bigint as cost_micros
        from event where event.type <> 'CallStarted'
        order by event.call, event.position
      ), began as (
        select event.call, event.data ->> 'model' as model,
          (event.data ->> 'simulated')::boolean as simulated,
          left(event.data ->> 'startedAt', 10) as day, false as known
        from event where event.type = 'CallStarted'
        union all
        select row.call, row.model, row.simulated, row.day, true
        from ${table} row
        where row.call <> '' and row.call in (select ended.call from ended)
      )
      select began.model, began.simulated, began.day, '' as call, count(*) as answers,
        sum(ended.cost_micros)::bigint as cost_micros, false as over
      from began join ended on ended.call = began.call
      where ended.answered and ended.cost_micros is not null
      group by began.model, began.simulated, began.day
      union all
      select began.model, began.simulated, began.day, began.call, 0, 0, began.known
      from began left join ended on ended.call = began.call
      where began.known or ended.call is null
    ) as change on costs.model = change.model and costs.simulated = change.simulated
      and costs.day = change.day and costs.call = change.call
    when matched and change.over then delete
    when matched then update set answers = costs.answers + change.answers,
      cost_micros = costs.cost_micros + change.cost_micros
    when not matched then insert (model, simulated, day, call, answers, cost_micros)
      values (change.model, change.simulated, change.day, change.call, change.answers,
        change.cost_micros)`,
});

export type AnswerCosts = {
  model: string;
  simulated: boolean;
  answers: number;
  costMicros: number;
};

/** The answers of calls that began on the UTC day `2026-11-22` or later, per model. */
export async function readAnswerCosts(client: Queryable, since: string): Promise<AnswerCosts[]> {
  const { rows } = await client.query<AnswerCosts>(
    `select model, simulated, sum(answers)::float8 as answers,
       sum(cost_micros)::float8 as "costMicros"
     from model_costs where call = '' and day >= $1
     group by model, simulated order by model, simulated`,
    [since],
  );
  return rows;
}
