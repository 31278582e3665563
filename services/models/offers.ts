import type { CompatibleEndpoint } from '#services/platform/process/env.ts';
import type { Catalogue } from './catalogue.ts';
import type { ModelEntry } from './catalogue/model-entry.ts';
import type { Offer } from './offer.ts';
import type { OllamaModel } from './providers/ollama-models.ts';

/** Where a model is served, and under which id. */
export type Place = { provider: string; simulated: boolean; remoteId: string };

/**
 * One offer for each model: the catalogue's in its order, then what endpoints and Ollama have besides.
 * A local model stands in for a simulated one, and for none that is served otherwise.
 *
 * @param at ISO time of the prices
 * @param placeOf where a model is served, Ollama aside; null for nowhere
 * @param isFree whether no call to a provider costs anything
 * @param mostContext tokens that this machine can hold
 */
export function offersOf({
  catalogue,
  at,
  placeOf,
  isFree,
  endpoints,
  local,
  mostContext,
}: {
  catalogue: Pick<Catalogue, 'models' | 'priceOf'>;
  at: string;
  placeOf: (modelId: string) => Place | null;
  isFree: (provider: string) => boolean;
  endpoints: readonly CompatibleEndpoint[];
  local: readonly OllamaModel[];
  mostContext: number;
}): readonly Offer[] {
  const priceAt = (provider: string, price: Offer['price']) => (isFree(provider) ? free : price);
  const listed = catalogue.models.flatMap((entry) => {
    if (entry.retiresAt !== null && entry.retiresAt <= at) return [];
    const place = placeOf(entry.id);
    const installed = local.find(({ remoteId }) => isNamed(remoteId, entry.remoteIds['ollama']));
    if (installed !== undefined && (place === null || place.simulated))
      return [localOffer(installed, entry, mostContext)];
    if (place === null) return [];
    const price = priceAt(place.provider, catalogue.priceOf(entry.id, at));
    return [catalogueOffer(entry, place, price)];
  });
  const unlisted = [
    ...endpoints.flatMap(({ name, models }) =>
      models.map(({ remoteId, model }) => ({
        ...unlistedOffer(name, model, remoteId),
        price: priceAt(name, null),
      })),
    ),
    ...local.map((installed) => localOffer(installed, null, mostContext)),
  ].filter((offer) => !isListed(offer, catalogue));
  // The first place of a model wins.
  return [...listed, ...new Map(unlisted.toReversed().map(byModel)).values()];
}

const free = { inputPerMTok: 0, outputPerMTok: 0 };

/** Ollama reads a name without a tag as the newest one. */
export function isNamed(installed: string, named: string | undefined): boolean {
  return named !== undefined && (installed === named || installed === `${named}:latest`);
}

/** The catalogue's own offer stands for it, wherever that is served. */
function isListed({ model, provider, remoteId }: Offer, { models }: Pick<Catalogue, 'models'>) {
  return models.some(({ id, remoteIds }) => id === model || isNamed(remoteId, remoteIds[provider]));
}

const byModel = (offer: Offer) => [offer.model, offer] as const;

function catalogueOffer(entry: ModelEntry, place: Place, price: Offer['price']): Offer {
  const { id, displayName, family, tier, efforts, structuredOutput } = entry;
  return {
    model: id,
    name: displayName,
    family,
    tier,
    ...place,
    efforts,
    structuredOutput,
    contextTokens: entry.contextTokens,
    maxOutputTokens: entry.maxOutputTokens,
    price:
      price === null
        ? null
        : { inputPerMTok: price.inputPerMTok, outputPerMTok: price.outputPerMTok },
  };
}

/** What an endpoint's model can take is not known: a usual figure, which MODELS_FILE can correct. */
function unlistedOffer(endpoint: string, model: string, remoteId: string): Offer {
  return {
    model,
    name: model,
    family: endpoint,
    tier: 'small',
    provider: endpoint,
    remoteId,
    simulated: false,
    efforts: [],
    structuredOutput: 'schema',
    contextTokens: 32_768,
    maxOutputTokens: 8192,
    price: null,
  };
}

/** `entry` null: the catalogue does not list it. Prompt and reply share the context. */
function localOffer(
  { remoteId, family, efforts, contextTokens }: OllamaModel,
  entry: ModelEntry | null,
  mostContext: number,
): Offer {
  const context = Math.min(contextTokens, mostContext);
  return {
    model: entry?.id ?? remoteId,
    name: entry?.displayName ?? remoteId,
    family: entry?.family ?? family,
    tier: entry?.tier ?? 'small',
    provider: 'ollama',
    remoteId,
    simulated: false,
    efforts,
    structuredOutput: 'schema',
    contextTokens: context,
    maxOutputTokens: context,
    price: free,
  };
}
