import {
  claimsSlot,
  draftSlot,
  opinionSlot,
  reviewSlot,
  verifySlot,
} from '#services/optimizations/run/slots.ts';
import type { AuditedRun } from './evidence.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';

/** As `Slot` in `run/events.ts` describes them. */
const rounds = [1, 2, 3];
const verifiers = [1, 2];

/**
 * Every slot that a run of these seats may call, as it is written. A name that is read as one of them, such
 * as `draft.01`, is another slot, and each slot of a file takes time to check.
 */
export function plannedSlots({ events: [stored] }: AuditedRun): ReadonlySet<string> {
  const created = stored && runEventOf(stored);
  if (created?.type !== 'OptimizationCreated') return new Set();
  const { seats, schedule } = created.data;
  return new Set([
    ...seats.flatMap(({ seat }) => [opinionSlot(seat), reviewSlot(seat)]),
    ...schedule.extractors.map((_, index) => claimsSlot(index + 1)),
    ...rounds.flatMap((round) => [
      draftSlot(round),
      ...verifiers.map((verifier) => verifySlot(round, verifier)),
    ]),
  ]);
}
