import type { Catalogue } from './catalogue.ts';
import type { Effort } from './model.ts';
import type { ModelUse, Strategy } from './strategies.ts';

/**
 * What the models of a run are likely to cost, before it runs: tokens of each call by its stage and
 * effort, at today's prices. It is an estimate and is shown as one; the real cost comes from usage.
 */

/** Tokens of a usual call: question and instructions, an answer, hidden thinking. */
const tokens = {
  question: 1200,
  answer: 1300,
  review: 1100,
  ledger: 2600,
  draft: 2200,
  verdict: 150,
} as const;

const charactersPerToken = 4;

const thinking: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 100,
  low: 500,
  medium: 1500,
  high: 3500,
  xhigh: 5000,
  max: 8000,
};
const defaultThinking = 1000;

/** Micro-dollars of one run; null when a model of it has no price at that time. */
export function estimateMicros(
  { priceOf }: Pick<Catalogue, 'priceOf'>,
  strategy: Strategy,
  challengeCharacters: number,
  atIso: string,
): number | null {
  const question = tokens.question + Math.ceil(challengeCharacters / charactersPerToken);
  const seats = strategy.panel.length;
  const answers = seats * tokens.answer;
  const peers = Math.min(strategy.reviewsPerSeat, seats - 1);
  const [extractor] = strategy.extractors;
  const [writer] = strategy.synthesizers;
  const calls: { use: ModelUse; input: number; output: number }[] = [
    ...strategy.panel.flatMap((use) => [
      { use, input: question, output: tokens.answer },
      {
        use,
        input: question + peers * tokens.answer + tokens.ledger / 3,
        output: tokens.review,
      },
    ]),
    { use: extractor, input: question + answers, output: tokens.ledger },
    { use: writer, input: question + 3 * tokens.answer + tokens.ledger, output: tokens.draft },
    ...strategy.verifiers[0].map((use) => ({
      use,
      input: tokens.draft + tokens.ledger / 3,
      output: tokens.verdict,
    })),
  ];
  let sum = 0;
  for (const { use, input, output } of calls) {
    const price = priceOf(use.model, atIso);
    if (!price) return null;
    const thought = use.effort === null ? defaultThinking : thinking[use.effort];
    sum += input * price.inputPerMTok + (output + thought) * price.outputPerMTok;
  }
  return Math.round(sum);
}
