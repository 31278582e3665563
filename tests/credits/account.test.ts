import { describe, expect, test } from 'vitest';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { refundOffer } from '#services/credits/account/cash-refunds.ts';
import type { RefundOffer } from '#services/credits/account/cash-refunds.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import { reactions } from '#services/credits/account/reactions.ts';
import { unsoundness } from '#services/credits/account/soundness.ts';
import { Problem } from '#services/platform/problem.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';

function given(...commands: CreditCommand[]): AccountState {
  return then(initialState(), ...commands);
}

function grant(lotId: string, credits: number, more: Partial<Grant> = {}): Grant {
  const source = more.source ?? 'other';
  return {
    type: 'Grant',
    lotId,
    credits,
    source,
    paidMinor: source === 'purchase' ? credits * 50 : null,
    currency: source === 'purchase' ? 'usd' : null,
    paymentKey: source === 'purchase' ? `pi:${lotId}` : null,
    ...(source === 'purchase' ? { purchaseId: `pur_${lotId}` } : {}),
    grantedAt: '2026-11-20T08:00:00.000Z',
    reason: 'operator',
    ...more,
  };
}
type Grant = Extract<CreditCommand, { type: 'Grant' }>;

function purchase(lotId: string, credits: number): Grant {
  return grant(lotId, credits, { source: 'purchase', reason: 'boost-50' });
}

function reserve(runId: string, credits: number, limit = -1, month = '2026-11'): CreditCommand {
  return { type: 'Reserve', runId, credits, month, limit };
}

function capture(runId: string, credits: number, refund: number): CreditCommand {
  return { type: 'Settle', runId, settlement: { kind: 'capture', capture: credits, refund } };
}

function release(runId: string): CreditCommand {
  return { type: 'Settle', runId, settlement: { kind: 'release' } };
}

/** A dispute over so many credits of the lot in total. */
function dispute(lotId: string, wanted: number, more: Partial<SetClawback> = {}): SetClawback {
  return { type: 'SetClawback', lotId, ref: 'dp_1', cause: 'dispute', wanted, owes: true, ...more };
}
type SetClawback = Extract<CreditCommand, { type: 'SetClawback' }>;

/** The account after these commands too. */
function then(state: AccountState, ...commands: CreditCommand[]): AccountState {
  return commands.reduce(
    (before, command) => decide(command, before).reduce<AccountState>(evolve, before),
    state,
  );
}

function consume(credits: number): CreditCommand {
  return {
    type: 'Consume',
    consumptionId: 'con_1',
    credits,
    sealed: { note: 'v1.key.nonce.text' },
  };
}

type RequestRefund = Extract<CreditCommand, { type: 'RequestRefund' }>;

function askBack(
  refundId: string,
  lotId: string,
  more: Partial<RequestRefund> = {},
): RequestRefund {
  const requestedAt = '2026-11-20T09:00:00.000Z';
  return { type: 'RequestRefund', refundId, lotId, requestedAt, reason: 'customer', ...more };
}

function offerOf(state: AccountState, lotId: string, now: string): RefundOffer {
  const lot = state.lots.find((candidate) => candidate.lotId === lotId);
  if (!lot) throw new Error('There is no such lot');
  return refundOffer(state, lot, Date.parse(now));
}

function endRefund(refundId: string, outcome: 'confirmed' | 'failed'): CreditCommand {
  const at = '2026-11-21T00:00:00.000Z';
  return { type: 'EndRefund', refundId, outcome, providerRefundId: 're_1', at };
}

/** The events without the balance that each carries. */
function facts(events: readonly CreditEvent[]): unknown[] {
  return events.map(({ type, data }) => ({
    type,
    ...Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'balance')),
  }));
}

function refusal(command: CreditCommand, state: AccountState): Problem {
  try {
    decide(command, state);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('The command was not refused');
}

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
    expect(problem.message).toContain('owes 14 credits');
    expect(problem.extras.members).toMatchObject({ debt_credits: 14 });
  });

  test('a reservation enqueues the start of its run', () => {
    const [event] = decide(reserve('opt_1', 5), given(grant('lot_1', 10)));
    if (!event) throw new Error('Nothing was reserved');
    expect(reactions(event, 'credits-usr_1')).toEqual([
      { task: 'start-run', payload: { runId: 'opt_1' }, key: 'opt_1:start' },
    ]);
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

  test('the monthly limit is given back by a release and kept by a capture', () => {
    const held = given(bonus, reserve('run_1', 10, 1));
    const after = (command: CreditCommand) =>
      decide(command, held).reduce<AccountState>(evolve, held);
    expect(after(release('run_1')).month).toEqual({ month: '2026-11', count: 0 });
    expect(after(capture('run_1', 10, 5)).month).toEqual({ month: '2026-11', count: 1 });
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

  test('a settlement without anything to return is one event', () => {
    expect(decide(capture('run', 14, 0), held).map(({ type }) => type)).toEqual([
      'CreditsCaptured',
    ]);
  });

  test('a release gives everything back to its lots, which keep their age', () => {
    const state = decide(release('run'), held).reduce<AccountState>(evolve, held);
    expect(state.lots).toMatchObject([
      { lotId: 'lot_p', available: 10, held: 0, consumed: 0 },
      { lotId: 'lot_b', available: 8, held: 0, consumed: 0 },
    ]);
    expect(state.balance).toMatchObject({ available: 18, held: 0, consumed: 0 });
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

describe('clawbacks', () => {
  const used = given(purchase('lot_1', 20), reserve('run', 14), capture('run', 14, 0));
  const held = given(purchase('lot_1', 14), reserve('run', 14));

  test('a clawback takes what is available in that lot and leaves the others alone', () => {
    const after = given(purchase('lot_1', 20), purchase('lot_2', 20), dispute('lot_1', 20));
    expect(after.balance).toMatchObject({ available: 20, revoked: 20, debt: 0 });
    expect(after.lots).toMatchObject([
      { available: 0, revoked: 20 },
      { available: 20, revoked: 0 },
    ]);
  });

  test('a clawback waits for what a run holds, without debt, so that other lots can still be used', () => {
    const state = then(held, purchase('lot_2', 20));
    const events = decide(dispute('lot_1', 14), state);
    expect(facts(events)).toEqual([
      {
        type: 'ClawbackSet',
        lotId: 'lot_1',
        ref: 'dp_1',
        cause: 'dispute',
        credits: 14,
        owes: true,
      },
    ]);
    const after = events.reduce<AccountState>(evolve, state);
    expect(after.balance).toMatchObject({ available: 20, held: 14, debt: 0, revoked: 0 });
    expect(decide(reserve('run_2', 14), after)).toHaveLength(1);
  });

  test('a clawback takes at once what flows back, and what was captured becomes debt', () => {
    const events = decide(capture('run', 14, 5), then(held, dispute('lot_1', 14)));
    expect(facts(events).slice(2)).toEqual([
      { type: 'LotRevoked', lotId: 'lot_1', credits: 5, cause: 'dispute', ref: 'dp_1' },
      {
        type: 'DebtIncurred',
        debt: 'lot_1:1',
        lotId: 'lot_1',
        credits: 9,
        cause: 'dispute',
        ref: 'dp_1',
      },
    ]);
    expect(events.at(-1)?.data.balance).toMatchObject({
      available: 0,
      held: 0,
      consumed: 9,
      revoked: 5,
      debt: 9,
    });
  });

  test('a clawback takes everything back when the run is released', () => {
    const events = decide(release('run'), then(held, dispute('lot_1', 14)));
    expect(facts(events)[1]).toMatchObject({ type: 'LotRevoked', lotId: 'lot_1', credits: 14 });
    expect(events.at(-1)?.data.balance).toMatchObject({ available: 0, revoked: 14, debt: 0 });
  });

  test('a clawback makes no debt of what another hold of the lot can still bring', () => {
    const state = given(
      purchase('lot_1', 28),
      reserve('run_1', 14),
      reserve('run_2', 14),
      dispute('lot_1', 10),
    );
    const settled = decide(capture('run_1', 14, 0), state);
    expect(settled.map(({ type }) => type)).toEqual(['CreditsCaptured']);
    const released = then(state, capture('run_1', 14, 0), release('run_2'));
    expect(released.balance).toMatchObject({ available: 4, revoked: 10, debt: 0 });
  });

  test('a clawback that shrinks during a hold lets what is owed wait for the hold', () => {
    const state = given(purchase('lot_1', 20), consume(10), reserve('run', 10));
    const more = then(state, dispute('lot_1', 15));
    expect(more.balance).toMatchObject({ held: 10, debt: 5 });
    const less = then(more, dispute('lot_1', 12));
    expect(less.balance).toMatchObject({ held: 10, debt: 2 });
    const waiting = then(less, dispute('lot_1', 4));
    expect(waiting.balance).toMatchObject({ held: 10, debt: 0, revoked: 0 });
    expect(then(waiting, release('run')).balance).toMatchObject({ available: 6, revoked: 4 });
  });

  test('the oldest of several clawbacks get what comes back', () => {
    const state = then(
      held,
      dispute('lot_1', 5),
      dispute('lot_1', 4, { ref: 'ch_1', cause: 'cash_refund' }),
    );
    expect(state.lots[0]?.clawbacks).toEqual([
      { ref: 'dp_1', cause: 'dispute', wanted: 5, taken: 0, owes: true },
      { ref: 'ch_1', cause: 'cash_refund', wanted: 4, taken: 0, owes: true },
    ]);
    expect(facts(decide(capture('run', 14, 6), state)).slice(2)).toMatchObject([
      { type: 'LotRevoked', credits: 5, ref: 'dp_1' },
      { type: 'LotRevoked', credits: 1, ref: 'ch_1' },
      { type: 'DebtIncurred', credits: 3, ref: 'ch_1' },
    ]);
  });

  test('a clawback makes one debt for each clawback, which grows', () => {
    const state = given(
      purchase('lot_1', 20),
      consume(5),
      reserve('run', 15),
      dispute('lot_1', 10),
      dispute('lot_1', 10, { ref: 'dp_2' }),
    );
    expect(state.debts).toMatchObject([{ debt: 'lot_1:1', ref: 'dp_2', credits: 5 }]);
    expect(then(state, capture('run', 15, 0)).debts).toMatchObject([
      { debt: 'lot_1:1', ref: 'dp_2', credits: 10 },
      { debt: 'lot_1:2', ref: 'dp_1', credits: 10 },
    ]);
  });

  test('a clawback makes a debt of what had been consumed', () => {
    expect(facts(decide(dispute('lot_1', 20), used)).slice(1)).toMatchObject([
      { type: 'LotRevoked', lotId: 'lot_1', credits: 6, cause: 'dispute' },
      { type: 'DebtIncurred', debt: 'lot_1:1', credits: 14, cause: 'dispute' },
    ]);
  });

  test('a clawback that is repeated does nothing, and with another amount moves by the difference', () => {
    const state = then(used, dispute('lot_1', 8));
    expect(decide(dispute('lot_1', 8), state)).toEqual([]);
    expect(facts(decide(dispute('lot_1', 11), state)).slice(1)).toMatchObject([
      { type: 'DebtIncurred', debt: 'lot_1:1', credits: 3 },
    ]);
    expect(then(state, dispute('lot_1', 11)).debts).toMatchObject([{ credits: 5 }]);
    expect(then(state, dispute('lot_1', 0))).toEqual({
      ...used,
      lots: [{ ...used.lots[0], debts: 1 }],
    });
  });

  test('clawbacks end the same in whatever order they arrive', () => {
    const inquiry = dispute('lot_1', 20, { owes: false });
    const ends = [
      [inquiry, dispute('lot_1', 20)],
      [dispute('lot_1', 20), inquiry, dispute('lot_1', 20)],
      [dispute('lot_1', 5), dispute('lot_1', 0), dispute('lot_1', 20)],
    ].map((clawbacks) => then(used, ...clawbacks));
    for (const { balance } of ends) expect(balance).toEqual(ends[0]?.balance);
    expect(ends[0]?.balance).toMatchObject({ available: 0, revoked: 6, debt: 14 });
  });

  test('an inquiry freezes what is available and makes no debt, even after more is used', () => {
    const inquiry = dispute('lot_1', 20, { owes: false });
    expect(then(used, inquiry).balance).toMatchObject({ available: 0, revoked: 6, debt: 0 });
    const asked = then(held, inquiry, capture('run', 14, 5));
    expect(asked.balance).toMatchObject({ available: 0, consumed: 9, revoked: 5, debt: 0 });
    expect(then(asked, dispute('lot_1', 20)).balance.debt).toBe(9);
    expect(then(used, inquiry, dispute('lot_1', 0)).balance).toEqual(used.balance);
  });

  test('a dispute that becomes an inquiry gives back what it made a debt of', () => {
    const state = then(
      used,
      dispute('lot_1', 20),
      purchase('lot_2', 10),
      dispute('lot_1', 20, { owes: false }),
    );
    expect(state.balance).toMatchObject({ available: 10, revoked: 6, debt: 0, consumed: 14 });
    expect(state.settlements).toEqual([]);
  });

  test('a clawback is kept as asked and takes what the lot has, and the rest when a refund failed', () => {
    const asked = given(purchase('lot_1', 20), askBack('ref_1', 'lot_1'), dispute('lot_1', 15));
    expect(asked.balance).toMatchObject({ available: 0, refundPending: 20, revoked: 0, debt: 0 });
    expect(asked.lots[0]?.clawbacks).toMatchObject([{ wanted: 15, taken: 0 }]);
    const failed = decide(endRefund('ref_1', 'failed'), asked);
    expect(failed.map(({ type }) => type)).toEqual(['CashRefundFailed', 'LotRevoked']);
    expect(failed.at(-1)?.data.balance).toMatchObject({ available: 5, revoked: 15, debt: 0 });
  });

  test('a clawback wants no more than was granted, and an unknown lot is refused', () => {
    expect(then(used, dispute('lot_1', 900)).lots[0]?.clawbacks).toMatchObject([{ wanted: 20 }]);
    expect(decide(dispute('lot_1', 0), used)).toEqual([]);
    expect(refusal(dispute('lot_9', 1), used)).toMatchObject({ status: 404, code: 'unknown-lot' });
    for (const wanted of [-1, 0.5, Number.NaN])
      expect(refusal(dispute('lot_1', wanted), used).code).toBe('invalid-amount');
  });

  test('a lot has at most twenty clawbacks', () => {
    const state = then(
      used,
      ...Array.from({ length: 20 }, (_, number) => dispute('lot_1', 1, { ref: `dp_${number}` })),
    );
    expect(refusal(dispute('lot_1', 1, { ref: 'dp_x' }), state)).toMatchObject({
      status: 409,
      code: 'too-many-clawbacks',
    });
    const fewer = then(state, dispute('lot_1', 0, { ref: 'dp_3' }));
    expect(decide(dispute('lot_1', 1, { ref: 'dp_x' }), fewer)).not.toEqual([]);
  });
});

describe('disputes that are won', () => {
  test('a dispute that is won cancels what is still owed, then gives back what was revoked', () => {
    const used = given(purchase('lot_1', 20), consume(14), dispute('lot_1', 20));
    expect(facts(decide(dispute('lot_1', 0), used))).toEqual([
      {
        type: 'ClawbackSet',
        lotId: 'lot_1',
        ref: 'dp_1',
        cause: 'dispute',
        credits: 0,
        owes: true,
      },
      { type: 'DebtCancelled', debt: 'lot_1:1', lotId: 'lot_1', credits: 14, ref: 'dp_1' },
      { type: 'LotReinstated', lotId: 'lot_1', credits: 6, cause: 'dispute', ref: 'dp_1' },
    ]);
  });

  test('a dispute that is won in part gives back the difference, debts first', () => {
    const used = given(purchase('lot_1', 20), consume(14), dispute('lot_1', 20));
    expect(facts(decide(dispute('lot_1', 12), used)).slice(1)).toMatchObject([
      { type: 'DebtCancelled', credits: 8 },
    ]);
    expect(facts(decide(dispute('lot_1', 4), used)).slice(1)).toMatchObject([
      { type: 'DebtCancelled', credits: 14 },
      { type: 'LotReinstated', credits: 2 },
    ]);
  });

  test('a dispute that is won after its debt was paid undoes exactly these payments, the newest first', () => {
    const paid = given(
      purchase('lot_1', 20),
      consume(20),
      dispute('lot_1', 20),
      purchase('lot_2', 5),
      purchase('lot_3', 8),
      purchase('lot_4', 30),
    );
    expect(paid.balance).toMatchObject({ available: 23, debt: 0, consumed: 20, revoked: 20 });
    const events = decide(dispute('lot_1', 0), paid);
    expect(facts(events).slice(1)).toMatchObject([
      { type: 'DebtSettlementReversed', debt: 'lot_1:1', lotId: 'lot_4', credits: 7, ref: 'dp_1' },
      { type: 'DebtSettlementReversed', debt: 'lot_1:1', lotId: 'lot_3', credits: 8 },
      { type: 'DebtSettlementReversed', debt: 'lot_1:1', lotId: 'lot_2', credits: 5 },
    ]);
    const won = events.reduce<AccountState>(evolve, paid);
    expect(won.balance).toMatchObject({ available: 43, debt: 0, consumed: 20, revoked: 0 });
    expect(won.lots.map(({ available, consumed }) => [available, consumed])).toEqual([
      [0, 20],
      [5, 0],
      [8, 0],
      [30, 0],
    ]);
  });

  test('a dispute that is won pays the own debt of a lot that had settled, when that was disputed since', () => {
    const both = given(
      purchase('lot_1', 10),
      consume(10),
      dispute('lot_1', 10),
      purchase('lot_2', 10),
      dispute('lot_2', 10, { ref: 'dp_2' }),
    );
    expect(both.debts).toMatchObject([{ debt: 'lot_2:1', credits: 10 }]);
    const events = decide(dispute('lot_1', 0), both);
    expect(facts(events).slice(1)).toMatchObject([
      { type: 'DebtSettlementReversed', debt: 'lot_1:1', lotId: 'lot_2', credits: 10 },
      { type: 'DebtSettled', debt: 'lot_2:1', lotId: 'lot_2', credits: 10 },
    ]);
    const won = events.reduce<AccountState>(evolve, both);
    expect(won.balance).toMatchObject({ available: 0, debt: 0, consumed: 10, revoked: 10 });
    expect(then(won, dispute('lot_2', 0, { ref: 'dp_2' })).balance).toMatchObject({
      available: 10,
      revoked: 0,
    });
  });

  test('a dispute that is won undoes a whole chain of lots that paid for each other, also over several commands', () => {
    const lots = Array.from({ length: 40 }, (_, number) => `lot_${number}`);
    const chain = given(
      purchase('lot_0', 10),
      consume(10),
      ...lots.flatMap((lotId, number) => [
        dispute(lotId, 10, { ref: `dp_${number}` }),
        purchase(`lot_${number + 1}`, 10),
      ]),
    );
    expect(chain.balance).toMatchObject({ available: 0, debt: 0, consumed: 10, revoked: 400 });
    let state = chain;
    const first = dispute('lot_0', 0, { ref: 'dp_0' });
    for (let turn = 0; turn < 20; turn += 1) {
      const events = decide(first, state);
      expect(events.length).toBeLessThanOrEqual(64);
      state = events.reduce<AccountState>(evolve, state);
    }
    expect(decide(first, state)).toEqual([]);
    expect(state.balance).toMatchObject({ available: 10, debt: 0, consumed: 10, revoked: 390 });
    expect(state.lots.at(0)).toMatchObject({ consumed: 10, clawbacks: [] });
    expect(state.lots.at(-1)).toMatchObject({ available: 10, consumed: 0 });
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

describe('closed accounts', () => {
  const close: CreditCommand = { type: 'CloseAccount', reason: 'erasure' };
  const closed = given(purchase('lot_1', 40), reserve('run', 14), close);

  test('closing an account moves nothing, and a repeat does nothing', () => {
    const state = given(purchase('lot_1', 40), reserve('run', 14));
    const [event] = decide(close, state);
    expect(event).toEqual({
      type: 'AccountClosed',
      data: { reason: 'erasure', balance: state.balance },
    });
    expect(decide(close, closed)).toEqual([]);
  });

  test('closing an account without credits is recorded, too', () => {
    expect(decide(close, initialState())).toHaveLength(1);
  });

  test.each<[string, CreditCommand]>([
    ['a gift', grant('lot_2', 5)],
    ['a purchase', purchase('lot_2', 5)],
    ['a run', reserve('run_2', 14)],
    [
      'a service',
      { type: 'Consume', consumptionId: 'con_1', credits: 1, sealed: { note: 'v1.a.b.c' } },
    ],
  ])('a closed account refuses %s', (_what, command) => {
    expect(refusal(command, closed)).toMatchObject({ status: 409, code: 'account-closed' });
  });

  test('a closed account accepts the repeat of an earlier command', () => {
    expect(decide(purchase('lot_1', 40), closed)).toEqual([]);
    expect(decide(reserve('run', 14), closed)).toEqual([]);
  });

  test('a closed account lets an open run settle, either way', () => {
    expect(facts(decide(capture('run', 14, 7), closed))).toMatchObject([
      { type: 'CreditsCaptured', credits: 14 },
      { type: 'CreditsReturned', credits: 7 },
    ]);
    expect(facts(decide(release('run'), closed))).toMatchObject([{ type: 'CreditsReleased' }]);
  });

  test('a closed account lets a bank take back what was paid', () => {
    expect(facts(decide(dispute('lot_1', 10), closed)).slice(1)).toMatchObject([
      { type: 'LotRevoked', credits: 10 },
    ]);
    expect(then(closed, dispute('lot_1', 10), dispute('lot_1', 0)).balance).toEqual(closed.balance);
  });
});

describe('debts', () => {
  const used = given(
    purchase('lot_1', 10),
    reserve('run_1', 10),
    capture('run_1', 10, 0),
    purchase('lot_2', 10),
    reserve('run_2', 10),
    capture('run_2', 10, 0),
  );
  const owing = then(
    used,
    dispute('lot_2', 4),
    dispute('lot_1', 10),
    dispute('lot_2', 3, { ref: 'dp_2' }),
  );

  test('a debt is settled by the next purchase, oldest first, naming debt, lot and credits', () => {
    const events = decide(purchase('lot_3', 50), owing);
    expect(facts(events).slice(1)).toEqual([
      { type: 'DebtSettled', debt: 'lot_2:1', lotId: 'lot_3', credits: 4 },
      { type: 'DebtSettled', debt: 'lot_1:1', lotId: 'lot_3', credits: 10 },
      { type: 'DebtSettled', debt: 'lot_2:2', lotId: 'lot_3', credits: 3 },
    ]);
    const after = events.reduce<AccountState>(evolve, owing);
    expect(after.balance).toMatchObject({ available: 33, debt: 0, consumed: 20, revoked: 17 });
    expect(after.lots.at(-1)).toMatchObject({ available: 33, consumed: 17 });
  });

  test('a debt that a purchase cannot cover stays, and the rest waits for the next', () => {
    const partly = decide(purchase('lot_3', 6), owing).reduce<AccountState>(evolve, owing);
    expect(partly.balance).toMatchObject({ available: 0, debt: 11 });
    expect(partly.debts).toMatchObject([
      { debt: 'lot_1:1', credits: 8 },
      { debt: 'lot_2:2', credits: 3 },
    ]);
    const paid = decide(purchase('lot_4', 11), partly).reduce<AccountState>(evolve, partly);
    expect(paid.balance).toMatchObject({ available: 0, debt: 0 });
    expect(refusal(reserve('run_3', 1), paid).code).toBe('insufficient-credits');
  });

  test('a debt is left alone by gifts', () => {
    expect(decide(grant('lot_3', 50), owing)).toHaveLength(1);
    expect(decide(grant('lot_4', 50, { source: 'bonus' }), owing)).toHaveLength(1);
  });
});

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
    expect(then(bought, askBack('ref_1', 'lot_1')).refunds).toEqual({
      ref_1: {
        lotId: 'lot_1',
        credits: 23,
        amountMinor: 1150,
        currency: 'usd',
        status: 'pending',
        requestedAt: '2026-11-20T09:00:00.000Z',
        endedAt: null,
        clawedBack: false,
        ends: 0,
      },
    });
  });

  test('a cash refund leaves what a run holds, and other lots', () => {
    const state = then(bought, reserve('run', 10), purchase('lot_2', 5), askBack('ref_1', 'lot_1'));
    expect(state.balance).toMatchObject({ available: 5, held: 10, refundPending: 13 });
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
    const state = then(bought, purchase('lot_2', 5), askBack('ref_1', 'lot_1'));
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
    expect(decide(asked(23), then(bought, asked(23)))).toEqual([]);
    expect(refusal(asked(5), then(bought, consume(23))).code).toBe('refund-not-possible');
  });

  const owing = then(bought, purchase('lot_2', 5), consume(20), dispute('lot_1', 30));
  test.each<[string, AccountState, string]>([
    ['nothing_left', then(bought, consume(23)), 'lot_1'],
    ['nothing_left', given({ ...purchase('lot_1', 20), paidMinor: 3 }, consume(15)), 'lot_1'],
    ['pending', then(bought, askBack('ref_0', 'lot_1')), 'lot_1'],
    ['taken_back', then(bought, dispute('lot_1', 1, { owes: false })), 'lot_1'],
    ['taken_back', then(bought, dispute('lot_1', 1)), 'lot_1'],
    ['taken_back', then(bought, reserve('run', 20), bank(5)), 'lot_1'],
    ['debt', owing, 'lot_2'],
    ['free', then(bought, grant('lot_3', 5)), 'lot_3'],
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
      const state = then(bought, dispute('lot_1', 4, { ref: 'ch_1', cause }));
      expect(facts(decide(askBack('ref_1', 'lot_1'), state))).toMatchObject([
        { type: 'CashRefundRequested', credits: 19, amountMinor: 950 },
      ]);
    },
  );

  test('a cash refund is possible again once a clawback on the lot has ended', () => {
    const state = then(bought, dispute('lot_1', 5), dispute('lot_1', 0));
    expect(decide(askBack('ref_1', 'lot_1'), state)).toHaveLength(1);
  });

  test('a cash refund that is confirmed is over, and a repeat does nothing', () => {
    const asked = then(bought, askBack('ref_1', 'lot_1'));
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
    const done = then(asked, endRefund('ref_1', 'confirmed'));
    expect(decide(endRefund('ref_1', 'confirmed'), done)).toEqual([]);
    expect(refusal(endRefund('ref_9', 'failed'), done)).toMatchObject({
      status: 404,
      code: 'unknown-refund',
    });
  });

  test.each([[[]], [['confirmed' as const]]])(
    'a cash refund that fails, after %j, gives the credits back and thirty more days',
    (before) => {
      const state = then(
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
    const failed = then(bought, askBack('ref_1', 'lot_1'), endRefund('ref_1', 'failed'));
    const events = decide(endRefund('ref_1', 'confirmed'), then(failed, consume(20)));
    expect(facts(events)).toMatchObject([
      { type: 'CashRefundConfirmed', credits: 23, from: 'failed' },
      { type: 'ClawbackSet', ref: 'ref_1', cause: 'cash_refund', credits: 23, owes: true },
      { type: 'LotRevoked', credits: 3, ref: 'ref_1' },
      { type: 'DebtIncurred', credits: 20, ref: 'ref_1' },
    ]);
    const paid = events.reduce<AccountState>(evolve, then(failed, consume(20)));
    expect(paid.refunds['ref_1']).toMatchObject({ status: 'confirmed', clawedBack: true, ends: 2 });
    const undone = then(paid, endRefund('ref_1', 'failed'));
    expect(undone.balance).toEqual(then(failed, consume(20)).balance);
    expect(undone.refunds['ref_1']).toMatchObject({ status: 'failed', clawedBack: false, ends: 3 });
  });

  describe('of closed accounts', () => {
    const close: CreditCommand = { type: 'CloseAccount', reason: 'erasure' };
    const closed = then(bought, close);
    const ifClosed = { refundId: 'ref_late', requestedAt: '2026-11-25T00:00:00.000Z' };

    test('a cash refund of a closed account is requested by its erasure or an operator, never by the customer', () => {
      for (const reason of ['erasure', 'operator', 'fraud_warning'] as const)
        expect(decide(askBack('ref_1', 'lot_1', { reason }), closed)).toHaveLength(1);
      const byCustomer = askBack('ref_1', 'lot_1', { reason: 'customer' });
      expect(refusal(byCustomer, closed).code).toBe('account-closed');
    });

    test('a cash refund of a closed account ends like any other', () => {
      const asked = then(closed, askBack('ref_1', 'lot_1', { reason: 'erasure' }));
      expect(then(asked, endRefund('ref_1', 'confirmed')).balance.refunded).toBe(23);
      expect(then(asked, endRefund('ref_1', 'failed')).balance.available).toBe(23);
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
      expect(decide(late, then(closed, late))).toEqual([]);
      expect(decide(late, bought).map(({ type }) => type)).toEqual(['CreditsGranted']);
    });

    test('a cash refund of a closed account is of what is left when the late purchase had debts to settle', () => {
      const owes = given(purchase('lot_1', 10), consume(10), dispute('lot_1', 10), close);
      const after = then(owes, { ...purchase('lot_2', 30), ifClosed });
      expect(after.balance).toMatchObject({ available: 0, refundPending: 20, debt: 0 });
      expect(after.refunds['ref_late']).toMatchObject({ credits: 20, amountMinor: 1000 });
      const all = then(owes, { ...purchase('lot_2', 4), ifClosed });
      expect(all.refunds).toEqual({});
    });
  });
});

describe('jobs', () => {
  const jobsOf = (state: AccountState, command: CreditCommand) =>
    decide(command, state).flatMap((event) => reactions(event, 'credits-usr_1'));

  test('a purchase enqueues its receipt and a check of its payment, a gift nothing', () => {
    const payload = { userId: 'usr_1', lotId: 'lot_1' };
    expect(jobsOf(initialState(), purchase('lot_1', 5))).toEqual([
      { task: 'mail-receipt', payload, key: 'lot_1:receipt' },
      { task: 'check-payment', payload, key: 'lot_1:check' },
    ]);
    expect(jobsOf(initialState(), grant('lot_1', 5))).toEqual([]);
  });

  test('a refund enqueues its request to the provider, and its end a mail', () => {
    const bought = given(purchase('lot_1', 30));
    const payload = { userId: 'usr_1', refundId: 'ref_1' };
    expect(jobsOf(bought, askBack('ref_1', 'lot_1'))).toEqual([
      { task: 'send-refund', payload, key: 'ref_1:send' },
    ]);
    const asked = then(bought, askBack('ref_1', 'lot_1'));
    for (const outcome of ['confirmed', 'failed'] as const)
      expect(jobsOf(asked, endRefund('ref_1', outcome))).toEqual([
        {
          task: 'mail-refund',
          payload: { ...payload, outcome },
          key: `ref_1:mail:${outcome}`,
        },
      ]);
  });

  test('a user gets one mail when fewer than 20 credits are left', () => {
    const low = {
      task: 'mail-low-balance',
      payload: { userId: 'usr_1' },
      key: 'usr_1:low-balance',
    };
    expect(jobsOf(given(grant('lot_1', 30)), consume(10))).toEqual([]);
    expect(jobsOf(given(grant('lot_1', 30)), consume(11))).toEqual([low]);
    expect(jobsOf(given(grant('lot_1', 30), consume(11)), consume(1))).toEqual([]);
    const twoRuns = given(grant('lot_1', 30), reserve('run_1', 14), reserve('run_2', 14));
    expect(jobsOf(twoRuns, capture('run_1', 14, 0))).toEqual([low]);
    const oneLeft = then(twoRuns, capture('run_1', 14, 0));
    expect(jobsOf(oneLeft, capture('run_2', 14, 0))).toEqual([]);
  });
});

describe('the number of events of one command', () => {
  const lots = Array.from({ length: 70 }, (_, index) => `lot_${String(index).padStart(2, '0')}`);
  const used = given(
    ...lots.map((lotId) => purchase(lotId, 1)),
    reserve('run', lots.length),
    capture('run', lots.length, 0),
  );

  test('the number of events of one command stays bounded when a purchase settles many debts; the next one settles the rest', () => {
    const owing = lots.reduce(
      (state, lotId) => decide(dispute(lotId, 1), state).reduce<AccountState>(evolve, state),
      used,
    );
    const events = decide(purchase('lot_new', 100), owing);
    expect(events).toHaveLength(51);
    expect(events.at(-1)?.data.balance).toMatchObject({ available: 50, debt: 20 });
    const after = events.reduce<AccountState>(evolve, owing);
    expect(decide(purchase('lot_next', 100), after).at(-1)?.data.balance.debt).toBe(0);
  });

  test('the number of events of one command stays bounded when many lots of one run are disputed: later ones are asked to come again', () => {
    let state = given(...lots.map((lotId) => purchase(lotId, 2)), reserve('run', 140));
    for (const lotId of lots.slice(0, 30)) state = then(state, dispute(lotId, 2));
    expect(refusal(dispute('lot_40', 2), state)).toMatchObject({
      status: 409,
      code: 'clawbacks-waiting',
    });
    expect(decide(dispute('lot_03', 1), state)).not.toEqual([]);
    const settled = decide(capture('run', 140, 131), state);
    expect(settled.length).toBeLessThanOrEqual(64);
    const after = settled.reduce<AccountState>(evolve, state);
    expect(decide(dispute('lot_40', 2), after)).not.toEqual([]);
  });

  test('the number of events of one command stays bounded when a dispute is won whose debt many purchases paid', () => {
    const owing = given(purchase('lot_old', 70), consume(70), dispute('lot_old', 70));
    let state = then(owing, ...lots.map((lotId) => purchase(lotId, 1)));
    expect(state.settlements).toHaveLength(70);
    let commands = 0;
    for (;;) {
      const events = decide(dispute('lot_old', 0), state);
      if (events.length === 0) break;
      expect(events.length).toBeLessThanOrEqual(64);
      state = events.reduce<AccountState>(evolve, state);
      commands += 1;
    }
    expect(commands).toBeGreaterThan(1);
    expect(state.balance).toMatchObject({ available: 70, consumed: 70, revoked: 0, debt: 0 });
  });
});

describe('unsound accounts', () => {
  const sound = given(
    purchase('lot_1', 20),
    consume(10),
    dispute('lot_1', 15),
    purchase('lot_2', 10),
    askBack('ref_1', 'lot_2'),
    endRefund('ref_1', 'confirmed'),
    purchase('lot_3', 10),
    askBack('ref_2', 'lot_3'),
  );
  const withLot = (lotId: string, change: Partial<Lot>): AccountState => ({
    ...sound,
    lots: sound.lots.map((lot) => (lot.lotId === lotId ? { ...lot, ...change } : lot)),
  });

  test('a sound account has no faults', () => {
    expect(unsoundness(sound)).toEqual([]);
  });

  const owing = given(purchase('lot_1', 20), consume(20), dispute('lot_1', 20));
  const [lot] = owing.lots;
  const [clawback] = sound.lots[0]?.clawbacks ?? [];
  test.each<[string, AccountState]>([
    ['does not add up', withLot('lot_1', { granted: 21 })],
    ['has a negative part', withLot('lot_1', { available: -1, consumed: 1 })],
    ['holds what no run reserved', withLot('lot_1', { held: 1 })],
    ['waits for money that no refund asked for', withLot('lot_1', { cashPending: 1 })],
    ['gave back money in no refund', withLot('lot_1', { cashRefunded: 1 })],
    [
      'owes more than was consumed from it',
      { ...owing, lots: [{ ...lot!, consumed: 19, revoked: 1 }] },
    ],
    [
      'has a clawback of no possible amount',
      withLot('lot_1', { clawbacks: [{ ...clawback!, wanted: 99 }] }),
    ],
    ['has clawbacks that did not take what was taken', withLot('lot_1', { clawbacks: [] })],
    [
      'settled more than was consumed from it',
      {
        ...sound,
        settlements: [
          { debt: 'lot_1:1', debtLotId: 'lot_1', lotId: 'lot_2', credits: 9, ref: 'dp_1' },
        ],
      },
    ],
  ])('an account is unsound when a lot %s', (fault, state) => {
    expect(unsoundness(state).join('; ')).toContain(fault);
  });
});

test('a decision that would leave an unsound account is a fault, and appends nothing', () => {
  const state = given(grant('lot_1', 20), reserve('run', 14));
  const damaged = { ...state, lots: state.lots.map((lot) => ({ ...lot, held: 13 })) };
  expect(() => decide(release('run'), damaged)).toThrow('Unsound credit account');
});
