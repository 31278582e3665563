import type { Projection } from '#projections/engine/define.ts';
import { defineProjection } from '#projections/engine/define.ts';
import type { Decider } from '#services/platform/command.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * A small account, for tests of the store and the command path that are not about credits: points
 * are added, taken and counted, each by one event, with a job for each taking.
 */
export type TallyEvent =
  | { type: 'PointsAdded'; data: { points: number } }
  | { type: 'PointsTaken'; data: { points: number; by: string } };

export type TallyCommand =
  | { type: 'Add'; points: number }
  /** Refused when there are too few; a repeat by the same `by` does nothing. */
  | { type: 'Take'; points: number; by: string }
  /** Takes more than there is, so that only the read model's CHECK refuses it. */
  | { type: 'Overdraw'; points: number }
  /** Adds once in the life of the stream; a repeat does nothing. */
  | { type: 'AddOnce'; points: number };

export type TallyState = { points: number; takers: readonly string[]; additions: number };

export const tally: Decider<TallyState, TallyCommand, TallyEvent> = {
  name: 'tally',
  version: 1,
  initialState: () => ({ points: 0, takers: [], additions: 0 }),
  decide(command, state) {
    switch (command.type) {
      case 'Add':
        return [{ type: 'PointsAdded', data: { points: command.points } }];
      case 'AddOnce':
        return state.additions > 0
          ? []
          : [{ type: 'PointsAdded', data: { points: command.points } }];
      case 'Overdraw':
        return [{ type: 'PointsTaken', data: { points: command.points, by: 'overdraft' } }];
      case 'Take': {
        if (state.takers.includes(command.by)) return [];
        if (state.points < command.points)
          throw new Problem('insufficient-credits', 'There are too few points.');
        return [{ type: 'PointsTaken', data: { points: command.points, by: command.by } }];
      }
    }
  },
  evolve(state, event) {
    switch (event.type) {
      case 'PointsAdded':
        return {
          ...state,
          points: state.points + event.data.points,
          additions: state.additions + 1,
        };
      case 'PointsTaken':
        return {
          ...state,
          points: state.points - event.data.points,
          takers: [...state.takers, event.data.by],
        };
    }
  },
  reactions(event, streamId) {
    return event.type === 'PointsTaken'
      ? [
          {
            task: 'points-taken',
            payload: { streamId, by: event.data.by },
            key: `${streamId}:${event.data.by}`,
          },
        ]
      : [];
  },
};

/** The points of each stream, never negative. */
export const tallyPoints: Projection = defineProjection<TallyEvent['type']>({
  name: 'tally_points',
  kind: 'inline',
  events: { PointsAdded: 'used', PointsTaken: 'used' },
  create: (table) => `create table ${table} (
    stream_id text primary key,
    points bigint not null check (points >= 0))`,
  apply: (table, events) => `
    merge into ${table} as target
    using (
      select stream_id, sum(case message_type when 'PointsAdded' then 1 else -1 end
        * (message_data ->> 'points')::bigint) as points
      from ${events} e group by stream_id
    ) as change on target.stream_id = change.stream_id
    when matched then update set points = target.points + change.points
    when not matched then insert (stream_id, points) values (change.stream_id, change.points)`,
  key: ['stream_id'],
});

/** Every taking as a line of its own. */
export const tallyLines: Projection = defineProjection<TallyEvent['type']>({
  name: 'tally_line',
  kind: 'inline',
  events: { PointsAdded: 'ignored', PointsTaken: 'used' },
  create: (table) => `create table ${table} (
    stream_id text not null,
    stream_position bigint not null,
    taken_by text not null,
    primary key (stream_id, stream_position))`,
  apply: (table, events) => `
    insert into ${table} (stream_id, stream_position, taken_by)
    select stream_id, stream_position, message_data ->> 'by' from ${events} e`,
  key: ['stream_id', 'stream_position'],
});
