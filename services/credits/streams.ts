import { uuidV5 } from '#services/platform/ids.ts';
import type { CreditCommand } from './account/account.ts';

/** One person's credits are one stream; these are its name and the ids of what is asked of it. */

export function creditStream(userId: string): string {
  return `credits-${userId}`;
}

export function userOf(streamId: string): string {
  return streamId.slice('credits-'.length);
}

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

/**
 * What was asked, without what the server adds: clock, month and limit may differ when the same
 * thing is asked again, and that is no other request.
 */
export function fingerprintOf(command: CreditCommand): string {
  switch (command.type) {
    case 'Grant':
      return `grant ${command.source} ${command.credits} ${command.paidMinor ?? '-'} ${command.currency ?? '-'} ${command.paymentKey ?? '-'}`;
    case 'Reserve':
      return `reserve ${command.runId} ${command.credits}`;
    case 'Settle':
      return command.settlement.kind === 'release'
        ? `release ${command.runId}`
        : `capture ${command.runId} ${command.settlement.capture} ${command.settlement.refund}`;
    case 'SetClaim':
      return `claim ${command.lotId} ${command.ref} ${command.cause} ${command.wanted} ${command.owes}`;
    case 'RequestRefund':
      return `refund ${command.refundId} ${command.lotId} ${command.reason}${command.credits === undefined ? '' : ` ${command.credits}`}`;
    case 'EndRefund':
      return `end-refund ${command.refundId} ${command.outcome}`;
    case 'Consume':
      return `consume ${command.credits}`;
    case 'FreezeSpending':
      return `freeze ${command.ref} ${command.lotId}`;
    case 'UnfreezeSpending':
      return 'unfreeze';
    case 'CloseAccount':
      return `close ${command.reason}`;
  }
}
