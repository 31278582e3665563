import type { ChatStreamChunk } from '@openrouter/sdk/models';
import * as v from 'valibot';
import { readChat } from './openai-chat.ts';
import { bearerKey, frame } from './wire.ts';
import type {
  FailureKind,
  StreamedTurn,
  WireCall,
  WireFailure,
  WireFormat,
  WireIds,
  WireStream,
  WireUsage,
} from './wire.ts';

/**
 * `POST /openrouter/api/v1/chat/completions`: OpenAI's shape with comments while it waits, usage and
 * cost unasked in the last chunk, and errors of its own.
 */
export const openrouterChat: WireFormat = {
  path: /^\/openrouter\/api\/v1\/chat\/completions$/,
  keyOf: bearerKey,
  read(body) {
    const { reasoning } = v.parse(ownMembers, body);
    return { ...readChat('openrouter', body), effort: reasoning?.effort ?? null, wantsUsage: true };
  },
  begin: beginChat,
  failure: openrouterFailure,
};

const ownMembers = v.object({
  provider: v.optional(
    v.object({
      require_parameters: v.optional(v.boolean()),
      data_collection: v.optional(v.picklist(['allow', 'deny'])),
    }),
  ),
  reasoning: v.optional(v.object({ effort: v.optional(v.string()) })),
});

/** The package names members as its own code does; the wire has underscores. */
export type Wire<Value> = Value extends readonly (infer Item)[]
  ? Wire<Item>[]
  : Value extends Date
    ? string
    : Value extends object
      ? { [Key in keyof Value as Key extends string ? Snake<Key> : Key]: Wire<Value[Key]> }
      : Value;
type Snake<Key extends string> = Key extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : '';

type Chunk = Wire<ChatStreamChunk>;
type Choice = Chunk['choices'][number];

/** A comment, which keeps the connection open. */
const processing = ': OPENROUTER PROCESSING\n\n';

function beginChat(call: WireCall, turn: StreamedTurn, ids: WireIds): WireStream {
  const chunk = (more: Pick<Chunk, 'choices' | 'usage'>): string =>
    frame(null, {
      id: `gen-${ids.id}`,
      object: 'chat.completion.chunk',
      created: ids.createdAtSeconds,
      model: call.model,
      ...more,
    } satisfies Chunk);
  const thinks = turn.usage.thinking > 0;
  return {
    open: () => [
      processing,
      processing,
      chunk({ choices: choice({ role: 'assistant', content: '' }) }),
      ...(thinks
        ? [chunk({ choices: choice({ content: '', reasoning: 'Weighing the options.' }) })]
        : []),
    ],
    text: (delta) => [chunk({ choices: choice({ content: delta }) })],
    close: (ended) => [
      ...(ended.kind === 'refusal'
        ? [chunk({ choices: choice({ content: '', refusal: ended.text }) })]
        : []),
      chunk({
        choices: choice(
          { content: '' },
          ended.kind === 'refusal' ? 'content_filter' : ended.finish,
        ),
      }),
      chunk({ choices: [], usage: usageOf(ended.usage) }),
      frame(null, '[DONE]'),
    ],
  };
}

function choice(
  delta: Choice['delta'],
  finish: 'stop' | 'length' | 'content_filter' | null = null,
): Choice[] {
  return [{ index: 0, delta, finish_reason: finish, logprobs: null }];
}

function usageOf({ input, cached, visible, thinking }: WireUsage): NonNullable<Chunk['usage']> {
  const cost = billedDollars(input, visible + thinking);
  return {
    prompt_tokens: input,
    completion_tokens: visible + thinking,
    total_tokens: input + visible + thinking,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: thinking },
    cost,
    is_byok: false,
    cost_details: {
      upstream_inference_cost: null,
      upstream_inference_prompt_cost: cost,
      upstream_inference_completions_cost: 0,
    },
  };
}

/** One and four dollars per million tokens, whatever the model: a price that no catalogue has. */
function billedDollars(input: number, output: number): number {
  return (input + 4 * output) / 1_000_000;
}

const failures: Readonly<Record<FailureKind, { code: number; type: string }>> = {
  rate_limited: { code: 429, type: 'rate_limit_exceeded' },
  unavailable: { code: 502, type: 'provider_unavailable' },
  // An id that no maker has is a bad request here.
  unknown_model: { code: 400, type: 'invalid_request' },
  auth: { code: 401, type: 'authentication' },
  bad_request: { code: 400, type: 'invalid_request' },
};

export function openrouterFailure({ failure, message }: WireFailure): {
  status: number;
  body: unknown;
} {
  const { code, type } = failures[failure];
  const error = {
    code,
    message: failure === 'unknown_model' ? `${message} It is not a valid model ID.` : message,
    metadata: { error_type: type },
    ...(failure === 'unknown_model'
      ? { availability: { code: 'model_not_found', retryable: false } }
      : {}),
  };
  return { status: code, body: { error } };
}
