import { charactersPerToken } from '#services/models/seating/characters.ts';
import type { Effort } from '#services/models/model.ts';
import type { Offer } from '#services/models/offer.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { best, blendedPrice, nearestEffort } from '#services/models/seating/choice.ts';
import { localContext } from '#services/models/seating/local-context.ts';
import { holds } from '#services/models/seating/tokens.ts';
import type { CallTokens } from '#services/models/seating/tokens.ts';
import { lanesOf } from '#services/models/waiting.ts';
import type { Endpoint } from '#services/models/waiting.ts';
import { offersFor } from '#services/optimizations/panel.ts';

/** Which model checks questions. */

export type CheckerDependencies = {
  registry: Pick<ModelRegistry, 'offers' | 'hasRealModels'>;
  isLocal: boolean;
  /** The operator's, some of which answer few calls at a time. */
  endpoints: readonly Endpoint[];
};

export type Checker = {
  offer: Offer;
  effort: Effort | null;
  /** Tokens of context that a local server loads the model with; null leaves it to the server. */
  numCtx: number | null;
  /** Its provider answers few calls at a time, which runs need. */
  hasLanes: boolean;
};

/**
 * The cheapest offered model of the smallest tier that can hold the question. A real one goes before
 * a simulated one, and one whose provider takes many calls at a time before one in lanes.
 *
 * @returns null when there is none
 */
export async function checkerFor(
  { registry, isLocal, endpoints }: CheckerDependencies,
  { characters, allowSimulated }: { characters: number; allowSimulated: boolean },
): Promise<Checker | null> {
  const offers = offersFor({ registry, isLocal }, await registry.offers(), allowSimulated);
  const tokens: CallTokens = {
    input: instructionTokens + Math.ceil(characters / charactersPerToken),
    output: replyTokens,
  };
  const small = offers.filter(
    (offer) => offer.tier === 'small' && holds(offer, leastEffort, tokens),
  );
  const lanes = lanesOf(
    small.map(({ provider }) => provider),
    endpoints,
  );
  const hasLanes = ({ provider, simulated }: Offer) => !simulated && provider in lanes;
  const offer = best(small, (one) => [one.simulated, hasLanes(one), blendedPrice(one)]);
  if (offer === null) return null;
  const effort = nearestEffort(leastEffort, offer.efforts);
  const numCtx = offer.simulated ? null : localContext({ offer, effort }, tokens);
  return { offer, effort, numCtx, hasLanes: hasLanes(offer) };
}

/** A check is worth no thinking. */
const leastEffort: Effort = 'none';
const instructionTokens = 700;
const replyTokens = 300;
