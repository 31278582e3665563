import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  answersNeeded,
  answersQuorum,
  answersReachable,
  reviewsNeeded,
  reviewsQuorum,
} from '#services/optimizations/council/quorum.ts';

const families = (...names: string[]) => names.map((family) => ({ family }));
const anySeats = fc.array(fc.record({ family: fc.constantFrom('a', 'b', 'c', 'd') }), {
  maxLength: 12,
});

describe('the quorum', () => {
  test.each([
    [3, 3],
    [4, 3],
    [5, 3],
    [6, 4],
    [7, 5],
    [8, 5],
    [9, 6],
    [10, 6],
    [11, 7],
    [12, 8],
  ])('the quorum of %i seats is %i', (seats, count) => {
    expect(answersNeeded(seats)).toBe(count);
    expect(reviewsNeeded(seats)).toBe(count);
  });

  test('the quorum needs enough answers and enough families', () => {
    expect(answersQuorum(7, 3, families('a', 'a', 'b', 'b', 'c'))).toBe(true);
    expect(answersQuorum(7, 3, families('a', 'a', 'b', 'b', 'b'))).toBe(false);
    expect(answersQuorum(7, 2, families('a', 'a', 'b', 'b', 'b'))).toBe(true);
    expect(answersQuorum(7, 3, families('a', 'b', 'c', 'd'))).toBe(false);
  });

  test('the quorum is out of reach when too few seats, or too few families, are outstanding', () => {
    expect(answersReachable(7, 3, families('a', 'b'), families('c', 'a', 'b'))).toBe(true);
    expect(answersReachable(7, 3, families('a', 'b'), families('c', 'a'))).toBe(false);
    expect(answersReachable(7, 3, families('a', 'b'), families('a', 'a', 'b'))).toBe(false);
  });

  test('the quorum stays met when more seats answer, and is reachable whenever it is met', () => {
    fc.assert(
      fc.property(anySeats, anySeats, (answered, more) => {
        fc.pre(answersQuorum(7, 3, answered));
        expect(answersQuorum(7, 3, [...answered, ...more])).toBe(true);
        expect(answersReachable(7, 3, answered, more)).toBe(true);
      }),
    );
  });

  test('the quorum of reviews counts reviewers against the accepted answers', () => {
    expect(reviewsQuorum(7, 5)).toBe(true);
    expect(reviewsQuorum(7, 4)).toBe(false);
    expect(reviewsQuorum(3, 2)).toBe(false);
  });
});
