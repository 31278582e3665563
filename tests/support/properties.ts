import process from 'node:process';
import fc from 'fast-check';

/**
 * Properties are tried on the same values each time, so that the same tree always gets the same
 * answer; `npm run proof` draws others, and more of them. A failure prints the seed it was found with.
 */
fc.configureGlobal({
  seed: Number(process.env['PROPERTY_SEED'] ?? 1),
  numRuns: Number(process.env['PROPERTY_RUNS'] ?? 100),
});
