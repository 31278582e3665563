import type pg from 'pg';
import type { Log } from '#services/platform/process/log.ts';
import type { Sealer } from '#services/platform/seal.ts';
import type { Delta } from './contract.ts';
import { encode } from './hub.ts';
import type { Hub } from './hub.ts';
import { liveLimits } from './limits.ts';
import { tailPlace } from './live-text.ts';
import type { LiveTextRow } from './live-text.ts';

/** Sends text that is being written to the streams that watch its run. */
export type TextFeed = { close(): Promise<void> };

export function startTextFeed(options: {
  pool: pg.Pool;
  sealer: Sealer;
  hub: Hub;
  log: Log;
}): TextFeed {
  const { pool, sealer, hub, log } = options;
  /** By run and call: characters sent so far. */
  const sent = new Map<string, Map<string, number>>();
  let since = new Date(0);
  let reading: Promise<void> | null = null;

  const read = async () => {
    const watched = hub.watched();
    // Runs that are no longer watched are forgotten.
    const stillWatched = new Set(watched);
    for (const runId of sent.keys()) if (!stillWatched.has(runId)) sent.delete(runId);
    if (watched.length === 0) return;
    const { rows } = await pool.query<LiveTextRow & { changed: Date }>(
      `select run_id, slot, attempt, user_id, chars, progress, tail, changed from live_text
       where run_id = any($1) and changed > $2`,
      [watched, since],
    );
    for (const row of rows) {
      const opened = await sealer.open(row.tail, tailPlace({ runId: row.run_id, slot: row.slot }));
      if ('erased' in opened) continue;
      const ofRun = sent.get(row.run_id) ?? new Map<string, number>();
      sent.set(row.run_id, ofRun);
      const delta = deltaOf(row, opened.text, ofRun);
      if (delta) hub.broadcast(row.run_id, encode('delta', delta));
    }
    // A row that was committed late may carry an earlier time, so its length shows what was sent.
    const latest = rows.reduce((last, row) => (row.changed > last ? row.changed : last), since);
    since = new Date(Math.max(since.getTime(), latest.getTime() - overlapMs));
  };

  const timer = setInterval(() => {
    reading ??= read()
      .catch((error: unknown) => log.warn({ err: error }, 'Live text could not be read'))
      .finally(() => {
        reading = null;
      });
  }, liveLimits.textEveryMs);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await reading;
    },
  };
}

const overlapMs = 1000;

/** What is new of a call since the last read; the whole tail when more was written than it holds. */
function deltaOf(
  row: Pick<LiveTextRow, 'run_id' | 'slot' | 'attempt' | 'chars' | 'progress'>,
  tail: string,
  sent: Map<string, number>,
): Delta | null {
  const key = `${row.slot} ${row.attempt}`;
  const known = sent.get(key) ?? 0;
  if (row.chars <= known && sent.has(key)) return null;
  const fresh = Math.min(row.chars - known, tail.length);
  sent.set(key, row.chars);
  return {
    run: row.run_id,
    seat: /^(?:opinion|review)\.(.+)$/.exec(row.slot)?.[1] ?? null,
    slot: row.slot,
    attempt: row.attempt,
    offset: row.chars - fresh,
    text: fresh === 0 ? '' : tail.slice(-fresh),
    progress: row.progress,
  };
}
