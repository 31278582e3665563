import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { Mistral } from '@mistralai/mistralai';
import {
  ChatStreamChunk$inboundSchema as RouterChunk,
  ModelsListResponse$inboundSchema as RouterModels,
} from '@openrouter/sdk/models';
import { Ollama } from 'ollama/browser';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { refusedKey, startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';

/** The vendors' own clients read the sandbox's lists, and their own schemas its streams. */
const catalogue = loadCatalogue(null);
let sandbox: ProviderSandbox;
beforeAll(async () => {
  sandbox = await startProviderSandbox({
    respond: () => ({ text: 'Lease it.', thinkingTokens: 40 }),
    catalogue,
    seed: 'test',
    personas: {},
    profile: 'instant',
  });
});
afterAll(async () => {
  await sandbox.close();
});

const idsOf = (provider: string): string[] =>
  catalogue.models.filter((model) => model.provider === provider).map(({ id }) => id);

async function gathered<Item>(pages: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of pages) all.push(item);
  return all;
}

const get = async (path: string, key?: string): Promise<[number, unknown]> => {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(`${sandbox.url}${path}`, { headers });
  return [response.status, await response.json()];
};

describe('the list of models', () => {
  test('OpenAI’s client reads the list of OpenAI', async () => {
    const client = new OpenAI({ apiKey: 'key', baseURL: `${sandbox.url}/openai/v1` });
    expect((await gathered(client.models.list())).map(({ id }) => id)).toEqual(idsOf('openai'));
  });

  test('Anthropic’s client reads the list of Anthropic', async () => {
    const client = new Anthropic({ apiKey: 'key', baseURL: `${sandbox.url}/anthropic` });
    const models = await gathered(client.models.list());
    expect(models.map(({ id }) => id)).toEqual(idsOf('anthropic'));
    expect(models[0]?.display_name).toBe('Claude Haiku 5.5');
  });

  test('Google’s client reads the list of Google', async () => {
    const httpOptions = { baseUrl: `${sandbox.url}/google` };
    const client = new GoogleGenAI({ apiKey: 'key', apiVersion: 'v1beta', httpOptions });
    const models = await gathered(await client.models.list());
    expect(models.map(({ name }) => name)).toEqual(idsOf('google').map((id) => `models/${id}`));
    expect(models[0]?.supportedActions).toContain('generateContent');
  });

  test('Mistral’s client reads the list of Mistral', async () => {
    const client = new Mistral({ apiKey: 'key', serverURL: `${sandbox.url}/mistral` });
    const { data = [] } = await client.models.list();
    expect(data.map((model) => ('id' in model ? model.id : null))).toEqual(idsOf('mistral'));
  });

  test('OpenRouter’s own schema reads its list, which is public and priced by the token', async () => {
    const [status, body] = await get('/openrouter/api/v1/models');
    expect(status).toBe(200);
    const { data } = RouterModels.parse(body);
    expect(data.map(({ id }) => id)).toContain('openai/gpt-6-luna');
    const luna = data.find(({ id }) => id === 'openai/gpt-6-luna');
    expect(luna).toMatchObject({
      contextLength: 1_050_000,
      pricing: { prompt: '0.0000001', completion: '0.0000005', inputCacheRead: '0.00000001' },
      supportedParameters: expect.arrayContaining(['structured_outputs', 'reasoning']) as unknown,
    });
  });

  test('Ollama’s client reads what is installed, and what a model can do', async () => {
    const client = new Ollama({ host: `${sandbox.url}/ollama` });
    const { models } = await client.list();
    expect(models.map(({ model }) => model)).toContain('qwen3:8b');
    const { capabilities, details } = await client.show({ model: 'qwen3:8b' });
    expect(capabilities).toContain('thinking');
    expect(details.family).toBe('qwen3');
    expect(await client.version()).toEqual({ version: '0.40.12' });
    await expect(client.show({ model: 'gpt-0' })).rejects.toMatchObject({ status_code: 404 });
  });

  test.each([
    ['/openai/v1/models', 401],
    ['/compatible/v1/models', 401],
    ['/anthropic/v1/models', 401],
    ['/google/v1beta/models', 400],
    ['/mistral/v1/models', 401],
    ['/openrouter/api/v1/key', 401],
  ])('%s refuses a wrong key', async (path, refused) => {
    const wrong = path.includes('google') ? `${path}?key=${refusedKey}` : path;
    expect((await get(wrong, refusedKey))[0]).toBe(refused);
    const right = path.includes('google') ? `${path}?key=key` : path;
    expect((await get(right, 'key'))[0]).toBe(200);
  });
});

test('OpenRouter’s own schema reads every chunk of a stream', async () => {
  const response = await fetch(`${sandbox.url}/openrouter/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer key' },
    body: JSON.stringify({
      model: 'openai/gpt-6-luna',
      messages: [{ role: 'user', content: 'A third oven?' }],
      stream: true,
      provider: { require_parameters: true, data_collection: 'deny' },
    }),
  });
  const text = await response.text();
  expect(text).toMatch(/^: OPENROUTER PROCESSING\n\n/);
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => data);
  const chunks = events.map((data) => RouterChunk.parse(JSON.parse(data)));
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Lease it.');
  expect(chunks.at(-1)?.usage).toMatchObject({ cost: expect.any(Number) as unknown });
});
