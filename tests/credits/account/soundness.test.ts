import { describe, expect, test } from 'vitest';
import type { AccountState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import { unsoundness } from '#services/credits/account/soundness.ts';
import {
  askBack,
  consume,
  dispute,
  endRefund,
  given,
  grant,
  purchase,
  release,
  reserve,
} from './commands.ts';

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
