import { describe, expect, it } from 'vitest';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import type { Usage } from '#services/optimizations/contract/panel.ts';
import { MonthlyUsage } from '#web/features/dashboard/usage-card.tsx';
import { nearnessOf } from '#web/features/dashboard/usage.ts';
import { agreementWords, runCredits } from '#web/features/runs/words.ts';
import { usage } from '#tests/web/support/member-site.ts';
import { wordsOf } from '#tests/web/support/rendered.tsx';
import { sessionOf } from '#tests/web/support/site.ts';

describe('the monthly usage', () => {
  it('the usage turns orange at 75 % and warns at 90 %, with the box from 80 %', () => {
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

  it('the usage has no warning without a limit', () => {
    expect(nearnessOf({ percentage: null, can_block: false })).toEqual({
      level: 'calm',
      isApproaching: false,
    });
  });

  it('the usage has no warning when the limit cannot block a run', () => {
    expect(nearnessOf({ percentage: 100, can_block: false })).toEqual({
      level: 'calm',
      isApproaching: false,
    });
  });

  const cardOf = (change: Partial<Usage>): string =>
    wordsOf(<MonthlyUsage user={sessionOf().user} usage={{ ...usage, ...change }} />);

  it('the usage card warns from 80 % in the specified words, and says what is blocked', () => {
    const words = cardOf({ current_month: 9, bonus_used: 4, percentage: 80, can_block: true });
    expect(words).toMatch(/^ 4 of 5 optimizations Free Plan/);
    expect(words).toContain('Approaching Usage Limit');
    expect(words).toContain('9 optimizations this month, 4 of them with bonus credits.');
    expect(words).toContain(
      "You've used 80% of your monthly optimization limit. Consider upgrading to continue optimizing.",
    );
    expect(words).toContain('The limit only blocks runs that bonus credits would pay for.');
  });

  it('the usage card does not warn when the limit cannot block a run', () => {
    const words = cardOf({ bonus_used: 5, percentage: 100, can_block: false });
    expect(words).not.toMatch(/Consider upgrading|nearly used up/);
  });

  it('the usage card says Unlimited and has no bar without a limit', () => {
    const words = cardOf({ current_month: 400, limit: -1, percentage: null });
    expect(words).toContain('400 optimizations, Unlimited');
    expect(words).not.toMatch(/%|Approaching Usage Limit/);
  });
});

describe('a row of a run', () => {
  const credits = { price: 14, reserved: 0, charged: null, refunded: null, settlement: 'none' };
  const of = (status: OptimizationSummary['status'], change: object = {}) =>
    runCredits({
      status,
      credits: { ...credits, ...change } as OptimizationSummary['credits'],
    });

  it('a row says what is asked, held, charged and returned', () => {
    expect(of('pending')).toBe('14 credits when started');
    expect(of('processing')).toBe('14 credits reserved');
    expect(of('completed', { charged: 14, refunded: 0 })).toBe('14 credits');
    expect(of('failed', { charged: 7, refunded: 7 })).toBe('7 of 14 credits, 7 returned');
    expect(of('failed')).toBe('nothing charged');
    expect(of('cancelled', { charged: 0, refunded: 0 })).toBe('nothing charged');
  });

  it('a row names the agreement with its word, and nothing without a score', () => {
    expect([92, 60, 0, null].map(agreementWords)).toEqual([
      'Agreement 92, strong',
      'Agreement 60, majority',
      'Agreement 0, split',
      null,
    ]);
  });
});
