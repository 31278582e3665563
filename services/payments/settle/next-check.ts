import type { AccountState } from '#services/credits/account/state.ts';
import type { DisputeView } from '#services/payments/provider.ts';
import { askAgainMs } from '#services/payments/purchases/rows.ts';
import type { PurchaseRow } from '#services/payments/purchases/rows.ts';

const askAgainAtMostMs = 21_600_000;
const dailyMs = 86_400_000;

/** How long a refund may still fail; until then it is checked as often as an open dispute. */
const refundMayFailMs = 2_592_000_000;

/** When the provider is asked about a payment again; null when nothing of it can move unnoticed. */
export function nextCheckAt(
  { status, created_at: createdAt }: Pick<PurchaseRow, 'status' | 'created_at'>,
  now: number,
  granted?: {
    refunds: readonly AccountState['refunds'][string][];
    disputes: readonly DisputeView[];
  },
): Date | null {
  const times = [
    ...(status === 'open' || status === 'processing' ? [later(createdAt.getTime(), now)] : []),
    ...(granted?.refunds ?? []).flatMap((refund) => refundTimes(refund, now)),
    ...(granted?.disputes ?? []).flatMap(({ stage }) =>
      stage === 'inquiry' || stage === 'withdrawn' ? [now + dailyMs] : [],
    ),
  ];
  return times.length === 0 ? null : new Date(Math.min(...times));
}

/** Banks take days: a quarter of what has passed already, within limits. */
function later(since: number, now: number): number {
  return now + Math.min(askAgainAtMostMs, Math.max(askAgainMs, (now - since) / 4));
}

/** What was refunded may still fail, for a month. */
function refundTimes(
  { status, requestedAt, endedAt }: AccountState['refunds'][string],
  now: number,
) {
  if (status === 'pending') return [later(Date.parse(requestedAt), now)];
  const mayFail =
    status === 'confirmed' && endedAt !== null && now - Date.parse(endedAt) < refundMayFailMs;
  return mayFail ? [now + dailyMs] : [];
}
