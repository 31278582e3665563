import * as v from 'valibot';
import { IdText, Pagination, Time, visible, WholeText } from '#services/platform/contract.ts';
import type { EndpointList, Wire } from '#services/platform/contract.ts';
import { visibleText } from '#services/platform/visible-text.ts';
import { seatRoles } from '#services/models/strategy-list.ts';
import type { RunView } from './reading/view.ts';
import { checkLimits } from '#services/optimizations/check/questions.ts';
import { challengeTypes, headings, refinedClaims } from '#services/optimizations/run/events.ts';
import {
  ChallengeType,
  OptimizationSummary,
  Refinable,
  RunId,
  RunStatus,
  runStatuses,
  StrategyId,
} from './summary-contract.ts';

export { challengeTypes, ChallengeType, OptimizationSummary, Refinable, RunStatus, StrategyId };

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
  files: 5,
  fileName: 120,
  /** Characters of all files together. */
  filesText: 40_000,
  fileBytes: 5_000_000,
  /** Of a request that holds the texts of files. */
  bodyBytes: 400_000,
  title: 120,
  refinement: 1000,
  refinedClaims,
  search: 200,
  /** A search opens the texts of so many runs, the newest. */
  searchedRuns: 1000,
  pageSize: 10,
  pageSizeMost: 100,
} as const;

export const fileTooLarge = `A file may have at most ${optimizationLimits.fileBytes / 1_000_000} MB.`;

const filesTextInWords = optimizationLimits.filesText.toLocaleString('en-US');

const ClaimId = v.pipe(v.string(), v.description('Of a claim of this run'));
const SeatId = v.pipe(
  v.string(),
  v.description('Of a seat: a place at the table, which a model has'),
);
const Simulated = v.pipe(v.boolean(), v.description('The simulator plays the model'));
const Seconds = v.pipe(
  v.number(),
  v.description('Seconds that a run of this strategy usually takes'),
);
const RunsThisMonth = v.pipe(
  v.number(),
  v.description('Runs of this month, as `GET /optimizations/usage` counts them'),
);
const BonusRuns = v.pipe(
  v.number(),
  v.description(
    'Runs a month that bonus credits may pay for; −1 is unlimited. Others are never blocked',
  ),
);
const AsOf = v.pipe(
  Time,
  v.description('The figures hold everything that happened until then; ISO 8601 in UTC'),
);

/** A list of short texts; those that are empty are left out. */
export const Rows = (what: 'objectives' | 'constraints') =>
  v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.trim(),
        v.maxLength(
          optimizationLimits.row,
          `Each of the ${what} may have at most ${optimizationLimits.row} characters`,
        ),
        visible,
      ),
    ),
    v.transform((all) => all.filter((row) => row !== '')),
    v.maxLength(optimizationLimits.rows, `At most ${optimizationLimits.rows} ${what}`),
  );

const CatalogueVersion = v.pipe(
  v.string(),
  v.maxLength(40),
  v.description('Of the prices and of who would sit; it changes with any of them'),
);

const AllowSimulated = v.pipe(
  v.boolean(),
  v.description('Seats without a real model may be simulated; only ever possible in local mode'),
);

/** A file as the models read it: its name and its text, without its format. */
const AttachedFile = v.strictObject({
  name: v.pipe(
    v.string('Give the file a name'),
    v.trim(),
    v.nonEmpty('Give the file a name'),
    v.maxLength(
      optimizationLimits.fileName,
      `The name of a file may have at most ${optimizationLimits.fileName} characters`,
    ),
    v.transform(fileNameOf),
    v.nonEmpty('Give the file a name'),
  ),
  text: v.pipe(
    v.string('This file has no text'),
    v.trim(),
    v.nonEmpty('This file has no text'),
    v.maxLength(
      optimizationLimits.filesText,
      `The files may have at most ${filesTextInWords} characters together`,
    ),
    v.transform((text) => visibleText(text).trim()),
    v.nonEmpty('This file has no text'),
  ),
});
export type AttachedFile = v.InferOutput<typeof AttachedFile>;

/** On one line, without what nobody sees. */
export function fileNameOf(name: string): string {
  return visibleText(name).replace(/\s+/g, ' ').trim();
}

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
    visible,
    v.nonEmpty('What business challenge are you facing?'),
  ),
  context: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.maxLength(
        optimizationLimits.context,
        `The context may have at most ${optimizationLimits.context} characters`,
      ),
      visible,
    ),
    '',
  ),
  objectives: v.optional(Rows('objectives'), []),
  constraints: v.optional(Rows('constraints'), []),
  files: v.optional(
    v.pipe(
      v.array(AttachedFile),
      v.maxLength(optimizationLimits.files, `At most ${optimizationLimits.files} files`),
      v.check(
        (files) => charactersOf(files) <= optimizationLimits.filesText,
        `The files may have at most ${filesTextInWords} characters together`,
      ),
      v.description(
        `Texts that the models read beside the question, at most ${filesTextInWords} characters together; \`POST /optimizations/files\` reads them out of files`,
      ),
    ),
    [],
  ),
  strategy: StrategyId,
  challenge_type: v.optional(ChallengeType, 'business_strategy'),
  allow_simulated: v.optional(AllowSimulated),
  retry_of: v.optional(
    v.pipe(IdText('opt'), v.description('The ended run that this one asks again')),
  ),
  recipe_id: v.optional(
    v.pipe(
      IdText('rec'),
      v.description(
        'The recipe that it was begun from, which counts it; one that is not there counts nothing',
      ),
    ),
  ),
  catalogue_version: v.optional(
    v.pipe(
      CatalogueVersion,
      v.description(
        'That of the estimate which was agreed to; 409 `price-changed`, with the new `price`, when it is another one by now',
      ),
    ),
  ),
});
export type CreateOptimizationRequest = v.InferOutput<typeof CreateOptimizationRequest>;

/** `POST /optimizations/check`. */
export const CheckRequest = v.pick(CreateOptimizationRequest, [
  'challenge',
  'context',
  'objectives',
  'constraints',
  'files',
  'challenge_type',
  'allow_simulated',
]);
export type CheckRequest = v.InferOutput<typeof CheckRequest>;

/** The part of a request that a check is asked with. */
export function checkOf({
  strategy: _strategy,
  retry_of: _retryOf,
  recipe_id: _recipeId,
  catalogue_version: _catalogueVersion,
  ...question
}: CreateOptimizationRequest): CheckRequest {
  return question;
}

export const CheckReply = v.object({
  verdict: v.pipe(
    v.picklist(['ready', 'ask', 'undecidable']),
    v.description(
      '`ask`: answers to `questions` would decide much; `undecidable`: there is nothing to decide. Either may be started all the same',
    ),
  ),
  questions: v.pipe(
    v.array(v.pipe(v.string(), v.maxLength(checkLimits.question))),
    v.maxLength(checkLimits.questions),
    v.description('With `ask` at least one, else empty; plain text that a model wrote'),
  ),
  why: v.pipe(
    v.nullable(v.pipe(v.string(), v.maxLength(checkLimits.why))),
    v.description('With `undecidable` why, in plain text that a model wrote; else null'),
  ),
  skipped: v.pipe(
    v.boolean(),
    v.description('No model checked it, and `ready` says nothing about the question'),
  ),
});
export type CheckReply = v.InferOutput<typeof CheckReply>;

/** Of all texts, which are stored trimmed. */
export function charactersOf(files: readonly { text: string }[]): number {
  return files.reduce((sum, { text }) => sum + text.trim().length, 0);
}

/** The characters of texts, in writing of which four make about a token. */
export function promptCharacters(...texts: readonly string[]): number {
  const text = texts.join('');
  const dense = text.match(denseWriting)?.length ?? 0;
  return text.length + (charactersPerToken - 1) * dense;
}

/** Writing of which a character is about a token. */
const denseWriting = /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]/gu;
const charactersPerToken = 4;

/** `POST /optimizations/files`. */
export const ReadFileReply = v.object({
  name: v.string(),
  text: v.pipe(
    v.string(),
    v.description(`At most ${filesTextInWords} characters; empty when the file has none`),
  ),
  pages_read: v.pipe(v.nullable(v.number()), v.description('Null for a format without pages')),
  warnings: v.pipe(
    v.array(v.string()),
    v.description('In words, what was left out, or may be wrong'),
  ),
});
export type ReadFileReply = v.InferOutput<typeof ReadFileReply>;

export const runSorts = ['newest', 'oldest', 'credits'] as const;
export type RunSort = (typeof runSorts)[number];

/** `GET /optimizations`: which runs, in which order, and which page of them. */
export const RunsQuery = v.strictObject({
  page: v.optional(v.pipe(WholeText(1, 100_000), v.description('The page, from 1')), '1'),
  limit: v.optional(
    v.pipe(WholeText(1, optimizationLimits.pageSizeMost), v.description('Rows of a page')),
    String(optimizationLimits.pageSize),
  ),
  status: v.optional(v.picklist(runStatuses, 'Choose one of the listed statuses')),
  strategy: v.optional(StrategyId),
  sort: v.optional(v.picklist(runSorts, 'Choose one of the listed orders'), 'newest'),
  q: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.maxLength(
        optimizationLimits.search,
        `Search for at most ${optimizationLimits.search} characters`,
      ),
      v.description('Words that all stand in the title or the question'),
    ),
    '',
  ),
});
export type RunsQuery = v.InferOutput<typeof RunsQuery>;

/** `PATCH /optimizations/{id}`. */
export const RenameRequest = v.strictObject({
  title: v.pipe(
    v.string('Enter a title'),
    v.trim(),
    v.nonEmpty('Enter a title'),
    v.maxLength(
      optimizationLimits.title,
      `The title may have at most ${optimizationLimits.title} characters`,
    ),
    visible,
    v.nonEmpty('Enter a title'),
  ),
});
export type RenameRequest = v.InferOutput<typeof RenameRequest>;

/** `DELETE /optimizations/{id}`. */
export const DeletedReply = v.object({ id: RunId, deleted: v.literal(true) });
export type DeletedReply = v.InferOutput<typeof DeletedReply>;

const PanelEntries = {
  typical_seconds: Seconds,
  at_most_seconds: v.pipe(v.number(), v.description('Seconds after which a run is ended')),
  duration: v.pipe(
    v.nullable(
      v.object({
        p50: v.pipe(v.number(), v.description('Seconds that half of the runs stayed below')),
        p90: v.pipe(v.number(), v.description('Seconds that nine of ten runs stayed below')),
        runs: v.pipe(v.number(), v.description('Completed runs of the last 90 days')),
      }),
    ),
    v.description(
      'What runs of this kind took on this server; null before 20 of them were completed',
    ),
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
    v.description('Who would sit in a run now; the designed panel when it is not available'),
  ),
  available: v.pipe(v.boolean(), v.description('A run can start')),
  unavailable: v.pipe(
    v.nullable(v.string()),
    v.description('In words, why it is not available; else null'),
  ),
  missing: v.pipe(
    v.array(v.string()),
    v.description('Names of designed models that nothing serves, when it is not available'),
  ),
  simulated: v.pipe(v.boolean(), v.description('The simulator plays at least one seat')),
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
        wanted: v.pipe(v.string(), v.description('The designed model')),
        seated: v.pipe(v.string(), v.description('The model in its place')),
        reason: v.string(),
      }),
    ),
    v.description('Each model that stands in for a designed one'),
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
      'Whether the reviews can name a clear winner: `order_only` never does, `may_stay_open` not always',
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
      v.description('Context, objectives and constraints, joined by lines'),
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
        'Characters of all files together; one of a dense writing such as Chinese counts as four',
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
    v.description('USD that the models will cost, roughly; null when a price is unknown'),
  ),
  credits: v.pipe(
    v.number(),
    v.description('Credits that are held when it starts; no more is charged'),
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
      'Runs whose credits were held in this month (UTC), less those that gave all of them back',
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
      'When the count starts again: the first moment of the next month, ISO 8601 in UTC',
    ),
  ),
  bonus_used: v.pipe(
    v.number(),
    v.description(
      "Of the month's runs, those that bonus credits pay for, wholly or partly: what the limit counts and blocks",
    ),
  ),
  can_block: v.pipe(
    v.boolean(),
    v.description(
      'Whether the limit can block a run now: one that the credits would pay for, but not without bonus credits',
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
    v.description('Completed among completed and failed, 0–1; null before the first of either'),
  ),
  completed_optimizations: v.pipe(v.number(), v.description('Runs, over all time')),
  failed_optimizations: v.pipe(v.number(), v.description('Runs, over all time')),
  average_cost_per_optimization: v.pipe(
    v.nullable(v.number()),
    v.description(
      'Credits that a completed run was charged, to one decimal; null before the first',
    ),
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
    v.description('1 (least) to 5: how much a run costs beside other strategies'),
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
    v.description('Credits that are held when a run starts; no more is charged'),
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
        'Seats without a real model may be simulated; only ever possible in local mode',
      ),
    ),
    'false',
  ),
});

const Panel = v.object(PanelEntries);
export type PanelFacts = v.InferOutput<typeof Panel>;

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

const SeatProgress = v.object({
  id: v.pipe(v.string(), v.description('The run and the seat')),
  seat: SeatId,
  name: v.pipe(v.string(), v.description('Of the model, as people read it')),
  provider: v.string(),
  role: v.pipe(v.picklist(seatRoles), v.description('What the seat is asked to consider')),
  status: SeatStatus,
  progress: v.pipe(v.number(), v.description('0–100: how much of its part the seat has done')),
  currentStep: v.nullable(ProgressStep),
  costCents: v.pipe(
    v.nullable(v.number()),
    v.description("US cents that the seat's calls have cost; null while unknown"),
  ),
  latencyMs: v.pipe(
    v.nullable(v.number()),
    v.description("Milliseconds that the seat's newest call took; null while unknown"),
  ),
  confidence: v.pipe(
    v.nullable(v.number()),
    v.description(
      '0–100, whole: the share of its claims that the other models support; no probability. Null before the reviews',
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
    v.description('In words, what was repaired in the form of its answers; usually empty'),
  ),
});
export type SeatProgress = v.InferOutput<typeof SeatProgress>;

/** What the list of runs shows of a run, which is no refinement. */
export const ListedRun = v.object({
  ...OptimizationSummary.entries,
  refinements: v.pipe(v.number(), v.description('Refinements of it, whatever their end')),
});
export type ListedRun = v.InferOutput<typeof ListedRun>;

export const OptimizationList = v.object({
  data: v.array(ListedRun),
  pagination: Pagination,
});
export type OptimizationList = v.InferOutput<typeof OptimizationList>;

const Side = v.object({
  stance: v.string(),
  seats: v.pipe(v.array(v.string()), v.description('Seats that hold it')),
  quote: v.pipe(
    v.nullable(
      v.object({
        seat: v.string(),
        text: v.string(),
        source: v.pipe(
          v.picklist(['reason', 'answer']),
          v.description(
            '`reason`: what the seat wrote with its vote; `answer`: word for word from its answer',
          ),
        ),
        earlier: v.pipe(
          v.boolean(),
          v.description('In a refinement: it was written before what is new was said'),
        ),
      }),
    ),
    v.description('What one of these seats says about it; null when none gave a reason'),
  ),
});
const Disagreement = v.object({
  about: v.pipe(v.string(), v.description('`decision`, or the id of a claim')),
  text: v.string(),
  sides: v.array(Side),
  firm: v.pipe(
    v.array(v.object({ seat: v.string(), percent: v.number() })),
    v.description(
      'Seats of the minority that are so sure, 80 of 100 or more, that they alone make the claim disputed; else empty',
    ),
  ),
  settled_by: v.pipe(
    v.nullable(v.string()),
    v.description('In words, what would settle it; null when no reviewer said'),
  ),
});
export type Disagreement = v.InferOutput<typeof Disagreement>;

export const BiasAnalysis = v.object({
  agreement_score: v.pipe(
    v.nullable(v.number()),
    v.description(
      '0–100, whole: how far the models agree, where models of one maker share weight; no probability. `/method` has its formulas. Null when it could not be scored',
    ),
  ),
  agreement_band: v.pipe(
    v.nullable(v.picklist(['strong', 'majority', 'contested', 'split'])),
    v.description('The score in a word; null without one'),
  ),
  agreement_capped: v.pipe(
    v.nullable(v.picklist(['contested', 'copies'])),
    v.description(
      'What holds the score down: `contested`, a third or more contest a decisive claim; `copies`, one maker or fewer than four different models sit on the panel; null when nothing does',
    ),
  ),
  agreement_note: v.pipe(
    v.nullable(v.string()),
    v.description('Why there is no score, or what was not measured, in words'),
  ),
  ordering: v.pipe(
    v.picklist(['kemeny', 'win_rate']),
    v.description(
      'What orders the answers: `kemeny`, the order that contradicts the fewest comparisons; `win_rate`, the mean share of reviewers who preferred an answer to each other one, where two answers were compared by fewer than four. Each reviewer counts alike in it: makers share weight in votes only',
    ),
  ),
  two_camps: v.pipe(v.boolean(), v.description('The reviews fall into two camps')),
  clear_winner: v.pipe(
    v.nullable(v.boolean()),
    v.description('One answer stands clearly first; null when the reviews do not say'),
  ),
  clear_winner_reason: v.pipe(
    v.picklist([
      'clear',
      'tied_orders',
      'orders_differ',
      'narrow_margin',
      'no_rank_agreement',
      'not_enough_comparisons',
      'copies',
    ]),
    v.description(
      'Why there is a clear winner or none. `orders_differ`: another answer comes first by the win rates, which order the answers where few reviewers compared two of them. `copies`: one maker or fewer than four different models sit on the panel, and copies of one model tend to agree',
    ),
  ),
  disagreement_areas: v.array(Disagreement),
  consensus_points: v.array(v.object({ claim_id: ClaimId, text: v.string() })),
  model_confidence_scores: v.pipe(
    v.record(v.string(), v.number()),
    v.description(
      '0–100, whole, by seat: the share of its claims that the other models support; no probability',
    ),
  ),
  uncertainty_factors: v.array(
    v.object({
      kind: v.pipe(v.string(), v.description('Stable, for programs')),
      text: v.pipe(v.string(), v.description('The same in words')),
    }),
  ),
  minority_report: v.nullable(
    v.object({
      seat: v.string(),
      position: v.string(),
      votes: v.pipe(
        v.array(v.object({ option_id: v.string(), text: v.string(), seats: v.array(v.string()) })),
        v.description('Every seat that voted for another option, by option, most votes first'),
      ),
      against: v.array(v.string()),
      flaws: v.array(v.object({ seat: v.string(), text: v.string() })),
    }),
  ),
  indicators: v.array(
    v.object({
      id: v.pipe(v.string(), v.description('Of what is measured; stable')),
      name: v.string(),
      value: v.pipe(v.nullable(v.string()), v.description('With its unit; null when not measured')),
      note: v.pipe(v.string(), v.description('What it shows, and what it does not')),
    }),
  ),
});
export type BiasAnalysis = v.InferOutput<typeof BiasAnalysis>;

export const Evolution = v.object({
  id: RunId,
  current_step: ProgressStep,
  progress_percentage: v.pipe(v.number(), v.description('0–100, whole; 100 only at the end')),
  step_details: v.pipe(v.string(), v.description('The step in words')),
  estimated_completion: v.pipe(
    v.nullable(v.number()),
    v.description(
      'Seconds that are usually left; null when the run is not under way, or takes longer than usual',
    ),
  ),
  start_time: v.pipe(
    v.nullable(Time),
    v.description('When it was started, ISO 8601 in UTC; null before'),
  ),
  models_queried: v.pipe(v.number(), v.description('Seats that were asked')),
  models_completed: v.pipe(v.number(), v.description('Seats that have answered')),
  can_cancel: v.pipe(v.boolean(), v.description('Until the recommendation is being written')),
  bias: v.nullable(BiasAnalysis),
});
export type Evolution = v.InferOutput<typeof Evolution>;

const Cited = v.object({
  text: v.string(),
  claim_ids: v.pipe(
    v.array(v.string()),
    v.description('Claims of this run that the text stands on'),
  ),
});
const OptionId = v.pipe(
  v.string(),
  v.description('The id of an option of this run: `o1`, `o2` …, or `undecidable`'),
);
const Flaw = v.object({
  id: v.pipe(v.string(), v.description('The id of the flaw in this run: `f1`, `f2` …')),
  about_seat: v.pipe(v.string(), v.description('The seat whose answer it is raised against')),
  reviewers: v.pipe(v.array(v.string()), v.description('The seats that raised it, two or more')),
  texts: v.pipe(
    v.array(v.object({ seats: v.array(v.string()), text: v.string() })),
    v.description('What they wrote, each text once with all who wrote it; empty once erased'),
  ),
  reply: v.pipe(
    v.nullable(v.string()),
    v.description('What the recommendation answers; null when none was written'),
  ),
});
export type Flaw = v.InferOutput<typeof Flaw>;

const NextStep = v.object({
  action: v.string(),
  owner: v.pipe(v.string(), v.description('Who does it; usually `you`')),
  by_days: v.pipe(
    v.nullable(v.number()),
    v.description('Days from the end of the run; null in runs of v0.1'),
  ),
  measure: v.pipe(v.string(), v.description('How one knows that it works; empty in runs of v0.1')),
  stop_if: v.pipe(v.string(), v.description('When to stop; empty in runs of v0.1')),
  done: v.pipe(
    v.boolean(),
    v.description('Ticked off with `PUT /optimizations/{id}/next-steps/{index}`'),
  ),
  claim_ids: Cited.entries.claim_ids,
});
export type NextStep = v.InferOutput<typeof NextStep>;

const SeatWords = v.object({ seat: v.string(), text: v.string() });

const Objection = v.object({
  ...SeatWords.entries,
  claim_id: v.pipe(
    v.nullable(ClaimId),
    v.description('The claim that it is about; null when it is about a whole answer'),
  ),
});
export type Objection = v.InferOutput<typeof Objection>;

const OptionSide = v.object({
  option_id: OptionId,
  text: v.string(),
  voters: v.pipe(v.array(v.string()), v.description('Seats that voted for it')),
  answer: v.pipe(v.nullable(SeatWords), v.description('The best answer for it, in one sentence')),
  objection: v.pipe(
    v.nullable(Objection),
    v.description('The strongest objection to it; null when no model wrote one'),
  ),
  settled_by: v.pipe(
    v.nullable(v.string()),
    v.description('What would settle it; null when no model said'),
  ),
});
export type OptionSide = v.InferOutput<typeof OptionSide>;

const StepNumber = v.pipe(
  v.string(),
  v.regex(/^\d{1,9}$/, 'Not the number of a step'),
  v.transform(Number),
  v.metadata({ wire: { type: 'integer', minimum: 0 } } satisfies Wire),
  v.description('The place of the step in `result.next_steps`, from 0'),
);

export const TickRequest = v.strictObject({
  done: v.boolean('Say whether the step is done'),
});
export const TickReply = v.object({
  index: v.pipe(v.number(), v.description('The place of the step in `result.next_steps`, from 0')),
  done: v.boolean(),
});

export const RunResult = v.object({
  heading: v.pipe(
    v.picklist(headings),
    v.description(
      '`recommendation`: one option is alone first; `no_majority`: none is; `undecidable`: most say that it cannot be decided from what was given; `best_single_answer`: no recommendation passed its checks',
    ),
  ),
  option_id: v.pipe(
    v.nullable(v.string()),
    v.description('The option that the vote chose; null without a majority'),
  ),
  votes_for: v.pipe(v.number(), v.description('Models that voted for it')),
  votes_total: v.pipe(v.number(), v.description('Models whose vote was counted')),
  tie_break: v.pipe(
    v.nullable(OptionId),
    v.description(
      "Without a majority: the option to take if one must be taken today. It is the one with most votes, by heads and by makers; of several, the first by the reviewers' order of the answers",
    ),
  ),
  decision: v.pipe(v.string(), v.description('The one sentence to act on')),
  decision_option: v.pipe(v.nullable(v.string()), v.description('The option in words')),
  objection: v.pipe(
    v.nullable(Objection),
    v.description('The strongest objection to it; null when no model wrote one'),
  ),
  missing_facts: v.pipe(
    v.array(v.string()),
    v.description('What keeps the question from being decided; empty unless it is `undecidable`'),
  ),
  flaws: v.pipe(
    v.array(Flaw),
    v.description(
      'What two or more reviewers call a mistake in the chosen option, whatever the vote',
    ),
  ),
  options: v.pipe(
    v.array(OptionSide),
    v.description('The options side by side, where none was chosen; else empty'),
  ),
  changed: v.pipe(
    v.nullable(v.string()),
    v.description(
      'What a refinement changes in the result before it; null in any other run, and when no recommendation passed its checks',
    ),
  ),
  sections: v.array(v.object({ heading: v.string(), blocks: v.array(Cited) })),
  next_steps: v.array(NextStep),
  dissent: v.array(v.object({ claim_id: ClaimId, text: v.string() })),
  uncertainties: v.array(v.string()),
  verified: v.pipe(
    v.picklist(['two', 'one', 'self', 'none', 'nothing_to_verify']),
    v.description(
      'Other models that compared it with the points of agreement: `two` or `one`; `self` when only the model that wrote it did, or `none`; `nothing_to_verify` without such points',
    ),
  ),
  seat: v.pipe(
    v.nullable(v.string()),
    v.description('The seat whose answer this is, when no recommendation passed its checks'),
  ),
});
export type RunResult = v.InferOutput<typeof RunResult>;

const Given = (description: string) =>
  v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.nonEmpty('Write what is new, or leave it out'),
      v.maxLength(
        optimizationLimits.refinement,
        `At most ${optimizationLimits.refinement} characters`,
      ),
      visible,
      v.nonEmpty('Write what is new, or leave it out'),
      v.description(description),
    ),
  );

/** `POST /optimizations/{id}/refine`. */
export const RefineRequest = v.strictObject({
  instruction: Given('What to consider, such as another goal or limit'),
  changed_fact: Given(
    'A fact that is other than the models took it to be; not together with an instruction',
  ),
  claim_id: v.optional(v.pipe(ClaimId, v.description('The claim that `changed_fact` is about'))),
  price: v.optional(
    v.pipe(
      v.number(),
      v.description(
        'Credits that were agreed to; 409 `price-changed`, with the new `price`, when it costs another number by now',
      ),
    ),
  ),
});
export type RefineRequest = v.InferOutput<typeof RefineRequest>;

const Refinement = v.object({
  root_id: v.pipe(RunId, v.description('The run that is no refinement')),
  previous_id: v.pipe(RunId, v.description('The run whose result it starts from')),
  number: v.pipe(v.number(), v.description('From 1 among the refinements of the root')),
  included: v.pipe(v.boolean(), v.description("The root's price covers it")),
  about: v.pipe(
    v.picklist(['instruction', 'fact', 'contested']),
    v.description('What it was asked with; `contested`: nothing new, a second vote alone'),
  ),
  text: v.pipe(v.nullable(v.string()), v.description('The instruction or the changed fact')),
  claim_id: v.pipe(v.nullable(ClaimId), v.description('The claim that the changed fact is about')),
  claim_ids: v.pipe(v.array(ClaimId), v.description('The claims that are voted on again')),
  given_before: v.pipe(
    v.array(v.string()),
    v.description('Instructions and facts of the refinements that it builds on, oldest first'),
  ),
  decision_before: v.pipe(
    v.nullable(v.string()),
    v.description('The decision of the result that it starts from'),
  ),
});

/** A completed run in which a model that was paid for has no answer; null for any other. */
const Degraded = v.object({
  answered: v.pipe(v.number(), v.description('Models whose answer was accepted')),
  paid_for: v.pipe(v.number(), v.description('Models of the panel')),
  missing: v.array(
    v.object({
      seat: SeatId,
      name: v.pipe(v.string(), v.description('Of the model, as people read it')),
      why: v.pipe(v.string(), v.description('In words')),
    }),
  ),
  strongest_missing: v.pipe(
    v.boolean(),
    v.description('The strongest model of the panel is one of them'),
  ),
  refunded: v.pipe(v.number(), v.description('Credits that were returned')),
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
        exact: v.pipe(v.boolean(), v.description('It is the very question that was asked')),
      }),
    ),
    v.description(
      'The prepared case that simulated seats answer from, with the question that its figures belong to; null when no seat is simulated',
    ),
  ),
  models: v.array(SeatProgress),
  metadata: v.object({
    models: v.pipe(
      v.array(v.string()),
      v.description('Names of the models, in the order of their seats'),
    ),
  }),
  refines: v.pipe(v.nullable(Refinement), v.description('Null for a run that refines no other')),
  refinements: v.pipe(
    v.array(OptimizationSummary),
    v.description(
      'All refinements of this run, or of the run that this one refines; the first one first',
    ),
  ),
  refinable: v.pipe(
    v.nullable(Refinable),
    v.description('Whether and at what price it can be refined now; null until it has completed'),
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
    v.description('In words, when the run failed or was cancelled'),
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

/** Questions, the runs that answer them, and what a run costs. */
export const optimizationEndpoints = {
  'GET /optimizations/strategies': {
    summary: 'List the strategies',
    description: 'With who would sit in a run now, and prices.',
    access: 'everyone',
    query: StrategiesQuery,
    status: 200,
    reply: StrategiesReply,
  },
  'POST /optimizations/estimate': {
    summary: 'Estimate a run',
    description:
      'The price in credits, the expected time and the cost of the models. Nothing is stored.',
    access: 'person',
    body: EstimateRequest,
    status: 200,
    reply: EstimateReply,
  },
  'POST /optimizations/check': {
    summary: 'Check a question before a run',
    description: `Asks one small model whether the question can be answered as it stands; it costs no credits and takes at most ${checkLimits.seconds} seconds. When it cannot be checked, the response is \`ready\` with \`skipped\`. The same text gets the same response for 10 minutes. Refused, like a start, to a user who can pay for no strategy; at most 20 an hour and 60 a day. Neither the question nor the response is stored.`,
    access: 'person',
    body: CheckRequest,
    bodyBytes: optimizationLimits.bodyBytes,
    status: 200,
    reply: CheckReply,
    refuses: [402, 403, 409],
  },
  'POST /optimizations/files': {
    summary: 'Read the text of a file',
    description: `A form (\`multipart/form-data\`) with one file in the field \`file\`: text, Markdown, CSV, PDF or Word (.docx), at most ${optimizationLimits.fileBytes / 1_000_000} MB. Of a PDF the first 200 pages are read. Formulas, scripts, macros and pictures are left out or kept as text. A user's files are read one after the other: 503 \`busy\` while another one is being read. Neither the file nor its text is stored.`,
    access: 'person',
    sends: ['multipart/form-data'],
    status: 200,
    reply: ReadFileReply,
    refuses: [413, 415, 503],
  },
  'GET /optimizations/usage': {
    summary: "This month's runs and the plan's limit",
    description:
      'The limit (−1 is unlimited) blocks only runs that bonus credits would pay for; `bonus_used` counts those. Months are UTC. `as_of` says up to when the figures are complete, usually a few seconds ago.',
    access: 'person',
    status: 200,
    reply: Usage,
  },
  'GET /users/me/stats': {
    summary: "Figures about the user's runs",
    description: '`as_of` says up to when the figures are complete, usually a few seconds ago.',
    access: 'person',
    status: 200,
    reply: DashboardStats,
  },
  'GET /optimizations': {
    summary: 'List runs, newest first by default',
    description:
      'Refinements are not among them: `refinements` says how many a run has, and the run itself lists them. A search (`q`) finds runs whose title or question has all of its words, among the newest 1,000 that the other filters leave.',
    access: 'person',
    query: RunsQuery,
    isConditional: true,
    status: 200,
    whole: OptimizationList,
  },
  'POST /optimizations': {
    summary: 'Create a run',
    description: 'Stores the question as a draft. No credits are held before it is processed.',
    access: 'person',
    body: CreateOptimizationRequest,
    bodyBytes: optimizationLimits.bodyBytes,
    status: 201,
    reply: Optimization,
    refuses: [404, 409, 503],
    idempotencyKey: 'optional',
  },
  'GET /optimizations/{id}': {
    summary: 'One run in full',
    description: 'With its seats, its progress and, at the end, its result.',
    access: 'person',
    isConditional: true,
    status: 200,
    reply: Optimization,
  },
  'PATCH /optimizations/{id}': {
    summary: 'Rename a run',
    description:
      'At most 50 times; after that the answer is 409 `too-many-renames`. Sending the same title changes nothing.',
    access: 'person',
    body: RenameRequest,
    status: 200,
    reply: Optimization,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
  'DELETE /optimizations/{id}': {
    summary: 'Delete an ended run or a draft',
    description:
      'Hides the run and its refinements; their texts are erased 30 days later. A refinement is not deleted alone: 409 `part-of-run`. While one is in progress, its run is refused with 409 `running`. A running one is refused with 409 `running`: cancel it first. A draft is cancelled for good. Credits and figures stay as they are.',
    access: 'person',
    status: 200,
    reply: DeletedReply,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
  'POST /optimizations/{id}/restore': {
    summary: 'Restore a deleted run within 30 days',
    description:
      'A draft comes back as a cancelled run. After 30 days the answer is 404; after 25 restores it is 409 `too-many-restores`.',
    access: 'person',
    status: 200,
    reply: Optimization,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
  'PUT /optimizations/{id}/next-steps/{index}': {
    summary: 'Tick off a next step of a result',
    description:
      'Or take the tick back. A repeat changes nothing. A run without a result is refused with 409 `no-result`; a step that it does not have is 404.',
    access: 'person',
    path: v.object({ id: RunId, index: StepNumber }),
    body: TickRequest,
    status: 200,
    reply: TickReply,
    refuses: [409],
  },
  'POST /optimizations/{id}/process': {
    summary: 'Start a run',
    description: 'Holds the price and starts. A repeat for a run that has started changes nothing.',
    access: 'person',
    status: 202,
    reply: Optimization,
    refuses: [402, 403, 409, 503],
    idempotencyKey: 'optional',
  },
  'POST /optimizations/{id}/refine': {
    summary: 'Refine a result',
    description: `Begins a new run that votes again on the decision and on at most ${optimizationLimits.refinedClaims} claims, with an instruction, with a changed fact, or with neither, and writes the recommendation again. It starts from the run of this address: a completed run, or the newest completed refinement of one. \`refinable\` of the run says beforehand whether it is possible, and the price; 409 \`not-refinable\` says why not. A run's price covers one refinement, which is used up when it completes, after three tries at most; each later one costs a fifth of the run's price, rounded up, and at least 2 credits.`,
    access: 'person',
    body: RefineRequest,
    status: 201,
    reply: Optimization,
    refuses: [402, 403, 404, 409, 503],
    idempotencyKey: 'optional',
  },
  'POST /optimizations/{id}/cancel': {
    summary: 'Cancel a run',
    description: 'The credits of calls that were not made are returned. A repeat changes nothing.',
    access: 'person',
    status: 202,
    reply: Optimization,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
} as const satisfies EndpointList;
