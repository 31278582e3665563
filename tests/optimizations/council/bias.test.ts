import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  fitTwoWay,
  leniency,
  marksOf,
  positionSlope,
  verbosityTau,
} from '#services/optimizations/council/bias.ts';
import type { Mark } from '#services/optimizations/council/bias.ts';
import { currentMetric } from '#services/optimizations/council/metric.ts';
import { reviewOffsets, reviewAssignments } from '#services/optimizations/council/assignments.ts';

import { ballot, rubric, seatCodes } from './ballots.ts';

/** Marks that are a reviewer's leniency + an answer's quality + `slope` for each place, exactly. */
function planted(
  size: number,
  reviews: number,
  slope: number,
  levels: readonly number[],
  qualities: readonly number[],
): Mark[] {
  const seats = seatCodes(size);
  const assignments = reviewAssignments(seats, reviewOffsets(size, reviews));
  return seats.flatMap((reviewer, row) =>
    assignments[reviewer]!.map((answer, index) => ({
      reviewer,
      answer,
      position: index + 1,
      score: 5 + levels[row]! + qualities[seats.indexOf(answer)]! + slope * (index + 1),
    })),
  );
}

const figures = fc.array(fc.double({ min: -2, max: 2, noNaN: true }), {
  minLength: 12,
  maxLength: 12,
});
const anyDesign = fc
  .record({ size: fc.integer({ min: 5, max: 12 }), reviews: fc.integer({ min: 3, max: 8 }) })
  .filter(({ size, reviews }) => reviews < size);

describe('the position slope', () => {
  test('the position slope is what each place adds, independent of the reviewers and the quality of the answers', () => {
    fc.assert(
      fc.property(
        anyDesign,
        fc.double({ min: -1, max: 1, noNaN: true }),
        figures,
        figures,
        ({ size, reviews }, slope, levels, qualities) => {
          const marks = planted(size, reviews, slope, levels, qualities);
          expect(positionSlope(marks, currentMetric)).toBeCloseTo(slope, 6);
        },
      ),
    );
  });

  test('the position slope does not shrink when reviews were lost', () => {
    fc.assert(
      fc.property(figures, figures, fc.subarray(seatCodes(7), { minLength: 5 }), (a, b, kept) => {
        const marks = planted(7, 6, 0.4, a, b).filter(({ reviewer }) => kept.includes(reviewer));
        expect(positionSlope(marks, currentMetric)).toBeCloseTo(0.4, 6);
      }),
    );
  });

  test('the position slope is not given when there is too little to estimate it from', () => {
    const none = Array.from({ length: 12 }, () => 0);
    expect(positionSlope(planted(3, 2, 0.4, none, none), currentMetric)).toBeNull();
    expect(positionSlope([], currentMetric)).toBeNull();
  });
});

describe('leniency', () => {
  test('leniency is how far a reviewer marks above the mean reviewer, not above what it was shown', () => {
    fc.assert(
      fc.property(anyDesign, figures, figures, ({ size, reviews }, levels, qualities) => {
        const found = leniency(planted(size, reviews, 0, levels, qualities)).leniency;
        const mean = levels.slice(0, size).reduce((sum, level) => sum + level, 0) / size;
        for (const [row, seat] of seatCodes(size).entries())
          expect(found[seat]).toBeCloseTo(levels[row]! - mean, 6);
      }),
    );
  });

  test('leniency is measured from the mean reviewer even when single marks are missing', () => {
    fc.assert(
      fc.property(figures, figures, fc.nat(40), (levels, qualities, gap) => {
        const marks = planted(7, 6, 0, levels, qualities).filter(
          (_, index) => index < 35 || index > gap,
        );
        const found = Object.values(leniency(marks).leniency);
        expect(found.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 9);
      }),
    );
  });

  test('the spread of leniency is its standard deviation, which a single reviewer does not have', () => {
    const levels = [1, -1, 0, 0, 0, ...Array.from({ length: 7 }, () => 0)];
    const none = Array.from({ length: 12 }, () => 0);
    expect(leniency(planted(5, 4, 0, levels, none)).leniencySpread).toBeCloseTo(Math.sqrt(1 / 2));
    const alone = planted(5, 4, 0, none, none).filter(({ reviewer }) => reviewer === 'S1');
    expect(leniency(alone).leniencySpread).toBeNull();
    expect(leniency([])).toEqual({ leniency: {}, leniencySpread: null });
  });
});

describe('the two-way fit', () => {
  test('the two-way fit leaves residuals that sum to zero for every reviewer and every answer', () => {
    fc.assert(
      fc.property(
        anyDesign,
        fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 96, maxLength: 96 }),
        (design, scores) => {
          const none = Array.from({ length: 12 }, () => 0);
          const marks = planted(design.size, design.reviews, 0, none, none);
          const { residuals } = fitTwoWay(marks, scores.slice(0, marks.length));
          for (const seat of seatCodes(design.size))
            for (const side of ['reviewer', 'answer'] as const) {
              const own = residuals.filter((_, index) => marks[index]![side] === seat);
              expect(own.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 6);
            }
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('marks', () => {
  test('marks keep the places of the stored design when an answer was left out', () => {
    const assignments = { S1: ['S2', 'S3', 'S4'] };
    const reviewer = {
      reviewer: 'S1',
      ballot: ballot({ scores: { S2: rubric(3), S3: rubric(9), S4: rubric(5) } }),
    };
    expect(marksOf([reviewer], assignments, ['S1', 'S2', 'S4'])).toEqual([
      { reviewer: 'S1', answer: 'S2', position: 1, score: 3 },
      { reviewer: 'S1', answer: 'S4', position: 3, score: 5 },
    ]);
  });
});

const answers = (lengths: number[], q: (number | null)[]) =>
  lengths.map((characters, index) => ({ characters, q: q[index]! }));

describe('length and q', () => {
  test('length and q correlate when longer answers came out better', () => {
    const lengths = [900, 1200, 1500, 2000, 2400];
    expect(verbosityTau(answers(lengths, [0.1, 0.3, 0.4, 0.6, 0.9]), currentMetric)).toBe(1);
    expect(verbosityTau(answers(lengths, [0.9, 0.6, 0.4, 0.3, 0.1]), currentMetric)).toBe(-1);
  });

  test('the correlation of length and q is unknown below five answers with a q', () => {
    const lengths = [900, 1200, 1500, 2000, 2400];
    expect(verbosityTau(answers(lengths, [0.1, 0.3, null, 0.6, 0.9]), currentMetric)).toBeNull();
  });
});
