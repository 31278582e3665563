import type { AccountState } from '#services/credits/account/state.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { keepBankRefunds } from './bank-refunds.ts';
import { creditsFor, paymentOfLot } from '#services/payments/settle/granted-payment.ts';
import { freezeIfPaidTwice } from '#services/payments/purchases/paid-twice.ts';
import { endPlanOf, endPlanTakenBack } from '#services/payments/plans/plans.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import type { PaymentProvider, RefundView } from '#services/payments/provider.ts';
import type { GrantedPayment } from '#services/payments/purchases/purchases.ts';

/**
 * Giving money back. The ledger has a refund as pending before the provider is asked for it, and its
 * credits are out of reach from then on. What may have reached the provider is never taken for not
 * having happened: the credits come back only when the provider shows a refund that has failed, or
 * says that there never can be one and shows none.
 *
 * A refund carries our id at the provider. So whoever is not sure what has happened looks for it, and
 * asks for it only when it is not there, under the same key as before.
 */
export type RefundOutcome = 'pending' | 'confirmed' | 'failed';

export type NamedRefund = { userId: string; refundId: string };

const actor = 'system:payments';

/**
 * Makes sure that the provider knows of a pending refund, and books what has become of it. At any time
 * and any number of times: nothing is refunded twice.
 *
 * @throws Problem 503 while the provider is away
 */
export async function sendRefund(
  dependencies: PaymentDependencies,
  named: NamedRefund,
): Promise<RefundOutcome> {
  const { refund, lot } = await readRefund(dependencies, named);
  if (refund.status !== 'pending') return refund.status;
  const payment = await paymentOfLot(dependencies, named.userId, lot);
  // Before the money goes, and by what was so when it was asked for: the plan may have renewed since.
  await endPlanOf(dependencies, payment.purchaseId, refund.requestedAt);
  const view = await findOrMake(dependencies, named, payment, refund.amountMinor);
  const outcome =
    view === null
      ? await end(dependencies, named, 'failed', null)
      : await bookRefund(dependencies, named, view);
  if (outcome !== 'pending') await bookBankRefunds(dependencies, payment);
  return outcome;
}

/** Whose refund this is; null for an id that is none of ours. */
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

/** What the ledger has of it. */
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

/** Null when there is none and never can be one. */
async function findOrMake(
  dependencies: PaymentDependencies,
  { userId, refundId }: NamedRefund,
  { intentId }: GrantedPayment,
  amountMinor: number,
): Promise<RefundView | null> {
  const { provider } = dependencies;
  const known = await findAtProvider(dependencies, intentId, refundId);
  if (known !== null) return known;
  try {
    return await provider.createRefund({ refundId, intentId, amountMinor, userId });
  } catch (error) {
    // It may have been made all the same: the answer may be lost, or be a fault after the fact.
    const made = await findAtProvider(dependencies, intentId, refundId);
    if (made !== null) return made;
    if (
      error instanceof ProviderRefused &&
      (await isCertain(dependencies, error, intentId, amountMinor))
    )
      return null;
    throw error;
  }
}

async function findAtProvider(
  { provider }: PaymentDependencies,
  intentId: string,
  refundId: string,
): Promise<RefundView | null> {
  const refunds = await provider.listRefunds(intentId);
  return refunds.find((refund) => refund.refundId === refundId) ?? null;
}

/** Refusals after which no refund of this payment can come to be, however often it is asked for. */
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

/** Somebody else may have read the same before it moved, and written after us. */
const rereadsAtMost = 10;

/**
 * Books what the provider shows of a refund of ours. What has succeeded may fail later, and two of these
 * at once may have read before and after it did, so each goes on until what it has written is what it
 * reads: whoever writes last has read last.
 *
 * @throws Error when it is not the refund that was asked for: nothing is booked then
 */
export async function bookRefund(
  dependencies: PaymentDependencies,
  named: NamedRefund,
  shown: RefundView,
): Promise<RefundOutcome> {
  let view = shown;
  for (let count = 0; count < rereadsAtMost; count += 1) {
    const { refund } = await readRefund(dependencies, named);
    if (view.amountMinor !== refund.amountMinor || view.currency !== refund.currency)
      throw new Error('The provider shows another amount for a refund than was asked for');
    if (view.status === 'pending') return 'pending';
    const outcome = view.status === 'succeeded' ? 'confirmed' : 'failed';
    if (refund.status === outcome) return outcome;
    await end(dependencies, named, outcome, view.providerRefundId);
    view = (await dependencies.provider.retrieveRefund(view.providerRefundId)) ?? view;
  }
  throw new Error('A refund moves faster than it can be written down');
}

async function end(
  { ledger, clock, log }: PaymentDependencies,
  { userId, refundId }: NamedRefund,
  outcome: 'confirmed' | 'failed',
  providerRefundId: string | null,
): Promise<RefundOutcome> {
  const at = new Date(clock()).toISOString();
  await ledger.endRefund({ userId, refundId, outcome, providerRefundId, at, actor });
  log.info({ user_id: userId, resource_id: refundId, outcome }, 'A refund has ended');
  return outcome;
}

// --- refunds that the bank made, or somebody at the provider's own pages ---

/**
 * Brings the ledger's clawback on a lot to what was refunded of its payment without us: of the credits
 * that all refunds paid for, those that are not on their way out already. It is computed anew from all
 * of them each time, until what has been written is what is read, so it comes to the same in any order.
 * A plan whose present period was paid by what has all gone back ends, and an account to which a payment
 * went back twice is frozen.
 *
 * @throws Problem 503 while the provider is away
 */
export async function bookBankRefunds(
  dependencies: PaymentDependencies,
  payment: GrantedPayment,
): Promise<'clawed_back' | 'unchanged'> {
  const { pool, clock } = dependencies;
  const outcome = await clawbackBankRefunds(dependencies, payment, async (banks) =>
    keepBankRefunds(pool, payment, banks, new Date(clock())),
  );
  await endPlanTakenBack(dependencies, payment);
  await freezeIfPaidTwice(dependencies, payment);
  return outcome;
}

/** The part of it that is about credits. What is shown of the bank's is handed to `keep` before each clawback. */
export async function clawbackBankRefunds(
  dependencies: {
    provider: Pick<PaymentProvider, 'listRefunds'>;
    ledger: Pick<Ledger, 'readAccount' | 'setClawback'>;
  },
  payment: GrantedPayment,
  keep: (banks: readonly RefundView[]) => Promise<void> = async () => undefined,
): Promise<'clawed_back' | 'unchanged'> {
  const { provider, ledger } = dependencies;
  const { userId, lotId, intentId } = payment;
  let written: number | null = null;
  for (let count = 0; count < rereadsAtMost; count += 1) {
    const shown = await provider.listRefunds(intentId);
    const state = await ledger.readAccount(userId);
    const { wanted, chargeId, banks } = bankClawback(state, payment, shown);
    await keep(banks);
    const ref = chargeId ?? clawbackOf(state, lotId)?.ref ?? null;
    if (ref === null || wanted === (written ?? clawbackOf(state, lotId)?.wanted ?? 0))
      return written === null ? 'unchanged' : 'clawed_back';
    const cause = 'cash_refund';
    await ledger.setClawback({ userId, lotId, ref, cause, wanted, owes: true, actor });
    written = wanted;
  }
  throw new Error('Refunds of a payment move faster than they can be written down');
}

function clawbackOf(state: AccountState, lotId: string) {
  const lot = state.lots.find((candidate) => candidate.lotId === lotId);
  return (
    lot?.clawbacks.find(
      // One under the id of a refund of ours is of that refund, which was paid after it had failed.
      ({ cause, ref }) => cause === 'cash_refund' && state.refunds[ref] === undefined,
    ) ?? null
  );
}

function bankClawback(
  { refunds }: AccountState,
  payment: GrantedPayment,
  shown: readonly RefundView[],
): { wanted: number; chargeId: string | null; banks: RefundView[] } {
  const ours = Object.entries(refunds).filter(([, { lotId }]) => lotId === payment.lotId);
  const ids = new Set(ours.map(([refundId]) => refundId));
  const banks = shown.filter(({ refundId }) => refundId === null || !ids.has(refundId));
  const gone = ours.map(([, refund]) => refund).filter(({ status }) => status !== 'failed');
  const bankMinor = sum(banks.filter(({ status }) => status !== 'failed').map(amountOf));
  const all = creditsFor(payment, bankMinor + sum(gone.map(amountOf)));
  return {
    wanted: bankMinor === 0 ? 0 : Math.max(0, all - sum(gone.map(({ credits }) => credits))),
    banks,
    chargeId: banks.find((refund) => refund.chargeId !== null)?.chargeId ?? null,
  };
}

function amountOf({ amountMinor }: { amountMinor: number }): number {
  return amountMinor;
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0);
}
