import { createHmac } from 'node:crypto';

/**
 * Everything random in a run is drawn from the run's seed, so that a replay draws the same. Draws are
 * HMAC-SHA256 of a purpose under the seed: different purposes are independent, and knowing one draw
 * reveals nothing about another.
 */

/**
 * A whole number from 0 up to, not including, `bound`, without modulo bias.
 *
 * @throws RangeError for a bound that is no integer from 1 to 2^32
 */
export function seededInteger(seed: string, purpose: string, bound: number): number {
  return draws(seed, purpose)(bound);
}

/** A Fisher–Yates shuffle of a copy of `items`; the same seed, purpose and length shuffle alike. */
export function seededOrder<Item>(seed: string, purpose: string, items: readonly Item[]): Item[] {
  const shuffled = [...items];
  const draw = draws(seed, `shuffle:${purpose}`);
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const chosen = draw(last + 1);
    const held = shuffled[last]!;
    shuffled[last] = shuffled[chosen]!;
    shuffled[chosen] = held;
  }
  return shuffled;
}

// Letter, digit, letter: recognisable in text, never a word, and free of A, B, C, 1, 2 and 3, whose
// order models are known to read as a rank. Vowels and look-alikes are left out, too.
const labelLetters = 'DFGHJKMNPQRTVWXZ';
const labelDigits = '456789';

/** Matches any label that `labelsFor` can give. */
export const labelPattern: RegExp = new RegExp(
  `^[${labelLetters}][${labelDigits}][${labelLetters}]$`,
);

/**
 * The label under which one reader sees each answer: random, unique for that reader, and different
 * for every other reader, so that labels carry neither order nor identity across calls.
 */
export function labelsFor(
  seed: string,
  reader: string,
  answers: readonly string[],
): Record<string, string> {
  const labels: Record<string, string> = {};
  const taken = new Set<string>();
  for (const answer of answers) {
    const label = firstFreeLabel(seed, reader, answer, taken);
    taken.add(label);
    labels[answer] = label;
  }
  return labels;
}

/** A delimiter that text written before the call cannot contain, 16 hex characters. */
export function dataDelimiter(seed: string, slot: string, attempt: number): string {
  return digest(seed, ['delimiter', slot, attempt]).toString('hex').slice(0, 16);
}

/**
 * The seed of a run whose seats are all simulated: the same question and strategy draw the same one,
 * so such runs are reproducible.
 */
export function simulatedRunSeed(sandboxSeed: string, challenge: string, strategy: string): string {
  return createHmac('sha256', sandboxSeed)
    .update(JSON.stringify([challenge, strategy]))
    .digest('hex')
    .slice(0, 32);
}

function firstFreeLabel(
  seed: string,
  reader: string,
  answer: string,
  taken: ReadonlySet<string>,
): string {
  for (let probe = 0; probe < maximumLabelProbes; probe += 1) {
    const bytes = digest(seed, ['label', reader, answer, probe]);
    const label =
      labelLetters[bytes[0]! % labelLetters.length]! +
      labelDigits[bytes[1]! % labelDigits.length]! +
      labelLetters[bytes[2]! % labelLetters.length]!;
    if (!taken.has(label)) return label;
  }
  throw new RangeError('More answers than labels.');
}

// 1,536 labels exist and a panel has at most 12 seats: the second probe all but always succeeds.
const maximumLabelProbes = 64;

function digest(seed: string, parts: readonly (string | number)[]): Buffer {
  return createHmac('sha256', seed).update(parts.join('\u001f')).digest();
}

function draws(seed: string, purpose: string): (bound: number) => number {
  let counter = 0;
  return (bound) => {
    if (!Number.isInteger(bound) || bound < 1 || bound > 2 ** 32)
      throw new RangeError(`Not a bound of a draw: ${bound}`);
    const fair = 2 ** 32 - (2 ** 32 % bound);
    for (;;) {
      const drawn = digest(seed, [purpose, counter]).readUInt32BE(0);
      counter += 1;
      if (drawn < fair) return drawn % bound;
    }
  };
}
