import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { ModelEntry } from '#services/models/catalogue/model-entry.ts';
import { refusedKey, startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

let sandbox: ProviderSandbox;
const apps: TestApp[] = [];

beforeAll(async () => {
  sandbox = await startProviderSandbox({
    respond: () => ({ text: '{"ok":true}', thinkingTokens: 0 }),
    catalogue: loadCatalogue(null),
    seed: 'test',
    personas: {},
    profile: 'instant',
  });
});
afterAll(async () => {
  await Promise.all(apps.map(async (app) => app.close()));
  await sandbox.close();
});

async function appWith(env: Record<string, string>) {
  const app = await createTestApp({ env });
  apps.push(app);
  return (path: string, init: RequestInit = {}) => app.app.request(`http://localhost${path}`, init);
}

const words = async (answer: Response) =>
  (await answer.text()).replace(/<style>[\s\S]*?<\/style>|<[^>]+>/g, ' ').replace(/\s+/g, ' ');

test('without a key the page says that all models are simulated, and what each key would make real', async () => {
  const open = await appWith({});
  const shown = await words(await open('/dev/models'));
  expect(shown).toContain('No provider is connected, so every model is simulated.');
  expect(shown).toContain('OpenRouter: OPENROUTER_API_KEY=…');
  const [, router = ''] = /OPENROUTER_API_KEY=…(.*?)(?: [A-Z]\w+: |Add lines)/.exec(shown) ?? [];
  expect(router.match(/All 7 seats as designed|All (?:8|12) seats as designed/g)).toHaveLength(8);
});

test('prices that were read more than 30 days ago are named without a check', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sevenfold-dev-models-'));
  const file = join(folder, 'models.json');
  const [first, ...rest] = loadCatalogue(null).models;
  const readOn = (entry: ModelEntry, day: string) => ({
    id: entry.id,
    prices: entry.prices.map((row) => ({ ...row, readOn: day })),
  });
  const today = new Date().toISOString().slice(0, 10);
  const models = [readOn(first!, '2026-01-05'), ...rest.map((entry) => readOn(entry, today))];
  writeFileSync(file, JSON.stringify({ models }));
  const open = await appWith({ MODELS_FILE: file });
  rmSync(folder, { recursive: true });
  expect(await words(await open('/dev/models'))).toContain(
    `Older than 30 days, or expired: ${first!.id}.`,
  );
});

test('a check runs when it is asked for, and the page keeps what it said', async () => {
  const open = await appWith({
    OPENAI_API_KEY: 'key',
    OPENAI_URL: `${sandbox.url}/openai/v1`,
    MISTRAL_API_KEY: refusedKey,
    MISTRAL_URL: `${sandbox.url}/mistral`,
  });
  expect(await words(await open('/dev/models'))).toMatch(/OpenAI 127\.0\.0\.1:\d+ not checked yet/);
  const asked = await open('/dev/models', {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin' },
  });
  expect([asked.status, asked.headers.get('location')]).toEqual([303, '/dev/models']);
  const shown = await words(await open('/dev/models'));
  expect(shown).toMatch(/OpenAI 127\.0\.0\.1:\d+ \d+ models listed, \d+ answered/);
  expect(shown).toMatch(/Mistral 127\.0\.0\.1:\d+ not responding/);
  expect(shown).toContain('Mistral: the key was refused ; correct MISTRAL_API_KEY.');
  expect(shown).not.toContain('simulated.');
});

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['a foreign origin', { origin: 'https://evil.example' }],
])('%s cannot start a check', async (_who, headers) => {
  const open = await appWith({});
  const answer = await open('/dev/models', { method: 'POST', headers });
  expect(answer.status).toBe(404);
});

test('a public sandbox has no page of models', async () => {
  const open = await appWith({
    ALLOW_PUBLIC_SANDBOX: 'true',
    DEV_PAGES_TOKEN: 'a'.repeat(32),
  });
  const answer = await open('/dev/models', { headers: { cookie: `sf_dev=${'a'.repeat(32)}` } });
  expect(answer.status).toBe(404);
});
