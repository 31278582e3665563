import type { Offer } from '#services/models/offer.ts';
import { best, blendedPrice, byUse, tierDistance, tiersAbove } from './choice.ts';
import type { KnownModel, WantedSeat } from './wanted.ts';

/**
 * Who sits where. Wanted models that are offered sit first. The seats left are filled for all of
 * them at once, step by step, so that no seat takes as a stand-in what another one matches better:
 * an unused model of the wanted tier, then one tier lower, then copies, spread evenly.
 */

export type SeatWish = WantedSeat & {
  known: KnownModel;
  /** Whether the offered model can do the work of a seat. */
  fits: (offer: Offer) => boolean;
};

/** How a seat came by its model. */
export type Found = 'wanted' | 'same' | 'lower' | 'copy' | 'higher' | 'cheapest';
export type Taken = { wish: SeatWish; offer: Offer; found: Found };

/**
 * @param reserved a model that stays outside the panel while anything else at or below the wanted
 * tier is offered: the extractor's
 * @returns in the order of `wishes`; null when no offer fits a seat
 */
export function seatPanel(
  wishes: readonly SeatWish[],
  offers: readonly Offer[],
  reserved: string | null,
): Taken[] | null {
  const taken = new Map<string, Taken>();
  const take = (wish: SeatWish, offer: Offer | null, found: Found) => {
    if (offer !== null) taken.set(wish.seat, { wish, offer, found });
  };
  const left = () => inRolesOrder(wishes).filter(({ seat }) => !taken.has(seat));

  for (const wish of left()) {
    const own = offers.find(({ model }) => model === wish.model);
    take(wish, own !== undefined && wish.fits(own) ? own : null, 'wanted');
  }
  for (const [steps, found] of [
    [0, 'same'],
    [-1, 'lower'],
  ] as const) {
    for (const wish of left()) {
      const unused = unusedOf(wish, offers, taken, reserved).filter(
        (offer) => tiersAbove(wish.known.tier, offer.tier) === steps,
      );
      take(wish, leastSeated(unused, wish, taken), found);
    }
  }
  // The lowest wishes have the fewest models to copy: they choose first, so that copies stay even.
  for (const wish of left().toSorted(
    (one, other) => -tiersAbove(one.known.tier, other.known.tier),
  )) {
    const { offer, found } = remaining(wish, offers, taken, reserved);
    take(wish, offer, found);
  }
  const panel = wishes.flatMap(({ seat }) => taken.get(seat) ?? []);
  return panel.length === wishes.length ? panel : null;
}

type Remaining = { offer: Offer | null; found: Found };

/** A copy, unless a model that no one has yet is as good; then what the wish would rather not have. */
function remaining(
  wish: SeatWish,
  offers: readonly Offer[],
  taken: ReadonlyMap<string, Taken>,
  reserved: string | null,
): Remaining {
  const below = (offer: Offer) => tiersAbove(wish.known.tier, offer.tier) <= 0;
  const copied = leastCopied(seatedModels(taken).filter(below).filter(wish.fits), wish, taken);
  const unused = unusedOf(wish, offers, taken, reserved).filter(below);
  const nearest = best(unused, (offer) => [
    tierDistance(wish.known.tier, offer.tier),
    ...spreadOf(offer, wish, taken),
    ...byUse(offer),
  ]);
  if (nearest !== null && (copied === null || tiersAbove(copied.tier, nearest.tier) >= 0))
    return { offer: nearest, found: 'lower' };
  if (copied !== null) return { offer: copied, found: 'copy' };
  const kept = reserved === null ? null : offers.find(({ model }) => model === reserved);
  if (kept && below(kept) && wish.fits(kept))
    return { offer: kept, found: kept.tier === wish.known.tier ? 'same' : 'lower' };
  return aboveWanted(wish, offers, taken);
}

/** Nothing at or below the wanted tier is offered: one tier higher, else the cheapest there is. */
function aboveWanted(
  wish: SeatWish,
  offers: readonly Offer[],
  taken: ReadonlyMap<string, Taken>,
): Remaining {
  const fitting = offers.filter(wish.fits);
  const next = fitting.filter((offer) => tiersAbove(wish.known.tier, offer.tier) === 1);
  if (next.length > 0) return { offer: leastCopied(next, wish, taken), found: 'higher' };
  const least = Math.min(...fitting.map(blendedPrice));
  const cheapest = fitting.filter((offer) => blendedPrice(offer) === least);
  return { offer: leastCopied(cheapest, wish, taken), found: 'cheapest' };
}

function unusedOf(
  wish: SeatWish,
  offers: readonly Offer[],
  taken: ReadonlyMap<string, Taken>,
  reserved: string | null,
): Offer[] {
  const used = new Set([...taken.values()].map(({ offer }) => offer.model));
  return offers.filter(
    (offer) => !used.has(offer.model) && offer.model !== reserved && wish.fits(offer),
  );
}

function leastSeated(
  unused: readonly Offer[],
  wish: SeatWish,
  taken: ReadonlyMap<string, Taken>,
): Offer | null {
  return best(unused, (offer) => [...spreadOf(offer, wish, taken), ...byUse(offer)]);
}

/** Of models with as few seats, the one of the highest tier. */
function leastCopied(
  models: readonly Offer[],
  wish: SeatWish,
  taken: ReadonlyMap<string, Taken>,
): Offer | null {
  return best(models, (offer) => [
    [...taken.values()].filter((one) => one.offer.model === offer.model).length,
    tierDistance(wish.known.tier, offer.tier),
    ...spreadOf(offer, wish, taken),
    ...byUse(offer),
  ]);
}

/** Seats of the model's maker, on the panel and in the wish's role. */
function spreadOf(
  { family }: Offer,
  { role }: SeatWish,
  taken: ReadonlyMap<string, Taken>,
): number[] {
  const siblings = [...taken.values()].filter(({ offer }) => offer.family === family);
  return [siblings.length, siblings.filter(({ wish }) => wish.role === role).length];
}

function seatedModels(taken: ReadonlyMap<string, Taken>): Offer[] {
  return [...new Set([...taken.values()].map(({ offer }) => offer))];
}

/** By role and number, however the strategy lists its seats. */
function inRolesOrder(wishes: readonly SeatWish[]): SeatWish[] {
  const place = ({ seat }: SeatWish) =>
    'SRI'.indexOf(seat.slice(0, 1)) * 100 + Number(seat.slice(1));
  return wishes.toSorted((one, other) => place(one) - place(other));
}
