import type { ModelRequest } from '#services/models/model.ts';
import type { CallOutcome, LedgerTexts, Repair } from '#services/optimizations/run/events.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import type { ReadReply } from './read-reply.ts';
import type { Checked, Parsed } from './reply-schemas.ts';

/**
 * The prompt of one slot, and the check of its reply. Pure: the task that calls it reads the run
 * before and records the outcome after. An erased run has no further prompts.
 */
export type PreparedCall = {
  request: Pick<ModelRequest, 'system' | 'prompt' | 'schema'>;
  /** Expected characters of the reply, for the progress of the seat. */
  expectedCharacters: number;
  /** The reply in the run's words, or why it is malformed. */
  check: (reply: ReadReply | undefined) => Checked<CheckedCall>;
};

/** `texts` are sealed by field before they reach an event. */
export type CheckedCall = {
  outcome: CallOutcome;
  repaired: readonly Repair[];
  texts: { reply: string; shown?: string; notes?: string };
  ledger?: LedgerTexts;
  /** Of the question, in the words of the extractor. */
  title?: string;
};

export class TextErased extends Error {
  override readonly name = 'TextErased';
}

export function checked<From, To>(
  from: Checked<From> | Parsed<From>,
  map: (value: From, repaired: readonly Repair[]) => To,
): Checked<To> {
  if (!from.ok) return from;
  return { ok: true, value: map(from.value, 'repaired' in from ? from.repaired : []) };
}

export function seedOf(run: OpenRun): string {
  if (!('seed' in run.state)) throw new RangeError('The run has not been created');
  return run.state.seed;
}
