import { infiniteQueryOptions } from '@tanstack/react-query';
import * as v from 'valibot';
import {
  ForgetReply,
  paymentLimits,
  Purchase,
  Refund,
  type RefundRequest,
} from '#services/payments/contract.ts';
import { read, write } from '#web/api/api.ts';

/**
 * Milliseconds. The stream tells of every change of the ledger; a payment that a bank still confirms,
 * or refuses in the end, may change nothing there.
 */
const refreshMs = 20_000;

/** What was bought or is about to be, newest first, in pages that follow each other by the last id. */
export const purchasesQuery = infiniteQueryOptions({
  queryKey: ['credits', 'purchases'],
  queryFn: ({ signal, pageParam }) =>
    read('/credits/purchases', v.array(Purchase), { query: { before: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => (page.length < paymentLimits.purchases ? undefined : page.at(-1)?.id),
  refetchInterval: ({ state }) =>
    state.data?.pages.flat().some(isUnderway) === true ? refreshMs : false,
});

/** Whether a bank is still at work on it. */
function isUnderway({ status, refunds }: Purchase): boolean {
  return status === 'processing' || refunds.some((refund) => refund.status === 'pending');
}

/**
 * Asks for the unused credits of a purchase back; refused when they are no longer so many. The same
 * `key` again asks for nothing more.
 */
export function requestRefund(
  purchaseId: string,
  request: RefundRequest,
  key: string,
): Promise<Refund> {
  const path = `/credits/purchases/${encodeURIComponent(purchaseId)}/refund` as const;
  return write('POST', path, request, Refund, { key });
}

/** Gives up a purchase that was not finished. Doing it again changes nothing. */
export function forgetPurchase(purchaseId: string): Promise<ForgetReply> {
  const path = `/credits/purchases/${encodeURIComponent(purchaseId)}/forget` as const;
  return write('POST', path, {}, ForgetReply);
}
