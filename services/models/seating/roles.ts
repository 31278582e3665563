import type { Offer } from '#services/models/offer.ts';
import { best, byUse, nearestEffort, tierDistance } from './choice.ts';
import type { Taken } from './panel.ts';
import { holds } from './tokens.ts';
import type { UsualCalls } from './tokens.ts';
import type { KnownModel, Placed, WantedPanel, WantedUse } from './wanted.ts';

/**
 * Extractors, writers and verifiers: of the offers that break the fewest rules of the place, the
 * wanted model, else one of the nearest tier. The rules speak of independence: an extractor is not on
 * the panel, a verifier is not of the writer's maker.
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
};

/** Null when no offered model can hold the work of a role. */
export function fillRoles(
  strategy: WantedPanel,
  panel: readonly Taken[],
  situation: Situation,
): Roles | null {
  const offerOf = ({ model }: WantedUse) =>
    situation.offers.find((offer) => offer.model === model) ?? null;
  // Of equal offers a wanted model has the same stand-in wherever it is wanted.
  const standIns = new Map<string, string>();
  const choose: Choose = (use, call, rules) => {
    const { tier } = situation.known(use.model);
    const own = offerOf(use);
    const able = situation.offers.filter((offer) =>
      holds(offer, use.effort, situation.calls[call]),
    );
    const offer = best(able, (each) => [
      ...rules.first(each),
      own !== null && each !== own,
      tierDistance(tier, each.tier),
      ...(rules.last?.(each) ?? []),
      standIns.has(use.model) && standIns.get(use.model) !== each.model,
      ...byUse(each),
    ]);
    if (offer === null) return null;
    standIns.set(use.model, offer.model);
    return { offer, effort: nearestEffort(use.effort, offer.efforts) };
  };

  const seated = new Set(panel.map(({ offer }) => offer.model));
  const extractors = chooseExtractors(strategy, seated, offerOf, choose);
  const writers = chooseWriters(strategy, offerOf, choose);
  return extractors === null || writers === null ? null : { extractors, ...writers };
}

type Choose = (
  use: WantedUse,
  call: keyof UsualCalls,
  /** What an offer breaks: `first` counts more than the wanted model and its tier, `last` less. */
  rules: { first: (offer: Offer) => boolean[]; last?: (offer: Offer) => boolean[] },
) => Placed | null;
type OfferOf = (use: WantedUse) => Offer | null;

/** Both from outside the panel where the offers allow it, and of two makers. */
function chooseExtractors(
  { extractors: [one, two] }: WantedPanel,
  panel: ReadonlySet<string>,
  offerOf: OfferOf,
  choose: Choose,
): Placed[] | null {
  const second = offerOf(two);
  const first = choose(one, 'claims', {
    first: (offer) => [panel.has(offer.model)],
    last: (offer) => [offer === second, offer.family === second?.family],
  });
  if (first === null) return null;
  const other = choose(two, 'claims', {
    first: (offer) => [
      offer === first.offer,
      panel.has(offer.model),
      offer.family === first.offer.family,
    ],
  });
  return other && [first, other];
}

function chooseWriters(
  { synthesizers: [one, two], verifiers: [ofOne, ofTwo] }: WantedPanel,
  offerOf: OfferOf,
  choose: Choose,
): Pick<Roles, 'synthesizers' | 'verifiers'> | null {
  const checking = ofOne.flatMap((use) => offerOf(use) ?? []);
  const writer = choose(one, 'draft', {
    first: () => [],
    last: (offer) => [
      checking.includes(offer),
      checking.some(({ family }) => family === offer.family),
    ],
  });
  const pair = writer && chooseVerifiers(ofOne, writer.offer, offerOf, choose);
  const other =
    writer &&
    choose(two, 'draft', {
      first: (offer) => [offer === writer.offer],
      last: (offer) => [offer.family === writer.offer.family],
    });
  const otherPair = other && chooseVerifiers(ofTwo, other.offer, offerOf, choose);
  if (writer === null || pair === null || other === null || otherPair === null) return null;
  return { synthesizers: [writer, other], verifiers: [pair, otherPair] };
}

/**
 * A verifier comes from another maker than the writer and the other verifier, else it is another
 * model than these, else at least another one than the writer.
 */
function chooseVerifiers(
  [one, two]: readonly [WantedUse, WantedUse],
  writer: Offer,
  offerOf: OfferOf,
  choose: Choose,
): Placed[] | null {
  const beside = (use: WantedUse, other: Offer | null) =>
    choose(use, 'verdict', {
      first: (offer) => [
        offer === writer,
        offer.family === writer.family || offer.family === other?.family,
        offer === other,
        offer.family === writer.family,
      ],
    });
  const second = offerOf(two);
  const first = beside(one, second === writer ? null : second);
  const other = first && beside(two, first.offer);
  return other && [first, other];
}
