import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { CheckUsageReply } from '#services/credits/contract.ts';
import { EstimateReply, StrategiesReply } from '#services/optimizations/contract/panel.ts';
import { Optimization } from '#services/optimizations/contract/run.ts';
import { promptCharacters } from '#services/models/seating/characters.ts';
import { read, write } from '#web/api/api.ts';
import type { Fields, StrategyId } from './question/fields.ts';
import { textsOf } from './question/rows.ts';
import type { StartCalls } from './start.ts';

function panelsQuery<Part>(allowSimulated: boolean, select: (reply: StrategiesReply) => Part) {
  return queryOptions({
    queryKey: ['strategies', allowSimulated],
    queryFn: async ({ signal }) => {
      const query = { allow_simulated: allowSimulated ? 'true' : 'false' } as const;
      return read('/optimizations/strategies', StrategiesReply, { signal, query });
    },
    select,
    placeholderData: keepPreviousData,
    staleTime: 300_000,
  });
}

/** The strategies with who would sit in a run now, their prices and availability. */
export function strategiesQuery(allowSimulated: boolean = false) {
  return panelsQuery(allowSimulated, ({ strategies }) => strategies);
}

/** The provider that checks questions before a start; null when none does. */
export function checkerQuery(allowSimulated: boolean) {
  return panelsQuery(allowSimulated, ({ checker }) => checker);
}

/** Everything that a run would put to the models, and to which. */
export type Estimated = {
  readonly strategy: StrategyId;
  readonly text: string;
  /** Context, objectives and constraints, joined by lines. */
  readonly contextText: string;
  /** As the server counts the texts of all files. */
  readonly filesCharacters: number;
  readonly allowSimulated: boolean;
};

export function estimatedOf(strategy: StrategyId, fields: Fields): Estimated {
  const { challenge, context, objectives, constraints, files, allowSimulated } = fields;
  const rows = [...textsOf(objectives), ...textsOf(constraints)];
  const contextText = [context, ...rows].join('\n').trim();
  const filesCharacters = promptCharacters(...files.map(({ text: whole }) => whole.trim()));
  return { strategy, text: challenge.trim(), contextText, filesCharacters, allowSimulated };
}

/** The estimated model cost of a run. A newer call aborts an older one. */
export function estimateQuery(asked: Estimated) {
  const { strategy, text, contextText, filesCharacters, allowSimulated } = asked;
  return queryOptions({
    queryKey: ['estimate', strategy, text, contextText, filesCharacters, allowSimulated],
    queryFn: async ({ signal }) => {
      const request = {
        strategy,
        workflowType: 'business-optimization',
        challengeText: text,
        contextText,
        ...(filesCharacters === 0 ? {} : { files_characters: filesCharacters }),
        allow_simulated: allowSimulated,
      };
      try {
        const reply = await write('POST', '/optimizations/estimate', request, EstimateReply, {
          signal,
        });
        return reply.estimate;
      } catch (error) {
        if (!signal.aborted) console.warn('Failed to estimate cost', error);
        throw error;
      }
    },
    gcTime: 60_000,
  });
}

/** The calls of `startRun`. */
export const startCalls: StartCalls = {
  checkUsage: async (credits) =>
    write('POST', '/credits/check-usage', { required_credits: credits }, CheckUsageReply),
  createRun: async (request, key) =>
    write('POST', '/optimizations', request, Optimization, { key }),
  processRun,
  wait: async (milliseconds) =>
    new Promise((resolve) => {
      setTimeout(resolve, milliseconds);
    }),
};

export async function processRun(id: string, key: string): Promise<Optimization> {
  return write('POST', `/optimizations/${encodeURIComponent(id)}/process`, {}, Optimization, {
    key,
  });
}
