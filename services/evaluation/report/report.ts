import { softwareVersion } from '#services/platform/process/software.ts';
import { strongestOf } from '#services/evaluation/answers/conditions.ts';
import { collectedCase } from '#services/evaluation/collected.ts';
import type { CollectedCase } from '#services/evaluation/collected.ts';
import type { Ended } from '#services/evaluation/evaluate.ts';
import type { EvaluationPlan } from '#services/evaluation/plan.ts';
import { offerOf } from '#services/evaluation/prices.ts';
import type { Budget } from '#services/evaluation/records/budget.ts';
import type { Folder } from '#services/evaluation/records/folder.ts';
import type { Condition } from '#services/evaluation/records/records.ts';
import { fewestCases } from '#services/evaluation/statistics.ts';
import { currentMetric } from '#services/optimizations/council/metric.ts';
import { everyModel } from '#services/optimizations/run/slots.ts';
import { figuresOf } from './figures.ts';
import type { Figures } from './figures.ts';
import { verdictsOf } from './scores.ts';

/** The report of an evaluation as one document; `markdown.ts` puts it into words. */

export type Missing = { kind: 'answer' | 'judgment'; caseId: string; what: string; why: string };

export type Report = {
  /** Null with real models. */
  simulated: null | {
    notice: string;
    plantedBest: Condition | null;
    /** Whether the figures name what is planted; null with missing work or too few cases. */
    found: boolean | null;
  };
  ended: Ended;
  at: string;
  seed: number;
  versions: Record<'product' | 'prompts' | 'judging' | 'metric' | 'catalogue', string>;
  strategy: { id: string; version: number };
  conditions: readonly Condition[];
  /** Models that are the strongest of the panel in some case; usually one. */
  strongest: string[];
  cases: { asked: number; fewestForAVerdict: number };
  budget: { limitUsd: number | null; countedUsd: number };
  models: ReportedModel[];
  judges: (ReportedModel & { siblings: number })[];
  figures: Figures;
  missing: Missing[];
  refusals: { answers: number; judgments: number };
  perCase: { caseId: string; type: string; complete: boolean; scores: Record<string, string> }[];
};

type ReportedModel = {
  places: string;
  model: string;
  provider: string;
  remoteId: string;
  effort: string | null;
  inputPerMTok: number | null;
  outputPerMTok: number | null;
};

export const simulatedNotice =
  'Simulated: no model was asked. This checks the evaluation itself and says nothing about quality.';

export function reportOf(
  plan: EvaluationPlan,
  folder: Folder,
  {
    ended,
    budget,
    limitMicros,
    at,
  }: {
    ended: Ended;
    budget: Budget;
    limitMicros: number | null;
    at: string;
  },
): Report {
  const collected = plan.cases.map((planned) => collectedCase(plan, folder, planned));
  const judges = plan.judges.map(({ offer }) => offer.model);
  const figures = figuresOf(collected, plan.conditions, judges, plan);
  const { planted } = plan;
  const missing = collected.flatMap((one) => missingIn(plan, one));
  const refused = missing.filter(({ why }) => why === 'refusal');
  const hasAll = missing.length === 0;
  // Where the planted condition is left out, none of the others is the best.
  const comparedBest = plan.conditions.find((condition) => condition === planted?.best) ?? null;
  return {
    simulated: planted && {
      notice: simulatedNotice,
      plantedBest: planted.best,
      found: hasAll && figures.completeCases >= fewestCases ? figures.best === comparedBest : null,
    },
    ended,
    at,
    seed: plan.seed,
    versions: {
      product: softwareVersion,
      ...plan.versions,
      metric: currentMetric.version,
      catalogue: plan.catalogue.version,
    },
    strategy: { id: plan.strategy.id, version: plan.strategy.version },
    conditions: plan.conditions,
    strongest: [...new Set(plan.cases.map(({ council }) => strongestOf(council).model))],
    cases: { asked: collected.length, fewestForAVerdict: fewestCases },
    budget: {
      limitUsd: limitMicros === null ? null : limitMicros / 1e6,
      countedUsd: budget.spentMicros() / 1e6,
    },
    models: answeringModels(plan),
    judges: plan.judges.map(({ offer, effort, siblings }) => ({
      ...reported(plan, { ...offer, effort }, 'judge'),
      siblings,
    })),
    figures,
    missing,
    refusals: {
      answers: refused.filter(({ kind }) => kind === 'answer').length,
      judgments: refused.filter(({ kind }) => kind === 'judgment').length,
    },
    perCase: collected.map((one) => ({
      caseId: one.evaluated.id,
      type: one.evaluated.type,
      complete: one.isComplete,
      scores: verdictsIn(one),
    })),
  };
}

function missingIn(plan: EvaluationPlan, { evaluated, answers, judged }: CollectedCase): Missing[] {
  const caseId = evaluated.id;
  const answersMissing = plan.conditions.flatMap((condition): Missing[] => {
    const answer = answers[condition];
    const why = answer === undefined ? 'not made' : answer.failure;
    return why === null ? [] : [{ kind: 'answer', caseId, what: `answer of ${condition}`, why }];
  });
  // Without an answer there is nothing to judge, which is said once.
  if (answersMissing.length > 0) return answersMissing;
  return judged.flatMap(({ pair, judge, oneFirst, otherFirst }) =>
    (
      [
        [pair.one, pair.other, oneFirst],
        [pair.other, pair.one, otherFirst],
      ] as const
    ).flatMap(([first, second, line]): Missing[] => {
      const why = line === null ? 'not made' : line.failure;
      const what = `judgment of ${judge.offer.model} on ${first} before ${second}`;
      return why === null ? [] : [{ kind: 'judgment', caseId, what, why }];
    }),
  );
}

/** By pair and judge: which condition won, `tie`, or `disagreeing orders`. */
function verdictsIn({ judged }: CollectedCase): Record<string, string> {
  return Object.fromEntries(
    judged.flatMap((each) => {
      const { pair, judge } = each;
      const verdicts = verdictsOf(each);
      if (verdicts === null) return [];
      const [before, after] = verdicts;
      const winner = before === 'equal' ? 'tie' : pair[before];
      const verdict = before === after ? winner : 'disagreeing orders';
      return [[`${pair.one} or ${pair.other}, ${judge.offer.model}`, verdict]];
    }),
  );
}

/** Each model once, with all its places, over all cases. */
function answeringModels(plan: EvaluationPlan): ReportedModel[] {
  const places = new Map<string, { model: ReportedModel; in: Set<string> }>();
  for (const { council } of plan.cases) {
    const { seats, schedule } = council;
    const named = new Map<object, string>([
      ...seats.map((seat) => [seat, seat.seat] as const),
      ...schedule.extractors.map((one) => [one, 'extractor'] as const),
      ...schedule.synthesizers.map((one) => [one, 'writer'] as const),
      ...schedule.verifiers.flat().map((one) => [one, 'verifier'] as const),
    ]);
    for (const called of everyModel(council)) {
      const key = `${called.model} ${called.provider} ${called.effort}`;
      const known = places.get(key) ?? { model: reported(plan, called, ''), in: new Set() };
      known.in.add(named.get(called) ?? '');
      places.set(key, known);
    }
  }
  return [...places.values()].map(({ model, in: held }) => ({
    ...model,
    places: [...held].join(', '),
  }));
}

function reported(
  { offers }: EvaluationPlan,
  called: { model: string; provider: string; effort: string | null; remoteId?: string },
  places: string,
): ReportedModel {
  const { model, provider, effort } = called;
  const offer = offerOf(offers, called);
  return {
    places,
    model,
    provider,
    remoteId: called.remoteId ?? model,
    effort,
    inputPerMTok: offer?.price?.inputPerMTok ?? null,
    outputPerMTok: offer?.price?.outputPerMTok ?? null,
  };
}
