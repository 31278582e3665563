import { describe, expect, it } from 'vitest';
import type { OptimizationSummary } from '#services/optimizations/contract.ts';
import { nearnessOf } from '#web/features/dashboard/usage.ts';
import { agreementWords, runCredits } from '#web/features/runs/words.ts';

describe('the monthly usage', () => {
  it('turns orange at 75 % and warns at 90 %, with the box from 80 %', () => {
    const seen = [74, 75, 79, 80, 89, 90, 100].map((percentage) =>
      nearnessOf({ percentage, can_block: true }),
    );
    expect(seen.map(({ level }) => level)).toEqual([
      'calm',
      'attention',
      'attention',
      'attention',
      'attention',
      'warning',
      'warning',
    ]);
    expect(seen.map(({ isApproaching }) => isApproaching)).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
      true,
    ]);
  });

  it('has no warning without a limit', () => {
    expect(nearnessOf({ percentage: null, can_block: false })).toEqual({
      level: 'calm',
      isApproaching: false,
    });
  });

  it('has no warning for a person whose runs the limit cannot block', () => {
    expect(nearnessOf({ percentage: 100, can_block: false })).toEqual({
      level: 'calm',
      isApproaching: false,
    });
  });
});

describe('a row of a run', () => {
  const credits = { price: 14, reserved: 0, charged: null, refunded: null, settlement: 'none' };
  const of = (status: OptimizationSummary['status'], change: object = {}) =>
    runCredits({
      status,
      credits: { ...credits, ...change } as OptimizationSummary['credits'],
    });

  it('says what is asked, held, charged and returned', () => {
    expect(of('pending')).toBe('14 credits when started');
    expect(of('processing')).toBe('14 credits reserved');
    expect(of('completed', { charged: 14, refunded: 0 })).toBe('14 credits');
    expect(of('failed', { charged: 7, refunded: 7 })).toBe('7 of 14 credits, 7 returned');
    expect(of('failed')).toBe('nothing charged');
    expect(of('cancelled', { charged: 0, refunded: 0 })).toBe('nothing charged');
  });

  it('says the agreement with its word, and nothing before there is one', () => {
    expect([92, 60, 0, null].map(agreementWords)).toEqual([
      'Agreement 92, strong',
      'Agreement 60, majority',
      'Agreement 0, split',
      null,
    ]);
  });
});
