import { describe, expect, it, vi } from 'vitest';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import type { Usage } from '#services/optimizations/contract/panel.ts';
import { MonthlyUsage } from '#web/features/dashboard/usage-card.tsx';
import { communityRows, standingWords } from '#web/features/dashboard/elite/community-words.ts';
import { metricsOf } from '#web/features/dashboard/elite/metrics.ts';
import { greeting } from '#web/features/dashboard/greeting.ts';
import { nearnessOf, successTrend } from '#web/features/dashboard/usage.ts';
import { viewOf } from '#web/features/dashboard/view.ts';
import { agreementWords } from '#web/features/runs/words.ts';
import { runCredits } from '#services/optimizations/reading/words/money.ts';
import { stats, usage } from '#tests/web/support/member-site.ts';
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

  const cardOf = (change: Partial<Usage>, isGranted = false): string =>
    wordsOf(
      <MonthlyUsage
        user={sessionOf().user}
        usage={{ ...usage, ...change }}
        isGranted={isGranted}
      />,
    );

  it('the usage card says when a tier comes without a subscription', () => {
    expect(cardOf({}, true)).toContain('Granted to your account. You have no subscription.');
    expect(cardOf({})).not.toContain('subscription');
  });

  it('the usage card warns from 80 % in the specified words, and says what is blocked', () => {
    const words = cardOf({ current_month: 9, bonus_used: 4, percentage: 80, can_block: true });
    expect(words).toMatch(/^ 4 of 5 optimizations on bonus credits Free Plan/);
    expect(words).toContain('Approaching Usage Limit');
    expect(words).toContain(
      'You started 9 optimizations this month. Only those on bonus credits count toward the limit',
    );
    expect(words).toContain(
      "You've used 80% of your monthly optimization limit. Consider upgrading to continue optimizing.",
    );
    expect(words).toContain('others are never blocked. Resets on');
  });

  it('the usage card does not warn when the limit cannot block a run', () => {
    const words = cardOf({ bonus_used: 5, percentage: 100, can_block: false });
    expect(words).not.toMatch(/Consider upgrading|almost used up/);
  });

  it('the usage card says what a plan brings, until the operator claims more', () => {
    expect(cardOf({})).toContain(
      'A plan adds credits every month and raises the limit of 5 optimizations with bonus credits.',
    );
    vi.stubEnv('SHOWS_PRO_CLAIM', 'true');
    expect(cardOf({})).toContain(
      'Get 10x more optimizations and unlock advanced features with Pro.',
    );
    vi.unstubAllEnvs();
  });

  it('the usage card says Unlimited and has no bar without a limit', () => {
    const words = cardOf({ current_month: 400, limit: -1, percentage: null });
    expect(words).toContain('400 optimizations, Unlimited');
    expect(words).not.toMatch(/%|Approaching Usage Limit/);
  });
});

describe('which dashboard is shown', () => {
  const viewer = {
    subscription_tier: 'free',
    email: 'nobody',
    preferred_dashboard: null,
  } as const;

  it.each([
    ['a free user without an address', viewer, 'standard'],
    ['an address', { ...viewer, email: 'ada@example.com' }, 'elite'],
    ['the scale tier', { ...viewer, subscription_tier: 'scale' }, 'elite'],
    ['the pro tier alone', { ...viewer, subscription_tier: 'pro' }, 'standard'],
  ] as const)('the first view of %s is decided by the rule', (_, user, view) => {
    expect(viewOf(user)).toBe(view);
  });

  it('a stored choice comes before the rule', () => {
    const elite = { ...viewer, email: 'ada@example.com' };
    expect(viewOf({ ...elite, preferred_dashboard: 'standard' })).toBe('standard');
    expect(viewOf({ ...viewer, preferred_dashboard: 'elite' })).toBe('elite');
  });
});

describe('the greeting', () => {
  it.each([
    [0, 'Good morning'],
    [11, 'Good morning'],
    [12, 'Good afternoon'],
    [17, 'Good afternoon'],
    [18, 'Good evening'],
    [23, 'Good evening'],
  ])('at %i o’clock the greeting is %s', (hour, words) => {
    const now = new Date(2026, 10, 20, hour, 59);
    expect(greeting('Ada Example', now)).toBe(`${words}, Ada`);
    expect(greeting('  ', now)).toBe(`${words}, there`);
  });
});

describe('the figures of the elite dashboard', () => {
  const enough = {
    ...stats,
    success_rate: 0.5,
    average_minutes: 5,
    timed_optimizations: 3,
    average_agreement: 82.4,
    scored_optimizations: 3,
    models_total: 7,
  };

  it('the figures name their own arithmetic', () => {
    expect(metricsOf(enough, 'en-US')).toMatchObject([
      {
        label: 'Speed',
        value: '96x',
        formula: expect.stringContaining(
          '480 minutes (an 8-hour day) ÷ 5 minutes, the average of your 3 completed runs = 96.',
        ) as string,
      },
      {
        label: 'Impossibility Index',
        value: '64',
        formula: 'Success rate 50 + 2 × 7 different models that answered you = 64, 100 at most.',
      },
      { label: 'Average Agreement', value: '82', detail: 'of 100, over 3 completed runs' },
      { label: 'Decisions', value: '2' },
    ]);
  });

  it('the speed comes with the third run, and no figure is invented before the first', () => {
    const labels = metricsOf({ ...enough, timed_optimizations: 2 }).map(({ label }) => label);
    expect(labels).not.toContain('Speed');
    const none = { ...enough, success_rate: null, average_agreement: null, timed_optimizations: 0 };
    expect(metricsOf(none).map(({ value }) => value)).toEqual(['—', '—', '2']);
  });

  it('a success rate goes well above 0.8, not at 0.8', () => {
    expect([0.8, 0.81, 1].map(successTrend)).toEqual(['', ' Going well.', ' Going well.']);
  });
});

describe('the figures of all who share', () => {
  const group = { contributors: 20, agreement: 65, success_rate: 0.9 };

  it('everyone comes first, and an unknown figure is left out', () => {
    const rows = communityRows({
      everyone: group,
      groups: [{ challenge_type: 'marketing', ...group, agreement: null }],
    });
    expect(rows).toMatchObject([
      { name: 'All questions', facts: ['20+ people', 'agreement 65', 'success 90%'] },
      { name: 'Marketing', facts: ['20+ people', 'success 90%'] },
    ]);
    expect(communityRows({ everyone: null, groups: [] })).toEqual([]);
  });

  it('a standing is a share of the people who share', () => {
    expect(standingWords({ standing: null })).toBeNull();
    expect(standingWords({ standing: { above_percent: 60, contributors: 140 } })).toBe(
      'Your impossibility index is above that of 60% of 140+ people who share.',
    );
    expect(standingWords({ standing: { above_percent: 0, contributors: 100 } })).toContain(
      'in the lowest tenth',
    );
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
    expect(of('pending')).toBe('14 credits to start');
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
