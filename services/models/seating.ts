import type { Offer } from './offer.ts';
import { nearestEffort, tiersAbove } from './seating/choice.ts';
import { estimateMicros } from './seating/estimate.ts';
import {
  brokenRules,
  copiesOf,
  isSelfVerified,
  seatsByMaker,
  verdictOf,
} from './seating/independence.ts';
import type { Verdict } from './seating/independence.ts';
import { seatPanel } from './seating/panel.ts';
import type { SeatWish, Taken } from './seating/panel.ts';
import { seatRoles } from './seating/roles.ts';
import type { Roles } from './seating/roles.ts';
import { holds, localContexts, usualCalls } from './seating/tokens.ts';
import type {
  KnownModel,
  Placed,
  SeatedCouncil,
  SeatedModel,
  Substitution,
  WantedPanel,
  WantedUse,
} from './seating/wanted.ts';
import { listed, roleReason, seatReason } from './seating/words.ts';
import type { Cause } from './seating/words.ts';

/**
 * From what a strategy wants and what is offered to who sits where. Pure: the same offers give the
 * same seating, in whatever order they and the strategy's seats are listed.
 */

export type SeatingSettings = {
  mode: 'local' | 'production';
  /** Whether a model may stand in for a wanted one. */
  substitute: boolean;
  /** Of everything that the person wrote. */
  challengeCharacters: number;
  /** USD for a credit in the cheapest package. */
  packagePrice: number;
  /** Bounds of production that the operator has lifted for this strategy. */
  lifted: { seats: boolean; price: boolean };
};

/** `extractors`, `synthesizers` and `verifiers` have the strategy's shapes. All are empty when nothing can sit. */
export type Seating = Omit<SeatedCouncil, 'seats'> & {
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
  /** A verifier is the model that wrote. */
  selfVerified: boolean;
  verdict: Verdict;
  /** Micro-dollars; null with an unknown price. */
  estimate: number | null;
  /** 0–1: what is left, after the models, of the price at the cheapest package; null with an unknown price. */
  margin: number | null;
  /** `missing` has the ids of wanted models that nothing offers. */
  unavailable: null | { reason: string; missing: readonly string[] };
  /** By Ollama's models, the tokens of context to load each with. */
  numCtx: Readonly<Record<string, number>>;
};

/** Seats below their tier that production allows. */
const mostLowered = 2;
/** Share of a run's price that its models may cost in production. */
const mostOfPrice = 1 / 2;
/** Fewer reviews say too little about an answer. */
const fewestReviews = 3;

/**
 * @param known what the catalogue says of a model that the strategy wants
 * @throws RangeError for a strategy that wants a model unknown to the catalogue
 */
export function seat(
  strategy: WantedPanel,
  offered: readonly Offer[],
  known: (model: string) => KnownModel | null,
  settings: SeatingSettings,
): Seating {
  const offers = eachOnce(offered);
  const about = (model: string) => {
    const entry = known(model);
    if (entry === null) throw new RangeError(`The catalogue does not list ${model}`);
    return entry;
  };
  const missing = wantedModels(strategy).filter(
    (model) => !offers.some((offer) => offer.model === model),
  );
  const none = (reason: string) => nobody(strategy, { reason, missing });
  if (offers.length === 0) return none('No model is available.');
  if (!settings.substitute && missing.length > 0) {
    const names = listed(missing.map((model) => about(model).displayName));
    return none(`This strategy needs ${names}, and no other model may stand in.`);
  }

  const room = roomFor(strategy, settings);
  const wishes = strategy.panel.map((wanted): SeatWish => ({
    ...wanted,
    known: about(wanted.model),
    fits: (offer) => room.reviewsOf(offer, wanted) !== null,
  }));
  const taken = seatPanel(wishes, offers, reservedFor(strategy, offers));
  const seats = taken?.map(({ wish, offer }) => seated(wish, offer)) ?? [];
  const roles =
    taken &&
    seatRoles(strategy, {
      offers,
      known: about,
      calls: room.calls,
      panel: new Set(seats.map(({ offer }) => offer.model)),
    });
  if (taken === null || roles === null)
    return none('No available model can hold a question of this length.');
  if (!settings.substitute && isChanged(strategy, seats, roles))
    return none('A wanted model cannot hold a question of this length.');
  const reviewsPerSeat = Math.min(
    ...taken.map(({ wish, offer }) => room.reviewsOf(offer, wish) ?? fewestReviews),
  );
  const council = { seats, ...roles, reviewsPerSeat };
  const estimate = estimateMicros(council, settings.challengeCharacters);
  const price = strategy.credits * settings.packagePrice * 1e6;
  const lowered = taken.filter(isLower).map(({ wish }) => wish.seat);
  const byMaker = seatsByMaker(seats);
  const withTwo = [...byMaker.values()].filter((held) => held >= 2).length;
  const broken =
    settings.mode === 'local'
      ? []
      : brokenBounds(council, { lowered: lowered.length, estimate, price }, settings.lifted);
  return {
    ...council,
    substitutions: [
      ...taken.flatMap((one) => substitutionOf(one, offers)),
      ...roleSubstitutions(
        strategy,
        roles,
        (use, call) => {
          const own = offers.find(({ model }) => model === use.model);
          if (own === undefined) return 'missing';
          return holds(own, use.effort, room.calls[call]) ? 'not_independent' : 'too_small';
        },
        about,
      ),
    ],
    lowered,
    makers: byMaker.size,
    copies: copiesOf(seats),
    minFamilies: Math.max(1, Math.min(strategy.minFamilies, withTwo)),
    independence: brokenRules(strategy, seats, roles),
    selfVerified: isSelfVerified(roles),
    verdict: verdictOf(seats.length, reviewsPerSeat),
    estimate,
    margin: estimate === null ? null : 1 - estimate / price,
    unavailable: broken.length === 0 ? null : { reason: broken.join(' '), missing },
    numCtx: localContexts(
      council,
      usualCalls({
        challengeCharacters: settings.challengeCharacters,
        seats: seats.length,
        reviewsPerSeat,
      }),
    ),
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

/** The extractor's model stays outside the panel: the first of the two that is offered. */
function reservedFor({ extractors }: WantedPanel, offers: readonly Offer[]): string | null {
  return extractors.find((use) => offers.some(({ model }) => model === use.model))?.model ?? null;
}

function roomFor(strategy: WantedPanel, { challengeCharacters }: SeatingSettings) {
  const seats = strategy.panel.length;
  const callsWith = (reviewsPerSeat: number) =>
    usualCalls({ challengeCharacters, seats, reviewsPerSeat });
  return {
    calls: callsWith(strategy.reviewsPerSeat),
    /** How many answers the model can review, at most as many as wanted; null when too few. */
    reviewsOf(offer: Offer, { effort }: WantedUse): number | null {
      const fewest = Math.min(fewestReviews, strategy.reviewsPerSeat);
      for (let reviews = strategy.reviewsPerSeat; reviews >= fewest; reviews -= 1) {
        const { opinion, review } = callsWith(reviews);
        if (holds(offer, effort, opinion) && holds(offer, effort, review)) return reviews;
      }
      return null;
    },
  };
}

function seated({ seat: code, role, effort }: SeatWish, offer: Offer): SeatedModel {
  return { seat: code, role, offer, effort: nearestEffort(effort, offer.efforts) };
}

function isLower({ wish, offer }: Taken): boolean {
  return tiersAbove(wish.known.tier, offer.tier) < 0;
}

function substitutionOf({ wish, offer, found }: Taken, offers: readonly Offer[]): Substitution[] {
  if (found === 'wanted') return [];
  const wanted = wish.known.displayName;
  const cause: Cause = offers.some(({ model }) => model === wish.model) ? 'too_small' : 'missing';
  const reason = seatReason(wanted, cause, offer.name, found);
  return [{ seat: wish.seat, wanted, seated: offer.name, reason }];
}

type RoleUse = {
  role: string;
  call: 'claims' | 'draft' | 'verdict';
  use: WantedUse;
  placed: Placed;
};

function rolesOf(strategy: WantedPanel, roles: Roles): RoleUse[] {
  const named = (
    names: readonly string[],
    call: RoleUse['call'],
    uses: readonly WantedUse[],
    placed: readonly Placed[],
  ) => uses.map((use, index) => ({ role: names[index]!, call, use, placed: placed[index]! }));
  const verifiers = ['first verifier', 'second verifier'];
  const ofSecond = verifiers.map((name) => `${name} of the second writer`);
  return [
    ...named(['extractor', 'second extractor'], 'claims', strategy.extractors, roles.extractors),
    ...named(['writer', 'second writer'], 'draft', strategy.synthesizers, roles.synthesizers),
    ...named(verifiers, 'verdict', strategy.verifiers[0], roles.verifiers[0]!),
    ...named(ofSecond, 'verdict', strategy.verifiers[1], roles.verifiers[1]!),
  ];
}

function roleSubstitutions(
  strategy: WantedPanel,
  roles: Roles,
  causeOf: (use: WantedUse, call: RoleUse['call']) => Cause,
  known: (model: string) => KnownModel,
): Substitution[] {
  return rolesOf(strategy, roles).flatMap(({ role, call, use, placed }) => {
    if (placed.offer.model === use.model) return [];
    const wanted = known(use.model).displayName;
    const reason = roleReason(wanted, causeOf(use, call), placed.offer.name);
    return [{ seat: role, wanted, seated: placed.offer.name, reason }];
  });
}

function isChanged(strategy: WantedPanel, seats: readonly SeatedModel[], roles: Roles): boolean {
  return (
    strategy.panel.some(({ model }, index) => seats[index]!.offer.model !== model) ||
    rolesOf(strategy, roles).some(({ use, placed }) => placed.offer.model !== use.model)
  );
}

/** The bounds of production that the seating breaks, one sentence each. */
function brokenBounds(
  council: SeatedCouncil,
  figures: { lowered: number; estimate: number | null; price: number },
  lifted: SeatingSettings['lifted'],
): string[] {
  const broken: string[] = [];
  if (!lifted.seats && figures.lowered > mostLowered)
    broken.push(
      `${figures.lowered} of ${council.seats.length} seats would have a model of a lower class than designed; at most ${mostLowered} may.`,
    );
  if (lifted.price) return broken;
  if (figures.estimate === null) {
    const names = new Set(modelsWithoutPrice(council).map(({ offer }) => offer.name));
    broken.push(`The price of ${listed([...names])} is not known.`);
  } else if (figures.estimate > figures.price * mostOfPrice)
    broken.push('With these models a run would cost more than its price allows.');
  return broken;
}

function modelsWithoutPrice({
  seats,
  extractors,
  synthesizers,
  verifiers,
}: SeatedCouncil): Placed[] {
  return [...seats, ...extractors, ...synthesizers, ...verifiers.flat()].filter(
    ({ offer }) => offer.price === null,
  );
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
    selfVerified: false,
    verdict: verdictOf(strategy.panel.length, strategy.reviewsPerSeat),
    estimate: null,
    margin: null,
    unavailable,
    numCtx: {},
  };
}
