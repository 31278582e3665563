import type { Ballot, Rubric } from '#services/optimizations/run/events.ts';

/** Normal numbers with mean 0 and deviation 1 (Box and Muller). */
export function normals(next: () => number): () => number {
  return () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}

/** Ranking and marks of one reviewer, from how much each answer impressed it. */
export function marksOf(
  seen: readonly { answer: string; value: number }[],
  strictness: number,
): Pick<Ballot, 'ranking' | 'scores'> {
  return {
    ranking: seen.toSorted((one, other) => other.value - one.value).map(({ answer }) => [answer]),
    scores: Object.fromEntries(
      seen.map(({ answer, value }) => [answer, rubricOf(value + strictness)]),
    ),
  };
}

/** Whole marks from 1 to 10; 5.5 is the middle, and a deviation is 1.5 points. */
function rubricOf(value: number): Rubric {
  const mark = Math.min(10, Math.max(1, Math.round(5.5 + 1.5 * value)));
  return {
    correctness: mark,
    relevance: mark,
    completeness: mark,
    feasibility: mark,
    riskAwareness: mark,
  };
}
