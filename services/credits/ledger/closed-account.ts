import type { AccountState } from '#services/credits/account/state.ts';
import { refundOffer } from '#services/credits/account/cash-refunds.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import { stateOf } from '#services/credits/audit/replay.ts';
import type { RecordedCreditEvent } from '#services/credits/audit/replay.ts';

/**
 * A closed account. Its credits cannot be used any more, so every possible refund is made automatically.
 */
export type ClosedAccount = { state: AccountState; owed: readonly OwedLot[] };

export type OwedLot = { lot: Lot; credits: number; amountMinor: number };

/**
 * Owed is what could have been asked back when the account was closed, and what has come back into a
 * lot since: a dispute was won, a run released, a refund failed. Null for an open account.
 */
export function closedAccount(recorded: readonly RecordedCreditEvent[]): ClosedAccount | null {
  const index = recorded.findIndex(({ event }) => event.type === 'AccountClosed');
  const closing = recorded[index];
  if (closing === undefined) return null;
  const before = stateOf(recorded.slice(0, index));
  const state = stateOf(recorded);
  const left = new Map(before.lots.map(({ lotId, available }) => [lotId, available]));
  const closedAt = Date.parse(closing.at);
  const owed = state.lots.flatMap((lot): OwedLot[] => {
    const hasComeBack = lot.available > (left.get(lot.lotId) ?? 0);
    const offer = refundOffer(state, lot, closedAt, hasComeBack ? 'erasure' : 'customer');
    if ('refusal' in offer) return [];
    return [{ lot, credits: offer.credits, amountMinor: offer.amountMinor }];
  });
  return { state, owed };
}
