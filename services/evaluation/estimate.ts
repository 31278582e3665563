import { callMicros, estimateOf } from '#services/models/estimate.ts';
import type { PricedCouncil } from '#services/models/estimate.ts';
import type { Effort } from '#services/models/model.ts';
import type { Offer } from '#services/models/offer.ts';
import { promptCharacters } from '#services/models/seating/characters.ts';
import { usualCalls } from '#services/models/seating/tokens.ts';
import { strongestOf } from './answers/conditions.ts';
import type { CreatedData } from './answers/conditions.ts';
import type { EvaluationCase } from './cases.ts';
import type { Judge } from './judging/judges.ts';
import { judgementTokens } from './judging/prompt.ts';
import type { Condition } from './records/records.ts';

/** What an evaluation is likely to cost, before it runs; `micros` null with an unknown price. */
export type Usual = { calls: number; micros: number | null };

/** One answer: the usual calls, without retries and repairs. */
export function usualAnswer(
  condition: Condition,
  evaluated: EvaluationCase,
  council: CreatedData,
  offers: readonly Offer[],
): Usual {
  const priced = pricedCouncil(council, offers);
  const written = {
    challengeCharacters: promptCharacters(
      evaluated.question,
      evaluated.context,
      ...evaluated.objectives,
      ...evaluated.constraints,
    ),
    filesCharacters: 0,
  };
  const seats = council.seats.length;
  const calls = usualCalls({ ...written, seats, reviewsPerSeat: priced.reviewsPerSeat });
  const strongest = placed(strongestOf(council), offers);
  const opinions = condition === 'no-reviews' ? priced.seats : priced.seats.map(() => strongest);
  // The writer reads all answers, where a vote would show it three.
  const draft = { ...calls.draft, input: calls.draft.input + (seats - 3) * calls.opinion.output };
  switch (condition) {
    case 'strongest':
      return { calls: 1, micros: callMicros(strongest, calls.opinion) };
    case 'council':
      return { calls: 2 * seats + 4, micros: estimateOf(priced, written) };
    case 'fused':
    case 'no-reviews':
      return {
        calls: seats + 2,
        micros: sumOf([
          ...opinions.map((seat) => callMicros(seat, calls.opinion)),
          ...priced.extractors.slice(0, 1).map((one) => callMicros(one, calls.claims)),
          ...priced.synthesizers.slice(0, 1).map((one) => callMicros(one, draft)),
        ]),
      };
  }
}

export function usualJudgement(judge: Judge): Usual {
  return { calls: 1, micros: callMicros(judge, judgementTokens) };
}

/** Both orders of each two conditions, by each judge. */
export function judgementsPerCase(conditions: number, judges: number): number {
  return conditions * (conditions - 1) * judges;
}

export function sumOf(all: readonly (number | null)[]): number | null {
  return all.reduce<number | null>(
    (sum, one) => (sum === null || one === null ? null : sum + one),
    0,
  );
}

type Called = { model: string; provider: string; effort: Effort | null };

function pricedCouncil(council: CreatedData, offers: readonly Offer[]): PricedCouncil {
  const { seats, schedule } = council;
  const all = (models: readonly Called[]) => models.map((one) => placed(one, offers));
  return {
    seats: seats.map((seat) => ({
      ...placed(seat, offers),
      reviewEffort: seat.reviewEffort ?? seat.effort,
    })),
    extractors: all(schedule.extractors),
    synthesizers: all(schedule.synthesizers),
    verifiers: schedule.verifiers.map(all),
    reviewsPerSeat: schedule.reviewsPerSeat,
  };
}

function placed({ model, provider, effort }: Called, offers: readonly Offer[]) {
  const offer = offers.find((one) => one.model === model && one.provider === provider);
  return { offer: { price: offer?.price ?? null }, effort };
}
