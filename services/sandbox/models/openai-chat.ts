import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import * as v from 'valibot';
import { bearerKey, frame, systemAndPrompt, textContent } from './wire.ts';
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

/** `POST /<provider>/v1/chat/completions`: of OpenAI, and of every provider that imitates it. */
export const openaiChat: WireFormat = {
  path: /^\/(?<provider>[a-z][a-z0-9-]*)\/v1\/chat\/completions$/,
  keyOf: bearerKey,
  read: (body, match) => readChat(match.groups?.['provider'] ?? '', body),
  begin: beginChat,
  failure: openaiFailure,
};

const chatSchema = v.object({
  model: v.string(),
  messages: v.pipe(v.array(v.object({ role: v.string(), content: textContent })), v.minLength(1)),
  max_tokens: v.nullish(v.number()),
  max_completion_tokens: v.nullish(v.number()),
  reasoning_effort: v.nullish(v.string()),
  response_format: v.nullish(
    v.object({ json_schema: v.nullish(v.object({ name: v.nullish(v.string()) })) }),
  ),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.object({ include_usage: v.nullish(v.boolean()) })),
});

/** Mistral's requests have the same shape. @throws ValiError */
export function readChat(provider: string, body: unknown): WireCall {
  const request = v.parse(chatSchema, body);
  return {
    provider,
    model: request.model,
    ...systemAndPrompt(request.messages),
    schemaName: request.response_format?.json_schema?.name ?? null,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    effort: request.reasoning_effort ?? null,
    stream: request.stream ?? false,
    wantsUsage: request.stream_options?.include_usage ?? false,
  };
}

type Choice = ChatCompletionChunk.Choice;

function beginChat(call: WireCall, _turn: StreamedTurn, ids: WireIds): WireStream {
  const chunk = (choices: Choice[], usage?: CompletionUsage): string =>
    frame(null, {
      id: `chatcmpl-${ids.id}`,
      object: 'chat.completion.chunk',
      created: ids.createdAtSeconds,
      model: call.model,
      choices,
      ...(call.wantsUsage ? { usage: usage ?? null } : {}),
    } satisfies ChatCompletionChunk);
  return {
    open: () => [chunk(choice({ role: 'assistant', content: '' }))],
    text: (delta) => [chunk(choice({ content: delta }))],
    close: (turn) => [
      ...(turn.kind === 'refusal' ? [chunk(choice({ refusal: turn.text }))] : []),
      chunk(choice({}, turn.kind === 'refusal' ? 'stop' : turn.finish)),
      // The last chunk has no choices: a client that reads `choices[0]` unchecked fails here.
      ...(call.wantsUsage ? [chunk([], usageOf(turn.usage))] : []),
      frame(null, '[DONE]'),
    ],
  };
}

function choice(delta: Choice['delta'], finish: Choice['finish_reason'] = null): Choice[] {
  return [{ index: 0, delta, finish_reason: finish, logprobs: null }];
}

function usageOf({ input, cached, visible, thinking }: WireUsage): CompletionUsage {
  return {
    prompt_tokens: input,
    completion_tokens: visible + thinking,
    total_tokens: input + visible + thinking,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thinking },
  } satisfies CompletionUsage;
}

const failures: Readonly<Record<FailureKind, { status: number; type: string; code: string }>> = {
  rate_limited: { status: 429, type: 'requests', code: 'rate_limit_exceeded' },
  unavailable: { status: 500, type: 'server_error', code: 'server_error' },
  unknown_model: { status: 404, type: 'invalid_request_error', code: 'model_not_found' },
  auth: { status: 401, type: 'invalid_request_error', code: 'invalid_api_key' },
  bad_request: { status: 400, type: 'invalid_request_error', code: 'invalid_value' },
};

export function openaiFailure(failure: WireFailure): { status: number; body: unknown } {
  const { status, type, code } = failures[failure.failure];
  return { status, body: { error: { message: failure.message, type, param: null, code } } };
}
