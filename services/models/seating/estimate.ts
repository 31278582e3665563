import { callMicros, usualCalls } from './tokens.ts';
import type { SeatedCouncil } from './wanted.ts';

/**
 * Micro-dollars that the models of a run are likely to cost: the usual tokens of each call at the
 * offered prices, when the first extractor and writer succeed. Zero for local models; null when a
 * model has no known price. It is an estimate and is shown as one; the real cost comes from usage.
 */
export function estimateMicros(council: SeatedCouncil, challengeCharacters: number): number | null {
  const calls = usualCalls({
    challengeCharacters,
    seats: council.seats.length,
    reviewsPerSeat: council.reviewsPerSeat,
  });
  const costs = [
    ...council.seats.flatMap((seat) => [
      callMicros(seat, calls.opinion),
      callMicros(seat, calls.review),
    ]),
    ...council.extractors.slice(0, 1).map((one) => callMicros(one, calls.claims)),
    ...council.synthesizers.slice(0, 1).map((one) => callMicros(one, calls.draft)),
    ...(council.verifiers[0] ?? []).map((one) => callMicros(one, calls.verdict)),
  ];
  const known = costs.filter((cost) => cost !== null);
  return known.length < costs.length
    ? null
    : Math.round(known.reduce((sum, cost) => sum + cost, 0));
}
