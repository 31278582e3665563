import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  pairCoverage,
  reviewOffsets,
  reviewAssignments,
} from '#services/optimizations/council/assignments.ts';
import { seededOrder } from '#services/platform/seeded.ts';

const published: [answers: number, reviews: number, offsets: number[]][] = [
  [3, 2, [1, 2]],
  [4, 3, [1, 3, 2]],
  [5, 3, [1, 3, 2]],
  [5, 4, [1, 2, 4, 3]],
  [6, 3, [1, 2, 4]],
  [6, 4, [1, 2, 4, 3]],
  [6, 5, [1, 3, 4, 2, 5]],
  [7, 3, [1, 2, 4]],
  [7, 4, [1, 2, 5, 3]],
  [7, 6, [1, 2, 5, 4, 6, 3]],
  [8, 6, [1, 2, 5, 4, 6, 3]],
  [8, 7, [1, 2, 5, 3, 7, 4, 6]],
  [9, 6, [1, 2, 4, 3, 7, 5]],
  [10, 6, [1, 2, 4, 7, 6, 3]],
  [11, 6, [1, 2, 6, 3, 5, 8]],
  [12, 6, [1, 2, 4, 3, 9, 6]],
];

const designs = Array.from({ length: 10 }, (_, index) => index + 3).flatMap((answers) =>
  Array.from({ length: answers - 1 }, (_, index) => [answers, index + 1] as const),
);

const anyRun = fc.record({
  seed: fc.stringMatching(/^[0-9a-f]{32}$/),
  answers: fc.integer({ min: 2, max: 12 }),
  reviews: fc.integer({ min: 1, max: 12 }),
});

function design(seed: string, answers: number, reviews: number) {
  const seats = Array.from({ length: answers }, (_, index) => `S${index + 1}`);
  const order = seededOrder(seed, 'order', seats);
  return { seats, assignments: reviewAssignments(order, reviewOffsets(answers, reviews)) };
}

describe('the offsets of the review design', () => {
  test.each(published)(
    'the offsets for %i answers and %i reviews are the published ones',
    (n, k, offsets) => {
      expect(reviewOffsets(n, k)).toEqual(offsets);
    },
  );

  test.each(designs)('the offsets cover the pairs of %i answers evenly with %i reviews', (n, k) => {
    const coverage = pairCoverage(n, reviewOffsets(n, k));
    expect(Math.max(...coverage) - Math.min(...coverage)).toBeLessThanOrEqual(1);
  });

  test.each(designs.filter(([n, k]) => k * (k - 1) >= n - 1))(
    'the offsets give any two of %i answers a common reviewer once %i reviews are enough',
    (n, k) => {
      expect(Math.min(...pairCoverage(n, reviewOffsets(n, k)))).toBeGreaterThanOrEqual(1);
    },
  );

  test('the offsets ask for no more reviews than there are peers', () => {
    expect(reviewOffsets(3, 6)).toEqual([1, 2]);
    expect(reviewOffsets(2, 6)).toEqual([1]);
    expect(reviewOffsets(1, 6)).toEqual([]);
  });

  test('the offsets are refused for panels that the council cannot rank', () => {
    expect(() => reviewOffsets(13, 6)).toThrow(RangeError);
    expect(() => reviewOffsets(0, 6)).toThrow(RangeError);
    expect(() => reviewOffsets(7, 0)).toThrow(RangeError);
  });
});

describe('the review assignments', () => {
  test('the review assignments never show a seat its own answer, nor an answer twice', () => {
    fc.assert(
      fc.property(anyRun, ({ seed, answers, reviews }) => {
        for (const [reviewer, shown] of Object.entries(
          design(seed, answers, reviews).assignments,
        )) {
          expect(shown).not.toContain(reviewer);
          expect(new Set(shown).size).toBe(shown.length);
        }
      }),
    );
  });

  test('the review assignments give each answer exactly k reviews, one in each place', () => {
    fc.assert(
      fc.property(anyRun, ({ seed, answers, reviews }) => {
        const { seats, assignments } = design(seed, answers, reviews);
        const k = Math.min(reviews, answers - 1);
        for (let place = 0; place < k; place += 1) {
          const inPlace = Object.values(assignments).map((shown) => shown[place]!);
          expect(inPlace.toSorted()).toEqual(seats.toSorted());
        }
        expect(Object.values(assignments).every((shown) => shown.length === k)).toBe(true);
      }),
    );
  });

  test('the review assignments never let an answer follow the same answer twice', () => {
    fc.assert(
      fc.property(anyRun, ({ seed, answers, reviews }) => {
        const { assignments } = design(seed, answers, reviews);
        const neighbours = Object.values(assignments).flatMap((shown) =>
          shown.slice(1).map((answer, index) => `${shown[index]}>${answer}`),
        );
        expect(new Set(neighbours).size).toBe(neighbours.length);
      }),
    );
  });

  test('the review assignments are the same for the same seed', () => {
    fc.assert(
      fc.property(anyRun, ({ seed, answers, reviews }) => {
        expect(design(seed, answers, reviews)).toEqual(design(seed, answers, reviews));
      }),
    );
  });
});
