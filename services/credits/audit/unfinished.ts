import type { AccountState } from '#services/credits/account/state.ts';
import { isConsistent } from '#services/credits/account/clawbacks.ts';
import { stateOf } from './replay.ts';
import type { Difference, RecordedCreditEvent } from './replay.ts';

/**
 * What has begun in an account and should have ended by now. The account is sound; a process died
 * before it sent the next command, or the payment provider has not answered.
 */
export function unfinished(recorded: readonly RecordedCreditEvent[], nowMs: number): Difference[] {
  const last = recorded.at(-1);
  if (!last) return [];
  const state = stateOf(recorded);
  const isMoving = nowMs - Date.parse(last.at) < oneCommandMs;
  return [...(isMoving ? [] : interruptedClawbacks(state)), ...pendingRefunds(state, nowMs)];
}

/** A large amount is given back in several commands, one right after the other. */
const oneCommandMs = 60_000;

function interruptedClawbacks(state: AccountState): Difference[] {
  return state.lots.flatMap(({ lotId, clawbacks }) =>
    clawbacks
      .filter(({ ref }) => !isConsistent(state, lotId, ref))
      .map(({ ref, wanted, taken }) => ({
        position: null,
        what: `clawback ${ref} on ${lotId}`,
        recorded: `interrupted at ${taken} credits while it gave back`,
        recomputed: `done with, at ${wanted} at most`,
      })),
  );
}

/** Banks take days, the slowest some weeks. */
const pendingDays = 30;

function pendingRefunds({ refunds }: AccountState, nowMs: number): Difference[] {
  return Object.entries(refunds)
    .filter(
      ([, { status, requestedAt }]) =>
        status === 'pending' && nowMs - Date.parse(requestedAt) > pendingDays * 86_400_000,
    )
    .map(([refundId, { requestedAt }]) => ({
      position: null,
      what: `refund ${refundId}`,
      recorded: `pending since ${requestedAt}`,
      recomputed: `over within ${pendingDays} days`,
    }));
}
