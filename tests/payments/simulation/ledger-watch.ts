import type { Stripe } from 'stripe';
import type { RecordedEvent } from '#db/recorded-event.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import type { Settlement } from '#services/optimizations/run/events.ts';
import { createBooks, requireThat } from '#tests/credits/ledger-oracle.ts';
import type { BookedLot, Books } from '#tests/credits/ledger-oracle.ts';
import { clawbackOf, creditsBought } from './truth.ts';
import type { Truth } from './truth.ts';

/**
 * Reads each event of the ledger as it appears. It must be one that the provider, the runs and the clock
 * allow at that moment, and that the account's own books allow.
 */
export type WatchedAccount = Books & {
  userId: string;
  /** Its time, and the credits available then. */
  closed: { at: number; available: Map<string, number> } | null;
  version: number;
};

export type Watch = ReturnType<typeof createWatch>;

export type WatchOptions = {
  truth: Truth;
  now: () => number;
  /** Runs a month that bonus credits may pay for, of a person now. */
  limitOf: (userId: string) => number;
};

export function createWatch({ truth, now, limitOf }: WatchOptions) {
  const accounts = new Map<string, WatchedAccount>();
  const settlements = new Map<string, Settlement>();
  const paymentKeys = new Set<string>();
  const counts = new Map<string, number>();
  /** During concurrent steps an event's data may be slightly old. */
  let several = false;

  function accountOf(userId: string): WatchedAccount {
    const account: WatchedAccount = accounts.get(userId) ?? {
      ...createBooks(),
      userId,
      closed: null,
      version: 0,
    };
    accounts.set(userId, account);
    return account;
  }

  function lotOf(account: WatchedAccount, lotId: string): BookedLot {
    const lot = account.lots.get(lotId);
    requireThat(lot !== undefined, 'An event names no lot of its account', lotId);
    return lot;
  }

  /** Before the account's books have the event. */
  function requireAllowed(account: WatchedAccount, event: CreditEvent): void {
    switch (event.type) {
      case 'CreditsGranted':
        return granted(account, event.data);
      case 'CreditsReserved':
        return requireBonusRule(account, event.data);
      case 'CreditsCaptured':
      case 'CreditsReleased':
      case 'CreditsReturned':
        return requireSettlement(event);
      case 'ClawbackSet':
        return clawedBack(account, event.data);
      case 'CashRefundRequested':
        return requireThat(
          Math.abs(Date.parse(event.data.requestedAt) - now()) < 1_000,
          'A refund is asked for at another time',
          event,
        );
      case 'CashRefundConfirmed':
      case 'CashRefundFailed':
        return refundEnded(account, event);
      case 'SpendingFrozen':
        return frozen(account, event.data);
      case 'AccountClosed':
        account.closed = {
          at: now(),
          available: new Map([...account.lots].map(([lotId, lot]) => [lotId, lot.available])),
        };
        return;
      case 'CreditsConsumed':
      case 'LotRevoked':
      case 'LotReinstated':
      case 'DebtIncurred':
      case 'DebtCancelled':
      case 'DebtSettled':
      case 'DebtSettlementReversed':
      case 'SpendingUnfrozen':
        return;
    }
  }

  /** Only by a lost dispute, of a payment of which more went back than was paid. */
  function frozen(
    account: WatchedAccount,
    data: Extract<CreditEvent, { type: 'SpendingFrozen' }>['data'],
  ): void {
    const overpaid = overpaidOf(lotOf(account, data.lotId));
    requireThat(truth.dispute(data.ref)?.status === 'lost', 'A freeze without a loss', data);
    requireThat(
      several || overpaid === data.overpaidMinor,
      'A freeze names another amount than went back beyond what was paid',
      { data, overpaid },
    );
  }

  /** The money of a refunded payment that lost disputes returned beyond what was paid. */
  function overpaidOf({ paymentKey }: BookedLot): number {
    const payment = paymentKey === null ? null : truth.paymentByKey(paymentKey);
    if (payment === null) return 0;
    const sum = (amounts: { amount: number }[]) =>
      amounts.reduce((total, { amount }) => total + amount, 0);
    const refunded = sum(
      truth.refundsOf(payment.intentId).filter(({ status }) => status === 'succeeded'),
    );
    const lost = sum(
      truth
        .disputes()
        .filter((one) => truth.idOf(one.charge) === payment.chargeId && one.status === 'lost'),
    );
    return refunded === 0 || lost === 0 ? 0 : Math.max(0, refunded + lost - payment.paidMinor);
  }

  function granted(
    account: WatchedAccount,
    data: Extract<CreditEvent, { type: 'CreditsGranted' }>['data'],
  ): void {
    const { credits, source, paidMinor, paymentKey } = data;
    if (source !== 'purchase' || paymentKey === null) return;
    // The books of each account know only their own.
    requireThat(!paymentKeys.has(paymentKey), 'L7: a payment is granted twice', data);
    paymentKeys.add(paymentKey);
    const payment = truth.paymentByKey(paymentKey);
    requireThat(payment !== null, 'L7: credits were granted without a payment', data);
    requireThat(
      payment.userId === account.userId &&
        payment.credits === credits &&
        payment.paidMinor === paidMinor &&
        payment.currency === data.currency,
      'L7: a lot is not what was paid for',
      { data, payment },
    );
  }

  function requireBonusRule(
    account: WatchedAccount,
    data: Extract<CreditEvent, { type: 'CreditsReserved' }>['data'],
  ): void {
    const { bonusMonth } = data;
    const month = new Date(now()).toISOString().slice(0, 7);
    const used = account.bonusRuns.get(month) ?? 0;
    const hasBonus = [...account.lots.values()].some(
      ({ source, available }) => source === 'bonus' && available > 0,
    );
    if (bonusMonth !== null)
      requireThat(
        bonusMonth === month && used < limitOf(account.userId),
        'Bonus credits pay for more runs than they may',
        { data, used },
      );
    else if (hasBonus)
      requireThat(used >= limitOf(account.userId), 'Bonus credits are passed over', { data, used });
  }

  function requireSettlement(
    event: Extract<
      CreditEvent,
      { type: 'CreditsCaptured' | 'CreditsReleased' | 'CreditsReturned' }
    >,
  ): void {
    const { runId, credits } = event.data;
    const settlement = settlements.get(runId);
    const isSo =
      event.type === 'CreditsReleased'
        ? settlement?.kind === 'release'
        : settlement?.kind === 'capture' &&
          credits === settlement[event.type === 'CreditsCaptured' ? 'capture' : 'refund'];
    requireThat(isSo, 'L5: a run is settled in another way', { event, settlement });
  }

  // --- clawbacks ---

  function clawedBack(
    account: WatchedAccount,
    data: Extract<CreditEvent, { type: 'ClawbackSet' }>['data'],
  ): void {
    const { lotId, ref, credits: wanted, owes } = data;
    const lot = lotOf(account, lotId);
    if (several) return;
    const expected = expectedClawback(account, lot, ref);
    requireThat(
      expected !== null && expected.wanted === wanted && (wanted === 0 || expected.owes === owes),
      'A clawback is not what the provider shows',
      { data, expected },
    );
  }

  /** The amount that a clawback should have now; null if there should be none. */
  function expectedClawback(
    account: WatchedAccount,
    lot: BookedLot,
    ref: string,
  ): { wanted: number; owes: boolean } | null {
    if (lot.paymentKey === null) return null;
    const payment = truth.paymentByKey(lot.paymentKey);
    if (payment === null) return null;
    if (ref.startsWith('ref_')) return clawbackOfLateRefund(account, lot, ref);
    if (ref.startsWith('paid:')) return clawbackOfPaidOtherwise(account, lot, ref);
    if (ref.startsWith('ch_'))
      return ref === payment.chargeId ? { wanted: bankClawback(account, lot), owes: true } : null;
    const dispute = truth.dispute(ref);
    if (dispute === null || truth.idOf(dispute.charge) !== payment.chargeId) return null;
    const { takes, owes } = clawbackOf(dispute);
    return { wanted: takes ? creditsBought(lot, dispute.amount) : 0, owes };
  }

  /** Only of one that had failed and was paid after all. */
  function clawbackOfLateRefund(account: WatchedAccount, lot: BookedLot, refundId: string) {
    const refund = account.refunds.get(refundId);
    if (refund?.lotId !== lot.lotId) return null;
    return { wanted: refund.status === 'confirmed' ? refund.credits : 0, owes: true };
  }

  /** For an erased user: an operator has paid out what no bank would. */
  function clawbackOfPaidOtherwise(account: WatchedAccount, lot: BookedLot, ref: string) {
    const wanted = (lot.clawbacks.get(ref)?.taken ?? 0) + lot.available;
    return account.closed === null ? null : { wanted, owes: false };
  }

  /**
   * The part of a payment that was refunded without us. Our own refunds may be read here before their
   * events, so they are recognised by their id at the provider; the audit requires each in the ledger.
   */
  function byBanks(lot: BookedLot): number {
    const payment = lot.paymentKey === null ? null : truth.paymentByKey(lot.paymentKey);
    if (payment === null) return 0;
    return truth
      .refundsOf(payment.intentId)
      .filter((refund) => !hasFailed(refund) && refund.metadata?.['refund_id'] === undefined)
      .reduce((sum, { amount }) => sum + amount, 0);
  }

  function bankClawback(account: WatchedAccount, lot: BookedLot): number {
    const byBank = byBanks(lot);
    if (byBank === 0) return 0;
    const gone = [...account.refunds.values()].filter(
      ({ lotId, status }) => lotId === lot.lotId && status !== 'failed',
    );
    const amount = gone.reduce((sum, { amountMinor }) => sum + amountMinor, byBank);
    const credits = gone.reduce((sum, refund) => sum + refund.credits, 0);
    return Math.max(0, creditsBought(lot, amount) - credits);
  }

  function hasFailed({ status }: Stripe.Refund): boolean {
    return status === 'failed' || status === 'canceled';
  }

  // --- refunds ---

  /** What should go back without a request of an account that was closed, and has not. */
  function stuck(account: WatchedAccount): BookedLot[] {
    const { closed } = account;
    if (closed === null) return [];
    return [...account.lots.values()].filter((lot) => {
      const hasComeBack = lot.available > (closed.available.get(lot.lotId) ?? 0);
      const isOwed = hasComeBack
        ? account.refundable(lot, now(), 'erasure')
        : account.refundable(lot, closed.at, 'customer');
      // A refund that a bank refused is retried after days and reported until then.
      const isRefused = [...account.refunds.values()].some(
        ({ lotId, status }) => lotId === lot.lotId && status === 'failed',
      );
      return isOwed !== null && !isRefused;
    });
  }

  function refundEnded(
    account: WatchedAccount,
    event: Extract<CreditEvent, { type: 'CashRefundConfirmed' | 'CashRefundFailed' }>,
  ): void {
    const { refundId, lotId, providerRefundId } = event.data;
    const refund = account.refunds.get(refundId);
    requireThat(refund !== undefined, 'A refund ends that is none', event);
    const shown = truth.refunds().filter(({ metadata }) => metadata?.['refund_id'] === refundId);
    if (event.type === 'CashRefundConfirmed') {
      const paid = providerRefundId === null ? null : truth.refund(providerRefundId);
      requireThat(
        shown.length === 1 &&
          paid?.id === shown[0]?.id &&
          paid?.amount === refund.amountMinor &&
          (several || paid.status === 'succeeded'),
        'A refund is confirmed that was not paid',
        { event, shown },
      );
      return;
    }
    requireThat(
      several || shown.every(hasFailed),
      'Credits come back although the money is gone or on its way',
      { event, shown },
    );
    requireThat(
      several || shown.length > 0 || neverComes(lotOf(account, lotId), refund.amountMinor),
      'A refund that could still be made is given up',
      event,
    );
  }

  /** The provider has no refund, and refuses to make one for good. */
  function neverComes({ paymentKey }: BookedLot, amountMinor: number): boolean {
    const payment = paymentKey === null ? null : truth.paymentByKey(paymentKey);
    const charge = payment === null ? null : truth.charge(payment.chargeId);
    if (charge === null) return false;
    const isDisputed = truth
      .disputes()
      .some((one) => truth.idOf(one.charge) === charge.id && !one.is_charge_refundable);
    return isDisputed || charge.amount - charge.amount_refunded < amountMinor;
  }

  return {
    accounts,
    counts,
    accountOf,
    overpaidOf,
    expectedClawback,
    byBanks,
    stuck,
    /** Whether several things happen at once from now on. */
    expectSeveral(isSo: boolean): void {
      several = isSo;
    },
    /** Reads the appended events in order. Returns the users whose accounts changed. */
    take(events: readonly RecordedEvent[]): WatchedAccount[] {
      const changed = new Set<WatchedAccount>();
      for (const { streamId, streamPosition, type, data } of events) {
        counts.set(type, (counts.get(type) ?? 0) + 1);
        if (type === 'RunConcluded')
          settlements.set(streamId.slice('optimization-'.length), data['settlement'] as Settlement);
        if (!streamId.startsWith('credits-')) continue;
        const account = accountOf(streamId.slice('credits-'.length));
        requireThat(streamPosition === account.version + 1, 'L8: a stream has a gap', streamId);
        account.version = streamPosition;
        const event = { type, data } as CreditEvent;
        requireAllowed(account, event);
        account.take(event);
        changed.add(account);
      }
      for (const account of changed) account.requireRest();
      return [...changed];
    },
  };
}
