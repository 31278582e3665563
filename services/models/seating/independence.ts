import { seatRoles } from '#services/models/strategy-list.ts';
import type { Roles } from './roles.ts';
import type { Placed, SeatedModel, WantedPanel } from './wanted.ts';

/** What a seated council keeps of the design's independence: by makers, by models, by comparisons. */

/** Makers on the panel → their seats. */
export function seatsByMaker(seats: readonly SeatedModel[]): ReadonlyMap<string, number> {
  const byMaker = Map.groupBy(seats, ({ offer }) => offer.family);
  return new Map([...byMaker].map(([maker, held]) => [maker, held.length]));
}

/** Codes of the seats whose model sits more than once. */
export function copiesOf(seats: readonly SeatedModel[]): string[] {
  return seats
    .filter(({ offer }) => seats.filter((one) => one.offer.model === offer.model).length > 1)
    .map(({ seat }) => seat);
}

/** The rules of the design that the council breaks, one sentence each. */
export function brokenRules(
  { minFamilies }: WantedPanel,
  seats: readonly SeatedModel[],
  { extractors, synthesizers, verifiers }: Roles,
): string[] {
  const models = Map.groupBy(seats, ({ offer }) => offer.model);
  const makers = seatsByMaker(seats).size;
  const panel = new Set(models.keys());
  return [
    ...[...models.values()].flatMap((held) =>
      held.length > 1
        ? [`${held[0]!.offer.name} holds ${held.length} of ${seats.length} seats.`]
        : [],
    ),
    ...(makers === 1 ? ['All models of the panel come from one maker.'] : []),
    ...(makers > 1 && makers < minFamilies
      ? [`The models of the panel come from ${makers} makers; the design asks for ${minFamilies}.`]
      : []),
    ...rolesOfOneMaker(makers > 1 ? seats : []),
    ...extractors.flatMap(({ offer }, index) =>
      panel.has(offer.model)
        ? [
            `${offer.name}, ${['the extractor', 'the second extractor'][index]}, also sits on the panel.`,
          ]
        : [],
    ),
    ...(makersOf(extractors) < 2 ? ['Both extractors come from one maker.'] : []),
    ...(makersOf(synthesizers) < 2 ? ['Both writers come from one maker.'] : []),
    ...new Set(verifiers.flatMap((pair, index) => brokenByVerifiers(synthesizers[index]!, pair))),
  ];
}

function rolesOfOneMaker(seats: readonly SeatedModel[]): string[] {
  return seatRoles.flatMap((role) =>
    makersOf(seats.filter((seat) => seat.role === role)) === 1
      ? [`All ${role} seats have models of one maker.`]
      : [],
  );
}

function brokenByVerifiers(writer: Placed, pair: readonly Placed[]): string[] {
  const broken: string[] = [];
  if (pair.some(({ offer }) => offer.model === writer.offer.model))
    broken.push('A model checks the answer that it wrote.');
  else if (pair.some(({ offer }) => offer.family === writer.offer.family))
    broken.push('A verifier comes from the maker of the model that wrote the answer.');
  if (makersOf(pair) < 2) broken.push('Both verifiers of an answer come from one maker.');
  return broken;
}

export type Verdict = 'full' | 'order_only' | 'may_stay_open';

/** The council's metric names a clear winner only from so many comparisons of the first two answers. */
const comparisons = 3;

/**
 * What the reviews can say: k answers each of n seats compare every pair k(k − 1)/(n − 1) times in the
 * mean, spread as evenly as possible. With at most four answers each, no pair reaches three.
 */
export function verdictOf(seats: number, reviewsPerSeat: number): Verdict {
  const reviews = Math.min(reviewsPerSeat, seats - 1);
  const mean = (reviews * (reviews - 1)) / (seats - 1);
  if (mean >= comparisons) return 'full';
  return mean > comparisons - 1 ? 'may_stay_open' : 'order_only';
}

function makersOf(placed: readonly Placed[]): number {
  return new Set(placed.map(({ offer }) => offer.family)).size;
}
