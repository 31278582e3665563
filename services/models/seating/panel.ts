import type { Offer } from '#services/models/offer.ts';
import { best, blendedPrice, byUse, tierDistance, tiersAbove } from './choice.ts';
import type { KnownModel, WantedSeat } from './wanted.ts';

/**
 * Who sits where. Wanted models that are offered sit first. The seats left are filled for all of
 * them at once, step by step, so that no seat takes as a stand-in what another one matches better:
 * an unused model of the wanted tier, then one tier lower, then copies of the nearest tier at or below
 * the wanted one, spread evenly.
 */

export type SeatWish = WantedSeat & {
  known: KnownModel;
  /** Whether the offered model can do the work of a seat. */
  fits: (offer: Offer) => boolean;
};

/** How a seat came by its model. */
export type Found = 'wanted' | 'same' | 'lower' | 'copy' | 'higher' | 'cheapest';
export type Taken = { wish: SeatWish; offer: Offer; found: Found };

/** Seats by code, as far as they are filled. */
type Seats = Map<string, Taken>;
type Stock = {
  offers: readonly Offer[];
  /** The extractor's: outside the panel while anything else at or below a seat's tier is offered. */
  reserved: string | null;
  /** The other extractor's: of equal models the last to stand in. */
  spare: string | null;
};

/**
 * @param extractors the wanted ones, which the panel should leave alone
 * @returns in the order of `wishes`; null when no offer fits a seat
 */
export function seatPanel(
  wishes: readonly SeatWish[],
  offers: readonly Offer[],
  extractors: readonly string[],
): Taken[] | null {
  const offered = extractors.filter((id) => offers.some(({ model }) => model === id));
  const stock: Stock = { offers, reserved: offered[0] ?? null, spare: offered[1] ?? null };
  const seats: Seats = new Map();
  const take = (wish: SeatWish, offer: Offer | null, found: Found) => {
    if (offer !== null) seats.set(wish.seat, { wish, offer, found });
  };
  const left = () => inRolesOrder(wishes).filter(({ seat }) => !seats.has(seat));

  for (const wish of left()) {
    const own = offers.find(({ model }) => model === wish.model);
    take(wish, own !== undefined && wish.fits(own) ? own : null, 'wanted');
  }
  for (const wish of left()) take(wish, unusedModel(wish, 0, stock, seats), 'same');
  for (const wish of left()) take(wish, unusedModel(wish, -1, stock, seats), 'lower');
  for (const wish of left())
    if (!offers.some((offer) => isAtOrBelow(wish, offer)))
      take(wish, ...aboveWanted(wish, stock, seats));
  for (const wish of left()) take(wish, ...copyOrLess(wish, stock, seats));
  const panel = wishes.flatMap(({ seat }) => seats.get(seat) ?? []);
  return panel.length === wishes.length ? panel : null;
}

/** Of the tier so many steps from the wanted one, from the maker that sits least. */
function unusedModel(wish: SeatWish, steps: number, stock: Stock, seats: Seats): Offer | null {
  const unused = unusedOf(wish, stock, seats).filter(
    (offer) => tiersAbove(wish.known.tier, offer.tier) === steps,
  );
  return best(unused, (offer) => [
    ...spreadOf(offer, wish, seats),
    offer.model === stock.spare,
    ...byUse(offer),
  ]);
}

/** Nothing at or below the wanted tier is offered: one tier higher, else the cheapest there is. */
function aboveWanted(wish: SeatWish, { offers }: Stock, seats: Seats): [Offer | null, Found] {
  const fitting = offers.filter(wish.fits);
  const next = fitting.filter((offer) => tiersAbove(wish.known.tier, offer.tier) === 1);
  if (next.length > 0) return [leastSeated(next, wish, seats), 'higher'];
  const least = Math.min(...fitting.map(blendedPrice));
  const cheapest = fitting.filter((offer) => blendedPrice(offer) === least);
  return [leastSeated(cheapest, wish, seats), 'cheapest'];
}

/** A copy, unless an unused model further below is as good; at last the one kept for the extractor. */
function copyOrLess(wish: SeatWish, stock: Stock, seats: Seats): [Offer | null, Found] {
  const atOrBelow = (models: readonly Offer[]) =>
    models.filter((offer) => isAtOrBelow(wish, offer));
  const copy = leastSeated(atOrBelow(seatedModels(seats)), wish, seats);
  const unused = leastSeated(atOrBelow(unusedOf(wish, stock, seats)), wish, seats);
  if (unused !== null && (copy === null || tiersAbove(copy.tier, unused.tier) >= 0))
    return [unused, 'lower'];
  if (copy !== null) return [copy, 'copy'];
  const kept = atOrBelow(stock.offers).find(({ model }) => model === stock.reserved);
  return [kept ?? null, kept?.tier === wish.known.tier ? 'same' : 'lower'];
}

function isAtOrBelow({ known, fits }: SeatWish, offer: Offer): boolean {
  return fits(offer) && tiersAbove(known.tier, offer.tier) <= 0;
}

/** Of the nearest tier the model with the fewest seats. */
function leastSeated(models: readonly Offer[], wish: SeatWish, seats: Seats): Offer | null {
  return best(models, (offer) => [
    tierDistance(wish.known.tier, offer.tier),
    seatsOf(offer, seats),
    ...spreadOf(offer, wish, seats),
    ...byUse(offer),
  ]);
}

function unusedOf(wish: SeatWish, { offers, reserved }: Stock, seats: Seats): Offer[] {
  return offers.filter(
    (offer) => seatsOf(offer, seats) === 0 && offer.model !== reserved && wish.fits(offer),
  );
}

/** Seats of the model's maker, on the panel and in the seat's role. */
function spreadOf({ family }: Offer, { role }: SeatWish, seats: Seats): number[] {
  const siblings = [...seats.values()].filter(({ offer }) => offer.family === family);
  return [siblings.length, siblings.filter(({ wish }) => wish.role === role).length];
}

function seatsOf({ model }: Offer, seats: Seats): number {
  return [...seats.values()].filter(({ offer }) => offer.model === model).length;
}

function seatedModels(seats: Seats): Offer[] {
  return [...new Set([...seats.values()].map(({ offer }) => offer))];
}

/** By role and number, however the strategy lists its seats. */
function inRolesOrder(wishes: readonly SeatWish[]): SeatWish[] {
  const place = ({ seat }: SeatWish) =>
    'SRI'.indexOf(seat.slice(0, 1)) * 100 + Number(seat.slice(1));
  return wishes.toSorted((one, other) => place(one) - place(other));
}
