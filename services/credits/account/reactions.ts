import type { JobSpec } from '#services/platform/command.ts';
import { creditLimits } from '#services/credits/contract.ts';
import type { CreditEvent } from './events.ts';
import { userOf } from './events.ts';

/**
 * Event to jobs, enqueued in the transaction that appends the event and never replayed. So a reserved
 * run starts even if the request that reserved it dies, and the provider is asked for a refund only
 * after the credits were set aside.
 */
export function reactions(event: CreditEvent, streamId: string): JobSpec[] {
  const userId = userOf(streamId);
  switch (event.type) {
    case 'CreditsReserved':
      return [startJob(event.data.runId)];
    case 'CreditsGranted':
      return event.data.source === 'purchase'
        ? [receiptJob(userId, event.data.lotId), checkJob(userId, event.data.lotId)]
        : [];
    case 'CreditsCaptured':
    case 'CreditsConsumed':
      return fellLow(event.data) ? [lowBalanceJob(userId)] : [];
    case 'CashRefundRequested':
      return [sendRefundJob(userId, event.data.refundId)];
    case 'CashRefundConfirmed':
      return [refundMailJob(userId, event.data.refundId, 'confirmed')];
    case 'CashRefundFailed':
      return [refundMailJob(userId, event.data.refundId, 'failed')];
    case 'SpendingFrozen':
      return [frozenMailJob(userId, event.data)];
    case 'CreditsReturned':
    case 'CreditsReleased':
    case 'ClawbackSet':
    case 'LotRevoked':
    case 'DebtIncurred':
    case 'DebtSettled':
    case 'DebtCancelled':
    case 'DebtSettlementReversed':
    case 'LotReinstated':
    case 'SpendingUnfrozen':
    case 'AccountClosed':
      return [];
  }
}

function startJob(runId: string): JobSpec {
  return { task: 'start-run', payload: { runId }, key: `${runId}:start` };
}

function receiptJob(userId: string, lotId: string): JobSpec {
  return { task: 'mail-receipt', payload: { userId, lotId }, key: `${lotId}:receipt` };
}

/** A payment that is granted late may already have been refunded. */
function checkJob(userId: string, lotId: string): JobSpec {
  return { task: 'check-payment', payload: { userId, lotId }, key: `${lotId}:check` };
}

function sendRefundJob(userId: string, refundId: string): JobSpec {
  return { task: 'send-refund', payload: { userId, refundId }, key: `${refundId}:send` };
}

function refundMailJob(userId: string, refundId: string, outcome: string): JobSpec {
  return {
    task: 'mail-refund',
    payload: { userId, refundId, outcome },
    key: `${refundId}:mail:${outcome}`,
  };
}

function frozenMailJob(
  userId: string,
  frozen: Extract<CreditEvent, { type: 'SpendingFrozen' }>['data'],
): JobSpec {
  const { ref, lotId, overpaidMinor, currency } = frozen;
  const payload = { userId, ref, lotId, overpaidMinor, currency };
  return { task: 'mail-spending-frozen', payload, key: `${ref}:frozen` };
}

function lowBalanceJob(userId: string): JobSpec {
  return { task: 'mail-low-balance', payload: { userId }, key: `${userId}:low-balance` };
}

/**
 * Held credits count until they are used: several runs may be open.
 */
function fellLow({
  credits,
  balance,
}: {
  credits: number;
  balance: CreditEvent['data']['balance'];
}) {
  const after = balance.available + balance.held;
  return after < creditLimits.lowBalance && after + credits >= creditLimits.lowBalance;
}
