import type { Catalogue } from '#services/models/catalogue.ts';
import type { Offer } from '#services/models/offer.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { Strategy } from '#services/models/strategies.ts';
import { lanesOf } from '#services/models/waiting.ts';
import type { Endpoint } from '#services/models/waiting.ts';
import { offersFor } from '#services/optimizations/panel.ts';
import { cheapestCredit } from '#services/payments/catalogue.ts';
import { councilFor, modelsOf } from './answers/councils.ts';
import type { CreatedData } from './answers/conditions.ts';
import { promptsVersion } from './answers/version.ts';
import { hashOfCase } from './cases.ts';
import type { EvaluationCase } from './cases.ts';
import { EvaluationError } from './evaluation-error.ts';
import { chooseJudges } from './judging/judges.ts';
import type { Judge } from './judging/judges.ts';
import { judgmentPrompt } from './judging/prompt.ts';
import type { Planted } from './planted/planted.ts';
import { offerOf } from './prices.ts';
import { hashOf } from './records/hash.ts';
import type { AnswerLine, Condition } from './records/records.ts';

/** Everything that is decided before the first call: who answers, who judges, and what names each piece of work. */
export type EvaluationPlan = {
  strategy: Strategy;
  conditions: readonly Condition[];
  cases: readonly PlannedCase[];
  judges: readonly Judge[];
  seed: number;
  /** Cases at a time. */
  parallel: number;
  catalogue: Catalogue;
  offers: readonly Offer[];
  registryFor: (condition: Condition) => ModelRegistry;
  judging: ModelRegistry;
  /** On the sandbox; null with real models. */
  planted: Planted | null;
  versions: { prompts: string; judging: string };
  answerKey(evaluated: EvaluationCase, council: CreatedData, condition: Condition): string;
  judgmentKey(
    evaluated: EvaluationCase,
    judge: Judge,
    answers: { first: AnswerLine; second: AnswerLine },
  ): string;
};

export type PlannedCase = { evaluated: EvaluationCase; council: CreatedData };

export type PlanSettings = Pick<
  EvaluationPlan,
  | 'strategy'
  | 'conditions'
  | 'seed'
  | 'parallel'
  | 'catalogue'
  | 'registryFor'
  | 'judging'
  | 'planted'
> & {
  cases: readonly EvaluationCase[];
  /** Ids of models; null leaves the choice to the rules. */
  judges: readonly string[] | null;
  endpoints: readonly Endpoint[];
  isLocal: boolean;
  substituteModels: boolean;
  clock: () => number;
};

/**
 * @throws Problem when the strategy cannot be seated
 * @throws EvaluationError when nobody can judge, or a price is unknown
 */
export async function planEvaluation(settings: PlanSettings): Promise<EvaluationPlan> {
  const { strategy, conditions, seed, judging, planted, endpoints } = settings;
  const all = await judging.offers();
  const offers = offersFor({ registry: judging, isLocal: settings.isLocal }, all, false);
  const lanes = lanesOf([...new Set(offers.map(({ provider }) => provider))], endpoints);
  const cases: PlannedCase[] = [];
  for (const evaluated of settings.cases) {
    const council = await councilFor(
      {
        ...settings,
        registry: judging,
        readLanes: async () => lanes,
        readDurations: async () => [],
        creditUsd: cheapestCredit,
        sandboxSeed: String(seed),
      },
      { evaluated, strategy, seed, now: settings.clock() },
    );
    cases.push({ evaluated, council });
  }
  const councils = cases.map(({ council }) => council);
  const judges = chooseJudges(offers, councils, settings.judges);
  refuseUnpriced(conditions, councils, offers);
  const versions = { prompts: promptsVersion(), judging: judgingVersion() };
  const hasLanes = councils.some(({ schedule }) => schedule.lanes !== undefined);
  return {
    ...settings,
    cases,
    judges,
    offers,
    versions,
    // One run after the other, as deadlines with lanes expect it.
    parallel: hasLanes ? 1 : settings.parallel,
    answerKey: (evaluated, council, condition) =>
      hashOf([
        hashOfCase(evaluated),
        condition,
        [strategy.id, strategy.version, council.schedule.maxOutputTokens],
        [council.schedule.reviewsPerSeat, council.schedule.deadlinesMs],
        modelsOf(condition, council),
        versions.prompts,
        seed,
        planted,
      ]),
    judgmentKey: (evaluated, { offer, effort }, { first, second }) =>
      hashOf([
        hashOfCase(evaluated),
        [offer.model, offer.provider, offer.remoteId, effort],
        [first.key, first.text, second.key, second.text],
        versions.judging,
        seed,
        planted,
      ]),
  };
}

/** No budget could be kept with a model whose price is unknown. */
function refuseUnpriced(
  conditions: readonly Condition[],
  councils: readonly CreatedData[],
  offers: readonly Offer[],
): void {
  const called = councils.flatMap((council) =>
    conditions.flatMap((condition) => modelsOf(condition, council)),
  );
  const unpriced = called.find((model) => (offerOf(offers, model)?.price ?? null) === null);
  if (unpriced !== undefined)
    throw new EvaluationError(
      `The price of ${unpriced.model} is not known, so no budget could be kept. Add its price to the file of MODELS_FILE.`,
    );
}

function judgingVersion(): string {
  const evaluated: EvaluationCase = {
    id: 'case',
    type: 'other',
    question: 'question',
    context: 'context',
    objectives: ['objective'],
    constraints: ['constraint'],
    rubric: [{ id: 'criterion', weight: 1, criterion: 'criterion' }],
    traps: [{ id: 'trap', description: 'trap' }],
    note: 'note',
  };
  const answers = { first: 'first', second: 'second' };
  return hashOf(judgmentPrompt(evaluated, answers, { delimiter: 'delimiter' })).slice(0, 12);
}
