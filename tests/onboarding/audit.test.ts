import { describe, expect, test } from 'vitest';
import { hourlyRate, riskOf, speedMultiple, wasteOf } from '#services/onboarding/audit.ts';
import type { RevenueLevel } from '#services/onboarding/audit.ts';

describe('the waste analysis', () => {
  test.each<[RevenueLevel | null, number]>([
    ['500k-1m', 400],
    ['1m-3m', 500],
    ['3m-7m', 650],
    ['7m+', 800],
    [null, 400],
  ])('an hour of a business at %s is worth $%i', (level, rate) => {
    expect(hourlyRate(level)).toBe(rate);
    expect(wasteOf({ orchestrationHours: 1, revenueLevel: level, lostDeals: null })).toMatchObject({
      dollars_per_hour: rate,
      dollarValueWaste: 52 * rate,
    });
  });

  test.each([
    // weekly hours, deals given → hours a year, deals counted, assumed
    [0, null, 0, 0, true],
    [1, null, 52, 2, true],
    // 19 × 52 / 20 = 49.4: part of a deal is none.
    [19, null, 988, 49, true],
    [20, null, 1040, 52, true],
    [168, null, 8736, 436, true],
    // None lost is an answer.
    [20, 0, 1040, 0, false],
    [20, 1, 1040, 1, false],
    [20, 60, 1040, 60, false],
  ])(
    '%i hours a week with %s lost deals are %i hours a year and %i deals',
    (orchestrationHours, lostDeals, annualWaste, counted, isAssumed) => {
      expect(wasteOf({ orchestrationHours, revenueLevel: '1m-3m', lostDeals })).toEqual({
        weeklyOrchestrationHours: orchestrationHours,
        annualWaste,
        dollarValueWaste: annualWaste * 500,
        opportunityCost: counted * 500 * 10,
        competitiveRisk: riskOf(annualWaste * 500),
        dollars_per_hour: 500,
        lost_deals: counted,
        lost_deals_assumed: isAssumed,
      });
    },
  );

  test.each([
    [0, 'MODERATE'],
    [100_000, 'MODERATE'],
    [100_001, 'HIGH'],
    [250_000, 'HIGH'],
    [250_001, 'CRITICAL'],
  ])('hours worth $%i a year are a risk called %s', (dollars, risk) => {
    expect(riskOf(dollars)).toBe(risk);
  });

  test('the risk follows the value of the hours and not the opportunity cost', () => {
    const analysis = wasteOf({ orchestrationHours: 1, revenueLevel: '7m+', lostDeals: 500 });
    expect(analysis).toMatchObject({ opportunityCost: 4_000_000, competitiveRisk: 'MODERATE' });
  });
});

test.each([
  [480, 1],
  [5, 96],
  [0.5, 960],
  [0, 96],
  [null, 96],
])('a run of %s minutes has a speed multiple of %i', (minutes, multiple) => {
  expect(speedMultiple(minutes)).toBe(multiple);
});
