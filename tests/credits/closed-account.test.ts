import { expect, test } from 'vitest';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { closedAccount } from '#services/credits/ledger/closed-account.ts';
import type { RecordedCreditEvent } from '#services/credits/audit/replay.ts';

/** Commands one day apart, and their events. */
function recorded(...commands: CreditCommand[]): RecordedCreditEvent[] {
  let state: AccountState = initialState();
  return commands.flatMap((command, day) =>
    decide(command, state).map((event): RecordedCreditEvent => {
      state = evolve(state, event);
      return { position: day, at: timeOf(day), event };
    }),
  );
}

function timeOf(day: number): string {
  return new Date(Date.UTC(2026, 10, 20 + day)).toISOString();
}

function bought(lotId: string, age: number, credits = 20): CreditCommand {
  return {
    type: 'Grant',
    lotId,
    credits,
    source: 'purchase',
    paidMinor: credits * 50,
    currency: 'usd',
    paymentKey: `pi:${lotId}`,
    purchaseId: `pur_${lotId}`,
    grantedAt: timeOf(-age),
    reason: 'boost-20',
  };
}

function disputed(lotId: string, wanted: number): CreditCommand {
  return { type: 'SetClawback', lotId, ref: `dp_${lotId}`, cause: 'dispute', wanted, owes: true };
}

function used(credits: number): CreditCommand {
  return { type: 'Consume', consumptionId: 'con_1', credits, sealed: { note: 'v1.key.text' } };
}

function asked(lotId: string, refundId: string): CreditCommand {
  return { type: 'RequestRefund', lotId, refundId, requestedAt: timeOf(0), reason: 'erasure' };
}

function failed(refundId: string): CreditCommand {
  return { type: 'EndRefund', refundId, outcome: 'failed', providerRefundId: null, at: timeOf(9) };
}

const gift: CreditCommand = {
  type: 'Grant',
  lotId: 'lot_gift',
  credits: 5,
  source: 'bonus',
  paidMinor: null,
  currency: null,
  paymentKey: null,
  grantedAt: timeOf(0),
  reason: 'onboarding',
};
const close: CreditCommand = { type: 'CloseAccount', reason: 'erasure' };

function owedOf(...commands: CreditCommand[]): unknown[] {
  const closed = closedAccount(recorded(...commands));
  return (closed?.owed ?? []).map(({ lot, credits, amountMinor }) => [
    lot.lotId,
    credits,
    amountMinor,
  ]);
}

test('an open account owes nothing', () => {
  expect(closedAccount(recorded(bought('lot_1', 0)))).toBeNull();
  expect(closedAccount([])).toBeNull();
});

test('a closed account owes the refunds that were possible when it was closed, however late that is checked', () => {
  expect(owedOf(bought('lot_1', 0), bought('lot_old', 40), gift, close)).toEqual([
    ['lot_1', 20, 1_000],
  ]);
});

test('what a dispute that was won gave back to a closed account is owed at any age', () => {
  const before = [bought('lot_old', 40), disputed('lot_old', 20), close];
  expect(owedOf(...before)).toEqual([]);
  expect(owedOf(...before, disputed('lot_old', 0))).toEqual([['lot_old', 20, 1_000]]);
});

test('what came back to a lot that had settled another lot’s debt is owed', () => {
  const before = [bought('lot_1', 60), used(20), disputed('lot_1', 20), bought('lot_2', 50), close];
  expect(owedOf(...before)).toEqual([]);
  expect(owedOf(...before, disputed('lot_1', 0))).toEqual([['lot_2', 20, 1_000]]);
});

test('what a released run or a failed refund gave back to a closed account is owed', () => {
  const held: CreditCommand = {
    type: 'Reserve',
    runId: 'opt_1',
    credits: 14,
    month: '2026-11',
    limit: -1,
  };
  const released: CreditCommand = {
    type: 'Settle',
    runId: 'opt_1',
    settlement: { kind: 'release' },
  };
  const before = [bought('lot_1', 0), held, asked('lot_1', 'ref_1'), close];
  expect(owedOf(...before)).toEqual([]);
  // One refund at a time: the other one is still on its way.
  expect(owedOf(...before, released)).toEqual([]);
  expect(owedOf(...before, released, failed('ref_1'))).toEqual([['lot_1', 20, 1_000]]);
});

test('a closed account owes nothing while it has a debt, and owes again afterwards', () => {
  const before = [bought('lot_1', 60), bought('lot_2', 0), used(20), close];
  const inDebt = [...before, disputed('lot_1', 20)];
  expect(owedOf(...before)).toEqual([['lot_2', 20, 1_000]]);
  expect(owedOf(...inDebt)).toEqual([]);
  expect(owedOf(...inDebt, disputed('lot_1', 0))).toEqual([['lot_2', 20, 1_000]]);
});
