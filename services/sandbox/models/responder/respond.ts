import { drawsFor } from './words/draws.ts';
import { writeLedger } from './ledger.ts';
import { opinionAsProse, writeOpinion } from './opinion.ts';
import { planFor } from './plan.ts';
import { readMaterial, readRole } from './reading.ts';
import type { Material } from './reading.ts';
import { writeDraft } from './recommendation.ts';
import { writeReview } from './review.ts';
import { placeOf } from './roster.ts';
import { writeVerification } from './verification.ts';

export type SandboxRequest = {
  provider: string;
  model: string;
  system: string;
  prompt: string;
  /** Name of the reply schema; null asks for prose. */
  schemaName: string | null;
  seed: string;
};

export type SandboxAnswer = {
  /** JSON when a schema was asked for. */
  text: string;
  /** What a model of this kind might have thought at its default effort. */
  thinkingTokens: number;
};

/**
 * A simulated model's answer. It depends on the seed, the model, the stage and the question, and on
 * the texts of the answers shown; never on labels, their order, or anything that happened before.
 */
export function respond(request: SandboxRequest): SandboxAnswer {
  const material = readMaterial(request.prompt);
  return {
    text: textFor(request, material),
    thinkingTokens: thinkingTokens(request, material.asked.challenge),
  };
}

function textFor(request: SandboxRequest, material: Material): string {
  const { model, seed, schemaName } = request;
  if (schemaName === 'verification') return JSON.stringify(writeVerification(material));
  const plan = planFor(seed, material.asked);
  const place = placeOf(model);
  switch (schemaName) {
    case 'claim_ledger':
      return JSON.stringify(writeLedger(plan, material));
    case 'review':
      return JSON.stringify(writeReview(plan, material, place, model));
    case 'draft':
      return JSON.stringify(writeDraft(plan, material, model));
    case null:
      return opinionAsProse(writeOpinion(plan, place, readRole(request.system), model));
    default:
      return JSON.stringify(writeOpinion(plan, place, readRole(request.system), model));
  }
}

const usualThinking: Readonly<Record<string, number>> = {
  opinion: 900,
  claim_ledger: 500,
  review: 1100,
  draft: 1300,
  verification: 250,
};

function thinkingTokens(request: SandboxRequest, challenge: string): number {
  const usual = usualThinking[request.schemaName ?? ''] ?? 400;
  const drawn = drawsFor(request.seed, request.model, challenge).fraction(
    `thinking ${request.schemaName ?? 'prose'}`,
  );
  return Math.round(usual * (0.5 + drawn));
}
