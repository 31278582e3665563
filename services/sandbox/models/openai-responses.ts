import type {
  Response as OpenAIResponse,
  ResponseOutputItem,
  ResponseOutputRefusal,
  ResponseOutputText,
  ResponseStreamEvent,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import * as v from 'valibot';
import { bearerKey, frame, systemAndPrompt, textContent } from './wire.ts';
import type { StreamedTurn, WireCall, WireFormat, WireIds, WireStream, WireUsage } from './wire.ts';
import { openaiFailure } from './openai-chat.ts';

/** `POST /openai/v1/responses`: every event carries a number, and the last one the whole response. */
export const openaiResponses: WireFormat = {
  path: /^\/openai\/v1\/responses$/,
  keyOf: bearerKey,
  read(body) {
    const request = v.parse(requestSchema, body);
    const messages =
      typeof request.input === 'string'
        ? [{ role: 'user', content: request.input }]
        : request.input;
    const { system, prompt } = systemAndPrompt(messages);
    return {
      provider: 'openai',
      model: request.model,
      system: [request.instructions ?? '', system].filter((text) => text !== '').join('\n\n'),
      prompt,
      schemaName: request.text?.format?.name ?? null,
      maxOutputTokens: request.max_output_tokens ?? null,
      effort: request.reasoning?.effort ?? null,
      stream: request.stream ?? false,
      wantsUsage: true,
    };
  },
  begin: beginResponse,
  failure: openaiFailure,
};

const requestSchema = v.object({
  model: v.string(),
  instructions: v.nullish(v.string()),
  input: v.union([v.string(), v.array(v.object({ role: v.string(), content: textContent }))]),
  max_output_tokens: v.nullish(v.number()),
  reasoning: v.nullish(v.object({ effort: v.nullish(v.string()) })),
  text: v.nullish(v.object({ format: v.nullish(v.object({ name: v.nullish(v.string()) })) })),
  stream: v.nullish(v.boolean()),
});

function beginResponse(call: WireCall, turn: StreamedTurn, ids: WireIds): WireStream {
  const itemId = `msg_${ids.id}`;
  const reasoning: ResponseOutputItem[] =
    turn.usage.thinking > 0 ? [{ type: 'reasoning', id: `rs_${ids.id}`, summary: [] }] : [];
  const at = { item_id: itemId, output_index: reasoning.length, content_index: 0 };
  let sequence = 0;
  let said = '';

  const framed = (events: Unnumbered<ResponseStreamEvent>[]): string[] =>
    events.map((event) => frame(event.type, { ...event, sequence_number: sequence++ }));
  const response = (more: Partial<OpenAIResponse>): OpenAIResponse => ({
    ...emptyResponse(call, ids),
    ...more,
  });
  const message = (
    status: 'in_progress' | 'completed' | 'incomplete',
    content: MessagePart[],
  ): ResponseOutputItem => ({ type: 'message', id: itemId, role: 'assistant', status, content });
  const openMessage = (part: MessagePart): Unnumbered<ResponseStreamEvent>[] => [
    ...reasoning.map((item) => ({
      type: 'response.output_item.done' as const,
      output_index: 0,
      item,
    })),
    {
      type: 'response.output_item.added',
      output_index: at.output_index,
      item: message('in_progress', []),
    },
    { type: 'response.content_part.added', ...at, part },
  ];
  const closeMessage = (
    part: MessagePart,
    status: 'completed' | 'incomplete',
    usage: WireUsage,
  ): Unnumbered<ResponseStreamEvent>[] => {
    const item = message(status, [part]);
    return [
      { type: 'response.content_part.done', ...at, part },
      { type: 'response.output_item.done', output_index: at.output_index, item },
      {
        type: `response.${status}`,
        response: response({
          status,
          output: [...reasoning, item],
          output_text: said,
          incomplete_details: status === 'completed' ? null : { reason: 'max_output_tokens' },
          usage: usageOf(usage),
        }),
      },
    ];
  };

  return {
    open: () =>
      framed([
        { type: 'response.created', response: response({}) },
        { type: 'response.in_progress', response: response({}) },
        ...reasoning.map((item) => ({
          type: 'response.output_item.added' as const,
          output_index: 0,
          item,
        })),
      ]),
    text: (delta) => {
      const opening = said === '' ? openMessage(textPart('')) : [];
      said += delta;
      return framed([
        ...opening,
        { type: 'response.output_text.delta', ...at, delta, logprobs: [] },
      ]);
    },
    close: (ended) => {
      if (ended.kind === 'refusal') {
        const part: MessagePart = { type: 'refusal', refusal: ended.text };
        return framed([
          ...openMessage({ type: 'refusal', refusal: '' }),
          { type: 'response.refusal.delta', ...at, delta: ended.text },
          { type: 'response.refusal.done', ...at, refusal: ended.text },
          ...closeMessage(part, 'completed', ended.usage),
        ]);
      }
      return framed([
        ...(said === '' ? openMessage(textPart('')) : []),
        { type: 'response.output_text.done', ...at, text: said, logprobs: [] },
        ...closeMessage(
          textPart(said),
          ended.finish === 'stop' ? 'completed' : 'incomplete',
          ended.usage,
        ),
      ]);
    },
  };
}

/** The number is given as an event is written. */
type Unnumbered<Event> = Event extends unknown ? Omit<Event, 'sequence_number'> : never;

type MessagePart = ResponseOutputText | ResponseOutputRefusal;

function textPart(text: string): MessagePart {
  return { type: 'output_text', text, annotations: [] };
}

function emptyResponse(call: WireCall, ids: WireIds): OpenAIResponse {
  return {
    id: `resp_${ids.id}`,
    object: 'response',
    created_at: ids.createdAtSeconds,
    status: 'in_progress',
    model: call.model,
    output: [],
    output_text: '',
    access_programs: null,
    error: null,
    incomplete_details: null,
    instructions: call.system,
    max_output_tokens: call.maxOutputTokens,
    metadata: {},
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
  } satisfies OpenAIResponse;
}

function usageOf({ input, cached, visible, thinking }: WireUsage): ResponseUsage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: visible + thinking,
    output_tokens_details: { reasoning_tokens: thinking },
    total_tokens: input + visible + thinking,
  } satisfies ResponseUsage;
}
