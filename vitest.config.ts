import { randomInt } from 'node:crypto';
import { existsSync, globSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import {
  defineConfig,
  type TestProjectConfiguration,
  type UserWorkspaceConfig,
} from 'vitest/config';

/**
 * `npm test` is the gate: first the tests in Node, in parallel on one Postgres; then journeys in a browser,
 * and the pages. It leaves out the tests with the tag `long`. `npm run proof` is `--mode proof`: all of these,
 * their properties on new random values, then kills and restarts, simulation and fuzzing.
 */

/**
 * Tests make hundreds of databases and browser profiles of many small files. In memory a database is cloned in a
 * twentieth of the time that a disk takes.
 */
const memoryFolder = '/dev/shm';
/** A container often has only 64 MB of it. */
const memoryNeeded = 4 * 2 ** 30;
if (process.env['TMPDIR'] === undefined && existsSync(memoryFolder)) {
  const { bavail, bsize } = statfsSync(memoryFolder);
  if (bavail * bsize >= memoryNeeded) process.env['TMPDIR'] = memoryFolder;
}

/** In the gate, properties get the same values each time. */
const properties = 'tests/support/properties.ts';

const needsPostgres = {
  setupFiles: [properties, 'tests/support/quick-passwords.ts'],
  environment: 'node',
  globalSetup: ['tests/support/postgres.ts'],
  hookTimeout: 120_000,
};

/** Enough for a slow machine; the default of `expect.poll` is one second. */
const polling = { poll: { timeout: 60_000 } };

const within = (file: string, words: RegExp) => words.test(readFileSync(file, 'utf8'));

/** These use the real password hash or replace modules, so they share none with another file. */
const isolatedTests = globSync('tests/**/*.test.ts').filter((file) =>
  within(file, /argon2|identity\/passwords\/passwords\.ts|vi\.mock\(/),
);

const pageTests = ['tests/web/**/*.test.{ts,tsx}'];
const journeyTests = ['tests/e2e/**/*.test.ts'];

/** Tests in Node wait for Postgres, processes and timers a quarter of their time: more workers than cores. */
const maxWorkers = Math.max(6, availableParallelism());

/** A browser keeps the cores busy, and its tests wait for little else. */
const maxBrowsers = 4;

const everyDay: UserWorkspaceConfig[] = [
  {
    test: {
      ...needsPostgres,
      name: 'node',
      include: ['tests/**/*.test.ts'],
      exclude: [
        ...isolatedTests,
        ...pageTests,
        ...journeyTests,
        'tests/proof/**',
        'tests/bench/**',
      ],
      // The application is loaded once in a worker, not once in each file.
      isolate: false,
      testTimeout: 120_000,
      expect: polling,
      maxWorkers,
    },
  },
  {
    test: {
      ...needsPostgres,
      name: 'isolated',
      include: isolatedTests,
      setupFiles: [properties],
      testTimeout: 120_000,
      expect: polling,
      maxWorkers,
    },
  },
  {
    test: {
      setupFiles: [properties],
      name: 'pages',
      environment: 'node',
      globalSetup: ['tests/web/support/browser.ts'],
      include: pageTests,
      isolate: false,
      maxWorkers: maxBrowsers,
      sequence: { groupOrder: 1 },
      testTimeout: 120_000,
      expect: polling,
      hookTimeout: 120_000,
    },
  },
  {
    test: {
      name: 'journeys',
      environment: 'node',
      globalSetup: ['tests/web/support/browser.ts'],
      include: journeyTests,
      isolate: false,
      maxWorkers: maxBrowsers,
      sequence: { groupOrder: 1 },
      testTimeout: 120_000,
      expect: polling,
      hookTimeout: 120_000,
    },
  },
];

/** An hour, for a test that tries everything. */
const proofTimeout = 3_600_000;

const moreProperties = {
  PROPERTY_SEED: process.env['PROPERTY_SEED'] ?? String(randomInt(2 ** 31)),
  PROPERTY_RUNS: process.env['PROPERTY_RUNS'] ?? '1000',
};

const proof = (): TestProjectConfiguration[] => [
  ...everyDay.map(({ test }) => ({
    test: { ...test, env: moreProperties, testTimeout: proofTimeout },
  })),
  {
    test: {
      ...needsPostgres,
      name: 'proof',
      include: ['tests/proof/**/*.test.ts'],
      fileParallelism: false,
      sequence: { groupOrder: 2 },
      testTimeout: proofTimeout,
    },
  },
];

export default defineConfig(({ mode }) => ({
  test: {
    projects: mode === 'proof' ? proof() : everyDay,
    tags: [{ name: 'long', description: 'costs the gate more seconds than it would save' }],
  },
}));
