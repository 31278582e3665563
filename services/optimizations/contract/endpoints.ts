import * as v from 'valibot';
import type { EndpointList, Wire } from '#services/platform/contract.ts';
import { checkLimits } from '#services/optimizations/check/questions.ts';
import { RunId } from './summary.ts';
import {
  optimizationLimits,
  CreateOptimizationRequest,
  CheckRequest,
  CheckReply,
  ReadFileReply,
  RunsQuery,
  RenameRequest,
  DeletedReply,
} from './requests.ts';
import {
  EstimateRequest,
  EstimateReply,
  Usage,
  DashboardStats,
  StrategiesReply,
  StrategiesQuery,
} from './panel.ts';
import { ClaimRow, ClaimsQuery } from './claims.ts';
import { Brief, BriefQuery, Community, CompetitiveReply, dashboardLimits } from './dashboard.ts';
import { OptimizationList, Optimization } from './run.ts';
import {
  AskedText,
  DismissedReply,
  DueOutcomes,
  OutcomeFigures,
  OutcomeReply,
  OutcomeRequest,
  outcomeLimits,
} from './outcomes.ts';
import { TickRequest, TickReply } from './result.ts';
import { RefineRequest } from './refinement.ts';
import { sharingEndpoints } from './sharing.ts';

const StepNumber = v.pipe(
  v.string(),
  v.regex(/^\d{1,9}$/, 'Not the number of a step'),
  v.transform(Number),
  v.metadata({ wire: { type: 'integer', minimum: 0 } } satisfies Wire),
  v.description('The place of the step in `result.next_steps`, from 0'),
);

/** Questions, the runs that answer them, and what a run costs. */
export const optimizationEndpoints = {
  ...sharingEndpoints,
  'GET /optimizations/strategies': {
    summary: 'List the strategies',
    description: 'Each with its price and the models that a run would use now.',
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
    scope: 'run',
    body: EstimateRequest,
    status: 200,
    reply: EstimateReply,
  },
  'POST /optimizations/check': {
    summary: 'Check a question before a run',
    description: `Asks one small model whether the question can be answered as it stands; it costs no credits and takes at most ${checkLimits.seconds} seconds. If the check fails, the response is \`ready\` with \`skipped\`. The same text gets the same response for 10 minutes. A user who cannot pay for any strategy is refused, as at a start. Neither the question nor the response is stored.`,
    access: 'person',
    scope: 'run',
    body: CheckRequest,
    bodyBytes: optimizationLimits.bodyBytes,
    status: 200,
    reply: CheckReply,
    refuses: [402, 403, 409],
  },
  'POST /optimizations/files': {
    summary: 'Read the text of a file',
    description: `A form (\`multipart/form-data\`) with one file in the field \`file\`: text, Markdown, CSV, PDF or Word (.docx), at most ${optimizationLimits.fileBytes / 1_000_000} MB. Only the first 200 pages of a PDF are read. Formulas, scripts, macros and pictures are left out or kept as text. One file of a user is read at a time; another one, or one too many of all users, gets 503 \`busy\`. Neither the file nor its text is stored.`,
    access: 'person',
    scope: 'run',
    sends: ['multipart/form-data'],
    status: 200,
    reply: ReadFileReply,
    refuses: [413, 415, 503],
  },
  'GET /optimizations/usage': {
    summary: "This month's runs and the plan's limit",
    description:
      'The limit (−1 is unlimited) blocks only runs that bonus credits would pay for; `bonus_used` counts those. Months are UTC. The figures are complete up to `as_of`, usually a few seconds ago.',
    access: 'person',
    scope: 'read',
    status: 200,
    reply: Usage,
  },
  'GET /optimizations/brief': {
    summary: "The user's decisions of the last 30 days",
    description:
      'Read from stored results: no model is called and no credits are used. A run with refinements appears once, with its newest result. Deleted runs are counted but not listed. With `format=markdown` the response is a file with the same decisions, in US English with days in UTC.',
    access: 'person',
    scope: 'read',
    query: BriefQuery,
    status: 200,
    reply: Brief,
    files: ['text/markdown'],
  },
  'GET /optimizations/competitive': {
    summary: "The user's newest decision about competitors",
    description: `Words such as "competitor", "rival" or "market share" in the title or the question decide, not the type of challenge. The newest ${dashboardLimits.searchedRuns} completed runs are searched.`,
    access: 'person',
    scope: 'read',
    status: 200,
    reply: CompetitiveReply,
  },
  'GET /optimizations/outcomes/due': {
    summary: "Results whose outcome the user hasn't recorded yet",
    description: `A result is asked about 30 days after it was there, and again after 90. The second question replaces the first one, and is listed until day ${outcomeLimits.lastDay}. A run with refinements is asked about once, from its newest result on. Questions that were dismissed are left out.`,
    access: 'person',
    status: 200,
    reply: DueOutcomes,
  },
  'GET /optimizations/outcomes': {
    summary: 'How results turned out, by agreement',
    description: `Counts, never text, of users who set \`shares_statistics\`, under the rules of \`GET /community\` and once a week. Each contributor counts once in a band, in tens. Left out are simulated runs, runs paid with bonus credits, and outcomes that are \`too_early\`. A band has a share from ${dashboardLimits.outcomesLeast} outcomes. No result and no score is changed by these figures.`,
    access: 'person',
    status: 200,
    reply: OutcomeFigures,
  },
  'GET /community': {
    summary: 'Figures of all users who share theirs',
    description: `Counts and scores, never text, of users who set \`shares_statistics\` and made their first purchase at least ${dashboardLimits.customerDays} days before. Runs paid with bonus credits are left out. The figures are computed once a week. A group has figures from ${dashboardLimits.groupLeast} contributors and grows by ${dashboardLimits.groupStep} at a time; each contributor counts once, and each figure is the mean of the middle half, rounded.`,
    access: 'person',
    status: 200,
    reply: Community,
  },
  'GET /users/me/stats': {
    summary: "Figures about the user's runs",
    description: 'The figures are complete up to `as_of`, usually a few seconds ago.',
    access: 'person',
    status: 200,
    reply: DashboardStats,
  },
  'GET /optimizations': {
    summary: 'List runs, newest first by default',
    description: `Refinements are not listed: \`refinements\` is their number, and the run itself lists them. A search (\`q\`) finds runs whose title or question contains all of its words, among the newest ${optimizationLimits.searchedRuns.toLocaleString('en-US')} that pass the other filters. With \`format=csv\` the response is a file with one row per run, in the same order; \`page\` continues after ${optimizationLimits.fileRuns.toLocaleString('en-US')} runs, and a file with fewer rows is the last.`,
    access: 'person',
    scope: 'read',
    query: RunsQuery,
    isConditional: true,
    status: 200,
    whole: OptimizationList,
    files: ['text/csv'],
  },
  'POST /optimizations': {
    summary: 'Create a run',
    description: 'Stores the question as a draft. No credits are reserved until the run starts.',
    access: 'person',
    scope: 'run',
    body: CreateOptimizationRequest,
    bodyBytes: optimizationLimits.bodyBytes,
    status: 201,
    reply: Optimization,
    refuses: [404, 409, 503],
    idempotencyKey: 'optional',
  },
  'GET /optimizations/{id}': {
    summary: 'One run in full',
    description: 'With its seats, its progress and, once it has completed, its result.',
    access: 'person',
    scope: 'read',
    isConditional: true,
    status: 200,
    reply: Optimization,
  },
  'GET /optimizations/{id}/markdown': {
    summary: 'One run as Markdown',
    description:
      "The question, the result, each answer and the cost as a file, in US English with days in UTC. A run that has no result, or has not ended, has its status in the result's place and the answers so far. Text of people and models is escaped.",
    access: 'person',
    scope: 'read',
    status: 200,
    files: ['text/markdown'],
  },
  'GET /optimizations/{id}/claims': {
    summary: 'The claims of a run',
    description:
      'Each with its outcome, every vote and the reasons; empty until the claims are collected. With `format=csv` the response is a file with one row per claim and one column per model.',
    access: 'person',
    scope: 'read',
    query: ClaimsQuery,
    status: 200,
    reply: v.array(ClaimRow),
    files: ['text/csv'],
  },
  'GET /optimizations/{id}/evidence': {
    summary: 'Download the evidence of a run',
    description:
      'A file with every event, text and prompt of an ended run, one JSON object a line. `optimizations verify <file>` of the command line recomputes everything from it, without a database. Without texts once these are deleted. A run in progress is refused with 409 `running`.',
    access: 'person',
    status: 200,
    files: ['application/x-ndjson'],
    refuses: [409],
  },
  'PATCH /optimizations/{id}': {
    summary: 'Rename a run',
    description:
      'A run can be renamed 50 times; after that the response is 409 `too-many-renames`. Sending the same title changes nothing.',
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
      'Hides the run and its refinements; their text is erased 30 days later. A refinement cannot be deleted alone: 409 `part-of-run`. A run in progress, or with a refinement in progress, is refused with 409 `running`: cancel it first. A draft is canceled for good. Credits and figures do not change.',
    access: 'person',
    status: 200,
    reply: DeletedReply,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
  'POST /optimizations/{id}/restore': {
    summary: 'Restore a deleted run within 30 days',
    description:
      'Its refinements are restored with it; one alone is refused with 409 `part-of-run`. A deleted draft is restored as a canceled run. After 30 days the response is 404; after 25 restores it is 409 `too-many-restores`.',
    access: 'person',
    status: 200,
    reply: Optimization,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
  'PUT /optimizations/{id}/next-steps/{index}': {
    summary: 'Tick off a next step of a result',
    description:
      'Or remove the tick. A repeat changes nothing. A run without a result is refused with 409 `no-result`; an unknown step is 404.',
    access: 'person',
    path: v.object({ id: RunId, index: StepNumber }),
    body: TickRequest,
    status: 200,
    reply: TickReply,
    refuses: [409],
  },
  'PUT /optimizations/{id}/outcomes/{day}': {
    summary: 'Record what came of a result',
    description:
      'From 30 or 90 days after the newest result of the run; before that the response is 409 `too-soon` with `asked_from`. It is recorded with the run that is no refinement, under either id. Another answer for the same day corrects it, 20 times at most, after which the response is 409 `too-many-corrections`; a correction stays about the result that was answered for first. A repeat changes nothing. A run without a result is refused with 409 `no-result`.',
    access: 'person',
    path: v.object({ id: RunId, day: AskedText }),
    body: OutcomeRequest,
    status: 200,
    reply: OutcomeReply,
    refuses: [409],
  },
  'POST /optimizations/{id}/outcomes/{day}/dismiss': {
    summary: 'Put off the question of a day',
    description:
      'It is no longer listed or emailed, and can still be answered. Before its day the response is 409 `too-soon`, without a result 409 `no-result`. A repeat changes nothing.',
    access: 'person',
    path: v.object({ id: RunId, day: AskedText }),
    status: 200,
    reply: DismissedReply,
    refuses: [409],
  },
  'POST /optimizations/{id}/process': {
    summary: 'Start a run',
    description: 'Reserves the price and starts the run. A repeat changes nothing.',
    access: 'person',
    scope: 'run',
    status: 202,
    reply: Optimization,
    refuses: [402, 403, 409, 503],
    idempotencyKey: 'optional',
  },
  'POST /optimizations/{id}/refine': {
    summary: 'Refine a result',
    description: `Starts a new run: the models vote again on the decision and on at most ${optimizationLimits.refinedClaims} claims, with an instruction, a changed fact, or neither, and the recommendation is written again. It builds on the run in the address: a completed run, or its newest completed refinement. \`refinable\` of the run says whether that is possible, and at what price; otherwise the response is 409 \`not-refinable\` with the reason. A repeat of a call whose refinement never started gets that response, too; the next call with that key starts another. A run's price covers one completed refinement, in three tries at most. Each later one costs a fifth of the run's price, rounded up, and at least 2 credits.`,
    access: 'person',
    scope: 'run',
    body: RefineRequest,
    status: 201,
    reply: Optimization,
    refuses: [402, 403, 404, 409, 503],
    idempotencyKey: 'optional',
  },
  'POST /optimizations/{id}/cancel': {
    summary: 'Cancel a run',
    description:
      'Before the first call to a model the whole price is returned, after it half, rounded up. A repeat changes nothing.',
    access: 'person',
    scope: 'run',
    status: 202,
    reply: Optimization,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
} as const satisfies EndpointList;
