import { FinishReason } from '@google/genai';
import type { GenerateContentResponse, GenerateContentResponseUsageMetadata } from '@google/genai';
import * as v from 'valibot';
import { frame } from './wire.ts';
import type {
  FailureKind,
  StreamedTurn,
  WireCall,
  WireFormat,
  WireIds,
  WireStream,
  WireUsage,
} from './wire.ts';

/** `POST /google/v1beta/models/<model>:streamGenerateContent?alt=sse`; usage is in the last chunk. */
export const googleContent: WireFormat = {
  path: /^\/google\/v1beta\/models\/(?<model>[^/:]+):streamGenerateContent$/,
  keyOf: (headers, url) => headers.get('x-goog-api-key') ?? url.searchParams.get('key'),
  read(body, match) {
    const request = v.parse(requestSchema, body);
    const config = request.generationConfig;
    return {
      provider: 'google',
      model: decodeURIComponent(match.groups?.['model'] ?? ''),
      system: textOf(request.systemInstruction?.parts),
      prompt: request.contents.map((content) => textOf(content.parts)).join('\n\n'),
      schemaName: config?.responseJsonSchema?.title ?? null,
      maxOutputTokens: config?.maxOutputTokens ?? null,
      effort: config?.thinkingConfig?.thinkingLevel?.toLowerCase() ?? null,
      stream: true,
      wantsUsage: true,
    };
  },
  begin: beginContent,
  failure: ({ failure, message, retryAfterSeconds }) => {
    const { code, status, reason } = failures[failure];
    const details = [
      ...(reason === null ? [] : [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }]),
      ...(retryAfterSeconds === null
        ? []
        : [
            {
              '@type': 'type.googleapis.com/google.rpc.RetryInfo',
              retryDelay: `${retryAfterSeconds}s`,
            },
          ]),
    ];
    return { status: code, body: { error: { code, message, status, details } } };
  },
};

const parts = v.array(v.object({ text: v.optional(v.string(), '') }));

const requestSchema = v.object({
  contents: v.pipe(v.array(v.object({ parts })), v.minLength(1)),
  systemInstruction: v.nullish(v.object({ parts })),
  generationConfig: v.nullish(
    v.object({
      maxOutputTokens: v.nullish(v.number()),
      responseMimeType: v.nullish(v.string()),
      responseJsonSchema: v.nullish(v.looseObject({ title: v.nullish(v.string()) })),
      thinkingConfig: v.nullish(v.object({ thinkingLevel: v.nullish(v.string()) })),
    }),
  ),
});

function textOf(list: readonly { text: string }[] | undefined): string {
  return (list ?? []).map((part) => part.text).join('');
}

/** The response without the SDK's own getters. */
type Chunk = Pick<
  GenerateContentResponse,
  'candidates' | 'usageMetadata' | 'modelVersion' | 'responseId'
>;

function beginContent(call: WireCall, turn: StreamedTurn, ids: WireIds): WireStream {
  const chunk = (more: Chunk): string =>
    frame(null, { modelVersion: call.model, responseId: ids.id, ...more } satisfies Chunk);
  return {
    // Google sends nothing while the model thinks.
    open: () => [],
    text: (delta) => [
      chunk({
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text: delta }] } }],
        usageMetadata: { promptTokenCount: turn.usage.input },
      }),
    ],
    close: (ended) => [
      chunk({
        candidates: [
          {
            index: 0,
            finishReason: finishReason(ended),
            ...(ended.kind === 'refusal' ? {} : { content: { role: 'model', parts: [] } }),
          },
        ],
        usageMetadata: usageOf(ended.usage),
      }),
    ],
  };
}

function finishReason(turn: Extract<StreamedTurn, { kind: 'reply' | 'refusal' }>): FinishReason {
  if (turn.kind === 'refusal') return FinishReason.SAFETY;
  return turn.finish === 'stop' ? FinishReason.STOP : FinishReason.MAX_TOKENS;
}

/** Thoughts are counted apart from the candidates. */
function usageOf({
  input,
  cached,
  visible,
  thinking,
}: WireUsage): GenerateContentResponseUsageMetadata {
  return {
    promptTokenCount: input,
    cachedContentTokenCount: cached,
    candidatesTokenCount: visible,
    thoughtsTokenCount: thinking,
    totalTokenCount: input + visible + thinking,
  } satisfies GenerateContentResponseUsageMetadata;
}

const failures: Readonly<
  Record<FailureKind, { code: number; status: string; reason: string | null }>
> = {
  rate_limited: { code: 429, status: 'RESOURCE_EXHAUSTED', reason: null },
  unavailable: { code: 500, status: 'INTERNAL', reason: null },
  unknown_model: { code: 404, status: 'NOT_FOUND', reason: null },
  // A wrong key is a bad request here, and only the reason says so.
  auth: { code: 400, status: 'INVALID_ARGUMENT', reason: 'API_KEY_INVALID' },
  bad_request: { code: 400, status: 'INVALID_ARGUMENT', reason: null },
};
