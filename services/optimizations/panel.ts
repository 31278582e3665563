import type { Catalogue } from '#services/models/catalogue.ts';
import { everyModel } from '#services/models/estimate.ts';
import { displayNameOf } from '#services/models/provider-list.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { seat } from '#services/models/seating.ts';
import type { Seating } from '#services/models/seating.ts';
import { cardSentence, independenceSentence } from '#services/models/seating/words.ts';
import type { Strategy } from '#services/models/strategies.ts';
import type { PanelFacts } from './contract.ts';

/** Who sits in a run of a strategy: asked for its card, its estimate and its start alike. */

export type PanelDependencies = {
  catalogue: Catalogue;
  registry: Pick<ModelRegistry, 'offers' | 'hasRealModels'>;
  isLocal: boolean;
  /** Whether a model may stand in for a wanted one. */
  substituteModels: boolean;
  /** USD for a credit in the cheapest package. */
  creditUsd: number;
};

type Asked = {
  strategy: Strategy;
  /** Of everything that the person wrote. */
  challengeCharacters: number;
  allowSimulated: boolean;
};

/**
 * Once a real model is connected, real models alone are seated, unless the user allows simulated ones
 * beside them. One list of offers serves all strategies of a call.
 */
export async function panelsOf({
  catalogue,
  registry,
  isLocal,
  substituteModels,
  creditUsd,
}: PanelDependencies): Promise<(asked: Asked) => Seating> {
  const offers = await registry.offers();
  const real = offers.filter(({ simulated }) => !simulated);
  const mayBeSimulated = (allowed: boolean) => isLocal && (allowed || !registry.hasRealModels);
  return ({ strategy, challengeCharacters, allowSimulated }) =>
    seat(strategy, mayBeSimulated(allowSimulated) ? offers : real, catalogue.modelOf, {
      mode: isLocal ? 'local' : 'production',
      substitute: substituteModels,
      challengeCharacters,
      packagePrice: creditUsd,
      lifted: strategy.lifted,
    });
}

/** What people see of a seating before they pay for it. */
export function describePanel(
  seating: Seating,
  strategy: Strategy,
  catalogue: Catalogue,
): PanelFacts {
  const nameOf = (model: string) => catalogue.modelOf(model)?.displayName ?? model;
  const { unavailable, substitutions, makers, copies, verdict, independence } = seating;
  const isEmpty = seating.seats.length === 0;
  const seats = isEmpty
    ? strategy.panel.map(({ seat: code, role, model }) => ({
        seat: code,
        role,
        model,
        name: nameOf(model),
        simulated: false,
      }))
    : seating.seats.map(({ seat: code, role, offer }) => ({
        seat: code,
        role,
        model: offer.model,
        name: offer.name,
        simulated: offer.simulated,
      }));
  return {
    seats,
    available: unavailable === null,
    unavailable: unavailable?.reason ?? null,
    missing: (unavailable?.missing ?? []).map(nameOf),
    simulated: seats.some(({ simulated }) => simulated),
    providers: providersOf(seating),
    makers,
    copies: copies.length,
    substitutions: [...substitutions],
    summary: isEmpty ? null : cardSentence(seating),
    independence: [
      ...[independenceSentence(seating)].filter((sentence) => sentence !== null),
      ...independence,
    ],
    verdict,
  };
}

/** Each provider once; a real provider is not also listed as simulated. */
function providersOf(seating: Seating): PanelFacts['providers'] {
  const simulatedOf = new Map<string, boolean>();
  for (const { offer } of everyModel(seating))
    simulatedOf.set(offer.provider, offer.simulated && (simulatedOf.get(offer.provider) ?? true));
  return [...simulatedOf].map(([name, simulated]) => ({ name: displayNameOf(name), simulated }));
}
