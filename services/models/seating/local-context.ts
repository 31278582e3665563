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
    [seats, calls.review],
    [extractors, calls.claims],
    [synthesizers, calls.draft],
    [verifiers.flat(), calls.verdict],
  ];
  const sizes = new Map<string, number>();
  for (const [placed, { input, output }] of uses)
    for (const { offer, effort } of placed) {
      if (offer.provider !== 'ollama') continue;
      const needed = (input + output + thinkingTokens(effort)) * roomForMore;
      const size = Math.min(Math.ceil(needed / step) * step, offer.contextTokens);
      sizes.set(offer.model, Math.max(sizes.get(offer.model) ?? 0, size));
    }
  return Object.fromEntries(sizes);
}

const roomForMore = 1.25;
const step = 4096;
