import { createHash } from 'node:crypto';
import type { Projection } from '#projections/engine/define.ts';
import { usedEventTypes } from '#projections/engine/define.ts';

/**
 * The one function that writes events, generated from the inline projections. It holds no business rule:
 * it appends what `execute` decided, entry by entry, and returns the outcome of each.
 *
 * One call is one transaction over up to 64 streams. An error in one entry rolls back that entry alone,
 * while lock, commit, jobs and the wake-up of readers happen once for all.
 *
 * The name carries the hash of the text, so that processes of two versions can run side by side, each
 * with its own projections.
 */
export type AppendFunction = {
  name: string;
  /** `create function …`; run by the owner, who then revokes it from public. */
  sql: string;
  /** The argument types, as GRANT and REVOKE want them. */
  signature: string;
};

/** SQLSTATE of an entry whose expected version is not the stream's. */
export const versionConflict = 'ES409';

/** emmett's partition of an application without tenants. */
export const defaultPartition = 'emt:default';

/** Readers LISTEN on it. Its payload is empty: a wake-up, never data. */
const eventsChannel = 'events';

export const schema = 'public';

export function appendFunction(projections: readonly Projection[]): AppendFunction {
  const body = bodyOf(projections.filter((projection) => projection.kind === 'inline'));
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  const name = `append_commands_${hash}`;
  return {
    name,
    sql: `create function ${schema}.${name}${body}`,
    signature: `${schema}.${name}(text[], text[])`,
  };
}

/*
 * Every variable begins with append__, because `use_column` lets a column win over a variable of the
 * same name, and the projections' statements bring unknown columns.
 *
 * The planner's settings suit access by key alone: plans are made once per session, often on empty tables,
 * and a scan that was right then would stay when they are full.
 *
 * Rows are locked in the order of their ids, and new streams, which have no row to lock, are inserted
 * in that order too: two batches can wait for each other but not in a circle.
 */
function bodyOf(projections: readonly Projection[]): string {
  return `(append__stream_ids text[], append__entries text[])
returns table (
  append__entry_number integer,
  append__sqlstate text,
  append__constraint text,
  append__message text,
  append__version bigint,
  append__global_positions bigint[],
  append__transaction_id xid8
)
language plpgsql security definer
set search_path = ${schema}, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $append$
#variable_conflict use_column
declare
  append__item record;
  append__entry jsonb;
  append__stream_id text;
  append__expected bigint;
  append__ids text[];
  append__types text[];
  append__data jsonb[];
  append__metadata jsonb[];
  append__appended record;
  append__entry_jobs graphile_worker.job_spec[];
  append__jobs graphile_worker.job_spec[] := '{}';
  append__wrote boolean := false;
begin
  perform from emt_streams stream
    where stream.stream_id = any (append__stream_ids)
      and stream.partition = '${defaultPartition}' and stream.is_archived = false
    order by stream.stream_id collate "C"
    for no key update;

  for append__item in
    select item.stream_id, item.body, item.number
    from unnest(append__stream_ids, append__entries)
      with ordinality as item (stream_id, body, number)
    order by item.stream_id collate "C", item.number
  loop
    append__entry_number := append__item.number;
    begin
      append__stream_id := append__item.stream_id;
      append__entry := append__item.body::jsonb;
      append__expected := (append__entry ->> 'expected')::bigint;
      select array_agg(event ->> 'id' order by number),
             array_agg(event ->> 'type' order by number),
             array_agg(event -> 'data' order by number),
             array_agg(event -> 'metadata' order by number)
        into append__ids, append__types, append__data, append__metadata
        from jsonb_array_elements(append__entry -> 'events')
          with ordinality as list (event, number);

      select * into append__appended from emt_append_to_stream(
        append__ids, append__data, append__metadata,
        array_fill('1'::text, array[cardinality(append__ids)]),
        append__types,
        array_fill('E'::text, array[cardinality(append__ids)]),
        append__stream_id, split_part(append__stream_id, '-', 1), append__expected,
        v_partition => '${defaultPartition}');
      if not append__appended.success then
        raise exception 'the stream is not at the expected version'
          using errcode = '${versionConflict}';
      end if;

      insert into stream_snapshot as snapshot
        (stream_id, version, decider, decider_version, hash, occurred_at, state)
      values (
        append__stream_id, append__appended.next_stream_position,
        append__entry #>> '{snapshot,decider}',
        (append__entry #>> '{snapshot,deciderVersion}')::integer,
        append__entry #>> '{snapshot,hash}',
        append__entry #>> '{snapshot,occurredAt}',
        append__entry #> '{snapshot,state}')
      on conflict (stream_id) do update set
        version = excluded.version, decider = excluded.decider,
        decider_version = excluded.decider_version, hash = excluded.hash,
        occurred_at = excluded.occurred_at, state = excluded.state;
${projections.map(applied).join('')}
      select array_agg(
               row(job ->> 'task', (job -> 'payload')::json, job ->> 'queue',
                   (job ->> 'runAt')::timestamptz, (job ->> 'maxAttempts')::smallint,
                   job ->> 'key', (job ->> 'priority')::smallint, null)::graphile_worker.job_spec
               order by number)
        into append__entry_jobs
        from jsonb_array_elements(append__entry -> 'jobs') with ordinality as list (job, number);

      append__sqlstate := null;
      append__constraint := null;
      append__message := null;
      append__version := append__appended.next_stream_position;
      append__global_positions := append__appended.global_positions;
      append__transaction_id := append__appended.transaction_id;
      append__wrote := true;
      -- Last, because variables keep their values when the block is rolled back.
      append__jobs := append__jobs || append__entry_jobs;
    exception when others then
      get stacked diagnostics
        append__sqlstate = returned_sqlstate,
        append__constraint = constraint_name,
        append__message = message_text;
      append__version := null;
      append__global_positions := null;
      append__transaction_id := null;
    end;
    return next;
  end loop;

  if cardinality(append__jobs) > 0 then
    -- One spec per key, the last: two of one key would end the whole batch. In the order of the keys,
    -- for the same reason as the streams.
    perform graphile_worker.add_jobs(array(
      select row(spec.identifier, spec.payload, spec.queue_name, spec.run_at, spec.max_attempts,
                 spec.job_key, spec.priority, spec.flags)::graphile_worker.job_spec
      from (
        select distinct on (job.job_key) job.*
        from unnest(append__jobs) with ordinality as job
          (identifier, payload, queue_name, run_at, max_attempts, job_key, priority, flags, number)
        order by job.job_key, job.number desc
      ) spec
      order by spec.job_key));
  end if;
  if append__wrote then
    perform pg_notify('${eventsChannel}', '');
  end if;
end;
$append$`;
}

function applied(projection: Projection): string {
  const types = usedEventTypes(projection).map(literal);
  if (types.length === 0) return '';
  const list = `array[${types.join(', ')}]::text[]`;
  const events = `(
        select append__stream_id as stream_id, append__expected + event.number as stream_position,
               event.message_id, event.message_type, event.message_data, event.message_metadata
        from unnest(append__ids, append__types, append__data, append__metadata)
          with ordinality as event (message_id, message_type, message_data, message_metadata, number)
        where event.message_type = any (${list}))`;
  return `
      if append__types && ${list} then
        ${projection.apply(projection.name, events)};
      end if;
`;
}

function literal(type: string): string {
  if (!/^[A-Za-z][A-Za-z0-9]*$/.test(type)) throw new Error(`"${type}" is no event type`);
  return `'${type}'`;
}
