import pLimit from 'p-limit';
import * as v from 'valibot';
import type { Effort } from '#services/models/model.ts';
import { failureOf, guardedFetch } from '#services/models/transport/guarded-fetch.ts';
import type { Log } from '#services/platform/process/log.ts';
import { isPlainId } from './listing.ts';

/** A model that a local Ollama can answer with. */
export type OllamaModel = {
  /** As Ollama knows it, such as `qwen3:8b`. */
  remoteId: string;
  /** The maker as far as the name shows it, else Ollama's own word for the architecture. */
  family: string;
  efforts: readonly Effort[];
  /** What the model can take; what the machine can hold may be less. */
  contextTokens: number;
};

/**
 * The first 100 models that are installed and run on this machine, of those that answer in text: what
 * Ollama only passes on to another host is left out, and so is a model that it fails to describe.
 *
 * @param baseUrl without a trailing slash
 * @throws ModelFailure when Ollama does not list its models within five seconds, or describes none
 */
export async function ollamaModels(
  baseUrl: string,
  log?: Pick<Log, 'warn'>,
): Promise<readonly OllamaModel[]> {
  try {
    return await listedBy(baseUrl, log);
  } catch (error) {
    throw failureOf('ollama', error);
  }
}

async function listedBy(baseUrl: string, log?: Pick<Log, 'warn'>): Promise<readonly OllamaModel[]> {
  const headers = { 'content-type': 'application/json' };
  const get = guardedFetch(fetch, { signal: AbortSignal.timeout(listMs) });
  const ask = async <Schema extends v.GenericSchema>(
    path: string,
    schema: Schema,
    body?: unknown,
  ): Promise<v.InferOutput<Schema>> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await get(`${baseUrl}${path}`, { ...init, headers });
    return v.parse(schema, await response.json());
  };
  const { models } = await ask('/api/tags', tagsReply);
  const local = models
    .filter(({ model, remote_host: host }) => host === undefined && isPlainId(model))
    .slice(0, mostModels);
  const limit = pLimit(requestsAtOnce);
  const shown = await Promise.allSettled(
    local.map(async ({ model }) =>
      limit(async () => ({
        remoteId: model,
        show: await ask('/api/show', showReply, { model }),
      })),
    ),
  );
  const failed = shown.filter((each) => each.status === 'rejected');
  if (failed.length > 0) {
    const first = failureOf('ollama', failed[0]?.reason);
    if (failed.length === shown.length) throw first;
    log?.warn(
      { failure: first.failure },
      'Ollama does not describe some of its models, so they are not offered',
    );
  }
  const described = shown.filter((each) => each.status === 'fulfilled');
  return described.flatMap(({ value: { remoteId, show } }) => {
    if (!show.capabilities.includes('completion') || show.remote_host !== undefined) return [];
    return [
      {
        remoteId,
        family: familyOf(remoteId, show.details.family),
        efforts: effortsOf(show),
        contextTokens: contextOf(show) ?? usualContext,
      },
    ];
  });
}

const listMs = 5000;
const mostModels = 100;
const requestsAtOnce = 8;

/** Ollama's own default where a model does not say. */
const usualContext = 4096;

const tagsReply = v.object({
  models: v.array(v.object({ model: v.string(), remote_host: v.optional(v.string()) })),
});

const showReply = v.object({
  details: v.object({ family: v.optional(v.string(), '') }),
  model_info: v.optional(v.record(v.string(), v.unknown()), {}),
  capabilities: v.optional(v.array(v.string()), []),
  thinking: v.optional(v.object({ values: v.array(v.union([v.boolean(), v.string()])) })),
  remote_host: v.optional(v.string()),
});

type Shown = v.InferOutput<typeof showReply>;

/** A switch counts as medium, as a call means it; older versions do not say which models have levels. */
function effortsOf({ details, capabilities, thinking }: Shown): readonly Effort[] {
  if (!capabilities.includes('thinking')) return [];
  const usual = details.family === 'gptoss' ? levels : [false, true];
  const values: readonly unknown[] = thinking?.values ?? usual;
  const named = levels.filter((level) => values.includes(level));
  return [
    ...(values.includes(false) ? (['none'] as const) : []),
    ...(named.length > 0 ? named : values.includes(true) ? (['medium'] as const) : []),
  ];
}

const levels = ['low', 'medium', 'high'] as const;

function contextOf({ model_info: info }: Shown): number | null {
  const architecture = info['general.architecture'];
  const length = info[`${String(architecture)}.context_length`];
  return typeof length === 'number' && Number.isSafeInteger(length) && length > 0 ? length : null;
}

function familyOf(remoteId: string, architecture: string): string {
  const name = remoteId.split('/').at(-1)?.toLowerCase() ?? '';
  const known = Object.entries(makers).find(([begin]) => name.startsWith(begin));
  return known?.[1] ?? (isPlainId(architecture) ? architecture : 'ollama');
}

/** By the begin of the model's name in Ollama's library. */
const makers: Readonly<Record<string, string>> = {
  'gpt-oss': 'openai',
  gemma: 'google',
  llama: 'meta',
  qwen: 'qwen',
  qwq: 'qwen',
  deepseek: 'deepseek',
  mistral: 'mistral',
  ministral: 'mistral',
  magistral: 'mistral',
  mixtral: 'mistral',
  phi: 'microsoft',
  granite: 'ibm',
  command: 'cohere',
  kimi: 'moonshotai',
  glm: 'z-ai',
  nemotron: 'nvidia',
  olmo: 'allenai',
};
