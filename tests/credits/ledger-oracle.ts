import { isDeepStrictEqual } from 'node:util';
import type {
  AccountBalance,
  CreditEvent,
  KeyMonth,
  LotShare,
} from '#services/credits/account/events.ts';
import type { Clawback, Lot } from '#services/credits/account/lots.ts';
import type {
  AccountState,
  CashRefund,
  Debt,
  Hold,
  Settled,
} from '#services/credits/account/state.ts';

/**
 * One account's books, kept from its events by arithmetic that shares no code with the application: every
 * credit of every lot, every hold, clawback, debt and refund. An event that the books do not allow is a
 * Fault. What a run, a payment or the clock allows is checked by those who know it.
 */

/** Something happened that must never happen. */
export class Fault extends Error {
  override readonly name = 'Fault';
}

export function requireThat(holds: boolean, what: string, details?: unknown): asserts holds {
  if (holds) return;
  const plain = (_: string, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...(value as Iterable<unknown>)] : value;
  throw new Fault(details === undefined ? what : `${what}: ${JSON.stringify(details, plain, 1)}`);
}

const noParts = {
  available: 0,
  held: 0,
  consumed: 0,
  cashPending: 0,
  cashRefunded: 0,
  revoked: 0,
};
type Part = keyof typeof noParts;
const parts = Object.keys(noParts) as Part[];

export type BookedLot = Omit<Lot, 'clawbacks' | 'paidMinor'> & {
  /** 0 for credits that were not bought. */
  paidMinor: number;
  /** Oldest first, as all lists here. */
  clawbacks: Map<string, Clawback>;
};

export type BookedRefund = CashRefund & { refundId: string };

type Data<Type extends CreditEvent['type']> = Extract<CreditEvent, { type: Type }>['data'];

export type Books = ReturnType<typeof createBooks>;

export function createBooks() {
  const lots = new Map<string, BookedLot>();
  const holds = new Map<string, Hold>();
  const debts = new Map<string, Debt>();
  let settlements: Settled[] = [];
  const refunds = new Map<string, BookedRefund>();
  /** Of each settled run, what it can still return. */
  const settled = new Map<string, readonly LotShare[]>();
  /** Of each captured run, the API key that started it. */
  const keyOfRun = new Map<string, KeyMonth | undefined>();
  /** Runs that bonus credits paid for, by month. */
  const bonusRuns = new Map<string, number>();
  /** What runs of API keys use, by month and key. */
  const keySpending = new Map<string, Record<string, number>>();
  const frozenBy = new Set<string>();
  let freezes = 0;
  let closed = false;
  /** A purchase whose debts the next events settle. */
  let bought: BookedLot | null = null;
  /** A purchase of a closed account, which its command pays back. */
  let unwanted: BookedLot[] = [];

  function lotOf(lotId: string): BookedLot {
    const lot = lots.get(lotId);
    requireThat(lot !== undefined, 'An event names no lot of its account', lotId);
    return lot;
  }

  function move(shares: readonly LotShare[], from: Part, to: Part): void {
    for (const { lotId, credits } of shares) {
      requireThat(Number.isSafeInteger(credits) && credits > 0, 'L1: an amount is none', shares);
      const lot = lotOf(lotId);
      lot[from] -= credits;
      lot[to] += credits;
    }
  }

  const debt = () => creditsOf([...debts.values()]);
  const debtsOf = (lotId: string) => [...debts.values()].filter((one) => one.lotId === lotId);

  // ── effects of events ─────────────────────────────────────────────────────────────────────────

  function apply(event: CreditEvent): void {
    switch (event.type) {
      case 'CreditsGranted':
        return granted(event.data);
      case 'CreditsReserved':
        return reserved(event.data);
      case 'CreditsCaptured': {
        const { runId, byLot } = event.data;
        const hold = endHold(event.data);
        requireThat(isSame(byLot, hold.allocations), 'A capture is of other lots', { byLot, hold });
        settled.set(runId, byLot.toReversed());
        keyOfRun.set(runId, hold.apiKey);
        return move(byLot, 'held', 'consumed');
      }
      case 'CreditsReleased': {
        const { runId, byLot } = event.data;
        const hold = endHold(event.data);
        const drawn = hold.allocations.toReversed();
        requireThat(isSame(byLot, drawn), 'A release is of other lots', { byLot, hold });
        settled.set(runId, []);
        if (hold.bonusMonth !== null) countBonus(hold.bonusMonth, -1);
        requireThat(
          isDeepStrictEqual(event.data.apiKey, hold.apiKey),
          'A release is of another key',
          event,
        );
        countKey(event.data.apiKey, -hold.credits);
        return move(byLot, 'held', 'available');
      }
      case 'CreditsReturned': {
        const { runId, credits, byLot, cause } = event.data;
        const back = settled.get(runId) ?? [];
        requireThat(cause === runId, 'L5: a return has another cause', event);
        requireThat(credits <= creditsOf(back), 'L5: a return of what was not captured', event);
        // What was drawn last comes back first.
        requireThat(isSame(byLot, first(back, credits)), 'A return is into other lots', event);
        settled.set(runId, []);
        requireThat(
          isDeepStrictEqual(event.data.apiKey, keyOfRun.get(runId)),
          'A return is of another key',
          event,
        );
        countKey(event.data.apiKey, -credits);
        return move(byLot, 'consumed', 'available');
      }
      case 'CreditsConsumed': {
        const { credits, byLot } = event.data;
        requireSpending(byLot, credits, true);
        return move(byLot, 'available', 'consumed');
      }
      case 'ClawbackSet': {
        const { lotId, ref, cause, credits: wanted, owes } = event.data;
        const lot = lotOf(lotId);
        requireThat(wanted >= 0 && wanted <= lot.granted, 'A clawback of too much', event);
        const { taken } = lot.clawbacks.get(ref) ?? { taken: 0 };
        lot.clawbacks.set(ref, { ref, cause, wanted, taken, owes });
        return forgetEmpty(lot, ref);
      }
      case 'LotRevoked': {
        const { lotId, ref, cause, credits } = event.data;
        const lot = lotOf(lotId);
        const clawback = clawbackOf(lot, ref);
        requireThat(clawback.cause === cause, 'A revocation has another cause', event);
        const all = [...lot.clawbacks.values()];
        const before = all.filter((one, index) =>
          one.owes === clawback.owes ? index < all.indexOf(clawback) : one.owes,
        );
        requireThat(
          before.every((one) => gapOf(one) <= 0),
          'A clawback takes before an older one, or an inquiry before a dispute',
          { event, lot },
        );
        requireThat(credits <= gapOf(clawback), 'A clawback takes too much', { event, lot });
        move([event.data], 'available', 'revoked');
        return countTaken(lot, ref, credits);
      }
      case 'LotReinstated': {
        const { lotId, ref, credits } = event.data;
        const owed = debtsOf(lotId).some((one) => one.ref === ref);
        const paid = settlements.some((one) => one.debtLotId === lotId && one.ref === ref);
        requireThat(!owed && !paid, 'Credits are reinstated before debts are given back', event);
        move([event.data], 'revoked', 'available');
        return countTaken(lotOf(lotId), ref, -credits);
      }
      case 'DebtIncurred':
        return incurred(event.data);
      case 'DebtCancelled':
        owe(debtOf(event.data.debt), -event.data.credits);
        return countTaken(lotOf(event.data.lotId), event.data.ref, -event.data.credits);
      case 'DebtSettled':
        return settledDebt(event.data);
      case 'DebtSettlementReversed':
        return reversed(event.data);
      case 'CashRefundRequested':
        return refundRequested(event.data);
      case 'CashRefundConfirmed': {
        const { refundId, from } = event.data;
        const refund = endRefund(event.data, 'confirmed');
        requireThat(from === refund.status, 'A refund ends from where it was not', event);
        if (from === 'pending') move([event.data], 'cashPending', 'cashRefunded');
        refunds.set(refundId, { ...ended(refund, event.data), clawedBack: from === 'failed' });
        return;
      }
      case 'CashRefundFailed': {
        const { refundId, lotId, from, refundableUntil, at } = event.data;
        const refund = endRefund(event.data, 'failed');
        const was = refund.clawedBack ? 'clawed_back' : refund.status;
        requireThat(from === was, 'A refund ends from where it was not', event);
        if (from === 'pending') move([event.data], 'cashPending', 'available');
        if (from === 'confirmed') move([event.data], 'cashRefunded', 'available');
        const until = Date.parse(at) + thirtyDays;
        requireThat(Date.parse(refundableUntil) === until, 'Other days are left to ask', event);
        lotOf(lotId).refundableUntil = refundableUntil;
        refunds.set(refundId, { ...ended(refund, event.data), status: 'failed' });
        return;
      }
      case 'SpendingFrozen':
        lotOf(event.data.lotId);
        requireThat(!frozenBy.has(event.data.ref), 'A dispute freezes twice', event);
        frozenBy.add(event.data.ref);
        freezes += 1;
        return;
      case 'SpendingUnfrozen':
        requireThat(
          event.data.freezes === freezes && freezes > 0,
          'A freeze is lifted that does not stand',
          event,
        );
        freezes = 0;
        return;
      case 'AccountClosed':
        requireThat(!closed, 'An account is closed twice', event);
        closed = true;
        return;
    }
  }

  function granted(data: Data<'CreditsGranted'>): void {
    const { lotId, credits, source, paymentKey } = data;
    requireThat(Number.isSafeInteger(credits) && credits > 0, 'L1: an amount is none', data);
    requireThat(!lots.has(lotId), 'A lot is granted twice', data);
    requireThat((source === 'purchase') === (paymentKey !== null), 'L7: a wrong payment key', data);
    requireThat(
      paymentKey === null || [...lots.values()].every((lot) => lot.paymentKey !== paymentKey),
      'L7: a payment is granted twice',
      data,
    );
    requireThat(!closed || source === 'purchase', 'A closed account is given credits', data);
    const lot: BookedLot = {
      ...noParts,
      lotId,
      source,
      grantedAt: data.grantedAt,
      paymentKey,
      purchaseId: data.purchaseId ?? null,
      currency: data.currency,
      paidMinor: data.paidMinor ?? 0,
      granted: credits,
      available: credits,
      refundableUntil: null,
      clawbacks: new Map(),
      debts: 0,
    };
    lots.set(lotId, lot);
    if (source === 'purchase') bought = lot;
    if (closed) unwanted.push(lot);
  }

  // ── spending ──────────────────────────────────────────────────────────────────────────────────

  function reserved(data: Data<'CreditsReserved'>): void {
    const { runId, credits, allocations, bonusMonth, apiKey } = data;
    requireThat(!holds.has(runId) && !settled.has(runId), 'L4: a run is held twice', runId);
    // A run may leave bonus credits out, as a whole.
    const withBonus = allocations.some(({ lotId }) => lotOf(lotId).source === 'bonus');
    requireThat(withBonus === (bonusMonth !== null), 'A month is counted wrongly', data);
    requireThat(bonusMonth === null || bonusMonth >= latestMonth(), 'A month comes back', data);
    requireSpending(allocations, credits, withBonus);
    move(allocations, 'available', 'held');
    requireThat(!apiKey || apiKey.month >= latestKeyMonth(), 'A month of a key comes back', data);
    holds.set(runId, { credits, allocations, bonusMonth, ...(apiKey ? { apiKey } : {}) });
    countKey(apiKey, credits);
    if (bonusMonth !== null) countBonus(bonusMonth, 1);
  }

  /** Bonus, other, paid; within each the oldest. */
  function requireSpending(shares: readonly LotShare[], credits: number, withBonus: boolean): void {
    requireThat(!closed, 'A closed account spends', shares);
    requireThat(debt() === 0, 'An account that owes spends', shares);
    requireThat(freezes === 0, 'A frozen account spends', shares);
    requireThat(creditsOf(shares) === credits, 'Shares do not add up', { shares, credits });
    const rank = { bonus: 0, other: 1, purchase: 2 } as const;
    const drawn = [...lots.values()]
      .filter(({ source }) => withBonus || source !== 'bonus')
      .toSorted(
        (left, right) =>
          rank[left.source] - rank[right.source] ||
          compare(left.grantedAt, right.grantedAt) ||
          compare(left.lotId, right.lotId),
      )
      .map(({ lotId, available }) => ({ lotId, credits: available }));
    const expected = first(drawn, credits);
    requireThat(isSame(expected, shares), 'Credits are drawn in another order', {
      expected,
      shares,
    });
  }

  function countBonus(month: string, by: number): void {
    bonusRuns.set(month, (bonusRuns.get(month) ?? 0) + by);
  }

  function countKey(key: KeyMonth | undefined, credits: number): void {
    if (!key) return;
    const month = keySpending.get(key.month) ?? {};
    month[key.id] = (month[key.id] ?? 0) + credits;
    keySpending.set(key.month, month);
  }

  const latestKeyMonth = () => [...keySpending.keys()].toSorted(compare).at(-1) ?? '';

  const latestMonth = () => [...bonusRuns.keys()].toSorted(compare).at(-1) ?? '';

  function endHold({ runId, credits }: { runId: string; credits: number }): Hold {
    const hold = holds.get(runId);
    requireThat(hold !== undefined, 'L4: a run is settled that is not held', runId);
    requireThat(credits === hold.credits, 'L4: a settlement is not what was held', hold);
    holds.delete(runId);
    return hold;
  }

  // ── clawbacks and debts ───────────────────────────────────────────────────────────────────────

  function clawbackOf({ clawbacks }: BookedLot, ref: string): Clawback {
    const clawback = clawbacks.get(ref);
    requireThat(clawback !== undefined, 'Something is taken for no clawback', ref);
    return clawback;
  }

  function countTaken(lot: BookedLot, ref: string, credits: number): void {
    const clawback = clawbackOf(lot, ref);
    clawback.taken += credits;
    requireThat(clawback.taken >= 0, 'A clawback gives back more than it took', lot);
    forgetEmpty(lot, ref);
  }

  function forgetEmpty({ clawbacks }: BookedLot, ref: string): void {
    const { wanted, taken } = clawbacks.get(ref) ?? { wanted: 0, taken: 0 };
    if (wanted === 0 && taken === 0) clawbacks.delete(ref);
  }

  function debtOf(name: string): Debt {
    const owed = debts.get(name);
    requireThat(owed !== undefined, 'A debt is gone that was not owed', name);
    return owed;
  }

  function owe(owed: Debt, credits: number): void {
    owed.credits += credits;
    requireThat(owed.credits >= 0, 'More of a debt is gone than was owed', owed);
    if (owed.credits === 0) debts.delete(owed.debt);
  }

  /** What holds can bring becomes no debt, and the oldest clawbacks wait for it. */
  function incurred(data: Data<'DebtIncurred'>): void {
    const { debt: name, lotId, credits, cause, ref } = data;
    const lot = lotOf(lotId);
    const clawback = clawbackOf(lot, ref);
    const owing = [...lot.clawbacks.values()].filter(({ owes }) => owes);
    const known = debtsOf(lotId).find((one) => one.ref === ref);
    if (known === undefined) lot.debts += 1;
    const details = { data, lot, known };
    requireThat(name === (known?.debt ?? `${lotId}:${lot.debts}`), 'A debt is misnamed', details);
    requireThat(Number.isSafeInteger(credits) && credits > 0, 'L1: an amount is none', details);
    requireThat(
      clawback.owes && clawback.cause === cause,
      'A debt comes of no such clawback',
      details,
    );
    requireThat(
      owing.slice(owing.indexOf(clawback) + 1).every((one) => gapOf(one) <= 0),
      'An older clawback makes a debt first',
      details,
    );
    countTaken(lot, ref, credits);
    const open = owing.reduce((sum, one) => sum + Math.max(0, gapOf(one)), 0);
    requireThat(
      lot.available === 0 && gapOf(clawback) >= 0 && open >= lot.held,
      'A debt of what is not consumed',
      details,
    );
    if (known === undefined) debts.set(name, { debt: name, lotId, credits, cause, ref });
    else known.credits += credits;
  }

  /** By a purchase the oldest of the account, by what came back into a lot the oldest of that lot. */
  function settledDebt({ debt: name, lotId, credits }: Data<'DebtSettled'>): void {
    const owed = debtOf(name);
    const own = owed.lotId === lotId;
    const [oldest] = own ? debtsOf(lotId) : [...debts.values()];
    requireThat(own || bought?.lotId === lotId, 'A lot settles a debt of another', owed);
    requireThat(oldest === owed, 'A debt is settled before an older one', { owed, oldest });
    owe(owed, -credits);
    move([{ lotId, credits }], 'available', 'consumed');
    move([{ lotId: owed.lotId, credits }], 'consumed', 'revoked');
    const { lotId: debtLotId, ref } = owed;
    settlements.push({ debt: name, debtLotId, lotId, credits, ref });
  }

  function reversed({ debt: name, lotId, credits, ref }: Data<'DebtSettlementReversed'>): void {
    const found = settlements.findLastIndex((one) => one.debt === name && one.lotId === lotId);
    const undone = settlements[found];
    requireThat(undone !== undefined && undone.ref === ref, 'No such settlement is undone', name);
    const { debtLotId } = undone;
    requireThat(
      debtsOf(debtLotId).every((one) => one.ref !== ref),
      'A settlement is undone before an open debt is cancelled',
      undone,
    );
    const later = settlements
      .slice(found + 1)
      .filter((one) => one.debtLotId === debtLotId && one.ref === ref);
    requireThat(
      // A chain is undone from its far end, which passes over what a lot paid for itself.
      later.every((one) => lotId !== debtLotId && one.lotId === debtLotId),
      'A settlement is undone before a newer one',
      { undone, later },
    );
    undone.credits -= credits;
    requireThat(undone.credits >= 0, 'More is undone than was settled', undone);
    settlements = settlements.filter((one) => one.credits > 0);
    move([{ lotId, credits }], 'consumed', 'available');
    move([{ lotId: debtLotId, credits }], 'revoked', 'consumed');
    countTaken(lotOf(debtLotId), ref, -credits);
  }

  // ── refunds ───────────────────────────────────────────────────────────────────────────────────

  /** The part of a lot that its user, or another for that reason, could get refunded; null if none. */
  function refundable(
    lot: BookedLot,
    at: number,
    reason: string,
  ): { credits: number; amountMinor: number } | null {
    if (lot.source !== 'purchase' || lot.paidMinor === 0) return null;
    if (isTakenBack(lot) || lot.cashPending > 0 || debt() > 0) return null;
    const paid = BigInt(lot.paidMinor) * BigInt(lot.available);
    const amountMinor = Number(paid / BigInt(lot.granted));
    if (amountMinor === 0) return null;
    const until = Math.max(
      Date.parse(lot.grantedAt) + thirtyDays,
      Date.parse(lot.refundableUntil ?? lot.grantedAt),
    );
    return reason === 'customer' && at > until ? null : { credits: lot.available, amountMinor };
  }

  /** A dispute is about all of a payment; a refund by the bank is over once it has its credits. */
  function isTakenBack({ clawbacks }: BookedLot): boolean {
    return [...clawbacks.values()].some((one) => one.cause === 'dispute' || gapOf(one) !== 0);
  }

  function refundRequested(data: Data<'CashRefundRequested'>): void {
    const { refundId, lotId, credits, amountMinor, currency, requestedAt, reason } = data;
    const lot = lotOf(lotId);
    requireThat(!refunds.has(refundId), 'A refund is asked for twice', data);
    unwanted = unwanted.filter((one) => one !== lot);
    requireThat(!closed || reason !== 'customer', 'A closed account asks for a refund', data);
    const expected = refundable(lot, Date.parse(requestedAt), reason);
    requireThat(
      expected?.credits === credits &&
        expected.amountMinor === amountMinor &&
        lot.currency === currency,
      'A refund is asked for that is not possible, or of another amount',
      { data, expected, lot },
    );
    move([data], 'available', 'cashPending');
    refunds.set(refundId, {
      refundId,
      lotId,
      credits,
      amountMinor,
      currency,
      status: 'pending',
      requestedAt,
      endedAt: null,
      clawedBack: false,
      ends: 0,
    });
    const paidBack = [...refunds.values()]
      .filter((refund) => refund.lotId === lotId && refund.status !== 'failed')
      .reduce((sum, refund) => sum + refund.amountMinor, 0);
    requireThat(paidBack <= lot.paidMinor, 'More is paid back than was paid', data);
  }

  function endRefund(
    data: Data<'CashRefundConfirmed' | 'CashRefundFailed'>,
    status: 'confirmed' | 'failed',
  ): BookedRefund {
    const refund = refunds.get(data.refundId);
    requireThat(
      refund?.lotId === data.lotId && refund.credits === data.credits,
      'A refund ends that is none',
      data,
    );
    requireThat(refund.status !== status, 'A refund ends twice in the same way', data);
    return refund;
  }

  function ended(refund: BookedRefund, { at }: { at: string }): BookedRefund {
    const { ends } = refund;
    return { ...refund, status: 'confirmed', endedAt: at, clawedBack: false, ends: ends + 1 };
  }

  // ── what holds after each event, and after each command ───────────────────────────────────────

  function requireSound(event: CreditEvent): void {
    for (const lot of lots.values()) {
      const has = parts.map((part) => lot[part]);
      requireThat(Math.min(...has) >= 0, 'L2, L3: a part of a lot is below 0', { event, lot });
      const sum = has.reduce((all, credits) => all + credits, 0);
      requireThat(sum === lot.granted, 'L3: a lot does not add up', { event, lot });
    }
    const expected = balance();
    requireThat(
      isDeepStrictEqual(event.data.balance, expected),
      'L1: the balance in an event is another',
      { event, expected },
    );
  }

  function balance(): AccountBalance {
    const all = [...lots.values()];
    const total = (part: Part) => all.reduce((sum, lot) => sum + lot[part], 0);
    const issued = (source: Lot['source']) =>
      all.reduce((sum, lot) => sum + (lot.source === source ? lot.granted : 0), 0);
    return {
      available: total('available'),
      held: total('held'),
      debt: debt(),
      purchased: issued('purchase'),
      bonus: issued('bonus'),
      other: issued('other'),
      consumed: total('consumed'),
      refundPending: total('cashPending'),
      refunded: total('cashRefunded'),
      revoked: total('revoked'),
      freezes,
    };
  }

  /** A user in debt keeps nothing of a new purchase. */
  function requireSettledBy(lot: BookedLot | null): void {
    bought = null;
    requireThat(
      lot === null || debt() === 0 || lot.available === 0,
      'A purchase settles no debt',
      lot,
    );
  }

  /** Clawbacks have taken what they can, and given back what they must. */
  function requireClawbacksStand(lot: BookedLot): void {
    const clawbacks = [...lot.clawbacks.values()];
    const missing = (of: readonly Clawback[]) =>
      of.reduce((sum, clawback) => sum + Math.max(0, gapOf(clawback)), 0);
    const owing = missing(clawbacks.filter(({ owes }) => owes));
    const open = debtsOf(lot.lotId);
    const owed = creditsOf(open);
    const took = clawbacks.reduce((sum, clawback) => sum + clawback.taken, 0);
    requireThat(took === lot.revoked + owed, 'What was taken is not what clawbacks took', lot);
    requireThat(
      (missing(clawbacks) === 0 && owed === 0) || lot.available === 0,
      'A clawback leaves what it could take',
      lot,
    );
    requireThat(
      clawbacks.every((clawback) => gapOf(clawback) >= 0) &&
        open.every(({ ref }) => lot.clawbacks.get(ref)?.owes === true),
      'A clawback keeps what it has to give back',
      lot,
    );
    requireThat(
      owing <= lot.held || owed === lot.consumed,
      'A clawback leaves what could be owed',
      lot,
    );
    requireThat(owed === 0 || owing >= lot.held, 'A debt stands that a hold can still pay', lot);
    requireThat(owed <= lot.consumed, 'More is owed than was used', lot);
  }

  return {
    lots: lots as ReadonlyMap<string, BookedLot>,
    holds: holds as ReadonlyMap<string, Hold>,
    refunds: refunds as ReadonlyMap<string, BookedRefund>,
    /** Lost disputes that froze spending, lifted or not. */
    frozenBy: frozenBy as ReadonlySet<string>,
    bonusRuns: bonusRuns as ReadonlyMap<string, number>,
    balance,
    freezes: () => freezes,
    isClosed: () => closed,
    debt,
    /** The part of what was consumed from a lot that is owed. */
    owedBy: ({ lotId }: BookedLot) => creditsOf(debtsOf(lotId)),
    refundable,
    take(event: CreditEvent): void {
      if (event.type !== 'DebtSettled') requireSettledBy(bought);
      apply(event);
      requireSound(event);
    },
    /** What holds between two commands. */
    requireRest(): void {
      requireSettledBy(bought);
      for (const lot of lots.values()) requireClawbacksStand(lot);
      requireThat(
        unwanted.every((lot) => refundable(lot, 0, 'erasure') === null),
        'A closed account keeps what was paid for',
        unwanted,
      );
      unwanted = [];
      for (const { refundId, lotId, clawedBack, credits } of refunds.values())
        requireThat(
          (lotOf(lotId).clawbacks.get(refundId)?.wanted ?? 0) === (clawedBack ? credits : 0),
          'A refund that was paid late is not clawed back',
          refundId,
        );
    },
    /** The application's own fold of the same events says the same. */
    requireState(state: AccountState): void {
      const booked = {
        lots: [...lots.values()].map((lot) => ({
          ...lot,
          clawbacks: [...lot.clawbacks.values()],
        })),
        holds: Object.fromEntries(holds),
        debts: [...debts.values()],
        settlements,
        refunds: [...refunds.values()],
        month: bonusRuns.get(state.month.month) ?? 0,
        keySpending: {
          month: latestKeyMonth(),
          credits: keySpending.get(latestKeyMonth()) ?? {},
        },
        frozenBy: [...frozenBy],
        closed,
      };
      const kept: typeof booked = {
        lots: state.lots.map((lot) => ({
          ...lot,
          paidMinor: lot.paidMinor ?? 0,
          clawbacks: [...lot.clawbacks],
        })),
        holds: state.holds,
        debts: [...state.debts],
        settlements: [...state.settlements],
        refunds: Object.entries(state.refunds).map(([refundId, one]) => ({ refundId, ...one })),
        month: state.month.count,
        keySpending: state.keySpending,
        frozenBy: [...state.frozenBy],
        closed: state.closed,
      };
      requireThat(
        state.month.month === latestMonth() && isDeepStrictEqual(kept, booked),
        'The state is not what the events say',
        { kept, booked },
      );
    },
  };
}

const thirtyDays = 30 * 86_400_000;

function gapOf({ wanted, taken }: Clawback): number {
  return wanted - taken;
}

/** The first of these shares that together hold so many credits. */
function first(shares: readonly LotShare[], credits: number): LotShare[] {
  let left = credits;
  return shares.flatMap(({ lotId, credits: has }) => {
    const drawn = Math.min(left, has);
    left -= drawn;
    return drawn === 0 ? [] : [{ lotId, credits: drawn }];
  });
}

function creditsOf(portions: readonly { credits: number }[]): number {
  return portions.reduce((sum, { credits }) => sum + credits, 0);
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
