import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { forgetCustomers } from './customers.ts';
import type { PaymentDependencies } from './dependencies.ts';
import { fulfil } from './settle/fulfil.ts';
import { moneyText } from '#services/platform/numbers.ts';
import { cancelPlansOf } from './plans/end.ts';
import { ProviderRefused } from './provider.ts';
import { checkSoon, recordUnpaid } from './purchases/rows.ts';
import type { PurchaseRow } from './purchases/rows.ts';
import { accountRefundsEmail } from './emails/refund.ts';
import { packageNameOf } from './refunds/mail.ts';
import { settleRefund } from './settle/settle.ts';
import type { NamedRefund } from './refunds/send.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/**
 * What of payments has to end with an account, in the order in which it is called: what could still be
 * paid, what is unused and was bought in the last 30 days, what the provider knows of the person. Each
 * may be repeated, and is false while the provider is unavailable or not done. The provider is asked only
 * where there is something to end, so that people can be erased where there are no payments at all.
 */
const actor = 'system:erasure';

/** Nothing that this person set out to buy can be paid any more, but for what a bank has in hand. */
export async function endCheckouts(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<boolean> {
  const { rows } = await dependencies.pool.query<PurchaseRow>(
    `select * from purchase where user_id = $1 and status = 'open' order by created_at`,
    [userId],
  );
  return whileAnswered(async () => {
    let ended = true;
    for (const row of rows) ended = (await endCheckout(dependencies, row)) && ended;
    return ended;
  });
}

/** At the provider first: what is ended with us alone could still be paid there. */
async function endCheckout(
  dependencies: PaymentDependencies,
  { id, session_id: sessionId }: PurchaseRow,
): Promise<boolean> {
  const { pool, provider, clock } = dependencies;
  try {
    if (sessionId !== null && (await provider.expireCheckout(sessionId)).status !== 'expired') {
      await fulfil(dependencies, { sessionId });
      return true;
    }
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error;
    // It cannot be ended while it is being paid; one that is not there needs no end.
    if (error.code !== 'resource_missing') return false;
  }
  // Should it be paid all the same, it is granted into a closed account, which asks it back at once.
  await recordUnpaid(pool, id, { status: 'expired' }, new Date(clock()));
  return true;
}

/** Nothing charges the person again. */
export async function endPlans(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<boolean> {
  return whileAnswered(async () => {
    await cancelPlansOf(dependencies, userId);
    return true;
  });
}

/**
 * Asks back whatever the person could have asked back, and continues when the provider has it: the
 * bank may need days. Also of a closed account, for what was paid in the last moment.
 */
export async function refundUnused(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<boolean> {
  const { ledger, clock } = dependencies;
  const before = await ledger.readAccount(userId);
  for (const lot of before.lots) {
    if ('refusal' in ledger.refundOffer(before, lot, clock())) continue;
    const { lotId } = lot;
    const requestedAt = new Date(clock()).toISOString();
    const refundId = newId('ref', clock());
    if (lot.purchaseId !== null)
      await checkSoon(dependencies.pool, lot.purchaseId, new Date(clock()));
    await unlessTaken(async () =>
      ledger.requestRefund({ userId, lotId, refundId, requestedAt, reason: 'erasure', actor }),
    );
  }
  const { refunds } = await ledger.readAccount(userId);
  return whileAnswered(async () => {
    for (const [refundId, { status }] of Object.entries(refunds))
      if (status === 'pending') await sendOrLeave(dependencies, { userId, refundId });
    return true;
  });
}

/** What the provider refuses for now is logged and stays pending; the sweeper requests it again. */
async function sendOrLeave(dependencies: PaymentDependencies, named: NamedRefund): Promise<void> {
  try {
    await settleRefund(dependencies, named);
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error;
  }
}

/** Another one that does the same, or a bank, has been faster. */
async function unlessTaken(ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'refund-not-possible') throw error;
  }
}

/**
 * Names what is paid back of each purchase of a closed account; null when nothing is. What a bank turned
 * down before is asked for again later, and so is not promised.
 */
export async function refundsEmail(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<EmailContent | null> {
  const { lots, refunds } = await dependencies.ledger.readAccount(userId);
  const asked = await askedByErasure(dependencies, userId);
  const paidBack = Object.entries(refunds)
    .filter(([id, { status }]) => status === 'pending' || (asked.has(id) && status !== 'failed'))
    .map(([, refund]) => refund);
  const refunded: Parameters<typeof accountRefundsEmail>[0][number][] = [];
  for (const lot of lots) {
    // What a run gave back in the last moment is asked for apart from the rest of its purchase.
    const parts = paidBack.filter(({ lotId }) => lotId === lot.lotId);
    const [part] = parts;
    if (part === undefined) continue;
    const amountMinor = parts.reduce((sum, each) => sum + each.amountMinor, 0);
    refunded.push({
      credits: parts.reduce((sum, each) => sum + each.credits, 0),
      amount: moneyText(amountMinor, part.currency),
      packageName: await packageNameOf(dependencies, lot),
    });
  }
  return refunded.length === 0 ? null : accountRefundsEmail(refunded, dependencies);
}

/** The ledger's event says why a refund was asked for. */
async function askedByErasure(
  { pool }: PaymentDependencies,
  userId: string,
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ id: string }>(
    `select message_data ->> 'refundId' as id from emt_messages
     where stream_id = $1 and message_type = 'CashRefundRequested'
       and message_data ->> 'reason' = 'erasure'`,
    [`credits-${userId}`],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Name, address and cards go from the provider; what was paid stays there, under an id. */
export async function forgetCustomer(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<boolean> {
  return whileAnswered(async () => forgetCustomers(dependencies, userId));
}

async function whileAnswered(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem && error.status === 503) return false;
    throw error;
  }
}
