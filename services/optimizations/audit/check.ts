import { isDeepStrictEqual } from 'node:util';
import { differenceOf } from './difference.ts';
import type { Difference } from './difference.ts';
import type { StoredEvent } from './evidence.ts';

/** One comparison of what is recorded with what follows from the rest. */
export type Check = {
  name: string;
  equal: boolean;
  /** The event that states it; only of a difference. */
  at?: string;
  /** In place of two values. */
  problem?: string;
} & Partial<Difference>;

/** The checks, and what could not be checked. */
export type Findings = { checks: readonly Check[]; notes: readonly string[] };

export function compare(
  name: string,
  recorded: unknown,
  recomputed: unknown,
  at?: StoredEvent,
  words: Partial<Pick<Difference, 'unit' | 'from'>> = {},
): Check {
  const equal = isDeepStrictEqual(plain(recorded), plain(recomputed));
  const place = at === undefined ? {} : { at: nameOf(at) };
  return { name, equal, recorded, recomputed, ...words, ...place };
}

export function failed(name: string, problem: string, at?: StoredEvent): Check {
  return { name, equal: false, problem, ...(at === undefined ? {} : { at: nameOf(at) }) };
}

/** The differences among many checks of one kind, or one check that says that all are equal. */
export function all(name: string, checks: readonly Check[]): Check[] {
  const differences = checks.filter(({ equal }) => !equal);
  return differences.length === 0 ? [{ name, equal: true }] : differences;
}

/** A check of events that nothing of ours wrote may meet any value; then the check fails. */
export function attempt(
  name: string,
  checks: () => readonly Check[],
  at?: StoredEvent,
): readonly Check[] {
  try {
    return checks();
  } catch (error) {
    return [failed(name, `cannot be computed from these events (${reasonOf(error)})`, at)];
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** `event 17 CallSucceeded review.S2`. */
export function nameOf({ streamPosition, type, data }: StoredEvent): string {
  const { slot } = data;
  return `event ${streamPosition} ${type}${typeof slot === 'string' ? ` ${slot}` : ''}`;
}

/** One line for people. */
export function lineOf(check: Check): string {
  const { name, equal, at, problem } = check;
  if (equal) return `ok   ${name}`;
  const place = at === undefined ? '' : `${at}: `;
  return `NOT  ${place}${name}: ${problem ?? differenceOf(check)}`;
}

/** In stored form: undefined properties are dropped. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
