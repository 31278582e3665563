import type { Effort } from './model.ts';
import type { Offer } from './offer.ts';
import { thinkingTokens, usualCalls } from './seating/tokens.ts';
import type { CallTokens, Written } from './seating/tokens.ts';

/**
 * What the models of a run are likely to cost, before it runs: the usual tokens of each call at the
 * prices in force. It is an estimate and is shown as one; the real cost comes from usage.
 */

type PricedModel = { offer: Pick<Offer, 'price'>; effort: Effort | null };

/** The models of a run. */
export type PricedCouncil<Model extends PricedModel = PricedModel> = {
  seats: readonly (Model & { reviewEffort: Effort | null })[];
  /** First and second. */
  extractors: readonly Model[];
  /** First and other. */
  synthesizers: readonly Model[];
  /** For each synthesiser the two models that verify its draft. */
  verifiers: readonly (readonly Model[])[];
  /** Answers that each seat reviews. */
  reviewsPerSeat: number;
};

/**
 * Micro-dollars of a run in which the first extractor and the first writer succeed. Zero for local
 * models; null when any model that the run may call has no known price.
 */
export function estimateOf(council: PricedCouncil, written: Written): number | null {
  const calls = usualCalls({
    ...written,
    seats: council.seats.length,
    reviewsPerSeat: council.reviewsPerSeat,
  });
  const likely = [
    ...council.seats.flatMap((seat) => [
      callMicros(seat, calls.opinion),
      callMicros({ ...seat, effort: seat.reviewEffort }, calls.review),
    ]),
    ...council.extractors.slice(0, 1).map((one) => callMicros(one, calls.claims)),
    ...council.synthesizers.slice(0, 1).map((one) => callMicros(one, calls.draft)),
    ...(council.verifiers[0] ?? []).map((one) => callMicros(one, calls.verdict)),
  ];
  const known = likely.filter((cost) => cost !== null);
  return everyModel(council).some(({ offer }) => offer.price === null)
    ? null
    : known.reduce((sum, cost) => sum + cost, 0);
}

/** Every model that a run may call, once for each of its places. */
export function everyModel<Model extends PricedModel>(council: PricedCouncil<Model>): Model[] {
  return [
    ...council.seats,
    ...council.extractors,
    ...council.synthesizers,
    ...council.verifiers.flat(),
  ];
}

/** US dollars per million tokens are micro-dollars per token. Whole, so that no order of calls decides a digit. */
export function callMicros(
  { offer, effort }: PricedModel,
  { input, output }: CallTokens,
): number | null {
  if (offer.price === null) return null;
  const { inputPerMTok, outputPerMTok } = offer.price;
  return Math.round(input * inputPerMTok + (output + thinkingTokens(effort)) * outputPerMTok);
}
