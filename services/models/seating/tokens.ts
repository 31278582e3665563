import type { Effort } from '#services/models/model.ts';
import type { Offer } from '#services/models/offer.ts';
import { charactersPerToken } from './characters.ts';
import { nearestEffort } from './choice.ts';

/** Tokens of usual calls: what a run costs, and what a model must be able to hold. */

/** Question and instructions, an answer, a review, and so on; generous for most runs. */
const tokens = {
  question: 1200,
  answer: 1300,
  review: 1100,
  ledger: 2600,
  draft: 2200,
  verdict: 150,
  /** Of files, for a reviewer. */
  passages: 1400,
} as const;

/** Tables are mostly figures. */
const charactersPerTokenOfFiles = 3;
/** The prompt of a draft holds the best answers, and the ledger's quotes are in no later prompt. */
const answersInDraft = 3;
const claimsShare = 1 / 3;

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

/** `output` is what can be read; hidden thinking comes on top. */
export type CallTokens = { input: number; output: number };
export type UsualCalls = Record<'opinion' | 'review' | 'claims' | 'draft' | 'verdict', CallTokens>;

/** What the person gave, in characters of which four make about a token. */
export type Written = {
  /** Of everything but the files. */
  challengeCharacters: number;
  /** Of all files together. */
  filesCharacters: number;
};

export function usualCalls(
  run: Written & {
    seats: number;
    reviewsPerSeat: number;
  },
): UsualCalls {
  const question = tokens.question + Math.ceil(run.challengeCharacters / charactersPerToken);
  const files = Math.ceil(run.filesCharacters / charactersPerTokenOfFiles);
  const peers = Math.min(run.reviewsPerSeat, run.seats - 1);
  const claims = tokens.ledger * claimsShare;
  return {
    opinion: { input: question + files, output: tokens.answer },
    review: {
      input: question + Math.min(files, tokens.passages) + peers * tokens.answer + claims,
      output: tokens.review,
    },
    claims: { input: question + run.seats * tokens.answer, output: tokens.ledger },
    draft: {
      input: question + files + answersInDraft * tokens.answer + tokens.ledger,
      output: tokens.draft,
    },
    verdict: { input: files + tokens.draft + claims, output: tokens.verdict },
  };
}

/** Null is the provider's default. */
export function thinkingTokens(effort: Effort | null): number {
  return effort === null ? defaultThinking : thinking[effort];
}

/** Whether the offered model can hold the call at the effort that it would run with. */
export function holds(offer: Offer, asked: Effort | null, { input, output }: CallTokens): boolean {
  const written = output + thinkingTokens(nearestEffort(asked, offer.efforts));
  return input + written <= offer.contextTokens && written <= offer.maxOutputTokens;
}
