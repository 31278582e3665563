import { ModelFailure, unknownUsage } from './model.ts';
import type { ModelPart, ModelReply, ModelRequest, Provider, UsageRecord } from './model.ts';
import { failureOf } from './transport.ts';

/**
 * A provider behind an SDK, which is loaded for its first call: all of them together take seconds of
 * work, which is spared whoever calls no model. Loading is none of a call's time.
 *
 * @param connect loads the SDK and makes its client
 * @param partsOf translates the vendor's stream; it yields text parts and one reply
 */
export function sdkProvider<Client>(
  name: string,
  connect: () => Promise<Client>,
  partsOf: (client: Client, request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelPart>,
): Provider {
  let client: Promise<Client> | null = null;
  return {
    name,
    async *call(request) {
      const connected = await (client ??= connect());
      yield* guardedCall(name, request, (signal) => partsOf(connected, request, signal));
    },
  };
}

/**
 * What every adapter's call has in common: one signal for abort and deadline, every error turned
 * into a ModelFailure, and exactly one reply at the end. Whether its text is what a schema asked for is
 * for the caller to judge, who knows the schema.
 *
 * The signals are asked first, because each SDK dresses an abort differently and one of them ends
 * its stream as if nothing had happened.
 *
 * @param stream translates the vendor's stream; it yields text parts and one reply.
 */
export async function* guardedCall(
  provider: string,
  request: ModelRequest,
  stream: (signal: AbortSignal) => AsyncIterable<ModelPart>,
): AsyncIterable<ModelPart> {
  const deadline = AbortSignal.timeout(request.timeoutMs);
  const signal = AbortSignal.any([request.signal, deadline]);
  let reply: ModelReply | null = null;
  let room = replyCharacters(request);
  try {
    signal.throwIfAborted();
    for await (const part of stream(signal)) {
      signal.throwIfAborted();
      if (part.type === 'reply') {
        if (part.reply.text.length > replyCharacters(request)) throw tooLong(provider);
        reply = part.reply;
      } else if (part.text !== '') {
        room -= part.text.length;
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
    throw failureOf(provider, error);
  }
  if (reply === null) {
    throw new ModelFailure('connection', `The stream of ${provider} ended before its reply`);
  }
  if (reply.finish === 'stop' && reply.text.trim() === '') {
    throw new ModelFailure('malformed', `The reply of ${provider} has no text`, {
      usage: reply.usage,
    });
  }
  yield { type: 'reply', reply };
}

/**
 * The most characters of a reply: more than the allowed tokens can hold in any language. A server that
 * does not know when to stop must not fill our memory, and then the database.
 */
export function replyCharacters(request: Pick<ModelRequest, 'maxOutputTokens'>): number {
  return charactersPerToken * request.maxOutputTokens;
}

const charactersPerToken = 16;

function tooLong(provider: string): ModelFailure {
  return new ModelFailure('malformed', `The reply of ${provider} is longer than it may be`);
}

/**
 * The deadline that an SDK is told, which has one of its own and would else use ten minutes: later
 * than ours, so that ours is the one that ends a call.
 */
export function sdkTimeoutMs(request: ModelRequest): number {
  return request.timeoutMs + 5000;
}

/** A refusal, with the tokens it cost. */
export function refusal(provider: string, usage: UsageRecord = unknownUsage): ModelFailure {
  return new ModelFailure('refusal', `${provider} refused to answer`, { usage });
}

/** Token counts of one call as vendors name them; null where a vendor does not say. */
export type ReportedUsage = {
  /** All input, cached included. */
  input: number | null;
  cached: number | null;
  cacheWrite: number | null;
  /** All output, thinking included. */
  output: number | null;
  thinking: number | null;
};

/**
 * One record from inclusive counts: cached and written input are taken out of the input, thinking
 * out of the output, so that no token is counted twice. Unknown when input or output is.
 */
export function usageFromTotals(reported: ReportedUsage): UsageRecord {
  const { input, cached, cacheWrite, output, thinking } = reported;
  if (input === null || output === null) return unknownUsage;
  return {
    inputUncached: Math.max(0, input - (cached ?? 0) - (cacheWrite ?? 0)),
    inputCached: cached,
    cacheWrite,
    outputVisible: Math.max(0, output - (thinking ?? 0)),
    outputThinking: thinking,
    source: 'provider',
  };
}
