import type { Balance } from '#services/credits/contract.ts';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import type { Attempt } from './question/draft.ts';
import type { Checked, Fields } from './question/fields.ts';
import type { Shortage } from './insufficient.tsx';
import type { Row, Rows } from './question/rows.ts';

/** What is still missing before the form can start, in page order. */
export function stillMissing(
  fields: Fields,
  strategy: Strategy | null,
  checked: Checked,
  isReading: boolean = false,
): string[] {
  const missing: string[] = [];
  if (fields.challenge.trim() === '') missing.push('Describe your challenge.');
  if (fields.strategy === null) missing.push('Choose a strategy.');
  else if (strategy && !strategy.available) missing.push('Choose an available strategy.');
  if (isReading) missing.push('Wait until your files are read.');
  if (missing.length === 0 && !checked.ok) missing.push('Please fix the highlighted fields.');
  return missing;
}

/**
 * Why the balance cannot pay the price; null when it can or is unknown. Also null once the attempt
 * has created its run: its credits may be reserved, and a retry only asks for its outcome.
 */
export function shortageOf(
  strategy: Strategy | null,
  balance: Balance | undefined,
  attempt: Attempt | null,
): Shortage | null {
  if (!strategy || !balance || (attempt !== null && attempt.runId !== null)) return null;
  const { available_credits: available, debt_credits: debt, spending_frozen: frozen } = balance;
  const shortfall = Math.max(0, strategy.credits - available);
  if (shortfall === 0 && debt === 0 && !frozen) return null;
  return { required: strategy.credits, balance: available, shortfall, debt, frozen };
}

/** The errors of a list by row: the schema skips empty rows, the page shows them. */
export function rowErrors(
  rows: Rows,
  field: 'objectives' | 'constraints',
  checked: Checked,
): ReadonlyMap<number, string> {
  if (checked.ok) return new Map();
  const written = rows.filter((row: Row) => row.text.trim() !== '');
  return new Map(
    written.flatMap(({ id }, index) => {
      const error = checked.errors.get(`${field}.${index}`);
      return error === undefined ? [] : [[id, error] as const];
    }),
  );
}

/** The error of a text field; an empty challenge is none before the first attempt to start. */
export function fieldError(checked: Checked, field: string, value: string): string | undefined {
  return checked.ok || value.trim() === '' ? undefined : checked.errors.get(field);
}
