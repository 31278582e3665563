import { createHash } from 'node:crypto';

/**
 * Where each known model sits at the table of seven. Opinions are asked for one at a time, and yet
 * the council has to fall into camps of known sizes, so places are fixed by model: in every panel of
 * seven that the product offers, all seven places are taken once. Models that never meet share a
 * place; in larger panels a second row forms behind the first.
 */
export type Place = {
  /** 0 to 6. */
  slot: number;
  /** 0, or 1 in the second row. */
  row: number;
  /** 0 to 7: differs between any two models that play the same role in a panel. */
  voice: number;
};

export const slots = 7;

const places: Readonly<Record<string, Place>> = {
  'gpt-6-luna': { slot: 0, row: 0, voice: 0 },
  'claude-haiku-5-5': { slot: 1, row: 0, voice: 1 },
  'gemini-3.5-flash-lite': { slot: 2, row: 0, voice: 2 },
  'mistral-small-2603': { slot: 3, row: 1, voice: 3 },
  'gpt-5.6-luna': { slot: 4, row: 0, voice: 4 },
  'gemini-3.1-flash-lite': { slot: 5, row: 0, voice: 5 },
  'ministral-8b-2512': { slot: 6, row: 0, voice: 6 },
  'gpt-6.1-terra': { slot: 4, row: 0, voice: 7 },
  'gemini-3.8-flash': { slot: 5, row: 0, voice: 1 },
  'mistral-large-2512': { slot: 6, row: 0, voice: 2 },
  'mistral-medium-2604': { slot: 6, row: 0, voice: 2 },
  'claude-sonnet-5-5': { slot: 2, row: 0, voice: 3 },
  'gemini-4-hydrogen': { slot: 3, row: 0, voice: 4 },
  'gpt-6.1-sol': { slot: 0, row: 1, voice: 5 },
  'claude-opus-5-5': { slot: 1, row: 1, voice: 6 },
  'gemini-4-carbon': { slot: 5, row: 0, voice: 7 },
  'gemini-4-argon': { slot: 5, row: 1, voice: 0 },
  'mistral-large-4': { slot: 6, row: 1, voice: 4 },
  'gpt-6-astra': { slot: 2, row: 1, voice: 2 },
  'claude-fable-5-1': { slot: 3, row: 1, voice: 3 },
};

export function placeOf(model: string): Place {
  const known = places[model];
  if (known !== undefined) return known;
  const bytes = createHash('sha256').update(model).digest();
  return {
    slot: bytes.readUInt32BE(0) % slots,
    row: bytes.readUInt8(4) % 2,
    voice: bytes.readUInt8(5) % 8,
  };
}
