import * as v from 'valibot';
import { ModelFailure } from '#services/models/model.ts';
import type { FailureClass } from '#services/models/model.ts';

/**
 * The one way out to a provider. Every SDK is handed a `guardedFetch`, so that redirects, refused
 * requests and lost connections are handled here in one way for all SDKs. An SDK wraps an error of
 * its fetch; `failureOf` finds it in the chain of causes.
 */

/** The provider answered, but not with a reply: `status` outside 200–299. */
class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  readonly status: number;
  /** The vendor's own word for it, such as `insufficient_quota`; null when the body has none. */
  readonly code: string | null;
  readonly retryAfterMs: number | null;

  constructor(status: number, code: string | null, retryAfterMs: number | null) {
    // An SDK may mistake any message with "timeout" for its own deadline, so ours is empty.
    super(code === null ? `HTTP ${status}` : `HTTP ${status} ${code}`);
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The request never got an answer: no address, no connection, a reset. */
class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure';
}

/** Bytes read of a refusal's body; what is longer is not a word that we know. */
const errorBodyBytes = 64 * 1024;

/** Bytes read of a stream: some 600 for each of the most tokens that a strategy allows. */
const streamBytes = 32 * 1024 * 1024;

/** No stage of a run waits longer than this for one call. */
const longestRetryAfterMs = 3_600_000;

/**
 * A `fetch` that follows no redirect and throws HttpFailure unless the response is successful: a
 * redirect could carry our key to another address.
 *
 * @param signal ends the request. An SDK that hands over a `Request` loses its own signal when that
 *   request is collected as garbage, and the call would hang.
 * @param onBytes is called for the head of the answer and for every piece of it
 */
export function guardedFetch(
  through: typeof fetch,
  { signal, onBytes = () => {} }: { signal: AbortSignal; onBytes?: () => void },
): typeof fetch {
  return async (input, init) => {
    let response: Response;
    try {
      response = await through(input, { ...init, signal, redirect: 'manual' });
    } catch (error) {
      if (isAbort(error)) throw error;
      throw new ConnectionFailure('No connection', { cause: error });
    }
    onBytes();
    if (response.ok) {
      return new Response(response.body?.pipeThrough(atMost(streamBytes, onBytes)), response);
    }
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new HttpFailure(response.status, 'redirect', null);
    }
    const body = await refusalBody(response);
    const nowMs = Date.now();
    throw new HttpFailure(
      response.status,
      codeIn(body),
      retryAfterHeaderMs(response.headers, nowMs) ?? retryDelayMs(body),
    );
  };
}

/**
 * The failure class of an error. Any error without a status or a lost connection is an unreadable
 * reply, which a retry does not repair.
 *
 * @param provider names the provider in the message; the message never repeats what was sent.
 */
export function failureOf(provider: string, error: unknown): ModelFailure {
  const chain = causesOf(error);
  const known = chain.find((cause) => cause instanceof ModelFailure);
  if (known !== undefined) return known;
  const http = chain.find((cause) => cause instanceof HttpFailure);
  if (http !== undefined) {
    return new ModelFailure(
      classOfStatus(http.status, http.code),
      `${provider} answered ${http.message}`,
      { retryAfterMs: http.retryAfterMs, cause: error },
    );
  }
  const named = chain.map(classOfStreamError).find((failure) => failure !== null);
  if (named !== undefined) {
    return new ModelFailure(named, `${provider} broke off its reply`, { cause: error });
  }
  if (chain.some(isLostConnection)) {
    return new ModelFailure('connection', `The connection to ${provider} was lost`, {
      cause: error,
    });
  }
  return new ModelFailure('malformed', `The reply of ${provider} could not be read`, {
    cause: error,
  });
}

/**
 * An error that arrived inside a stream: the SDKs put the vendor's word or status on the error.
 * OpenRouter's code is a number, with its word beside it.
 */
function classOfStreamError(error: unknown): FailureClass | null {
  if (!(error instanceof Error)) return null;
  const { code, type, status, error: body } = error as Error & Record<string, unknown>;
  const words = [code, type, errorTypeIn(body)].filter((word) => typeof word === 'string');
  const word = words.find((each) => classOfCode.has(each.toLowerCase()));
  if (word !== undefined) return classOfStatus(0, word);
  const number = [status, code].find((each) => typeof each === 'number' && each >= 400);
  return typeof number === 'number' ? classOfStatus(number, null) : null;
}

function errorTypeIn(body: unknown): unknown {
  const parsed = v.safeParse(streamError, body);
  return parsed.success ? parsed.output.metadata.error_type : null;
}

const streamError = v.object({ metadata: v.object({ error_type: v.string() }) });

/** The class of an HTTP status, refined by the vendor's own word where the status alone misleads. */
export function classOfStatus(status: number, code: string | null): FailureClass {
  const named = code === null ? undefined : classOfCode.get(code.toLowerCase());
  if (named !== undefined) return named;
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'billing';
  if (status === 404) return 'unknown_model';
  if (status === 408) return 'timeout';
  if (status === 409) return 'conflict';
  if (status === 429) return 'rate_limited';
  if (status >= 500) return 'unavailable';
  return 'bad_request';
}

/**
 * An empty account answers 429 at OpenAI and 400 at Anthropic, a wrong key 400 at Google: waiting
 * does not help, so the error code decides and not the status.
 */
const classOfCode: ReadonlyMap<string, FailureClass> = new Map(
  Object.entries({
    insufficient_quota: 'billing',
    billing_not_active: 'billing',
    billing_hard_limit_reached: 'billing',
    billing_error: 'billing',
    payment_required: 'billing',
    openrouter_credits: 'billing',
    openrouter_key_limit: 'billing',
    openrouter_guardrail_budget: 'billing',
    openrouter_workspace_budget: 'billing',
    credit_balance_too_low: 'billing',
    api_key_invalid: 'auth',
    invalid_api_key: 'auth',
    authentication_error: 'auth',
    authentication: 'auth',
    permission_error: 'auth',
    model_not_found: 'unknown_model',
    invalid_model: 'unknown_model',
    rate_limit_exceeded: 'rate_limited',
    rate_limit_error: 'rate_limited',
    // Credits that calls under way have set aside: they come back when those end.
    openrouter_in_flight_budget: 'rate_limited',
    overloaded_error: 'unavailable',
    server_error: 'unavailable',
    provider_overloaded: 'unavailable',
    provider_unavailable: 'unavailable',
    api_error: 'unavailable',
    timeout_error: 'timeout',
    content_policy_violation: 'refusal',
    content_filter: 'refusal',
    refusal: 'refusal',
    invalid_prompt: 'refusal',
    bio_policy: 'refusal',
    misalignment_policy_violation: 'refusal',
    // The model exists, but nobody who serves it may be asked.
    no_endpoints: 'bad_request',
    privacy_restricted: 'bad_request',
    constraint_filtered: 'bad_request',
    redirect: 'bad_request',
  } satisfies Record<string, FailureClass>),
);

/**
 * Milliseconds to wait: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date.
 * Null when there is no such header or it makes no sense.
 */
export function retryAfterHeaderMs(headers: Headers, nowMs: number): number | null {
  const milliseconds = headers.get('retry-after-ms')?.trim() ?? '';
  if (decimal.test(milliseconds)) return waitOf(Number(milliseconds));
  const text = headers.get('retry-after')?.trim() ?? '';
  if (decimal.test(text)) return waitOf(Number(text) * 1000);
  // A date begins with its day; Date.parse takes nearly any number for one.
  const at = /^[A-Z][a-z]/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : waitOf(at - nowMs);
}

const decimal = /^\d+(\.\d+)?$/;

function waitOf(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), longestRetryAfterMs);
}

/** Google names its delay in the body: `details: [{"retryDelay": "34s"}]`. */
function retryDelayMs(body: string): number | null {
  const match = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body);
  return match?.[1] === undefined ? null : waitOf(Number(match[1]) * 1000);
}

/**
 * The vendor's error code in a body. Read by pattern, because four vendors nest it four ways; the
 * most specific of several codes wins.
 */
function codeIn(body: string): string | null {
  const phrase = phrases.find(([pattern]) => pattern.test(body));
  if (phrase !== undefined) return phrase[1];
  const words = [...body.matchAll(codeMember)]
    .map((match) => match[1])
    .filter((word) => word !== undefined && word !== 'error');
  const telling = words.find((word) => word !== undefined && classOfCode.has(word.toLowerCase()));
  return telling ?? words[0] ?? null;
}

/** What a body says in words, or by a member of any value. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/credit balance is too low/i, 'credit_balance_too_low'],
  [/is not a valid model ID/i, 'model_not_found'],
  [/No endpoints (?:found|available)/i, 'no_endpoints'],
  // Of a router's moderation and guardrails.
  [/"(?:flagged_input|patterns)"\s*:/, 'content_policy_violation'],
];

const codeMember =
  /"(?:code|type|status|reason|error_type|limit_source)"\s*:\s*"([A-Za-z0-9_.-]{1,60})"/g;

/** The start of a refusal's body; the rest is never read. */
async function refusalBody(response: Response): Promise<string> {
  const body: AsyncIterable<Uint8Array> | null = response.body;
  const chunks: Uint8Array[] = [];
  let room = errorBodyBytes;
  try {
    for await (const chunk of body ?? []) {
      chunks.push(chunk.subarray(0, room));
      room -= chunk.length;
      if (room <= 0) break;
    }
  } catch (error) {
    if (isAbort(error)) throw error;
    // The status line arrived, and it alone decides the class; a body cut short adds nothing.
  }
  return Buffer.concat(chunks).toString();
}

/** Breaks a stream off that is longer, whatever the SDK would have kept of it. */
function atMost(bytes: number, onBytes: () => void): TransformStream<Uint8Array, Uint8Array> {
  let room = bytes;
  return new TransformStream({
    transform(chunk, controller) {
      onBytes();
      room -= chunk.length;
      if (room >= 0) controller.enqueue(chunk);
      else controller.error(new ModelFailure('malformed', 'The stream is longer than it may be'));
    },
  });
}

function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let cause = error; cause !== undefined && chain.length < 8;) {
    chain.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return chain;
}

const lostConnectionCodes = /^(?:UND_ERR_|ECONN|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|EHOST|ENET)/;

function isLostConnection(error: unknown): boolean {
  if (error instanceof ConnectionFailure) return true;
  if (!(error instanceof Error)) return false;
  return 'code' in error && typeof error.code === 'string' && lostConnectionCodes.test(error.code);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
}
