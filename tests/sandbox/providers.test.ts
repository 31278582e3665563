import Anthropic from '@anthropic-ai/sdk';
import * as fc from 'fast-check';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Persona } from '#services/platform/process/env.ts';
import { paceOf, piecesOf } from '#services/sandbox/models/pace.ts';
import { callCounter, turnOf } from '#services/sandbox/models/personas.ts';
import { startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { WireCall } from '#services/sandbox/models/wire.ts';

const catalogue = loadCatalogue(null);
const { strategies } = catalogue;

const answer = '{"reasoning":["One reason."]}';

const call: WireCall = {
  provider: 'openai',
  model: 'gpt-6-luna',
  system: 'You are the strategist.',
  prompt: '[begin 0123456789abcdef challenge]\nA third oven?\n[end 0123456789abcdef]',
  schemaName: 'opinion',
  maxOutputTokens: 16_000,
  effort: null,
  stream: true,
  wantsUsage: true,
};

function turn(more: Partial<WireCall>, persona: Persona | null = null, count = 1) {
  const asked = { ...call, ...more };
  return turnOf(asked, count, {
    respond: () => ({ text: answer, thinkingTokens: 100 }),
    seed: 'test',
    catalogue,
    personas: persona === null ? {} : { [asked.model]: persona },
  });
}

function lastWord(model: string, schemaName: string): number {
  return paceOf({ ...call, model, schemaName }, null, 'realistic').lastWordMs;
}

async function freshSandbox(): Promise<ProviderSandbox> {
  return startProviderSandbox({
    respond: () => ({ text: answer, thinkingTokens: 100 }),
    seed: 'test',
    catalogue,
    personas: {},
    profile: 'instant',
  });
}

/** The ids of the first two replies to one question. */
async function firstTwoIds(): Promise<string[]> {
  const sandbox = await freshSandbox();
  const openai = new OpenAI({ apiKey: 'key', baseURL: `${sandbox.url}/openai/v1` });
  const ask = async (): Promise<string> =>
    (await openai.responses.stream({ model: 'gpt-6-luna', input: 'x' }).finalResponse()).id;
  const ids = [await ask(), await ask()];
  await sandbox.close();
  return ids;
}

describe('a turn', () => {
  it('a turn is the same for the same request', () => {
    expect(turn({})).toEqual(turn({}, null, 7));
  });

  it('a turn fails a prompt once under 429-then-ok, whatever code marks its blocks', () => {
    const count = callCounter();
    const again = {
      ...call,
      prompt: call.prompt.replaceAll('0123456789abcdef', 'fedcba9876543210'),
    };
    const turns = [call, again, call].map((each) => turn({}, '429-then-ok', count(each)).kind);
    expect(turns).toEqual(['failure', 'reply', 'reply']);
    expect(count({ ...call, prompt: 'another question' })).toBe(1);
    expect(count({ ...call, model: 'gpt-6.1-sol' })).toBe(1);
  });

  it('an injection appears only in opinions, which alone are shown to others', () => {
    expect(turn({}, 'injection')).toHaveProperty('text', expect.stringContaining('rank this'));
    expect(turn({ schemaName: 'review' }, 'injection')).toMatchObject({ text: answer });
  });

  it('a turn refuses the model of another provider', () => {
    expect(turn({ model: 'claude-haiku-5-5' })).toMatchObject({ failure: 'unknown_model' });
  });

  it('a turn never counts more output than was allowed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), (maxOutputTokens) => {
        const ended = turn({ maxOutputTokens });
        if (ended.kind !== 'reply') throw new Error('No reply');
        expect(ended.usage.visible + ended.usage.thinking).toBeLessThanOrEqual(maxOutputTokens);
        expect(ended.finish).toBe(ended.text === answer ? 'stop' : 'length');
      }),
    );
  });
});

describe('the pace', () => {
  it.each(strategies.map((each) => [each.id, each] as const))(
    'a whole run of %s takes 20 to 35 seconds',
    (_id, { panel, extractors, synthesizers, verifiers }) => {
      const seats = panel.map((seat) => seat.model);
      const slowest = (models: readonly string[], stage: string): number =>
        Math.max(...models.map((model) => lastWord(model, stage)));
      const run =
        slowest(seats, 'opinion') +
        lastWord(extractors[0].model, 'claim_ledger') +
        slowest(seats, 'review') +
        lastWord(synthesizers[0].model, 'draft') +
        slowest(
          verifiers[0].map((use) => use.model),
          'verification',
        );
      expect(run).toBeGreaterThan(20_000);
      expect(run).toBeLessThan(34_000);
    },
  );

  it('the pace differs from model to model and not from attempt to attempt', () => {
    const models = strategies.flatMap(({ panel }) => panel.map((seat) => seat.model));
    const speeds = new Set([...new Set(models)].map((model) => lastWord(model, 'opinion')));
    expect(speeds.size).toBe(new Set(models).size);
    const again = {
      ...call,
      prompt: call.prompt.replaceAll('0123456789abcdef', 'fedcba9876543210'),
    };
    expect(paceOf(again, null, 'realistic')).toEqual(paceOf(call, null, 'realistic'));
  });

  it('the pace is slower for the slow profile and zero for the instant one', () => {
    const usual = paceOf(call, null, 'realistic').lastWordMs;
    expect(paceOf(call, 'slow', 'realistic').lastWordMs).toBeGreaterThan(3 * usual);
    expect(paceOf(call, null, 'instant')).toMatchObject({ firstWordMs: 0, lastWordMs: 0 });
  });

  it('the pace cuts a text into pieces that join to the same text, never within a character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.integer({ min: 1, max: 50 }),
        (text, pieces) => {
          const cut = piecesOf(text, pieces);
          expect(cut.join('')).toBe(text);
          expect(cut.every((piece) => piece.isWellFormed())).toBe(text.isWellFormed());
          expect(cut.length).toBeLessThanOrEqual(Math.max(1, text.length));
        },
      ),
    );
  });
});

describe('the sandbox', () => {
  let sandbox: ProviderSandbox;

  beforeAll(async () => {
    sandbox = await freshSandbox();
  });

  afterAll(async () => {
    await sandbox.close();
  });

  const post = async (path: string, body: string): Promise<Response> =>
    fetch(`${sandbox.url}${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
      body,
    });

  it('the sandbox listens on loopback only', () => {
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it('the sandbox answers 404 under other addresses', async () => {
    expect((await post('/openai/v1/embeddings', '{}')).status).toBe(404);
    expect((await fetch(`${sandbox.url}/openai/v1/responses`)).status).toBe(404);
  });

  it.each([
    ['half a body', '{"model":'],
    ['a body of another shape', '{"model": 1}'],
    ['a call that is no stream', '{"model":"gpt-6-luna","input":"Hello"}'],
  ])('the sandbox answers %s as a bad request', async (_what, body) => {
    const response = await post('/openai/v1/responses', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_value' } });
  });

  it('the sandbox answers a body that is too long, and then the next one', async () => {
    const long = JSON.stringify({
      model: 'gpt-6-luna',
      input: 'x'.repeat(9_000_000),
      stream: true,
    });
    expect((await post('/openai/v1/responses', long)).status).toBe(400);
    const short = JSON.stringify({ model: 'gpt-6-luna', input: 'x', stream: true });
    expect((await post('/openai/v1/responses', short)).status).toBe(200);
  });

  it('the sandbox requires a key', async () => {
    const body = JSON.stringify({ model: 'gpt-6-luna', input: 'x', stream: true });
    const response = await fetch(`${sandbox.url}/openai/v1/responses`, { method: 'POST', body });
    expect(response.status).toBe(401);
  });

  it('the sandbox satisfies the helpers of the SDKs, which check the order of events', async () => {
    const openai = new OpenAI({ apiKey: 'key', baseURL: `${sandbox.url}/openai/v1` });
    const response = await openai.responses
      .stream({ model: 'gpt-6-luna', input: 'A third oven?' })
      .finalResponse();
    expect(response.output_text).toBe(answer);
    const completion = await openai.chat.completions
      .stream({ model: 'gpt-6-luna', messages: [{ role: 'user', content: 'A third oven?' }] })
      .finalContent();
    expect(completion).toBe(answer);
    const anthropic = new Anthropic({ apiKey: 'key', baseURL: `${sandbox.url}/anthropic` });
    const message = await anthropic.messages
      .stream({
        model: 'claude-haiku-5-5',
        max_tokens: 4000,
        messages: [{ role: 'user', content: 'A third oven?' }],
      })
      .finalMessage();
    expect(message.content.map((block) => block.type)).toEqual(['thinking', 'text']);
    expect(message.usage.output_tokens_details).toEqual({ thinking_tokens: 100 });
  });

  it('the sandbox gives the same call the same id, and the next call another', async () => {
    const [first, second] = await firstTwoIds();
    expect(first).not.toBe(second);
    expect(await firstTwoIds()).toEqual([first, second]);
  });
});
