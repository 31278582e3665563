import type { ModelEntry, PriceRow } from './catalogue.ts';
import type { Effort } from './model.ts';

/**
 * The models that the strategies seat, with the prices of their providers' standard tier in US
 * dollars per million tokens. Data only: `catalogue.ts` validates it and does the sums.
 *
 * Sources disagree now and then; the provider's own page wins, then the higher figure. A promotion
 * is a row of its own that ends, so that the price after it is known before it comes. A null is a
 * price that no source names.
 */
const readOn = '2026-11-20';

const allEfforts: Effort[] = ['none', 'low', 'medium', 'high', 'xhigh', 'max'];

/** OpenAI above 272k input: the whole request costs twice the input and 1.5 times the output. */
function openaiRow(
  rates: Pick<PriceRow, 'inputPerMTok' | 'cachedInputPerMTok' | 'outputPerMTok' | 'source'> &
    Partial<PriceRow>,
): PriceRow {
  return {
    validFrom: null,
    validTo: null,
    readOn,
    cacheWritePerMTok: times(rates.inputPerMTok, 1.25),
    longContext: {
      aboveInputTokens: 272_000,
      inputPerMTok: times(rates.inputPerMTok, 2),
      cachedInputPerMTok:
        rates.cachedInputPerMTok === null ? null : times(rates.cachedInputPerMTok, 2),
      cacheWritePerMTok: times(rates.inputPerMTok, 2.5),
      outputPerMTok: times(rates.outputPerMTok, 1.5),
    },
    ...rates,
  };
}

function row(
  rates: Pick<PriceRow, 'inputPerMTok' | 'cachedInputPerMTok' | 'outputPerMTok' | 'source'> &
    Partial<PriceRow>,
): PriceRow {
  return {
    validFrom: null,
    validTo: null,
    readOn,
    cacheWritePerMTok: null,
    longContext: null,
    ...rates,
  };
}

/** Prices have at most four decimals. */
function times(price: number, factor: number): number {
  return Math.round(price * factor * 10_000) / 10_000;
}

export const modelList: readonly ModelEntry[] = [
  {
    id: 'gpt-6-luna',
    provider: 'openai',
    displayName: 'GPT-6 Luna',
    family: 'openai',
    capabilities: openaiCapabilities(allEfforts),
    prices: [
      openaiRow({
        inputPerMTok: 0.1,
        cachedInputPerMTok: 0.01,
        outputPerMTok: 0.5,
        source: 'https://developers.openai.com/api/docs/models/gpt-6-luna',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gpt-6.1-terra',
    provider: 'openai',
    displayName: 'GPT-6.1 Terra',
    family: 'openai',
    capabilities: openaiCapabilities(allEfforts),
    prices: [
      openaiRow({
        validFrom: '2026-10-26T00:00:00.000Z',
        inputPerMTok: 1,
        cachedInputPerMTok: 0.05,
        outputPerMTok: 5,
        source: 'https://docs.litellm.ai/blog/gpt-6-1-terra',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gpt-6.1-sol',
    provider: 'openai',
    displayName: 'GPT-6.1 Sol',
    family: 'openai',
    capabilities: openaiCapabilities(['low', 'medium', 'high', 'xhigh', 'max']),
    prices: [
      openaiRow({
        inputPerMTok: 2,
        cachedInputPerMTok: 0.1,
        outputPerMTok: 10,
        source: 'https://docs.litellm.ai/blog/gpt_6_1_sol',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gpt-6-astra',
    provider: 'openai',
    displayName: 'GPT-6 Astra',
    family: 'openai',
    capabilities: openaiCapabilities(['low', 'medium', 'high', 'xhigh', 'max']),
    prices: [
      row({
        inputPerMTok: 10,
        cachedInputPerMTok: null,
        outputPerMTok: 50,
        source: 'https://docs.venice.ai/es/models/claude-fable-5',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gpt-5.6-luna',
    provider: 'openai',
    displayName: 'GPT-5.6 Luna',
    family: 'openai',
    capabilities: openaiCapabilities(allEfforts),
    prices: [
      openaiRow({
        validTo: '2026-07-30T00:00:00.000Z',
        inputPerMTok: 1,
        cachedInputPerMTok: 0.1,
        outputPerMTok: 6,
        source: 'https://docs.laozhang.ai/en/announcements/gpt-5-6-pricing-2026-07.md',
      }),
      openaiRow({
        validFrom: '2026-07-30T00:00:00.000Z',
        inputPerMTok: 0.2,
        cachedInputPerMTok: 0.02,
        outputPerMTok: 1.2,
        source: 'https://developers.openai.com/api/docs/models/gpt-5.6-luna',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'claude-haiku-5-5',
    provider: 'anthropic',
    displayName: 'Claude Haiku 5.5',
    family: 'anthropic',
    // Thinking can be off here, which is what `none` means.
    capabilities: anthropicCapabilities(allEfforts),
    prices: [
      row({
        inputPerMTok: 0.1,
        cachedInputPerMTok: 0.01,
        cacheWritePerMTok: 0.125,
        outputPerMTok: 0.5,
        longContext: {
          aboveInputTokens: 100_000,
          inputPerMTok: 0.5,
          cachedInputPerMTok: 0.05,
          cacheWritePerMTok: 0.625,
          outputPerMTok: 2.5,
        },
        source: 'https://platform.claude.com/docs/en/models/haiku-5-5/overview',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'claude-sonnet-5-5',
    provider: 'anthropic',
    displayName: 'Claude Sonnet 5.5',
    family: 'anthropic',
    capabilities: anthropicCapabilities(['low', 'medium', 'high', 'xhigh', 'max']),
    prices: [
      row({
        inputPerMTok: 2,
        cachedInputPerMTok: 0.2,
        cacheWritePerMTok: 2.5,
        outputPerMTok: 10,
        source: 'https://platform.claude.com/docs/en/models/sonnet-5-5/overview',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'claude-opus-5-5',
    provider: 'anthropic',
    displayName: 'Claude Opus 5.5',
    family: 'anthropic',
    capabilities: anthropicCapabilities(['low', 'medium', 'high', 'xhigh', 'max']),
    prices: [
      row({
        inputPerMTok: 4,
        cachedInputPerMTok: 0.2,
        cacheWritePerMTok: 5,
        outputPerMTok: 20,
        source: 'https://platform.claude.com/docs/en/models/opus-5-5/overview',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'claude-fable-5-1',
    provider: 'anthropic',
    displayName: 'Claude Fable 5.1',
    family: 'anthropic',
    capabilities: anthropicCapabilities(['low', 'medium', 'high', 'xhigh', 'max']),
    prices: [
      row({
        inputPerMTok: 10,
        cachedInputPerMTok: null,
        outputPerMTok: 50,
        source: 'https://platform.claude.com/docs/about-claude/models/whats-new-opus-5',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gemini-3.1-flash-lite',
    provider: 'google',
    displayName: 'Gemini 3.1 Flash-Lite',
    family: 'google',
    capabilities: googleCapabilities(['minimal', 'low', 'medium', 'high']),
    prices: [
      row({
        inputPerMTok: 0.25,
        cachedInputPerMTok: 0.025,
        outputPerMTok: 1.5,
        source: 'https://github.com/simonw/llm-prices/blob/main/data/google.json',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gemini-3.5-flash-lite',
    provider: 'google',
    displayName: 'Gemini 3.5 Flash-Lite',
    family: 'google',
    capabilities: googleCapabilities(['minimal', 'low', 'medium', 'high']),
    prices: [
      row({
        inputPerMTok: 0.3,
        cachedInputPerMTok: 0.03,
        outputPerMTok: 2.5,
        source: 'https://github.com/simonw/llm-prices/blob/main/data/google.json',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gemini-3.8-flash',
    provider: 'google',
    displayName: 'Gemini 3.8 Flash',
    family: 'google',
    capabilities: googleCapabilities(['minimal', 'low', 'medium', 'high']),
    prices: [
      row({
        validTo: '2027-01-01T00:00:00.000Z',
        inputPerMTok: 0.75,
        cachedInputPerMTok: 0.075,
        outputPerMTok: 3.75,
        source:
          'https://github.com/api-evangelist/deepmind/blob/main/plans/deepmind-plans-pricing.yml',
      }),
      row({
        validFrom: '2027-01-01T00:00:00.000Z',
        inputPerMTok: 1.5,
        cachedInputPerMTok: 0.15,
        outputPerMTok: 7.5,
        source:
          'https://github.com/api-evangelist/deepmind/blob/main/plans/deepmind-plans-pricing.yml',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gemini-4-hydrogen',
    provider: 'google',
    displayName: 'Gemini 4 Hydrogen',
    family: 'google',
    capabilities: googleCapabilities(['low', 'medium', 'high', 'xhigh']),
    prices: [
      row({
        inputPerMTok: 1.5,
        cachedInputPerMTok: 0.075,
        outputPerMTok: 7.5,
        source: 'https://docs.laozhang.ai/announcements/gemini-4-hydrogen-2026-11.md',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'gemini-4-argon',
    provider: 'google',
    displayName: 'Gemini 4 Argon',
    family: 'google',
    capabilities: googleCapabilities(['low', 'medium', 'high']),
    prices: gemini4LaunchPrices('https://github.com/BerriAI/litellm/discussions/46238'),
    deprecatedAfter: null,
  },
  {
    id: 'gemini-4-carbon',
    provider: 'google',
    displayName: 'Gemini 4 Carbon',
    family: 'google',
    capabilities: googleCapabilities(['low', 'medium', 'high']),
    prices: gemini4LaunchPrices(
      'https://docs.laozhang.ai/en/announcements/gemini-4-carbon-2026-11',
    ),
    deprecatedAfter: null,
  },
  {
    id: 'ministral-8b-2512',
    provider: 'mistral',
    displayName: 'Ministral 3 8B',
    family: 'mistral',
    capabilities: mistralCapabilities([], 32_768),
    prices: [
      row({
        inputPerMTok: 0.15,
        cachedInputPerMTok: null,
        outputPerMTok: 0.15,
        source:
          'https://github.com/anomalyco/models.dev/blob/main/providers/mistral/models/ministral-8b-latest.toml',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'mistral-small-2603',
    provider: 'mistral',
    displayName: 'Mistral Small 4',
    family: 'mistral',
    capabilities: mistralCapabilities(['none', 'high'], 65_536),
    prices: [
      row({
        inputPerMTok: 0.15,
        cachedInputPerMTok: 0.015,
        outputPerMTok: 0.6,
        source:
          'https://github.com/anomalyco/models.dev/blob/main/providers/mistral/models/mistral-small-latest.toml',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'mistral-large-2512',
    provider: 'mistral',
    displayName: 'Mistral Large 3',
    family: 'mistral',
    capabilities: mistralCapabilities([], 65_536),
    prices: [
      row({
        inputPerMTok: 0.5,
        cachedInputPerMTok: null,
        outputPerMTok: 1.5,
        source: 'https://vercel.com/ai-gateway/models/mistral-large-3.md',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'mistral-medium-2604',
    provider: 'mistral',
    displayName: 'Mistral Medium 3.5',
    family: 'mistral',
    capabilities: mistralCapabilities(['none', 'high'], 65_536),
    prices: [
      row({
        inputPerMTok: 1.5,
        cachedInputPerMTok: null,
        outputPerMTok: 7.5,
        source: 'https://vercel.com/ai-gateway/models/mistral-medium-3.5.md',
      }),
    ],
    deprecatedAfter: null,
  },
  {
    id: 'mistral-large-4',
    provider: 'mistral',
    displayName: 'Mistral Large 4',
    family: 'mistral',
    capabilities: mistralCapabilities([], 262_144),
    prices: [
      row({
        validTo: '2026-10-20T00:00:00.000Z',
        inputPerMTok: 0.68,
        cachedInputPerMTok: null,
        outputPerMTok: 2.09,
        source: 'https://github.com/BlockRunAI/Franklin/releases/tag/v3.49.15',
      }),
      row({
        validFrom: '2026-10-20T00:00:00.000Z',
        inputPerMTok: 1.36,
        cachedInputPerMTok: null,
        outputPerMTok: 4.18,
        source: 'https://vercel.com/ai-gateway/models/mistral-large-4.md',
      }),
    ],
    deprecatedAfter: null,
  },
];

/** Half price until the end of November 2026. */
function gemini4LaunchPrices(source: string): PriceRow[] {
  const promotionEnds = '2026-12-01T00:00:00.000Z';
  return [
    row({
      validTo: promotionEnds,
      inputPerMTok: 2,
      cachedInputPerMTok: 0.1,
      outputPerMTok: 10,
      source,
    }),
    row({
      validFrom: promotionEnds,
      inputPerMTok: 4,
      cachedInputPerMTok: 0.2,
      outputPerMTok: 20,
      source,
    }),
  ];
}

function openaiCapabilities(effortLevels: Effort[]): ModelEntry['capabilities'] {
  return {
    temperature: false,
    effortLevels,
    jsonSchema: true,
    contextTokens: 1_050_000,
    maxOutputTokens: 128_000,
  };
}

function anthropicCapabilities(effortLevels: Effort[]): ModelEntry['capabilities'] {
  return {
    temperature: false,
    effortLevels,
    jsonSchema: true,
    contextTokens: 1_000_000,
    maxOutputTokens: 128_000,
  };
}

function googleCapabilities(effortLevels: Effort[]): ModelEntry['capabilities'] {
  return {
    temperature: true,
    effortLevels,
    jsonSchema: true,
    contextTokens: 1_048_576,
    maxOutputTokens: 65_536,
  };
}

function mistralCapabilities(
  effortLevels: Effort[],
  maxOutputTokens: number,
): ModelEntry['capabilities'] {
  return {
    temperature: true,
    effortLevels,
    jsonSchema: true,
    contextTokens: 262_144,
    maxOutputTokens,
  };
}
