import { uuidV5 } from '#services/platform/ids.ts';

/** The ids of commands: each follows from what it is about, so that a repeat is recognised. */

/** A run is reserved once and settled once, whoever asks and how often. */
export function reserveCommandId(runId: string): string {
  return uuidV5(runId, 'reserve');
}

export function settleCommandId(runId: string): string {
  return uuidV5(runId, 'settle');
}

/** A lot is granted once, by whichever of webhook, return page and sweeper comes first. */
export function grantCommandId(lotOrPaymentKey: string): string {
  return uuidV5(lotOrPaymentKey, 'grant');
}

/** A refund is asked for once. */
export function refundCommandId(refundId: string): string {
  return uuidV5(refundId, 'request');
}

/** Each time that the end of a refund turns out to be another; `ends` of them were told before. */
export function endRefundCommandId(refundId: string, outcome: string, ends: number): string {
  return uuidV5(refundId, outcome, ends);
}

/** A lost dispute freezes spending once. */
export function freezeCommandId(disputeId: string): string {
  return uuidV5(disputeId, 'freeze-spending');
}

/** An account is closed once. */
export function closeCommandId(userId: string): string {
  return uuidV5(userId, 'close-account');
}
