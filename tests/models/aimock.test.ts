import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Provider } from '#services/models/model.ts';
import { loadSdks } from '#services/models/provider-list.ts';
import { collect, failureOfCall, providerCases, requestTo } from './provider-cases.ts';
import type { ProviderCase } from './provider-cases.ts';

/**
 * The adapters against a third party's wire formats: our adapter and our sandbox could share a
 * misunderstanding.
 *
 * Known gaps of aimock 1.43: Claude and Gemini report usage only where a fixture gives it, Mistral is
 * served by the OpenAI route and so has usage only in an extra chunk, and no vendor reports thinking
 * tokens or cached input by default. Its Ollama counts no tokens and ends every reply with `stop`.
 */
const mock = new LLMock({ port: 0, logLevel: 'silent' });
const answer = '{"one_line":"Lease the oven.","reasoning":["Two ovens are idle after ten."]}';

/** The base URL of each vendor on aimock's one port. */
const paths: Readonly<Record<string, string>> = {
  openai: '/v1',
  compatible: '/v1',
  anthropic: '',
  google: '',
  mistral: '',
  openrouter: '/api/v1',
  ollama: '',
};

/** Usage in each vendor's own words, 100 in and 20 out. */
const usages: Readonly<Record<string, Record<string, number>>> = {
  openai: { input_tokens: 100, output_tokens: 20 },
  compatible: { prompt_tokens: 100, completion_tokens: 20 },
  anthropic: { input_tokens: 100, output_tokens: 20 },
  google: { promptTokenCount: 100, candidatesTokenCount: 20 },
  openrouter: { prompt_tokens: 100, completion_tokens: 20 },
};

beforeAll(async () => {
  // Loading an SDK takes seconds, which would count towards the first call.
  await loadSdks();
  await mock.start();
});

afterAll(async () => {
  await mock.stop();
});

function connected({ name, definition }: ProviderCase): Provider {
  return definition.connect({ apiKey: 'mock', baseUrl: `${mock.url}${paths[name] ?? ''}` });
}

const schema = {
  name: 'opinion',
  json: {
    type: 'object',
    properties: { one_line: { type: 'string' } },
    required: ['one_line'],
    additionalProperties: false,
  },
};

describe.each(
  providerCases.filter(({ name }) => name in paths).map((each) => [each.name, each] as const),
)('%s against aimock', (name, each) => {
  const provider = (): Provider => connected(each);
  const usage = usages[name];

  it('an adapter reads a streamed reply', async () => {
    mock.reset().onMessage(/third/, { content: answer, ...(usage === undefined ? {} : { usage }) });
    const { texts, reply } = await collect(provider(), requestTo(each.model, { schema }));
    expect(texts.join('')).toBe(answer);
    expect(reply).toMatchObject({ text: answer, finish: 'stop' });
  });

  it.runIf(usage !== undefined)('an adapter reads the usage', async () => {
    mock.reset().onMessage(/third/, { content: answer, usage: usage ?? {} });
    const { reply } = await collect(provider(), requestTo(each.model, { schema }));
    const { inputUncached, inputCached, outputVisible, outputThinking, source } = reply.usage;
    expect(source).toBe('provider');
    expect((inputUncached ?? 0) + (inputCached ?? 0)).toBe(100);
    expect((outputVisible ?? 0) + (outputThinking ?? 0)).toBe(20);
  });

  it('an adapter keeps thoughts out of the text', async () => {
    mock.reset().onMessage(/third/, { content: answer, reasoning: 'The queue is what matters.' });
    const { reply } = await collect(provider(), requestTo(each.model, { effort: 'high' }));
    expect(reply.text).toBe(answer);
  });

  it.runIf(name !== 'ollama')('an adapter reports that a reply was cut', async () => {
    mock.reset().onMessage(/third/, { content: answer.slice(0, 30), finishReason: 'length' });
    const { reply } = await collect(provider(), requestTo(each.model, { schema }));
    expect(reply.finish).toBe('length');
  });

  it.each([
    [429, 'rate_limited'],
    [500, 'unavailable'],
    [401, 'auth'],
  ])('an adapter reports a %i as %s', async (status, expected) => {
    mock.reset().onMessage(/third/, { content: answer });
    mock.nextRequestError(status, { message: 'no', type: 'error' });
    const failure = await failureOfCall(provider(), requestTo(each.model));
    expect(failure.failure).toBe(expected);
    expect(mock.getRequests()).toHaveLength(1);
  });

  it('an adapter reports a stream that is cut off as a lost connection', async () => {
    mock.reset().onMessage(/third/, { content: answer }, { disconnectAfterMs: 1, latency: 20 });
    const failure = await failureOfCall(provider(), requestTo(each.model));
    expect(failure.failure).toBe('connection');
  });

  it('an adapter reports a chaotic body as malformed', async () => {
    mock.reset().onMessage(/third/, { content: answer });
    mock.setChaos({ malformedRate: 1 });
    const failure = await failureOfCall(provider(), requestTo(each.model));
    mock.clearChaos();
    expect(['malformed', 'connection']).toContain(failure.failure);
  });
});
