import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  barShares,
  consumptionSentence,
  longMonth,
  shortMonth,
} from '#web/features/credits/consumption.ts';
import { creditTier, lowCredits, stockWords } from '#web/features/credits/tier.ts';
import { grantCommand } from '#web/features/credits/transaction-words.ts';

describe('the tier of a balance', () => {
  it('changes at 50, 20 and 10 credits', () => {
    expect([500, 50, 49, 20, 19, 10, 9, 0].map(creditTier)).toEqual([
      'plenty',
      'plenty',
      'enough',
      'enough',
      'low',
      'low',
      'very-low',
      'very-low',
    ]);
  });

  it('offers more credits under 20', () => {
    expect(lowCredits).toBe(20);
  });

  it('is well stocked above 20 credits, not at 20', () => {
    expect([21, 20, 0].map(stockWords)).toEqual(['Well stocked', 'Running low', 'Running low']);
  });
});

describe('the bars of a year', () => {
  const months = [
    { month: '2026-09', credits: 0 },
    { month: '2026-10', credits: 28 },
    { month: '2026-11', credits: 14 },
  ];

  it('begin at zero and measure against the tallest', () => {
    expect(barShares(months)).toEqual([0, 1, 0.5]);
  });

  it('stand at nought in a month in which more came back than was used', () => {
    expect(barShares([{ month: '2026-11', credits: -7 }])).toEqual([0]);
  });

  it('never leave their frame', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1_000_000, max: 1_000_000 })), (amounts) => {
        const shares = barShares(amounts.map((credits) => ({ month: '2026-11', credits })));
        return shares.every((share) => share >= 0 && share <= 1);
      }),
    );
  });

  it('name months as UTC months, wherever the browser is', () => {
    expect(shortMonth('2026-11', 'en-US')).toBe('Nov');
    expect(longMonth('2026-01', 'en-US')).toBe('January 2026');
  });

  it('say in a sentence what they show', () => {
    expect(consumptionSentence(months, 'en-US')).toBe(
      'Credits consumed from September 2026 to November 2026. This month 14; most in October 2026 with 28.',
    );
  });
});

describe('the command that gives credits', () => {
  it('names the address, the credits and a reason', () => {
    expect(grantCommand('ada@example.com', 50)).toBe(
      'npm run cli -- credits grant ada@example.com 50 --reason "Trial credits"',
    );
  });

  it('quotes an address that a shell would read otherwise', () => {
    expect(grantCommand("o'neil&co@example.com", 50)).toContain(
      String.raw`grant 'o'\''neil&co@example.com' 50`,
    );
  });
});
