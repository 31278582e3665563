import type { ChatResponse, ErrorResponse, ListResponse, ShowResponse } from 'ollama/browser';
import * as v from 'valibot';
import { estimateTokens, systemAndPrompt, textContent } from './wire.ts';
import type {
  FailureKind,
  StreamedTurn,
  WireCall,
  WireFormat,
  WireIds,
  WireStream,
  WireUsage,
} from './wire.ts';

/** `POST /ollama/api/chat`: one JSON object a line, and tokens counted once, thinking included. */
export const ollamaChat: WireFormat = {
  path: /^\/ollama\/api\/chat$/,
  contentType: 'application/x-ndjson',
  // It asks for no key.
  keyOf: () => 'none',
  read(body) {
    const request = v.parse(requestSchema, body);
    const model = installed.find(({ id }) => id === request.model);
    const { system, prompt } = systemAndPrompt(request.messages);
    const refusal = refusalOf(
      request,
      model,
      request.options.num_ctx < estimateTokens(system + prompt),
    );
    return {
      provider: 'ollama',
      model: request.model,
      system,
      prompt,
      schemaName: typeof request.format === 'object' ? (request.format.title ?? null) : null,
      maxOutputTokens: request.options.num_predict ?? null,
      effort: effortOf(request.think, model?.thinks ?? false),
      stream: request.stream,
      wantsUsage: true,
      ...(refusal === null ? {} : { refusal }),
    };
  },
  begin: beginChat,
  failure: ({ failure, message }) => ({
    status: statuses[failure],
    body: { error: message } satisfies ErrorResponse,
  }),
};

/** What this machine has; one of them cannot chat and one is only passed on. */
const installed = [
  { id: 'qwen3:8b', family: 'qwen3', size: '8.2B', context: 40_960, thinks: true },
  { id: 'gpt-oss:20b', family: 'gptoss', size: '20.9B', context: 131_072, thinks: true },
  { id: 'gemma3:12b', family: 'gemma3', size: '12.2B', context: 131_072, thinks: false },
  { id: 'llama3.1:8b', family: 'llama', size: '8.0B', context: 131_072, thinks: false },
  {
    id: 'nomic-embed-text:latest',
    family: 'nomic-bert',
    size: '137M',
    context: 2048,
    thinks: false,
  },
  { id: 'kimi-k3:cloud', family: 'kimi', size: '1T', context: 262_144, thinks: true },
] as const;

type Installed = (typeof installed)[number];

const requestSchema = v.object({
  model: v.string(),
  messages: v.pipe(v.array(v.object({ role: v.string(), content: textContent })), v.minLength(1)),
  stream: v.optional(v.boolean(), true),
  format: v.optional(
    v.union([v.literal('json'), v.looseObject({ title: v.optional(v.string()) })]),
  ),
  think: v.optional(v.union([v.boolean(), v.picklist(['low', 'medium', 'high'])])),
  keep_alive: v.optional(v.union([v.string(), v.number()])),
  truncate: v.optional(v.boolean(), true),
  shift: v.optional(v.boolean(), true),
  options: v.optional(
    v.object({
      // 4,096 is what a machine with little memory takes unasked.
      num_ctx: v.optional(v.number(), 4096),
      num_predict: v.optional(v.number()),
    }),
    {},
  ),
});

type Request = v.InferOutput<typeof requestSchema>;
type Think = Request['think'];

/** A model that can think does so unless the request forbids it. */
function effortOf(think: Think, thinks: boolean): string {
  if (!thinks || think === false) return 'none';
  return typeof think === 'string' ? think : 'medium';
}

/** A prompt that is too long is cut without a word, unless the caller forbids it. */
function refusalOf(
  { model: asked, think, truncate }: Request,
  model: Installed | undefined,
  isTooLong: boolean,
): NonNullable<WireCall['refusal']> | null {
  if (model === undefined)
    return { failure: 'unknown_model', message: `model '${asked}' not found` };
  if (think !== undefined && think !== false && !model.thinks)
    return { failure: 'bad_request', message: `"${asked}" does not support thinking` };
  if (isTooLong && !truncate)
    return { failure: 'bad_request', message: 'the input length exceeds the context length' };
  return null;
}

function beginChat(call: WireCall, turn: StreamedTurn, ids: WireIds): WireStream {
  const line = (
    message: { content: string; thinking?: string },
    end: Partial<Line> & { done: boolean } = { done: false },
  ): string =>
    `${JSON.stringify({
      model: call.model,
      created_at: new Date(ids.createdAtSeconds * 1000).toISOString(),
      message: { role: 'assistant', ...message },
      ...end,
    } satisfies Partial<Line>)}\n`;
  return {
    open: () =>
      turn.usage.thinking > 0 ? [line({ content: '', thinking: 'Weighing the options.' })] : [],
    text: (delta) => [line({ content: delta })],
    close: (ended) => [
      // There is no word for a refusal: the model says so, and stops.
      ...(ended.kind === 'refusal' ? [line({ content: ended.text })] : []),
      line(
        { content: '' },
        {
          done: true,
          done_reason: ended.kind === 'refusal' ? 'stop' : ended.finish,
          ...countsOf(ended.usage),
        },
      ),
    ],
  };
}

type Line = Omit<ChatResponse, 'created_at'> & { created_at: string };

function countsOf({ input, visible, thinking }: WireUsage) {
  return {
    total_duration: 4_900_000_000,
    load_duration: 140_000_000,
    prompt_eval_count: input,
    prompt_eval_duration: 400_000_000,
    eval_count: visible + thinking,
    eval_duration: 4_300_000_000,
  };
}

const statuses: Readonly<Record<FailureKind, number>> = {
  rate_limited: 429,
  unavailable: 500,
  unknown_model: 404,
  auth: 401,
  bad_request: 400,
};

// ── lists ───────────────────────────────────────────────────────────────────────────────────────

const modifiedAt = '2026-11-02T09:00:00Z';

/** `GET /ollama/api/tags`. */
export function ollamaTags() {
  return {
    models: installed.map((model) => ({
      name: model.id,
      model: model.id,
      modified_at: modifiedAt,
      size: 5_225_388_164,
      digest: '500a1f067a9f782620b40bee6f7b0c89e17ae61f686b92c24933e4ca4b2b8b41',
      details: detailsOf(model),
      ...remoteOf(model),
    })),
  } satisfies { models: (Omit<ListResponse['models'][number], Untyped> & RemoteModel)[] };
}

/** A time, which comes as text, and what only models in memory have. */
type Untyped = 'modified_at' | 'expires_at' | 'size_vram';
type RemoteModel = { modified_at: string; remote_host?: string; remote_model?: string };

/** `POST /ollama/api/show`; null for a model that is not installed. */
export function ollamaShow(body: unknown) {
  const { model: asked } = v.parse(v.object({ model: v.string() }), body);
  const model = installed.find(({ id }) => id === asked);
  if (model === undefined) return null;
  const isEmbedding = model.id.startsWith('nomic-embed');
  return {
    license: 'Apache License 2.0',
    modelfile: `FROM ${model.id}`,
    parameters: '',
    template: '{{ .Prompt }}',
    details: detailsOf(model),
    model_info: {
      'general.architecture': model.family,
      [`${model.family}.context_length`]: model.context,
    },
    capabilities: isEmbedding
      ? ['embedding']
      : ['completion', 'tools', ...(model.thinks ? ['thinking'] : [])],
    ...(model.thinks ? { thinking: thinkingOf(model) } : {}),
    modified_at: modifiedAt,
    ...remoteOf(model),
  } satisfies Omit<ShowResponse, 'model_info' | 'modified_at' | 'system' | 'messages'> &
    RemoteModel & { model_info: unknown; thinking?: unknown };
}

function detailsOf({ family, size }: Installed): ShowResponse['details'] {
  return {
    parent_model: '',
    format: 'gguf',
    family,
    families: [family],
    parameter_size: size,
    quantization_level: 'Q4_K_M',
  };
}

function thinkingOf({ family }: Installed) {
  return family === 'gptoss'
    ? { values: ['low', 'medium', 'high'], default: 'medium' }
    : { values: [true, false], default: true };
}

function remoteOf({ id }: Installed) {
  return id.endsWith(':cloud')
    ? { remote_model: id.replace(':cloud', ''), remote_host: 'https://ollama.com:443' }
    : {};
}
