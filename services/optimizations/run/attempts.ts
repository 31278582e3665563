import { efforts } from '#services/models/model.ts';
import type { Effort, FailureClass } from '#services/models/model.ts';
import { deadlineLength, untilClosed } from './deadlines.ts';
import type { CouncilModel, Slot } from './events.ts';
import { endedBy, freshCall } from './state.ts';
import type { CallState, EndedBy, OpenState } from './state.ts';
import { seededInteger } from '#services/platform/seeded.ts';
import { parseSlot } from './slots.ts';

/**
 * How often a slot is tried. Attempts are counted by how they ended: a provider that is unavailable
 * is tried while the stage is open, everything else a fixed number of times. A slot is dead once one
 * kind is used up, or when its next try would come too late (`docs/decisions/0028-attempts.md`).
 */
const mostAttempts: Readonly<Record<EndedBy, number>> = {
  transient: Infinity,
  timeout: 2,
  unusable: 2,
  lost: 3,
};

/** Whether one more attempt with this outcome is the slot's last. */
export function isLastAttempt(state: OpenState, slot: Slot, by: EndedBy): boolean {
  return endsOf(state, slot, by) + 1 >= mostAttempts[by];
}

/** When a slot is retried after a failure, ISO 8601 UTC; null when it is given up. */
export function nextTry(
  state: OpenState,
  failed: {
    slot: Slot;
    attempt: number;
    failure: FailureClass;
    retryAfterMs: number | null;
    now: string;
  },
): string | null {
  const { slot, attempt, retryAfterMs } = failed;
  const by = endedBy(failed.failure);
  if (by === null || isLastAttempt(state, slot, by)) return null;
  const ends = endsOf(state, slot, by) + 1;
  const now = Date.parse(failed.now);
  const delayMs = Math.max(retryAfterMs ?? 0, backoffMs(state.seed, slot, attempt, ends));
  return delayMs < triedForMs(state, slot, ends, now)
    ? new Date(now + delayMs).toISOString()
    : null;
}

/**
 * The effort of a slot's next attempt: a level lower for each answer that was cut off, because thinking
 * takes its room; the lowest level stays. Without an effort the model's own is taken for medium.
 */
export function effortOf(
  seated: Pick<CouncilModel, 'effort' | 'efforts'>,
  { truncated }: Pick<CallState, 'truncated'>,
): Effort | null {
  let effort = seated.effort;
  for (let lowered = 0; lowered < truncated; lowered += 1)
    effort = nextLower(effort, seated.efforts ?? []) ?? effort;
  return effort;
}

function nextLower(effort: Effort | null, known: readonly Effort[]): Effort | null {
  const level = efforts.indexOf(effort ?? 'medium');
  return efforts.slice(0, level).findLast((lower) => known.includes(lower)) ?? null;
}

/**
 * Exponential backoff with full jitter. The jitter is drawn from the run's seed, so that deciding
 * stays pure; the least delay bounds a slot to one attempt a second.
 */
function backoffMs(seed: string, slot: Slot, attempt: number, ends: number): number {
  const mostMs = Math.min(longestBackoffMs, baseMs * 2 ** ends);
  return Math.max(baseMs, seededInteger(seed, `backoff:${slot}:${attempt}`, mostMs + 1));
}

/**
 * Milliseconds in which the next try has to begin: until the stage closes. A slot with a substitute
 * has the first half of its stage, so that the substitute has the second; late in a stage it still
 * gets a few tries at the usual intervals.
 */
function triedForMs(state: OpenState, slot: Slot, ends: number, now: number): number {
  const leftMs = untilClosed(state, now);
  if (!hasSubstitute(state, slot)) return leftMs;
  const lengthMs = deadlineLength(state, { stage: state.stage, kind: 'hard' });
  const firstHalfMs = leftMs - lengthMs / 2;
  return ends < fewTries ? Math.min(leftMs, Math.max(firstHalfMs, longestBackoffMs)) : firstHalfMs;
}

/** A draft that one verifier or none could read is accepted as such: that is a verifier's substitute. */
function hasSubstitute(state: OpenState, slot: Slot): boolean {
  const parts = parseSlot(slot);
  switch (parts.kind) {
    case 'opinion':
    case 'review':
      return false;
    case 'claims':
      return parts.round === 1;
    case 'draft':
      return state.stage === 'synthesis' && state.synthesizers[parts.round - 1] === 0;
    case 'verify':
      return true;
  }
}

function endsOf(state: OpenState, slot: Slot, by: EndedBy): number {
  return (state.calls[slot] ?? freshCall).ends[by];
}

const baseMs = 1000;
const longestBackoffMs = 15_000;
const fewTries = 5;
