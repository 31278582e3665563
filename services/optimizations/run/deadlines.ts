import type { Schedule } from './events.ts';
import type { OpenState, RunState } from './state.ts';

/**
 * A deadline that is noticed long after it was due means that no worker was running. It is set once
 * more for its full length, and calls of its stage get that time again, too.
 */
export function isLate(dueAt: string, now: number): boolean {
  return now - Date.parse(dueAt) > lateMs;
}

/** Milliseconds of a stage's deadline, or of the run's when no stage is named. */
export function deadlineLength(
  lengths: Schedule['deadlinesMs'],
  of: { stage?: string; kind?: string },
): number {
  switch (of.stage) {
    case 'opinions':
      return of.kind === 'soft' ? lengths.opinionsSoft : lengths.opinionsHard;
    case 'reviews':
      return of.kind === 'soft' ? lengths.reviewsSoft : lengths.reviewsHard;
    case 'claims':
      return lengths.claims;
    case 'synthesis':
      return lengths.synthesis;
    case undefined:
    default:
      return lengths.run;
  }
}

/** How long a call that begins now may take: until its stage closes. */
export function timeLeft(state: RunState, now: number): number {
  return 'hardAt' in state ? Math.max(leastMs, untilClosed(state, now)) : leastMs;
}

/**
 * Milliseconds until the stage closes, negative when its deadline is due. A stage that is open so long
 * after its deadline has been given its full length once more.
 */
export function untilClosed(state: OpenState, now: number): number {
  return isLate(state.hardAt, now)
    ? deadlineLength(state.schedule.deadlinesMs, { stage: state.stage, kind: 'hard' })
    : Date.parse(state.hardAt) - now;
}

/** The time (ISO 8601 UTC) from which a run hidden at `hiddenAt` can no longer be restored. */
export function forgottenFrom(hiddenAt: string): string {
  return new Date(Date.parse(hiddenAt) + hiddenForMs).toISOString();
}

const hiddenForMs = 30 * 86_400_000;
const lateMs = 30_000;
const leastMs = 1000;
