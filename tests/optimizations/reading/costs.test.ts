import fc from 'fast-check';
import { expect, test } from 'vitest';
import { costColumns, costRows } from '#services/optimizations/reading/costs.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { closed } from '#tests/optimizations/run/run-script.ts';
import { storyOf } from '#tests/web/support/run-story.ts';

const view = storyOf(closed()).view();
const slots = Object.keys(view.calls);

/** The run with a price of each call in micro-dollars; null where none is known. */
const priced = (prices: readonly (number | null)[]): RunView => ({
  ...view,
  calls: Object.fromEntries(
    Object.entries(view.calls).map(([slot, call], index) => {
      const [attempt] = Object.values(call.attempts);
      const costMicros = prices[index] ?? null;
      return [slot, { ...call, attempts: { 1: { ...attempt!, costMicros } } }];
    }),
  ),
});

/** In thousandths of a dollar; a cost below one counts as none. */
const shown = (cost = ''): number =>
  cost.startsWith('<') || cost === '--' ? 0 : Math.round(Number(cost.slice(1)) * 1000);

test('the costs of a run add up as they are shown, with a row for every call', () => {
  const price = fc.option(fc.integer({ min: 0, max: 90_000 }));
  fc.assert(
    fc.property(fc.array(price, { minLength: slots.length, maxLength: slots.length }), (prices) => {
      const rows = costRows(priced(prices), 'en-US');
      const [all, ...others] = rows.toReversed();
      const sum = others.reduce((total, { cells }) => total + shown(cells.at(-1)), 0);
      expect(sum).toBe(shown(all?.cells.at(-1)));
      const calls = others.reduce((total, { cells }) => total + Number(cells[0]), 0);
      expect([calls, all?.cells[0]]).toEqual([slots.length, String(slots.length)]);
    }),
  );
});

test.each([
  [0, 'Cost'],
  [1, 'Cost, simulated if real'],
  [view.seats.length, 'Cost if real'],
])('with %i simulated seats the column of the costs is called %j', (simulated, title) => {
  const seats = view.seats.map((seat, index) => ({ ...seat, simulated: index < simulated }));
  expect(costColumns({ seats }).at(-1)).toBe(title);
});
