import * as v from 'valibot';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { RunStatus } from '#services/optimizations/contract/summary.ts';
import { newestWords } from '#web/features/runs/words.ts';
import type { RunReport } from '#web/live/live.ts';

/** What the bell keeps: the last toasts and ended runs of one user, newest first. */
const keptAtMost = 20;

const Notice = v.object({
  /** Of an ended run its id, so that two tabs keep it once. */
  id: v.string(),
  /** ISO 8601. */
  at: v.string(),
  tone: v.picklist(['success', 'error', 'warning', 'info']),
  title: v.string(),
  message: v.optional(v.string()),
  run: v.optional(v.object({ id: v.string(), status: RunStatus })),
  isRead: v.boolean(),
});
export type Notice = v.InferOutput<typeof Notice>;

const Kept = v.object({
  notices: v.array(Notice),
  /** Runs seen in progress: their end is reported, even when it came while no page was open. */
  running: v.array(v.string()),
  /** ISO 8601, by the server's clock: runs that ended before are no longer shown. */
  clearedAt: v.optional(v.string()),
});
export type Kept = v.InferOutput<typeof Kept>;

export const nothingKept: Kept = { notices: [], running: [] };

/** Nothing for a missing or unreadable text. */
export function keptFrom(text: string | null): Kept {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), Kept), text);
  return parsed.success ? parsed.output : nothingKept;
}

export function unreadCount({ notices }: Kept): number {
  return notices.filter(({ isRead }) => !isRead).length;
}

/** The newest first, each id once. */
export function withNotice(kept: Kept, notice: Notice): Kept {
  if (kept.notices.some(({ id }) => id === notice.id)) return kept;
  return { ...kept, notices: [notice, ...kept.notices].slice(0, keptAtMost) };
}

export function allRead(kept: Kept): Kept {
  return { ...kept, notices: kept.notices.map((notice) => ({ ...notice, isRead: true })) };
}

/** Remembers a run in progress, and returns whether this report is the end of one. */
export function followRun(
  kept: Kept,
  { id, status }: Pick<RunReport, 'id' | 'status'>,
): { kept: Kept; hasEnded: boolean } {
  const isKnown = kept.running.includes(id);
  if (status === 'processing')
    return {
      kept: isKnown ? kept : { ...kept, running: [...kept.running, id] },
      hasEnded: false,
    };
  if (status === 'pending' || !isKnown) return { kept, hasEnded: false };
  return {
    kept: { ...kept, running: kept.running.filter((one) => one !== id) },
    hasEnded: true,
  };
}

const endWords = {
  completed: { tone: 'success', word: 'Done', message: 'Your result is ready.' },
  failed: {
    tone: 'warning',
    word: 'Failed',
    message: 'The run page says why, and what you got back.',
  },
  cancelled: {
    tone: 'info',
    word: 'Canceled',
    message: 'The run page shows what you got back.',
  },
} as const;
export type Ending = keyof typeof endWords;

export const isEnding = (status: RunStatus): status is Ending => status in endWords;

/** With the ended runs of the server's list, as read ones: newest first, each once. */
export function withFinishedRuns(kept: Kept, runs: readonly ListedRun[]): Notice[] {
  const known = new Set(kept.notices.map(({ id }) => id));
  const finished = runs.flatMap((run): Notice[] => {
    const { id, status, title, ended_at: at } = run;
    if (at === null || !isEnding(status) || known.has(id) || at <= (kept.clearedAt ?? ''))
      return [];
    const notice = { ...endNotice(id, status, title, at), isRead: true };
    const outcome = [run.outcome, newestWords(run)].filter((words) => words !== null);
    return [outcome.length === 0 ? notice : { ...notice, message: `${outcome.join('. ')}.` }];
  });
  return [...kept.notices, ...finished]
    .toSorted((one, other) => other.at.localeCompare(one.at))
    .slice(0, keptAtMost);
}

/** @param title of the run; null when it could not be read */
export function endNotice(
  id: string,
  status: Ending,
  title: string | null,
  at: string,
): Notice & { message: string } {
  const { tone, word, message } = endWords[status];
  return {
    id,
    at,
    tone,
    title: `${word} · ${title ?? 'your optimization'}`,
    message,
    run: { id, status },
    isRead: false,
  };
}
