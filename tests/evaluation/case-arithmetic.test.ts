import { expect, test } from 'vitest';
import { loadCases } from '#services/evaluation/cases.ts';
import { figuresOfCases, paymentOn } from './case-arithmetic.ts';

test.each(loadCases().map((each) => [each.id, each] as const))(
  '%s: the figures of its rubric and traps follow from its facts',
  (id, { rubric, traps }) => {
    const figures = figuresOfCases[id] ?? [];
    expect(figures.length).toBeGreaterThan(2);
    const text = [
      ...rubric.map(({ criterion }) => criterion),
      ...traps.map(({ description }) => description),
    ].join('\n');
    for (const [words, computed] of figures) {
      expect(text).toContain(words);
      const [stated = ''] = /\d[\d,]*(\.\d+)?/.exec(words) ?? [];
      const value = Number(stated.replaceAll(',', ''));
      expect(Math.abs(value - computed), `${words}: ${computed}`).toBeLessThanOrEqual(
        Math.min(halfUnitOf(value), value * 0.04) + 1e-9,
      );
    }
  },
);

/** Half of the place to which a figure is rounded: 5 for 1,430, and 0.05 for 2.4. */
function halfUnitOf(value: number): number {
  const [whole = '', decimals = ''] = String(value).split('.');
  if (decimals !== '') return 0.5 / 10 ** decimals.length;
  return 0.5 * 10 ** (whole.length - whole.replace(/0+$/, '').length);
}

test('the loan of the climbing gym has the payments that its rate and its term ask for', () => {
  const { context } = loadCases().find(({ id }) => id === 'gym-early-loan-repayment')!;
  const payment = paymentOn(46_000).toFixed(2).replace('1', '1,');
  expect(context).toContain(`30 monthly payments of $${payment} to go`);
});
