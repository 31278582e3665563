import type { ChatRequest, ChatResponse, Config } from 'ollama/browser';
import * as v from 'valibot';
import {
  sdkProvider,
  systemWithSchema,
  usageFromTotals,
} from '#services/models/transport/guarded-call.ts';
import type { OpenCall } from '#services/models/transport/guarded-call.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { Effort, ModelPart, ModelRequest, UsageRecord } from '#services/models/model.ts';
import type { ProviderConnection, ProviderDefinition } from '#services/models/provider.ts';
import { loadPatientFetch } from '#services/models/transport/patient-fetch.ts';
import { localPatience } from '#services/models/transport/silence.ts';

const sdk = async () => {
  const [{ Ollama }, patientFetch] = await Promise.all([
    import('ollama/browser'),
    loadPatientFetch(),
  ]);
  return { Ollama, patientFetch };
};

const ollamaUrl = 'http://127.0.0.1:11434';

/**
 * A local Ollama by its own API. Its Chat Completions ignore the size of the context and cut a longer
 * prompt without a word.
 */
export const ollama: ProviderDefinition = {
  name: 'ollama',
  displayName: 'Ollama',
  recognised: { makers: ['ollama'], models: [] },
  keyVariable: 'OLLAMA_URL',
  ownUrl: ollamaUrl,
  listCalls: ({ baseUrl }) => [{ url: `${baseUrl}/api/tags`, headers: {}, idsIn: installedModels }],
  sandboxPath: '/ollama',
  loadSdk: sdk,
  connect: (connection) => ({
    ...sdkProvider(
      'ollama',
      sdk,
      ({ Ollama }, call) => partsOf(new Ollama(configOf(connection, call)), call),
      {
        patience: (request) => localPatience({ ...request, system: systemWithSchema(request) }),
        fetchOf: ({ patientFetch }) => patientFetch,
      },
    ),
    isFree: true,
  }),
};

const installedModels = v.pipe(
  v.object({ models: v.array(v.object({ model: v.string() })) }),
  v.transform(({ models }) => models.map(({ model }) => model)),
);

type Client = InstanceType<Awaited<ReturnType<typeof sdk>>['Ollama']>;

/** The client has no signal of its own and prints what it cannot read, so both stand in its fetch. */
function configOf(
  { baseUrl }: Pick<ProviderConnection, 'baseUrl'>,
  { fetch, signal }: Pick<OpenCall, 'fetch' | 'signal'>,
): Config {
  return {
    host: baseUrl ?? ollamaUrl,
    fetch: async (input, init) => {
      const response = await fetch(input, { ...init, signal });
      return new Response(response.body?.pipeThrough(checkedLines()), response);
    },
  };
}

async function* partsOf(
  client: Client,
  { request }: Pick<OpenCall, 'request'>,
): AsyncIterable<ModelPart> {
  const lines = await client.chat(chatRequest(request));
  let text = '';
  for await (const line of lines) {
    const delta = line.message.content;
    text += delta;
    yield { type: 'text', text: delta };
    if (line.done) {
      yield {
        type: 'reply',
        reply: {
          text,
          usage: usageOfLine(line),
          billedCost: null,
          finish: line.done_reason === 'length' ? 'length' : 'stop',
          answeredBy: line.model,
        },
      };
    }
  }
}

/** The client's type lacks what the server takes: an error instead of a silent cut. */
type WholePrompt = { truncate: false; shift: false };

export function chatRequest(request: ModelRequest): ChatRequest & WholePrompt & { stream: true } {
  return {
    model: request.model,
    messages: [
      { role: 'system', content: systemWithSchema(request) },
      { role: 'user', content: request.prompt },
    ],
    stream: true,
    // Between two stages of a run the model stays loaded.
    keep_alive: '15m',
    truncate: false,
    shift: false,
    options: {
      num_predict: request.maxOutputTokens,
      ...(request.numCtx === null ? {} : { num_ctx: request.numCtx }),
    },
    ...(request.effort === null ? {} : { think: thinkOf[request.effort] }),
    ...formatOf(request),
  };
}

function formatOf({ schema, structuredOutput }: ModelRequest): Pick<ChatRequest, 'format'> {
  if (schema === null || structuredOutput === 'prompt') return {};
  return { format: structuredOutput === 'json' ? 'json' : { ...schema.json, title: schema.name } };
}

/** `true` is on for models with a switch and medium for those with levels. */
const thinkOf: Readonly<Record<Effort, NonNullable<ChatRequest['think']>>> = {
  none: false,
  minimal: 'low',
  low: 'low',
  medium: true,
  high: 'high',
  xhigh: 'high',
  max: 'high',
};

/** Thinking is counted as output. A prompt that was cached as a whole has no count. */
export function usageOfLine(
  line: Partial<Pick<ChatResponse, 'prompt_eval_count' | 'eval_count'>>,
): UsageRecord {
  return usageFromTotals({
    input: line.prompt_eval_count ?? null,
    cached: null,
    cacheWrite: null,
    output: line.eval_count ?? null,
    thinking: null,
  });
}

// ── lines ───────────────────────────────────────────────────────────────────────────────────────

const streamedLine = v.looseObject({
  error: v.optional(v.string()),
  done: v.optional(v.boolean()),
});

/** Characters of one line, which holds a token or two. */
const lineCharacters = 1_000_000;

/**
 * Only whole lines that can be read, and an error where the stream breaks off. The client would print
 * an unreadable line, the words of a model, and continue with the next.
 */
function checkedLines(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = '';
  let isDone = false;
  const check = (line: string): string => {
    if (line.trim() === '') return '';
    const { error, done } = v.parse(streamedLine, JSON.parse(line));
    if (error !== undefined) throw new ModelFailure('unavailable', 'ollama broke off its reply');
    isDone ||= done === true;
    return `${line}\n`;
  };
  return new TransformStream({
    transform(bytes, controller) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > lineCharacters) throw new ModelFailure('malformed', 'A line is too long');
      controller.enqueue(encoder.encode(lines.map(check).join('')));
    },
    flush(controller) {
      controller.enqueue(encoder.encode(check(rest + decoder.decode())));
      if (!isDone) throw new ModelFailure('connection', 'The stream of ollama has no end');
    },
  });
}
