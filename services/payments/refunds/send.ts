import type { AccountState } from '#services/credits/account/state.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { endPlanOf } from '#services/payments/plans/end.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import type { RefundView } from '#services/payments/provider.ts';
import type { GrantedPayment } from '#services/payments/purchases/rows.ts';

/**
 * Asking for money to be given back. The ledger has a refund as pending before the provider is asked for
 * it, and its credits are out of reach from then on.
 *
 * A refund carries our id at the provider. So it is looked for first, and asked for only when it is not
 * there, under the same key as before.
 */
export type NamedRefund = { userId: string; refundId: string };

export type SentRefunds = {
  /** All that the provider lists of the payment, with those that it has just made. */
  refunds: readonly RefundView[];
  /** Ours of which it says that none can ever be made. */
  refused: ReadonlySet<string>;
  /** A refusal that may pass; what else is known of the payment is applied all the same. */
  refusal: ProviderRefused | null;
};

/**
 * Makes sure that the provider has each pending refund of a payment. At any time and any number of
 * times: nothing is refunded twice.
 */
export async function sendRefunds(
  dependencies: PaymentDependencies,
  payment: GrantedPayment,
): Promise<SentRefunds> {
  const refunds = await dependencies.provider.listRefunds(payment.intentId);
  const { refunds: ours } = await dependencies.ledger.readAccount(payment.userId);
  const refused = new Set<string>();
  let refusal: ProviderRefused | null = null;
  for (const [refundId, refund] of Object.entries(ours)) {
    if (refund.lotId !== payment.lotId || refund.status !== 'pending') continue;
    if (refunds.some((shown) => shown.refundId === refundId)) continue;
    // Before the money goes, and as of when it was asked for: the plan may have renewed since.
    await endPlanOf(dependencies, payment.purchaseId, refund.requestedAt);
    try {
      refunds.push(await make(dependencies, refundId, refund, payment));
    } catch (problem) {
      if (!(problem instanceof ProviderRefused)) throw problem;
      if (await isCertain(dependencies, problem, payment.intentId, refund.amountMinor))
        refused.add(refundId);
      else refusal = problem;
    }
  }
  return { refunds, refused, refusal };
}

async function make(
  { provider }: PaymentDependencies,
  refundId: string,
  { amountMinor }: { amountMinor: number },
  { userId, intentId }: GrantedPayment,
): Promise<RefundView> {
  try {
    return await provider.createRefund({ refundId, intentId, amountMinor, userId });
  } catch (error) {
    // It may have been made all the same: the answer may be lost, or be a fault after the fact.
    const shown = await provider.listRefunds(intentId);
    const made = shown.find((refund) => refund.refundId === refundId);
    if (made === undefined) throw error;
    return made;
  }
}

/** Refusals after which no refund of this payment can be made, however often it is asked for. */
const certainRefusals = [
  'charge_already_refunded',
  'charge_disputed',
  'charge_not_refundable',
  'refund_disputed_payment',
];

/** Other refusals may pass, such as that of an account without money, unless too little is left to refund. */
async function isCertain(
  { provider }: PaymentDependencies,
  { code }: ProviderRefused,
  intentId: string,
  amountMinor: number,
): Promise<boolean> {
  if (certainRefusals.includes(code)) return true;
  const intent = await provider.retrieveIntent(intentId);
  const charge = intent?.chargeId ? await provider.retrieveCharge(intent.chargeId) : null;
  return charge !== null && charge.amountMinor - charge.refundedMinor < amountMinor;
}

// --- what the ledger has ---

/** Whose refund this is; null for an id that is not ours. */
export async function findNamedRefund(
  { pool }: Pick<PaymentDependencies, 'pool'>,
  refundId: string,
): Promise<NamedRefund | null> {
  const { rows } = await pool.query<{ user_id: string }>(
    'select user_id from cash_refund where refund_id = $1',
    [refundId],
  );
  return rows[0] === undefined ? null : { userId: rows[0].user_id, refundId };
}

export async function readRefund(
  { ledger }: Pick<PaymentDependencies, 'ledger'>,
  { userId, refundId }: NamedRefund,
): Promise<{ refund: AccountState['refunds'][string]; lot: Lot }> {
  const { refunds, lots } = await ledger.readAccount(userId);
  const refund = refunds[refundId];
  const lot = lots.find(({ lotId }) => lotId === refund?.lotId);
  if (!refund || !lot) throw new Error('There is no such refund in this account');
  return { refund, lot };
}
