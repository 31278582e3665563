import { describe, expect, test } from 'vitest';
import { initialState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import {
  capture,
  dispute,
  facts,
  given,
  grant,
  purchase,
  refusal,
  release,
  reserve,
  andThen,
} from './commands.ts';

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
    expect(andThen(closed, dispute('lot_1', 10), dispute('lot_1', 0)).balance).toEqual(
      closed.balance,
    );
  });
});
