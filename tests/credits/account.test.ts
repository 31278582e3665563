import { describe, expect, test } from 'vitest';
import { decide, evolve, initialState } from '#services/credits/account.ts';
import type { AccountState, CreditCommand, CreditEvent } from '#services/credits/account.ts';
import { reactions } from '#services/credits/reactions.ts';
import { Problem } from '#services/platform/problem.ts';

function given(...commands: CreditCommand[]): AccountState {
  return commands.reduce(
    (state, command) => decide(command, state).reduce<AccountState>(evolve, state),
    initialState(),
  );
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

function dispute(lotId: string, credits: number): CreditCommand {
  return { type: 'Revoke', lotId, credits, cause: 'dispute' };
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

describe('granting', () => {
  test('adds a lot, with the balance after it on the event', () => {
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
      revoked: 0,
    });
  });

  test('carries a sealed note as it is, and no field for a note that was not written', () => {
    const sealed = { note: 'v1.key.nonce.text' };
    expect(decide(grant('lot_1', 5, { sealed }), initialState())[0]?.data).toHaveProperty(
      'sealed',
      sealed,
    );
    expect(decide(grant('lot_1', 5), initialState())[0]?.data).not.toHaveProperty('sealed');
  });

  test('of the same lot or the same payment again does nothing', () => {
    const state = given(purchase('lot_1', 50));
    expect(decide(purchase('lot_1', 50), state)).toEqual([]);
    expect(decide({ ...purchase('lot_2', 50), paymentKey: 'pi:lot_1' }, state)).toEqual([]);
  });

  test('of a known payment with other figures is refused', () => {
    const state = given(purchase('lot_1', 50));
    expect(refusal(purchase('lot_1', 51), state)).toMatchObject({
      status: 409,
      code: 'lot-exists',
    });
    expect(refusal({ ...purchase('lot_2', 125), paymentKey: 'pi:lot_1' }, state)).toMatchObject({
      code: 'lot-exists',
    });
  });

  test('needs a payment key for a purchase and for nothing else', () => {
    expect(refusal({ ...purchase('lot_1', 5), paymentKey: null }, initialState()).code).toBe(
      'payment-key',
    );
    expect(refusal({ ...grant('lot_1', 5), paymentKey: 'pi:1' }, initialState()).code).toBe(
      'payment-key',
    );
  });

  test.each([0, -5, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER + 1])(
    'of %s credits is refused',
    (credits) => {
      expect(refusal(grant('lot_1', credits), initialState()).code).toBe('invalid-amount');
    },
  );

  test.each([-1, 0.5, Number.MAX_SAFE_INTEGER + 1])(
    'for a payment of %s is refused',
    (paidMinor) => {
      expect(refusal({ ...purchase('lot_1', 5), paidMinor }, initialState()).code).toBe(
        'invalid-amount',
      );
    },
  );

  test('for a payment of nothing, by a coupon, is a purchase', () => {
    expect(decide({ ...purchase('lot_1', 5), paidMinor: 0 }, initialState())).toHaveLength(1);
  });

  test('never lets an account pass the largest safe integer', () => {
    const state = given(grant('lot_1', Number.MAX_SAFE_INTEGER - 1));
    expect(refusal(grant('lot_2', 2), state).code).toBe('invalid-amount');
    expect(decide(grant('lot_2', 1), state)).toHaveLength(1);
  });
});

describe('reserving', () => {
  test('draws bonus, then other, then paid; the oldest first, then by id', () => {
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

  test('says in the specified words how many credits are missing', () => {
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

  test('does not count what another run holds', () => {
    const state = given(grant('lot_1', 20), reserve('run_1', 14));
    expect(refusal(reserve('run_2', 14), state).extras.members).toMatchObject({
      current_balance: 6,
      shortfall: 8,
    });
  });

  test.each([0, -14, 14.5, Number.MAX_SAFE_INTEGER + 1])('%s credits is refused', (credits) => {
    expect(refusal(reserve('run', credits), given(grant('lot_1', 20))).code).toBe('invalid-amount');
  });

  test('for a run that is held already does nothing, even when it could no longer be paid', () => {
    const state = given(grant('lot_1', 14), reserve('run', 14));
    expect(decide(reserve('run', 14), state)).toEqual([]);
  });

  test('is refused while there is debt, whatever is available', () => {
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

  test('starts the run by a job in the same transaction', () => {
    const [event] = decide(reserve('opt_1', 5), given(grant('lot_1', 10)));
    if (!event) throw new Error('Nothing was reserved');
    expect(reactions(event)).toEqual([
      { task: 'start-run', payload: { runId: 'opt_1' }, key: 'opt_1:start' },
    ]);
  });
});

describe('the monthly limit', () => {
  const bonus = grant('lot_b', 100, { source: 'bonus' });

  test('blocks what only bonus credits could pay for', () => {
    const state = given(bonus, reserve('run_1', 10, 1));
    expect(refusal(reserve('run_2', 10, 1), state)).toMatchObject({
      status: 403,
      code: 'monthly-limit',
    });
  });

  test('leaves bonus lots out and lets other credits pay', () => {
    const state = given(bonus, purchase('lot_p', 20), reserve('run_1', 10, 1));
    const [event] = decide(reserve('run_2', 10, 1), state);
    expect(event?.data).toMatchObject({
      allocations: [{ lotId: 'lot_p', credits: 10 }],
      bonusMonth: null,
    });
  });

  test('is about credits when all of them together would not do', () => {
    const state = given(bonus, reserve('run_1', 10, 1));
    expect(refusal(reserve('run_2', 91, 1), state).code).toBe('insufficient-credits');
  });

  test('is given back by a release and kept by a capture', () => {
    const held = given(bonus, reserve('run_1', 10, 1));
    const after = (command: CreditCommand) =>
      decide(command, held).reduce<AccountState>(evolve, held);
    expect(after(release('run_1')).month).toEqual({ month: '2026-11', count: 0 });
    expect(after(capture('run_1', 10, 5)).month).toEqual({ month: '2026-11', count: 1 });
  });

  test('begins anew with the month, and a release of last month changes nothing in this one', () => {
    const state = given(bonus, reserve('run_1', 10, 1), reserve('run_2', 10, 1, '2026-12'));
    expect(state.month).toEqual({ month: '2026-12', count: 1 });
    const released = decide(release('run_1'), state).reduce<AccountState>(evolve, state);
    expect(released.month).toEqual({ month: '2026-12', count: 1 });
  });

  test('cannot be escaped by a clock that lags behind', () => {
    const state = given(bonus, reserve('run_1', 10, 1, '2026-12'));
    expect(refusal(reserve('run_2', 10, 1, '2026-11'), state).code).toBe('monthly-limit');
  });

  test('of −1 is no limit', () => {
    const state = given(bonus, ...['a', 'b', 'c'].map((run) => reserve(run, 10, -1)));
    expect(decide(reserve('d', 10, -1), state)).toHaveLength(1);
  });
});

describe('settling', () => {
  const held = given(
    purchase('lot_p', 10),
    grant('lot_b', 8, { source: 'bonus' }),
    reserve('run', 14),
  );

  test('captures the price and returns, in reverse draw order, in one append', () => {
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

  test('without anything to return is one event', () => {
    expect(decide(capture('run', 14, 0), held).map(({ type }) => type)).toEqual([
      'CreditsCaptured',
    ]);
  });

  test('releases everything into the lots it came from, which keep their age', () => {
    const state = decide(release('run'), held).reduce<AccountState>(evolve, held);
    expect(state.lots).toMatchObject([
      { lotId: 'lot_p', available: 10, held: 0, consumed: 0 },
      { lotId: 'lot_b', available: 8, held: 0, consumed: 0 },
    ]);
    expect(state.balance).toMatchObject({ available: 18, held: 0, consumed: 0 });
  });

  test('without a reservation, or a second time, does nothing', () => {
    expect(decide(release('unknown'), held)).toEqual([]);
    const settled = decide(capture('run', 14, 0), held).reduce<AccountState>(evolve, held);
    expect(decide(capture('run', 14, 7), settled)).toEqual([]);
  });

  test.each([
    ['more than is held', 15, 0],
    ['less than is held', 13, 0],
    ['and returning more than the capture', 14, 15],
  ])('%s is refused', (_, credits, refund) => {
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
  ])('a capture of %s with a refund of %s is no amount', (credits, refund) => {
    expect(refusal(capture('run', credits, refund), held).code).toBe('invalid-amount');
  });
});

describe('revoking', () => {
  test('takes what is available in that lot and leaves the others alone', () => {
    const state = given(purchase('lot_1', 20), purchase('lot_2', 20));
    const after = decide(dispute('lot_1', 20), state).reduce<AccountState>(evolve, state);
    expect(after.balance).toMatchObject({ available: 20, revoked: 20, debt: 0 });
    expect(after.lots).toMatchObject([
      { available: 0, revoked: 20 },
      { available: 20, revoked: 0 },
    ]);
  });

  test('waits for what a run holds, without debt, so that other lots can still be used', () => {
    const state = given(purchase('lot_1', 14), reserve('run', 14), purchase('lot_2', 20));
    const events = decide(dispute('lot_1', 14), state);
    expect(facts(events)).toEqual([
      { type: 'RevocationDeferred', lotId: 'lot_1', credits: 14, cause: 'dispute' },
    ]);
    const after = events.reduce<AccountState>(evolve, state);
    expect(after.balance).toMatchObject({ available: 20, held: 14, debt: 0, revoked: 0 });
    expect(decide(reserve('run_2', 14), after)).toHaveLength(1);
  });

  test('takes at once what flows back, and what was captured becomes debt', () => {
    const state = given(purchase('lot_1', 14), reserve('run', 14), dispute('lot_1', 14));
    const events = decide(capture('run', 14, 5), state);
    expect(facts(events).slice(2)).toEqual([
      { type: 'LotRevoked', lotId: 'lot_1', credits: 5, cause: 'dispute' },
      { type: 'DebtIncurred', lotId: 'lot_1', credits: 9, cause: 'dispute' },
    ]);
    expect(events.at(-1)?.data.balance).toMatchObject({
      available: 0,
      held: 0,
      consumed: 9,
      revoked: 5,
      debt: 9,
    });
  });

  test('takes everything back when the run is released', () => {
    const state = given(purchase('lot_1', 14), reserve('run', 14), dispute('lot_1', 14));
    const events = decide(release('run'), state);
    expect(facts(events)[1]).toEqual({
      type: 'LotRevoked',
      lotId: 'lot_1',
      credits: 14,
      cause: 'dispute',
    });
    expect(events.at(-1)?.data.balance).toMatchObject({ available: 0, revoked: 14, debt: 0 });
  });

  test('calls nothing a debt that another hold of the lot can still bring', () => {
    const state = given(
      purchase('lot_1', 28),
      reserve('run_1', 14),
      reserve('run_2', 14),
      dispute('lot_1', 10),
    );
    const settled = decide(capture('run_1', 14, 0), state);
    expect(settled.map(({ type }) => type)).toEqual(['CreditsCaptured']);
    const after = settled.reduce<AccountState>(evolve, state);
    const released = decide(release('run_2'), after);
    expect(released.at(-1)?.data.balance).toMatchObject({ available: 4, revoked: 10, debt: 0 });
  });

  test('keeps apart why it waits, and takes the older cause first', () => {
    const state = given(
      purchase('lot_1', 14),
      reserve('run', 14),
      dispute('lot_1', 3),
      { type: 'Revoke', lotId: 'lot_1', credits: 4, cause: 'cash_refund' },
      dispute('lot_1', 2),
    );
    expect(state.lots[0]?.waiting).toEqual([
      { cause: 'dispute', credits: 5 },
      { cause: 'cash_refund', credits: 4 },
    ]);
    expect(facts(decide(capture('run', 14, 6), state)).slice(2)).toEqual([
      { type: 'LotRevoked', lotId: 'lot_1', credits: 5, cause: 'dispute' },
      { type: 'LotRevoked', lotId: 'lot_1', credits: 1, cause: 'cash_refund' },
      { type: 'DebtIncurred', lotId: 'lot_1', credits: 3, cause: 'cash_refund' },
    ]);
  });

  test('makes a debt of what had been consumed', () => {
    const state = given(purchase('lot_1', 20), reserve('run', 14), capture('run', 14, 0));
    expect(facts(decide(dispute('lot_1', 20), state))).toEqual([
      { type: 'LotRevoked', lotId: 'lot_1', credits: 6, cause: 'dispute' },
      { type: 'DebtIncurred', lotId: 'lot_1', credits: 14, cause: 'dispute' },
    ]);
  });

  test('of more than the lot still has to give is refused', () => {
    const state = given(purchase('lot_1', 20), dispute('lot_1', 15));
    expect(refusal(dispute('lot_1', 6), state)).toMatchObject({
      status: 409,
      code: 'revocation-too-large',
    });
    expect(decide(dispute('lot_1', 5), state)).toHaveLength(1);
    expect(refusal(dispute('lot_9', 1), state)).toMatchObject({ status: 404, code: 'unknown-lot' });
  });
});

describe('debt', () => {
  const used = given(
    purchase('lot_1', 10),
    reserve('run_1', 10),
    capture('run_1', 10, 0),
    purchase('lot_2', 10),
    reserve('run_2', 10),
    capture('run_2', 10, 0),
  );
  const owing = [dispute('lot_2', 4), dispute('lot_1', 10), dispute('lot_2', 3)].reduce(
    (state, command) => decide(command, state).reduce<AccountState>(evolve, state),
    used,
  );

  test('is settled by the next purchase, oldest first, naming debt, lot and credits', () => {
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

  test('that a purchase cannot cover stays, and the rest waits for the next', () => {
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

  test('is left alone by gifts', () => {
    expect(decide(grant('lot_3', 50), owing)).toHaveLength(1);
    expect(decide(grant('lot_4', 50, { source: 'bonus' }), owing)).toHaveLength(1);
  });
});

describe('the number of events of one command', () => {
  const lots = Array.from({ length: 70 }, (_, index) => `lot_${String(index).padStart(2, '0')}`);
  const used = given(
    ...lots.map((lotId) => purchase(lotId, 1)),
    reserve('run', lots.length),
    capture('run', lots.length, 0),
  );

  test('stays bounded when a purchase settles many debts; the next one settles the rest', () => {
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

  test('stays bounded when many lots of one run are disputed: later ones are asked to come again', () => {
    let state = given(...lots.map((lotId) => purchase(lotId, 2)), reserve('run', 140));
    for (const lotId of lots.slice(0, 12))
      state = decide(dispute(lotId, 2), state).reduce<AccountState>(evolve, state);
    expect(refusal(dispute('lot_20', 2), state)).toMatchObject({
      status: 409,
      code: 'revocations-waiting',
    });
    const settled = decide(capture('run', 140, 131), state);
    expect(settled.length).toBeLessThanOrEqual(64);
    const after = settled.reduce<AccountState>(evolve, state);
    expect(decide(dispute('lot_20', 2), after)).not.toEqual([]);
  });
});

test('a decision that would leave an unsound account is a fault, and appends nothing', () => {
  const state = given(grant('lot_1', 20), reserve('run', 14));
  const damaged = { ...state, lots: state.lots.map((lot) => ({ ...lot, held: 13 })) };
  expect(() => decide(release('run'), damaged)).toThrow('Unsound credit account');
});
