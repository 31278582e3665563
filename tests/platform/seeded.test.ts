import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { labelPattern, labelsFor, seededInteger, seededOrder } from '#services/platform/seeded.ts';

const upwards = (one: number, other: number) => one - other;
const seed = fc.string({ minLength: 1 });

describe('a seeded order', () => {
  it('a seeded order is a permutation that a replay repeats', () => {
    fc.assert(
      fc.property(seed, fc.array(fc.integer()), (drawn, items) => {
        const order = seededOrder(drawn, 'order', items);
        expect(order.toSorted(upwards)).toEqual(items.toSorted(upwards));
        expect(seededOrder(drawn, 'order', items)).toEqual(order);
      }),
    );
  });

  it('a seeded order puts every item into every place about equally often', () => {
    const firsts = Array.from(
      { length: 2000 },
      (_none, at) => seededOrder(`s${at}`, 'order', ['a', 'b', 'c', 'd'])[0],
    );
    for (const item of ['a', 'b', 'c', 'd']) {
      const share = firsts.filter((first) => first === item).length / firsts.length;
      expect(share).toBeGreaterThan(0.21);
      expect(share).toBeLessThan(0.29);
    }
  });
});

describe('labels', () => {
  it('labels are unique for a reader and reveal nothing by their letters', () => {
    const seats = Array.from({ length: 12 }, (_none, at) => `S${at}`);
    fc.assert(
      fc.property(seed, seed, (drawn, reader) => {
        const labels = Object.values(labelsFor(drawn, reader, seats));
        expect(new Set(labels).size).toBe(12);
        for (const label of labels) {
          expect(label).toMatch(labelPattern);
          expect(label).not.toMatch(/[ABC123]/);
        }
      }),
    );
  });

  it('labels differ between readers', () => {
    expect(labelsFor('s', 'S1', ['S2', 'S3'])).not.toEqual(labelsFor('s', 'R1', ['S2', 'S3']));
  });
});

describe('a seeded integer', () => {
  it('a seeded integer stays below its bound', () => {
    fc.assert(
      fc.property(seed, fc.integer({ min: 1, max: 1_000_000 }), (drawn, bound) => {
        const value = seededInteger(drawn, 'x', bound);
        expect(value >= 0 && value < bound).toBe(true);
      }),
    );
  });

  it.each([NaN, Infinity, 0, -1, 1.5, 2 ** 32 + 1])('a bound of %d is refused', (bound) => {
    expect(() => seededInteger('s', 'x', bound)).toThrow(RangeError);
  });

  it('the largest bound is 2^32', () => {
    expect(seededInteger('s', 'x', 2 ** 32)).toBeLessThan(2 ** 32);
  });
});
