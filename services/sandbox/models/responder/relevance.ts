import { businessStrategy } from './bank/business-strategy.ts';
import type { Consideration } from './bank/consideration.ts';
import { finance } from './bank/finance.ts';
import { hiring } from './bank/hiring.ts';
import { marketing } from './bank/marketing.ts';
import { operations } from './bank/operations.ts';
import { other } from './bank/other.ts';
import { product } from './bank/product.ts';
import { sales } from './bank/sales.ts';
import { countWords } from './words/details.ts';
import type { Draws } from './words/draws.ts';
import type { Option } from './options.ts';
import type { Asked } from './reading.ts';

const bank: Readonly<Record<string, readonly Consideration[]>> = {
  business_strategy: businessStrategy,
  marketing,
  operations,
  finance,
  product,
  sales,
  hiring,
  other,
};

/** Whether a consideration makes sense to somebody who recommends this option. */
export function suits(consideration: Consideration, option: Option | undefined): boolean {
  return (
    consideration.presupposes === undefined ||
    consideration.presupposes.includes(option?.course.id ?? '')
  );
}

/**
 * Considerations that can apply to a question, most relevant first. What decides is which words of
 * the question they share, and rare words count for more; then the field that most of its words come
 * from, for people leave the type as it was preset; and a little chance.
 */
export function relevantConsiderations(
  asked: Asked,
  options: readonly Option[],
  draws: Draws,
): Consideration[] {
  const words = new Set(countWords(wantedText(asked)).keys());
  const hits = new Map(
    Object.values(bank)
      .flat()
      .map((consideration) => [consideration.id, hitsOf(consideration, words)]),
  );
  const fields = fieldsOf(asked.type, hits);
  const inQuestion = new Set(options.map(({ course }) => course.id));
  return Object.entries(bank)
    .flatMap(([field, list]) =>
      list.map((consideration) => {
        const hit = hits.get(consideration.id) ?? 0;
        const near = fields.get(field) ?? 0;
        const applies =
          hit >= clearHit || (consideration.general && (near > 0 || universal.has(field)));
        return {
          consideration,
          score:
            Math.min(hit, 2) +
            near +
            luck(field, draws.fraction(`consideration ${consideration.id}`)) -
            (applies ? 0 : consideration.general ? lastResort : 2 * lastResort),
        };
      }),
    )
    .filter(
      ({ consideration }) =>
        consideration.takesSides?.some((course) => inQuestion.has(course)) !== true,
    )
    .toSorted((one, two) => two.score - one.score)
    .map(({ consideration }) => consideration);
}

// What holds always comes after what the words point to, and more by chance than by words, so that it
// is not said every time.
function luck(field: string, drawn: number): number {
  return universal.has(field) ? drawn * 1.4 - 0.9 : drawn * 0.6;
}

// Far more than any score: what does not really apply comes after all that does.
const lastResort = 10;
// Two words that few considerations list, or one that hardly any does.
const clearHit = 0.55;
const universal: ReadonlySet<string> = new Set(['business_strategy', 'other']);

// "No paid ads" must not bring up advertising.
function wantedText(asked: Asked): string {
  return [
    asked.challenge,
    asked.challenge,
    asked.context.slice(0, readContext),
    ...asked.objectives,
    ...asked.constraints,
  ]
    .join('\n')
    .replace(/\b(?:no|not|without|never|avoid|don['\u2019]t(?: want)?)\b(?: [\w-]+){1,3}/gi, ' ');
}

const readContext = 6000;

function hitsOf(consideration: Consideration, words: ReadonlySet<string>): number {
  let sum = 0;
  for (const start of consideration.words)
    if (isAmong(start, words)) sum += 1 / Math.sqrt(mentions.get(start) ?? 1);
  return sum;
}

// Short beginnings would match too much: "ad" is no "advice".
function isAmong(start: string, words: ReadonlySet<string>): boolean {
  if (start.length <= 3) return words.has(start) || words.has(`${start}s`);
  for (const word of words) if (word.startsWith(start)) return true;
  return false;
}

/** How many considerations list each beginning. */
const mentions: ReadonlyMap<string, number> = Object.values(bank)
  .flat()
  .flatMap(({ words }) => words)
  .reduce(
    (counts, word) => counts.set(word, (counts.get(word) ?? 0) + 1),
    new Map<string, number>(),
  );

/** The fields that the words point to, and the one that was declared if it says anything. */
function fieldsOf(type: string, hits: ReadonlyMap<string, number>): Map<string, number> {
  const ranked = Object.entries(bank)
    .map(([field, list]) => ({
      field,
      sum: list.reduce((sum, { id }) => sum + (hits.get(id) ?? 0), 0) / list.length,
    }))
    .toSorted((one, two) => two.sum - one.sum);
  const near = new Map<string, number>();
  const add = (field: string | undefined, amount: number) => {
    if (field !== undefined) near.set(field, (near.get(field) ?? 0) + amount);
  };
  add(ranked[0]?.field, 0.6);
  add(ranked[1]?.field, 0.4);
  add(ranked[2]?.field, 0.2);
  if (!universal.has(type) && bank[type] !== undefined) add(type, 0.45);
  return near;
}
