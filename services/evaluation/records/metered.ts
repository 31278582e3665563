import { mostMicros } from '#services/evaluation/prices.ts';
import type { Prices } from '#services/evaluation/prices.ts';
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
import type { ModelRegistry } from '#services/models/registry.ts';
import type { Allowance } from './budget.ts';

/** Counts every call of a registry against an allowance. */
type Metering = Prices & { allowance: Allowance };

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
  const most = provider.isFree ? 0 : mostOf(request, price);
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

function mostOf(
  { system, prompt, schema, maxOutputTokens }: ModelRequest,
  price: PriceRow | null,
): number {
  const parts = [system, prompt, ...(schema === null ? [] : [JSON.stringify(schema)])];
  const promptBytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  return mostMicros({ promptBytes, maxOutputTokens }, price);
}
