import { everyModel } from '#services/models/estimate.ts';
import type { PricedCouncil } from '#services/models/estimate.ts';
import type { Placed } from './wanted.ts';
import { listed } from './words.ts';

/** What production demands of a seated panel, so that a run is worth its price and pays for its models. */

/** Bounds that the operator has lifted for a strategy. */
export type LiftedBounds = { seats: boolean; price: boolean };

/** Seats below their tier. */
const mostLowered = 2;
/** Share of a run's price. */
const mostOfPrice = 1 / 2;

/** The bounds that a council breaks, one sentence each. `estimate` and `price` in micro-dollars. */
export function brokenBounds(
  council: PricedCouncil<Placed>,
  figures: { lowered: number; estimate: number | null; price: number },
  lifted: LiftedBounds,
): string[] {
  const broken: string[] = [];
  if (!lifted.seats && figures.lowered > mostLowered)
    broken.push(
      `${figures.lowered} of ${council.seats.length} seats would have a model of a lower class than designed; at most ${mostLowered} may.`,
    );
  if (lifted.price) return broken;
  if (figures.estimate === null) {
    const unpriced = everyModel(council).filter(({ offer }) => offer.price === null);
    const names = new Set(unpriced.map(({ offer }) => offer.name));
    broken.push(`The price of ${listed([...names])} is not known.`);
  } else if (figures.estimate > figures.price * mostOfPrice)
    broken.push('With these models a run would cost more than its price allows.');
  return broken;
}
