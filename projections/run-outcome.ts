import type { Queryable } from '#db/connect.ts';
import type {
  AskedDay,
  Happened,
  OptimizationEventType,
} from '#services/optimizations/run/events.ts';
import { defineProjection } from './engine/define.ts';

/**
 * What came of the results of runs, as their owners said: one row for each day that was answered. What
 * they did stays in the event.
 */
export const runOutcome = defineProjection<OptimizationEventType>({
  name: 'run_outcome',
  kind: 'inline',
  events: {
    OptimizationCreated: 'ignored',
    ProcessingStarted: 'ignored',
    CallStarted: 'ignored',
    CallLost: 'ignored',
    CallSucceeded: 'ignored',
    CallFailed: 'ignored',
    CallCostRecorded: 'ignored',
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
    OutcomeRecorded: 'used',
  },
  key: ['run_id', 'asked'],
  create: (table) => `create table ${table} (
    run_id text not null,
    asked smallint not null check (asked in (30, 90)),
    happened text not null check (happened in ('better', 'as_expected', 'worse', 'too_early')),
    -- The run whose result it is about: run_id, or a refinement of it.
    result_id text not null,
    -- Of the first answer; corrections leave it.
    recorded_at text not null,
    primary key (run_id, asked)
  )`,
  apply: (table, events) => `merge into ${table} as t using (
      select substr(e.stream_id, 14) as run_id, (e.message_data ->> 'asked')::smallint as asked,
        (array_agg(e.message_data ->> 'happened' order by e.stream_position desc))[1] as happened,
        (array_agg(e.message_data ->> 'result' order by e.stream_position desc))[1] as result_id,
        (array_agg(e.message_data ->> 'at' order by e.stream_position))[1] as recorded_at
      from ${events} e
      group by 1, 2
    ) as s on t.run_id = s.run_id and t.asked = s.asked
    when matched then update set
      happened = s.happened, result_id = s.result_id
    when not matched then insert (run_id, asked, happened, result_id, recorded_at)
      values (s.run_id, s.asked, s.happened, s.result_id, s.recorded_at)`,
});

/** What a user is asked: about which result of which run, and since when that has stood. */
export type OpenQuestion = {
  runId: string;
  resultId: string;
  userId: string;
  asked: AskedDay;
  endedAt: string;
};

/**
 * Selects the open questions of users: of each run that is not hidden, about its newest result, on the last
 * of the days that have come; none once that day or a later one was answered. `$1` and `$2` are the times
 * (ISO 8601) at which a result must have ended for the first and the second question, `$3` the one after
 * which it must have, `$4` the ids of the users.
 */
export const openQuestions = `
  select run_id as "runId", result_id as "resultId", user_id as "userId", asked,
    ended_at as "endedAt"
  from (
    select *, case when ended_at <= $2 then 90 else 30 end as asked
    from (
      select distinct on (coalesce(run.root_id, run.run_id)) run.user_id, run.ended_at,
        coalesce(run.root_id, run.run_id) as run_id, run.run_id as result_id
      from optimization_list run
      left join optimization_list root on root.run_id = run.root_id
      where run.user_id = any ($4) and run.status = 'completed' and not run.hidden
        and root.hidden is not true and run.ended_at > $3
      order by coalesce(run.root_id, run.run_id), run.refinement desc nulls last
    ) newest
    where ended_at <= $1
  ) decision
  where not exists (
    select from run_outcome outcome
    where outcome.run_id = decision.run_id and outcome.asked >= decision.asked)`;

/** An answer that counts: of a user, about a result with this score; null without one. */
export type CountedOutcome = {
  userId: string;
  score: number | null;
  happened: Exclude<Happened, 'too_early'>;
};

/**
 * Of each run of the given users the answer of the last day that says something, first recorded before
 * `before`; the runs first that had an answer first, so that a later answer moves no other one into the
 * counted tens. Left out are simulated runs, and those that bonus credits
 * paid for.
 */
export async function countedOutcomes(
  client: Queryable,
  userIds: readonly string[],
  before: string,
): Promise<CountedOutcome[]> {
  const { rows } = await client.query<CountedOutcome>(
    `select "userId", score, happened from (
       select distinct on (outcome.run_id) run.user_id as "userId",
         result.agreement_score as score, outcome.happened, outcome.run_id,
         min(outcome.recorded_at) over (partition by outcome.run_id) as first_at
       from run_outcome outcome
       join optimization_list run on run.run_id = outcome.run_id
       join optimization_list result on result.run_id = outcome.result_id
       join run_usage usage on usage.user_id = run.user_id and usage.run_id = run.run_id
       where run.user_id = any ($1) and outcome.recorded_at < $2
         and outcome.happened <> 'too_early' and not usage.by_bonus
         and run.simulated_seats = 0 and result.simulated_seats = 0
       order by outcome.run_id, outcome.asked desc
     ) counted
     order by first_at, run_id`,
    [userIds, before],
  );
  return rows;
}
