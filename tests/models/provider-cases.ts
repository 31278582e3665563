import { loadCatalogue } from '#services/models/catalogue.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { ModelPart, ModelReply, ModelRequest, Provider } from '#services/models/model.ts';
import type { ProviderDefinition } from '#services/models/provider.ts';
import { openaiCompatible } from '#services/models/providers/openai-compatible.ts';
import { providerDefinitions } from '#services/models/provider-list.ts';
import { systemWithSchema } from '#services/models/transport/guarded-call.ts';

const { models } = loadCatalogue(null);

/** One adapter under test; a provider added to the registry is one more case. */
export type ProviderCase = {
  name: string;
  definition: Reached;
  model: string;
  /** Who answers in the sandbox: a router's and a local model stand for others there. */
  answers: { provider: string; model: string };
  /** Bytes of a stream that say nothing, and half an event. */
  ping: string;
  half: string;
  /** The system prompt as it arrives. */
  systemOf(request: ModelRequest): string;
};
type Reached = Pick<ProviderDefinition, 'name' | 'sandboxPath' | 'connect'>;

const compatible: Reached = {
  name: 'compatible',
  sandboxPath: '/compatible/v1',
  connect: ({ apiKey, baseUrl }) =>
    openaiCompatible('compatible', { apiKey, baseUrl: baseUrl ?? 'http://127.0.0.1:1/v1' }),
};

const reached: readonly Reached[] = [...providerDefinitions, compatible];

export const providerCases: readonly ProviderCase[] = reached.map((definition) => {
  const { name } = definition;
  const model = modelAt(name);
  const isLines = name === 'ollama';
  return {
    name,
    definition,
    model,
    answers: {
      provider: { openrouter: 'openai', ollama: 'compatible' }[name] ?? name,
      model: name === 'openrouter' ? model.replace('openai/', '') : model,
    },
    ping: isLines ? '\n' : ': a comment\n\n',
    // With and without a name: some vendors read only what is named.
    half: isLines ? '{"model":\n' : 'event: message_start\ndata: {"type":\n\ndata: {"type":\n\n',
    systemOf: (request) =>
      ['ollama', 'compatible'].includes(name) ? systemWithSchema(request) : request.system,
  };
});

function modelAt(provider: string): string {
  const remote: Readonly<Record<string, string>> = {
    openrouter: 'openai/gpt-6-luna',
    // It can think, as the first models of the other providers.
    ollama: 'qwen3:8b',
    compatible: 'model-of-mine',
  };
  return remote[provider] ?? models.find((entry) => entry.provider === provider)?.id ?? '';
}

export function requestTo(model: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model,
    system: 'Answer in one sentence.',
    prompt: 'Should a bakery with two ovens buy a third?',
    schema: null,
    structuredOutput: 'schema',
    effort: null,
    maxOutputTokens: 4000,
    numCtx: null,
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    ...more,
  };
}

export type Collected = { texts: string[]; reply: ModelReply };

/** Everything a call yields; the reply must come last and once. */
export async function collect(provider: Provider, request: ModelRequest): Promise<Collected> {
  const texts: string[] = [];
  const replies: ModelReply[] = [];
  for await (const part of provider.call(request)) {
    if (replies.length > 0) throw new Error('A part came after the reply');
    if (part.type === 'text') texts.push(part.text);
    else replies.push(part.reply);
  }
  const [reply] = replies;
  if (reply === undefined) throw new Error('There was no reply');
  return { texts, reply };
}

/** The failure that a call ends with. */
export async function failureOfCall(
  provider: Provider,
  request: ModelRequest,
  onPart: (part: ModelPart) => void = () => undefined,
): Promise<ModelFailure> {
  try {
    for await (const part of provider.call(request)) onPart(part);
  } catch (error) {
    if (error instanceof ModelFailure) return error;
    throw error;
  }
  throw new Error('The call did not fail');
}
