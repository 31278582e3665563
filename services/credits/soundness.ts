import type { AccountState, Debt } from './account.ts';
import { sumOf } from './lots.ts';
import type { Lot } from './lots.ts';

/**
 * What is wrong with an account after any event, as sentences; none for a sound one. Decisions
 * assert it before they are appended, replay reports it.
 */
export function unsoundness(state: AccountState): string[] {
  const { lots, balance, debts, holds } = state;
  const figures = Object.entries(balance);
  const parts = ['granted', 'available', 'held', 'consumed', 'revoked'] as const;
  const granted = balance.purchased + balance.bonus + balance.other;
  const totals = { ...balance, granted };
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
    ...lots.flatMap((lot) => lotFaults(lot, heldBy.get(lot.lotId) ?? 0, debts)),
    ...(state.month.count < 0 ? ['the monthly count is negative'] : []),
  ];
}

function lotFaults(lot: Lot, heldByRuns: number, debts: readonly Debt[]): string[] {
  const { lotId, granted, available, held, consumed, revoked } = lot;
  const owed = sumOf(debts.filter((debt) => debt.lotId === lotId));
  const waiting = sumOf(lot.waiting);
  const faults = [
    Math.min(available, held, consumed, revoked) < 0 && 'has a negative part',
    granted !== available + held + consumed + revoked && 'does not add up',
    held !== heldByRuns && 'holds what no run reserved',
    owed > consumed && 'owes more than was consumed from it',
    waiting > granted && 'waits for more than was granted',
  ];
  return faults.flatMap((fault) => (fault === false ? [] : [`lot ${lotId} ${fault}`]));
}

function total<Item>(items: readonly Item[], amount: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amount(item), 0);
}
