import * as v from 'valibot';
import { Time } from '#services/platform/contract.ts';
import { seatRoles } from '#services/models/strategy-list.ts';
import { StrategyId, SeatId, Simulated } from './summary.ts';
import { optimizationLimits, CatalogueVersion, AllowSimulated } from './requests.ts';

const Seconds = v.pipe(
  v.number(),
  v.description('Seconds that a run of this strategy usually takes'),
);
const RunsThisMonth = v.pipe(
  v.number(),
  v.description('Runs this month, counted like `GET /optimizations/usage`'),
);
const BonusRuns = v.pipe(
  v.number(),
  v.description(
    'Runs a month that bonus credits may pay for; −1 is unlimited. Runs on other credits are never blocked',
  ),
);
const AsOf = v.pipe(
  Time,
  v.description('The figures are complete up to this time; ISO 8601 in UTC'),
);

const PanelEntries = {
  typical_seconds: Seconds,
  at_most_seconds: v.pipe(
    v.number(),
    v.description('Seconds after which a run ends, at the latest'),
  ),
  duration: v.pipe(
    v.nullable(
      v.object({
        p50: v.pipe(v.number(), v.description('Half of the runs took fewer seconds')),
        p90: v.pipe(v.number(), v.description('Nine of ten runs took fewer seconds')),
        runs: v.pipe(v.number(), v.description('Completed runs of the last 90 days')),
      }),
    ),
    v.description('How long such runs took on this server; null until 20 of them have completed'),
  ),
  seats: v.pipe(
    v.array(
      v.object({
        seat: SeatId,
        role: v.picklist(seatRoles),
        model: v.pipe(v.string(), v.description('The id of the model')),
        name: v.pipe(v.string(), v.description('The name of the model')),
        simulated: Simulated,
      }),
    ),
    v.description(
      'The models that a run would use now; the designed ones when the strategy is not available',
    ),
  ),
  available: v.pipe(v.boolean(), v.description('Whether a run can start')),
  unavailable: v.pipe(
    v.nullable(v.string()),
    v.description('In words, why it is not available; null otherwise'),
  ),
  missing: v.pipe(
    v.array(v.string()),
    v.description('Names of the designed models that no provider serves, when it is not available'),
  ),
  simulated: v.pipe(v.boolean(), v.description('Whether at least one seat is simulated')),
  /**
   * Who would answer for the models of a run, those that extract, write and verify included: names of
   * providers and endpoints, each once. The text of a question goes to these, and stays on this
   * machine where `simulated` says so.
   */
  providers: v.array(v.object({ name: v.string(), simulated: Simulated })),
  makers: v.pipe(v.number(), v.description('Makers whose models sit on the panel')),
  copies: v.pipe(v.number(), v.description('Seats whose model sits more than once')),
  substitutions: v.pipe(
    v.array(
      v.object({
        seat: v.pipe(v.string(), v.description('The seat, or the role in words')),
        wanted: v.pipe(v.string(), v.description('The model of the design')),
        seated: v.pipe(v.string(), v.description('The model in its place')),
        reason: v.string(),
      }),
    ),
    v.description('Each model that replaces a designed one'),
  ),
  summary: v.pipe(
    v.nullable(v.string()),
    v.description('Such as "5 of 7 seats as designed, 2 substituted"; null without a panel'),
  ),
  independence: v.pipe(
    v.array(v.string()),
    v.description('What makes this panel less independent than designed, in words'),
  ),
  verdict: v.pipe(
    v.picklist(['full', 'order_only', 'may_stay_open']),
    v.description(
      'Whether the reviews can name a clear winner: `full` can, `order_only` never, `may_stay_open` not always',
    ),
  ),
};

/** The most that the context and all rows can hold, with a line end after each. */
const contextTextCharacters =
  optimizationLimits.context + 1 + 2 * optimizationLimits.rows * (optimizationLimits.row + 1);

/** `POST /optimizations/estimate`. */
export const EstimateRequest = v.strictObject({
  strategy: StrategyId,
  workflowType: v.optional(v.pipe(v.string(), v.maxLength(64)), 'business-optimization'),
  challengeText: v.optional(v.pipe(v.string(), v.maxLength(optimizationLimits.challenge)), ''),
  contextText: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(contextTextCharacters),
      v.description(
        'Context, objectives and constraints, one after the other, separated by line breaks',
      ),
    ),
    '',
  ),
  files_characters: v.optional(
    v.pipe(
      v.number(),
      v.integer('Enter a whole number'),
      v.minValue(0, 'Enter a whole number'),
      v.maxValue(4 * optimizationLimits.filesText, 'The files have too many characters'),
      v.description(
        'Characters of all files together; one of a dense script such as Chinese counts as four',
      ),
    ),
    0,
  ),
  allow_simulated: v.optional(AllowSimulated),
});
export type EstimateRequest = v.InferOutput<typeof EstimateRequest>;

export const Estimate = v.object({
  strategy: StrategyId,
  cost: v.pipe(
    v.nullable(v.number()),
    v.description('Roughly what the models will cost, in USD; null when a price is unknown'),
  ),
  credits: v.pipe(
    v.number(),
    v.description('Credits that are reserved when it starts; no more is charged'),
  ),
  ...PanelEntries,
  simulated: v.pipe(
    v.boolean(),
    v.description('True when the seats are simulated: the dollars are what real models would cost'),
  ),
  catalogue_version: CatalogueVersion,
});
export type Estimate = v.InferOutput<typeof Estimate>;
export const EstimateReply = v.object({ estimate: Estimate });

/** `GET /optimizations/usage`: the runs of this UTC month against the limit of the plan. */
export const Usage = v.object({
  current_month: v.pipe(
    v.number(),
    v.description(
      'Runs that started in this month (UTC), without those whose price was returned in full',
    ),
  ),
  limit: BonusRuns,
  percentage: v.pipe(
    v.nullable(v.number()),
    v.description('0–100, whole, rounded down: `bonus_used` of the limit; null without a limit'),
  ),
  month: v.pipe(v.string(), v.description('The calendar month in UTC, like `2026-11`')),
  resets_at: v.pipe(
    Time,
    v.description(
      'When the count starts over: the first moment of the next month, ISO 8601 in UTC',
    ),
  ),
  bonus_used: v.pipe(
    v.number(),
    v.description(
      "The month's runs that bonus credits paid for, wholly or partly. The limit counts these",
    ),
  ),
  can_block: v.pipe(
    v.boolean(),
    v.description(
      'Whether the limit can block a run now: true when the balance pays for some strategy only with bonus credits',
    ),
  ),
  as_of: AsOf,
});
export type Usage = v.InferOutput<typeof Usage>;

/** `GET /users/me/stats`: how a person's runs went, over all time but for `optimizations_used`. */
export const DashboardStats = v.object({
  optimizations_used: RunsThisMonth,
  optimizations_limit: BonusRuns,
  success_rate: v.pipe(
    v.nullable(v.number()),
    v.description(
      'The share of completed runs among completed and failed ones, 0–1; null before the first',
    ),
  ),
  completed_optimizations: v.pipe(v.number(), v.description('Runs, over all time')),
  failed_optimizations: v.pipe(v.number(), v.description('Runs, over all time')),
  average_cost_per_optimization: v.pipe(
    v.nullable(v.number()),
    v.description(
      'Average credits charged for a completed run, to one decimal; null before the first',
    ),
  ),
  average_minutes: v.pipe(
    v.nullable(v.number()),
    v.description('Average minutes of a completed run; null before the first'),
  ),
  timed_optimizations: v.pipe(v.number(), v.description('Completed runs in `average_minutes`')),
  average_agreement: v.pipe(
    v.nullable(v.number()),
    v.description('0–100: the average agreement score of completed runs; null without any'),
  ),
  scored_optimizations: v.pipe(v.number(), v.description('Completed runs in `average_agreement`')),
  models_total: v.pipe(
    v.number(),
    v.description('Different models that answered in any run, over all time'),
  ),
  as_of: AsOf,
});
export type DashboardStats = v.InferOutput<typeof DashboardStats>;

export const Strategy = v.object({
  id: StrategyId,
  name: v.string(),
  description: v.string(),
  costTier: v.pipe(
    v.number(),
    v.description('1 (cheapest) to 5: how much a run costs compared with other strategies'),
  ),
  models: v.object({
    strategic: v.array(v.string()),
    risk: v.array(v.string()),
    implementation: v.array(v.string()),
  }),
  biasDetection: v.boolean(),
  parallelExecution: v.boolean(),
  recommended: v.boolean(),
  credits: v.pipe(
    v.number(),
    v.description('Credits that are reserved when a run starts; no more is charged'),
  ),
  ...PanelEntries,
});
export type Strategy = v.InferOutput<typeof Strategy>;
export const StrategiesReply = v.object({
  strategies: v.array(Strategy),
  checker: v.pipe(
    v.nullable(v.object({ name: v.string(), simulated: Simulated })),
    v.description(
      'The provider that `POST /optimizations/check` sends a question to; null when it checks none',
    ),
  ),
});
export type StrategiesReply = v.InferOutput<typeof StrategiesReply>;

/** `GET /optimizations/strategies`. */
export const StrategiesQuery = v.strictObject({
  allow_simulated: v.optional(
    v.pipe(
      v.picklist(['true', 'false']),
      v.description(
        'Whether seats without a real model may be simulated; possible in local mode only',
      ),
    ),
    'false',
  ),
});

const Panel = v.object(PanelEntries);
export type PanelFacts = v.InferOutput<typeof Panel>;
