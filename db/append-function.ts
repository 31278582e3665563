import { createHash } from 'node:crypto';
import type { Projection } from '#projections/engine/define.ts';
import { usedEventTypes } from '#projections/engine/define.ts';

/**
 * The one function that writes events, generated from the inline projections. It holds no business rule:
 * it appends what `execute` decided and returns which streams were at their expected versions.
 *
 * One call is one transaction over up to 64 streams, with one statement for each table. A stream that is
 * not at its expected version is left out. Any error undoes the whole call; the caller then appends each
 * command alone. It writes the same rows as `emt_append_to_stream`, which takes one stream.
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
    signature: `${schema}.${name}(text[], bigint[], bigint[], jsonb)`,
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
  return `(append__stream_ids text[], append__expected bigint[], append__next bigint[],
  append__batch jsonb)
returns table (append__written text[], append__positions bigint[], append__transaction_id xid8)
language plpgsql security definer
set search_path = ${schema}, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $append$
#variable_conflict use_column
declare
  append__streams text[];
  append__ids text[];
  append__types text[];
  append__data jsonb[];
  append__metadata jsonb[];
  append__versions bigint[];
begin
  -- A stream alone is locked by its update.
  if cardinality(append__stream_ids) > 1 then
    perform from emt_streams stream
      where stream.stream_id = any (append__stream_ids)
        and stream.partition = '${defaultPartition}' and stream.is_archived = false
      order by stream.stream_id collate "C"
      for no key update;
  end if;

  with moved as (
    update emt_streams stream set stream_position = entry.next
    from unnest(append__stream_ids, append__expected, append__next) as entry (id, expected, next)
    where stream.stream_id = entry.id and stream.stream_position = entry.expected
      and entry.expected > 0
      and stream.partition = '${defaultPartition}' and stream.is_archived = false
    returning stream.stream_id
  )
  select array_agg(moved.stream_id) into append__written from moved;
  if 0 = any (append__expected) then
    with created as (
      insert into emt_streams
        (stream_id, stream_position, partition, stream_type, stream_metadata, is_archived)
      select entry.id, entry.next, '${defaultPartition}', split_part(entry.id, '-', 1), '{}', false
      from unnest(append__stream_ids, append__expected, append__next) as entry (id, expected, next)
      where entry.expected = 0
      order by entry.id collate "C"
      on conflict do nothing
      returning stream_id
    )
    select append__written || array_agg(created.stream_id) into append__written from created;
  end if;
  if append__written is null then
    return;
  end if;
  append__transaction_id := pg_current_xact_id();

  select array_agg(event.stream order by number), array_agg(event.position order by number),
         array_agg(event.id order by number), array_agg(event.type order by number),
         array_agg(event.data order by number), array_agg(event.metadata order by number)
    into append__streams, append__versions, append__ids, append__types, append__data,
      append__metadata
    from rows from (jsonb_to_recordset(append__batch -> 'events')
        as (stream text, position bigint, id text, type text, data jsonb, metadata jsonb))
      with ordinality as event (stream, position, id, type, data, metadata, number)
    where event.stream = any (append__written);

  with message as (
    insert into emt_messages (stream_id, stream_position, partition, message_data, message_metadata,
      message_schema_version, message_type, message_kind, message_id, transaction_id)
    select event.stream, event.position, '${defaultPartition}', event.data, event.metadata,
      '1', event.type, 'E', event.id, append__transaction_id
    from unnest(append__streams, append__versions, append__ids, append__types, append__data,
      append__metadata) as event (stream, position, id, type, data, metadata)
    returning global_position
  )
  select array_agg(message.global_position order by message.global_position)
    into append__positions from message;

  insert into stream_snapshot as snapshot
    (stream_id, version, decider, decider_version, hash, occurred_at, state)
  select state.stream, state.version, state.decider, state."deciderVersion", state.hash,
    state."occurredAt", state.state
  from jsonb_to_recordset(append__batch -> 'snapshots') as state (stream text, version bigint,
    decider text, "deciderVersion" integer, hash text, "occurredAt" text, state jsonb)
  where state.stream = any (append__written)
  on conflict (stream_id) do update set
    version = excluded.version, decider = excluded.decider,
    decider_version = excluded.decider_version, hash = excluded.hash,
    occurred_at = excluded.occurred_at, state = excluded.state;
${projections.map(applied).join('')}
  if jsonb_array_length(append__batch -> 'jobs') > 0 then
    -- One spec per key, the last: two of one key would end the whole batch. In the order of the keys,
    -- for the same reason as the streams.
    perform graphile_worker.add_jobs(array(
      select row(spec.task, spec.payload, spec.queue, spec."runAt", spec."maxAttempts", spec.key,
        spec.priority, null)::graphile_worker.job_spec
      from (
        select distinct on (job.key) job.*
        from rows from (jsonb_to_recordset(append__batch -> 'jobs')
            as (stream text, task text, payload json, queue text, "runAt" timestamptz,
              "maxAttempts" smallint, key text, priority smallint))
          with ordinality as job
            (stream, task, payload, queue, "runAt", "maxAttempts", key, priority, number)
        where job.stream = any (append__written)
        order by job.key, job.number desc
      ) spec
      order by spec.key));
  end if;
  perform pg_notify('${eventsChannel}', '');
  return next;
end;
$append$`;
}

function applied(projection: Projection): string {
  const types = usedEventTypes(projection).map(literal);
  if (types.length === 0) return '';
  const list = `array[${types.join(', ')}]::text[]`;
  const events = `(
        select event.stream_id, event.stream_position, event.message_id, event.message_type,
               event.message_data, event.message_metadata
        from unnest(append__streams, append__versions, append__ids, append__types,
            append__data, append__metadata)
          as event (stream_id, stream_position, message_id, message_type, message_data,
            message_metadata)
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
