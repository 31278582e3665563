import type { EndpointList } from '#services/platform/contract.ts';
import {
  CreateOptimizationRequest,
  DashboardStats,
  DeletedReply,
  EstimateReply,
  EstimateRequest,
  Optimization,
  OptimizationList,
  RenameRequest,
  RunsQuery,
  StrategiesReply,
  Usage,
} from './contract.ts';

/** Questions, the runs that answer them, and what a run costs. */
export const optimizationEndpoints = {
  'GET /optimizations/strategies': {
    summary: 'The strategies, with their seats and prices',
    access: 'everyone',
    status: 200,
    reply: StrategiesReply,
  },
  'POST /optimizations/estimate': {
    summary: 'What a run would cost',
    access: 'person',
    body: EstimateRequest,
    status: 200,
    reply: EstimateReply,
  },
  'GET /optimizations/usage': {
    summary: "The runs of this UTC month against the plan's limit",
    description:
      'The limit (−1 is unlimited) blocks only runs that bonus credits would pay for; `bonus_used` counts those. The figures follow the events by a moment: `as_of` says up to when they hold everything, usually now or a few seconds ago.',
    access: 'person',
    status: 200,
    reply: Usage,
  },
  'GET /users/me/stats': {
    summary: "How the person's runs went",
    description:
      'The figures follow the events by a moment: `as_of` says up to when they hold everything, usually now or a few seconds ago.',
    access: 'person',
    status: 200,
    reply: DashboardStats,
  },
  'GET /optimizations': {
    summary: 'Runs, newest first unless told otherwise',
    description:
      'A search (`q`) finds runs whose title or question has all of its words. It looks through the newest 1,000 that the other filters leave.',
    access: 'person',
    query: RunsQuery,
    isConditional: true,
    status: 200,
    whole: OptimizationList,
  },
  'POST /optimizations': {
    summary: 'Writes down a question; nothing is spent before it is processed',
    access: 'person',
    body: CreateOptimizationRequest,
    status: 201,
    reply: Optimization,
    refuses: [404, 409, 503],
    isRepeatable: true,
  },
  'GET /optimizations/{id}': {
    summary: 'One run in full',
    access: 'person',
    isConditional: true,
    status: 200,
    reply: Optimization,
  },
  'PATCH /optimizations/{id}': {
    summary: 'Gives a run another title',
    description:
      'At most 50 times; after that the answer is 409 `too-many-renames`. The same title again is no change.',
    access: 'person',
    body: RenameRequest,
    status: 200,
    reply: Optimization,
    refuses: [409, 503],
    isRepeatable: true,
  },
  'DELETE /optimizations/{id}': {
    summary: 'Takes an ended run or a draft out of sight; its texts are erased 30 days later',
    description:
      'A run that is under way is refused with 409 `running`: cancel it first. A draft is cancelled for good. Credits and figures stay as they are.',
    access: 'person',
    status: 200,
    reply: DeletedReply,
    refuses: [409, 503],
    isRepeatable: true,
  },
  'POST /optimizations/{id}/restore': {
    summary: 'Brings a deleted run back, within 30 days',
    description:
      'A draft comes back as a cancelled run. Later than that the answer is 404. After 25 times it is 409 `too-many-restores`.',
    access: 'person',
    status: 200,
    reply: Optimization,
    refuses: [409, 503],
    isRepeatable: true,
  },
  'POST /optimizations/{id}/process': {
    summary: 'Holds the price and starts the run',
    access: 'person',
    status: 202,
    reply: Optimization,
    refuses: [402, 403, 409, 503],
    isRepeatable: true,
  },
  'POST /optimizations/{id}/cancel': {
    summary: 'Stops a run; what no model was called for is given back',
    access: 'person',
    status: 202,
    reply: Optimization,
    refuses: [409, 503],
    isRepeatable: true,
  },
} as const satisfies EndpointList;
