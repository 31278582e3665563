import { describe, expect, test } from 'vitest';
import { evolve } from '#services/credits/account/state.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import {
  capture,
  consume,
  dispute,
  facts,
  given,
  grant,
  purchase,
  refusal,
  release,
  reserve,
} from './commands.ts';

describe('reservations', () => {
  test('a reservation draws bonus, then other, then paid; the oldest first, then by id', () => {
    const state = given(
      purchase('lot_paid', 10),
      grant('lot_other', 2, { grantedAt: '2026-11-19T08:00:00.000Z' }),
      grant('lot_b', 3, { source: 'bonus', grantedAt: '2026-11-18T08:00:00.000Z' }),
      grant('lot_a', 3, { source: 'bonus', grantedAt: '2026-11-18T08:00:00.000Z' }),
      grant('lot_z', 1, { source: 'bonus', grantedAt: '2026-11-10T08:00:00.000Z' }),
    );
    expect(facts(decide(reserve('run', 12), state))).toEqual([
      {
        type: 'CreditsReserved',
        runId: 'run',
        credits: 12,
        allocations: [
          { lotId: 'lot_z', credits: 1 },
          { lotId: 'lot_a', credits: 3 },
          { lotId: 'lot_b', credits: 3 },
          { lotId: 'lot_other', credits: 2 },
          { lotId: 'lot_paid', credits: 3 },
        ],
        bonusMonth: '2026-11',
      },
    ]);
  });

  test('a reservation says in the specified words how many credits are missing', () => {
    const problem = refusal(reserve('run', 14), given(grant('lot_1', 10)));
    expect(problem).toMatchObject({ status: 402, code: 'insufficient-credits' });
    expect(problem.message).toBe(
      "You need 14 credits to run this optimization, but you only have 10 credits available. You're short by 4 credits.",
    );
    expect(problem.extras.members).toEqual({
      required_credits: 14,
      current_balance: 10,
      shortfall: 4,
    });
  });

  test('a reservation cannot use what another run holds', () => {
    const state = given(grant('lot_1', 20), reserve('run_1', 14));
    expect(refusal(reserve('run_2', 14), state).extras.members).toMatchObject({
      current_balance: 6,
      shortfall: 8,
    });
  });

  test.each([0, -14, 14.5, Number.MAX_SAFE_INTEGER + 1])(
    'a reservation of %s credits is refused',
    (credits) => {
      expect(refusal(reserve('run', credits), given(grant('lot_1', 20))).code).toBe(
        'invalid-amount',
      );
    },
  );

  test('a reservation for a run that is held already does nothing, even when it could no longer be paid', () => {
    const state = given(grant('lot_1', 14), reserve('run', 14));
    expect(decide(reserve('run', 14), state)).toEqual([]);
  });

  test('a reservation is refused while there is debt, whatever is available', () => {
    const state = given(
      purchase('lot_1', 14),
      reserve('run_1', 14),
      capture('run_1', 14, 0),
      grant('lot_2', 100),
      dispute('lot_1', 14),
    );
    const problem = refusal(reserve('run_2', 14), state);
    expect(problem).toMatchObject({ status: 402, code: 'debt' });
    expect(problem.message).toContain('owe 14 credits');
    expect(problem.extras.members).toMatchObject({ debt_credits: 14 });
  });
});

describe('the monthly limit', () => {
  const bonus = grant('lot_b', 100, { source: 'bonus' });

  test('the monthly limit blocks what only bonus credits could pay for', () => {
    const state = given(bonus, reserve('run_1', 10, 1));
    expect(refusal(reserve('run_2', 10, 1), state)).toMatchObject({
      status: 403,
      code: 'monthly-limit',
    });
  });

  test('the monthly limit leaves bonus lots out and lets other credits pay', () => {
    const state = given(bonus, purchase('lot_p', 20), reserve('run_1', 10, 1));
    const [event] = decide(reserve('run_2', 10, 1), state);
    expect(event?.data).toMatchObject({
      allocations: [{ lotId: 'lot_p', credits: 10 }],
      bonusMonth: null,
    });
  });

  test('the monthly limit is not the reason when all credits together are too few', () => {
    const state = given(bonus, reserve('run_1', 10, 1));
    expect(refusal(reserve('run_2', 91, 1), state).code).toBe('insufficient-credits');
  });

  test('the monthly limit begins again with the month, and a release of last month does not change it', () => {
    const state = given(bonus, reserve('run_1', 10, 1), reserve('run_2', 10, 1, '2026-12'));
    expect(state.month).toEqual({ month: '2026-12', count: 1 });
    const released = decide(release('run_1'), state).reduce<AccountState>(evolve, state);
    expect(released.month).toEqual({ month: '2026-12', count: 1 });
  });

  test('the monthly limit cannot be escaped by a clock that lags behind', () => {
    const state = given(bonus, reserve('run_1', 10, 1, '2026-12'));
    expect(refusal(reserve('run_2', 10, 1, '2026-11'), state).code).toBe('monthly-limit');
  });

  test('the monthly limit of −1 is no limit', () => {
    const state = given(bonus, ...['a', 'b', 'c'].map((run) => reserve(run, 10, -1)));
    expect(decide(reserve('d', 10, -1), state)).toHaveLength(1);
  });
});

describe('settlements', () => {
  const held = given(
    purchase('lot_p', 10),
    grant('lot_b', 8, { source: 'bonus' }),
    reserve('run', 14),
  );

  test('a settlement captures the price and returns, in reverse draw order, in one append', () => {
    expect(facts(decide(capture('run', 14, 7), held))).toEqual([
      {
        type: 'CreditsCaptured',
        runId: 'run',
        credits: 14,
        byLot: [
          { lotId: 'lot_b', credits: 8 },
          { lotId: 'lot_p', credits: 6 },
        ],
      },
      {
        type: 'CreditsReturned',
        runId: 'run',
        credits: 7,
        byLot: [
          { lotId: 'lot_p', credits: 6 },
          { lotId: 'lot_b', credits: 1 },
        ],
        cause: 'run',
      },
    ]);
  });

  test('a settlement without a reservation, or a second time, does nothing', () => {
    expect(decide(release('unknown'), held)).toEqual([]);
    const settled = decide(capture('run', 14, 0), held).reduce<AccountState>(evolve, held);
    expect(decide(capture('run', 14, 7), settled)).toEqual([]);
  });

  test.each([
    ['more than is held', 15, 0],
    ['less than is held', 13, 0],
    ['and returning more than the capture', 14, 15],
  ])('a settlement is refused: %s', (_, credits, refund) => {
    expect(refusal(capture('run', credits, refund), held)).toMatchObject({
      status: 409,
      code: 'settlement-mismatch',
    });
  });

  test.each([
    [0, 0],
    [-14, 0],
    [14.5, 0],
    [14, -1],
    [14, 0.5],
  ])('a capture of %s with a refund of %s is refused', (credits, refund) => {
    expect(refusal(capture('run', credits, refund), held).code).toBe('invalid-amount');
  });
});

describe('consumptions', () => {
  test('a consumption takes bonus before bought credits and says from which lots, without holding first', () => {
    const state = given(purchase('lot_1', 20), grant('lot_2', 5, { source: 'bonus' }));
    const [event, ...more] = decide(consume(8), state);
    expect(more).toEqual([]);
    expect(facts([event!])).toEqual([
      {
        type: 'CreditsConsumed',
        consumptionId: 'con_1',
        credits: 8,
        byLot: [
          { lotId: 'lot_2', credits: 5 },
          { lotId: 'lot_1', credits: 3 },
        ],
        sealed: { note: 'v1.key.nonce.text' },
      },
    ]);
    expect(event?.data.balance).toMatchObject({ available: 17, held: 0, consumed: 8 });
  });

  test('a consumption cannot use what a run holds', () => {
    const state = given(purchase('lot_1', 20), reserve('run', 14));
    expect(refusal(consume(7), state)).toMatchObject({
      status: 402,
      code: 'insufficient-credits',
      extras: { members: { required_credits: 7, current_balance: 6, shortfall: 1 } },
    });
    expect(decide(consume(6), state)).toHaveLength(1);
  });

  test('a consumption is refused while there is debt, and for an invalid amount', () => {
    const indebted = given(
      purchase('lot_1', 10),
      consume(10),
      dispute('lot_1', 10),
      grant('lot_2', 50),
    );
    expect(indebted.balance.debt).toBe(10);
    expect(refusal(consume(1), indebted)).toMatchObject({ status: 402, code: 'debt' });
    for (const credits of [0, -1, 1.5])
      expect(refusal(consume(credits), indebted).code).toBe('invalid-amount');
  });
});
