import { LRUCache } from 'lru-cache';
import type { Strategy } from '#services/models/strategies.ts';
import { seededInteger } from '#services/platform/seeded.ts';
import { nearestCase } from '#services/sandbox/models/cases.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { writeDraft, writeVerification } from './draft.ts';
import { writeLedger } from './ledger.ts';
import { readMaterial, readRole } from './material.ts';
import type { Material } from './material.ts';
import { opinionAsProse, writeOpinion } from './opinion.ts';
import { planFor } from './plan.ts';
import type { PlannedSeat, Plan } from './plan.ts';
import { isNonsense, writeQuestionCheck } from './question-check.ts';
import { writeReview } from './review.ts';
import { voices, writeSecondVote } from './second-vote.ts';
import { newTables, reviewerAtTable, seatAtTable, seatingOfStrategy, wholeTable } from './seats.ts';

type Request = Parameters<Respond>[0];

/**
 * Simulated models that answer from prepared cases. An answer depends on the seed, the question, the
 * seat that a call comes from and the texts that it shows; never on labels or their order.
 */
export function createSimulator(strategies: readonly Strategy[]): Respond {
  const plans = new LRUCache<string, Plan>({ max: 1000 });
  const tables = newTables();

  const models = [...new Set(strategies.flatMap(({ panel }) => panel.map(({ model }) => model)))];
  /** No two models of a panel have the same one; any other model draws one. */
  const voiceOf = (model: string) => {
    const place = models.indexOf(model);
    return place === -1 ? seededInteger(model, 'voice', voices) : place;
  };

  const planOf = (seed: string, { asked }: Material, panel: readonly string[]): Plan => {
    const key = JSON.stringify([seed, asked, panel]);
    const known = plans.get(key);
    if (known !== undefined) return known;
    const drawn = [seed, asked.challenge, asked.context, ...panel].join('|');
    // Whatever case stands in, most say that such a question cannot be decided.
    const outcome = isNonsense(asked.challenge) ? 'agree:6-1:undecidable:' : '';
    const plan = planFor(nearestCase(asked).case, `${outcome}${drawn}`, panel);
    plans.set(key, plan);
    return plan;
  };

  const seated = (
    stage: 'opinion' | 'review',
    request: Request,
    material: Material,
  ): [Plan, PlannedSeat] => {
    const { seed, model, system } = request;
    const { asked, delimiter } = material;
    const asker = { seed, model, delimiter, challenge: asked.challenge };
    const question = JSON.stringify([seed, asked]);
    const isShown = (code: string) => {
      const plan = planOf(seed, material, wholeTable);
      const [sentence = ''] = writeOpinion(plan, seatOf(plan, code)).reasoning;
      return material.answers.some(({ text }) => text.includes(sentence));
    };
    const { panel, code } =
      seatingOfStrategy(strategies, stage, asker) ??
      (stage === 'opinion'
        ? seatAtTable(tables, question, readRole(system), asker)
        : reviewerAtTable(tables, question, asker, isShown));
    const plan = planOf(seed, material, panel);
    return [plan, seatOf(plan, code)];
  };

  const textFor = (request: Request, material: Material): string => {
    const { seed, model, schemaName } = request;
    switch (schemaName) {
      case 'check':
        return '{"ok":true}';
      case 'question_check':
        return JSON.stringify(writeQuestionCheck(material));
      case 'verification':
        return JSON.stringify(writeVerification(material));
      case 'claim_ledger':
        return JSON.stringify(writeLedger(nearestCase(material.asked).case, material));
      case 'review':
        return JSON.stringify(writeReview(...seated('review', request, material), material));
      case 'second_vote':
        return JSON.stringify(
          writeSecondVote(
            nearestCase(material.asked).case,
            { seed, model, voice: voiceOf(model) },
            material,
          ),
        );
      case 'draft': {
        const { asked, delimiter } = material;
        const asker = { seed, model, delimiter, challenge: asked.challenge };
        const { panel } = seatingOfStrategy(strategies, 'draft', asker) ?? { panel: wholeTable };
        return JSON.stringify(writeDraft(planOf(seed, material, panel), material));
      }
      default: {
        const opinion = writeOpinion(...seated('opinion', request, material));
        return schemaName === null ? opinionAsProse(opinion) : JSON.stringify(opinion);
      }
    }
  };

  return (request) => {
    const material = readMaterial(request.prompt);
    return { text: textFor(request, material), thinkingTokens: thinkingTokens(request, material) };
  };
}

function seatOf(plan: Plan, code: string | null): PlannedSeat {
  const seat = plan.seats.find((one) => one.code === code);
  if (seat === undefined) throw new RangeError(`The panel has no seat ${code}`);
  return seat;
}

const usualThinking: Readonly<Record<string, number>> = {
  opinion: 900,
  claim_ledger: 500,
  review: 1100,
  second_vote: 600,
  draft: 1300,
  verification: 250,
  question_check: 0,
};

/** What a model of this kind might have thought at its default effort. */
function thinkingTokens(
  { seed, model, schemaName }: Request,
  { asked: { challenge } }: Material,
): number {
  const usual = usualThinking[schemaName ?? ''] ?? 400;
  const drawn = seededInteger(`${seed}|${model}|${challenge}`, `${schemaName}`, 1000) / 1000;
  return Math.round(usual * (0.5 + drawn));
}
