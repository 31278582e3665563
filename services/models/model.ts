/**
 * The port to a language model: one request, a stream of parts, and one reply or one ModelFailure.
 * Adapters in `providers/` translate a vendor's formats into these types; no vendor type leaves them.
 */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof efforts)[number];

/** An enforced JSON Schema, JSON of any shape, or text that the prompt alone asks to be JSON. */
export const structuredOutputs = ['schema', 'json', 'prompt'] as const;
export type StructuredOutput = (typeof structuredOutputs)[number];

export type JsonSchema = Readonly<Record<string, unknown>>;

export type ModelRequest = {
  /** The provider's own id of the model, never an alias. */
  model: string;
  system: string;
  prompt: string;
  /**
   * Structured output: the request names this shape, in the subset of JSON Schema that every
   * provider accepts. The caller still parses the text, since a model may fail at it.
   */
  schema: { name: string; json: JsonSchema } | null;
  /** What the model can do; of no effect without a schema. */
  structuredOutput: StructuredOutput;
  /** Null leaves the provider's default. */
  effort: Effort | null;
  maxOutputTokens: number;
  /** Tokens of context that a local server loads the model with; null leaves the server's default. */
  numCtx: number | null;
  /** The whole call, from send to last byte. */
  timeoutMs: number;
  signal: AbortSignal;
};

/**
 * Tokens of one call. Cached input is never also counted as uncached, thinking never as visible.
 * `source: 'unknown'` means that every count is null: unknown usage is never written as 0.
 */
export type UsageRecord = {
  inputUncached: number | null;
  inputCached: number | null;
  cacheWrite: number | null;
  outputVisible: number | null;
  outputThinking: number | null;
  source: 'provider' | 'estimated' | 'unknown';
};

export const unknownUsage: UsageRecord = {
  inputUncached: null,
  inputCached: null,
  cacheWrite: null,
  outputVisible: null,
  outputThinking: null,
  source: 'unknown',
};

export type ModelReply = {
  text: string;
  usage: UsageRecord;
  /** What the provider says it charged, in micro-dollars; null when it reports no cost. */
  billedCost: number | null;
  /** Why the model stopped: `length` is a truncated reply, which callers treat as a failure. */
  finish: 'stop' | 'length';
  /** The model id that the provider reports. */
  answeredBy: string;
};

export type ModelPart = { type: 'text'; text: string } | { type: 'reply'; reply: ModelReply };

/**
 * Why a call brought no reply. `rate_limited` is 429, `timeout` 408 and our own deadline, `conflict`
 * 409, `unavailable` 5xx, `silent` a stream without a byte for too long. `optimizations/run/attempts.ts` says how often each is retried.
 */
export type FailureClass =
  | 'rate_limited'
  | 'timeout'
  | 'conflict'
  | 'unavailable'
  | 'connection'
  | 'auth'
  | 'billing'
  | 'unknown_model'
  | 'bad_request'
  | 'refusal'
  | 'truncated'
  | 'malformed'
  | 'silent'
  | 'aborted';

export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly failure: FailureClass;
  readonly usage: UsageRecord;
  /** As in ModelReply. */
  readonly billedCost: number | null;
  /** From Retry-After; null when the provider named none. */
  readonly retryAfterMs: number | null;

  constructor(
    failure: FailureClass,
    message: string,
    more: {
      usage?: UsageRecord;
      billedCost?: number | null;
      retryAfterMs?: number | null;
      cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.failure = failure;
    this.usage = more.usage ?? unknownUsage;
    this.billedCost = more.billedCost ?? null;
    this.retryAfterMs = more.retryAfterMs ?? null;
  }
}

/** Streams text parts and ends with exactly one reply part, or throws ModelFailure. */
export type Provider = {
  name: string;
  /** No call costs anything. */
  isFree: boolean;
  call(request: ModelRequest): AsyncIterable<ModelPart>;
};
