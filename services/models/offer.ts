import type { Effort } from './model.ts';

/** From the cheapest models to the best ones that a maker has. */
export const tiers = ['small', 'mid', 'strong', 'flagship'] as const;
export type Tier = (typeof tiers)[number];

/** A model at a provider, which a run may seat. */
export type Offer = {
  /** The catalogue's id; for a model that the catalogue does not list, the provider's own id. */
  model: string;
  /** As people write it. */
  name: string;
  /** The maker. An unlisted model of an endpoint counts as the endpoint's own family, tier `small`. */
  family: string;
  tier: Tier;
  /** `openai`, `anthropic`, `google`, `mistral`, `openrouter`, `ollama`, or an endpoint's name. */
  provider: string;
  /** The id by which the provider knows it. */
  remoteId: string;
  /** The sandbox answers for it. */
  simulated: boolean;
  efforts: readonly Effort[];
  structuredOutput: 'schema' | 'json' | 'prompt';
  contextTokens: number;
  maxOutputTokens: number;
  /** USD per million tokens in force; null: unknown; zeros for a local model. */
  price: { inputPerMTok: number; outputPerMTok: number } | null;
};

/** Whose machines answer a run. The slowest decides how long it takes, so it names the class. */
export type ProviderClass = 'vendor' | 'router' | 'local';

export function providerClassOf(
  offers: readonly Pick<Offer, 'provider' | 'price'>[],
): ProviderClass {
  if (offers.some(isFree)) return 'local';
  return offers.some(({ provider }) => provider === 'openrouter') ? 'router' : 'vendor';
}

/** A model on this machine costs nothing. */
export function isFree({ price }: Pick<Offer, 'price'>): boolean {
  return price?.inputPerMTok === 0 && price.outputPerMTok === 0;
}
