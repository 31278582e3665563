import { reviewAssignments, reviewOffsets } from '#services/optimizations/council/assignments.ts';
import type { CouncilInput } from '#services/optimizations/council/council.ts';
import type { Scores } from '#services/optimizations/run/events.ts';
import { ballot, council, laboratories } from '#tests/optimizations/council/ballots.ts';
import { marksOf, normals } from './draws.ts';

/**
 * Panels whose best answer is known. An answer has a quality, which all want, and a direction, which
 * camps want or reject; both are normal with a deviation of 1. A reviewer ranks by what it sees plus an
 * error, and marks by the same impression at a strictness of its own.
 */
export type Scenario = {
  /** As the page names it. */
  name: string;
  seats: number;
  reviewsPerSeat: number;
  /** Deviation of a reviewer's error. */
  error: number;
  /** How well an answer reads to a reviewer, both by their places from 0, before the error. */
  sees: (reviewer: number, answer: Answer) => number;
  /** What makes an answer the best. */
  worth: (answer: Answer) => number;
  /** By an earlier version of the metric, for comparison. */
  metric?: string;
  promises: Promises;
};

export type Answer = { place: number; quality: number; direction: number };

type Promises = {
  /** Least points of panels, in percent, by which the order finds the best answer more often than Borda. */
  overBorda?: number;
  /** Most panels, in percent, that name a clear winner. */
  clearWinner?: number;
  ordering?: Scores['ordering'];
};

const quality = (answer: Answer) => answer.quality;

/** The first `count` reviewers rank in reverse. */
const hostile = (count: number): Scenario['sees'] => {
  return (reviewer, answer) => (reviewer < count ? -answer.quality : answer.quality);
};

/** The first `count` seats put each other on top, and the others in reverse. */
const siblings = (count: number): Scenario['sees'] => {
  return (reviewer, answer) => {
    if (reviewer >= count) return answer.quality;
    return answer.place < count ? answer.quality + onTop : -answer.quality;
  };
};
const onTop = 10;

/** The first `count` reviewers reject the direction that the others want. */
const camps = (count: number, wanted: (answer: Answer) => number = quality) => ({
  sees: (reviewer: number, answer: Answer) =>
    wanted(answer) + (reviewer < count ? -answer.direction : answer.direction),
  // The best is what the larger camp wants.
  worth: (answer: Answer) => wanted(answer) + answer.direction,
});
const nothing = () => 0;

const full = { seats: 7, reviewsPerSeat: 6, error: 1, worth: quality } as const;
/** A camp is of one mind. */
const camped = { ...full, error: 0.5 } as const;
const half = { seats: 12, reviewsPerSeat: 6, error: 1, worth: quality } as const;
const honest = hostile(0);

export const scenarios: readonly Scenario[] = [
  {
    ...full,
    name: 'Honest, small errors',
    error: 0.5,
    sees: honest,
    promises: { overBorda: -3.5 },
  },
  { ...full, name: 'Honest', sees: honest, promises: { overBorda: -3.5 } },
  { ...full, name: 'Honest, large errors', error: 2, sees: honest, promises: { overBorda: -3.5 } },
  { ...full, name: 'Guessing', sees: nothing, promises: {} },
  { ...full, name: '1 of 7 hostile', sees: hostile(1), promises: {} },
  { ...full, name: '2 of 7 hostile', sees: hostile(2), promises: { overBorda: 2 } },
  { ...full, name: '2 siblings bury the rest', sees: siblings(2), promises: { overBorda: 5 } },
  { ...full, name: '3 siblings bury the rest', sees: siblings(3), promises: {} },
  { ...camped, name: 'Camps of 4 and 3, opposed in part', ...camps(3), promises: { overBorda: 3 } },
  { ...camped, name: 'Camps of 5 and 2, opposed in part', ...camps(2), promises: { overBorda: 8 } },
  {
    ...camped,
    name: 'Camps of 4 and 3, opposed in everything',
    ...camps(3, nothing),
    promises: { clearWinner: 0.5 },
  },
  {
    ...camped,
    name: 'Camps of 5 and 2, opposed in everything',
    ...camps(2, nothing),
    promises: { overBorda: 8 },
  },
  { ...half, name: '12 models, 6 reviews each', sees: honest, promises: { ordering: 'win_rate' } },
  {
    ...half,
    name: '12 models, 6 reviews each, always Kemeny',
    sees: honest,
    metric: 'agreement_v1',
    promises: {},
  },
];

/** @param next numbers from 0 to 1 */
export function drawPanel(
  scenario: Scenario,
  next: () => number,
): { input: CouncilInput; best: string } {
  const normal = normals(next);
  const seats = laboratories(scenario.seats);
  const codes = seats.map(({ seat }) => seat);
  const answers = codes.map((_, place) => ({ place, quality: normal(), direction: normal() }));
  const offsets = reviewOffsets(scenario.seats, scenario.reviewsPerSeat);
  const shown = reviewAssignments(codes, offsets);
  const ballots = codes.map((reviewer, place) => {
    const seen = shown[reviewer]!.map((answer) => {
      const impression = scenario.sees(place, answers[codes.indexOf(answer)]!);
      return { answer, value: impression + scenario.error * normal() };
    });
    return [reviewer, ballot(marksOf(seen, normal()))] as const;
  });
  const worths = answers.map(scenario.worth);
  return {
    input: council(seats, Object.fromEntries(ballots), { reviewOrder: { order: codes, offsets } }),
    best: codes[worths.indexOf(Math.max(...worths))]!,
  };
}
