import { describe, expect, test } from 'vitest';
import { initialState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { given, grant, purchase, refusal } from './commands.ts';

describe('grants', () => {
  test('a grant adds a lot, with the balance after it on the event', () => {
    const [event] = decide(purchase('lot_1', 50), initialState());
    expect(event).toMatchObject({
      type: 'CreditsGranted',
      data: { lotId: 'lot_1', credits: 50, paymentKey: 'pi:lot_1', paidMinor: 2500 },
    });
    expect(event?.data.balance).toEqual({
      available: 50,
      held: 0,
      debt: 0,
      purchased: 50,
      bonus: 0,
      other: 0,
      consumed: 0,
      refundPending: 0,
      freezes: 0,
      refunded: 0,
      revoked: 0,
    });
  });

  test('a grant carries a sealed note as it is, and no field for a note that was not written', () => {
    const sealed = { note: 'v1.key.nonce.text' };
    expect(decide(grant('lot_1', 5, { sealed }), initialState())[0]?.data).toHaveProperty(
      'sealed',
      sealed,
    );
    expect(decide(grant('lot_1', 5), initialState())[0]?.data).not.toHaveProperty('sealed');
  });

  test('a grant of the same lot or the same payment again does nothing', () => {
    const state = given(purchase('lot_1', 50));
    expect(decide(purchase('lot_1', 50), state)).toEqual([]);
    expect(decide({ ...purchase('lot_2', 50), paymentKey: 'pi:lot_1' }, state)).toEqual([]);
  });

  test('a grant of a known payment with other figures is refused', () => {
    const state = given(purchase('lot_1', 50));
    expect(refusal(purchase('lot_1', 51), state)).toMatchObject({
      status: 409,
      code: 'lot-exists',
    });
    expect(refusal({ ...purchase('lot_2', 125), paymentKey: 'pi:lot_1' }, state)).toMatchObject({
      code: 'lot-exists',
    });
  });

  test('a grant needs a payment key for a purchase and for nothing else', () => {
    expect(refusal({ ...purchase('lot_1', 5), paymentKey: null }, initialState()).code).toBe(
      'payment-key',
    );
    expect(refusal({ ...grant('lot_1', 5), paymentKey: 'pi:1' }, initialState()).code).toBe(
      'payment-key',
    );
  });

  test.each([{ purchaseId: undefined }, { paidMinor: null }, { currency: null }])(
    'a grant of a purchase without %j is refused',
    (missing) => {
      const { purchaseId: _, ...bought } = purchase('lot_1', 5);
      const without = { ...bought, purchaseId: 'pur_1', ...missing } as CreditCommand;
      expect(refusal(without, initialState())).toMatchObject({ status: 400, code: 'purchase' });
    },
  );

  test.each([0, -5, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER + 1])(
    'a grant of %s credits is refused',
    (credits) => {
      expect(refusal(grant('lot_1', credits), initialState()).code).toBe('invalid-amount');
    },
  );

  test.each([-1, 0.5, Number.MAX_SAFE_INTEGER + 1])(
    'a grant for a payment of %s is refused',
    (paidMinor) => {
      expect(refusal({ ...purchase('lot_1', 5), paidMinor }, initialState()).code).toBe(
        'invalid-amount',
      );
    },
  );

  test('a grant for a payment of nothing, by a coupon, is a purchase', () => {
    expect(decide({ ...purchase('lot_1', 5), paidMinor: 0 }, initialState())).toHaveLength(1);
  });

  test('a grant never lets an account pass the largest safe integer', () => {
    const state = given(grant('lot_1', Number.MAX_SAFE_INTEGER - 1));
    expect(refusal(grant('lot_2', 2), state).code).toBe('invalid-amount');
    expect(decide(grant('lot_2', 1), state)).toHaveLength(1);
  });
});
