import { estimateOf } from './estimate.ts';
import type { PricedCouncil } from './estimate.ts';
import type { Effort } from './model.ts';
import type { Offer } from './offer.ts';
import { brokenBounds } from './seating/bounds.ts';
import type { LiftedBounds } from './seating/bounds.ts';
import { nearestEffort, tiersAbove } from './seating/choice.ts';
import { brokenRules, copiesOf, seatsByMaker, verdictOf } from './seating/independence.ts';
import type { Verdict } from './seating/independence.ts';
import { seatPanel } from './seating/panel.ts';
import type { SeatWish, Taken } from './seating/panel.ts';
import { fillRoles } from './seating/roles.ts';
import { substitutionsOf } from './seating/substitutions.ts';
import type { Substitution } from './seating/substitutions.ts';
import { holds, usualCalls } from './seating/tokens.ts';
import type { Written } from './seating/tokens.ts';
import { withEfforts } from './seating/wanted.ts';
import type { KnownModel, Placed, SeatedModel, WantedPanel, WantedUse } from './seating/wanted.ts';
import { listed } from './seating/words.ts';

/**
 * From what a strategy wants and what is offered to who sits where. Pure: the same offers give the
 * same seating, in whatever order they and the strategy's seats are listed.
 */

export type SeatingSettings = Written & {
  /** Whether a model may stand in for a wanted one. */
  substitute: boolean;
  /** USD for a credit in the cheapest package. */
  packagePrice: number;
  /** Local mode lifts both. */
  lifted: LiftedBounds;
};

/** `extractors`, `synthesizers` and `verifiers` have the strategy's shapes. All are empty when nothing can sit. */
export type Seating = Omit<PricedCouncil<Placed>, 'seats'> & {
  /** In the strategy's order. */
  seats: readonly SeatedModel[];
  /** Every seat and role whose model is not the wanted one. */
  substitutions: readonly Substitution[];
  /** Codes of the seats with a model of a lower tier than wanted. */
  lowered: readonly string[];
  /** Makers on the panel. */
  makers: number;
  /** Codes of the seats whose model sits more than once. */
  copies: readonly string[];
  /** A stage closes with answers of at least so many makers. */
  minFamilies: number;
  /** Rules of the design that this council breaks, one sentence each. */
  independence: readonly string[];
  verdict: Verdict;
  /** Micro-dollars; null with an unknown price. */
  estimate: number | null;
  /** `missing` has the ids of wanted models that nothing offers. */
  unavailable: null | { reason: string; missing: readonly string[] };
};

/** Fewer reviews say too little about an answer. */
const fewestReviews = 3;

/**
 * @param known what the catalogue says of a model that the strategy wants
 * @throws RangeError for a strategy that wants a model unknown to the catalogue
 */
export function seat(
  asked: WantedPanel,
  offered: readonly Offer[],
  known: (model: string) => KnownModel | null,
  settings: SeatingSettings,
): Seating {
  const strategy = withEfforts(asked);
  const wanted = wantedModels(strategy);
  const offers = usable(eachOnce(offered), wanted, settings);
  const about = (model: string) => {
    const entry = known(model);
    if (entry === null) throw new RangeError(`The catalogue does not list ${model}`);
    return entry;
  };
  const missing = wanted.filter((model) => !offers.some((offer) => offer.model === model));
  const none = (reason: string) => nobody(strategy, { reason, missing });
  if (offers.length === 0) return none('No model is available.');
  if (!settings.substitute && missing.length > 0) {
    const names = listed(missing.map((model) => about(model).displayName));
    return none(`This strategy needs ${names}, and no other model may stand in.`);
  }

  const room = roomFor(strategy, settings);
  const wishes = strategy.panel.map((wish): SeatWish => ({
    ...wish,
    known: about(wish.model),
    fits: (offer) => room.reviewsOf(offer, wish) !== null,
  }));
  const situation = { offers, known: about, calls: room.calls };
  const panel = seatPanel(
    wishes,
    offers,
    strategy.extractors.map(({ model }) => model),
  );
  const roles = panel && fillRoles(strategy, panel, situation);
  if (panel === null || roles === null)
    return none(
      'No available model can hold a question of this length with the answers of all seats.',
    );
  const substitutions = substitutionsOf(strategy, panel, roles, situation);
  const [changed] = substitutions;
  if (!settings.substitute && changed)
    return none(`${changed.wanted} cannot hold a question of this length.`);

  const seats = panel.map((taken) => seated(taken, strategy.efforts.review));
  const reviewsPerSeat = Math.min(
    ...panel.map(({ wish, offer }) => room.reviewsOf(offer, wish) ?? fewestReviews),
  );
  const council = { seats, ...roles, reviewsPerSeat };
  const estimate = estimateOf(council, settings);
  const price = strategy.credits * settings.packagePrice * 1e6;
  const lowered = panel.filter(isLower).map(({ wish }) => wish.seat);
  const makers = seatsByMaker(seats);
  const figures = { lowered: lowered.length, estimate, price };
  const broken = brokenBounds(council, figures, settings.lifted);
  return {
    ...council,
    substitutions,
    lowered,
    makers: makers.size,
    copies: copiesOf(seats),
    minFamilies: minFamiliesOf(strategy, makers),
    independence: brokenRules(strategy, seats, roles),
    verdict: verdictOf(seats.length, reviewsPerSeat),
    estimate,
    unavailable: broken.length === 0 ? null : { reason: broken.join(' '), missing },
  };
}

/** By id, each model once: for one model the first offer is the one to use. */
function eachOnce(offered: readonly Offer[]): Offer[] {
  return offered
    .filter(({ model }, index) => offered.findIndex((one) => one.model === model) === index)
    .toSorted((one, other) => (one.model < other.model ? -1 : 1));
}

function wantedModels(strategy: WantedPanel): string[] {
  const uses = [
    ...strategy.panel,
    ...strategy.extractors,
    ...strategy.synthesizers,
    ...strategy.verifiers.flat(),
  ];
  return [...new Set(uses.map(({ model }) => model))];
}

/** Under the price bound a model without a known price stands in only where nothing else can. */
function usable(
  offers: readonly Offer[],
  wanted: readonly string[],
  { lifted }: SeatingSettings,
): readonly Offer[] {
  if (lifted.price) return offers;
  const priced = offers.filter(({ model, price }) => price !== null || wanted.includes(model));
  return priced.length > 0 ? priced : offers;
}

function roomFor(strategy: WantedPanel, written: Written) {
  const seats = strategy.panel.length;
  const callsWith = (reviewsPerSeat: number) => usualCalls({ ...written, seats, reviewsPerSeat });
  return {
    calls: callsWith(strategy.reviewsPerSeat),
    /** How many answers the model can review, at most as many as wanted; null when too few. */
    reviewsOf(offer: Offer, { effort }: WantedUse): number | null {
      const fewest = Math.min(fewestReviews, strategy.reviewsPerSeat);
      for (let reviews = strategy.reviewsPerSeat; reviews >= fewest; reviews -= 1) {
        const { opinion, review } = callsWith(reviews);
        if (holds(offer, effort, opinion) && holds(offer, strategy.efforts.review, review))
          return reviews;
      }
      return null;
    },
  };
}

function seated({ wish: { seat: code, role, effort }, offer }: Taken, review: Effort): SeatedModel {
  return {
    seat: code,
    role,
    offer,
    effort: nearestEffort(effort, offer.efforts),
    reviewEffort: nearestEffort(review, offer.efforts),
  };
}

/** A maker with one seat cannot be asked to agree with itself. */
function minFamiliesOf(
  { minFamilies }: WantedPanel,
  seatsByMakers: ReadonlyMap<string, number>,
): number {
  const withTwo = [...seatsByMakers.values()].filter((held) => held >= 2).length;
  return Math.max(1, Math.min(minFamilies, withTwo));
}

function isLower({ wish, offer }: Taken): boolean {
  return tiersAbove(wish.known.tier, offer.tier) < 0;
}

function nobody(strategy: WantedPanel, unavailable: Seating['unavailable']): Seating {
  return {
    seats: [],
    extractors: [],
    synthesizers: [],
    verifiers: [],
    reviewsPerSeat: strategy.reviewsPerSeat,
    substitutions: [],
    lowered: [],
    makers: 0,
    copies: [],
    minFamilies: 1,
    independence: [],
    verdict: verdictOf(strategy.panel.length, strategy.reviewsPerSeat),
    estimate: null,
    unavailable,
  };
}
