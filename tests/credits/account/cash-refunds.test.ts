import { describe, expect, test } from 'vitest';
import { evolve } from '#services/credits/account/state.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { refundOffer } from '#services/credits/account/cash-refunds.ts';
import type { RefundOffer } from '#services/credits/account/cash-refunds.ts';
import {
  askBack,
  consume,
  dispute,
  endRefund,
  facts,
  given,
  grant,
  purchase,
  refusal,
  reserve,
  andThen,
} from './commands.ts';

function offerOf(state: AccountState, lotId: string, now: string): RefundOffer {
  const lot = state.lots.find((candidate) => candidate.lotId === lotId);
  if (!lot) throw new Error('There is no such lot');
  return refundOffer(state, lot, Date.parse(now));
}

describe('cash refunds', () => {
  const bought = given(purchase('lot_1', 30), consume(7));
  /** A refund by the bank that claws back so many credits. */
  const bank = (credits: number) =>
    dispute('lot_1', credits, { ref: 'ch_1', cause: 'cash_refund' });

  test('a cash refund sets aside all unused credits of the lot, for their share of the payment', () => {
    const events = decide(askBack('ref_1', 'lot_1'), bought);
    expect(facts(events)).toEqual([
      {
        type: 'CashRefundRequested',
        refundId: 'ref_1',
        lotId: 'lot_1',
        credits: 23,
        amountMinor: 1150,
        currency: 'usd',
        requestedAt: '2026-11-20T09:00:00.000Z',
        reason: 'customer',
      },
    ]);
    expect(events[0]?.data.balance).toMatchObject({ available: 0, refundPending: 23 });
  });

  test.each([
    [1, 3, 2, null],
    [100, 3, 1, 66],
    [999, 1000, 1, 998],
    [Number.MAX_SAFE_INTEGER, 3, 1, 6_004_799_503_160_660],
  ])(
    'a cash refund of %s cents for %s credits, %s used, is exact',
    (paidMinor, credits, spent, cents) => {
      const state = given({ ...purchase('lot_1', credits), paidMinor }, consume(spent));
      const offer = offerOf(state, 'lot_1', '2026-11-20T09:00:00.000Z');
      expect('refusal' in offer ? null : offer.amountMinor).toBe(cents);
    },
  );

  test('a cash refund that is requested again is the same refund, and of another lot is refused', () => {
    const state = andThen(bought, purchase('lot_2', 5), askBack('ref_1', 'lot_1'));
    expect(decide(askBack('ref_1', 'lot_1'), state)).toEqual([]);
    expect(refusal(askBack('ref_1', 'lot_2'), state).code).toBe('refund-exists');
  });

  test('a cash refund is possible for exactly thirty days of 24 hours', () => {
    const end = '2026-12-20T08:00:00.000Z';
    const tooLate = '2026-12-20T08:00:00.001Z';
    expect(offerOf(bought, 'lot_1', end)).toEqual({
      credits: 23,
      amountMinor: 1150,
      until: end,
    });
    expect(decide(askBack('ref_1', 'lot_1', { requestedAt: end }), bought)).toHaveLength(1);
    expect(refusal(askBack('ref_1', 'lot_1', { requestedAt: tooLate }), bought)).toMatchObject({
      status: 409,
      code: 'refund-not-possible',
      extras: { members: { reason: 'too_old' } },
    });
  });

  test.each(['operator', 'fraud_warning', 'erasure'] as const)(
    'a cash refund is possible at any age for the reason %s',
    (reason) => {
      const late = askBack('ref_1', 'lot_1', { requestedAt: '2030-01-01T00:00:00.000Z', reason });
      expect(decide(late, bought)).toHaveLength(1);
    },
  );

  test('a cash refund of another number of credits than was agreed to is refused with the present one', () => {
    const asked = (credits: number) => askBack('ref_1', 'lot_1', { credits });
    expect(decide(asked(23), bought)).toEqual(decide(askBack('ref_1', 'lot_1'), bought));
    for (const other of [22, 24])
      expect(refusal(asked(other), bought)).toMatchObject({
        status: 409,
        code: 'refund-changed',
        extras: { members: { credits: 23 } },
      });
    // A repeated request is the same refund, whatever is left now.
    expect(decide(asked(23), andThen(bought, asked(23)))).toEqual([]);
    expect(refusal(asked(5), andThen(bought, consume(23))).code).toBe('refund-not-possible');
  });

  const owing = andThen(bought, purchase('lot_2', 5), consume(20), dispute('lot_1', 30));
  test.each<[string, AccountState, string]>([
    ['nothing_left', andThen(bought, consume(23)), 'lot_1'],
    ['nothing_left', given({ ...purchase('lot_1', 20), paidMinor: 3 }, consume(15)), 'lot_1'],
    ['pending', andThen(bought, askBack('ref_0', 'lot_1')), 'lot_1'],
    ['taken_back', andThen(bought, dispute('lot_1', 1, { owes: false })), 'lot_1'],
    ['taken_back', andThen(bought, dispute('lot_1', 1)), 'lot_1'],
    ['taken_back', andThen(bought, reserve('run', 20), bank(5)), 'lot_1'],
    ['debt', owing, 'lot_2'],
    ['free', andThen(bought, grant('lot_3', 5)), 'lot_3'],
    ['free', given({ ...purchase('lot_1', 5), paidMinor: 0 }), 'lot_1'],
  ])('a cash refund is refused as %s', (reason, state, lotId) => {
    const problem = refusal(askBack('ref_1', lotId), state);
    expect(problem).toMatchObject({ status: 409, code: 'refund-not-possible' });
    expect(problem.extras.members).toEqual({ reason });
    expect(offerOf(state, lotId, '2026-11-20T09:00:00.000Z')).toEqual({ refusal: reason });
  });

  test('a cash refund of an unknown lot is refused', () => {
    expect(refusal(askBack('ref_1', 'lot_9'), bought).code).toBe('unknown-lot');
  });

  test.each(['cash_refund', 'correction'] as const)(
    'a cash refund is possible for what a %s has left, once that has what it wants',
    (cause) => {
      const state = andThen(bought, dispute('lot_1', 4, { ref: 'ch_1', cause }));
      expect(facts(decide(askBack('ref_1', 'lot_1'), state))).toMatchObject([
        { type: 'CashRefundRequested', credits: 19, amountMinor: 950 },
      ]);
    },
  );

  test('a cash refund is possible again once a clawback on the lot has ended', () => {
    const state = andThen(bought, dispute('lot_1', 5), dispute('lot_1', 0));
    expect(decide(askBack('ref_1', 'lot_1'), state)).toHaveLength(1);
  });

  test('a cash refund that is confirmed is over, and a repeat does nothing', () => {
    const asked = andThen(bought, askBack('ref_1', 'lot_1'));
    const events = decide(endRefund('ref_1', 'confirmed'), asked);
    expect(facts(events)).toEqual([
      {
        type: 'CashRefundConfirmed',
        refundId: 'ref_1',
        lotId: 'lot_1',
        credits: 23,
        from: 'pending',
        providerRefundId: 're_1',
        at: '2026-11-21T00:00:00.000Z',
      },
    ]);
    expect(events[0]?.data.balance).toMatchObject({ refundPending: 0, refunded: 23, consumed: 7 });
    const done = andThen(asked, endRefund('ref_1', 'confirmed'));
    expect(decide(endRefund('ref_1', 'confirmed'), done)).toEqual([]);
    expect(refusal(endRefund('ref_9', 'failed'), done)).toMatchObject({
      status: 404,
      code: 'unknown-refund',
    });
  });

  test.each([[[]], [['confirmed' as const]]])(
    'a cash refund that fails, after %j, gives the credits back and thirty more days',
    (before) => {
      const state = andThen(
        bought,
        askBack('ref_1', 'lot_1'),
        ...before.map((outcome) => endRefund('ref_1', outcome)),
        endRefund('ref_1', 'failed'),
      );
      expect(state.balance).toEqual(bought.balance);
      expect(decide(endRefund('ref_1', 'failed'), state)).toEqual([]);
      const end = '2026-12-21T00:00:00.000Z';
      const again = (requestedAt: string) => askBack('ref_2', 'lot_1', { requestedAt });
      expect(decide(again(end), state)).toHaveLength(1);
      expect(refusal(again('2026-12-21T00:00:00.001Z'), state).extras.members).toEqual({
        reason: 'too_old',
      });
    },
  );

  test('a cash refund that was paid after it had failed takes its credits again, as a clawback would', () => {
    const failed = andThen(bought, askBack('ref_1', 'lot_1'), endRefund('ref_1', 'failed'));
    const events = decide(endRefund('ref_1', 'confirmed'), andThen(failed, consume(20)));
    expect(facts(events)).toMatchObject([
      { type: 'CashRefundConfirmed', credits: 23, from: 'failed' },
      { type: 'ClawbackSet', ref: 'ref_1', cause: 'cash_refund', credits: 23, owes: true },
      { type: 'LotRevoked', credits: 3, ref: 'ref_1' },
      { type: 'DebtIncurred', credits: 20, ref: 'ref_1' },
    ]);
    const paid = events.reduce<AccountState>(evolve, andThen(failed, consume(20)));
    expect(paid.refunds['ref_1']).toMatchObject({ status: 'confirmed', clawedBack: true, ends: 2 });
    const undone = andThen(paid, endRefund('ref_1', 'failed'));
    expect(undone.balance).toEqual(andThen(failed, consume(20)).balance);
    expect(undone.refunds['ref_1']).toMatchObject({ status: 'failed', clawedBack: false, ends: 3 });
  });

  describe('of closed accounts', () => {
    const close: CreditCommand = { type: 'CloseAccount', reason: 'erasure' };
    const closed = andThen(bought, close);
    const ifClosed = { refundId: 'ref_late', requestedAt: '2026-11-25T00:00:00.000Z' };

    test('a cash refund of a closed account is requested by its erasure or an operator, never by the customer', () => {
      for (const reason of ['erasure', 'operator', 'fraud_warning'] as const)
        expect(decide(askBack('ref_1', 'lot_1', { reason }), closed)).toHaveLength(1);
      const byCustomer = askBack('ref_1', 'lot_1', { reason: 'customer' });
      expect(refusal(byCustomer, closed).code).toBe('account-closed');
    });

    test('a cash refund of a closed account is requested in the commit that grants a late payment', () => {
      const late: CreditCommand = { ...purchase('lot_2', 20), ifClosed };
      const events = decide(late, closed);
      expect(facts(events)).toMatchObject([
        { type: 'CreditsGranted', lotId: 'lot_2' },
        {
          type: 'CashRefundRequested',
          refundId: 'ref_late',
          lotId: 'lot_2',
          credits: 20,
          amountMinor: 1000,
          requestedAt: '2026-11-25T00:00:00.000Z',
          reason: 'erasure',
        },
      ]);
      expect(events[0]?.data).not.toHaveProperty('ifClosed');
      expect(decide(late, andThen(closed, late))).toEqual([]);
      expect(decide(late, bought).map(({ type }) => type)).toEqual(['CreditsGranted']);
    });

    test('a cash refund of a closed account is of what is left when the late purchase had debts to settle', () => {
      const owes = given(purchase('lot_1', 10), consume(10), dispute('lot_1', 10), close);
      const after = andThen(owes, { ...purchase('lot_2', 30), ifClosed });
      expect(after.balance).toMatchObject({ available: 0, refundPending: 20, debt: 0 });
      expect(after.refunds['ref_late']).toMatchObject({ credits: 20, amountMinor: 1000 });
      const all = andThen(owes, { ...purchase('lot_2', 4), ifClosed });
      expect(all.refunds).toEqual({});
    });
  });
});
