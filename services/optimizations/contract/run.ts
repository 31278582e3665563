import * as v from 'valibot';
import { Time, Pagination } from '#services/platform/contract.ts';
import type { Wire } from '#services/platform/contract.ts';
import { seatRoles } from '#services/models/strategy-list.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { RunId, OptimizationSummary, Refinable, SeatId, Simulated } from './summary.ts';
import { BiasAnalysis, RunResult } from './result.ts';
import { Outcome, OutcomeQuestion } from './outcomes.ts';
import { NewerAnswer, Refinement } from './refinement.ts';

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
  'not_called',
]);
export type SeatStatus = v.InferOutput<typeof SeatStatus>;

export const SeatProgress = v.object({
  id: v.pipe(v.string(), v.description("Made of the run's id and the seat's")),
  seat: SeatId,
  name: v.pipe(v.string(), v.description('The display name of the model')),
  provider: v.string(),
  role: v.pipe(v.picklist(seatRoles), v.description('What the seat focuses on')),
  status: SeatStatus,
  progress: v.pipe(
    v.number(),
    v.description(
      '0–100: how much of its own work the seat has done; 100 when nothing is left to do',
    ),
  ),
  currentStep: v.pipe(
    v.nullable(ProgressStep),
    v.description(
      'Of its own work: `querying_models` its answer, `analyzing_responses` its review; null before',
    ),
  ),
  costCents: v.pipe(
    v.nullable(v.number()),
    v.description("US cents that the seat's calls have cost so far; null while unknown"),
  ),
  latencyMs: v.pipe(
    v.nullable(v.number()),
    v.description(
      "Milliseconds that the seat's calls took together, retries included; null before one has ended",
    ),
  ),
  confidence: v.pipe(
    v.nullable(v.number()),
    v.description(
      '0–100, whole: the share of its claims that the other models support. It is not a probability. Null before the reviews',
    ),
  ),
  rank: v.pipe(
    v.nullable(v.number()),
    v.description("The place of its answer in the reviewers' order, from 1; null before"),
  ),
  attempt: v.pipe(
    v.number(),
    v.description('The number of the newest try, from 1; 0 before the first'),
  ),
  simulated: Simulated,
  reason: v.pipe(
    v.nullable(v.string()),
    v.description('In words, why it has no answer; null otherwise'),
  ),
  repaired: v.pipe(
    v.array(v.string()),
    v.description('In words, what was repaired in the format of its answers; usually empty'),
  ),
});
export type SeatProgress = v.InferOutput<typeof SeatProgress>;

/** What the list of runs shows of a run, which is no refinement. */
export const ListedRun = v.object({
  ...OptimizationSummary.entries,
  refinements: v.pipe(
    v.number(),
    v.description('Its refinements that have started or are waiting to, whatever their outcome'),
  ),
  newest_outcome: v.pipe(
    v.nullable(v.string()),
    v.description('The outcome of its newest completed refinement; null without one'),
  ),
  running_refinement_id: v.pipe(
    v.nullable(RunId),
    v.description('Its refinement in progress; null without one'),
  ),
});
export type ListedRun = v.InferOutput<typeof ListedRun>;

export const OptimizationList = v.object({
  data: v.array(ListedRun),
  pagination: Pagination,
});
export type OptimizationList = v.InferOutput<typeof OptimizationList>;

export const Evolution = v.object({
  id: RunId,
  current_step: ProgressStep,
  progress_percentage: v.pipe(v.number(), v.description('0–100, whole; 100 only at the end')),
  step_details: v.pipe(v.string(), v.description('The step in words')),
  estimated_completion: v.pipe(
    v.nullable(v.number()),
    v.description(
      'Estimated seconds left; null when the run is not in progress or takes longer than usual',
    ),
  ),
  start_time: v.pipe(
    v.nullable(Time),
    v.description('When it was started, ISO 8601 in UTC; null before'),
  ),
  models_queried: v.pipe(v.number(), v.description('Seats that were asked')),
  models_completed: v.pipe(v.number(), v.description('Seats that have answered')),
  can_cancel: v.pipe(v.boolean(), v.description('True until the recommendation is being written')),
  bias: v.nullable(BiasAnalysis),
});
export type Evolution = v.InferOutput<typeof Evolution>;

/** A completed run in which a model that was paid for has no answer; null for any other. */
export const Degraded = v.object({
  answered: v.pipe(v.number(), v.description('Models whose answer was accepted')),
  paid_for: v.pipe(v.number(), v.description('Models on the panel')),
  missing: v.array(
    v.object({
      seat: SeatId,
      name: v.pipe(v.string(), v.description('The display name of the model')),
      why: v.pipe(v.string(), v.description('In words')),
    }),
  ),
  declined: v.pipe(
    v.number(),
    v.description(
      'Missing models that declined to answer; their share of the price is not returned',
    ),
  ),
  strongest_missing: v.pipe(
    v.boolean(),
    v.description("Whether the panel's strongest model is missing"),
  ),
  refunded: v.pipe(v.number(), v.description('Credits returned')),
});
export type Degraded = v.InferOutput<typeof Degraded>;

/** A run in full: the fold of its events, and what the stream's `run` snapshot carries. */
export const Optimization = v.object({
  ...OptimizationSummary.entries,
  challenge: v.string(),
  context: v.string(),
  objectives: v.array(v.string()),
  constraints: v.array(v.string()),
  files: v.array(v.object({ name: v.string(), text: v.string() })),
  stand_in: v.pipe(
    v.nullable(
      v.object({
        title: v.string(),
        question: v.object({ challenge: v.string(), context: v.string() }),
        exact: v.pipe(
          v.boolean(),
          v.description('Whether it is exactly the question that was asked'),
        ),
      }),
    ),
    v.description(
      'The prepared case from which simulated seats answer, and its question, to which the figures belong; null when no seat is simulated',
    ),
  ),
  models: v.array(SeatProgress),
  metadata: v.object({
    models: v.pipe(
      v.array(v.string()),
      v.description('Names of the models, in the order of their seats'),
    ),
  }),
  refines: v.pipe(v.nullable(Refinement), v.description('Null unless the run is a refinement')),
  refinements: v.pipe(
    v.array(OptimizationSummary),
    v.description(
      'The refinements of this run, or of the run it refines, that have started or are waiting to; oldest first',
    ),
  ),
  newer: v.pipe(
    v.nullable(NewerAnswer),
    v.description('The newest completed refinement, if it is newer than this run'),
  ),
  refinable: v.pipe(
    v.nullable(Refinable),
    v.description('Whether and at what price it can be refined now; null until it has completed'),
  ),
  outcomes: v.pipe(
    v.array(Outcome),
    v.description(
      'What came of the result, as its owner said, by day; of a refinement what was said of its root',
    ),
  ),
  outcome_question: v.pipe(
    v.nullable(OutcomeQuestion),
    v.description(
      'The question that is open about the newest result; null before day 30 and once it is answered',
    ),
  ),
  insights_count: v.pipe(
    v.number(),
    v.description('Points of agreement, of disagreement and of uncertainty together'),
  ),
  evolution: Evolution,
  result: v.nullable(RunResult),
  degraded: v.nullable(Degraded),
  ended_because: v.pipe(
    v.nullable(v.string()),
    v.description('In words, why the run failed or was canceled'),
  ),
  /** The run's parts by key, to which the stream's facts are applied (`view.ts`). */
  council: v.pipe(
    v.custom<RunView>((value) => typeof value === 'object' && value !== null),
    v.metadata({
      wire: {
        type: 'object',
        description: "The run's parts by key; the facts of the stream are patches of it.",
      },
    } satisfies Wire),
  ),
});
export type Optimization = v.InferOutput<typeof Optimization>;
