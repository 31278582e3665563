import { callMicros } from '#services/models/estimate.ts';
import type { Effort } from '#services/models/model.ts';
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
import type { Condition } from './records/records.ts';

/**
 * What an evaluation is likely to cost, before it runs: `micros`, null with an unknown price.
 * `mostMicros` is what the same calls cost if each writes all that it may.
 */
export type Usual = { calls: number; micros: number | null; mostMicros: number };

/** One answer: the usual calls, without retries and repairs. */
export function usualAnswer(
  condition: Condition,
  evaluated: EvaluationCase,
  council: CreatedData,
  offers: readonly Offer[],
): Usual {
  const calls = callsOf(condition, evaluated, council);
  const priceOf = ({ model, provider }: Called) =>
    offers.find((one) => one.model === model && one.provider === provider)?.price ?? null;
  return {
    calls: calls.length,
    micros: sumOf(
      calls.map(({ model, effort, tokens }) =>
        callMicros({ offer: { price: priceOf(model) }, effort }, tokens),
      ),
    ),
    mostMicros: calls.reduce(
      (sum, { model, tokens }) =>
        sum + mostOf(priceOf(model), tokens.input, mostOutput(council, model)),
      0,
    ),
  };
}

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

/** As `metered.ts` bounds a call, with the usual length of a prompt. */
function mostOf(price: Offer['price'], input: number, output: number): number {
  return price === null
    ? 0
    : Math.ceil(input * bytesPerToken * price.inputPerMTok + output * price.outputPerMTok);
}

/** Of prompts in English, with room to spare. */
const bytesPerToken = 6;

export function usualJudgment(judge: Judge): Usual {
  const { price, maxOutputTokens } = judge.offer;
  return {
    calls: 1,
    micros: callMicros(judge, judgmentTokens),
    mostMicros: mostOf(
      price,
      judgmentTokens.input,
      Math.min(judgeLimits.outputTokens, maxOutputTokens),
    ),
  };
}

/** Both orders of each two conditions, by each judge. */
export function judgmentsPerCase(conditions: number, judges: number): number {
  return conditions * (conditions - 1) * judges;
}

export function sumOf(all: readonly (number | null)[]): number | null {
  return all.reduce<number | null>(
    (sum, one) => (sum === null || one === null ? null : sum + one),
    0,
  );
}
