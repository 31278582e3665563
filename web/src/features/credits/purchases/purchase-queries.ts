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
 * Milliseconds. The stream reports every change of the ledger, but a payment that a bank is still
 * confirming may change nothing there.
 */
const refreshMs = 20_000;

/** Finished and unfinished purchases, newest first, paged by the last id. */
export const purchasesQuery = infiniteQueryOptions({
  queryKey: ['credits', 'purchases'],
  queryFn: ({ signal, pageParam }) =>
    read('/credits/purchases', v.array(Purchase), { query: { before: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => (page.length < paymentLimits.purchases ? undefined : page.at(-1)?.id),
  refetchInterval: ({ state }) =>
    state.data?.pages.flat().some(isUnderway) === true ? refreshMs : false,
});

function isUnderway({ status, refunds }: Purchase): boolean {
  return status === 'processing' || refunds.some((refund) => refund.status === 'pending');
}

/**
 * Requests a refund of a purchase's unused credits; refused when fewer are left. The same `key`
 * again requests nothing more.
 */
export function requestRefund(
  purchaseId: string,
  request: RefundRequest,
  key: string,
): Promise<Refund> {
  const path = `/credits/purchases/${encodeURIComponent(purchaseId)}/refund` as const;
  return write('POST', path, request, Refund, { key });
}

/** Gives up an unfinished purchase. Repeating it changes nothing. */
export function forgetPurchase(purchaseId: string): Promise<ForgetReply> {
  const path = `/credits/purchases/${encodeURIComponent(purchaseId)}/forget` as const;
  return write('POST', path, {}, ForgetReply);
}
