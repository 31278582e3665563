import { describe, expect, test } from 'vitest';
import * as v from 'valibot';
import type { BusinessType, RevenueLevel } from '#services/onboarding/audit.ts';
import { challengeIds, challenges, factLines } from '#services/onboarding/challenge-list.ts';
import type { Challenge } from '#services/onboarding/challenge-list.ts';
import { fitOf, matchChallenges, revenueMidpoint } from '#services/onboarding/challenges.ts';
import { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';

const first = challenges[0]!;
const made = (change: Partial<Challenge>): Challenge => ({
  ...first,
  revenueMin: 500_000,
  revenueMax: 10_000_000,
  businessType: ['other'],
  ...change,
});
const consulting = { revenueLevel: '1m-3m', businessType: 'consulting' } as const;

describe('matching', () => {
  test.each<[RevenueLevel | null, number]>([
    ['500k-1m', 750_000],
    ['1m-3m', 2_000_000],
    ['3m-7m', 5_000_000],
    ['7m+', 10_000_000],
    [null, 500_000],
  ])('the revenue of %s counts as $%i', (level, midpoint) => {
    expect(revenueMidpoint(level)).toBe(midpoint);
  });

  test.each<[RevenueLevel | null, number, number, boolean]>([
    ['1m-3m', 2_000_000, 3_000_000, true],
    ['1m-3m', 2_000_001, 3_000_000, false],
    ['1m-3m', 500_000, 2_000_000, true],
    ['1m-3m', 500_000, 1_999_999, false],
    ['7m+', 500_000, 9_999_999, false],
    ['7m+', 500_000, 10_000_000, true],
    ['7m+', 10_000_001, 20_000_000, false],
    [null, 500_000, 600_000, true],
    [null, 500_001, 600_000, false],
  ])('revenue of %s is within $%i to $%i: %s', (revenueLevel, revenueMin, revenueMax, fits) => {
    const challenge = made({ revenueMin, revenueMax });
    expect(fitOf(challenge, { revenueLevel, businessType: null }).revenue).toBe(fits);
  });

  test.each<[BusinessType | null, BusinessType[], boolean]>([
    ['saas', ['saas', 'agency'], true],
    ['content', ['saas', 'agency'], false],
    ['content', ['saas', 'other'], true],
    [null, ['saas'], false],
    [null, ['other'], true],
  ])('a business of type %s fits a challenge for %j: %s', (businessType, types, fits) => {
    const challenge = made({ businessType: types });
    expect(fitOf(challenge, { revenueLevel: '1m-3m', businessType }).business).toBe(fits);
  });

  test.each([
    [0, 3],
    [1, 3],
    [2, 3],
    [3, 3],
    [4, 4],
    [6, 4],
  ])(
    'of six challenges of which %i fit, %i are shown, the fitting ones first',
    (fitting, shown) => {
      const all = challenges.map((challenge, index) =>
        made({ id: challenge.id, businessType: [index < 6 - fitting ? 'saas' : 'consulting'] }),
      );
      const found = matchChallenges(consulting, all);
      expect(found).toHaveLength(shown);
      const isFit = found.map(({ fit }) => fit.revenue && fit.business);
      expect(isFit).toEqual([
        ...Array.from({ length: Math.min(4, fitting) }, () => true),
        ...Array.from({ length: Math.max(0, 3 - fitting) }, () => false),
      ]);
    },
  );

  test('every level of revenue and type of business is shown three or four challenges', () => {
    for (const revenueLevel of ['500k-1m', '1m-3m', '3m-7m', '7m+', null] as const)
      for (const businessType of ['consulting', 'saas', 'agency', 'content', 'other'] as const) {
        const found = matchChallenges({ revenueLevel, businessType });
        expect(new Set(found.map(({ challenge }) => challenge.id)).size).toBe(found.length);
        expect([3, 4]).toContain(found.length);
      }
  });
});

describe('the six challenges', () => {
  test('their titles are those of the specification, in its order', () => {
    expect(challenges.map(({ title }) => title)).toEqual([
      'Competitive intelligence deep dive',
      'Market expansion strategy',
      'Product architecture optimization',
      'Premium positioning strategy',
      'Acquisition target analysis',
      'Content monetization optimization',
    ]);
    expect(challenges.map(({ id }) => id)).toEqual(challengeIds);
  });

  test.each(challenges)('the question of $id can be sent as it is', ({ template }) => {
    const { challenge, objectives, constraints, challengeType } = template;
    const request = {
      challenge,
      context: factLines(template),
      objectives,
      constraints,
      strategy: 'ultra-economy',
      challenge_type: challengeType,
    };
    expect(v.parse(CreateOptimizationRequest, request)).toMatchObject({ challenge, constraints });
  });
});
