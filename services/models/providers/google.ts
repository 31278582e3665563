import type {
  FinishReason,
  GenerateContentConfig,
  GenerateContentParameters,
  GenerateContentResponseUsageMetadata,
  GoogleGenAI,
} from '@google/genai';
import * as v from 'valibot';
import {
  refusal,
  sdkProvider,
  tokenCount,
  usageFromTotals,
} from '#services/models/transport/guarded-call.ts';
import type { OpenCall } from '#services/models/transport/guarded-call.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type {
  Effort,
  ModelPart,
  ModelReply,
  ModelRequest,
  UsageRecord,
} from '#services/models/model.ts';
import type { ProviderDefinition } from '#services/models/provider.ts';

const ownUrl = 'https://generativelanguage.googleapis.com';

/** Names begin with `models/`. */
const namedModels = v.pipe(
  v.object({ models: v.array(v.object({ name: v.string() })) }),
  v.transform(({ models }) => models.map(({ name }) => name.replace(/^models\//, ''))),
);

const sdk = async () => import('@google/genai');

/** Google by the Gemini API. */
export const google: ProviderDefinition = {
  name: 'google',
  displayName: 'Google',
  recognised: { makers: ['google(?: deepmind)?', 'deepmind'], models: ['gemini', 'bard'] },
  keyVariable: 'GOOGLE_API_KEY',
  ownUrl,
  listCalls: ({ apiKey, baseUrl }) => [
    {
      url: `${baseUrl}/v1beta/models?pageSize=1000`,
      headers: { 'x-goog-api-key': apiKey },
      idsIn: namedModels,
    },
  ],
  sandboxPath: '/google',
  loadSdk: sdk,
  connect: ({ apiKey, baseUrl }) =>
    sdkProvider('google', sdk, ({ GoogleGenAI: Client }, call) =>
      partsOf(
        new Client({
          apiKey,
          vertexai: false,
          apiVersion: 'v1beta',
          httpOptions: {
            baseUrl: baseUrl ?? ownUrl,
            fetch: call.fetch,
          },
        }),
        call,
      ),
    ),
};

async function* partsOf(
  client: GoogleGenAI,
  { request, signal }: OpenCall,
): AsyncIterable<ModelPart> {
  const chunks = await client.models.generateContentStream(contentParams(request, signal));
  let text = '';
  let usage = unknownUsage;
  let answeredBy = request.model;
  let reason: FinishReason | null = null;
  for await (const chunk of chunks) {
    if (chunk.usageMetadata !== undefined) usage = usageOfContent(chunk.usageMetadata);
    if (chunk.modelVersion) answeredBy = chunk.modelVersion;
    if (chunk.promptFeedback?.blockReason !== undefined) throw refusal('google', { usage });
    const candidate = chunk.candidates?.[0];
    reason = candidate?.finishReason ?? reason;
    for (const part of candidate?.content?.parts ?? []) {
      if (part.thought === true || part.text === undefined) continue;
      text += part.text;
      yield { type: 'text', text: part.text };
    }
  }
  if (reason === null) return;
  const finish = finishOf(reason);
  if (finish === 'refusal') throw refusal('google', { usage });
  if (finish === 'malformed') {
    throw new ModelFailure('malformed', `google ended its reply with ${reason}`, { usage });
  }
  yield { type: 'reply', reply: { text, usage, billedCost: null, finish, answeredBy } };
}

export function contentParams(
  request: ModelRequest,
  signal: AbortSignal,
): GenerateContentParameters {
  return {
    model: request.model,
    contents: [{ role: 'user', parts: [{ text: request.prompt }] }],
    config: {
      abortSignal: signal,
      systemInstruction: request.system,
      maxOutputTokens: request.maxOutputTokens,
      ...(request.effort === null ? {} : thinkingOf(request.effort)),
      ...(request.schema === null
        ? {}
        : {
            responseMimeType: 'application/json',
            responseJsonSchema: { ...request.schema.json, title: request.schema.name },
          }),
    },
  } satisfies GenerateContentParameters;
}

/**
 * By the API's own words, as an extra member of the body: the SDK's list of levels does not name XHIGH
 * yet, and would load all of it. There is no level for none and max, which become the nearest one.
 */
function thinkingOf(effort: Effort): GenerateContentConfig {
  const generationConfig = { thinkingConfig: { thinkingLevel: thinkingLevels[effort] } };
  return { httpOptions: { extraBody: { generationConfig } } };
}

const thinkingLevels: Readonly<Record<Effort, string>> = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'XHIGH',
  max: 'XHIGH',
};

/** A stop for safety, recitation or policy is a refusal; any other one may not happen again. */
export function finishOf(
  reason: `${FinishReason}`,
): ModelReply['finish'] | 'refusal' | 'malformed' {
  if (reason === 'STOP') return 'stop';
  if (reason === 'MAX_TOKENS') return 'length';
  return refusals.includes(reason) ? 'refusal' : 'malformed';
}

const refusals: readonly `${FinishReason}`[] = [
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
];

/** The prompt's count includes the cached part, the candidates' count excludes thoughts. */
export function usageOfContent(
  usage: Pick<
    GenerateContentResponseUsageMetadata,
    'promptTokenCount' | 'cachedContentTokenCount' | 'candidatesTokenCount' | 'thoughtsTokenCount'
  >,
): UsageRecord {
  const thoughts = tokenCount(usage.thoughtsTokenCount);
  const visible = tokenCount(usage.candidatesTokenCount);
  return usageFromTotals({
    input: usage.promptTokenCount ?? null,
    cached: usage.cachedContentTokenCount ?? null,
    cacheWrite: null,
    // A reply that spent its whole allowance on thoughts has no count of candidates.
    output: visible === null && thoughts === null ? null : (visible ?? 0) + (thoughts ?? 0),
    thinking: thoughts,
  });
}
