import type { Queryable } from '#db/connect.ts';
import type { ProviderClass } from '#services/models/offer.ts';
import type { StrategyId } from '#services/models/strategy-list.ts';
import type {
  ChallengeType,
  Heading,
  OptimizationEventType,
} from '#services/optimizations/run/events.ts';
import { defineProjection } from './engine/define.ts';

/**
 * The stage that an event opens; judging a draft opens the synthesis again. A refinement begins with
 * its votes.
 */
const stageOpenedBy = `case message_type
    when 'ProcessingStarted' then case when message_data ? 'reviewsSoftAt' then 'reviews'
      else 'opinions' end
    when 'OpinionsClosed' then 'claims'
    when 'ClaimsFixed' then 'reviews'
    when 'ScoresComputed' then 'synthesis'
    when 'SynthesisJudged' then 'synthesis'
    when 'RunConcluded' then 'settling'
    when 'OptimizationCompleted' then 'closed'
    when 'OptimizationFailed' then 'closed'
    when 'OptimizationCancelled' then 'closed' end`;

/**
 * A user's runs, one row each, for lists and sums. Title and challenge stay sealed and are opened
 * on read. Costs add up; everything else is what the latest event says.
 */
export const optimizationList = defineProjection<OptimizationEventType>({
  name: 'optimization_list',
  kind: 'inline',
  events: {
    OptimizationCreated: 'used',
    ProcessingStarted: 'used',
    CallStarted: 'used',
    CallLost: 'used',
    CallSucceeded: 'used',
    CallFailed: 'used',
    CallCostRecorded: 'used',
    SoftPassed: 'ignored',
    OpinionsClosed: 'used',
    ClaimsFixed: 'used',
    ReviewsClosed: 'ignored',
    ScoresComputed: 'used',
    DraftChecked: 'ignored',
    SynthesisJudged: 'used',
    RunConcluded: 'used',
    OptimizationCompleted: 'used',
    OptimizationFailed: 'used',
    OptimizationCancelled: 'used',
    OptimizationHidden: 'used',
    OptimizationRestored: 'used',
    OptimizationRenamed: 'used',
    OutcomeRecorded: 'ignored',
  },
  create: (table) => `
    create table ${table} (
      run_id text primary key,
      user_id text not null,
      status text not null
        check (status in ('pending', 'processing', 'completed', 'failed', 'cancelled')),
      stage text not null check (stage in ('draft', 'opinions', 'claims', 'reviews', 'synthesis',
        'settling', 'closed')),
      answered integer not null check (answered >= 0),
      missing_seats integer not null check (missing_seats >= 0),
      strategy text not null,
      challenge_type text not null,
      -- Runs alike in these are timed together; null in runs that did not store them.
      strategy_version integer,
      provider_class text,
      price bigint not null check (price >= 0),
      captured bigint check (captured >= 0),
      refunded bigint check (refunded >= 0 and refunded <= captured),
      agreement_score integer,
      decision_share double precision check (decision_share between 0 and 1),
      votes_for integer check (votes_for between 0 and votes_total),
      votes_total integer check ((votes_total is null) = (votes_for is null)),
      heading text,
      best_seat text,
      cost_micros bigint check (cost_micros >= 0),
      unpriced_calls integer not null check (unpriced_calls >= 0),
      seats integer not null,
      simulated_seats integer not null,
      title text not null,
      renamed boolean not null,
      challenge text not null,
      created_at text not null,
      started_at text,
      ended_at text,
      hidden boolean not null,
      -- Of a refinement: the run that it belongs to, and its number among the refinements of that.
      root_id text,
      refinement integer check ((refinement is null) = (root_id is null)),
      version bigint not null
    );
    create index ${table}_user_created on ${table} (user_id, created_at desc, run_id desc);
    create index ${table}_started on ${table} (started_at) where started_at is not null;
    create index ${table}_root on ${table} (root_id) where root_id is not null;
    create index ${table}_underway on ${table} (run_id)
      where status in ('pending', 'processing')`,
  apply: (table, events) => `
    merge into ${table} as t using (
      select
        substr(e.stream_id, 14) as run_id,
        max(e.stream_position) as version,
        (array_agg(e.message_data) filter (where e.message_type = 'OptimizationCreated'))[1]
          as created,
        min(e.message_data ->> 'startedAt') filter (where e.message_type = 'ProcessingStarted')
          as started_at,
        (array_agg(case e.message_type
            when 'OptimizationCompleted' then 'completed'
            when 'OptimizationFailed' then 'failed'
            when 'OptimizationCancelled' then 'cancelled'
            else 'processing' end
          order by e.stream_position desc)
          filter (where e.message_type in ('ProcessingStarted', 'RunConcluded',
            'OptimizationCompleted', 'OptimizationFailed', 'OptimizationCancelled')))[1] as status,
        (array_agg(e.opens order by e.stream_position desc) filter (where e.opens is not null))[1]
          as stage,
        (count(*) filter (where e.message_type = 'CallSucceeded'
          and e.stream_position > coalesce(e.opened_at, 0)))::integer as answered,
        min(jsonb_array_length(e.message_data -> 'missing'))
          filter (where e.message_type = 'OpinionsClosed') as missing_seats,
        (count(*) filter (where e.message_type in ('CallFailed', 'CallLost')
          and e.message_data ->> 'final' = 'true'
          and e.message_data ->> 'slot' like 'opinion.%'))::integer as dead_seats,
        (count(*) filter (where e.message_type in ('CallFailed', 'CallLost')
          and e.message_data ->> 'final' = 'true'
          and e.message_data ->> 'slot' like 'review.%'))::integer as dead_votes,
        (array_agg(e.message_data order by e.stream_position desc)
          filter (where e.message_type in ('OptimizationCompleted', 'OptimizationFailed',
            'OptimizationCancelled')))[1] as closed,
        (array_agg(e.message_metadata ->> 'occurredAt' order by e.stream_position desc)
          filter (where e.message_type in ('OptimizationCompleted', 'OptimizationFailed',
            'OptimizationCancelled')))[1] as ended_at,
        (array_agg(e.message_data -> 'agreement' -> 'score')
          filter (where e.message_type = 'ScoresComputed'))[1] as score,
        min((e.message_data -> 'decision' ->> 'share')::double precision)
          filter (where e.message_type = 'ScoresComputed') as decision_share,
        -- Without a chosen option, the most that any has. In v0.1 the draft chose.
        min((select coalesce(max(jsonb_array_length(option.seats)), 0)
            from jsonb_each(e.message_data #> '{decision,votes}') as option (id, seats)
            where option.id = coalesce(e.message_data #>> '{verdict,optionId}', option.id)))
          filter (where e.message_type = 'ScoresComputed' and e.message_data ? 'verdict')
          as votes_for,
        min(jsonb_array_length(jsonb_path_query_array(e.message_data, '$.decision.votes.*[*]')))
          filter (where e.message_type = 'ScoresComputed' and e.message_data ? 'verdict')
          as votes_total,
        min(e.message_data ->> 'heading') filter (where e.message_type = 'RunConcluded')
          as heading,
        min(e.message_data ->> 'bestSeat') filter (where e.message_type = 'RunConcluded')
          as best_seat,
        sum((e.message_data ->> 'costMicros')::bigint)
          filter (where e.message_type in ('CallSucceeded', 'CallFailed', 'CallCostRecorded'))
          as cost_micros,
        (count(*) filter (where e.message_type = 'CallStarted')
          - count(e.message_data ->> 'costMicros'))::integer as unpriced_calls,
        (array_agg(e.message_type = 'OptimizationHidden' order by e.stream_position desc)
          filter (where e.message_type in ('OptimizationHidden', 'OptimizationRestored')))[1]
          as hidden,
        coalesce(bool_or(e.message_type = 'OptimizationRenamed'), false) as renamed,
        (array_agg(e.message_data -> 'sealed' ->> 'title'
          order by e.message_type = 'OptimizationRenamed' desc, e.stream_position desc)
          filter (where e.message_type in ('OptimizationCreated', 'OptimizationRenamed',
            'ClaimsFixed') and e.message_data -> 'sealed' ->> 'title' is not null))[1] as title
      from (
        select opening.*, max(stream_position) filter (where opens is not null)
          over (partition by stream_id) as opened_at
        from (select *, ${stageOpenedBy} as opens from ${events}) as opening
      ) as e
      group by e.stream_id
    ) as s on t.run_id = s.run_id
    when matched then update set
      status = coalesce(s.status, t.status),
      stage = coalesce(s.stage, t.stage),
      answered = s.answered + case when s.stage is null then t.answered else 0 end,
      missing_seats = coalesce(s.missing_seats, t.missing_seats
        + case when t.root_id is null then s.dead_seats else s.dead_votes end),
      captured = coalesce((s.closed ->> 'captured')::bigint, t.captured),
      refunded = coalesce((s.closed ->> 'refunded')::bigint, t.refunded),
      agreement_score = coalesce((s.score #>> '{}')::integer, t.agreement_score),
      decision_share = coalesce(s.decision_share, t.decision_share),
      votes_for = coalesce(s.votes_for, t.votes_for),
      votes_total = coalesce(s.votes_total, t.votes_total),
      heading = coalesce(s.heading, t.heading),
      best_seat = coalesce(s.best_seat, t.best_seat),
      cost_micros = case when s.cost_micros is null then t.cost_micros
        else coalesce(t.cost_micros, 0) + s.cost_micros end,
      unpriced_calls = t.unpriced_calls + s.unpriced_calls,
      title = case when t.renamed and not s.renamed then t.title
        else coalesce(s.title, t.title) end,
      renamed = t.renamed or s.renamed,
      started_at = coalesce(t.started_at, s.started_at),
      ended_at = coalesce(s.ended_at, t.ended_at),
      hidden = coalesce(s.hidden, t.hidden),
      version = greatest(t.version, s.version)
    when not matched then insert (run_id, user_id, status, stage, answered, missing_seats, strategy,
      challenge_type, strategy_version, provider_class, price, captured, refunded, agreement_score,
      decision_share, votes_for, votes_total, heading, best_seat, cost_micros, unpriced_calls, seats,
      simulated_seats, title, renamed, challenge, created_at, started_at, ended_at, hidden, root_id, refinement, version)
    values (s.run_id, s.created ->> 'userId', coalesce(s.status, 'pending'),
      coalesce(s.stage, 'draft'), s.answered, coalesce(s.missing_seats,
        case when s.created ? 'refines'
          then s.dead_votes + jsonb_array_length(s.created #> '{refines,notOffered}')
          else s.dead_seats end),
      s.created ->> 'strategy', s.created ->> 'challengeType',
      (s.created ->> 'strategyVersion')::integer, s.created ->> 'providerClass',
      (s.created ->> 'price')::bigint,
      (s.closed ->> 'captured')::bigint,
      (s.closed ->> 'refunded')::bigint, (s.score #>> '{}')::integer,
      s.decision_share, s.votes_for, s.votes_total, s.heading, s.best_seat, s.cost_micros,
      s.unpriced_calls, jsonb_array_length(s.created -> 'seats'),
      jsonb_array_length(jsonb_path_query_array(s.created, '$.seats[*] ? (@.simulated == true)')),
      s.title, s.renamed, s.created -> 'sealed' ->> 'challenge', s.created ->> 'createdAt',
      s.started_at, s.ended_at, coalesce(s.hidden, false), s.created #>> '{refines,root}',
      (s.created #>> '{refines,number}')::integer, s.version)`,
  key: ['run_id'],
});

/** A row as stored; title and challenge are sealed, times ISO 8601, amounts credits. */
export type RunRow = {
  run_id: string;
  user_id: string;
  status: 'pending' | 'processing' | 'completed' | 'failed' | 'cancelled';
  stage: 'draft' | 'opinions' | 'claims' | 'reviews' | 'synthesis' | 'settling' | 'closed';
  /** Calls answered since the stage opened, or since the last draft was judged. */
  answered: number;
  /** Seats that will never have an opinion. */
  missing_seats: number;
  strategy: StrategyId;
  challenge_type: ChallengeType;
  price: number;
  captured: number | null;
  refunded: number | null;
  agreement_score: number | null;
  /** 0–1: the weighted share of the option with most votes. */
  decision_share: number | null;
  /** For the chosen option, else the most that any has; and in all, by heads. Null in v0.1. */
  votes_for: number | null;
  votes_total: number | null;
  /** Of its result; the seat is the one whose answer stands for the option. */
  heading: Heading | null;
  best_seat: string | null;
  cost_micros: number | null;
  unpriced_calls: number;
  seats: number;
  simulated_seats: number;
  title: string;
  challenge: string;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  /** Of a refinement, and its number among the refinements of that run. */
  root_id: string | null;
  refinement: number | null;
  version: number;
};

/**
 * `refinements`: how many have started or wait to; `open_refinement`: the id of the one that has not
 * ended.
 */
export type RootRow = RunRow & {
  refinements: number;
  open_refinement: string | null;
  /** The newest completed refinement. */
  newest: Pick<RunRow, 'heading' | 'votes_for' | 'votes_total' | 'best_seat'> | null;
};

const rowColumns = `run_id, user_id, status, stage, answered, missing_seats, strategy, challenge_type,
  price::float8, captured::float8, refunded::float8, agreement_score, decision_share,
  votes_for, votes_total, heading, best_seat, cost_micros::float8, unpriced_calls, seats,
  simulated_seats, title, challenge, created_at, started_at, ended_at, root_id, refinement, version::float8`;

/** A refinement that was given up before it started is not shown, however many there are. */
const shownRefinement = `(started_at is not null or status in ('pending', 'processing'))`;

/** Of a row `listed`, what `RootRow` adds. */
const ofRefinements = `cross join lateral (
  select (count(*) filter (where ${shownRefinement}))::integer as refinements,
    (array_agg(run_id order by refinement desc)
      filter (where status in ('pending', 'processing')))[1] as open_refinement,
    (array_agg(json_build_object('heading', heading, 'votes_for', votes_for,
        'votes_total', votes_total, 'best_seat', best_seat) order by refinement desc)
      filter (where status = 'completed'))[1] as newest
  from optimization_list where root_id = listed.run_id) of_refinements`;

/** Filters a user's runs; null means no filter. */
export type RunChoice = {
  status: RunRow['status'] | null;
  strategy: string | null;
};

export type RunOrder = 'newest' | 'oldest' | 'credits';

/** `credits`: the final charge of a run, or its price while it is open; highest first. */
const orders: Readonly<Record<RunOrder, string>> = {
  newest: 'created_at desc, run_id desc',
  oldest: 'created_at, run_id',
  credits: `case when ended_at is null then price else coalesce(captured - refunded, 0) end desc,
    created_at desc, run_id desc`,
};

/** A refinement is listed under its root. */
const chosen = `user_id = $1 and not hidden and root_id is null
  and ($2::text is null or status = $2) and ($3::text is null or strategy = $3)`;

/** One page of a user's runs, and how many there are. */
export async function readRunPage(
  client: Queryable,
  userId: string,
  page: RunChoice & { sort: RunOrder; offset: number; limit: number },
): Promise<{ rows: RootRow[]; total: number }> {
  const { status, strategy, sort, offset, limit } = page;
  const { rows } = await client.query<RootRow & { total: number }>({
    name: `run-page-${sort}`,
    text: `with listed as (
       select *, (count(*) over ())::integer as total from optimization_list
       where ${chosen} order by ${orders[sort]} offset $4 limit $5)
     select ${rowColumns}, total, of_refinements.* from listed ${ofRefinements} order by ${orders[sort]}`,
    values: [userId, status, strategy, offset, limit],
  });
  const first = rows[0];
  if (first) return { rows, total: first.total };
  const counted = await client.query<{ total: number }>(
    `select count(*)::integer as total from optimization_list where ${chosen}`,
    [userId, status, strategy],
  );
  return { rows: [], total: counted.rows[0]?.total ?? 0 };
}

/** The newest of a user's runs, at most `most`, in the order asked for. */
export async function newestRuns(
  client: Queryable,
  userId: string,
  { status, strategy, sort, most }: RunChoice & { sort: RunOrder; most: number },
): Promise<RootRow[]> {
  const { rows } = await client.query<RootRow>(
    `with listed as (
       select * from optimization_list where ${chosen} order by ${orders.newest} limit $4)
     select ${rowColumns}, of_refinements.* from listed ${ofRefinements} order by ${orders[sort]}`,
    [userId, status, strategy, most],
  );
  return rows;
}

/**
 * A run and its refinements that have started or wait to, the first one first; null for a run that
 * does not exist.
 */
export async function readChain(
  client: Queryable,
  rootId: string,
): Promise<{ root: RunRow; refinements: RunRow[] } | null> {
  const { rows } = await client.query<RunRow>(
    `select ${rowColumns} from optimization_list
     where run_id = $1 or (root_id = $1 and ${shownRefinement})
     order by refinement nulls first`,
    [rootId],
  );
  const [root, ...refinements] = rows;
  return root ? { root, refinements } : null;
}

/** Of a run and its refinements the newest that has a result; null without one. */
export function newestResult({
  root,
  refinements,
}: NonNullable<Awaited<ReturnType<typeof readChain>>>): RunRow | null {
  return [root, ...refinements].findLast(({ status }) => status === 'completed') ?? null;
}

/** The number of a run's newest refinement, which may never have started; 0 without any. */
export async function lastRefinement(client: Queryable, rootId: string): Promise<number> {
  const { rows } = await client.query<{ last: number | null }>(
    'select max(refinement) as last from optimization_list where root_id = $1',
    [rootId],
  );
  return rows[0]?.last ?? 0;
}

/** ISO 8601; the first moment counts and the last one does not. */
export type Period = { from: string; to: string };

/** How a user's runs and refinements of a period ended, and what they cost; the hidden ones, too. */
export async function readEndings(
  client: Queryable,
  userId: string,
  { from, to }: Period,
): Promise<{ completed: number; failed: number; cancelled: number; credits: number }> {
  const { rows } = await client.query<{
    completed: number;
    failed: number;
    cancelled: number;
    credits: number;
  }>(
    `select (count(*) filter (where status = 'completed'))::integer as completed,
       (count(*) filter (where status = 'failed'))::integer as failed,
       (count(*) filter (where status = 'cancelled'))::integer as cancelled,
       coalesce(sum(captured - refunded), 0)::float8 as credits
     from optimization_list
     where user_id = $1 and ended_at >= $2 and ended_at < $3 and started_at is not null`,
    [userId, from, to],
  );
  return rows[0] ?? { completed: 0, failed: 0, cancelled: 0, credits: 0 };
}

/**
 * The completed runs of a period that are not hidden, newest first, and how many there are; of a run
 * and its refinements the newest.
 */
export async function newestDecisions(
  client: Queryable,
  userId: string,
  { from, to }: Period,
  most: number,
): Promise<{ ids: string[]; total: number }> {
  const { rows } = await client.query<{ run_id: string; total: number }>(
    `select run_id, (count(*) over ())::integer as total
     from (
       select distinct on (coalesce(run.root_id, run.run_id)) run.run_id, run.ended_at
       from optimization_list run
       left join optimization_list root on root.run_id = run.root_id
       where run.user_id = $1 and run.status = 'completed' and not run.hidden
         and root.hidden is not true and run.ended_at >= $2 and run.ended_at < $3
       order by coalesce(run.root_id, run.run_id), run.refinement desc nulls last
     ) decision
     order by ended_at desc, run_id desc limit $4`,
    [userId, from, to, most],
  );
  return { ids: rows.map(({ run_id: id }) => id), total: rows[0]?.total ?? 0 };
}

export type RunAverages = {
  /** Minutes from start to end of a completed run; null before the first. */
  minutes: number | null;
  timed: number;
  /** Of the agreement scores, 0–100; null without any. */
  agreement: number | null;
  scored: number;
};

/** Over all of a user's completed runs, without refinements; the hidden ones, too. */
export async function readAverages(client: Queryable, userId: string): Promise<RunAverages> {
  const { rows } = await client.query<RunAverages>(
    `select (avg(extract(epoch from ended_at::timestamptz - started_at::timestamptz)) / 60)::float8
         as minutes,
       (count(started_at))::integer as timed,
       avg(agreement_score)::float8 as agreement,
       (count(agreement_score))::integer as scored
     from optimization_list
     where user_id = $1 and status = 'completed' and root_id is null and ended_at is not null`,
    [userId],
  );
  return rows[0] ?? { minutes: null, timed: 0, agreement: null, scored: 0 };
}

/** The owner's user id; null for a run that does not exist. */
export async function ownerOfRun(client: Queryable, runId: string): Promise<string | null> {
  const { rows } = await client.query<{ user_id: string }>(
    'select user_id from optimization_list where run_id = $1',
    [runId],
  );
  return rows[0]?.user_id ?? null;
}

/** Whose it is, and its status; null for a run that does not exist or is hidden, or whose root is. */
export async function shownRun(
  client: Queryable,
  runId: string,
): Promise<(Pick<RunRow, 'status' | 'version'> & { userId: string }) | null> {
  const { rows } = await client.query<Pick<RunRow, 'status' | 'version'> & { userId: string }>(
    `select user_id as "userId", status, version::float8 as version from optimization_list run
     where run_id = $1 and not hidden and not exists (
       select from optimization_list root where root.run_id = run.root_id and root.hidden)`,
    [runId],
  );
  return rows[0] ?? null;
}

/** All runs of a user, the hidden ones too, the oldest first. */
export async function allRunsOf(client: Queryable, userId: string): Promise<string[]> {
  const { rows } = await client.query<{ run_id: string }>(
    'select run_id from optimization_list where user_id = $1 order by created_at, run_id',
    [userId],
  );
  return rows.map((row) => row.run_id);
}

/** A user's runs that have not ended, the hidden ones too. */
export async function openRunsOf(client: Queryable, userId: string): Promise<string[]> {
  const { rows } = await client.query<{ run_id: string }>(
    `select run_id from optimization_list
     where user_id = $1 and status in ('pending', 'processing') order by run_id`,
    [userId],
  );
  return rows.map((row) => row.run_id);
}

/** A user's runs that are not hidden, at most `limit` of them. */
export async function shownRunsOf(
  client: Queryable,
  userId: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await client.query<{ run_id: string }>(
    'select run_id from optimization_list where user_id = $1 and not hidden order by run_id limit $2',
    [userId, limit],
  );
  return rows.map((row) => row.run_id);
}

/**
 * Runs that have not ended and began before `before` (ISO 8601), for the sweeper. A draft owes nothing and
 * may stay for ever, unless it is a refinement.
 */
export async function runsUnderway(client: Queryable, before: string): Promise<string[]> {
  const { rows } = await client.query<{ run_id: string }>(
    `select run_id from optimization_list
     where status in ('pending', 'processing') and (stage <> 'draft' or root_id is not null)
       and created_at < $1 order by run_id`,
    [before],
  );
  return rows.map((row) => row.run_id);
}

/**
 * Started runs that still hold credits, and how long ago the first of them started. The partial index
 * `optimization_list_underway` holds open runs alone, as the sweep of each minute reads them. A hold whose run
 * has not started yet shows as its job `start-run`.
 */
export async function readOpenHolds(
  client: Queryable,
): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await client.query<{ count: number; oldestSeconds: number }>(
    `select count(*)::float8,
       coalesce(extract(epoch from now() - min(started_at)::timestamptz), 0)::float8
         as "oldestSeconds"
     from optimization_list
     where status = 'processing' and price > 0`,
  );
  return rows[0]!;
}

/** The cost of real models in runs that began at `since` (ISO 8601) or later, in micro-dollars. */
export async function costSince(client: Queryable, since: string): Promise<number> {
  const { rows } = await client.query<{ cost: number }>(
    `select coalesce(sum(cost_micros), 0)::float8 as cost from optimization_list
     where started_at >= $1 and simulated_seats < seats`,
    [since],
  );
  return rows[0]?.cost ?? 0;
}

/** How long the completed runs of one kind took, in seconds. */
export type RunDurations = {
  strategy: StrategyId;
  version: number;
  providerClass: ProviderClass;
  /** At least one seat was simulated. */
  simulated: boolean;
  p50: number;
  p90: number;
  runs: number;
};

/** Of the runs that began at `since` (ISO 8601) or later, where at least `least` are of one kind. */
export async function readDurations(
  client: Queryable,
  { since, least }: { since: string; least: number },
): Promise<RunDurations[]> {
  const { rows } = await client.query<RunDurations>(
    `select strategy, strategy_version as version, provider_class as "providerClass", simulated,
       count(*)::integer as runs,
       (percentile_disc(0.5) within group (order by seconds))::float8 as p50,
       (percentile_disc(0.9) within group (order by seconds))::float8 as p90
     from (
       select *, simulated_seats > 0 as simulated,
         extract(epoch from ended_at::timestamptz - started_at::timestamptz) as seconds
       from optimization_list
       where started_at >= $1 and status = 'completed' and ended_at is not null
         and strategy_version is not null and provider_class is not null
     ) as run
     group by strategy, strategy_version, provider_class, simulated
     having count(*) >= $2`,
    [since, least],
  );
  return rows;
}
