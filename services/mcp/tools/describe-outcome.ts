import type { Flaw } from '#services/optimizations/contract/result.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { degradedWords } from '#services/optimizations/reading/degraded.ts';
import {
  questionOfCase,
  simulatedNotice,
  simulatedPartOf,
} from '#services/optimizations/reading/simulated.ts';
import { objectionWords } from '#services/optimizations/reading/words/doubts.ts';
import { seatName } from '#services/optimizations/reading/words/names.ts';
import {
  agreementCaution,
  outcomeSentences,
  winnerWords,
} from '#services/optimizations/reading/words/result.ts';
import type { Outcome } from './outcome.ts';

export function describeOutcome(run: Optimization, page: string): Outcome {
  const { result, council, refinable, credits } = run;
  const part = simulatedPartOf(council);
  const missing = degradedWords(run);
  return {
    run_id: run.id,
    status: run.status,
    question: run.challenge,
    simulated: run.simulated,
    simulated_notice: simulatedNotice(part),
    simulated_question: questionOfCase(part),
    missing_models: missing && [`${missing.title}.`, ...missing.sentences].join(' '),
    ended_because: run.ended_because,
    heading: result?.heading ?? null,
    outcome: run.outcome,
    decision: result?.decision ?? null,
    option: result?.decision_option ?? null,
    explanation: result && sentences(outcomeSentences(run, result)),
    votes: result && { for: result.votes_for, total: result.votes_total },
    ...doubts(run),
    missing_facts: result?.missing_facts ?? [],
    objection: result?.objection
      ? {
          model: seatName(run.models, result.objection.seat),
          text: objectionWords(council, result.objection),
        }
      : null,
    options: (result?.options ?? []).map(({ text, voters }) => ({
      option: text,
      models: namesOf(run, voters),
    })),
    flaws: (result?.flaws ?? []).map((flaw) => flawOf(run, flaw)),
    next_steps: (result?.next_steps ?? []).map(({ action, owner, by_days, measure, stop_if }) => ({
      action,
      owner,
      by_days,
      measure,
      stop_if,
    })),
    changed: result?.changed ?? null,
    credits: { price: credits.price, charged: credits.charged, refunded: credits.refunded },
    refine_price: refinable?.allowed ? refinable.price : null,
    newer_run_id: run.newer?.id ?? null,
    page,
  };
}

function doubts(run: Optimization) {
  const { bias } = run.evolution;
  if (bias === null)
    return { agreement_score: null, agreement_band: null, confidence_note: null, dissent: [] };
  const { agreement_score: score, agreement_band: band, agreement_note: note } = bias;
  return {
    agreement_score: score,
    agreement_band: band,
    confidence_note: sentences([note, agreementCaution, winnerWords(run.council)]),
    dissent: (bias.minority_report?.votes ?? []).map(({ text, seats, argument }) => ({
      option: text,
      models: namesOf(run, seats),
      reason: argument?.text ?? null,
    })),
  };
}

function flawOf(run: Optimization, { about_seat: about, reviewers, texts, reply }: Flaw) {
  return {
    about: seatName(run.models, about),
    reviewers: namesOf(run, reviewers),
    texts: texts.map(({ text }) => text),
    reply,
  };
}

function namesOf({ models }: Optimization, seats: readonly string[]): string[] {
  return seats.map((seat) => seatName(models, seat));
}

function sentences(all: readonly (string | null)[]): string {
  return all.filter((one) => one !== null && one !== '').join(' ');
}
