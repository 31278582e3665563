import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OptimizationSummary } from '#services/optimizations/contract.ts';
import { nextMonth, usageOf } from '#web/features/dashboard/usage.ts';
import { agreementWords, runCredits, successRate } from '#web/features/runs/words.ts';

const used = (optimizations_used: number, optimizations_limit: number) =>
  usageOf({ optimizations_used, optimizations_limit });

describe('the monthly usage', () => {
  it('turns orange at 75 % and warns at 90 %, with the box from 80 %', () => {
    const seen = [74, 75, 79, 80, 89, 90, 140].map((count) => used(count, 100));
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

  it('has no share and no warning without a limit', () => {
    expect(used(4000, -1)).toEqual({
      used: 4000,
      limit: null,
      percent: null,
      level: 'calm',
      isApproaching: false,
    });
  });

  it('is used up where the limit is nought', () => {
    expect(used(0, 0)).toMatchObject({ percent: 100, level: 'warning' });
  });

  it('says 100 % only when nothing is left', () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.integer({ min: 1, max: 999 }), (count, limit) => {
        const { percent } = used(count, limit);
        return percent !== null && percent >= 100 === count >= limit;
      }),
    );
  });

  it('begins anew with the next UTC month', () => {
    expect(nextMonth(new Date('2026-12-31T23:59:59.999Z')).toISOString()).toBe(
      '2027-01-01T00:00:00.000Z',
    );
  });
});

describe('the success rate', () => {
  const runs = (...statuses: OptimizationSummary['status'][]) =>
    statuses.map((status) => ({ status }));

  it('is the share of completed among completed and failed runs', () => {
    expect(
      successRate(runs('completed', 'failed', 'completed', 'cancelled', 'processing', 'pending')),
    ).toEqual({ completed: 2, ended: 3, rate: 2 / 3 });
  });

  it('is unknown, and not nought, before anything has ended', () => {
    expect(successRate(runs('pending', 'cancelled')).rate).toBeNull();
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
    expect(of('failed', { charged: 7, refunded: 7 })).toBe('7 credits, 7 returned');
    expect(of('completed', { charged: 1, refunded: 1 })).toBe('1 credit, 1 returned');
    expect(of('failed')).toBe('nothing charged');
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
