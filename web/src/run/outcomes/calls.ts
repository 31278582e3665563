import { queryOptions } from '@tanstack/react-query';
import {
  DismissedReply,
  DueOutcomes,
  type Outcome,
  OutcomeFigures,
  OutcomeReply,
  type OutcomeRequest,
} from '#services/optimizations/contract/outcomes.ts';
import { read, write } from '#web/api/api.ts';

/** Below this key is what changes with an answer, and with a run that is deleted. */
const outcomesKey = ['outcomes'] as const;

/** The questions that are open. A day may have come since they were read. */
export const dueOutcomesQuery = queryOptions({
  queryKey: [...outcomesKey, 'due'],
  queryFn: ({ signal }) => read('/optimizations/outcomes/due', DueOutcomes, { signal }),
  staleTime: 0,
});

/** How results turned out, by agreement. */
export const outcomeFiguresQuery = queryOptions({
  queryKey: ['outcome-figures'],
  queryFn: ({ signal }) => read('/optimizations/outcomes', OutcomeFigures, { signal }),
});

const pathOf = (runId: string, asked: Outcome['asked']) =>
  `/optimizations/${encodeURIComponent(runId)}/outcomes/${asked}` as const;

export function recordOutcome(runId: string, asked: Outcome['asked'], request: OutcomeRequest) {
  return write('PUT', pathOf(runId, asked), request, OutcomeReply);
}

export function dismissOutcome(runId: string, asked: Outcome['asked']) {
  return write('POST', `${pathOf(runId, asked)}/dismiss`, {}, DismissedReply);
}
