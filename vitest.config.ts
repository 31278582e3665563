import { randomInt } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

/**
 * `npm test` runs everything that must never break: first what runs in Node, files side by side on one
 * Postgres; then the pages in a browser and whole journeys. `npm run proof` is `--mode proof`: the
 * long tests, and the properties on values that were never drawn before.
 */

/** The properties of a tree get the same values each time. */
const settled = { setupFiles: ['tests/support/properties.ts'] };

const needsPostgres = {
  ...settled,
  environment: 'node',
  globalSetup: ['tests/support/postgres.ts'],
  hookTimeout: 120_000,
};

/** What comes to be so has the time of a slow machine; left to itself `expect.poll` gives it a second. */
const patient = { poll: { timeout: 60_000 } };

const pageTests = ['tests/web/**/*.test.{ts,tsx}'];
const journeyTests = ['tests/e2e/**/*.test.ts'];

const everyDay: TestProjectConfiguration[] = [
  {
    test: {
      ...needsPostgres,
      name: 'node',
      include: ['tests/**/*.test.ts'],
      exclude: [...pageTests, ...journeyTests, 'tests/proof/**', 'tests/bench/**'],
      testTimeout: 120_000,
      expect: patient,
      // Left to itself, a machine with two cores gets one worker, which mostly waits for Postgres.
      maxWorkers: Math.max(4, availableParallelism()),
    },
  },
  {
    test: {
      ...settled,
      name: 'browser',
      environment: 'node',
      globalSetup: ['tests/web/browser.ts'],
      include: pageTests,
      maxWorkers: 3,
      sequence: { groupOrder: 1 },
      testTimeout: 120_000,
      expect: patient,
      hookTimeout: 120_000,
    },
  },
  {
    test: {
      name: 'journeys',
      environment: 'node',
      globalSetup: ['tests/web/browser.ts'],
      include: journeyTests,
      maxWorkers: 3,
      sequence: { groupOrder: 1 },
      testTimeout: 120_000,
      expect: patient,
      hookTimeout: 120_000,
    },
  },
];

const hasProperties = (file: string) =>
  /^import .* from 'fast-check';$/m.test(readFileSync(file, 'utf8'));

const proof = (): TestProjectConfiguration[] => [
  {
    test: {
      ...needsPostgres,
      name: 'proof',
      include: ['tests/proof/**/*.test.ts'],
      fileParallelism: false,
      testTimeout: 3_600_000,
    },
  },
  {
    test: {
      ...needsPostgres,
      name: 'properties',
      include: [
        ...globSync('tests/**/*.test.{ts,tsx}').filter(hasProperties),
        'tests/walls/h9-faults.test.ts',
      ],
      env: {
        PROPERTY_SEED: process.env['PROPERTY_SEED'] ?? String(randomInt(2 ** 31)),
        PROPERTY_RUNS: process.env['PROPERTY_RUNS'] ?? '1000',
        FAULT_SHARE: '1',
      },
      testTimeout: 3_600_000,
    },
  },
];

export default defineConfig(({ mode }) => ({
  test: { projects: mode === 'proof' ? proof() : everyDay },
}));
