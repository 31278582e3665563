import type { Catalogue } from '#services/models/catalogue.ts';
import { costMicros } from '#services/models/catalogue/prices.ts';
import type { PriceRow } from '#services/models/catalogue/prices.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type {
  FailureClass,
  ModelPart,
  ModelReply,
  ModelRequest,
  Provider,
} from '#services/models/model.ts';
import type { Offer } from '#services/models/offer.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { Allowance } from './budget.ts';

/** Counts every call of a registry against an allowance. */
type Metering = {
  allowance: Allowance;
  offers: readonly Offer[];
  catalogue: Pick<Catalogue, 'priceOf'>;
  clock: () => number;
};

export function metered(registry: ModelRegistry, metering: Metering): ModelRegistry {
  return {
    ...registry,
    provider(name, simulated) {
      const provider = registry.provider(name, simulated);
      return provider && meteredProvider(provider, metering);
    },
  };
}

function meteredProvider(provider: Provider, metering: Metering): Provider {
  return {
    ...provider,
    call: (request) => meteredCall(provider, request, metering),
  };
}

async function* meteredCall(
  provider: Provider,
  request: ModelRequest,
  { allowance, offers, catalogue, clock }: Metering,
): AsyncIterable<ModelPart> {
  const at = new Date(clock()).toISOString();
  const offer = offers.find(
    (one) => one.provider === provider.name && one.remoteId === request.model,
  );
  const model = offer?.model ?? request.model;
  const price = catalogue.priceOf(model, at);
  const most = provider.isFree ? 0 : mostMicros(request, price);
  const reserved = allowance.setAside(most);
  let known: number | null = null;
  try {
    for await (const part of provider.call(request)) {
      if (part.type === 'reply') known = microsOf(provider, part.reply, price);
      yield part;
    }
  } catch (error) {
    if (error instanceof ModelFailure)
      known = costsNothing(error) ? 0 : microsOf(provider, error, price);
    throw error;
  } finally {
    reserved.count({
      at,
      model,
      provider: provider.name,
      countedMicros: known ?? most,
      isKnown: known !== null,
    });
  }
}

function microsOf(
  { isFree }: Provider,
  { usage, billedCost }: Pick<ModelReply, 'usage' | 'billedCost'>,
  price: PriceRow | null,
): number | null {
  return isFree ? 0 : (billedCost ?? costMicros(usage, price));
}

/** The provider turned the request away before a model read it. */
function costsNothing({ failure, usage, billedCost }: ModelFailure): boolean {
  return usage === unknownUsage && billedCost === null && turnedAway.includes(failure);
}

const turnedAway: readonly FailureClass[] = [
  'rate_limited',
  'conflict',
  'auth',
  'billing',
  'unknown_model',
  'bad_request',
];

/** A token holds at least one byte, so no prompt has more tokens than bytes. */
export function mostMicros(
  { system, prompt, schema, maxOutputTokens }: ModelRequest,
  price: PriceRow | null,
): number {
  if (price === null)
    throw new Error('A call without a price has no bound; its model must not be used');
  const input =
    Buffer.byteLength(system) +
    Buffer.byteLength(prompt) +
    (schema === null ? 0 : Buffer.byteLength(JSON.stringify(schema))) +
    framingTokens;
  const tiers = [price, ...(price.longContext === null ? [] : [price.longContext])];
  const inputRate = Math.max(
    ...tiers.flatMap((tier) => [tier.inputPerMTok, tier.cacheWritePerMTok ?? 0]),
  );
  const outputRate = Math.max(...tiers.map((tier) => tier.outputPerMTok));
  return Math.ceil(input * inputRate + maxOutputTokens * outputRate);
}

/** What a provider puts around a prompt. */
const framingTokens = 500;
