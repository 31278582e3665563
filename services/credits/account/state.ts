import { changeLot, freshLot, moveShares, taking, withClawback } from './lots.ts';
import type { Lot } from './lots.ts';
import { addChange, noCredits } from './movements.ts';
import type { AccountBalance, CreditFact, KeyMonth, LotShare } from './events.ts';

export type Hold = {
  credits: number;
  /** In draw order. */
  allocations: readonly LotShare[];
  bonusMonth: string | null;
  apiKey?: KeyMonth;
};

/** Oldest first in the account; `credits` is the unpaid rest. */
export type Debt = { debt: string; lotId: string; credits: number; cause: string; ref: string };

/** The part of another lot's debt that a lot has settled; oldest first in the account. */
export type Settled = {
  debt: string;
  debtLotId: string;
  /** The lot that settled. */
  lotId: string;
  credits: number;
  /** The clawback that made the debt. */
  ref: string;
};

export type CashRefund = {
  lotId: string;
  credits: number;
  amountMinor: number;
  currency: string;
  status: 'pending' | 'confirmed' | 'failed';
  requestedAt: string;
  endedAt: string | null;
  /** Confirmed after it had failed: a clawback under its id takes the credits. */
  clawedBack: boolean;
  /** How often it has ended. */
  ends: number;
};

/**
 * Plain JSON. It keeps every lot for ever: a card dispute can arrive more than a year after the last
 * credit of a lot was consumed, and must still find how much that was. Runs leave no mark once they
 * have settled; a repeat is recognised by its message ids.
 */
export type AccountState = {
  /** In the order of their grants. */
  lots: readonly Lot[];
  holds: Readonly<Record<string, Hold>>;
  debts: readonly Debt[];
  /** They may be undone: a dispute can be won long after its debt was paid. */
  settlements: readonly Settled[];
  /** By refund id, ended ones included. */
  refunds: Readonly<Record<string, CashRefund>>;
  /** Runs of the latest month that bonus credits paid for, wholly or partly. */
  month: { month: string; count: number };
  /** By API key, what runs of the latest month that a key started in hold or have used. */
  keySpending: { month: string; credits: Readonly<Record<string, number>> };
  /** Disputes that have frozen spending, lifted or not: each does so once. */
  frozenBy: readonly string[];
  /** For good: the user has been erased, or is about to be. */
  closed: boolean;
  balance: AccountBalance;
};

export const initialState = (): AccountState => ({
  lots: [],
  holds: {},
  debts: [],
  settlements: [],
  refunds: {},
  month: { month: '', count: 0 },
  keySpending: { month: '', credits: {} },
  frozenBy: [],
  closed: false,
  balance: noCredits,
});

/** Ignores the event's own `balance`: replay compares the two. */
export function evolve(state: AccountState, event: CreditFact): AccountState {
  const moved = { ...state, balance: addChange(state.balance, event) };
  switch (event.type) {
    case 'CreditsGranted':
      return { ...moved, lots: [...state.lots, freshLot(event.data)] };
    case 'CreditsReserved': {
      const { runId, credits, allocations, bonusMonth, apiKey } = event.data;
      const hold = { credits, allocations, bonusMonth, ...(apiKey ? { apiKey } : {}) };
      return {
        ...moved,
        lots: moveShares(state.lots, allocations, { available: -1, held: 1 }),
        holds: { ...state.holds, [runId]: hold },
        month: bonusMonth === null ? state.month : countedIn(state.month, bonusMonth),
        keySpending: apiKey ? spentBy(state.keySpending, apiKey, credits) : state.keySpending,
      };
    }
    case 'CreditsCaptured':
      return {
        ...moved,
        lots: moveShares(state.lots, event.data.byLot, { held: -1, consumed: 1 }),
        holds: withoutKey(state.holds, event.data.runId),
      };
    case 'CreditsReturned':
      return {
        ...moved,
        lots: moveShares(state.lots, event.data.byLot, { consumed: -1, available: 1 }),
        keySpending: givenBackTo(state.keySpending, event.data),
      };
    case 'CreditsReleased': {
      const counted = state.holds[event.data.runId]?.bonusMonth === state.month.month;
      return {
        ...moved,
        lots: moveShares(state.lots, event.data.byLot, { held: -1, available: 1 }),
        holds: withoutKey(state.holds, event.data.runId),
        month: counted ? { ...state.month, count: state.month.count - 1 } : state.month,
        keySpending: givenBackTo(state.keySpending, event.data),
      };
    }
    case 'ClawbackSet': {
      const { lotId, ref, cause, credits: wanted, owes } = event.data;
      return {
        ...moved,
        lots: changeLot(state.lots, lotId, (lot) =>
          withClawback(lot, { ref, cause, wanted, owes }),
        ),
      };
    }
    case 'LotRevoked': {
      const { lotId, credits, ref } = event.data;
      const lots = moveShares(state.lots, [event.data], { available: -1, revoked: 1 });
      return { ...moved, lots: changeLot(lots, lotId, (lot) => taking(lot, ref, credits)) };
    }
    case 'DebtIncurred':
      return { ...moved, ...withDebt(state, event.data) };
    case 'DebtSettled': {
      const { debt: name, lotId, credits } = event.data;
      const debt = state.debts.find((candidate) => candidate.debt === name);
      // The lot that settles pays for what the indebted lot consumed; the latter's credits count as
      // revoked.
      const paid = moveShares(state.lots, [{ lotId, credits }], { available: -1, consumed: 1 });
      if (!debt) return { ...moved, lots: paid };
      const { lotId: debtLotId, ref } = debt;
      return {
        ...moved,
        lots: moveShares(paid, [{ lotId: debtLotId, credits }], { consumed: -1, revoked: 1 }),
        debts: lessOf(state.debts, debt, credits),
        settlements: [...state.settlements, { debt: name, debtLotId, lotId, credits, ref }],
      };
    }
    case 'DebtCancelled': {
      const { debt: name, lotId, credits, ref } = event.data;
      const debt = state.debts.find((candidate) => candidate.debt === name);
      return {
        ...moved,
        lots: givenBack(state.lots, { lotId, ref, credits }),
        debts: debt ? lessOf(state.debts, debt, credits) : state.debts,
      };
    }
    case 'DebtSettlementReversed': {
      const { debt, lotId, credits, ref } = event.data;
      const settled = state.settlements.findLast(
        (candidate) => candidate.debt === debt && candidate.lotId === lotId,
      );
      const freed = moveShares(state.lots, [{ lotId, credits }], { consumed: -1, available: 1 });
      if (!settled) return { ...moved, lots: freed };
      const { debtLotId } = settled;
      const undone = moveShares(freed, [{ lotId: debtLotId, credits }], {
        revoked: -1,
        consumed: 1,
      });
      return {
        ...moved,
        lots: givenBack(undone, { lotId: debtLotId, ref, credits }),
        settlements: lessOf(state.settlements, settled, credits),
      };
    }
    case 'LotReinstated':
      return {
        ...moved,
        lots: givenBack(
          moveShares(state.lots, [event.data], { revoked: -1, available: 1 }),
          event.data,
        ),
      };
    case 'CashRefundRequested': {
      const { refundId, lotId, credits, amountMinor, currency, requestedAt } = event.data;
      const refund: CashRefund = {
        lotId,
        credits,
        amountMinor,
        currency,
        status: 'pending',
        requestedAt,
        endedAt: null,
        clawedBack: false,
        ends: 0,
      };
      return {
        ...moved,
        lots: moveShares(state.lots, [event.data], { available: -1, cashPending: 1 }),
        refunds: { ...state.refunds, [refundId]: refund },
      };
    }
    case 'CashRefundConfirmed': {
      const { refundId, from, at } = event.data;
      const ended = { status: 'confirmed', endedAt: at, clawedBack: from === 'failed' } as const;
      return {
        ...moved,
        lots:
          from === 'pending'
            ? moveShares(state.lots, [event.data], { cashPending: -1, cashRefunded: 1 })
            : state.lots,
        refunds: withEnd(state.refunds, refundId, ended),
      };
    }
    case 'CashRefundFailed': {
      const { refundId, lotId, from, refundableUntil, at } = event.data;
      const lots =
        from === 'clawed_back'
          ? state.lots
          : moveShares(state.lots, [event.data], {
              [from === 'pending' ? 'cashPending' : 'cashRefunded']: -1,
              available: 1,
            });
      return {
        ...moved,
        lots: changeLot(lots, lotId, (lot) => ({ ...lot, refundableUntil })),
        refunds: withEnd(state.refunds, refundId, {
          status: 'failed',
          endedAt: at,
          clawedBack: false,
        }),
      };
    }
    case 'CreditsConsumed':
      return {
        ...moved,
        lots: moveShares(state.lots, event.data.byLot, { available: -1, consumed: 1 }),
      };
    case 'SpendingFrozen':
      return { ...moved, frozenBy: [...state.frozenBy, event.data.ref] };
    case 'SpendingUnfrozen':
      return moved;
    case 'AccountClosed':
      return { ...moved, closed: true };
  }
}

function withDebt(
  state: AccountState,
  data: Extract<CreditFact, { type: 'DebtIncurred' }>['data'],
): Pick<AccountState, 'lots' | 'debts'> {
  const { debt, lotId, credits, cause, ref } = data;
  const isNew = !state.debts.some((candidate) => candidate.debt === debt);
  return {
    lots: changeLot(state.lots, lotId, (lot) => ({
      ...taking(lot, ref, credits),
      debts: lot.debts + (isNew ? 1 : 0),
    })),
    debts: isNew
      ? [...state.debts, { debt, lotId, credits, cause, ref }]
      : state.debts.map((owed) =>
          owed.debt === debt ? { ...owed, credits: owed.credits + credits } : owed,
        ),
  };
}

function givenBack(
  lots: readonly Lot[],
  { lotId, ref, credits }: { lotId: string; ref: string; credits: number },
): Lot[] {
  return changeLot(lots, lotId, (lot) => taking(lot, ref, -credits));
}

function lessOf<Item extends { readonly credits: number }>(
  items: readonly Item[],
  item: Item,
  credits: number,
): Item[] {
  return items.flatMap((candidate) =>
    candidate !== item
      ? [candidate]
      : candidate.credits > credits
        ? [{ ...candidate, credits: candidate.credits - credits }]
        : [],
  );
}

function withEnd(
  refunds: AccountState['refunds'],
  refundId: string,
  end: Pick<CashRefund, 'status' | 'endedAt' | 'clawedBack'>,
): AccountState['refunds'] {
  const refund = refunds[refundId];
  return refund
    ? { ...refunds, [refundId]: { ...refund, ...end, ends: refund.ends + 1 } }
    : refunds;
}

function countedIn(
  current: AccountState['month'],
  month: string,
): { month: string; count: number } {
  return month > current.month
    ? { month, count: 1 }
    : { month: current.month, count: current.count + 1 };
}

type KeySpending = AccountState['keySpending'];

/** A later month begins with nothing used. */
function spentBy({ month, credits }: KeySpending, key: KeyMonth, spent: number): KeySpending {
  const known = key.month > month ? {} : credits;
  return {
    month: key.month > month ? key.month : month,
    credits: { ...known, [key.id]: (known[key.id] ?? 0) + spent },
  };
}

function givenBackTo(
  spending: KeySpending,
  { apiKey, credits }: { apiKey?: KeyMonth; credits: number },
): KeySpending {
  if (apiKey?.month !== spending.month) return spending;
  return spentBy(spending, apiKey, -credits);
}

function withoutKey<Value>(
  record: Readonly<Record<string, Value>>,
  key: string,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));
}
