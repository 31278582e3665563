import type { PricedCouncil } from '#services/models/estimate.ts';
import { thinkingTokens, usualCalls } from './tokens.ts';
import type { CallTokens, Written } from './tokens.ts';
import type { Placed } from './wanted.ts';

/**
 * By Ollama's models, the tokens of context to load each with in a run: one size for all its calls,
 * because another one loads the model again. Prompts may be longer than usual by a quarter.
 */
export function localContexts(
  council: PricedCouncil<Placed>,
  written: Written,
): Record<string, number> {
  const { seats, extractors, synthesizers, verifiers, reviewsPerSeat } = council;
  const calls = usualCalls({ ...written, seats: seats.length, reviewsPerSeat });
  const uses: readonly (readonly [readonly Placed[], CallTokens])[] = [
    [seats, calls.opinion],
    [seats.map((seat) => ({ ...seat, effort: seat.reviewEffort })), calls.review],
    [extractors, calls.claims],
    [synthesizers, calls.draft],
    [verifiers.flat(), calls.verdict],
  ];
  const sizes = new Map<string, number>();
  for (const [placed, { input, output }] of uses)
    for (const { offer, effort } of placed) {
      const size = localContext({ offer, effort }, { input, output });
      if (size !== null) sizes.set(offer.model, Math.max(sizes.get(offer.model) ?? 0, size));
    }
  return Object.fromEntries(sizes);
}

/** The tokens of context for one such call; null where the server decides. */
export function localContext(
  { offer, effort }: Placed,
  { input, output }: CallTokens,
): number | null {
  if (offer.provider !== 'ollama') return null;
  const needed = (input + output + thinkingTokens(effort)) * roomForMore;
  return Math.min(Math.ceil(needed / step) * step, offer.contextTokens);
}

const roomForMore = 1.25;
const step = 4096;
