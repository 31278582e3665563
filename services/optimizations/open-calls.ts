import type pg from 'pg';
import type { RunState } from './run/state.ts';
import { owedSlots } from './run/owed.ts';
import { streamOf } from './run/events.ts';

/**
 * The model calls that this process has under way. A call is stopped when its run has ended or its
 * stage has closed without it.
 */
export type OpenCalls = {
  /** Runs `work` with a signal that `stopUnwanted` and `stopAll` abort. */
  during<Result>(
    call: { runId: string; slot: string },
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result>;
  stopUnwanted(pool: pg.Pool): Promise<void>;
  /** For the end of the process; its calls then end as lost, not as stopped. */
  stopAll(): void;
  readonly stopping: boolean;
};

type OpenCall = { runId: string; slot: string; controller: AbortController };

export function createOpenCalls(): OpenCalls {
  const open = new Set<OpenCall>();
  let stopping = false;
  return {
    async during(call, work) {
      const entry = { ...call, controller: new AbortController() };
      open.add(entry);
      if (stopping) entry.controller.abort();
      try {
        return await work(entry.controller.signal);
      } finally {
        open.delete(entry);
      }
    },
    async stopUnwanted(pool) {
      if (open.size === 0) return;
      const runs = [...new Set([...open].map((call) => call.runId))];
      const { rows } = await pool.query<{ stream_id: string; state: RunState }>(
        'select stream_id, state from stream_snapshot where stream_id = any($1)',
        [runs.map(streamOf)],
      );
      const wanted = new Map(
        rows.map((row) => [row.stream_id, new Set(owedSlots(row.state))] as const),
      );
      for (const call of open) {
        const slots = wanted.get(streamOf(call.runId));
        if (slots && !slots.has(call.slot)) call.controller.abort();
      }
    },
    stopAll() {
      stopping = true;
      for (const call of open) call.controller.abort();
    },
    get stopping() {
      return stopping;
    },
  };
}
