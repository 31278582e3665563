import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { money, percent, percentParts, price, signedCredits } from '#web/ui/text/figures.ts';
import {
  counted,
  credits,
  creditsInWords,
  duration,
  latency,
  modelCost,
  wholePercent,
} from '#services/platform/numbers.ts';

describe('figures', () => {
  it('an unknown figure is two dashes and never 0', () => {
    expect([credits(null), modelCost(null), percent(null), latency(null)]).toEqual(
      Array.from({ length: 4 }, () => '--'),
    );
    expect([credits(0), modelCost(0, 'en-US'), percent(0), latency(0)]).toEqual([
      '0',
      '$0.000',
      '0%',
      '0ms',
    ]);
  });

  it('model costs have three decimals, and smaller ones say so', () => {
    expect(modelCost(0.331, 'en-US')).toBe('$0.331');
    expect(modelCost(1, 'en-US')).toBe('$1.000');
    expect(modelCost(0.0004, 'en-US')).toBe('<$0.001');
  });

  it('prices have cents only when there are any', () => {
    expect(price(500, 'en-US')).toBe('$5');
    expect(price(750, 'en-US')).toBe('$7.50');
  });

  it('a change always has its sign', () => {
    expect(signedCredits(50, 'en-US')).toBe('+50');
    expect(signedCredits(-1250, 'en-US')).toBe('−1,250');
  });

  it('an amount shown as zero never has a sign', () => {
    fc.assert(
      fc.property(fc.double({ min: -0.4, max: 0.4, noNaN: true }), (nothing) => {
        for (const figure of [credits, creditsInWords, signedCredits])
          expect(figure(nothing, 'en-US')).toMatch(/^0( credits)?$/);
        expect(money(nothing, 'usd', 'en-US')).toBe('$0.00');
        expect(price(nothing, 'en-US')).toMatch(/^\$0/);
        expect(modelCost(Math.min(nothing, 0) / 1000, 'en-US')).toBe('$0.000');
      }),
      { examples: [[-0], [0], [-0.004]] },
    );
  });

  it('one credit is singular', () => {
    expect(creditsInWords(1, 'en-US')).toBe('1 credit');
    expect(creditsInWords(14, 'en-US')).toBe('14 credits');
  });

  it('milliseconds become seconds from a thousand on', () => {
    expect(latency(999)).toBe('999ms');
    expect(latency(1000)).toBe('1.0s');
  });

  it.each([
    [-1, '0s'],
    [42_999, '42s'],
    [60_000, '1m 00s'],
    [125_000, '2m 05s'],
  ])('%d milliseconds of a timer read %s', (milliseconds, words) => {
    expect(duration(milliseconds)).toBe(words);
  });

  it.each([
    [95.65, '96%'],
    [62.5, '63%'],
    [14.5, '15%'],
    [62.49, '62%'],
  ])('%d percent are shown as %s, a half rounded up', (value, words) => {
    expect(percent(value)).toBe(words);
    expect(wholePercent(value / 100)).toBe(Number.parseInt(words, 10));
  });

  it('a counted thing is plural from two on, with separated thousands', () => {
    expect(counted(1, 'model', 'en-US')).toBe('1 model');
    expect(counted(1200, 'model', 'en-US')).toBe('1,200 models');
  });

  it('parts of a whole add up to it, each within one percent of its share', () => {
    expect(percentParts([4, 3, 3, 3, 1], 14)).toEqual([29, 22, 21, 21, 7]);
    expect(percentParts([1, 1, 1], 3)).toEqual([34, 33, 33]);
    expect(percentParts([1, 1], 3)).toEqual([34, 33]);
    expect(percentParts([0, 0], 0)).toEqual([0, 0]);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1 }),
        fc.integer({ min: 0, max: 1_000_000 }),
        (parts, rest) => {
          const sum = parts.reduce((all, part) => all + part, 0);
          fc.pre(sum + rest > 0);
          const shown = percentParts(parts, sum + rest);
          const total = shown.reduce((all, part) => all + part, 0);
          expect(total).toBe(Math.round((sum / (sum + rest)) * 100));
          for (const [index, part] of parts.entries())
            expect(Math.abs((shown[index] ?? 0) - (part / (sum + rest)) * 100)).toBeLessThan(1);
        },
      ),
    );
  });
});
