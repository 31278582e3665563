import type {
  Message,
  MessageDeltaUsage,
  RawMessageStreamEvent,
  StopReason,
  Usage,
} from '@anthropic-ai/sdk/resources/messages';
import * as v from 'valibot';
import { bearerKey, frame, systemAndPrompt, textContent } from './wire.ts';
import type {
  FailureKind,
  StreamedTurn,
  WireCall,
  WireFormat,
  WireIds,
  WireStream,
  WireUsage,
} from './wire.ts';

/** `POST /anthropic/v1/messages`: the start names the input, the last delta the whole output. */
export const anthropicMessages: WireFormat = {
  path: /^\/anthropic\/v1\/messages$/,
  // The SDK sends its key as a bearer token since 1.10, everything older in a header of its own.
  keyOf: (headers) => headers.get('x-api-key') ?? bearerKey(headers),
  read(body) {
    const request = v.parse(requestSchema, body);
    const { system, prompt } = systemAndPrompt(request.messages);
    const off = request.thinking?.type === 'disabled';
    return {
      provider: 'anthropic',
      model: request.model,
      system: [request.system ?? '', system].filter((text) => text !== '').join('\n\n'),
      prompt,
      schemaName: request.output_config?.format?.schema.title ?? null,
      maxOutputTokens: request.max_tokens,
      effort: off ? 'none' : (request.output_config?.effort ?? null),
      stream: request.stream ?? false,
      wantsUsage: true,
    };
  },
  begin: beginMessage,
  failure: ({ failure, message }) => {
    const { status, type } = failures[failure];
    return { status, body: { type: 'error', error: { type, message } } };
  },
};

const requestSchema = v.object({
  model: v.string(),
  system: v.nullish(textContent),
  messages: v.pipe(v.array(v.object({ role: v.string(), content: textContent })), v.minLength(1)),
  max_tokens: v.pipe(v.number(), v.minValue(1)),
  thinking: v.nullish(v.object({ type: v.string() })),
  output_config: v.nullish(
    v.object({
      effort: v.nullish(v.string()),
      format: v.nullish(
        v.object({
          type: v.literal('json_schema'),
          schema: v.looseObject({ title: v.nullish(v.string()) }),
        }),
      ),
    }),
  ),
  stream: v.nullish(v.boolean()),
});

function beginMessage(call: WireCall, turn: StreamedTurn, ids: WireIds): WireStream {
  const thinks = turn.usage.thinking > 0;
  const textIndex = thinks ? 1 : 0;
  let said = false;
  return {
    open: () => [
      send({ type: 'message_start', message: emptyMessage(call, turn.usage, ids) }),
      frame('ping', { type: 'ping' }),
      ...(thinks
        ? [
            send({
              type: 'content_block_start',
              index: 0,
              content_block: { type: 'thinking', thinking: '', signature: '' },
            }),
          ]
        : []),
    ],
    text: (delta) => {
      const opening: RawMessageStreamEvent[] = said
        ? []
        : [
            // What was thought is not shown by default: the block has a signature and no text.
            ...(thinks ? thinkingEnd(ids) : []),
            {
              type: 'content_block_start',
              index: textIndex,
              content_block: { type: 'text', text: '', citations: null },
            },
          ];
      said = true;
      return [
        ...opening,
        {
          type: 'content_block_delta' as const,
          index: textIndex,
          delta: { type: 'text_delta' as const, text: delta },
        },
      ].map(send);
    },
    close: (ended) => [
      ...(said ? [send({ type: 'content_block_stop', index: textIndex })] : []),
      send({
        type: 'message_delta',
        delta: {
          stop_reason: stopReason(ended),
          stop_sequence: null,
          container: null,
          stop_details:
            ended.kind === 'refusal'
              ? { type: 'refusal', category: 'general_harms', explanation: ended.text }
              : null,
        },
        usage: deltaUsage(ended.usage),
      }),
      send({ type: 'message_stop' }),
    ],
  };
}

function send(event: RawMessageStreamEvent): string {
  return frame(event.type, event);
}

function thinkingEnd(ids: WireIds): RawMessageStreamEvent[] {
  return [
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'signature_delta', signature: ids.id },
    },
    { type: 'content_block_stop', index: 0 },
  ];
}

function stopReason(turn: Extract<StreamedTurn, { kind: 'reply' | 'refusal' }>): StopReason {
  if (turn.kind === 'refusal') return 'refusal';
  return turn.finish === 'stop' ? 'end_turn' : 'max_tokens';
}

function emptyMessage(call: WireCall, usage: WireUsage, ids: WireIds): Message {
  return {
    id: `msg_${ids.id}`,
    type: 'message',
    role: 'assistant',
    model: call.model,
    content: [],
    container: null,
    diagnostics: null,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: startUsage(usage),
  } satisfies Message;
}

/** Input here excludes what came from the cache. */
function startUsage({ input, cached }: WireUsage): Usage {
  return {
    input_tokens: input - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    cache_creation: null,
    output_tokens: 1,
    output_tokens_details: null,
    inference_geo: null,
    server_tool_use: null,
    service_tier: 'standard',
    speed: 'standard',
  } satisfies Usage;
}

function deltaUsage({ input, cached, visible, thinking }: WireUsage): MessageDeltaUsage {
  return {
    input_tokens: input - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: visible + thinking,
    output_tokens_details: { thinking_tokens: thinking },
    server_tool_use: null,
  } satisfies MessageDeltaUsage;
}

const failures: Readonly<Record<FailureKind, { status: number; type: string }>> = {
  rate_limited: { status: 429, type: 'rate_limit_error' },
  unavailable: { status: 500, type: 'api_error' },
  unknown_model: { status: 404, type: 'not_found_error' },
  auth: { status: 401, type: 'authentication_error' },
  bad_request: { status: 400, type: 'invalid_request_error' },
};
