import { estimateMeans } from '#services/evaluation/statistics.ts';
import type { Interval } from '#services/evaluation/statistics.ts';
import { randomOf } from '#tests/support/chance.ts';

/** Scores of cases whose true win rate is known. */

type Simulation = { cases: number; evaluations: number; resamples: number };

/** The share of evaluations whose interval holds the true win rate. */
export function shareCovering(winRate: number, simulation: Simulation): number {
  return shareOf(winRate, simulation, ({ low, high }) => low <= winRate && winRate <= high);
}

/** The share of evaluations that find the first of two better than the second. */
export function shareFinding(winRate: number, simulation: Simulation): number {
  return shareOf(winRate, simulation, ({ low }) => low > 0.5);
}

function shareOf(
  winRate: number,
  { cases, evaluations, resamples }: Simulation,
  holds: (interval: Interval) => boolean,
): number {
  const next = randomOf(cases + winRate * 1000);
  const found = Array.from({ length: evaluations }, (_, seed) => {
    const [estimate] = estimateMeans(drawnRows(cases, winRate, next), { seed, resamples });
    if (!estimate?.interval) throw new RangeError('No interval');
    return holds(estimate.interval);
  });
  return found.filter((one) => one).length / evaluations;
}

const ties = 0.2;

/** Two judges, each with a win, a tie or a loss; wins of a case belong together. */
export function drawnRows(cases: number, winRate: number, next: () => number): number[][] {
  const rate = (winRate - ties / 2) / (1 - ties);
  return Array.from({ length: cases }, () => {
    const own = Math.min(1, Math.max(0, rate + (next() - 0.5) * 0.4));
    const score = () => (next() < ties ? 0.5 : Number(next() < own));
    return [(score() + score()) / 2];
  });
}
