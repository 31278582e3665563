import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { strongestOf } from '#services/evaluation/answers/conditions.ts';
import { EvaluationError } from '#services/evaluation/evaluation-error.ts';
import { reportMarkdown } from '#services/evaluation/report/markdown.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { providerDefinitions } from '#services/models/provider-list.ts';
import { sandboxBaseUrl } from '#services/models/registry.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import { startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import { readMaterial } from '#services/sandbox/models/simulator/material.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import { evaluateHere, newFolder, planHere } from './evaluations.ts';

/** Providers as the environment names them, reached by their SDKs; only their addresses differ. */

const catalogue = loadCatalogue(null);
const key = 'sk-test-0123456789';
let providers: ProviderSandbox;
let source: EnvSource;

beforeAll(async () => {
  const simulate = createSimulator(catalogue.strategies);
  providers = await startProviderSandbox({
    respond: (request) =>
      request.schemaName === 'judgment'
        ? { text: judgment(request.prompt), thinkingTokens: 10 }
        : simulate(request),
    seed: 'evaluation',
    catalogue,
    personas: {},
    profile: 'instant',
  });
  const own = providerDefinitions.filter(({ name }) =>
    ['openai', 'anthropic', 'google', 'mistral'].includes(name),
  );
  source = Object.fromEntries(
    own.flatMap((definition) => [
      [definition.keyVariable, key],
      [`${definition.name.toUpperCase()}_URL`, sandboxBaseUrl(providers.url, definition)],
    ]),
  );
});
afterAll(async () => providers.close());

const words = (path: string) => [
  '--out',
  path,
  '--cases',
  'bakery-second-shop',
  '--budget-usd',
  '20',
];

test('an evaluation with keys asks the providers, and counts what they say', async () => {
  using folder = newFolder();
  const { report, plan } = await evaluateHere(words(folder.path), { source });
  expect(report.missing).toEqual([]);
  expect(report.simulated).toBeNull();
  expect(report.ended).toBe('complete');
  expect(plan.cases[0]?.council.seats.every(({ simulated }) => !simulated)).toBe(true);
  const calls = report.figures.conditions.map(({ condition, medianCalls }) => [
    condition,
    medianCalls,
  ]);
  expect(Object.fromEntries(calls)).toEqual({
    strongest: 1,
    fused: 9,
    council: 18,
    'no-reviews': 9,
  });
  for (const { medianCostMicros, costIsLeast } of report.figures.conditions) {
    expect(medianCostMicros).toBeGreaterThan(0);
    expect(costIsLeast).toBe(false);
  }
  expect(report.budget.countedUsd).toBeGreaterThan(0);
  expect(report.budget.countedUsd).toBeLessThan(20);
  const markdown = reportMarkdown(report);
  expect(markdown).not.toMatch(/simulated|simulation|planted/i);
  expect(report.strongest).toEqual([
    plan.cases.map(({ council }) => strongestOf(council).model)[0],
  ]);
  expect(markdown).toContain(`The strongest model of the panel is ${report.strongest[0]}.`);
  for (const file of ['answers', 'judgments', 'calls'])
    expect(readFileSync(join(folder.path, `${file}.ndjson`), 'utf8')).not.toContain(key);
});

test('a folder of simulated answers takes none of real models, and the reverse', async () => {
  using folder = newFolder();
  const sandboxed = ['--sandbox', '--out', folder.path, '--cases', 'bakery-second-shop'];
  await evaluateHere(sandboxed);
  await expect(evaluateHere(words(folder.path), { source })).rejects.toThrow('simulated answers');
});

test('without a key there is nobody to ask, and no simulated model stands in', async () => {
  const planned = planHere(['--dry-run', '--strategy', 'fast']);
  await expect(planned).rejects.toThrow(EvaluationError);
  await expect(planned).rejects.toThrow('No provider is connected');
  for (const { keyVariable } of providerDefinitions)
    await expect(planned).rejects.toThrow(keyVariable);
  await expect(planned).rejects.toThrow(/OPENAI_COMPATIBLE_ENDPOINTS.*--sandbox/);
});

test('a wrong key ends in answers that are missing, with the reason', async () => {
  using folder = newFolder();
  const refused = Object.fromEntries(
    Object.entries(source).map(([name, value]) => [name, value === key ? 'invalid' : value]),
  );
  const { report } = await evaluateHere(words(folder.path), { source: refused });
  expect(report.figures.completeCases).toBe(0);
  expect(report.missing).toContainEqual({
    kind: 'answer',
    caseId: 'bakery-second-shop',
    what: 'answer of strongest',
    why: 'auth',
  });
  // A refused call costs nothing; one that was stopped because the run had failed may have cost all.
  const calls = readFileSync(join(folder.path, 'calls.ndjson'), 'utf8').trim().split('\n');
  const known = calls.filter((line) => line.includes('"isKnown":true'));
  expect(known.length).toBeGreaterThan(0);
  expect(known.every((line) => line.includes('"countedMicros":0'))).toBe(true);
});

function judgment(prompt: string): string {
  const { rows } = readMaterial(prompt);
  return JSON.stringify({
    criteria: rows('criteria').map(([id]) => ({
      criterion_id: id,
      first: 'yes',
      second: 'partly',
    })),
    traps: rows('traps').map(([id]) => ({ trap_id: id, first: false, second: false })),
    better: 'first',
    reason: 'It decides.',
  });
}
