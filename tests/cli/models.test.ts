import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { modelCommands } from '#services/cli/models.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { modelsOf } from '#services/models/strategies.ts';
import { SettingsError } from '#services/platform/process/env.ts';
import { startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import { commandLine } from '#tests/support/processes/processes.ts';
import { runOnSettings } from './in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sevenfold-models-'));
const catalogue = loadCatalogue(null);
let sandbox: ProviderSandbox;
let router: { OPENROUTER_API_KEY: string; OPENROUTER_URL: string };

beforeAll(async () => {
  sandbox = await startProviderSandbox({
    respond: () => ({ text: '{"ok": true}', thinkingTokens: 10 }),
    seed: 'test',
    catalogue,
    personas: {},
    profile: 'instant',
  });
  router = {
    OPENROUTER_API_KEY: 'sk-or-very-secret',
    OPENROUTER_URL: `${sandbox.url}/openrouter/api/v1`,
  };
});
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true });
});

const run = async (words: string[], source: Record<string, string> = {}) =>
  runOnSettings(modelCommands, ['models', ...words], source);

/** An operator's file with today's date on every price, so that none is old when the test runs. */
function freshlyRead(change: Record<string, object> = {}): string {
  const readOn = new Date().toISOString().slice(0, 10);
  const path = join(mkdtempSync(join(folder, 'file-')), 'models.json');
  const models = catalogue.models.map(({ id, prices }) => ({
    id,
    prices: prices.map((row) => ({ ...row, readOn })),
    ...change[id],
  }));
  writeFileSync(path, JSON.stringify({ models }));
  return path;
}

test('models check ends with 0 when one key serves every model, and prints no key', async () => {
  const { code, out, said } = await run(['check'], { ...router, MODELS_FILE: freshlyRead() });
  const routed = catalogue.models.filter(({ remoteIds }) => 'openrouter' in remoteIds).length;
  const wanted = new Set(catalogue.strategies.flatMap(modelsOf));
  expect({ code, out }).toEqual({
    code: 0,
    out: `openrouter  ${routed} models listed  ${wanted.size} answered\n`,
  });
  expect(out + said).not.toContain('very-secret');
});

test('models check ends with 1 and a line for each fault, also as data', async () => {
  const file = freshlyRead({ 'gpt-6-luna': { remoteIds: { openrouter: 'openai/gpt-0' } } });
  const settings = { ...router, MODELS_FILE: file };
  const { code, out } = await run(['check'], settings);
  expect(code).toBe(1);
  expect(out.trim().split('\n').slice(1)).toEqual([
    'gpt-6-luna: OpenRouter does not list openai/gpt-0; correct models "gpt-6-luna", remoteIds.openrouter in MODELS_FILE',
  ]);
  const document = await run(['check', '--json'], settings);
  expect(JSON.parse(document.out)).toMatchObject({ faults: [{ about: 'gpt-6-luna' }] });
});

test('models list shows a place and a price for each model, and the variables of those without one', async () => {
  const alone = { OPENAI_API_KEY: 'sk-very-secret' };
  const { code, out, said } = await run(['list'], alone);
  expect(code).toBe(0);
  expect(out + said).not.toContain('very-secret');
  expect(out).toMatch(/^gpt-6-luna +GPT-6 Luna +openai +small +openai +\$0\.1 \/ \$0\.5$/m);
  expect(out).toMatch(
    /^gemini-4-argon .* simulated .* needs GOOGLE_API_KEY or OPENROUTER_API_KEY$/m,
  );
  expect(out).toMatch(/^fast +2 of 7 seats as designed, 5 substituted/m);
  const routed = await run(['list', '--json'], router);
  const { models } = JSON.parse(routed.out) as { models: { provider: string }[] };
  expect(models.map(({ provider }) => provider)).toEqual(models.map(() => 'openrouter'));
});

test('models list says when a price was read more than 30 days ago', async () => {
  const [row] = catalogue.modelOf('gpt-6-luna')!.prices;
  const file = freshlyRead({ 'gpt-6-luna': { prices: [{ ...row, readOn: '2026-01-05' }] } });
  const { out } = await run(['list'], { ...router, MODELS_FILE: file });
  expect(out).toMatch(/^gpt-6-luna .*\$0\.1 \/ \$0\.5, read on 2026-01-05/m);
  expect(out.match(/read on/g)).toHaveLength(1);
});

test('models list of a strategy names each seat with the reason of its substitution', async () => {
  const { code, out } = await run(['list', 'fast'], { OPENAI_API_KEY: 'sk-very-secret' });
  expect(code).toBe(0);
  expect(out).toMatch(/^S1 +strategic +GPT-6\.1 Terra +openai$/m);
  expect(out).toMatch(/^S2 .* Mistral Medium 3\.5 is not available, so .* takes /m);
  const fixed = { OPENAI_API_KEY: 'sk-very-secret', SUBSTITUTE_MODELS: 'false' };
  const refused = await run(['list', 'fast'], fixed);
  expect(refused.code).toBe(1);
  expect(refused.out).toMatch(/^Not available. This strategy needs .*Mistral Medium 3\.5/);
  await expect(run(['list', 'slow'], fixed)).rejects.toThrow('Unknown strategy');
});

test('models sync prints the differences and writes them only with --write', async () => {
  const change = { prices: [{ ...catalogue.modelOf('gpt-6-luna')!.prices[0], outputPerMTok: 9 }] };
  const file = freshlyRead({ 'gpt-6-luna': change });
  const before = readFileSync(file, 'utf8');
  const settings = { OPENROUTER_URL: router.OPENROUTER_URL, MODELS_FILE: file };
  const printed = await run(['sync'], settings);
  expect(printed.code).toBe(1);
  expect(printed.out).toContain('price  gpt-6-luna');
  expect(printed.out).toContain('output 9 → 0.5');
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect((await run(['sync', '--write'], settings)).code).toBe(0);
  const now = new Date().toISOString();
  expect(loadCatalogue(file).priceOf('gpt-6-luna', now)).toMatchObject({
    outputPerMTok: 0.5,
    source: 'https://openrouter.ai/openai/gpt-6-luna',
  });
  expect(await run(['sync'], settings)).toMatchObject({ code: 0, out: '' });
});

test('models sync says what is missing or wrong before it asks for the list', async () => {
  const nowhere = { OPENROUTER_URL: 'http://127.0.0.1:1/v1' };
  await expect(run(['sync', '--write'], nowhere)).rejects.toThrow(SettingsError);
  await expect(run(['sync', '--since', 'May'], nowhere)).rejects.toThrow(UsageError);
  await expect(run(['sync'], nowhere)).rejects.toThrow(
    '127.0.0.1:1 cannot be reached; check the network and OPENROUTER_URL',
  );
});

test(
  'a fault of the operator’s file is one line, and ends every command with 2',
  { tags: ['long'] },
  async () => {
    const path = join(folder, 'faulty.json');
    writeFileSync(
      path,
      JSON.stringify({ strategies: [{ id: 'fast', credits: 'sk-very-secret' }] }),
    );
    const ended = await commandLine({ MODELS_FILE: path }, 'models', 'list');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toBe(`${path}: strategies "fast", credits must be number\n`);
  },
);
