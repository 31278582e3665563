import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Offer } from '#services/models/offer.ts';
import type { SeatingSettings } from '#services/models/seating.ts';

/** What people have, as offers: the real catalogue at its vendors and at OpenRouter, and small local models. */

export const catalogue = loadCatalogue(null);

/** After the announced ends of all promotions. */
const at = '2027-02-01T00:00:00.000Z';

export const vendors = ['openai', 'anthropic', 'google', 'mistral'] as const;

export type Connected = {
  vendors: readonly string[];
  openrouter: boolean;
  /** Number of local models. */
  ollama: number;
  endpoint: boolean;
};

/** One offer for each model, from the first provider that has it. */
export function offersOf({ vendors: keys, openrouter, ollama, endpoint }: Connected): Offer[] {
  const listed = catalogue.models.flatMap((model): Offer[] => {
    const provider = keys.includes(model.provider ?? '')
      ? model.provider
      : openrouter && 'openrouter' in model.remoteIds
        ? 'openrouter'
        : null;
    if (provider === null) return [];
    const { id, displayName: name, family, tier, efforts, structuredOutput } = model;
    const { contextTokens, maxOutputTokens, remoteIds } = model;
    return [
      {
        model: id,
        name,
        family,
        tier,
        provider,
        remoteId: provider === 'openrouter' ? (remoteIds['openrouter'] ?? id) : id,
        simulated: false,
        efforts,
        structuredOutput,
        contextTokens,
        maxOutputTokens,
        price: catalogue.priceOf(id, at),
      },
    ];
  });
  return [
    ...listed,
    ...(endpoint ? [offer({ model: 'moonlight-2', family: 'moonlight', price: null })] : []),
    ...localModels.slice(0, ollama),
  ];
}

export function offer(parts: Partial<Offer> & { model: string }): Offer {
  return {
    name: parts.model,
    family: parts.model,
    tier: 'small',
    provider: parts.family ?? parts.model,
    remoteId: parts.model,
    simulated: false,
    efforts: [],
    structuredOutput: 'json',
    contextTokens: 131_072,
    maxOutputTokens: 32_768,
    price: { inputPerMTok: 0.1, outputPerMTok: 0.4 },
    ...parts,
  };
}

const localModels: readonly Offer[] = (
  [
    ['llama3.2:3b', 'meta'],
    ['qwen3:8b', 'qwen'],
    ['gemma3:4b', 'google'],
    ['phi4-mini', 'microsoft'],
    ['deepseek-r1:8b', 'deepseek'],
    ['granite4:3b', 'ibm'],
    ['command-r:7b', 'cohere'],
  ] as const
).map(([model, family]) =>
  offer({
    model,
    family,
    provider: 'ollama',
    structuredOutput: 'schema',
    contextTokens: 16_384,
    maxOutputTokens: 16_384,
    price: { inputPerMTok: 0, outputPerMTok: 0 },
  }),
);

/** Bounds that are lifted, by mode. */
export const bounds = {
  local: { seats: true, price: true },
  production: { seats: false, price: false },
} as const;

export const settings: SeatingSettings = {
  substitute: true,
  challengeCharacters: 2000,
  filesCharacters: 0,
  packagePrice: 0.375,
  lifted: bounds.local,
};
