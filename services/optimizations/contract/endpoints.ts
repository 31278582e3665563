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
import { OptimizationList, Optimization } from './run.ts';
import { TickRequest, TickReply } from './result.ts';
import { RefineRequest } from './refinement.ts';

const StepNumber = v.pipe(
  v.string(),
  v.regex(/^\d{1,9}$/, 'Not the number of a step'),
  v.transform(Number),
  v.metadata({ wire: { type: 'integer', minimum: 0 } } satisfies Wire),
  v.description('The place of the step in `result.next_steps`, from 0'),
);

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
    description: `Asks one small model whether the question can be answered as it stands; it costs no credits and takes at most ${checkLimits.seconds} seconds. When it cannot be checked, the response is \`ready\` with \`skipped\`. The same text gets the same response for 10 minutes. Refused, like a start, to a user who can pay for no strategy. Neither the question nor the response is stored.`,
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
    description: `Refinements are not among them: \`refinements\` says how many a run has, and the run itself lists them. A search (\`q\`) finds runs whose title or question has all of its words, among the newest ${optimizationLimits.searchedRuns.toLocaleString('en-US')} that the other filters leave.`,
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
      'Its refinements are restored with it; one alone is refused with 409 `part-of-run`. A draft comes back as a cancelled run. After 30 days the answer is 404; after 25 restores it is 409 `too-many-restores`.',
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
    description: `Begins a new run that votes again on the decision and on at most ${optimizationLimits.refinedClaims} claims, with an instruction, with a changed fact, or with neither, and writes the recommendation again. It starts from the run of this address: a completed run, or the newest completed refinement of one. \`refinable\` of the run says beforehand whether it is possible, and the price; 409 \`not-refinable\` says why not. The repeat of a call whose refinement was never started is refused with it, too; the next call with that key begins another. A run's price covers one refinement, which is used up when it completes, after three tries at most; each later one costs a fifth of the run's price, rounded up, and at least 2 credits.`,
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
