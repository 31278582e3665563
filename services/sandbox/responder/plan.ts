import { businessStrategy } from './bank/business-strategy.ts';
import type { Consideration } from './bank/consideration.ts';
import { finance } from './bank/finance.ts';
import { hiring } from './bank/hiring.ts';
import { marketing } from './bank/marketing.ts';
import { operations } from './bank/operations.ts';
import { other } from './bank/other.ts';
import { product } from './bank/product.ts';
import { sales } from './bank/sales.ts';
import { onConstraint, onObjective } from './bank/voices.ts';
import { campsFor } from './camps.ts';
import type { Camps } from './camps.ts';
import { drawsFor } from './draws.ts';
import type { Draws } from './draws.ts';
import { courseById, middleWay } from './options.ts';
import type { Option } from './options.ts';
import { understand } from './question.ts';
import type { Question } from './question.ts';
import type { Asked } from './reading.ts';
import { slots } from './roster.ts';
import { fill } from './wording.ts';

/**
 * What a whole council is going to say about one question, worked out from the seed and the question
 * alone. Every call works it out anew and then plays its own part, so that opinions agree and
 * disagree as planned although no call knows of another.
 */
export type Plan = {
  question: Question;
  options: readonly Option[];
  camps: Camps;
  /** Two rounds of seven; a place makes three of its round's claims. */
  shared: readonly (readonly Consideration[])[];
  /** One more for each place of each row, which nobody else raises. */
  own: readonly (readonly Consideration[])[];
  /** Everything that may be claimed; a claim's text is one of its wordings. */
  points: readonly Point[];
  draws: Draws;
};

/** A claim with all the wordings in which it may appear. */
export type Point = {
  wordings: readonly string[];
  importance: 1 | 2 | 3;
  topic: string;
} & (
  | { kind: 'pro' | 'con'; option: number; row: number }
  | { kind: 'consideration'; consideration: Consideration }
  | { kind: 'given' }
);

export function planFor(seed: string, asked: Asked): Plan {
  const draws = drawsFor(seed, asked.type, asked.challenge.trim());
  const question = understand(asked);
  const options = rankedOptions(question, draws);
  const camps = campsFor(seed, draws, options.length);
  const chosen = relevantConsiderations(asked.type, question, options, draws);
  const shared = [chosen.slice(0, slots), chosen.slice(slots, 2 * slots)];
  const own = [chosen.slice(2 * slots, 3 * slots), chosen.slice(3 * slots, 4 * slots)];
  return {
    question,
    options,
    camps,
    shared,
    own,
    points: [
      ...options.flatMap((option, index) => optionPoints(option, index)),
      ...considerationPoints([...shared.flat(), ...own.flat()], question),
      ...givenPoints(asked),
    ],
    draws,
  };
}

/** The point that a claim's text words; undefined for a claim that came from elsewhere. */
export function pointOf(plan: Plan, text: string): Point | undefined {
  const wanted = comparable(text);
  return plan.points.find((point) => point.wordings.some((each) => comparable(each) === wanted));
}

/** The index of the option that a text names; -1 when it is none of ours. */
export function optionIndexOf(plan: Plan, text: string): number {
  const wanted = comparable(text);
  return plan.options.findIndex((option) => comparable(option.label) === wanted);
}

/**
 * Claims about the person's own constraints and objectives, at most two of each, with the places that
 * make them: four wordings for up to four places.
 */
export function givenPoints(asked: Asked): (Point & { kind: 'given' })[] {
  const pointFor = (kinds: typeof onConstraint, quoted: string): Point & { kind: 'given' } => {
    const kind = kinds.find(({ words }) => words.test(quoted)) ?? kinds[kinds.length - 1];
    return {
      kind: 'given',
      importance: 2,
      topic: kind?.topic ?? 'the condition you set',
      wordings: (kind?.says ?? []).map((wording) => wording.replace('{quote}', quotable(quoted))),
    };
  };
  return [
    ...asked.constraints.slice(0, 2).map((each) => pointFor(onConstraint, each)),
    ...asked.objectives.slice(0, 2).map((each) => pointFor(onObjective, each)),
  ];
}

/** Lower case, plain quotes, single spaces and no final stop, for comparing texts of any origin. */
export function comparable(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/\s+/g, ' ')
    .replace(/[.\s]+$/, '')
    .trim();
}

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

// Which way a council leans follows from what the person asked for; the draw decides close cases.
function rankedOptions(question: Question, draws: Draws): Option[] {
  const named =
    question.options.length === 2
      ? [...question.options, middleWay(question.options, question.business)]
      : [...question.options];
  const caution = leaning(question, [
    'risk',
    'budget',
    'limited',
    'small',
    'alone',
    'debt',
    'safe',
    'family',
    'tight',
    'less',
    'stress',
    'overwhelm',
  ]);
  const ambition = leaning(question, [
    'grow',
    'revenue',
    'scale',
    'double',
    'more',
    'increase',
    'fast',
    'opportun',
    'demand',
    'profit',
  ]);
  const scored = named.map((option, index) => ({
    option,
    score:
      option.course.boldness * (ambition - caution) * 0.12 +
      draws.fraction(`option ${index}`) -
      (index > 1 && question.options.length === 2 ? 0.6 : 0),
  }));
  return scored.toSorted((one, two) => two.score - one.score).map(({ option }) => option);
}

function leaning(question: Question, starts: readonly string[]): number {
  return Math.min(
    3,
    [...question.vocabulary.keys()].filter((word) => starts.some((start) => word.startsWith(start)))
      .length,
  );
}

/** All considerations that can apply, most relevant first. */
function relevantConsiderations(
  type: string,
  question: Question,
  options: readonly Option[],
  draws: Draws,
): Consideration[] {
  const words = [
    ...question.vocabulary.keys(),
    ...options.flatMap((option) => option.act.toLowerCase().split(' ')),
  ];
  const scored = Object.entries(bank).flatMap(([bankType, list]) =>
    list.map((consideration) => {
      const hits = consideration.words.filter((start) =>
        words.some((word) => word.startsWith(start)),
      ).length;
      const score =
        Math.min(hits, 4) * 1.1 +
        (bankType === type ? 1.3 : 0) +
        (consideration.general ? 0 : 0.5) +
        draws.fraction(`consideration ${consideration.id}`) * 2.2;
      return { consideration, applies: consideration.general || hits > 0, score };
    }),
  );
  return scored
    .filter(({ applies }) => applies)
    .toSorted((one, two) => two.score - one.score)
    .map(({ consideration }) => consideration);
}

// The second row argues in general terms, so that a panel of twelve does not say everything twice.
function optionPoints(option: Option, index: number): Point[] {
  const rows = [option.course, courseById('general')];
  return rows.flatMap((course, row) => {
    const point = (
      kind: 'pro' | 'con',
      wordings: readonly string[],
      importance: 1 | 2 | 3,
    ): Point => ({
      kind,
      option: index,
      row,
      importance,
      topic: option.doing,
      wordings: wordings.map((wording) =>
        fill(wording, { thing: option.thing, doing: option.doing }),
      ),
    });
    return [
      ...course.pros.map((pair, rank) => point('pro', pair, rank < 2 ? 3 : 2)),
      ...course.cons.map((pair, rank) => point('con', pair, rank < 1 ? 3 : 2)),
    ];
  });
}

function considerationPoints(list: readonly Consideration[], question: Question): Point[] {
  return list.map((consideration, rank) => ({
    kind: 'consideration',
    consideration,
    importance: rank < 2 ? 3 : rank < slots ? 2 : 1,
    topic: consideration.topic,
    wordings: consideration.says.map((wording) => fill(wording, { business: question.business })),
  }));
}

function quotable(text: string): string {
  const plain = text
    .replace(/[*_`#[\]<>|"“”]/g, '')
    .replace(/\s+/g, ' ')
    .replace(/[.\s]+$/, '')
    .trim();
  if (plain.length <= longestQuote) return plain;
  const cut = plain.slice(0, longestQuote);
  return `${cut.slice(0, cut.lastIndexOf(' '))} …`;
}

const longestQuote = 90;
