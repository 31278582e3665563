import { describe, expect, test } from 'vitest';
import { initialState } from '#services/credits/account/state.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { reactions } from '#services/credits/account/reactions.ts';
import {
  askBack,
  capture,
  consume,
  endRefund,
  given,
  grant,
  purchase,
  reserve,
  andThen,
} from './commands.ts';

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
    const asked = andThen(bought, askBack('ref_1', 'lot_1'));
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
    const oneLeft = andThen(twoRuns, capture('run_1', 14, 0));
    expect(jobsOf(oneLeft, capture('run_2', 14, 0))).toEqual([]);
  });

  test('a reservation enqueues the start of its run', () => {
    const [event] = decide(reserve('opt_1', 5), given(grant('lot_1', 10)));
    if (!event) throw new Error('Nothing was reserved');
    expect(reactions(event, 'credits-usr_1')).toEqual([
      { task: 'start-run', payload: { runId: 'opt_1' }, key: 'opt_1:start' },
    ]);
  });
});
