import { visibleText } from '#services/platform/visible-text.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type {
  ModelPart,
  ModelReply,
  ModelRequest,
  Provider,
  UsageRecord,
} from '#services/models/model.ts';
import { patienceWith, watchSilence } from './silence.ts';
import type { Patience } from './silence.ts';
import { failureOf, guardedFetch } from './guarded-fetch.ts';

/** A call as an adapter makes it: `fetch` is the way out, and `signal` ends it. */
export type OpenCall = { request: ModelRequest; signal: AbortSignal; fetch: typeof fetch };

/**
 * A provider behind an SDK, which is loaded for its first call: loading all of them takes seconds,
 * which a process that calls no model saves. Loading does not count towards a call's time.
 *
 * @param partsOf makes the SDK's client, which costs next to nothing, and translates its stream; it
 *   yields text parts and one reply
 */
export function sdkProvider<Sdk>(
  name: string,
  load: () => Promise<Sdk>,
  partsOf: (sdk: Sdk, call: OpenCall) => AsyncIterable<ModelPart>,
  local: {
    patience: (request: ModelRequest) => Patience;
    fetchOf: (sdk: Sdk) => typeof fetch;
  } | null = null,
): Provider {
  return {
    name,
    isFree: false,
    async *call(request) {
      const sdk = await load();
      const patience = (local?.patience ?? patienceWith)(request);
      const out = local?.fetchOf(sdk) ?? fetch;
      yield* guardedCall(name, request, (call) => partsOf(sdk, call), { patience, fetch: out });
    },
  };
}

/**
 * What every adapter's call has in common: one signal for abort, deadline and silence, every error
 * turned into a ModelFailure, and exactly one reply at the end. The caller, who knows the schema,
 * validates its text.
 *
 * The signals are checked first, because each SDK reports an abort differently and one ends its
 * stream without an error.
 *
 * @param stream translates the vendor's stream; it yields text parts and one reply.
 */
export async function* guardedCall(
  provider: string,
  request: ModelRequest,
  stream: (call: OpenCall) => AsyncIterable<ModelPart>,
  through: { patience: Patience; fetch: typeof fetch } = { patience: patienceWith(request), fetch },
): AsyncIterable<ModelPart> {
  const deadline = AbortSignal.timeout(request.timeoutMs);
  const silence = watchSilence(through.patience, request.timeoutMs / 2);
  const ended = new AbortController();
  const signal = AbortSignal.any([request.signal, deadline, silence.signal, ended.signal]);
  const guarded = guardedFetch(through.fetch, { signal, onBytes: () => silence.heard() });
  let reply: ModelReply | null = null;
  let room = replyCharacters(request);
  try {
    signal.throwIfAborted();
    for await (const part of stream({ request, signal, fetch: guarded })) {
      signal.throwIfAborted();
      if (part.type === 'reply') {
        if (textOf(part.reply.text).length > replyCharacters(request)) throw tooLong(provider);
        reply = { ...part.reply, answeredBy: nameOf(part.reply.answeredBy) ?? request.model };
      } else if (part.text !== '') {
        silence.answered();
        room -= textOf(part.text).length;
        if (room < 0) throw tooLong(provider);
        yield part;
      }
    }
    signal.throwIfAborted();
  } catch (error) {
    if (request.signal.aborted) {
      throw new ModelFailure('aborted', `The call to ${provider} was aborted`, { cause: error });
    }
    if (deadline.aborted) {
      throw new ModelFailure(
        'timeout',
        `${provider} did not finish within ${request.timeoutMs} ms`,
        { cause: error },
      );
    }
    if (silence.signal.aborted) {
      throw new ModelFailure('silent', `${provider} sent nothing for too long`, { cause: error });
    }
    throw failureOf(provider, error);
  } finally {
    silence.stop();
    // Some SDKs leave the connection open when a reply is given up halfway.
    ended.abort();
  }
  if (reply === null) {
    throw new ModelFailure('connection', `The stream of ${provider} ended before its reply`);
  }
  if (reply.finish === 'stop' && reply.text.trim() === '') {
    throw new ModelFailure('malformed', `The reply of ${provider} has no text`, reply);
  }
  yield { type: 'reply', reply };
}

/**
 * The most characters of a reply: more than the allowed tokens can hold in any language. An endless
 * reply must not fill our memory, and then the database.
 */
export function replyCharacters(request: Pick<ModelRequest, 'maxOutputTokens'>): number {
  return charactersPerToken * request.maxOutputTokens;
}

const charactersPerToken = 16;

/** The SDKs declare a string, but pass any value through. */
function textOf(text: unknown): string {
  if (typeof text === 'string') return text;
  throw new ModelFailure('malformed', 'The reply holds a text that is not a string');
}

/** The name is stored beside each call, and shown. */
function nameOf(name: unknown): string | null {
  if (typeof name !== 'string') return null;
  const visible = visibleText(name).replace(/\s+/g, ' ').trim();
  return visible === '' ? null : visible.slice(0, nameCharacters).toWellFormed();
}

const nameCharacters = 100;

function tooLong(provider: string): ModelFailure {
  return new ModelFailure('malformed', `The reply of ${provider} is longer than it may be`);
}

/**
 * The deadline given to an SDK, which defaults to ten minutes. It is later than ours, so that ours
 * ends the call.
 */
export function sdkTimeoutMs(request: ModelRequest): number {
  return request.timeoutMs + 5000;
}

/**
 * The instruction with the schema written out, for servers that only constrain the output with it:
 * there a model never sees what the fields mean.
 */
export function systemWithSchema(request: Pick<ModelRequest, 'system' | 'schema'>): string {
  if (request.schema === null) return request.system;
  return `${request.system}\n\nAnswer with one JSON object that satisfies this JSON Schema, and with nothing before or after it:\n${JSON.stringify(request.schema.json)}`;
}

/** A refusal, with what it cost. */
export function refusal(
  provider: string,
  cost: { usage: UsageRecord; billedCost?: number | null },
): ModelFailure {
  return new ModelFailure('refusal', `${provider} refused to answer`, cost);
}

/** Token counts of one call as vendors name them, unchecked; null where a vendor does not say. */
export type ReportedUsage = {
  /** All input, cached included. */
  input: unknown;
  cached: unknown;
  cacheWrite: unknown;
  /** All output, thinking included. */
  output: unknown;
  thinking: unknown;
};

/**
 * One record from inclusive counts: cached and written input are taken out of the input, thinking
 * out of the output, so that no token is counted twice. Unknown when input or output is; parts that
 * are larger than their whole are unknown, and the whole counts.
 */
export function usageFromTotals(reported: ReportedUsage): UsageRecord {
  const input = tokenCount(reported.input);
  const output = tokenCount(reported.output);
  if (input === null || output === null) return unknownUsage;
  const [cached, cacheWrite] = fitting(input, [reported.cached, reported.cacheWrite]);
  const [thinking] = fitting(output, [reported.thinking]);
  return {
    inputUncached: input - (cached ?? 0) - (cacheWrite ?? 0),
    inputCached: cached ?? null,
    cacheWrite: cacheWrite ?? null,
    outputVisible: output - (thinking ?? 0),
    outputThinking: thinking ?? null,
    source: 'provider',
  };
}

/** A plausible count; null for any other value. */
export function tokenCount(count: unknown): number | null {
  const isCount = typeof count === 'number' && Number.isInteger(count);
  return isCount && count >= 0 && count <= mostTokens ? count : null;
}

/** Far above any call, and small enough that its cost at any price is a safe integer. */
const mostTokens = 100_000_000;

function fitting(whole: number, reported: readonly unknown[]): readonly (number | null)[] {
  const counts = reported.map(tokenCount);
  const sum = counts.reduce((total: number, count) => total + (count ?? 0), 0);
  return sum <= whole ? counts : counts.map(() => null);
}
