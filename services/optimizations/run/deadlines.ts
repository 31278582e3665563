import type { Schedule, Slot } from './events.ts';
import { shareOfStage } from './lanes.ts';
import { stageOf } from './slots.ts';
import { isOpen } from './state.ts';
import type { OpenState, RunState } from './state.ts';

/**
 * A deadline that is noticed long after it was due means that no worker was running. It is set once
 * more for its full length, and calls of its stage get that time again, too.
 */
export function isLate(dueAt: string, now: number): boolean {
  return now - Date.parse(dueAt) > lateMs;
}

/**
 * Milliseconds of a stage's deadline, or of the run's when no stage is named, with the time that runs
 * which began before may need.
 */
export function deadlineLength(state: OpenState, of: DeadlineOf): number {
  const waits = of.stage === (state.refines ? 'reviews' : 'opinions') || of.stage === undefined;
  return (waits ? state.waitMs : 0) + designedLength(state.schedule.deadlinesMs, of);
}

type DeadlineOf = { stage?: string; kind?: string };

function designedLength(lengths: Schedule['deadlinesMs'], of: DeadlineOf): number {
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

/**
 * How long a call that begins now may take: until its stage closes, and two shares of the stage where
 * other calls of it wait for the same place.
 */
export function timeLeft(state: RunState, slot: Slot, now: number): number {
  if (!isOpen(state) || stageOf(slot) !== state.stage) return leastMs;
  const leftMs = untilClosed(state, now);
  const share = shareOfStage(state, slot);
  if (share === null) return Math.max(leastMs, leftMs);
  const lengthMs = designedLength(state.schedule.deadlinesMs, { stage: state.stage, kind: 'hard' });
  return Math.max(leastMs, Math.min(leftMs, Math.ceil(2 * share * lengthMs)));
}

/**
 * Milliseconds until the stage closes, negative when its deadline is due. A stage that is open so long
 * after its deadline has been given its full length once more.
 */
export function untilClosed(state: OpenState, now: number): number {
  return isLate(state.hardAt, now)
    ? deadlineLength(state, { stage: state.stage, kind: 'hard' })
    : Date.parse(state.hardAt) - now;
}

/** The time (ISO 8601 UTC) from which a run hidden at `hiddenAt` can no longer be restored. */
export function forgottenFrom(hiddenAt: string): string {
  return new Date(Date.parse(hiddenAt) + hiddenForMs).toISOString();
}

const hiddenForMs = 30 * 86_400_000;
const lateMs = 30_000;
const leastMs = 1000;
