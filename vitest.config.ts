import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

/**
 * `npm test` runs everything that must never break: first what runs in Node, files side by side on one
 * Postgres; then what drives a browser, one file at a time, because a page that shares two cores with
 * the rest is slow enough to look broken. `npm run proof` is `--mode proof`: the long tests.
 */
const needsPostgres = {
  environment: 'node',
  globalSetup: ['tests/support/postgres.ts'],
  hookTimeout: 60_000,
};

const browserTests = ['tests/e2e/**/*.test.ts', 'tests/web/**/*.test.{ts,tsx}'];

const everyDay: TestProjectConfiguration[] = [
  {
    test: {
      ...needsPostgres,
      name: 'node',
      include: ['tests/**/*.test.ts'],
      exclude: [...browserTests, 'tests/proof/**', 'tests/bench/**'],
      testTimeout: 30_000,
    },
  },
  {
    test: {
      name: 'browser',
      environment: 'node',
      include: browserTests,
      fileParallelism: false,
      sequence: { groupOrder: 1 },
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  },
];

const proof: TestProjectConfiguration[] = [
  {
    test: {
      ...needsPostgres,
      name: 'proof',
      include: ['tests/proof/**/*.test.ts'],
      fileParallelism: false,
      testTimeout: 3_600_000,
    },
  },
];

export default defineConfig(({ mode }) => ({
  test: { projects: mode === 'proof' ? proof : everyDay },
}));
