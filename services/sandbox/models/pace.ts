import type { Persona } from '#services/platform/process/env.ts';
import { idOf, questionOf } from './wire.ts';
import type { WireCall } from './wire.ts';

/**
 * The speed of answers. `realistic` makes a run of seven seats take 20 to 35 seconds over all its
 * stages; `instant` does not wait at all. Each model has its own speed, and each prompt a random
 * part, so that seven cards do not move in step.
 */
export type Profile = 'realistic' | 'instant';

export type Pace = {
  /** Until the first word, which is when the model thinks. */
  firstWordMs: number;
  /** Until the last word, counted from the request. */
  lastWordMs: number;
  /** Pieces that the text arrives in. */
  pieces: number;
};

/** The fastest and the slowest model of a stage, in milliseconds, by the name of its schema. */
const stageMs: Readonly<Record<string, readonly [number, number]>> = {
  opinion: [8000, 13_500],
  claim_ledger: [2600, 3300],
  review: [5000, 7800],
  draft: [4000, 5600],
  verification: [1500, 2200],
  question_check: [900, 1500],
};

const otherStageMs = [1500, 2500] as const;

/** A browser draws a word every tenth of a second as smoothly as every frame, at a tenth the work. */
const pieceMs = 100;

export function paceOf(call: WireCall, persona: Persona | null, profile: Profile): Pace {
  if (profile === 'instant') {
    const waitMs = persona === 'slow' ? slowInstantMs : 0;
    return { firstWordMs: waitMs, lastWordMs: waitMs, pieces: 6 };
  }
  const [fastest, slowest] = stageMs[call.schemaName ?? ''] ?? otherStageMs;
  // Three parts model, one part luck.
  const speed = 0.75 * share('speed', call.model) + 0.25 * share(call.model, questionOf(call));
  const factor = persona === 'slow' ? slowFactor : 1;
  const lastWordMs = Math.round((fastest + (slowest - fastest) * speed) * factor);
  const firstWordMs = Math.round(lastWordMs * (0.15 + 0.2 * share('first', call.model)));
  return {
    firstWordMs,
    lastWordMs,
    pieces: Math.max(1, Math.round((lastWordMs - firstWordMs) / pieceMs)),
  };
}

const slowFactor = 4;
const slowInstantMs = 2000;

/** A number from 0 to 1 that the same words always give. */
function share(...words: string[]): number {
  return Number.parseInt(idOf(...words).slice(0, 8), 16) / 0xffff_ffff;
}

/** A text in about so many pieces of about equal length, never within a character. */
export function piecesOf(text: string, pieces: number): string[] {
  const size = Math.max(1, Math.ceil(text.length / pieces));
  const cut: string[] = [];
  for (let from = 0; from < text.length;) {
    const to = splitsCharacter(text, from + size) ? from + size + 1 : from + size;
    cut.push(text.slice(from, to));
    from = to;
  }
  return cut;
}

function splitsCharacter(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
