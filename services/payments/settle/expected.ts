import type { AccountState } from '#services/credits/account/state.ts';
import type { Clawback, Lot } from '#services/credits/account/lots.ts';
import type { DisputeView, RefundView } from '#services/payments/provider.ts';
import type { GrantedPayment } from '#services/payments/purchases/rows.ts';

/**
 * What should stand of a payment that was granted. Settlement brings rows and ledger to it, and
 * reconciliation compares with it, so neither calls wrong what the other does.
 */
export type PaymentView = {
  payment: Pick<GrantedPayment, 'lotId' | 'granted' | 'paidMinor'>;
  account: Pick<AccountState, 'lots' | 'refunds'>;
  /** All that the provider lists of the payment. */
  refunds: readonly RefundView[];
  disputes: readonly DisputeView[];
  /** Refunds of ours that the provider has refused for good. */
  refused: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  now: number;
};

export type ExpectedRefund = {
  refundId: string;
  status: 'pending' | 'confirmed' | 'failed';
  /** Null while the provider does not list it. */
  shown: RefundView | null;
};

export type ExpectedClawback = Pick<Clawback, 'ref' | 'wanted' | 'owes'> & {
  cause: 'dispute' | 'cash_refund';
};

export type Expected = {
  /** Ours, by the ids that the ledger gave them. */
  refunds: ExpectedRefund[];
  /** Made by the bank, or at the provider's own pages. */
  bankRefunds: RefundView[];
  clawbacks: ExpectedClawback[];
  /** A plan ends when the whole payment of its period has gone back; it stays so if that returns. */
  plan: 'kept' | 'ended';
  /** Set when more went back than was paid: nothing covers that, so spending freezes. */
  freeze: { ref: string; overpaidMinor: number; currency: string } | null;
};

export function expected(view: PaymentView): Expected {
  const refunds = ownRefunds(view);
  const own = new Set(refunds.map(({ refundId }) => refundId));
  const bankRefunds = view.refunds.filter(
    ({ refundId }) => refundId === null || !own.has(refundId),
  );
  return {
    refunds,
    bankRefunds,
    clawbacks: [
      ...bankClawback(view, refunds, bankRefunds),
      ...view.disputes.map((dispute) => disputeClawback(view.payment, dispute)),
    ],
    plan: isAllGone(view) ? 'ended' : 'kept',
    freeze: freezeOf(view),
  };
}

// --- refunds of ours ---

/** A lost answer and a list that is late look like a refund that was never made. */
const absentMs = 86_400_000;

export const endOf = { succeeded: 'confirmed', failed: 'failed', pending: 'pending' } as const;

function ownRefunds({ payment, account, refunds, refused, now }: PaymentView): ExpectedRefund[] {
  return Object.entries(account.refunds)
    .filter(([, { lotId }]) => lotId === payment.lotId)
    .map(([refundId, { status, requestedAt }]) => {
      const shown = shownAs(refunds, refundId);
      if (shown !== null) return { refundId, shown, status: endOf[shown.status] };
      const isOver = refused.has(refundId) && now - Date.parse(requestedAt) >= absentMs;
      return { refundId, shown, status: status === 'pending' && isOver ? 'failed' : status };
    });
}

/** Of several with the same id, one whose money is gone counts. */
function shownAs(refunds: readonly RefundView[], refundId: string): RefundView | null {
  const all = refunds.filter((refund) => refund.refundId === refundId);
  return all.find(({ status }) => status !== 'failed') ?? all[0] ?? null;
}

// --- clawbacks ---

/** Of the credits that all refunds paid for, those that are not on their way out already. */
function bankClawback(
  { payment, account }: PaymentView,
  own: readonly ExpectedRefund[],
  banks: readonly RefundView[],
): ExpectedClawback[] {
  const ref =
    banks.find(({ chargeId }) => chargeId !== null)?.chargeId ??
    lotOf(account, payment.lotId)?.clawbacks.find(isBanks(account))?.ref;
  if (ref === undefined || ref === null) return [];
  const bankMinor = sum(banks.filter(({ status }) => status !== 'failed').map(minorOf));
  const going = own.flatMap(({ refundId, status }) => {
    const refund = account.refunds[refundId];
    return refund === undefined || status === 'failed' ? [] : [refund];
  });
  const target = creditsFor(payment, bankMinor + sum(going.map(minorOf)));
  const wanted =
    bankMinor === 0 ? 0 : Math.max(0, target - sum(going.map(({ credits }) => credits)));
  return [{ ref, cause: 'cash_refund', wanted, owes: true }];
}

/** One under the id of a refund of ours is of that refund, which was paid after it had failed. */
export function isBanks({ refunds }: Pick<AccountState, 'refunds'>) {
  return ({ cause, ref }: Clawback): boolean =>
    cause === 'cash_refund' && refunds[ref] === undefined;
}

/**
 * An inquiry only freezes what is there; once the money has left us, what was used of it is owed. Won
 * and closed ones give everything back.
 */
export function disputeClawback(
  payment: PaymentView['payment'],
  dispute: DisputeView,
): ExpectedClawback {
  return {
    ref: dispute.disputeId,
    cause: 'dispute',
    wanted: isFree(dispute) ? 0 : creditsFor(payment, dispute.amountMinor),
    owes: isWithdrawn(dispute),
  };
}

/** Whether the ledger has a clawback as it should be. */
export function stands(lot: Lot | undefined, { ref, wanted, owes }: ExpectedClawback): boolean {
  const clawback = lot?.clawbacks.find((candidate) => candidate.ref === ref);
  if (clawback === undefined) return wanted === 0;
  return clawback.wanted === wanted && clawback.owes === owes && clawback.taken <= wanted;
}

/** The money has left us, for now or for good. */
export function isWithdrawn({ stage }: DisputeView): boolean {
  return stage === 'withdrawn' || stage === 'lost';
}

/** Nothing is taken back any more. */
export function isFree({ stage }: DisputeView): boolean {
  return stage === 'won' || stage === 'closed';
}

/** How many of a payment's credits an amount of it paid for; a part of one counts whole. */
export function creditsFor(
  { granted, paidMinor }: Pick<GrantedPayment, 'granted' | 'paidMinor'>,
  amountMinor: number,
): number {
  if (paidMinor === 0) return 0;
  return Math.min(granted, Math.ceil((granted * amountMinor) / paidMinor));
}

// --- what follows from all of it together ---

function isAllGone({ payment, refunds, disputes }: PaymentView): boolean {
  const gone = refundedMinor(refunds) + sum(disputes.filter(isWithdrawn).map(minorOf));
  return payment.paidMinor > 0 && gone >= payment.paidMinor;
}

function freezeOf({ payment, refunds, disputes }: PaymentView): Expected['freeze'] {
  const lost = disputes
    .filter(({ stage }) => stage === 'lost')
    .toSorted((left, right) =>
      left.createdAt === right.createdAt
        ? left.disputeId < right.disputeId
          ? -1
          : 1
        : left.createdAt - right.createdAt,
    );
  const last = lost.at(-1);
  const refunded = refundedMinor(refunds);
  const overpaidMinor = refunded + sum(lost.map(minorOf)) - payment.paidMinor;
  if (last === undefined || refunded === 0 || overpaidMinor <= 0) return null;
  return { ref: last.disputeId, overpaidMinor, currency: last.currency };
}

function refundedMinor(refunds: readonly RefundView[]): number {
  return sum(refunds.filter(({ status }) => status === 'succeeded').map(minorOf));
}

export function lotOf({ lots }: Pick<AccountState, 'lots'>, lotId: string): Lot | undefined {
  return lots.find((lot) => lot.lotId === lotId);
}

function minorOf({ amountMinor }: { amountMinor: number }): number {
  return amountMinor;
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0);
}
