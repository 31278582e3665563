import type { Consideration } from './bank/consideration.ts';
import type { Course } from './bank/courses.ts';
import { onConstraint, onObjective } from './bank/voices.ts';
import { campsFor, rivalIn } from './camps.ts';
import type { Camps } from './camps.ts';
import { drawsFor } from './words/draws.ts';
import type { Draws } from './words/draws.ts';
import { courseById, middleWay } from './options.ts';
import type { Option } from './options.ts';
import { relevantConsiderations, suits } from './relevance.ts';
import { understand } from './question.ts';
import type { Question } from './question.ts';
import type { Asked } from './reading.ts';
import { slots } from './roster.ts';
import { fill, inTheirWords } from './words/wording.ts';

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
  /** The first point of each wording, as `comparable` makes it. */
  pointByWording: ReadonlyMap<string, Point>;
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
  const theirs = (text: string) => inTheirWords(text, question.audience, question.business);
  const options = rankedOptions(question, draws).map((option) => optionInWords(option, theirs));
  const camps = campsFor(seed, draws, options.length);
  const chosen = relevantConsiderations(asked, options, draws).map((each) =>
    considerationInWords(each, theirs),
  );
  const taken = new Set(camps.ofSlot);
  const common = chosen.filter((consideration) =>
    [...taken, rivalIn(camps, 0)].every((index) => suits(consideration, options[index])),
  );
  const shared = [common.slice(0, slots), common.slice(slots, 2 * slots)];
  const rest = chosen.filter((consideration) => !shared.flat().includes(consideration));
  const own = ownConsiderations(rest, options, camps);
  const points = [
    ...options.flatMap((option, index) => optionPoints(option, index, theirs)),
    ...considerationPoints([...shared.flat(), ...own.flat()], question),
    ...givenPoints(asked),
  ];
  return {
    question,
    options,
    camps,
    shared,
    own,
    points,
    pointByWording: new Map(
      // The first of two that are worded alike comes last, and stays.
      points
        .toReversed()
        .flatMap((point) => point.wordings.map((wording) => [comparable(wording), point] as const)),
    ),
    draws,
  };
}

/** The point that a claim's text words; undefined for a claim that came from elsewhere. */
export function pointOf(plan: Plan, text: string): Point | undefined {
  return plan.pointByWording.get(comparable(text));
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
function givenPoints(asked: Asked): (Point & { kind: 'given' })[] {
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

// Which way a council leans follows from what the person asked for; the draw decides close cases.
// A third way that nobody asked about comes last.
function rankedOptions(question: Question, draws: Draws): Option[] {
  const caution = leaning(question, cautiousWords);
  const ambition = leaning(question, ambitiousWords);
  const ranked = question.options
    .map((option, index) => ({
      option,
      score:
        option.course.boldness * (ambition - caution) * 0.12 + draws.fraction(`option ${index}`),
    }))
    .toSorted((one, two) => two.score - one.score)
    .map(({ option }) => option);
  const hasTrial = ranked.some(({ course }) => course.id === 'trial');
  return ranked.length === 2 && !hasTrial
    ? [...ranked, middleWay(ranked, question.business)]
    : ranked;
}

const cautiousWords = [
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
];
const ambitiousWords = [
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
];

function optionInWords(option: Option, theirs: (text: string) => string): Option {
  return { ...option, course: courseInWords(option.course, theirs) };
}

function courseInWords(course: Course, theirs: (text: string) => string): Course {
  const two = ([one, other]: readonly [string, string]) => [theirs(one), theirs(other)] as const;
  const [first, second, third, fourth] = course.pros;
  const [one, another, last] = course.cons;
  return {
    ...course,
    pros: [two(first), two(second), two(third), two(fourth)],
    cons: [two(one), two(another), two(last)],
    tails: two(course.tails),
    steps: two(course.steps),
    stops: two(course.stops),
    gap: theirs(course.gap),
  };
}

function considerationInWords(
  each: Consideration,
  theirs: (text: string) => string,
): Consideration {
  const [first, second, third] = each.says;
  return {
    ...each,
    topic: theirs(each.topic),
    says: [theirs(first), theirs(second), theirs(third)],
    why: theirs(each.why),
    watch: theirs(each.watch),
    danger: theirs(each.danger),
    assumption: theirs(each.assumption),
    gap: theirs(each.gap),
    step: theirs(each.step),
  };
}

// Further down the list it is too far from the question, whatever it presupposes.
const nearest = 24;

// What only the friends of an option would raise goes to them; each place of each row gets its own.
function ownConsiderations(
  pool: readonly Consideration[],
  options: readonly Option[],
  camps: Camps,
): Consideration[][] {
  const used = new Set<string>();
  return [0, 1].map(() =>
    camps.ofSlot.map((index) => {
      const fitting = pool.filter(({ id }) => !used.has(id));
      const next =
        fitting
          .slice(0, nearest)
          .find((each) => each.presupposes !== undefined && suits(each, options[index])) ??
        fitting.find((each) => suits(each, options[index]));
      if (next === undefined) throw new RangeError('The bank has too few considerations.');
      used.add(next.id);
      return next;
    }),
  );
}

function leaning(question: Question, starts: readonly string[]): number {
  return Math.min(
    3,
    [...question.vocabulary.keys()].filter((word) => starts.some((start) => word.startsWith(start)))
      .length,
  );
}

// The second row argues in general terms, so that a panel of twelve does not say everything twice.
function optionPoints(option: Option, index: number, theirs: (text: string) => string): Point[] {
  const rows = [option.course, courseInWords(courseById('general'), theirs)];
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
      ...course.pros.map((pair, rank) => point('pro', pair, index === 0 && rank === 0 ? 3 : 2)),
      ...course.cons.map((pair) => point('con', pair, 2)),
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
