import type { Offer } from '#services/models/offer.ts';
import type { Taken } from './panel.ts';
import type { Roles } from './roles.ts';
import { holds } from './tokens.ts';
import type { UsualCalls } from './tokens.ts';
import type { KnownModel, Placed, WantedPanel, WantedUse } from './wanted.ts';
import { roleReason, seatReason } from './words.ts';
import type { Cause } from './words.ts';

/** Names as people read them. `seat` is a seat's code, or another place in words, such as "writer". */
export type Substitution = { seat: string; wanted: string; seated: string; reason: string };

type Situation = {
  offers: readonly Offer[];
  known: (model: string) => KnownModel;
  calls: UsualCalls;
};

/** Every place whose model is not the wanted one, and why. */
export function substitutionsOf(
  strategy: WantedPanel,
  panel: readonly Taken[],
  roles: Roles,
  { offers, known, calls }: Situation,
): Substitution[] {
  const offerOf = (use: WantedUse) => offers.find(({ model }) => model === use.model);
  const ofSeats = panel.flatMap(({ wish, offer, found }) => {
    if (found === 'wanted') return [];
    const wanted = wish.known.displayName;
    const cause = offerOf(wish) === undefined ? 'missing' : 'too_small';
    const reason = seatReason(wanted, cause, offer.name, found);
    return [{ seat: wish.seat, wanted, seated: offer.name, reason }];
  });
  const ofRoles = placesOf(strategy, roles).flatMap(({ place, call, use, placed }) => {
    if (placed.offer.model === use.model) return [];
    const own = offerOf(use);
    const cause: Cause =
      own === undefined
        ? 'missing'
        : holds(own, use.effort, calls[call])
          ? 'not_independent'
          : 'too_small';
    const wanted = known(use.model).displayName;
    const reason = roleReason(wanted, cause, placed.offer.name);
    return [{ seat: place, wanted, seated: placed.offer.name, reason }];
  });
  return [...ofSeats, ...ofRoles];
}

/** A place beside the panel, by its name in words. */
type Place = { place: string; call: keyof UsualCalls; use: WantedUse; placed: Placed };

function placesOf(strategy: WantedPanel, roles: Roles): Place[] {
  const named = (
    names: readonly string[],
    call: Place['call'],
    uses: readonly WantedUse[],
    placed: readonly Placed[],
  ) => uses.map((use, index) => ({ place: names[index]!, call, use, placed: placed[index]! }));
  const verifiers = ['first verifier', 'second verifier'];
  const ofSecond = verifiers.map((name) => `${name} of the second writer`);
  return [
    ...named(['extractor', 'second extractor'], 'claims', strategy.extractors, roles.extractors),
    ...named(['writer', 'second writer'], 'draft', strategy.synthesizers, roles.synthesizers),
    ...named(verifiers, 'verdict', strategy.verifiers[0], roles.verifiers[0]!),
    ...named(ofSecond, 'verdict', strategy.verifiers[1], roles.verifiers[1]!),
  ];
}
