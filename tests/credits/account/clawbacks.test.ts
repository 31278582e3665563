import { describe, expect, test } from 'vitest';
import { evolve } from '#services/credits/account/state.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import {
  askBack,
  capture,
  consume,
  dispute,
  endRefund,
  facts,
  given,
  purchase,
  refusal,
  release,
  reserve,
  andThen,
} from './commands.ts';

describe('clawbacks', () => {
  const used = given(purchase('lot_1', 20), reserve('run', 14), capture('run', 14, 0));
  const held = given(purchase('lot_1', 14), reserve('run', 14));

  test('a clawback waits for what a run holds, without debt, so that other lots can still be used', () => {
    const state = andThen(held, purchase('lot_2', 20));
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
    const events = decide(capture('run', 14, 5), andThen(held, dispute('lot_1', 14)));
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

  test('a clawback that shrinks during a hold lets what is owed wait for the hold', () => {
    const state = given(purchase('lot_1', 20), consume(10), reserve('run', 10));
    const more = andThen(state, dispute('lot_1', 15));
    expect(more.balance).toMatchObject({ held: 10, debt: 5 });
    const less = andThen(more, dispute('lot_1', 12));
    expect(less.balance).toMatchObject({ held: 10, debt: 2 });
    const waiting = andThen(less, dispute('lot_1', 4));
    expect(waiting.balance).toMatchObject({ held: 10, debt: 0, revoked: 0 });
    expect(andThen(waiting, release('run')).balance).toMatchObject({ available: 6, revoked: 4 });
  });

  test('the oldest of several clawbacks get what comes back', () => {
    const state = andThen(
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
    expect(andThen(state, capture('run', 15, 0)).debts).toMatchObject([
      { debt: 'lot_1:1', ref: 'dp_2', credits: 10 },
      { debt: 'lot_1:2', ref: 'dp_1', credits: 10 },
    ]);
  });

  test('a clawback that is repeated does nothing, and with another amount moves by the difference', () => {
    const state = andThen(used, dispute('lot_1', 8));
    expect(decide(dispute('lot_1', 8), state)).toEqual([]);
    expect(facts(decide(dispute('lot_1', 11), state)).slice(1)).toMatchObject([
      { type: 'DebtIncurred', debt: 'lot_1:1', credits: 3 },
    ]);
    expect(andThen(state, dispute('lot_1', 11)).debts).toMatchObject([{ credits: 5 }]);
    expect(andThen(state, dispute('lot_1', 0))).toEqual({
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
    ].map((clawbacks) => andThen(used, ...clawbacks));
    for (const { balance } of ends) expect(balance).toEqual(ends[0]?.balance);
    expect(ends[0]?.balance).toMatchObject({ available: 0, revoked: 6, debt: 14 });
  });

  test('an inquiry freezes what is available and makes no debt, even after more is used', () => {
    const inquiry = dispute('lot_1', 20, { owes: false });
    expect(andThen(used, inquiry).balance).toMatchObject({ available: 0, revoked: 6, debt: 0 });
    const asked = andThen(held, inquiry, capture('run', 14, 5));
    expect(asked.balance).toMatchObject({ available: 0, consumed: 9, revoked: 5, debt: 0 });
    expect(andThen(asked, dispute('lot_1', 20)).balance.debt).toBe(9);
    expect(andThen(used, inquiry, dispute('lot_1', 0)).balance).toEqual(used.balance);
  });

  test('a dispute that becomes an inquiry gives back what it made a debt of', () => {
    const state = andThen(
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
    expect(andThen(used, dispute('lot_1', 900)).lots[0]?.clawbacks).toMatchObject([{ wanted: 20 }]);
    expect(decide(dispute('lot_1', 0), used)).toEqual([]);
    expect(refusal(dispute('lot_9', 1), used)).toMatchObject({ status: 404, code: 'unknown-lot' });
    for (const wanted of [-1, 0.5, Number.NaN])
      expect(refusal(dispute('lot_1', wanted), used).code).toBe('invalid-amount');
  });

  test('a lot has at most twenty clawbacks', () => {
    const state = andThen(
      used,
      ...Array.from({ length: 20 }, (_, number) => dispute('lot_1', 1, { ref: `dp_${number}` })),
    );
    expect(refusal(dispute('lot_1', 1, { ref: 'dp_x' }), state)).toMatchObject({
      status: 409,
      code: 'too-many-clawbacks',
    });
    const fewer = andThen(state, dispute('lot_1', 0, { ref: 'dp_3' }));
    expect(decide(dispute('lot_1', 1, { ref: 'dp_x' }), fewer)).not.toEqual([]);
  });
});
