import * as v from 'valibot';
import { visibleLine } from './catalogue/model-entry.ts';
import type { ModelEntry } from './catalogue/model-entry.ts';
import { efforts } from './model.ts';
import { seatRoles, strategyIds } from './strategy-list.ts';
import type { SeatRole } from './strategy-list.ts';

/**
 * The strategies: seats, extractors, synthesisers, verifiers, deadlines and price. Every one is
 * checked as the catalogue is loaded, so a process with an invalid panel does not start.
 */

const effort = v.picklist(efforts);

/** A model in one role, with the effort asked of it; null asks for that of its stage. */
const modelUse = v.strictObject({
  model: v.string(),
  effort: v.optional(v.nullable(effort), null),
});

const seat = v.strictObject({
  /** S1.., R1.., I1..: the first character stands for the role. */
  seat: v.pipe(v.string(), v.regex(/^[SRI][1-9]$/)),
  role: v.picklist(seatRoles),
  model: v.string(),
  effort: v.optional(v.nullable(effort), null),
});

/** Nobody waits longer for an answer. */
export const longestRunMs = 3 * 3_600_000;

const milliseconds = v.pipe(v.number(), v.integer(), v.minValue(1000), v.maxValue(longestRunMs));

export const strategy = v.strictObject({
  id: v.picklist(strategyIds),
  version: v.pipe(v.number(), v.integer(), v.minValue(1)),
  name: visibleLine,
  description: visibleLine,
  recommended: v.boolean(),
  costTier: v.picklist([1, 2, 3, 4, 5]),
  /** Credits for one run. */
  credits: v.pipe(v.number(), v.integer(), v.minValue(1)),
  panel: v.array(seat),
  /** Asked of every model that has no effort of its own; it takes the nearest that it knows. */
  efforts: v.optional(
    v.strictObject({
      opinion: v.optional(effort, 'medium'),
      claims: v.optional(effort, 'low'),
      review: v.optional(effort, 'low'),
      draft: v.optional(effort, 'medium'),
      verdict: v.optional(effort, 'low'),
    }),
    {},
  ),
  /** Answers that each seat reviews. */
  reviewsPerSeat: v.pipe(v.number(), v.integer(), v.minValue(1)),
  /** The second is called when the first fails. */
  extractors: v.strictTuple([modelUse, modelUse]),
  /** The second is called when the first fails its checks twice. */
  synthesizers: v.strictTuple([modelUse, modelUse]),
  /** Which two verify a draft, by the index of the synthesiser that wrote it. */
  verifiers: v.strictTuple([
    v.strictTuple([modelUse, modelUse]),
    v.strictTuple([modelUse, modelUse]),
  ]),
  biasDetection: v.boolean(),
  parallelExecution: v.boolean(),
  typicalSeconds: v.pipe(v.number(), v.integer(), v.minValue(1)),
  /** A stage closes with answers of at least so many families. */
  minFamilies: v.picklist([2, 3]),
  /** The bound of one call's output, thinking included. */
  maxOutputTokens: v.pipe(v.number(), v.integer(), v.minValue(1000)),
  deadlines: v.strictObject({
    opinions: v.strictObject({ softMs: milliseconds, hardMs: milliseconds }),
    claimsMs: milliseconds,
    reviews: v.strictObject({ softMs: milliseconds, hardMs: milliseconds }),
    synthesisMs: milliseconds,
    runMs: milliseconds,
  }),
  /** Bounds of production that the operator lifts: seats below their tier, cost against price. */
  lifted: v.optional(
    v.strictObject({
      seats: v.optional(v.boolean(), false),
      price: v.optional(v.boolean(), false),
    }),
    { seats: false, price: false },
  ),
});

export type Strategy = v.InferOutput<typeof strategy>;
export type ModelUse = v.InferOutput<typeof modelUse>;
type ModelOf = (id: string) => ModelEntry | null;

const letterOf: Readonly<Record<SeatRole, string>> = {
  strategic: 'S',
  risk: 'R',
  implementation: 'I',
};

/** What is wrong with a strategy, one sentence each; empty when it can run. */
export function problemsOf(each: Strategy, modelOf: ModelOf): string[] {
  const familiesOf = (modelIds: readonly string[]) =>
    new Set(modelIds.map((id) => modelOf(id)?.family ?? id));
  return [
    ...panelProblems(each, familiesOf),
    ...extractorProblems(each, familiesOf),
    ...synthesisProblems(each, familiesOf),
    ...modelProblems(each, modelOf),
    ...deadlineProblems(each),
  ];
}

type FamiliesOf = (modelIds: readonly string[]) => Set<string>;

/** Every model that a run of the strategy may call, each once. */
export function modelsOf(each: Strategy): string[] {
  return [...new Set(usesOf(each).map((use) => use.model))];
}

function panelProblems(
  { panel, reviewsPerSeat, minFamilies }: Strategy,
  familiesOf: FamiliesOf,
): string[] {
  const models = panel.map((each) => each.model);
  const codes = panel.map((each) => each.seat);
  const problems: string[] = [];
  if (panel.length < 7) problems.push('has fewer than 7 seats');
  if (new Set(codes).size < codes.length) problems.push('names a seat twice');
  if (new Set(models).size < models.length) problems.push('seats a model twice');
  if (panel.some((each) => !each.seat.startsWith(letterOf[each.role]))) {
    problems.push('has a seat whose letter is not its role');
  }
  for (const role of seatRoles) {
    const seated = panel.filter((each) => each.role === role).map((each) => each.model);
    if (familiesOf(seated).size < 2) problems.push(`seats fewer than 2 families as ${role}`);
  }
  if (familiesOf(models).size < minFamilies) {
    problems.push(`seats fewer than ${minFamilies} families`);
  }
  if (reviewsPerSeat > panel.length - 1)
    problems.push('asks for more reviews than there are peers');
  return problems;
}

function extractorProblems({ panel, extractors }: Strategy, familiesOf: FamiliesOf): string[] {
  const seated = new Set(panel.map((each) => each.model));
  const names = extractors.map((use) => use.model);
  const problems = names
    .filter((name) => seated.has(name))
    .map((name) => `seats its extractor ${name}`);
  if (familiesOf(names).size < 2) problems.push('has two extractors of one family');
  return problems;
}

function synthesisProblems(
  { synthesizers, verifiers }: Strategy,
  familiesOf: FamiliesOf,
): string[] {
  const problems: string[] = [];
  if (familiesOf(synthesizers.map((use) => use.model)).size < 2) {
    problems.push('has two synthesisers of one family');
  }
  synthesizers.forEach((writer, index) => {
    const pair = verifiers[index as 0 | 1].map((use) => use.model);
    // Three families among three models: the verifiers differ from each other and from the writer.
    if (familiesOf([writer.model, ...pair]).size < 3) {
      problems.push(
        `lets a family verify itself or another verifier, with ${writer.model} writing`,
      );
    }
  });
  return problems;
}

function modelProblems(each: Strategy, modelOf: ModelOf): string[] {
  return usesOf(each).flatMap(({ model, effort: asked }) => {
    const entry = modelOf(model);
    if (entry === null) return [`names ${model}, which the catalogue does not list`];
    return [
      ...(asked === null || entry.efforts.includes(asked)
        ? []
        : [`asks ${model} for effort ${asked}`]),
      ...(entry.maxOutputTokens >= each.maxOutputTokens
        ? []
        : [`asks ${model} for too much output`]),
    ];
  });
}

function deadlineProblems({ deadlines }: Strategy): string[] {
  const { opinions, claimsMs, reviews, synthesisMs, runMs } = deadlines;
  const stages = opinions.hardMs + claimsMs + reviews.hardMs + synthesisMs;
  return [
    ...(opinions.softMs < opinions.hardMs && reviews.softMs < reviews.hardMs
      ? []
      : ['has a soft deadline after its hard one']),
    ...(stages <= runMs ? [] : ['has stages that outlast the run']),
  ];
}

function usesOf(each: Strategy): ModelUse[] {
  return [
    ...each.panel.map(({ model, effort: asked }) => ({ model, effort: asked })),
    ...each.extractors,
    ...each.synthesizers,
    ...each.verifiers.flat(),
  ];
}
