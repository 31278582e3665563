import * as v from 'valibot';
import { efforts } from '#services/models/model.ts';
import type { Effort } from '#services/models/model.ts';
import type { ModelEntry } from './model-entry.ts';
import type { PriceRow } from './prices.ts';

/** A model of OpenRouter's public list, in the catalogue's units. */
export type ListedModel = {
  /** Such as `openai/gpt-6-luna`. */
  remoteId: string;
  name: string;
  /** Milliseconds since the epoch. */
  listedAt: number;
  contextTokens: number;
  /** Null when the list names none. */
  maxOutputTokens: number | null;
  structuredOutput: ModelEntry['structuredOutput'];
  efforts: Effort[];
  /** Null when a price is missing or negative, as for a model that routes to others. */
  price: Rates | null;
  longContext: PriceRow['longContext'];
  /** ISO time; null when no end is announced. */
  retiresAt: string | null;
};

export type Rates = Pick<
  PriceRow,
  'inputPerMTok' | 'cachedInputPerMTok' | 'cacheWritePerMTok' | 'outputPerMTok'
>;

const pricing = {
  prompt: v.optional(v.string()),
  completion: v.optional(v.string()),
  input_cache_read: v.optional(v.string()),
  input_cache_write: v.optional(v.string()),
};

const model = v.object({
  id: v.string(),
  name: v.string(),
  created: v.number(),
  context_length: v.nullish(v.number()),
  pricing: v.object({
    ...pricing,
    overrides: v.nullish(
      v.array(
        v.object({
          ...pricing,
          min_prompt_tokens: v.nullish(v.number()),
          utc_start: v.nullish(v.unknown(), null),
          utc_days: v.nullish(v.unknown(), null),
        }),
      ),
    ),
  }),
  top_provider: v.nullish(v.object({ max_completion_tokens: v.nullish(v.number()) })),
  supported_parameters: v.optional(v.array(v.string()), []),
  reasoning: v.nullish(
    v.object({
      supported_efforts: v.nullish(v.array(v.string())),
      mandatory: v.nullish(v.boolean()),
    }),
  ),
  expiration_date: v.nullish(v.pipe(v.string(), v.isoDate())),
});

const list = v.object({ data: v.array(v.unknown()) });

/** A list that cannot be had, as one sentence. */
export class ListUnavailable extends Error {
  override readonly name = 'ListUnavailable';
}

const listMs = 30_000;

/**
 * The public list; a model that it describes otherwise than documented is left out.
 *
 * @param baseUrl without a trailing slash; the list itself asks for no key
 * @throws ListUnavailable
 */
export async function readOpenRouterList(baseUrl: string): Promise<readonly ListedModel[]> {
  const { host } = new URL(baseUrl);
  let body: unknown;
  try {
    const response = await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(listMs) });
    if (!response.ok)
      throw new ListUnavailable(`${host} answered ${response.status}; check OPENROUTER_URL`);
    body = await response.json();
  } catch (error) {
    if (error instanceof ListUnavailable) throw error;
    throw new ListUnavailable(
      error instanceof SyntaxError
        ? `${host} did not answer with a list of models; check OPENROUTER_URL`
        : `${host} cannot be reached; check the network and OPENROUTER_URL`,
    );
  }
  const parsed = v.safeParse(list, body);
  if (!parsed.success)
    throw new ListUnavailable(`${host} did not answer with a list of models; check OPENROUTER_URL`);
  return parsed.output.data.flatMap((each) => {
    const read = v.safeParse(model, each);
    return read.success ? [listedModel(read.output)] : [];
  });
}

function listedModel(each: v.InferOutput<typeof model>): ListedModel {
  const price = ratesOf(each.pricing);
  return {
    remoteId: each.id,
    name: each.name,
    listedAt: each.created * 1000,
    contextTokens: each.context_length ?? 0,
    maxOutputTokens: each.top_provider?.max_completion_tokens ?? null,
    structuredOutput: structuredOutputOf(each.supported_parameters),
    efforts: effortsOf(each.reasoning),
    price,
    longContext: price === null ? null : longContextOf(price, each.pricing.overrides ?? []),
    retiresAt: each.expiration_date ? `${each.expiration_date}T00:00:00.000Z` : null,
  };
}

function structuredOutputOf(parameters: readonly string[]): ModelEntry['structuredOutput'] {
  if (parameters.includes('structured_outputs')) return 'schema';
  return parameters.includes('response_format') ? 'json' : 'prompt';
}

/** The list omits it for models that do not reason; null means every level. */
function effortsOf(reasoning: v.InferOutput<typeof model>['reasoning']): Effort[] {
  if (!reasoning) return [];
  const known = reasoning.supported_efforts ?? efforts;
  return efforts.filter(
    (effort) => known.includes(effort) && (effort !== 'none' || reasoning.mandatory !== true),
  );
}

type Pricing = { [Name in keyof typeof pricing]?: string | undefined };

function ratesOf(given: Pricing): Rates | null {
  const input = perMTok(given.prompt);
  const output = perMTok(given.completion);
  if (input === null || output === null) return null;
  return {
    inputPerMTok: input,
    cachedInputPerMTok: perMTok(given.input_cache_read),
    cacheWritePerMTok: perMTok(given.input_cache_write),
    outputPerMTok: output,
  };
}

/** Dollars per token as text; rounded up to the four decimals of the catalogue. */
function perMTok(perToken: string | undefined): number | null {
  const price = Number(perToken ?? Number.NaN) * 1_000_000;
  if (!Number.isFinite(price) || price < 0 || price > 1000) return null;
  return Math.ceil(price * 10_000 - 1e-6) / 10_000;
}

/** Prices by the hour are left out: a row has no hours. */
function longContextOf(
  base: Rates,
  overrides: readonly (Pricing & {
    min_prompt_tokens?: number | null | undefined;
    utc_start: unknown;
    utc_days: unknown;
  })[],
): PriceRow['longContext'] {
  const found = overrides.find(
    (each) => each.min_prompt_tokens && each.utc_start === null && each.utc_days === null,
  );
  if (!found?.min_prompt_tokens) return null;
  return {
    aboveInputTokens: found.min_prompt_tokens,
    inputPerMTok: perMTok(found.prompt) ?? base.inputPerMTok,
    cachedInputPerMTok: perMTok(found.input_cache_read) ?? base.cachedInputPerMTok,
    cacheWritePerMTok: perMTok(found.input_cache_write) ?? base.cacheWritePerMTok,
    outputPerMTok: perMTok(found.completion) ?? base.outputPerMTok,
  };
}
