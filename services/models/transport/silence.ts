import { charactersPerToken } from '#services/models/seating/characters.ts';
import type { Effort, ModelRequest } from '#services/models/model.ts';

/**
 * How long a call may be without a byte, in milliseconds. Pings, comments and thinking are bytes, so
 * that a model that thinks for minutes is not taken for a dead connection.
 */
export type Patience = {
  /** Until the first text of the answer. */
  firstTextMs: number;
  /** Afterwards. */
  laterMs: number;
};

export function patienceWith(request: Pick<ModelRequest, 'effort'>): Patience {
  const thinksLong = request.effort !== null && longEfforts.includes(request.effort);
  return { firstTextMs: thinksLong ? 150_000 : laterMs, laterMs };
}

/**
 * A local server sends nothing while it loads the model and reads the prompt, about 50 tokens a
 * second on a processor alone.
 */
export function localPatience(request: Pick<ModelRequest, 'system' | 'prompt'>): Patience {
  const promptTokens = (request.system.length + request.prompt.length) / charactersPerToken;
  return { firstTextMs: Math.round(loadMs + (promptTokens / tokensPerSecond) * 1000), laterMs };
}

const laterMs = 45_000;
const longEfforts: readonly Effort[] = ['high', 'xhigh', 'max'];
const loadMs = 60_000;
const tokensPerSecond = 50;

/** Aborts its signal once no byte has come for too long. */
export type SilenceWatch = {
  signal: AbortSignal;
  /** A byte has come. */
  heard(): void;
  /** Text of the answer has come. */
  answered(): void;
  stop(): void;
};

/**
 * @param mostMs a bound on every silence: half of what is left of the stage, so that another attempt
 *   still fits
 */
export function watchSilence(patience: Patience, mostMs: number): SilenceWatch {
  const controller = new AbortController();
  const begin = (ms: number) => setTimeout(() => controller.abort(), Math.min(ms, mostMs));
  let timer = begin(patience.firstTextMs);
  let isAnswering = false;
  let isOver = false;
  return {
    signal: controller.signal,
    heard() {
      // A timer that was cleared would start again.
      if (!isOver && !controller.signal.aborted) timer.refresh();
    },
    answered() {
      if (isAnswering || isOver) return;
      isAnswering = true;
      clearTimeout(timer);
      timer = begin(patience.laterMs);
    },
    stop() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
