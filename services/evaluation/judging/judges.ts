import type { Offer } from '#services/models/offer.ts';
import { best, byUse, nearestEffort, tierDistance } from '#services/models/seating/choice.ts';
import { holds } from '#services/models/seating/tokens.ts';
import type { Placed } from '#services/models/seating/wanted.ts';
import type { CreatedData } from '#services/evaluation/answers/conditions.ts';
import { EvaluationError } from '#services/evaluation/evaluation-error.ts';
import { everyModel } from '#services/optimizations/run/slots.ts';
import { judgmentTokens } from './prompt.ts';

/**
 * Who judges: strong models that took no part in any answer, of makers that have no seat on the panel
 * where there are any, each judge of another maker.
 */
export type Judge = Placed & {
  /** Seats of the panel with a model of the same maker: a reason to doubt its judgment. */
  siblings: number;
};

const wantedJudges = 2;

/**
 * @param councils of all cases, because a long question may seat other models
 * @param named ids of models; null leaves the choice to the rules
 * @throws EvaluationError when no model is left to judge, or a wanted one cannot judge
 */
export function chooseJudges(
  offers: readonly Offer[],
  councils: readonly CreatedData[],
  named: readonly string[] | null,
): Judge[] {
  const { takesPart, makersOfSeats, makersOfRoles, isSimulated } = placesOf(offers, councils);
  const outside = offers.filter(
    (offer) =>
      !takesPart(offer) &&
      offer.simulated === isSimulated &&
      offer.price !== null &&
      holds(offer, effort, judgmentTokens),
  );
  const seat = (offer: Offer): Judge => ({
    offer,
    effort: nearestEffort(effort, offer.efforts),
    siblings: makersOfSeats.filter((maker) => maker === offer.family).length,
  });
  if (named !== null) return namedJudges(offers, outside, takesPart, named).map(seat);
  const judges: Judge[] = [];
  while (judges.length < wantedJudges) {
    const chosen = best(
      outside.filter((offer) => judges.every((judge) => judge.offer !== offer)),
      (offer) => [
        makersOfSeats.includes(offer.family),
        judges.some((judge) => judge.offer.family === offer.family),
        makersOfRoles.includes(offer.family),
        tierDistance('strong', offer.tier),
        ...byUse(offer),
      ],
    );
    if (chosen === null) break;
    judges.push(seat(chosen));
  }
  if (judges.length === 0)
    throw new EvaluationError(
      'Every model that is connected takes part in the answers, so none is left to judge them. Connect another one, or choose a strategy with fewer models.',
    );
  return judges;
}

const effort = 'medium';

function placesOf(offers: readonly Offer[], councils: readonly CreatedData[]) {
  const models = councils.flatMap(everyModel);
  const makersOfSeats = councils.flatMap(({ seats }) => seats.map(({ family }) => family));
  return {
    takesPart: ({ model }: Offer) => models.some((one) => one.model === model),
    makersOfSeats,
    makersOfRoles: models.flatMap(
      ({ model }) => offers.find((offer) => offer.model === model)?.family ?? [],
    ),
    isSimulated: models.some(({ simulated }) => simulated),
  };
}

function namedJudges(
  offers: readonly Offer[],
  outside: readonly Offer[],
  takesPart: (offer: Offer) => boolean,
  named: readonly string[],
): Offer[] {
  return [...new Set(named)].map((id) => {
    const offer = offers.find(({ model }) => model === id);
    if (offer === undefined)
      throw new EvaluationError(`--judges: no connected provider offers ${id}.`);
    if (takesPart(offer))
      throw new EvaluationError(
        `--judges: ${id} takes part in the answers, so it cannot judge them.`,
      );
    if (!outside.includes(offer))
      throw new EvaluationError(
        `--judges: ${id} has no known price, cannot hold two answers and the rubric, or is simulated where the answers are not.`,
      );
    return offer;
  });
}
