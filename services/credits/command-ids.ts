import { uuidV5 } from '#services/platform/ids.ts';

/** A command's id follows from its subject, so that a repeat is recognised. */

export function reserveCommandId(runId: string): string {
  return uuidV5(runId, 'reserve');
}

export function settleCommandId(runId: string): string {
  return uuidV5(runId, 'settle');
}

/** Webhook, success page and sweeper may all grant the same lot. */
export function grantCommandId(lotOrPaymentKey: string): string {
  return uuidV5(lotOrPaymentKey, 'grant');
}

export function refundCommandId(refundId: string): string {
  return uuidV5(refundId, 'request');
}

/** A refund can end more than once, as confirmed and later as failed; `ends` counts the earlier ones. */
export function endRefundCommandId(refundId: string, outcome: string, ends: number): string {
  return uuidV5(refundId, outcome, ends);
}

export function freezeCommandId(disputeId: string): string {
  return uuidV5(disputeId, 'freeze-spending');
}

export function closeCommandId(userId: string): string {
  return uuidV5(userId, 'close-account');
}
