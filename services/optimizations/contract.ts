import * as v from 'valibot';
import type { RunView } from './view.ts';

/**
 * Requests and replies of the optimization calls (`spec` names kept, new fields snake_case). Units:
 * `cost` and `total_cost` USD, `costCents` cents, `*Micros` micro-dollars, `latencyMs` milliseconds,
 * scores and progress 0–100, `confidence_score` 0–1. Null means unknown, never 0.
 */

export const optimizationLimits = {
  challenge: 4000,
  context: 20_000,
  rows: 20,
  row: 300,
  title: 120,
  pageSize: 10,
  pageSizeMost: 100,
} as const;

export const challengeTypes = [
  'business_strategy',
  'marketing',
  'operations',
  'finance',
  'product',
  'sales',
  'hiring',
  'other',
] as const;
export const ChallengeType = v.picklist(challengeTypes, 'Choose one of the listed challenge types');

const strategyIds = [
  'ultra-economy',
  'economy',
  'balanced',
  'reasoning-focused',
  'premium',
  'ultra',
  'fast',
  'comprehensive',
] as const;
export const StrategyId = v.picklist(strategyIds, 'Choose one of the listed strategies');

const rows = (what: string) =>
  v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.trim(),
        v.maxLength(
          optimizationLimits.row,
          `Each of the ${what} may have at most ${optimizationLimits.row} characters`,
        ),
      ),
    ),
    v.transform((all) => all.filter((row) => row !== '')),
    v.maxLength(optimizationLimits.rows, `At most ${optimizationLimits.rows} ${what}`),
  );

/** `POST /optimizations`. */
export const CreateOptimizationRequest = v.strictObject({
  challenge: v.pipe(
    v.string('What business challenge are you facing?'),
    v.trim(),
    v.nonEmpty('What business challenge are you facing?'),
    v.maxLength(
      optimizationLimits.challenge,
      `The challenge may have at most ${optimizationLimits.challenge} characters`,
    ),
  ),
  context: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.maxLength(
        optimizationLimits.context,
        `The context may have at most ${optimizationLimits.context} characters`,
      ),
    ),
    '',
  ),
  objectives: v.optional(rows('objectives'), []),
  constraints: v.optional(rows('constraints'), []),
  strategy: StrategyId,
  challenge_type: v.optional(ChallengeType, 'business_strategy'),
  /** Seats without a real key may be simulated; only ever possible in local mode. */
  allow_simulated: v.optional(v.boolean()),
  /** The ended run that this one asks again. */
  retry_of: v.optional(v.pipe(v.string(), v.regex(/^opt_[0-9a-z]{26}$/, 'Not a run id'))),
});
export type CreateOptimizationRequest = v.InferOutput<typeof CreateOptimizationRequest>;

/** `POST /optimizations/estimate`. */
export const EstimateRequest = v.strictObject({
  strategy: StrategyId,
  workflowType: v.optional(v.pipe(v.string(), v.maxLength(64)), 'business-optimization'),
  challengeText: v.optional(v.pipe(v.string(), v.maxLength(optimizationLimits.challenge)), ''),
});
export type EstimateRequest = v.InferOutput<typeof EstimateRequest>;

export const Estimate = v.object({
  strategy: StrategyId,
  /** USD, of the models. */
  cost: v.nullable(v.number()),
  credits: v.number(),
  typical_seconds: v.number(),
  /** True when the seats are simulated: the dollars are what real models would cost. */
  simulated: v.boolean(),
});
export type Estimate = v.InferOutput<typeof Estimate>;
export const EstimateReply = v.object({ estimate: Estimate });

const StrategySeat = v.object({
  seat: v.string(),
  model: v.string(),
  name: v.string(),
  simulated: v.boolean(),
});
export const Strategy = v.object({
  id: StrategyId,
  name: v.string(),
  description: v.string(),
  costTier: v.number(),
  models: v.object({
    strategic: v.array(v.string()),
    risk: v.array(v.string()),
    implementation: v.array(v.string()),
  }),
  biasDetection: v.boolean(),
  parallelExecution: v.boolean(),
  recommended: v.boolean(),
  credits: v.number(),
  seats: v.array(StrategySeat),
  typical_seconds: v.number(),
  available: v.boolean(),
  /** Names of models that no key serves. */
  missing: v.array(v.string()),
  /**
   * Who would answer for the models of a run, those that extract, write and verify included: names of
   * providers and endpoints, each once. The text of a question goes to these, and stays on this
   * machine where `simulated` says so.
   */
  providers: v.array(v.object({ name: v.string(), simulated: v.boolean() })),
  simulated: v.boolean(),
  /** What this strategy names but this version does not do. */
  not_in_this_version: v.array(v.string()),
});
export type Strategy = v.InferOutput<typeof Strategy>;
export const StrategiesReply = v.object({ strategies: v.array(Strategy) });

export const RunStatus = v.picklist(['pending', 'processing', 'completed', 'failed', 'cancelled']);
export type RunStatus = v.InferOutput<typeof RunStatus>;

export const ProgressStep = v.picklist([
  'initializing',
  'querying_models',
  'analyzing_responses',
  'detecting_bias',
  'synthesizing',
  'completed',
]);
export type ProgressStep = v.InferOutput<typeof ProgressStep>;

export const SeatStatus = v.picklist([
  'waiting',
  'processing',
  'retrying',
  'completed',
  'failed',
  'refused',
  'timed_out',
  'excluded',
]);
export type SeatStatus = v.InferOutput<typeof SeatStatus>;

const SeatProgress = v.object({
  id: v.string(),
  seat: v.string(),
  name: v.string(),
  provider: v.string(),
  role: v.picklist(['strategic', 'risk', 'implementation']),
  status: SeatStatus,
  progress: v.number(),
  currentStep: v.nullable(ProgressStep),
  costCents: v.nullable(v.number()),
  latencyMs: v.nullable(v.number()),
  confidence: v.nullable(v.number()),
  attempt: v.number(),
  simulated: v.boolean(),
  reason: v.nullable(v.string()),
});
export type SeatProgress = v.InferOutput<typeof SeatProgress>;

const Credits = v.object({
  price: v.number(),
  reserved: v.number(),
  charged: v.nullable(v.number()),
  refunded: v.nullable(v.number()),
  settlement: v.picklist(['none', 'held', 'pending', 'settled']),
});

/** What lists show of a run. */
export const OptimizationSummary = v.object({
  id: v.string(),
  title: v.string(),
  description: v.string(),
  status: RunStatus,
  strategy: StrategyId,
  challenge_type: ChallengeType,
  progress: v.number(),
  agreement_score: v.nullable(v.number()),
  confidence_score: v.nullable(v.number()),
  cost: v.nullable(v.number()),
  cost_is_minimum: v.boolean(),
  credits: Credits,
  simulated: v.boolean(),
  simulated_seats: v.number(),
  created_at: v.string(),
  createdAt: v.string(),
  ended_at: v.nullable(v.string()),
});
export type OptimizationSummary = v.InferOutput<typeof OptimizationSummary>;

export const OptimizationList = v.object({
  data: v.array(OptimizationSummary),
  pagination: v.object({
    page: v.number(),
    limit: v.number(),
    total: v.number(),
    total_pages: v.number(),
  }),
});
export type OptimizationList = v.InferOutput<typeof OptimizationList>;

const Side = v.object({
  stance: v.string(),
  seats: v.array(v.string()),
  /** Verbatim from one of these seats' answers. */
  quote: v.nullable(v.object({ seat: v.string(), text: v.string() })),
});
const Disagreement = v.object({
  about: v.string(),
  text: v.string(),
  sides: v.array(Side),
  settled_by: v.nullable(v.string()),
});
export type Disagreement = v.InferOutput<typeof Disagreement>;

export const BiasAnalysis = v.object({
  agreement_score: v.nullable(v.number()),
  agreement_band: v.nullable(v.picklist(['strong', 'majority', 'contested', 'split'])),
  agreement_capped: v.boolean(),
  /** Why there is no score, or what was not measured, in words. */
  agreement_note: v.nullable(v.string()),
  two_camps: v.boolean(),
  clear_winner: v.nullable(v.boolean()),
  disagreement_areas: v.array(Disagreement),
  consensus_points: v.array(v.object({ claim_id: v.string(), text: v.string() })),
  model_confidence_scores: v.record(v.string(), v.number()),
  uncertainty_factors: v.array(v.object({ kind: v.string(), text: v.string() })),
  minority_report: v.nullable(
    v.object({
      seat: v.string(),
      position: v.string(),
      against: v.array(v.string()),
      flaws: v.array(v.object({ seat: v.string(), text: v.string() })),
    }),
  ),
  indicators: v.array(
    v.object({ id: v.string(), name: v.string(), value: v.nullable(v.string()), note: v.string() }),
  ),
});
export type BiasAnalysis = v.InferOutput<typeof BiasAnalysis>;

export const Evolution = v.object({
  id: v.string(),
  current_step: ProgressStep,
  progress_percentage: v.number(),
  step_details: v.string(),
  estimated_completion: v.nullable(v.number()),
  start_time: v.nullable(v.string()),
  models_queried: v.number(),
  models_completed: v.number(),
  can_cancel: v.boolean(),
  bias: v.nullable(BiasAnalysis),
});
export type Evolution = v.InferOutput<typeof Evolution>;

const Cited = v.object({ text: v.string(), claim_ids: v.array(v.string()) });
export const RunResult = v.object({
  heading: v.picklist(['recommendation', 'best_single_answer']),
  decision: v.string(),
  sections: v.array(v.object({ heading: v.string(), blocks: v.array(Cited) })),
  next_steps: v.array(Cited),
  dissent: v.array(v.object({ claim_id: v.string(), text: v.string() })),
  uncertainties: v.array(v.string()),
  /** `two` models verified it, `one`, or `none`: "not independently verified". */
  verified: v.picklist(['two', 'one', 'none']),
  /** The seat that wrote the best single answer, when that is what this is. */
  seat: v.nullable(v.string()),
});
export type RunResult = v.InferOutput<typeof RunResult>;

/** A run in full: the fold of its events, and what the stream's `run` snapshot carries. */
export const Optimization = v.object({
  ...OptimizationSummary.entries,
  challenge: v.string(),
  context: v.string(),
  objectives: v.array(v.string()),
  constraints: v.array(v.string()),
  models: v.array(SeatProgress),
  metadata: v.object({ models: v.array(v.string()) }),
  insights_count: v.number(),
  evolution: Evolution,
  result: v.nullable(RunResult),
  /** In words, when the run failed or was cancelled. */
  ended_because: v.nullable(v.string()),
  /** The run's parts by key, to which the stream's facts are applied (`view.ts`). */
  council: v.custom<RunView>((value) => typeof value === 'object' && value !== null),
});
export type Optimization = v.InferOutput<typeof Optimization>;
