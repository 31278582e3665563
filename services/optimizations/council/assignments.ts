/**
 * The review design: who reads which answer, and in which place. The accepted seats form a seeded
 * order around a ring; the reviewer at index i reads the answers at i + o₁, i + o₂, … (mod n), in
 * that sequence. A ring guarantees three things for any offsets: no seat reads its own answer,
 * every answer gets exactly k reviews, and every answer appears exactly once in each place, so that
 * a model's bias for the first answer it reads cannot favour any answer (Zheng et al. 2306.05685,
 * Shi et al. 2406.07791). The offsets decide the rest, see `reviewOffsets`.
 *
 * Order, offsets and labels are fixed when the opinions close; a later exclusion only removes rows.
 */

/** The largest panel. Every exact search of the council is sized for it. */
export const maximumSeats = 12;

/**
 * The offsets of a design with `answers` answers and at most `reviewsPerSeat` reviews by each seat;
 * as many as there are peers when that is fewer. Found by search, smallest first: among all sets of
 * offsets those that cover the pairs of answers as evenly as possible, and of those the first that
 * can be read in a sequence of different steps, so that no answer follows another twice.
 *
 * Throws a RangeError outside 1 to 12 answers.
 */
export function reviewOffsets(answers: number, reviewsPerSeat: number): number[] {
  if (!Number.isInteger(answers) || answers < 1 || answers > maximumSeats)
    throw new RangeError(`A review design takes 1 to ${maximumSeats} answers.`);
  if (!Number.isInteger(reviewsPerSeat) || reviewsPerSeat < 1)
    throw new RangeError('A review design takes at least one review by each seat.');
  const size = Math.min(reviewsPerSeat, answers - 1);
  const sets = offsetSets(answers, size, 1);
  const unevenness = sets.map((set) => spread(pairCoverage(answers, set)));
  const least = Math.min(...unevenness);
  for (const [index, set] of sets.entries()) {
    const sequence = unevenness[index] === least ? readingSequence(answers, set, []) : null;
    if (sequence) return sequence;
  }
  throw new Error(`No review design for ${answers} answers with ${size} reviews by each seat.`);
}

/**
 * Reviewer → the answers that it reads, in the order in which they are shown.
 * `order` is the base order of all accepted seats, `offsets` as given by `reviewOffsets`.
 */
export function reviewAssignments(
  order: readonly string[],
  offsets: readonly number[],
): Record<string, string[]> {
  return Object.fromEntries(
    order.map((reviewer, index) => [
      reviewer,
      offsets.map((offset) => order[(index + offset) % order.length]!),
    ]),
  );
}

/**
 * How many reviewers read both answers of a pair, for the pairs at distance 1, 2, … ⌊n/2⌋ on the
 * ring. Pairs at one distance are all alike, and distance n − d is distance d from the other side.
 */
export function pairCoverage(answers: number, offsets: readonly number[]): number[] {
  const shown = new Set(offsets);
  const distances = Array.from({ length: Math.floor(answers / 2) }, (_, index) => index + 1);
  return distances.map(
    (distance) => offsets.filter((offset) => shown.has((offset + distance) % answers)).length,
  );
}

/** All ascending choices of `size` offsets from `from` to n − 1, in lexicographic order. */
function offsetSets(answers: number, size: number, from: number): number[][] {
  if (size === 0) return [[]];
  const sets: number[][] = [];
  for (let first = from; first <= answers - size; first += 1)
    for (const rest of offsetSets(answers, size - 1, first + 1)) sets.push([first, ...rest]);
  return sets;
}

/**
 * The lexicographically first sequence of the set with all steps different; null if there is none.
 */
function readingSequence(
  answers: number,
  set: readonly number[],
  begun: readonly number[],
): number[] | null {
  if (begun.length === set.length) return [...begun];
  for (const offset of set) {
    if (begun.includes(offset)) continue;
    const longer = [...begun, offset];
    const steps = stepsOf(answers, longer);
    if (new Set(steps).size < steps.length) continue;
    const sequence = readingSequence(answers, set, longer);
    if (sequence) return sequence;
  }
  return null;
}

function stepsOf(answers: number, sequence: readonly number[]): number[] {
  return sequence.slice(1).map((offset, index) => (offset - sequence[index]! + answers) % answers);
}

function spread(counts: readonly number[]): number {
  return counts.length === 0 ? 0 : Math.max(...counts) - Math.min(...counts);
}
