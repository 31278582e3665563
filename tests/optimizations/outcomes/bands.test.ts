import { expect, test } from 'vitest';
import type { CountedOutcome } from '#projections/run-outcome.ts';
import { countBands, wilson } from '#services/optimizations/outcomes/bands.ts';
import { bandWords } from '#services/optimizations/reading/words/turned-out.ts';
import { openQuestion } from '#services/optimizations/run/outcomes.ts';

// The first four: Statistics in Medicine 17 (1998), 857 to 872, table I, the score interval without correction.
test.each([
  [81, 263, 0.2553, 0.3662],
  [15, 148, 0.0624, 0.1605],
  [0, 20, 0, 0.1611],
  [1, 29, 0.0061, 0.1718],
  [27, 30, 0.7438, 0.9654],
  [30, 30, 0.8865, 1],
])('the Wilson interval of %i out of %i is %f to %f', (favorable, count, low, high) => {
  const interval = wilson(favorable, count);
  expect(interval.low).toBeCloseTo(low, 4);
  expect(interval.high).toBeCloseTo(high, 4);
});

const outcomes = (count: number, of: Partial<CountedOutcome> = {}, from = 0): CountedOutcome[] =>
  Array.from({ length: count }, (_, index) => ({
    userId: `usr_${from + index}`,
    score: 85,
    happened: 'better' as const,
    ...of,
  }));
const band = (all: readonly CountedOutcome[], name: string) =>
  countBands(all).find((one) => one.band === name);

test('a band holds outcomes in tens, those first that were recorded first', () => {
  expect(band(outcomes(9), 'strong')).toMatchObject({ outcomes: 0, favorable: 0 });
  const all = [
    ...outcomes(25),
    ...outcomes(4, { happened: 'worse' }, 100),
    ...outcomes(1, { happened: 'as_expected' }, 200),
  ];
  expect(band(all.slice(0, 29), 'strong')).toMatchObject({ outcomes: 20, favorable: 20 });
  expect(band(all, 'strong')).toMatchObject({ outcomes: 30, favorable: 26 });
});

test('a person counts once in a band, with what they said first, and once in each band', () => {
  const one = outcomes(50, { userId: 'usr_1', happened: 'worse' });
  expect(band([...one, ...outcomes(8, {}, 100)], 'strong')).toMatchObject({ outcomes: 0 });
  expect(band([...one, ...outcomes(9, {}, 100)], 'strong')).toMatchObject({
    outcomes: 10,
    favorable: 9,
  });
  const both = [...outcomes(10), ...outcomes(10, { score: 10 })];
  expect([band(both, 'strong')?.outcomes, band(both, 'split')?.outcomes]).toEqual([10, 10]);
});

test('outcomes fall into the band of the score that the result had', () => {
  const scores = [100, 80, 79, 60, 59, 40, 39, 0, null];
  const all = scores.flatMap((score, index) => outcomes(10, { score }, index * 10));
  expect(countBands(all).map(({ band: name, outcomes: count }) => [name, count])).toEqual([
    ['strong', 20],
    ['majority', 20],
    ['contested', 20],
    ['split', 20],
    ['none', 10],
  ]);
});

test('a band below 30 says how many outcomes there are, and never a share', () => {
  const none = { share: null, interval: null };
  expect(bandWords({ band: 'strong', outcomes: 20, ...none }, 30)).toMatchObject({
    name: 'Strong agreement',
    words: '20 of the 30 outcomes needed',
  });
  const share = { share: 0.9, interval: wilson(27, 30) };
  expect(bandWords({ band: 'none', outcomes: 30, ...share }, 30).words).toBe(
    '90% better or as expected (95% interval 74% to 97%, 30 outcomes)',
  );
});

test('the last day that has come is asked about, until it or a later one is answered', () => {
  const ended = '2026-11-20T12:00:00.000Z';
  const at = (days: number) => new Date(Date.parse(ended) + days * 86_400_000).toISOString();
  const asked = (answered: (30 | 90)[], days: number) =>
    openQuestion(ended, answered, at(days))?.asked ?? null;
  expect([29.999, 30, 89.999, 90, 400].map((days) => asked([], days))).toEqual([
    null,
    30,
    30,
    90,
    90,
  ]);
  expect([asked([30], 60), asked([30], 90), asked([90], 60), asked([30, 90], 90)]).toEqual([
    null,
    90,
    null,
    null,
  ]);
});
