import type { EndpointList } from '#services/platform/contract.ts';
import {
  Balance,
  CheckUsageReply,
  CheckUsageRequest,
  ConsumeReply,
  ConsumeRequest,
  CreditAnalytics,
  History,
  HistoryQuery,
  ModelCosts,
} from './contract.ts';

/** A person's credits: how many there are, where they came from and where they went. */
export const creditEndpoints = {
  'GET /credits/balance': {
    summary: 'The balance',
    isConditional: true,
    description: 'Read-your-write: it holds whatever was answered before.',
    access: 'person',
    status: 200,
    reply: Balance,
  },
  'GET /credits/history': {
    summary: 'The ledger, newest line first',
    description: '`before` is the id of the last line one already has.',
    access: 'person',
    query: HistoryQuery,
    status: 200,
    reply: History,
  },
  'GET /credits/analytics': {
    summary: 'What credits were used for',
    description:
      'The months and the total are read-your-write. Models, the average and the count of runs follow the events by a moment: `as_of` says up to when they hold everything, usually now or a few seconds ago.',
    access: 'person',
    status: 200,
    reply: CreditAnalytics,
  },
  'GET /credits/model-costs': {
    summary: 'What models cost: their list prices, and the average of an answer',
    description:
      'Prices are USD for a million tokens. `average_cost` is USD for one answer to a question, measured over all people and the last 90 days; both it and `answers` are null below 20 answers, so that no single run shows. Answers of the simulator stand apart and are never counted among real ones. Measured figures follow the events by a moment: `as_of` says up to when they hold everything, usually now or a few seconds ago.',
    access: 'everyone',
    status: 200,
    reply: ModelCosts,
  },
  'POST /credits/check-usage': {
    summary: 'Whether a run of this price could start now',
    description:
      'Decided as the start itself decides, and holding nothing. The turns of a rate limit are not asked.',
    access: 'person',
    body: CheckUsageRequest,
    status: 200,
    reply: CheckUsageReply,
  },
  'POST /credits/consume': {
    summary: 'Credits that another service has used for a person',
    description:
      'For services with a token of their own. The `Idempotency-Key` is required: a service repeats what it does not know to have happened.',
    access: 'service',
    body: ConsumeRequest,
    status: 201,
    reply: ConsumeReply,
    refuses: [402, 403, 404, 409],
    isRepeatable: true,
  },
} as const satisfies EndpointList;
