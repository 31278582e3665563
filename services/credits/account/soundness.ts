import type { AccountState } from './state.ts';
import { sumOf } from './lots.ts';
import type { Lot } from './lots.ts';

/**
 * What is wrong with an account after any event, as sentences. Decisions assert it before they are
 * appended; replay reports it.
 */
export function unsoundness(state: AccountState): string[] {
  const { lots, balance, debts, holds } = state;
  const figures = Object.entries(balance);
  const parts = [
    'granted',
    'available',
    'held',
    'consumed',
    'cashPending',
    'cashRefunded',
    'revoked',
  ] as const;
  const totals = {
    ...balance,
    granted: balance.purchased + balance.bonus + balance.other,
    cashPending: balance.refundPending,
    cashRefunded: balance.refunded,
  };
  const heldBy = new Map<string, number>();
  for (const share of Object.values(holds).flatMap((hold) => hold.allocations))
    heldBy.set(share.lotId, (heldBy.get(share.lotId) ?? 0) + share.credits);
  return [
    ...figures
      .filter(([, value]) => !Number.isSafeInteger(value) || value < 0)
      .map(([name, value]) => `${name} is ${value}`),
    ...parts
      .filter((part) => totals[part] !== total(lots, (lot) => lot[part]))
      .map((part) => `the lots' ${part} do not add up to the account's`),
    ...(balance.debt === sumOf(debts) ? [] : ['the debts do not add up']),
    ...Object.entries(holds)
      .filter(([, hold]) => sumOf(hold.allocations) !== hold.credits)
      .map(([runId]) => `the shares of ${runId} do not add up`),
    ...lots.flatMap((lot) => lotFaults(lot, heldBy.get(lot.lotId) ?? 0, state)),
    ...(state.month.count < 0 ? ['the monthly count is negative'] : []),
  ];
}

function lotFaults(lot: Lot, heldByRuns: number, state: AccountState): string[] {
  const { lotId, granted, available, held, consumed, cashPending, cashRefunded, revoked } = lot;
  const { debts, settlements } = state;
  const refunds = Object.values(state.refunds).filter((refund) => refund.lotId === lotId);
  const owed = sumOf(debts.filter((debt) => debt.lotId === lotId));
  const paidByOthers = settlements.filter((one) => one.debtLotId === lotId && one.lotId !== lotId);
  const paidForOthers = settlements.filter((one) => one.lotId === lotId && one.debtLotId !== lotId);
  const faults = [
    Math.min(available, held, consumed, cashPending, cashRefunded, revoked) < 0 &&
      'has a negative part',
    granted !== available + held + consumed + cashPending + cashRefunded + revoked &&
      'does not add up',
    held !== heldByRuns && 'holds what no run reserved',
    cashPending !== sumOf(refunds.filter(({ status }) => status === 'pending')) &&
      'waits for money that no refund asked for',
    cashRefunded !==
      sumOf(refunds.filter(({ status, clawedBack }) => status === 'confirmed' && !clawedBack)) &&
      'gave back money in no refund',
    // Between two events of a command: what flows back pays the lot's own debts next.
    owed > consumed + available && 'owes more than was consumed from it',
    lot.clawbacks.some(({ wanted, taken }) => wanted < 0 || taken < 0 || wanted > granted) &&
      'has a clawback of no possible amount',
    total(lot.clawbacks, ({ taken }) => taken) !== revoked + owed &&
      'has clawbacks that did not take what was taken',
    sumOf(paidForOthers) > consumed + sumOf(paidByOthers) &&
      'settled more than was consumed from it',
  ];
  return faults.flatMap((fault) => (fault === false ? [] : [`lot ${lotId} ${fault}`]));
}

function total<Item>(items: readonly Item[], amount: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amount(item), 0);
}
