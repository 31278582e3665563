import { efforts } from '#services/models/model.ts';
import type { Effort } from '#services/models/model.ts';
import type { Offer, Tier } from '#services/models/offer.ts';

/** How two offers are compared. Every comparison ends with the model's id, so that no list's order decides. */

const tiers: readonly Tier[] = ['small', 'mid', 'strong', 'flagship'];

/** Steps from the wanted tier to the offered one: 1 is one tier higher, −1 one lower. */
export function tiersAbove(wanted: Tier, offered: Tier): number {
  return tiers.indexOf(offered) - tiers.indexOf(wanted);
}

/** Smaller is better: the wanted tier, then the nearest below, then the nearest above. */
export function tierDistance(wanted: Tier, offered: Tier): number {
  const above = tiersAbove(wanted, offered);
  return above > 0 ? tiers.length + above : -above;
}

/** USD; unknown counts as the most expensive. A usual run reads three tokens for each that it writes. */
export function blendedPrice({ price }: Offer): number {
  return price === null ? Infinity : 3 * price.inputPerMTok + price.outputPerMTok;
}

const outputRank = { schema: 0, json: 1, prompt: 2 } as const;

/** The last of every comparison: who keeps to a schema, then what costs less. */
export function byUse(offer: Offer): readonly number[] {
  return [outputRank[offer.structuredOutput], blendedPrice(offer)];
}

/** The offer with the smallest figures, compared in their order; null without an offer. */
export function best(
  offers: readonly Offer[],
  figures: (offer: Offer) => readonly (number | boolean)[],
): Offer | null {
  let found: { offer: Offer; rank: readonly (number | boolean)[] } | null = null;
  for (const offer of offers) {
    const rank = figures(offer);
    if (found === null || precedes(rank, offer, found.rank, found.offer)) found = { offer, rank };
  }
  return found?.offer ?? null;
}

function precedes(
  rank: readonly (number | boolean)[],
  { model }: Offer,
  other: readonly (number | boolean)[],
  { model: otherModel }: Offer,
): boolean {
  for (const [index, figure] of rank.entries()) {
    const [one, two] = [Number(figure), Number(other[index])];
    if (one !== two) return one < two;
  }
  return model < otherModel;
}

/** The level that the model knows and that is nearest to the asked one; of two, the lower one. */
export function nearestEffort(asked: Effort | null, known: readonly Effort[]): Effort | null {
  if (asked === null) return null;
  const distance = (effort: Effort) => Math.abs(efforts.indexOf(effort) - efforts.indexOf(asked));
  return (
    efforts
      .filter((effort) => known.includes(effort))
      .toSorted((one, other) => distance(one) - distance(other))[0] ?? null
  );
}
