import process from 'node:process';
import fc from 'fast-check';

/** Whether `npm run proof` runs the test, which then tries every case instead of a part of them. */
export const isProof = process.env['PROPERTY_RUNS'] !== undefined;

/** Every n-th case; in a proof every case. */
export function oneIn<Case>(n: number, cases: readonly Case[]): Case[] {
  return cases.filter((_, index) => isProof || index % n === 0);
}

/**
 * Properties use the same values each time, so that the same code always gets the same result.
 * `npm run proof` draws other values, and more of them. A failure prints its seed.
 */
fc.configureGlobal({
  seed: Number(process.env['PROPERTY_SEED'] ?? 1),
  numRuns: Number(process.env['PROPERTY_RUNS'] ?? 100),
});
