import type { AccountState, CashRefund } from '#services/credits/account/state.ts';
import type { OwedLot } from '#services/credits/ledger/closed-account.ts';
import { derivedId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { checkSoon, soon } from '#services/payments/purchases/rows.ts';

/**
 * Money of people who have been erased. A dispute of theirs may be won and a refund fail long after
 * their account was closed; no user is left to ask for what comes free by that, so it is asked for here.
 *
 * A bank that has refused may have no account left to pay into. It is asked again after days and not for
 * ever, and whatever it does not take is listed when the books are compared.
 */
const actor = 'system:erasure';

/** Accounts in one pass. */
const sweepAtOnce = 20;

/** An erased user cannot ask again after a failure; a worker does, so often and after so long. */
export const failedTries = 5;
export const failedAgainMs = 259_200_000;

/**
 * Accounts of erased people that have something available and have moved since the last check, or
 * where a bank is to be asked again. Both are moved to where they are due again soon,
 * should the check fail.
 */
export async function dueClosedAccounts({ pool, clock }: PaymentDependencies): Promise<string[]> {
  const now = new Date(clock());
  const { rows } = await pool.query<{ user_id: string }>(
    `insert into closed_account_check as seen_before (user_id, seen_version, again_at)
     select account.user_id, account.version, $2
     from erasure join credit_account account using (user_id)
       left join closed_account_check seen using (user_id)
     where erasure.kind = 'account' and account.available > 0
       and (seen.user_id is null or seen.seen_version < account.version or seen.again_at <= $1)
     order by seen.again_at nulls first, account.user_id
     limit $3
     on conflict (user_id) do update
       set seen_version = excluded.seen_version, again_at = excluded.again_at
       where seen_before.seen_version < excluded.seen_version or seen_before.again_at <= $1
     returning user_id`,
    [now, soon(now), sweepAtOnce],
  );
  return rows.map((row) => row.user_id);
}

/** Asks back whatever can be asked back of a closed account by now; jobs send it. */
export async function askBackOfClosed(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<void> {
  const { pool, ledger, clock } = dependencies;
  const closed = await ledger.readClosedAccount(userId);
  if (closed === null) return;
  const later: number[] = [];
  for (const owed of closed.owed) {
    const dueAt = nextTry(closed.state, owed);
    if (dueAt > clock()) later.push(dueAt);
    else await askBack(dependencies, userId, owed, closed.state);
  }
  const againAt = later.filter(Number.isFinite);
  await pool.query('update closed_account_check set again_at = $2 where user_id = $1', [
    userId,
    againAt.length === 0 ? null : new Date(Math.min(...againAt)),
  ]);
}

/** Several may come to this at once, so its id says which of the lot's refunds it is. */
async function askBack(
  { pool, ledger, clock, log }: PaymentDependencies,
  userId: string,
  { lot: { lotId, purchaseId } }: OwedLot,
  state: AccountState,
): Promise<void> {
  const refundId = derivedId('ref', lotId, 'closed', String(refundsOf(state, lotId).length));
  const requestedAt = new Date(clock()).toISOString();
  if (purchaseId !== null) await checkSoon(pool, purchaseId, new Date(clock()));
  try {
    await ledger.requestRefund({ userId, lotId, refundId, requestedAt, reason: 'erasure', actor });
    log.info({ user_id: userId, resource_id: refundId }, 'A closed account is paid back');
  } catch (error) {
    // The account has moved meanwhile, so it is checked again.
    if (!(error instanceof Problem) || error.code !== 'refund-not-possible') throw error;
  }
}

/** Milliseconds since 1970: 0 for what no bank has refused, never for what it has refused too often. */
function nextTry(state: AccountState, { lot }: OwedLot): number {
  const failures = failuresOf(state, lot.lotId);
  if (failures.length === 0) return 0;
  if (failures.length >= failedTries) return Number.POSITIVE_INFINITY;
  const last = Math.max(...failures.map(({ endedAt }) => Date.parse(endedAt ?? '')));
  return last + failedAgainMs;
}

/** The refunds of a lot that failed, the oldest first. */
export function failuresOf(
  state: AccountState,
  lotId: string,
): (CashRefund & { refundId: string })[] {
  return refundsOf(state, lotId).filter(({ status }) => status === 'failed');
}

function refundsOf({ refunds }: AccountState, lotId: string) {
  return Object.entries(refunds)
    .map(([refundId, refund]) => ({ ...refund, refundId }))
    .filter((refund) => refund.lotId === lotId);
}
