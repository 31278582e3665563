import type { Stripe } from 'stripe';
import type { Settlement } from '#services/optimizations/run/events.ts';
import { requireThat, SimulationFault } from './fault.ts';
import { amountFor, clawbackOf, creditsBought } from './truth.ts';
import type { Truth } from './truth.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import type {
  AccountBalance,
  CreditEvent,
  LotShare,
  LotSource,
} from '#services/credits/account/events.ts';

/**
 * Reads each event of the ledger as it appears and keeps books of its own: what every credit of every
 * lot has become, by arithmetic that shares nothing with the application's. Each event must be one that
 * the provider, the runs and the clock allow at that moment.
 */
export type WatchedLot = {
  lotId: string;
  source: LotSource;
  grantedAt: string;
  paymentKey: string | null;
  purchaseId: string | null;
  paidMinor: number;
  granted: number;
  available: number;
  held: number;
  consumed: number;
  pending: number;
  refunded: number;
  revoked: number;
  /** Of what was consumed, what is owed. */
  owed: number;
  refundableUntil: string | null;
  clawbacks: Map<string, { wanted: number; taken: number; owes: boolean }>;
};

export type WatchedRefund = {
  refundId: string;
  lotId: string;
  credits: number;
  amountMinor: number;
  status: 'pending' | 'confirmed' | 'failed';
  reason: string;
};

export type WatchedAccount = {
  userId: string;
  lots: Map<string, WatchedLot>;
  holds: Map<string, { credits: number; shares: readonly LotShare[]; month: string | null }>;
  refunds: Map<string, WatchedRefund>;
  /** By name; the lot is in the name. */
  debts: Map<string, number>;
  /** Lost disputes that froze spending, and how many of the freezes stand. */
  frozenBy: Set<string>;
  freezes: number;
  /** Runs that bonus credits paid for, by month. */
  bonusRuns: Map<string, number>;
  /** When it was, and what was available then. */
  closed: { at: number; available: Map<string, number> } | null;
  balance: AccountBalance | null;
  version: number;
};

export type Watch = ReturnType<typeof createWatch>;

const thirtyDays = 30 * 86_400_000;

export type WatchOptions = {
  truth: Truth;
  now: () => number;
  /** Runs a month that bonus credits may pay for, of a person now. */
  limitOf: (userId: string) => number;
};

export function createWatch({ truth, now, limitOf }: WatchOptions) {
  const accounts = new Map<string, WatchedAccount>();
  const settlements = new Map<string, Settlement>();
  const settledRuns = new Set<string>();
  const paymentKeys = new Set<string>();
  const counts = new Map<string, number>();
  /** While several things happen at once, what an event says may be a moment old. */
  let several = false;

  function accountOf(userId: string): WatchedAccount {
    const account = accounts.get(userId) ?? {
      userId,
      lots: new Map(),
      holds: new Map(),
      refunds: new Map(),
      debts: new Map(),
      bonusRuns: new Map(),
      frozenBy: new Set(),
      freezes: 0,
      closed: null,
      balance: null,
      version: 0,
    };
    accounts.set(userId, account);
    return account;
  }

  function lotOf(account: WatchedAccount, lotId: string): WatchedLot {
    const lot = account.lots.get(lotId);
    if (lot === undefined)
      throw new SimulationFault(`An event names no lot of its account: ${lotId}`);
    return lot;
  }

  type Part = 'available' | 'held' | 'consumed' | 'pending' | 'refunded' | 'revoked';

  function move(
    account: WatchedAccount,
    shares: readonly LotShare[],
    from: Part | null,
    to: Part,
  ): void {
    for (const { lotId, credits } of shares) {
      requireThat(Number.isSafeInteger(credits) && credits > 0, 'L1: an amount is none', shares);
      const lot = lotOf(account, lotId);
      if (from !== null) lot[from] -= credits;
      lot[to] += credits;
    }
  }

  function sumOf(shares: readonly LotShare[]): number {
    return shares.reduce((sum, { credits }) => sum + credits, 0);
  }

  // --- what an event does ---

  function apply(account: WatchedAccount, event: CreditEvent): void {
    switch (event.type) {
      case 'CreditsGranted':
        return granted(account, event.data);
      case 'CreditsReserved': {
        const { runId, credits, allocations, bonusMonth } = event.data;
        requireSpending(account, allocations, credits);
        requireBonusRule(account, event.data);
        move(account, allocations, 'available', 'held');
        requireThat(!account.holds.has(runId), 'L4: a run is held twice', runId);
        account.holds.set(runId, { credits, shares: allocations, month: bonusMonth });
        if (bonusMonth !== null) countBonus(account, bonusMonth, 1);
        return;
      }
      case 'CreditsCaptured':
        requireSettlement(account, event.data, 'capture');
        return move(account, event.data.byLot, 'held', 'consumed');
      case 'CreditsReleased': {
        const { month } = requireSettlement(account, event.data, 'release');
        if (month !== null) countBonus(account, month, -1);
        return move(account, event.data.byLot, 'held', 'available');
      }
      case 'CreditsReturned': {
        const { runId, credits, cause } = event.data;
        const settlement = settlements.get(runId);
        requireThat(
          settlement?.kind === 'capture' && settlement.refund === credits && cause === runId,
          'L5: a return is not what the run was settled with',
          { event, settlement },
        );
        return move(account, event.data.byLot, 'consumed', 'available');
      }
      case 'CreditsConsumed':
        requireSpending(account, event.data.byLot, event.data.credits);
        return move(account, event.data.byLot, 'available', 'consumed');
      case 'ClawbackSet':
        return clawedBack(account, event.data);
      case 'LotRevoked':
        move(account, [event.data], 'available', 'revoked');
        return countTaken(account, event.data, event.data.credits);
      case 'LotReinstated':
        move(account, [event.data], 'revoked', 'available');
        return countTaken(account, event.data, -event.data.credits);
      case 'DebtIncurred': {
        const { debt, lotId, credits, ref } = event.data;
        const clawback = lotOf(account, lotId).clawbacks.get(ref);
        requireThat(clawback?.owes === true, 'A debt comes of a clawback that only freezes', event);
        owe(account, debt, credits);
        return countTaken(account, event.data, credits);
      }
      case 'DebtCancelled':
        owe(account, event.data.debt, -event.data.credits);
        return countTaken(account, event.data, -event.data.credits);
      case 'DebtSettled': {
        const { debt, lotId, credits } = event.data;
        owe(account, debt, -credits);
        move(account, [{ lotId, credits }], 'available', 'consumed');
        return move(account, [{ lotId: lotOfDebt(debt), credits }], 'consumed', 'revoked');
      }
      case 'DebtSettlementReversed': {
        const { debt, lotId, credits } = event.data;
        move(account, [{ lotId, credits }], 'consumed', 'available');
        const debtLotId = lotOfDebt(debt);
        move(account, [{ lotId: debtLotId, credits }], 'revoked', 'consumed');
        return countTaken(account, { ...event.data, lotId: debtLotId }, -credits);
      }
      case 'CashRefundRequested':
        return refundRequested(account, event.data);
      case 'CashRefundConfirmed':
      case 'CashRefundFailed':
        return refundEnded(account, event);
      case 'SpendingFrozen':
        return frozen(account, event.data);
      case 'SpendingUnfrozen':
        requireThat(
          event.data.freezes === account.freezes && account.freezes > 0,
          'A freeze is lifted that does not stand',
          event,
        );
        account.freezes = 0;
        return;
      case 'AccountClosed':
        account.closed = {
          at: now(),
          available: new Map([...account.lots].map(([lotId, lot]) => [lotId, lot.available])),
        };
        return;
    }
  }

  /** Once for each lost dispute, of a payment of which more went back than was paid. */
  function frozen(
    account: WatchedAccount,
    data: Extract<CreditEvent, { type: 'SpendingFrozen' }>['data'],
  ): void {
    requireThat(!account.frozenBy.has(data.ref), 'A dispute freezes twice', data);
    account.frozenBy.add(data.ref);
    account.freezes += 1;
    const overpaid = overpaidOf(lotOf(account, data.lotId));
    requireThat(truth.dispute(data.ref)?.status === 'lost', 'A freeze without a loss', data);
    requireThat(
      several || overpaid === data.overpaidMinor,
      'A freeze names another amount than went back beyond what was paid',
      { data, overpaid },
    );
  }

  /** What of a refunded payment went back beyond what was paid, through lost disputes. */
  function overpaidOf({ paymentKey }: WatchedLot): number {
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
    const { lotId, credits, source, paidMinor, paymentKey, purchaseId = null } = data;
    requireThat(!account.lots.has(lotId), 'A lot is granted twice', data);
    if (source === 'purchase') {
      requireThat(
        paymentKey !== null && !paymentKeys.has(paymentKey),
        'L7: a payment is granted twice',
        data,
      );
      paymentKeys.add(paymentKey);
      const payment = truth.paymentByKey(paymentKey);
      requireThat(payment !== null, 'L7: credits were granted that nobody has paid for', data);
      requireThat(
        payment.userId === account.userId &&
          payment.credits === credits &&
          payment.paidMinor === paidMinor &&
          payment.currency === data.currency,
        'L7: a lot is not what was paid for',
        { data, payment },
      );
    } else requireThat(account.closed === null, 'A closed account is given credits', data);
    account.lots.set(lotId, {
      lotId,
      source,
      grantedAt: data.grantedAt,
      paymentKey,
      purchaseId,
      paidMinor: paidMinor ?? 0,
      granted: credits,
      available: credits,
      held: 0,
      consumed: 0,
      pending: 0,
      refunded: 0,
      revoked: 0,
      owed: 0,
      refundableUntil: null,
      clawbacks: new Map(),
    });
  }

  /** Bonus, other, paid; within each the oldest. A run may leave bonus credits out, as a whole. */
  function requireSpending(
    account: WatchedAccount,
    shares: readonly LotShare[],
    credits: number,
  ): void {
    requireThat(account.closed === null, 'A closed account spends', { userId: account.userId });
    requireThat(debtOf(account) === 0, 'An account that owes spends', { userId: account.userId });
    requireThat(account.freezes === 0, 'A frozen account spends', { userId: account.userId });
    requireThat(sumOf(shares) === credits, 'Shares do not add up', shares);
    const rank = { bonus: 0, other: 1, purchase: 2 } as const;
    const withBonus = shares.some(({ lotId }) => lotOf(account, lotId).source === 'bonus');
    const lots = [...account.lots.values()]
      .filter(({ source, available }) => available > 0 && (withBonus || source !== 'bonus'))
      .toSorted(
        (left, right) =>
          rank[left.source] - rank[right.source] ||
          compare(left.grantedAt, right.grantedAt) ||
          compare(left.lotId, right.lotId),
      );
    let left = credits;
    const expected = lots.flatMap(({ lotId, available }) => {
      const drawn = Math.min(left, available);
      left -= drawn;
      return drawn === 0 ? [] : [{ lotId, credits: drawn }];
    });
    requireThat(isSame(expected, shares), 'Credits are drawn in another order', {
      expected,
      shares,
    });
  }

  function requireBonusRule(
    account: WatchedAccount,
    data: Extract<CreditEvent, { type: 'CreditsReserved' }>['data'],
  ): void {
    const { allocations, bonusMonth } = data;
    const withBonus = allocations.some(({ lotId }) => lotOf(account, lotId).source === 'bonus');
    requireThat(withBonus === (bonusMonth !== null), 'A month is counted wrongly', data);
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

  function countBonus(account: WatchedAccount, month: string, by: number): void {
    account.bonusRuns.set(month, (account.bonusRuns.get(month) ?? 0) + by);
  }

  function requireSettlement(
    account: WatchedAccount,
    data: { runId: string; credits: number; byLot: readonly LotShare[] },
    kind: 'capture' | 'release',
  ) {
    const { runId, credits, byLot } = data;
    const hold = account.holds.get(runId);
    requireThat(hold !== undefined, 'L4: a run is settled that is not held', data);
    requireThat(!settledRuns.has(runId), 'L4: a run is settled twice', data);
    const settlement = settlements.get(runId);
    requireThat(settlement?.kind === kind, 'L5: a run is settled in another way', {
      data,
      settlement,
    });
    const isWhole =
      credits === hold.credits &&
      sumOf(byLot) === credits &&
      isSame(sorted(byLot), sorted(hold.shares));
    requireThat(isWhole, 'L4: a settlement is not what was held', { data, hold });
    settledRuns.add(runId);
    account.holds.delete(runId);
    return hold;
  }

  // --- clawbacks ---

  function clawedBack(
    account: WatchedAccount,
    data: Extract<CreditEvent, { type: 'ClawbackSet' }>['data'],
  ): void {
    const { lotId, ref, credits: wanted, owes } = data;
    const lot = lotOf(account, lotId);
    if (!several) {
      const expected = expectedClawback(account, lot, ref);
      requireThat(
        expected !== null && expected.wanted === wanted && (wanted === 0 || expected.owes === owes),
        'A clawback is not what the provider shows',
        { data, expected },
      );
    }
    const taken = lot.clawbacks.get(ref)?.taken ?? 0;
    if (wanted === 0 && taken === 0) lot.clawbacks.delete(ref);
    else lot.clawbacks.set(ref, { wanted, taken, owes });
  }

  function countTaken(
    account: WatchedAccount,
    { lotId, ref }: { lotId: string; ref: string },
    credits: number,
  ): void {
    const { clawbacks } = lotOf(account, lotId);
    const clawback = clawbacks.get(ref);
    requireThat(clawback !== undefined, 'Something is taken for no clawback', { lotId, ref });
    clawback.taken += credits;
    requireThat(clawback.taken >= 0, 'A clawback gives back more than it took', { lotId, ref });
    if (clawback.taken === 0 && clawback.wanted === 0) clawbacks.delete(ref);
  }

  /** Where a clawback should stand now; null for one that nobody makes. */
  function expectedClawback(
    account: WatchedAccount,
    lot: WatchedLot,
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
  function clawbackOfLateRefund(account: WatchedAccount, lot: WatchedLot, refundId: string) {
    const refund = account.refunds.get(refundId);
    if (refund?.lotId !== lot.lotId) return null;
    return { wanted: refund.status === 'confirmed' ? refund.credits : 0, owes: true };
  }

  /** Of somebody who is gone: an operator has paid out what no bank took. */
  function clawbackOfPaidOtherwise(account: WatchedAccount, lot: WatchedLot, ref: string) {
    const wanted = (lot.clawbacks.get(ref)?.taken ?? 0) + lot.available;
    return account.closed === null ? null : { wanted, owes: false };
  }

  /**
   * What was paid back of a payment without us. A refund of ours may be read here before its event, so
   * it is recognised by its id at the provider; the audit requires that the ledger has each of these.
   */
  function byBanks(lot: WatchedLot): number {
    const payment = lot.paymentKey === null ? null : truth.paymentByKey(lot.paymentKey);
    if (payment === null) return 0;
    return truth
      .refundsOf(payment.intentId)
      .filter((refund) => !hasFailed(refund) && refund.metadata?.['refund_id'] === undefined)
      .reduce((sum, { amount }) => sum + amount, 0);
  }

  function bankClawback(account: WatchedAccount, lot: WatchedLot): number {
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

  // --- debts ---

  function lotOfDebt(debt: string): string {
    return debt.slice(0, debt.lastIndexOf(':'));
  }

  function owe(account: WatchedAccount, debt: string, credits: number): void {
    const owed = (account.debts.get(debt) ?? 0) + credits;
    requireThat(owed >= 0, 'More of a debt is gone than was owed', debt);
    if (owed === 0) account.debts.delete(debt);
    else account.debts.set(debt, owed);
    lotOf(account, lotOfDebt(debt)).owed += credits;
  }

  function debtOf({ debts }: WatchedAccount): number {
    return [...debts.values()].reduce((sum, credits) => sum + credits, 0);
  }

  // --- refunds ---

  /** What of a lot could be asked back now by its person; null when nothing can. */
  function refundable(
    account: WatchedAccount,
    lot: WatchedLot,
    at: number,
    reason: string,
  ): { credits: number; amountMinor: number } | null {
    if (lot.source !== 'purchase' || lot.paidMinor === 0) return null;
    if (isTakenBack(lot) || lot.pending > 0 || debtOf(account) > 0) return null;
    const amountMinor = amountFor(lot, lot.available);
    if (amountMinor === 0) return null;
    const until = Math.max(
      Date.parse(lot.grantedAt) + thirtyDays,
      Date.parse(lot.refundableUntil ?? lot.grantedAt),
    );
    return reason === 'customer' && at > until ? null : { credits: lot.available, amountMinor };
  }

  /** A dispute is about all of a payment; a refund by the bank is over once it has its credits. */
  function isTakenBack({ clawbacks }: WatchedLot): boolean {
    return [...clawbacks].some(
      ([ref, { wanted, taken: took }]) => ref.startsWith('dp_') || wanted !== took,
    );
  }

  /** What should go back without a request of an account that was closed, and has not. */
  function stuck(account: WatchedAccount): WatchedLot[] {
    const { closed } = account;
    if (closed === null) return [];
    return [...account.lots.values()].filter((lot) => {
      const hasComeBack = lot.available > (closed.available.get(lot.lotId) ?? 0);
      const isOwed = hasComeBack
        ? refundable(account, lot, now(), 'erasure')
        : refundable(account, lot, closed.at, 'customer');
      // What a bank has refused is asked for again after days, and reported meanwhile.
      const isRefused = [...account.refunds.values()].some(
        ({ lotId, status }) => lotId === lot.lotId && status === 'failed',
      );
      return isOwed !== null && !isRefused;
    });
  }

  function refundRequested(
    account: WatchedAccount,
    data: Extract<CreditEvent, { type: 'CashRefundRequested' }>['data'],
  ): void {
    const { refundId, lotId, credits, amountMinor, requestedAt, reason } = data;
    const lot = lotOf(account, lotId);
    requireThat(!account.refunds.has(refundId), 'A refund is asked for twice', data);
    const expected = refundable(account, lot, Date.parse(requestedAt), reason);
    requireThat(
      expected?.credits === credits && expected.amountMinor === amountMinor,
      'A refund is asked for that is not possible, or of another amount',
      { data, expected, lot: { ...lot, clawbacks: [...lot.clawbacks] } },
    );
    requireThat(
      Math.abs(Date.parse(requestedAt) - now()) < 1_000,
      'A refund is asked for at another time',
      data,
    );
    move(account, [data], 'available', 'pending');
    account.refunds.set(refundId, {
      refundId,
      lotId,
      credits,
      amountMinor,
      status: 'pending',
      reason,
    });
    const paidBack = [...account.refunds.values()]
      .filter((refund) => refund.lotId === lotId && refund.status !== 'failed')
      .reduce((sum, refund) => sum + refund.amountMinor, 0);
    requireThat(paidBack <= lot.paidMinor, 'More is paid back than was paid', data);
  }

  function refundEnded(
    account: WatchedAccount,
    event: Extract<CreditEvent, { type: 'CashRefundConfirmed' | 'CashRefundFailed' }>,
  ): void {
    const { refundId, lotId, credits, providerRefundId } = event.data;
    const refund = account.refunds.get(refundId);
    requireThat(
      refund?.lotId === lotId && refund.credits === credits,
      'A refund ends that is none',
      event,
    );
    const lot = lotOf(account, lotId);
    const shown = truth.refunds().filter(({ metadata }) => metadata?.['refund_id'] === refundId);
    if (event.type === 'CashRefundConfirmed') {
      requireThat(refund.status !== 'confirmed', 'A refund is confirmed twice', event);
      const paid = providerRefundId === null ? null : truth.refund(providerRefundId);
      requireThat(
        shown.length === 1 &&
          paid?.id === shown[0]?.id &&
          paid?.amount === refund.amountMinor &&
          (several || paid.status === 'succeeded'),
        'A refund is confirmed that was not paid',
        { event, shown },
      );
      requireThat(event.data.from === refund.status, 'A refund ends from where it was not', event);
      if (event.data.from === 'pending') move(account, [event.data], 'pending', 'refunded');
      refund.status = 'confirmed';
      return;
    }
    requireThat(refund.status !== 'failed', 'A refund fails twice', event);
    requireThat(
      several || shown.every(hasFailed),
      'Credits come back although the money is gone or on its way',
      { event, shown },
    );
    requireThat(
      several || shown.length > 0 || neverComes(lot, refund.amountMinor),
      'A refund that could still be made is given up',
      event,
    );
    const { from } = event.data;
    requireThat(
      (from === 'pending') === (refund.status === 'pending'),
      'A refund ends from where it was not',
      event,
    );
    if (from === 'pending') move(account, [event.data], 'pending', 'available');
    if (from === 'confirmed') move(account, [event.data], 'refunded', 'available');
    lot.refundableUntil = event.data.refundableUntil;
    refund.status = 'failed';
  }

  /** The provider has no refund, and refuses to make one for good. */
  function neverComes({ paymentKey }: WatchedLot, amountMinor: number): boolean {
    const payment = paymentKey === null ? null : truth.paymentByKey(paymentKey);
    const charge = payment === null ? null : truth.charge(payment.chargeId);
    if (charge === null) return false;
    const isDisputed = truth
      .disputes()
      .some((one) => truth.idOf(one.charge) === charge.id && !one.is_charge_refundable);
    return isDisputed || charge.amount - charge.amount_refunded < amountMinor;
  }

  // --- what holds after each event, and after each command ---

  function requireSound(account: WatchedAccount, event: CreditEvent): void {
    const total = { available: 0, held: 0, consumed: 0, pending: 0, refunded: 0, revoked: 0 };
    const issued = { purchase: 0, bonus: 0, other: 0 };
    for (const lot of account.lots.values()) {
      const { available, held, consumed, pending, refunded, revoked } = lot;
      const parts = [available, held, consumed, pending, refunded, revoked];
      requireThat(
        parts.every((part) => part >= 0),
        'L2, L3: a part of a lot is below 0',
        lot,
      );
      requireThat(
        parts.reduce((sum, part) => sum + part, 0) === lot.granted,
        'L3: a lot does not add up',
        lot,
      );
      issued[lot.source] += lot.granted;
      for (const part of Object.keys(total) as Part[]) total[part] += lot[part];
    }
    const expected: AccountBalance = {
      available: total.available,
      held: total.held,
      debt: debtOf(account),
      purchased: issued.purchase,
      bonus: issued.bonus,
      other: issued.other,
      consumed: total.consumed,
      refundPending: total.pending,
      refunded: total.refunded,
      revoked: total.revoked,
      freezes: account.freezes,
    };
    const { balance } = event.data;
    const names = Object.keys(expected) as (keyof AccountBalance)[];
    requireThat(
      names.every((name) => balance[name] === expected[name]),
      'L1: the balance in an event is another',
      { event, expected },
    );
    account.balance = balance;
  }

  /** Nothing is due between two commands: clawbacks have taken what they can, and given back what they must. */
  function requireClawbacksStand(account: WatchedAccount): void {
    for (const lot of account.lots.values()) {
      const clawbacks = [...lot.clawbacks.values()];
      const open = clawbacks.reduce(
        (sum, { wanted, taken }) => sum + Math.max(0, wanted - taken),
        0,
      );
      const owing = clawbacks
        .filter(({ owes }) => owes)
        .reduce((sum, { wanted, taken }) => sum + Math.max(0, wanted - taken), 0);
      const details = { ...lot, clawbacks: [...lot.clawbacks] };
      const took = clawbacks.reduce((sum, clawback) => sum + clawback.taken, 0);
      requireThat(
        took === lot.revoked + lot.owed,
        'What was taken is not what clawbacks took',
        details,
      );
      requireThat(
        open === 0 || lot.available === 0,
        'A clawback leaves what it could take',
        details,
      );
      requireThat(
        clawbacks.every(({ wanted, taken }) => taken <= wanted),
        'A clawback keeps what it has to give back',
        details,
      );
      requireThat(
        owing <= lot.held || lot.owed === lot.consumed,
        'A clawback leaves what could be owed',
        details,
      );
      requireThat(lot.owed <= lot.consumed, 'More is owed than was used', details);
    }
  }

  /** Nobody who owes keeps anything of what they have just bought. */
  function requireDebtsSettled(
    bought: Map<WatchedAccount, WatchedLot>,
    account: WatchedAccount,
  ): void {
    const lot = bought.get(account);
    bought.delete(account);
    requireThat(
      lot === undefined || debtOf(account) === 0 || lot.available === 0,
      'A purchase settles no debt',
      { lotId: lot?.lotId, debts: [...account.debts] },
    );
  }

  return {
    accounts,
    counts,
    accountOf,
    debtOf,
    overpaidOf,
    refundable,
    expectedClawback,
    byBanks,
    stuck,
    /** Whether several things happen at once from now on. */
    expectSeveral(isSo: boolean): void {
      several = isSo;
    },
    /** Reads what was appended, in its order. Returns whose accounts have changed. */
    take(events: readonly RecordedEvent[]): WatchedAccount[] {
      const changed = new Set<WatchedAccount>();
      const bought = new Map<WatchedAccount, WatchedLot>();
      for (const { streamId, streamPosition, type, data } of events) {
        counts.set(type, (counts.get(type) ?? 0) + 1);
        if (type === 'RunConcluded')
          settlements.set(streamId.slice('optimization-'.length), data['settlement'] as Settlement);
        if (!streamId.startsWith('credits-')) continue;
        const account = accountOf(streamId.slice('credits-'.length));
        requireThat(streamPosition === account.version + 1, 'L8: a stream has a gap', streamId);
        account.version = streamPosition;
        const event = { type, data } as CreditEvent;
        if (event.type !== 'DebtSettled') requireDebtsSettled(bought, account);
        apply(account, event);
        requireSound(account, event);
        changed.add(account);
        if (event.type === 'CreditsGranted' && event.data.source === 'purchase')
          bought.set(account, lotOf(account, event.data.lotId));
      }
      for (const account of changed) requireClawbacksStand(account);
      for (const account of bought.keys()) requireDebtsSettled(bought, account);
      return [...changed];
    },
  };
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function isSame(left: readonly LotShare[], right: readonly LotShare[]): boolean {
  return (
    left.length === right.length &&
    left.every(
      ({ lotId, credits }, index) =>
        right[index]?.lotId === lotId && right[index].credits === credits,
    )
  );
}

function sorted(shares: readonly LotShare[]): LotShare[] {
  return shares.toSorted((left, right) => compare(left.lotId, right.lotId));
}
