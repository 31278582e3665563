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
  reserve,
  andThen,
} from './commands.ts';

describe('debts', () => {
  const used = given(
    purchase('lot_1', 10),
    reserve('run_1', 10),
    capture('run_1', 10, 0),
    purchase('lot_2', 10),
    reserve('run_2', 10),
    capture('run_2', 10, 0),
  );
  const owing = andThen(
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

  test('a debt is left alone by gifts', () => {
    expect(decide(grant('lot_3', 50), owing)).toHaveLength(1);
    expect(decide(grant('lot_4', 50, { source: 'bonus' }), owing)).toHaveLength(1);
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
    expect(andThen(won, dispute('lot_2', 0, { ref: 'dp_2' })).balance).toMatchObject({
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
    for (const lotId of lots.slice(0, 30)) state = andThen(state, dispute(lotId, 2));
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
    let state = andThen(owing, ...lots.map((lotId) => purchase(lotId, 1)));
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
