import type pg from 'pg';
import type { Log } from '#services/platform/process/log.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';

/**
 * Text that a model is writing. An unlogged table holds the sealed end of each open call, and a row is
 * deleted when its call ends. Each worker writes all of its calls in one statement. The text is never an
 * event, and a resumed stream does not repeat it.
 */
export type LiveCall = { runId: string; slot: string; attempt: number; userId: string };

export type LiveTextWriter = {
  begin(
    call: LiveCall,
    keyId: string,
  ): {
    /** `progress` is 0–100. */
    push(text: string, progress: number): void;
    end(): void;
  };
  close(): Promise<void>;
};

const liveTextLimits = { flushEveryMs: 100, tailBytes: 600 } as const;

type Open = LiveCall & {
  keyId: string;
  chars: number;
  progress: number;
  tail: string;
  changed: boolean;
};

export function createLiveTextWriter(options: {
  pool: pg.Pool;
  sealer: Sealer;
  log: Log;
}): LiveTextWriter {
  const { pool, sealer, log } = options;
  const open = new Set<Open>();
  const ended: LiveCall[] = [];
  let flushing: Promise<void> = Promise.resolve();

  const flush = async () => {
    const changed = [...open].filter((call) => call.changed);
    for (const call of changed) call.changed = false;
    const gone = ended.splice(0);
    if (changed.length === 0 && gone.length === 0) return;
    try {
      const rows = await Promise.all(changed.map((call) => rowOf(sealer, call)));
      await write(
        pool,
        rows.filter((row) => row !== null),
        gone,
      );
    } catch (error) {
      // The next flush writes it, with any later text.
      for (const call of changed) call.changed = true;
      ended.push(...gone);
      throw error;
    }
  };
  const timer = setInterval(() => {
    flushing = flushing
      .then(flush)
      // Live text may be lost by design; the run does not depend on it, so it is only reported.
      .catch((error: unknown) => log.warn({ err: error }, 'Live text could not be written'));
  }, liveTextLimits.flushEveryMs);
  timer.unref();

  return {
    begin(call, keyId) {
      const entry: Open = { ...call, keyId, chars: 0, progress: 0, tail: '', changed: false };
      open.add(entry);
      return {
        push(text, progress) {
          entry.chars += text.length;
          entry.progress = Math.max(entry.progress, Math.min(100, Math.floor(progress)));
          entry.tail = lastBytes(entry.tail + text, liveTextLimits.tailBytes);
          entry.changed = true;
        },
        end() {
          open.delete(entry);
          ended.push(call);
        },
      };
    },
    async close() {
      clearInterval(timer);
      await flushing;
      await flush();
    },
  };
}

export type LiveTextRow = {
  run_id: string;
  slot: string;
  attempt: number;
  user_id: string;
  chars: number;
  progress: number;
  tail: string;
};

/** Null when the run's key was erased: its text must not be stored. */
async function rowOf(sealer: Sealer, call: Open): Promise<LiveTextRow | null> {
  const tail = await sealedTail(sealer, call);
  if (tail === null) return null;
  return {
    run_id: call.runId,
    slot: call.slot,
    attempt: call.attempt,
    user_id: call.userId,
    chars: call.chars,
    progress: call.progress,
    tail,
  };
}

async function sealedTail(sealer: Sealer, call: Open): Promise<string | null> {
  try {
    return await sealer.seal(call.keyId, tailPlace(call), call.tail);
  } catch (error) {
    if (error instanceof ErasedKeyError) return null;
    throw error;
  }
}

/** What the sealed tail of a call is bound to. */
export function tailPlace(call: Pick<LiveCall, 'runId' | 'slot'>): {
  stream: string;
  field: string;
} {
  return { stream: `live-${call.runId}`, field: call.slot };
}

async function write(
  pool: pg.Pool,
  rows: readonly LiveTextRow[],
  gone: readonly LiveCall[],
): Promise<void> {
  await pool.query(
    `with fast as (select set_config('synchronous_commit', 'off', true)),
     gone as (
       delete from live_text l using fast,
         jsonb_to_recordset($2::jsonb) as g("runId" text, slot text, attempt integer)
       where l.run_id = g."runId" and l.slot = g.slot and l.attempt = g.attempt
     )
     insert into live_text (run_id, slot, attempt, user_id, chars, progress, tail, changed)
     select r.run_id, r.slot, r.attempt, r.user_id, r.chars, r.progress, r.tail, clock_timestamp()
     from fast, jsonb_to_recordset($1::jsonb) as r(
       run_id text, slot text, attempt integer, user_id text, chars integer, progress smallint,
       tail text)
     on conflict (run_id, slot, attempt) do update
       set chars = excluded.chars, progress = excluded.progress, tail = excluded.tail,
           changed = excluded.changed`,
    [JSON.stringify(rows), JSON.stringify(gone)],
  );
}

function lastBytes(text: string, limit: number): string {
  let tail = text.slice(-limit);
  while (Buffer.byteLength(tail) > limit) tail = tail.slice(Math.ceil(tail.length / 50));
  return tail.toWellFormed();
}
