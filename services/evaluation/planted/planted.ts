import { conditions } from '#services/evaluation/records/records.ts';
import type { Condition } from '#services/evaluation/records/records.ts';
import { seededInteger } from '#services/platform/seeded.ts';

/**
 * A truth that is planted, so that the evaluation can be checked against it: how good each answer is,
 * and how judges see it with an error. It says nothing about any model.
 */
export type Planted = {
  seed: number;
  /** Null: all conditions are equally good. */
  best: Condition | null;
};

/** The scale is arbitrary: what counts is the lead against the spread. */
const usualMerit = 0.5;
const lead = 0.18;
const spreadOfAnswers = 0.1;
const spreadOfJudges = 0.08;
/** Added to the first answer that a judge reads, as judges tend to do. */
const firstBonus = 0.02;
const closeCall = 0.03;

/** A condition for a seed, so that many seeds plant all of them. */
export function plantedBest(seed: number): Condition {
  return conditions[seededInteger(`planted ${seed}`, 'best', conditions.length)]!;
}

/** How good an answer is, 0 to 1; drawn for each question and condition. */
export function meritOf({ seed, best }: Planted, question: string, condition: Condition): number {
  const drawn = spread(`merit ${seed} ${question}`, condition) * spreadOfAnswers;
  return Math.min(0.9999, Math.max(0, usualMerit + (condition === best ? lead : 0) + drawn));
}

export type Seen = { better: 'first' | 'second' | 'equal'; first: number; second: number };

/** What a judge sees of two merits, in the order in which it reads them. */
export function seenBy(
  { seed }: Planted,
  {
    judge,
    question,
    first,
    second,
  }: { judge: string; question: string; first: number; second: number },
): Seen {
  const error = (place: string) =>
    spread(`judge ${seed} ${judge} ${question}`, `${place} ${first} ${second}`) * spreadOfJudges;
  const seen = { first: first + firstBonus + error('first'), second: second + error('second') };
  const ahead = seen.first - seen.second;
  const better = Math.abs(ahead) < closeCall ? 'equal' : ahead > 0 ? 'first' : 'second';
  return { ...seen, better };
}

/** About normal with deviation 1: four uniform draws. */
function spread(seed: string, purpose: string): number {
  const draws = [1, 2, 3, 4].map(
    (draw) => seededInteger(seed, `${purpose} ${draw}`, 1_000_000) / 1_000_000,
  );
  return (draws.reduce((sum, one) => sum + one, 0) - 2) * Math.sqrt(3);
}

// ── the mark that a simulated answer carries ────────────────────────────────────────────────────

const zeroCode = 'a'.charCodeAt(0);

/** Letters and no figures, because a program removes figures that stand in no source. */
export function markOf(merit: number): string {
  const digits = String(Math.floor(merit * 10_000)).padStart(4, '0');
  const code = digits.replace(/\d/g, (digit) => String.fromCharCode(zeroCode + Number(digit)));
  return `(Simulated, merit ${code}.)`;
}

/** The merit that a simulated answer carries. @throws RangeError for any other text */
export function meritIn(text: string): number {
  const [, code] = /\(Simulated, merit ([a-j]{4})\.\)/.exec(text) ?? [];
  if (code === undefined) throw new RangeError('This answer was not simulated');
  return Number(code.replace(/./g, (letter) => String(letter.charCodeAt(0) - zeroCode))) / 10_000;
}
