import { callMicros } from '#services/models/estimate.ts';
import type { Effort } from '#services/models/model.ts';
import { isFree } from '#services/models/offer.ts';
import type { Offer } from '#services/models/offer.ts';
import { promptCharacters } from '#services/models/seating/characters.ts';
import { usualCalls } from '#services/models/seating/tokens.ts';
import type { CallTokens } from '#services/models/seating/tokens.ts';
import type { CouncilModel } from '#services/optimizations/run/events.ts';
import { strongestOf } from './answers/conditions.ts';
import type { CreatedData } from './answers/conditions.ts';
import type { EvaluationCase } from './cases.ts';
import { judgeLimits } from './judging/judge.ts';
import type { Judge } from './judging/judges.ts';
import { judgmentTokens } from './judging/prompt.ts';
import { mostMicros, offerOf } from './prices.ts';
import type { Prices } from './prices.ts';
import type { Condition } from './records/records.ts';

/**
 * What an evaluation is likely to cost, before it runs. `mostMicros` is what the same calls cost if each
 * writes all that it may. Models without a known price were refused before.
 */
export type Usual = { calls: number; micros: number; mostMicros: number };

/** One answer: the usual calls, without retries and repairs. */
export function usualAnswer(
  condition: Condition,
  evaluated: EvaluationCase,
  council: CreatedData,
  prices: Prices,
): Usual {
  const calls = callsOf(condition, evaluated, council).map(({ model, effort, tokens }) =>
    usualCall(
      { offer: offerOf(prices.offers, model), effort },
      tokens,
      mostOutput(council, model),
      prices,
    ),
  );
  return {
    calls: calls.length,
    micros: calls.reduce((sum, { micros }) => sum + micros, 0),
    mostMicros: calls.reduce((sum, { mostMicros: most }) => sum + most, 0),
  };
}

export function usualJudgment({ offer, effort }: Judge, prices: Prices): Usual {
  const maxOutputTokens = Math.min(judgeLimits.outputTokens, offer.maxOutputTokens);
  return usualCall({ offer, effort }, judgmentTokens, maxOutputTokens, prices);
}

function usualCall(
  { offer, effort }: { offer: Offer | undefined; effort: Effort | null },
  tokens: CallTokens,
  maxOutputTokens: number,
  { catalogue, clock }: Prices,
): Usual {
  const micros = offer === undefined ? null : callMicros({ offer, effort }, tokens);
  if (offer === undefined || micros === null)
    throw new RangeError('A model without a known price is part of the plan');
  const most = { promptBytes: tokens.input * bytesPerToken, maxOutputTokens };
  const price = catalogue.priceOf(offer.model, new Date(clock()).toISOString());
  return { calls: 1, micros, mostMicros: isFree(offer) ? 0 : mostMicros(most, price) };
}

/** Of prompts in English, with room to spare. */
const bytesPerToken = 6;

type Called = CouncilModel;
type PlannedCall = { model: Called; effort: Effort | null; tokens: CallTokens };

function callsOf(
  condition: Condition,
  evaluated: EvaluationCase,
  council: CreatedData,
): PlannedCall[] {
  const { seats, schedule } = council;
  const written = {
    challengeCharacters: promptCharacters(
      evaluated.question,
      evaluated.context,
      ...evaluated.objectives,
      ...evaluated.constraints,
    ),
    filesCharacters: 0,
  };
  const usual = usualCalls({
    ...written,
    seats: seats.length,
    reviewsPerSeat: schedule.reviewsPerSeat,
  });
  const call = (model: Called, tokens: CallTokens, effort = model.effort): PlannedCall => ({
    model,
    effort,
    tokens,
  });
  const strongest = strongestOf(council);
  const opinions = (models: readonly Called[]) => models.map((model) => call(model, usual.opinion));
  const claims = schedule.extractors.slice(0, 1).map((model) => call(model, usual.claims));
  const draft = (input: number) =>
    schedule.synthesizers.slice(0, 1).map((model) => call(model, { ...usual.draft, input }));
  // The writer reads all answers, where a vote would show it three.
  const withoutVote = draft(usual.draft.input + (seats.length - 3) * usual.opinion.output);
  switch (condition) {
    case 'strongest':
      return opinions([strongest]);
    case 'fused':
      return [...opinions(seats.map(() => strongest)), ...claims, ...withoutVote];
    case 'no-reviews':
      return [...opinions(seats), ...claims, ...withoutVote];
    case 'council':
      return [
        ...opinions(seats),
        ...claims,
        ...seats.map((seat) => call(seat, usual.review, seat.reviewEffort ?? seat.effort)),
        ...draft(usual.draft.input),
        ...(schedule.verifiers[0] ?? []).map((model) => call(model, usual.verdict)),
      ];
  }
}

function mostOutput({ schedule }: CreatedData, { maxOutputTokens = Infinity }: Called): number {
  return Math.min(schedule.maxOutputTokens ?? maxOutputTokens, maxOutputTokens);
}
