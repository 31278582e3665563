import { describe, expect, test } from 'vitest';
import { decide } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { evolve, initialState } from '#services/credits/account/state.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { DisputeView, RefundView } from '#services/payments/provider.ts';
import { expected } from '#services/payments/settle/expected.ts';
import type { Expected, PaymentView } from '#services/payments/settle/expected.ts';

const at = '2026-11-20T10:00:00.000Z';
const begin = Date.parse(at);
const hour = 3_600_000;

/** 20 credits for 10 dollars, after some commands. */
function account(...commands: CreditCommand[]): AccountState {
  const grant: CreditCommand = {
    type: 'Grant',
    lotId: 'lot_1',
    credits: 20,
    source: 'purchase',
    paidMinor: 1_000,
    currency: 'usd',
    paymentKey: 'pi:pi_1',
    purchaseId: 'pur_1',
    grantedAt: at,
    reason: 'boost-20',
  };
  return [grant, ...commands].reduce<AccountState>(
    (state, command) => decide(command, state).reduce<AccountState>(evolve, state),
    initialState(),
  );
}

const request: CreditCommand = {
  type: 'RequestRefund',
  refundId: 'ref_1',
  lotId: 'lot_1',
  requestedAt: at,
  reason: 'customer',
};

function refund(fields: Partial<RefundView> = {}): RefundView {
  return {
    providerRefundId: 're_1',
    refundId: null,
    intentId: 'pi_1',
    chargeId: 'ch_1',
    amountMinor: 1_000,
    currency: 'usd',
    status: 'succeeded',
    failure: null,
    createdAt: begin,
    ...fields,
  };
}

function dispute(stage: DisputeView['stage'], fields: Partial<DisputeView> = {}): DisputeView {
  return {
    disputeId: 'dp_1',
    chargeId: 'ch_1',
    intentId: 'pi_1',
    amountMinor: 1_000,
    currency: 'usd',
    status: stage,
    stage,
    createdAt: begin,
    ...fields,
  };
}

function of(view: Partial<PaymentView>): Expected {
  return expected({
    payment: { lotId: 'lot_1', granted: 20, paidMinor: 1_000 },
    account: account(),
    refunds: [],
    disputes: [],
    refused: new Set(),
    now: begin,
    ...view,
  });
}

test('a payment without refunds or disputes needs nothing', () => {
  expect(of({})).toEqual({
    refunds: [],
    bankRefunds: [],
    clawbacks: [],
    plan: 'kept',
    freeze: null,
  });
});

describe('a refund of ours', () => {
  const statusOf = (view: Partial<PaymentView>) =>
    of({ account: account(request), ...view }).refunds.map(({ status }) => status);

  test.each([
    ['pending', 'pending'],
    ['succeeded', 'confirmed'],
    ['failed', 'failed'],
  ] as const)('a refund that the provider shows as %s is %s', (status, end) => {
    expect(statusOf({ refunds: [refund({ refundId: 'ref_1', status })] })).toEqual([end]);
  });

  test('a refund that the provider lists twice counts as the one whose money is gone', () => {
    const failed = refund({ refundId: 'ref_1', status: 'failed' });
    const made = refund({ refundId: 'ref_1', providerRefundId: 're_2' });
    expect(statusOf({ refunds: [failed, made] })).toEqual(['confirmed']);
    expect(statusOf({ refunds: [made, failed] })).toEqual(['confirmed']);
  });

  test('a refund that the provider does not list stays pending, however old it is', () => {
    expect(statusOf({ now: begin + 900 * hour })).toEqual(['pending']);
  });

  test('a refused refund fails only after a day', () => {
    const refused = new Set(['ref_1']);
    expect(statusOf({ refused, now: begin + 24 * hour - 1 })).toEqual(['pending']);
    expect(statusOf({ refused, now: begin + 24 * hour })).toEqual(['failed']);
  });

  test('a refused refund that the provider lists after all is what it shows', () => {
    const refunds = [refund({ refundId: 'ref_1' })];
    expect(statusOf({ refused: new Set(['ref_1']), refunds, now: begin + 48 * hour })).toEqual([
      'confirmed',
    ]);
  });
});

describe('a clawback', () => {
  test('a refund by the bank takes its share of the credits, rounded up', () => {
    expect(of({ refunds: [refund({ amountMinor: 101 })] }).clawbacks).toEqual([
      { ref: 'ch_1', cause: 'cash_refund', wanted: 3, owes: true },
    ]);
  });

  test('a refund by the bank takes only what is not on its way out already', () => {
    const used: CreditCommand[] = [
      { type: 'Reserve', runId: 'opt_1', credits: 10, month: '2026-11', limit: -1 },
      request,
    ];
    const refunds = [
      refund({ refundId: 'ref_1', amountMinor: 500, providerRefundId: 're_2' }),
      refund({ amountMinor: 250 }),
    ];
    expect(of({ account: account(...used), refunds }).clawbacks).toEqual([
      { ref: 'ch_1', cause: 'cash_refund', wanted: 5, owes: true },
    ]);
  });

  test('a failed refund by the bank gives back what it took', () => {
    const taken: CreditCommand = {
      type: 'SetClawback',
      lotId: 'lot_1',
      ref: 'ch_1',
      cause: 'cash_refund',
      wanted: 20,
      owes: true,
    };
    expect(
      of({ account: account(taken), refunds: [refund({ status: 'failed' })] }).clawbacks,
    ).toEqual([{ ref: 'ch_1', cause: 'cash_refund', wanted: 0, owes: true }]);
  });

  test.each([
    ['inquiry', 20, false],
    ['withdrawn', 20, true],
    ['lost', 20, true],
    ['won', 0, false],
    ['closed', 0, false],
  ] as const)('a dispute that is %s wants %i credits; it owes: %s', (stage, wanted, owes) => {
    expect(of({ disputes: [dispute(stage)] }).clawbacks).toEqual([
      { ref: 'dp_1', cause: 'dispute', wanted, owes },
    ]);
  });
});

test('a dispute of a part of a payment wants that part of the credits, rounded up', () => {
  const [clawback] = of({ disputes: [dispute('withdrawn', { amountMinor: 301 })] }).clawbacks;
  expect(clawback).toMatchObject({ ref: 'dp_1', wanted: 7 });
});

test('a plan ends when refunds and disputes together took the whole payment', () => {
  const half = { amountMinor: 500 };
  const planOf = (refunds: RefundView[], disputes: DisputeView[]) => of({ refunds, disputes }).plan;
  expect(planOf([refund(half), refund({ ...half, providerRefundId: 're_2' })], [])).toBe('ended');
  for (const stage of ['withdrawn', 'lost'] as const)
    expect(planOf([refund(half)], [dispute(stage, half)])).toBe('ended');
  const twoDisputes = [dispute('lost', half), dispute('withdrawn', { ...half, disputeId: 'dp_2' })];
  expect(planOf([], twoDisputes)).toBe('ended');
  expect(planOf([refund(half)], [])).toBe('kept');
  expect(planOf([refund(half)], [dispute('won', half)])).toBe('kept');
  expect(planOf([refund(half)], [dispute('inquiry', half)])).toBe('kept');
  expect(planOf([refund({ status: 'pending' })], [])).toBe('kept');
});

test('spending freezes when a refunded payment is lost to a dispute, by what went back twice', () => {
  expect(of({ refunds: [refund()], disputes: [dispute('lost')] }).freeze).toEqual({
    ref: 'dp_1',
    overpaidMinor: 1_000,
    currency: 'usd',
  });
  expect(of({ refunds: [refund()], disputes: [dispute('withdrawn')] }).freeze).toBeNull();
  // Without a refund nothing went back twice, whatever the disputes add up to.
  const both = [dispute('lost'), dispute('lost', { disputeId: 'dp_2' })];
  expect(of({ disputes: both }).freeze).toBeNull();
});
