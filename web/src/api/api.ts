import * as v from 'valibot';
import { ProblemReply } from '#services/platform/contract.ts';
import type { BodyOf, ItemOf, Method, PathOf, QueryOf, Reads, ReplyOf } from './endpoint-types.ts';

/**
 * The only way from the browser to the server. Every call sends the access token, every reply is
 * checked against its contract, and every failure is an `ApiProblem`.
 *
 * The access token lives only in this module: never in storage, never in a URL.
 */

const timeoutMs = 20_000;
/** Delays before the second and third attempt of a read, in milliseconds. */
const retryDelaysMs = [300, 1_000] as const;
/** A token that expires within this time, in milliseconds, is renewed before the call. */
const renewAheadMs = 30_000;

export type FieldProblem = { readonly field: string; readonly message: string };

/** A refusal by the server, or a call without a usable response (status 0). */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  /** HTTP status; 0 without a usable response. */
  readonly status: number;
  /** Stable name of the problem, such as `insufficient-credits`; `network` for status 0. */
  readonly code: string;
  /** The server's title, such as 'Email already in use'. */
  readonly title: string | null;
  readonly errors: readonly FieldProblem[];
  /** Identifies the call in the server's log; null when the call never arrived. */
  readonly request_id: string | null;
  /** The server's Retry-After, in seconds. */
  readonly retryAfterSeconds: number | null;
  /** The whole problem document; some carry figures. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(fields: {
    status: number;
    code: string;
    message: string;
    title?: string | null;
    errors?: readonly FieldProblem[];
    request_id?: string | null;
    retryAfterSeconds?: number | null;
    members?: Readonly<Record<string, unknown>>;
    cause?: unknown;
  }) {
    super(fields.message, { cause: fields.cause });
    this.status = fields.status;
    this.code = fields.code;
    this.title = fields.title ?? null;
    this.errors = fields.errors ?? [];
    this.request_id = fields.request_id ?? null;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
    this.members = fields.members ?? {};
  }
}

/** A proxy's problem document may lack any of these. */
const ProblemDocument = v.partial(ProblemReply);

type Token = {
  readonly value: string;
  readonly expiresAtMs: number;
  readonly userId: string | undefined;
};
let token: Token | null = null;

/** Keeps the token for later calls; null forgets it. `expires_at` is an ISO time. */
export function setAccessToken(
  next: { token: string; expires_at: string; userId?: string } | null,
): void {
  token = next && {
    value: next.token,
    expiresAtMs: Date.parse(next.expires_at),
    userId: next.userId,
  };
}

/** The token for a connection this module does not open, such as the event stream. */
export async function currentAccessToken(): Promise<string | null> {
  if (token && token.expiresAtMs - Date.now() < renewAheadMs) await renew?.();
  return token?.value ?? null;
}

/** Milliseconds until the token expires, negative when it has; null without a token. */
export function accessTokenLeftMs(): number | null {
  return token && token.expiresAtMs - Date.now();
}

/** Resolves once a fresh token is set, or once there is certainly none. */
type Renew = () => Promise<unknown>;
let renew: Renew | undefined;

/** Sets how to get a fresh token. The session calls it once, when it is loaded. */
export function renewAccessTokenWith(call: Renew): void {
  renew = call;
}

type Schema<T> = v.GenericSchema<unknown, T>;
type Query = Readonly<Record<string, string | number | undefined>>;
export type ReadOptions<P extends string> = Pick<CallOptions, 'signal' | 'timeoutMs'> & {
  query?: QueryOf<P>;
};

/**
 * Reads `/api{path}` and returns its `data`. A read is attempted up to three times when no response
 * came or the server failed.
 */
export async function read<P extends PathOf<'GET'>, S extends v.GenericSchema>(
  path: P,
  schema: S & Reads<ReplyOf<'GET', P>, S>,
  options: ReadOptions<P> = {},
): Promise<v.InferOutput<S>> {
  const body = await retried(() => send({ method: 'GET', path, ...options }), options.signal);
  return dataOf<v.InferOutput<S>>(body, schema);
}

const Pagination = v.object({
  page: v.number(),
  limit: v.number(),
  total: v.number(),
  total_pages: v.number(),
});
export type Page<T> = { data: T[]; pagination: v.InferOutput<typeof Pagination> };

/** Reads an unpaged list together with its pagination. */
export async function readPage<P extends PathOf<'GET'>, S extends v.GenericSchema>(
  path: P,
  itemSchema: S & Reads<ItemOf<P>, S>,
  options: ReadOptions<P> = {},
): Promise<Page<v.InferOutput<S>>> {
  const body = await retried(() => send({ method: 'GET', path, ...options }), options.signal);
  const item: Schema<v.InferOutput<S>> = itemSchema;
  return unwrap(body, v.object({ data: v.array(item), pagination: Pagination }));
}

/**
 * Sends a command and returns the reply's `data`. Every write carries an idempotency key. A caller
 * that may send the same intent again passes the same `key`.
 */
export async function write<
  M extends 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  P extends PathOf<M>,
  S extends v.GenericSchema,
>(
  method: M,
  path: P,
  body: BodyOf<M, P>,
  schema: S & Reads<ReplyOf<M, P>, S>,
  { key = crypto.randomUUID(), ...options }: { key?: string } & CallOptions = {},
): Promise<v.InferOutput<S>> {
  const content = { type: 'application/json', value: JSON.stringify(body) };
  const reply = await send({ method, path, content, key, ...options });
  return dataOf<v.InferOutput<S>>(reply, schema);
}

/** Waits for a deletion, which has nothing to do if what it deletes is gone. @throws ApiProblem */
export async function unlessGone(deleting: Promise<unknown>): Promise<void> {
  try {
    await deleting;
  } catch (error) {
    if (!(error instanceof ApiProblem && error.status === 404)) throw error;
  }
}

export function dataOf<T>(body: unknown, schema: Schema<T>): T {
  return unwrap(body, v.object({ data: schema })).data;
}

type CallOptions = {
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
  /** Lets the call finish even if the page is left. */
  keepalive?: boolean;
};

export type Call = CallOptions & {
  method: Method;
  path: string;
  query?: Query;
  content?: { readonly type: string | null; readonly value: string | Blob | FormData };
  key?: string;
  /** The media type to accept; JSON by default. */
  accept?: string;
};

/** Sends a call and returns its unchecked body. @throws ApiProblem */
export async function send(call: Call): Promise<unknown> {
  return parsed(await answered(call));
}

/**
 * One call; a second one with a fresh token after a 401. Never with the token of another user, who may
 * have signed in during a renewal.
 */
export async function answered(call: Call): Promise<Response> {
  if (call.path.startsWith('/auth/')) return request(call, token?.value ?? null);
  const caller = token?.userId;
  const bearer = await currentAccessToken();
  if (bearer !== null && token?.userId !== caller) throw userChanged();
  const response = await request(call, bearer);
  if (response.status !== 401 || bearer === null || !renew) return response;
  await renew();
  if (!token || token.value === bearer || token.userId !== caller) return response;
  return request(call, token.value);
}

function userChanged(): ApiProblem {
  return new ApiProblem({
    status: 401,
    code: 'authentication-required',
    message: 'Please sign in again.',
  });
}

async function request(call: Call, bearer: string | null): Promise<Response> {
  const headers = new Headers({ accept: call.accept ?? 'application/json' });
  if (bearer) headers.set('authorization', `Bearer ${bearer}`);
  if (call.key) headers.set('idempotency-key', call.key);
  if (call.content?.type) headers.set('content-type', call.content.type);
  const timeout = AbortSignal.timeout(call.timeoutMs ?? timeoutMs);
  try {
    return await fetch(`/api${call.path}${queryString(call.query)}`, {
      method: call.method,
      headers,
      credentials: 'same-origin',
      cache: 'no-store',
      signal: call.signal ? AbortSignal.any([call.signal, timeout]) : timeout,
      ...(call.content ? { body: call.content.value } : {}),
      ...(call.keepalive ? { keepalive: true } : {}),
    });
  } catch (cause) {
    if (call.signal?.aborted) throw cause;
    throw noAnswer(timeout.aborted ? 'timeout' : 'network', cause);
  }
}

function queryString(query: Query | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

async function parsed(response: Response): Promise<unknown> {
  if (!response.ok) throw await refusal(response);
  try {
    return await response.json();
  } catch (cause) {
    throw noAnswer('unreadable-reply', cause);
  }
}

/** A proxy's error page is not JSON, yet its status is meaningful. */
export async function refusal(response: Response): Promise<ApiProblem> {
  const body: unknown = await response.json().catch(() => ({}));
  const parse = v.safeParse(ProblemDocument, body);
  const problem = parse.success ? parse.output : {};
  const retryAfter = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
  return new ApiProblem({
    status: response.status,
    code: problem.code ?? 'unknown',
    // `message` may be worded for programs that search it for keywords.
    message: problem.detail ?? problem.message ?? 'Request failed',
    title: problem.title ?? null,
    errors: problem.errors ?? [],
    request_id: problem.request_id ?? response.headers.get('x-request-id'),
    retryAfterSeconds: Number.isNaN(retryAfter) ? null : retryAfter,
    members: problem,
  });
}

function unwrap<T>(body: unknown, schema: Schema<T>): T {
  const result = v.safeParse(schema, body);
  if (result.success) return result.output;
  console.error('A reply broke its contract', v.flatten(result.issues));
  throw noAnswer('unreadable-reply', result.issues);
}

export function noAnswer(
  code: 'network' | 'timeout' | 'unreadable-reply',
  cause: unknown,
): ApiProblem {
  return new ApiProblem({ status: 0, code, message: 'Network error occurred', cause });
}

/** Whether a retry may help: no response, or a fault of the server. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof ApiProblem &&
    error.code !== 'unreadable-reply' &&
    (error.status === 0 || error.status >= 500)
  );
}

/** Up to three attempts of a call that is safe to repeat. */
export async function retried<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (const delayMs of retryDelaysMs) {
    try {
      return await call();
    } catch (error) {
      if (!isTransient(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      signal?.throwIfAborted();
    }
  }
  return call();
}
