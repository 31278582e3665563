import type { Offer } from '#services/models/offer.ts';
import { best, byUse, nearestEffort, tierDistance, tiersAbove } from './choice.ts';
import { holds } from './tokens.ts';
import type { UsualCalls } from './tokens.ts';
import type { KnownModel, Placed, WantedPanel, WantedUse } from './wanted.ts';

/**
 * Extractors, writers and verifiers. The wanted model works if it is offered and keeps the role's
 * rules; else the offer that breaks the fewest of them, of which the nearest tier. A role's rule
 * (not on the panel, not of the writer's maker) counts more than the tier, by one tier at most.
 */

export type Roles = {
  extractors: readonly Placed[];
  synthesizers: readonly Placed[];
  verifiers: readonly (readonly Placed[])[];
};

type Situation = {
  offers: readonly Offer[];
  known: (model: string) => KnownModel;
  calls: UsualCalls;
  /** Ids of the models on the panel. */
  panel: ReadonlySet<string>;
};

/** Null when no offered model can hold the work of a role. */
export function seatRoles(strategy: WantedPanel, situation: Situation): Roles | null {
  // A wanted model has one stand-in, in every role that it has in the strategy.
  const standIns = new Map<string, Offer>();
  const wanted = ({ model }: WantedUse) =>
    situation.offers.find((offer) => offer.model === model) ?? standIns.get(model) ?? null;
  const choose: Choose = (use, call, rules) => {
    const { tier } = situation.known(use.model);
    const own = wanted(use);
    const able = situation.offers.filter((offer) =>
      holds(offer, use.effort, situation.calls[call]),
    );
    const offer = best(able, (each) => [
      ...rules.first(each),
      tiersAbove(tier, each.tier) > 1 && each !== own,
      ...rules.then(each),
      own !== null && each !== own,
      tierDistance(tier, each.tier),
      ...(rules.last?.(each) ?? []),
      ...byUse(each),
    ]);
    if (offer === null) return null;
    if (!standIns.has(use.model)) standIns.set(use.model, offer);
    return { offer, effort: nearestEffort(use.effort, offer.efforts) };
  };

  const extractors = chooseExtractors(strategy, situation.panel, wanted, choose);
  const writers = chooseWriters(strategy, wanted, choose);
  return extractors === null || writers === null ? null : { extractors, ...writers };
}

type Figures = (offer: Offer) => readonly boolean[];
type Choose = (
  use: WantedUse,
  call: keyof UsualCalls,
  /** `first` counts more than the tier, `then` more than one tier, `last` less than any. */
  rules: { first: Figures; then: Figures; last?: Figures },
) => Placed | null;
type WantedOffer = (use: WantedUse) => Offer | null;

/** Both from outside the panel where the offers allow it, and of two makers. */
function chooseExtractors(
  { extractors: [one, two] }: WantedPanel,
  panel: ReadonlySet<string>,
  wanted: WantedOffer,
  choose: Choose,
): Placed[] | null {
  const second = wanted(two);
  const first = choose(one, 'claims', {
    first: () => [],
    then: (offer) => [panel.has(offer.model), offer.model === second?.model],
    last: (offer) => [offer.family === second?.family],
  });
  if (first === null) return null;
  const other = choose(two, 'claims', {
    first: (offer) => [offer.model === first.offer.model],
    then: (offer) => [panel.has(offer.model), offer.family === first.offer.family],
  });
  return other === null ? null : [first, other];
}

function chooseWriters(
  { synthesizers: [one, two], verifiers: [ofOne, ofTwo] }: WantedPanel,
  wanted: WantedOffer,
  choose: Choose,
): Pick<Roles, 'synthesizers' | 'verifiers'> | null {
  const checking = ofOne.flatMap((use) => wanted(use) ?? []);
  const writer = choose(one, 'draft', {
    first: () => [],
    then: () => [],
    last: (offer) => [
      checking.some(({ model }) => model === offer.model),
      checking.some(({ family }) => family === offer.family),
    ],
  });
  if (writer === null) return null;
  const pair = chooseVerifiers(ofOne, writer.offer, wanted, choose);
  const other = choose(two, 'draft', {
    first: (offer) => [offer.model === writer.offer.model],
    then: () => [],
    last: (offer) => [offer.family === writer.offer.family],
  });
  if (pair === null || other === null) return null;
  const otherPair = chooseVerifiers(ofTwo, other.offer, wanted, choose);
  return otherPair && { synthesizers: [writer, other], verifiers: [pair, otherPair] };
}

/** Never the writer itself while another model is offered; of other makers where they allow it. */
function chooseVerifiers(
  [one, two]: readonly [WantedUse, WantedUse],
  writer: Offer,
  wanted: WantedOffer,
  choose: Choose,
): Placed[] | null {
  const beside = (use: WantedUse, other: Offer | null) =>
    choose(use, 'verdict', {
      first: (offer) => [offer.model === writer.model, offer.model === other?.model],
      then: (offer) => [offer.family === writer.family, offer.family === other?.family],
    });
  const second = wanted(two);
  const first = beside(one, second?.model === writer.model ? null : second);
  const other = first && beside(two, first.offer);
  return other && [first, other];
}
