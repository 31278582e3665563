import * as v from 'valibot';
import { Time } from '#services/platform/contract.ts';
import { strategyIds } from '#services/models/strategy-list.ts';
import { challengeTypes } from '#services/optimizations/run/events.ts';

/** What lists, and the page of a run that was refined, show of a run; the contract names its parts. */

export const RunId = v.pipe(v.string(), v.description('Of a run: `opt_` and 26 characters'));

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
    v.description('Credits that are held when it starts; no more is charged'),
  ),
  reserved: v.pipe(v.number(), v.description('Credits that are held for it now')),
  charged: v.pipe(
    v.nullable(v.number()),
    v.description('Credits that it cost in the end; null until it is settled'),
  ),
  refunded: v.pipe(
    v.nullable(v.number()),
    v.description('Credits that were given back of what had been taken; null until it is settled'),
  ),
  settlement: v.pipe(
    v.picklist(['none', 'held', 'pending', 'settled']),
    v.description(
      '`none` before it starts, and when it was cancelled before; `held` while it runs, `pending` once it ended and its charge is not taken yet',
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
      '0–1: the weighted share of the votes for the decision that has most; no probability. Null before the vote',
    ),
  ),
  votes_for: v.pipe(
    v.nullable(v.number()),
    v.description(
      'Models that voted for the chosen option; without one, the most that any has. Null before the vote, and in runs of v0.1',
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
    v.description('USD that the models have cost; null while unknown'),
  ),
  cost_is_minimum: v.pipe(
    v.boolean(),
    v.description('A call whose cost is unknown is not in `cost`'),
  ),
  credits: Credits,
  simulated: v.pipe(v.boolean(), v.description('The simulator plays at least one seat')),
  simulated_seats: v.pipe(v.number(), v.description('Seats that the simulator plays')),
  root_id: v.pipe(
    v.nullable(RunId),
    v.description('Of a refinement: the run that it refines; null for any other run'),
  ),
  refinement_number: v.pipe(
    v.nullable(v.number()),
    v.description('From 1 among the refinements of that run; null for any other run'),
  ),
  created_at: Time,
  createdAt: v.pipe(Time, v.description('The same as `created_at`, ISO 8601 in UTC')),
  ended_at: v.nullable(Time),
});
export type OptimizationSummary = v.InferOutput<typeof OptimizationSummary>;

export const Refinable = v.object({
  allowed: v.pipe(v.boolean(), v.description('`POST /optimizations/{id}/refine` would be taken')),
  reason: v.pipe(v.nullable(v.string()), v.description('In words, why it would not; else null')),
  price: v.pipe(
    v.number(),
    v.description(
      'Credits that it would cost; 0 while the price of the run covers it: until one has completed or three have been tried',
    ),
  ),
  running_id: v.pipe(
    v.nullable(RunId),
    v.description('The refinement in progress, which keeps another from being begun'),
  ),
});
export type Refinable = v.InferOutput<typeof Refinable>;

export const ClaimId = v.pipe(v.string(), v.description('Of a claim of this run'));
export const SeatId = v.pipe(
  v.string(),
  v.description('Of a seat: a place at the table, which a model has'),
);
export const Simulated = v.pipe(v.boolean(), v.description('The simulator plays the model'));
export const OptionId = v.pipe(
  v.string(),
  v.description('The id of an option of this run: `o1`, `o2` …, or `undecidable`'),
);
