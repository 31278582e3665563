import type {
  TextChunk$Outbound,
  ThinkChunk$Outbound,
  UsageInfo$Outbound,
} from '@mistralai/mistralai/models/components';
import { readChat } from './openai-chat.ts';
import { bearerKey, frame } from './wire.ts';
import type {
  FailureKind,
  StreamedTurn,
  WireCall,
  WireFormat,
  WireIds,
  WireStream,
  WireUsage,
} from './wire.ts';

/**
 * `POST /mistral/v1/chat/completions`: OpenAI's shape with differences. Usage comes unasked with the
 * last choice, and a thinking model answers in chunks of two types.
 */
export const mistralChat: WireFormat = {
  path: /^\/mistral\/v1\/chat\/completions$/,
  keyOf: bearerKey,
  read: (body) => readChat('mistral', body),
  begin: beginChat,
  failure: ({ failure, message }) => {
    const { status, type, code } = failures[failure];
    return { status, body: { object: 'error', message, type, param: null, code } };
  },
};

type Content = string | (TextChunk$Outbound | ThinkChunk$Outbound)[];

/** The SDK publishes its reply types as it reads them; this is the same chunk as it is sent. */
type Chunk = {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: {
    index: number;
    delta: { role?: 'assistant'; content?: Content };
    finish_reason: 'stop' | 'length' | 'error' | 'content_filter' | null;
  }[];
  usage?: UsageInfo$Outbound;
};

function beginChat(call: WireCall, turn: StreamedTurn, ids: WireIds): WireStream {
  const send = (
    delta: Chunk['choices'][number]['delta'],
    finish: Chunk['choices'][number]['finish_reason'] = null,
    usage?: UsageInfo$Outbound,
  ): string =>
    frame(null, {
      id: ids.id,
      object: 'chat.completion.chunk',
      created: ids.createdAtSeconds,
      model: call.model,
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...(usage === undefined ? {} : { usage }),
    } satisfies Chunk);
  const thinks = turn.usage.thinking > 0;
  const text = (delta: string): Content => (thinks ? [{ type: 'text', text: delta }] : delta);
  return {
    open: () => [
      send({ role: 'assistant', content: '' }),
      ...(thinks
        ? [
            send({
              content: [
                { type: 'thinking', thinking: [{ type: 'text', text: 'Weighing the options.' }] },
              ],
            }),
          ]
        : []),
    ],
    text: (delta) => [send({ content: text(delta) })],
    close: (ended) => [
      send(
        { content: '' },
        ended.kind === 'refusal' ? 'content_filter' : ended.finish,
        usageOf(ended.usage),
      ),
      frame(null, '[DONE]'),
    ],
  };
}

function usageOf({ input, cached, visible, thinking }: WireUsage): UsageInfo$Outbound {
  return {
    prompt_tokens: input,
    completion_tokens: visible + thinking,
    total_tokens: input + visible + thinking,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thinking },
  } satisfies UsageInfo$Outbound;
}

const failures: Readonly<Record<FailureKind, { status: number; type: string; code: string }>> = {
  rate_limited: { status: 429, type: 'rate_limited', code: '1300' },
  unavailable: { status: 500, type: 'internal_server_error', code: '3000' },
  // An unknown model is a bad request here.
  unknown_model: { status: 400, type: 'invalid_model', code: '1500' },
  auth: { status: 401, type: 'unauthorized', code: '1100' },
  bad_request: { status: 422, type: 'invalid_request_error', code: '1200' },
};
