import type { AccountState } from '#services/credits/account/state.ts';
import type { OwedLot } from '#services/credits/ledger/closed-account.ts';
import {
  failedAgainMs,
  failedTries,
  failuresOf,
} from '#services/payments/refunds/closed-accounts.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { amountText } from './difference.ts';
import type { Difference } from './difference.ts';

/**
 * What erased users are owed, and no bank takes. However old it is: it is listed until
 * an operator has paid it out in another way and said so.
 */
export async function compareClosed({
  pool,
  ledger,
}: Pick<PaymentDependencies, 'pool' | 'ledger'>): Promise<Difference[]> {
  const { rows } = await pool.query<{ user_id: string }>(
    `select distinct refund.user_id
     from cash_refund refund join erasure using (user_id) join credit_account account using (user_id)
     where refund.status = 'failed' and erasure.kind = 'account' and account.available > 0
     order by refund.user_id`,
  );
  const found: Difference[] = [];
  for (const { user_id: userId } of rows) {
    const closed = await ledger.readClosedAccount(userId);
    if (closed === null) continue;
    for (const owed of closed.owed) found.push(...refused(userId, closed.state, owed));
  }
  return found;
}

function refused(userId: string, state: AccountState, owed: OwedLot): Difference[] {
  const { lot, credits, amountMinor } = owed;
  const failures = failuresOf(state, lot.lotId);
  const last = failures.at(-1);
  if (last === undefined) return [];
  const isTriedAgain = failures.length < failedTries;
  const days = failedAgainMs / 86_400_000;
  return [
    {
      kind: 'refund-failed-erased',
      object: last.refundId,
      userId,
      expected: `${amountText(amountMinor, lot.currency ?? '')} paid back for ${credits} credits`,
      found: `${failures.length === 1 ? 'a refund' : `${failures.length} refunds`} that failed, the last one on ${last.endedAt ?? ''}`,
      cause:
        'the account has been erased, and the card or account that was paid from takes nothing',
      repairs: `${isTriedAgain ? `a worker asks again every ${days} days, up to ${failedTries} times; or an operator` : 'an operator'} pays it out in another way and runs \`credits refund ${lot.purchaseId} --paid-otherwise\``,
      isSettling: false,
    },
  ];
}
