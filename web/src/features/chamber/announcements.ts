import {
  describeSeat,
  overallProgress,
  statusOf,
} from '#services/optimizations/reading/describe.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';
import { listed } from '#services/models/seating/words.ts';
import { phases } from '#web/run/drawing/phases.ts';
import { isOut } from '#web/run/seat-words.ts';

/**
 * What the chamber announces: the start, phase changes, models that drop out, each quarter of the
 * progress, and the end. Never a model's text, and at most one message in five seconds; messages in
 * between are combined.
 */
export type Announced = {
  readonly stage: RunView['stage'];
  readonly out: readonly string[];
  readonly quarter: number;
};

export type Announcement = {
  readonly kind: 'start' | 'phase' | 'out' | 'progress' | 'end';
  readonly text: string;
};

const announceEveryMs = 5_000;

export function announcedOf(view: RunView): Announced {
  return {
    stage: view.stage,
    out: view.seats
      .filter((seat) => isOut(describeSeat(view, seat).status))
      .map((seat) => seat.seat),
    quarter: Math.floor(overallProgress(view) / 25),
  };
}

const phaseAt: Readonly<Record<RunView['stage'], number>> = {
  draft: -1,
  opinions: 0,
  claims: 1,
  reviews: 1,
  scoring: 2,
  synthesis: 3,
  settling: 3,
  closed: 4,
};

/** One of the four phases; none before the first and after the last. */
export function phaseOf(stage: RunView['stage']): (typeof phases)[number] | undefined {
  return phases[phaseAt[stage]];
}

/** What to announce for a change of state. */
export function announcementsBetween(before: Announced, view: RunView): Announcement[] {
  const now = announcedOf(view);
  if (now.stage === 'closed') {
    return before.stage === 'closed' ? [] : [{ kind: 'end', text: endOf(view) }];
  }
  const said: Announcement[] = [];
  const phase = phaseOf(now.stage);
  if (before.stage === 'draft' && now.stage !== 'draft') {
    const work = view.refines === null ? 'answering' : 'voting again';
    said.push({ kind: 'start', text: `Started: ${view.seats.length} models are ${work}.` });
  } else if (phase !== undefined && phase !== phaseOf(before.stage)) {
    said.push({ kind: 'phase', text: `Phase: ${phase.name}.` });
  }
  const fresh = now.out.filter((seat) => !before.out.includes(seat));
  if (fresh.length > 0) {
    const them = view.seats.filter((seat) => fresh.includes(seat.seat));
    said.push({
      kind: 'out',
      text: `${listed(them.map((seat) => `${seat.seat} ${seat.name}`))} dropped out of the run.`,
    });
  }
  if (now.quarter > before.quarter) {
    said.push({ kind: 'progress', text: `${now.quarter * 25} percent.` });
  }
  return said;
}

function endOf(view: RunView): string {
  const words = {
    pending: '',
    processing: '',
    completed: 'Done. Your result is ready.',
    failed: 'The run failed.',
    cancelled: 'The run was canceled.',
  };
  return words[statusOf(view)];
}

export type Announcer = {
  announce: (announcements: readonly Announcement[]) => void;
  stop: () => void;
};

/**
 * Announces at once after a pause, and combines messages that come too soon; only the last figure
 * counts.
 */
export function createAnnouncer(say: (sentence: string) => void): Announcer {
  let waiting: Announcement[] = [];
  let saidAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const speak = (): void => {
    timer = undefined;
    if (waiting.length === 0) return;
    saidAt = Date.now();
    say(waiting.map((one) => one.text).join(' '));
    waiting = [];
  };

  return {
    announce(announcements) {
      for (const one of announcements) {
        if (one.kind === 'end') waiting = [];
        if (one.kind === 'progress') waiting = waiting.filter((other) => other.kind !== 'progress');
        waiting.push(one);
      }
      if (waiting.length === 0 || timer !== undefined) return;
      const delayMs = saidAt + announceEveryMs - Date.now();
      if (delayMs <= 0) speak();
      else timer = setTimeout(speak, delayMs);
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
      waiting = [];
    },
  };
}
