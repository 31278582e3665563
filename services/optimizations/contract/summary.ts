import * as v from 'valibot';
import { Time } from '#services/platform/contract.ts';
import { strategyIds } from '#services/models/strategy-list.ts';
import { challengeTypes } from '#services/optimizations/run/events.ts';

/** What lists, and the page of a run that was refined, show of a run; the contract names its parts. */

export const RunId = v.pipe(v.string(), v.description("The run's id: `opt_` and 26 characters"));

export const ChallengeType = v.picklist(challengeTypes, 'Choose one of the listed challenge types');
export type ChallengeType = v.InferOutput<typeof ChallengeType>;

export const StrategyId = v.pipe(
  v.picklist(strategyIds, 'Choose one of the listed strategies'),
  v.description('The id of a strategy; `GET /optimizations/strategies` describes each'),
);

export const runStatuses = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const;
export const RunStatus = v.picklist(runStatuses);
export type RunStatus = v.InferOutput<typeof RunStatus>;

/** Of a run that has not ended. */
export function isOpenStatus(status: RunStatus): status is 'pending' | 'processing' {
  return status === 'pending' || status === 'processing';
}

const Credits = v.object({
  price: v.pipe(
    v.number(),
    v.description('Credits that are reserved when it starts; no more is charged'),
  ),
  reserved: v.pipe(v.number(), v.description('Credits reserved for it now')),
  charged: v.pipe(
    v.nullable(v.number()),
    v.description('Credits charged in the end; null until it is settled'),
  ),
  refunded: v.pipe(
    v.nullable(v.number()),
    v.description('Credits returned of the price; null until it is settled'),
  ),
  settlement: v.pipe(
    v.picklist(['none', 'held', 'pending', 'settled']),
    v.description(
      '`none`: not started, or canceled before the start; `held`: running; `pending`: ended, and not charged yet; `settled`: charged',
    ),
  ),
});

/** What lists show of a run. */
export const OptimizationSummary = v.object({
  id: RunId,
  title: v.string(),
  description: v.pipe(v.string(), v.description('The first 200 characters of the question')),
  status: RunStatus,
  strategy: StrategyId,
  challenge_type: ChallengeType,
  progress: v.pipe(v.number(), v.description('0–100, whole; 100 only at the end')),
  agreement_score: v.pipe(
    v.nullable(v.number()),
    v.description(
      '0–100, whole: how far the models agree; null until it is scored, and when it could not be',
    ),
  ),
  confidence_score: v.pipe(
    v.nullable(v.number()),
    v.description(
      '0–1: the weighted share of the votes for the leading decision. It is not a probability. Null before the vote',
    ),
  ),
  votes_for: v.pipe(
    v.nullable(v.number()),
    v.description(
      'Models that voted for the chosen option; without one, the most votes that any option has. Null before the vote, and in runs of v0.1',
    ),
  ),
  votes_total: v.pipe(
    v.nullable(v.number()),
    v.description('Models whose vote was counted; null with `votes_for`'),
  ),
  outcome: v.pipe(
    v.nullable(v.string()),
    v.description(
      'The heading of its result in words, such as `Recommended by 5 of 7 models`; null without a result',
    ),
  ),
  cost: v.pipe(
    v.nullable(v.number()),
    v.description('What the models have cost so far, in USD; null while unknown'),
  ),
  cost_is_minimum: v.pipe(
    v.boolean(),
    v.description('Whether `cost` lacks a call whose cost is unknown'),
  ),
  credits: Credits,
  simulated: v.pipe(v.boolean(), v.description('Whether at least one seat is simulated')),
  simulated_seats: v.pipe(v.number(), v.description('Simulated seats')),
  root_id: v.pipe(
    v.nullable(RunId),
    v.description('Of a refinement: the run that it refines; null for any other run'),
  ),
  refinement_number: v.pipe(
    v.nullable(v.number()),
    v.description(
      'Its number among the started refinements of that run, from 1; null for any other run',
    ),
  ),
  created_at: Time,
  createdAt: v.pipe(Time, v.description('The same as `created_at`, ISO 8601 in UTC')),
  ended_at: v.nullable(Time),
});
export type OptimizationSummary = v.InferOutput<typeof OptimizationSummary>;

export const Refinable = v.object({
  allowed: v.pipe(
    v.boolean(),
    v.description('Whether `POST /optimizations/{id}/refine` would be accepted'),
  ),
  reason: v.pipe(v.nullable(v.string()), v.description('In words, why not; null if it would')),
  price: v.pipe(
    v.number(),
    v.description(
      "Credits that it would cost. 0 while the run's price covers it: until one has completed or three were tried",
    ),
  ),
  running_id: v.pipe(
    v.nullable(RunId),
    v.description('The refinement in progress; no other can start until it ends'),
  ),
});
export type Refinable = v.InferOutput<typeof Refinable>;

export const ClaimId = v.pipe(v.string(), v.description('The id of a claim of this run'));
export const SeatId = v.pipe(
  v.string(),
  v.description("The id of a seat. Each seat is one model's place on the panel"),
);
export const Simulated = v.pipe(v.boolean(), v.description('Whether the model is simulated'));
export const OptionId = v.pipe(
  v.string(),
  v.description('The id of an option of this run: `o1`, `o2` …, or `undecidable`'),
);
