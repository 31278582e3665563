import type { Catalogue } from '#services/models/catalogue.ts';
import type { PriceRow } from '#services/models/catalogue/prices.ts';
import type { Offer } from '#services/models/offer.ts';

/** Where an evaluation finds prices. */
export type Prices = {
  offers: readonly Offer[];
  catalogue: Pick<Catalogue, 'priceOf'>;
  clock: () => number;
};

export function offerOf(
  offers: readonly Offer[],
  { model, provider }: { model: string; provider: string },
): Offer | undefined {
  return offers.find((one) => one.model === model && one.provider === provider);
}

/** Micro-dollars that a call costs at most: a token holds at least one byte, so no prompt has more tokens than bytes. */
export function mostMicros(
  { promptBytes, maxOutputTokens }: { promptBytes: number; maxOutputTokens: number },
  price: PriceRow | null,
): number {
  if (price === null)
    throw new Error('A call without a price has no bound; its model must not be used');
  const tiers = [price, ...(price.longContext === null ? [] : [price.longContext])];
  const inputRate = Math.max(
    ...tiers.flatMap((tier) => [tier.inputPerMTok, tier.cacheWritePerMTok ?? 0]),
  );
  const outputRate = Math.max(...tiers.map((tier) => tier.outputPerMTok));
  return Math.ceil((promptBytes + framingTokens) * inputRate + maxOutputTokens * outputRate);
}

/** What a provider puts around a prompt. */
const framingTokens = 500;
