import * as v from 'valibot';
import { modelOf } from './catalogue.ts';
import { efforts } from './model.ts';
import { seatRoles, strategyList } from './strategy-list.ts';
import type { StrategyId } from './strategy-list.ts';

/**
 * The strategies: seats, extractors, synthesisers, verifiers, deadlines and price. Every row is
 * checked as the module loads, so a process with an invalid panel does not start.
 */

const effort = v.picklist(efforts);

/** A model in one role, with the effort asked of it; null leaves the provider's default. */
const modelUse = v.strictObject({ model: v.string(), effort: v.nullable(effort) });

const seat = v.strictObject({
  /** S1.., R1.., I1..: the first character stands for the role. */
  seat: v.pipe(v.string(), v.regex(/^[SRI][1-9]$/)),
  role: v.picklist(seatRoles),
  model: v.string(),
  effort: v.nullable(effort),
});

const milliseconds = v.pipe(v.number(), v.integer(), v.minValue(1000));

const strategy = v.strictObject({
  id: v.pipe(v.string(), v.regex(/^[a-z]+(?:-[a-z]+)*$/)),
  version: v.pipe(v.number(), v.integer(), v.minValue(1)),
  name: v.pipe(v.string(), v.minLength(1)),
  description: v.pipe(v.string(), v.minLength(1)),
  recommended: v.boolean(),
  costTier: v.picklist([1, 2, 3, 4, 5]),
  /** Credits for one run. */
  credits: v.pipe(v.number(), v.integer(), v.minValue(1)),
  panel: v.array(seat),
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
  /** What the bias panel measures, in words. */
  biasLabel: v.string(),
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
  /** Parts of the strategy's design that this version leaves out, as a person reads them. */
  notInThisVersion: v.array(v.string()),
});

/** What the list says of a strategy. */
export type StrategyDefinition = v.InferOutput<typeof strategy>;
export type Strategy = StrategyDefinition & { id: StrategyId };
export type Seat = v.InferOutput<typeof seat>;
export type SeatRole = (typeof seatRoles)[number];
export type ModelUse = v.InferOutput<typeof modelUse>;

const letterOf: Readonly<Record<SeatRole, string>> = {
  strategic: 'S',
  risk: 'R',
  implementation: 'I',
};

/** Raised as the module loads; each line names the strategy and what is wrong with it. */
class StrategyError extends Error {
  override readonly name = 'StrategyError';
}

/**
 * @throws ValiError for a wrong shape
 * @throws StrategyError for a panel that breaks a rule of the protocol
 */
export function checkStrategies(list: unknown): void {
  const problems = v
    .parse(v.array(strategy), list)
    .flatMap((each) => problemsOf(each).map((problem) => `${each.id}: ${problem}`));
  if (problems.length > 0) throw new StrategyError(problems.join('\n'));
}

/** What is wrong with a strategy, one sentence each; empty when it can run. */
export function problemsOf(each: StrategyDefinition): string[] {
  return [
    ...panelProblems(each),
    ...extractorProblems(each),
    ...synthesisProblems(each),
    ...modelProblems(each),
    ...deadlineProblems(each),
  ];
}

/** All strategies in the order in which they are shown. */
export const strategies: readonly Strategy[] = strategyList;
checkStrategies(strategies);

const byId: ReadonlyMap<string, Strategy> = new Map(strategies.map((each) => [each.id, each]));

/** Null for an id that is no strategy. */
export function strategyOf(id: string): Strategy | null {
  return byId.get(id) ?? null;
}

/** Every model that a run of the strategy may call, each once. */
export function modelsOf(each: StrategyDefinition): string[] {
  return [...new Set(usesOf(each).map((use) => use.model))];
}

function panelProblems({ panel, reviewsPerSeat, minFamilies }: StrategyDefinition): string[] {
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

function extractorProblems({ panel, extractors }: StrategyDefinition): string[] {
  const seated = new Set(panel.map((each) => each.model));
  const names = extractors.map((use) => use.model);
  const problems = names
    .filter((name) => seated.has(name))
    .map((name) => `seats its extractor ${name}`);
  if (familiesOf(names).size < 2) problems.push('has two extractors of one family');
  return problems;
}

function synthesisProblems({ synthesizers, verifiers }: StrategyDefinition): string[] {
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

function modelProblems(each: StrategyDefinition): string[] {
  return usesOf(each).flatMap(({ model, effort: asked }) => {
    const entry = modelOf(model);
    if (entry === null) return [`names ${model}, which the catalogue does not list`];
    const { effortLevels, jsonSchema, maxOutputTokens } = entry.capabilities;
    return [
      ...(asked === null || effortLevels.includes(asked)
        ? []
        : [`asks ${model} for effort ${asked}`]),
      ...(jsonSchema ? [] : [`names ${model}, which cannot answer by a schema`]),
      ...(maxOutputTokens >= each.maxOutputTokens ? [] : [`asks ${model} for too much output`]),
    ];
  });
}

function deadlineProblems({ deadlines }: StrategyDefinition): string[] {
  const { opinions, claimsMs, reviews, synthesisMs, runMs } = deadlines;
  const stages = opinions.hardMs + claimsMs + reviews.hardMs + synthesisMs;
  return [
    ...(opinions.softMs < opinions.hardMs && reviews.softMs < reviews.hardMs
      ? []
      : ['has a soft deadline after its hard one']),
    ...(stages <= runMs ? [] : ['has stages that outlast the run']),
  ];
}

function usesOf(each: StrategyDefinition): ModelUse[] {
  return [
    ...each.panel.map(({ model, effort: asked }) => ({ model, effort: asked })),
    ...each.extractors,
    ...each.synthesizers,
    ...each.verifiers.flat(),
  ];
}

function familiesOf(modelIds: readonly string[]): Set<string> {
  return new Set(modelIds.map((id) => modelOf(id)?.family ?? id));
}
