import * as v from 'valibot';
import { ProblemReply } from '#services/platform/contract.ts';

/**
 * The one way from the browser to the server. Every call sends the access token, every reply is
 * checked against its contract, and whatever goes wrong arrives as an `ApiProblem`.
 *
 * The access token lives in this module and nowhere else: never in storage, never in a URL.
 */

/** Milliseconds after which a call counts as failed. */
const timeoutMs = 20_000;
/** Waits before the second and the third try of a read, in milliseconds. */
const retryDelaysMs = [300, 1_000] as const;
/** A token this close to its end, in milliseconds, is renewed before the call and not after it. */
const renewAheadMs = 30_000;

export type FieldProblem = { readonly field: string; readonly message: string };

/** A refusal of the server, or a call that never got an answer (status 0). */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  /** HTTP status; 0 when there was no usable answer. */
  readonly status: number;
  /** Stable name of the problem, such as `insufficient-credits`; `network` for status 0. */
  readonly code: string;
  readonly errors: readonly FieldProblem[];
  /** Names the call in the server's log; null when the call never arrived. */
  readonly request_id: string | null;
  /** Seconds to wait before another try, when the server said so. */
  readonly retryAfterSeconds: number | null;
  /** Every member of the problem document, for those that carry figures. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(fields: {
    status: number;
    code: string;
    message: string;
    errors?: readonly FieldProblem[];
    request_id?: string | null;
    retryAfterSeconds?: number | null;
    members?: Readonly<Record<string, unknown>>;
    cause?: unknown;
  }) {
    super(fields.message, { cause: fields.cause });
    this.status = fields.status;
    this.code = fields.code;
    this.errors = fields.errors ?? [];
    this.request_id = fields.request_id ?? null;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
    this.members = fields.members ?? {};
  }
}

/** What a proxy in between says in the server's place may lack any of it. */
const ProblemDocument = v.partial(ProblemReply);

type Token = { readonly value: string; readonly expiresAtMs: number };
let token: Token | null = null;

/** Keeps the token for the calls that follow; null forgets it. `expires_at` is an ISO time. */
export function setAccessToken(next: { token: string; expires_at: string } | null): void {
  token = next && { value: next.token, expiresAtMs: Date.parse(next.expires_at) };
}

/** The token for a connection that this module does not open itself, such as the event stream. */
export async function currentAccessToken(): Promise<string | null> {
  if (token && token.expiresAtMs - Date.now() < renewAheadMs) await renew?.();
  return token?.value ?? null;
}

/** Resolves once a fresh token is set, or once it is certain that there is none. */
type Renew = () => Promise<unknown>;
let renew: Renew | undefined;

/** Tells this module how to get a fresh token; the session calls it once, when it is loaded. */
export function renewAccessTokenWith(call: Renew): void {
  renew = call;
}

type Schema<T> = v.GenericSchema<unknown, T>;
type Query = Readonly<Record<string, string | number | undefined>>;
type ReadOptions = { query?: Query; signal?: AbortSignal | undefined };

/**
 * Reads `/api{path}` and answers its `data`. Tried up to three times when there was no answer or the
 * server was at fault.
 */
export async function read<T>(
  path: string,
  schema: Schema<T>,
  options: ReadOptions = {},
): Promise<T> {
  const body = await retried(() => send({ method: 'GET', path, ...options }), options.signal);
  return unwrap(body, v.object({ data: schema })).data;
}

const Pagination = v.object({
  page: v.number(),
  limit: v.number(),
  total: v.number(),
  total_pages: v.number(),
});
export type Page<T> = { data: T[]; pagination: v.InferOutput<typeof Pagination> };

/** Reads one of the lists that come whole, with their pagination beside them. */
export async function readPage<T>(
  path: string,
  itemSchema: Schema<T>,
  options: ReadOptions = {},
): Promise<Page<T>> {
  const body = await retried(() => send({ method: 'GET', path, ...options }), options.signal);
  return unwrap(body, v.object({ data: v.array(itemSchema), pagination: Pagination }));
}

/**
 * Sends a command and answers the reply's `data`. Every write carries an idempotency key, so the
 * same intent sent twice happens once: a caller that may send again passes the same `key` again.
 */
export async function write<T>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body: unknown,
  schema: Schema<T>,
  options: { key?: string; signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const key = options.key ?? crypto.randomUUID();
  const reply = await send({ method, path, body: body ?? {}, key, signal: options.signal });
  return unwrap(reply, v.object({ data: schema })).data;
}

type Call = {
  method: string;
  path: string;
  query?: Query;
  body?: unknown;
  key?: string;
  signal?: AbortSignal | undefined;
};

/** One call; a second one with a fresh token when the server no longer knows the first. */
async function send(call: Call): Promise<unknown> {
  const asksForToken = call.path.startsWith('/auth/');
  const bearer = asksForToken ? (token?.value ?? null) : await currentAccessToken();
  const response = await request(call, bearer);
  if (response.status !== 401 || asksForToken || bearer === null || !renew) {
    return parsed(response);
  }
  await renew();
  if (!token || token.value === bearer) return parsed(response);
  return parsed(await request(call, token.value));
}

async function request(call: Call, bearer: string | null): Promise<Response> {
  const headers = new Headers({ accept: 'application/json' });
  if (bearer) headers.set('authorization', `Bearer ${bearer}`);
  if (call.key) headers.set('idempotency-key', call.key);
  if (call.body !== undefined) headers.set('content-type', 'application/json');
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await fetch(`/api${call.path}${queryString(call.query)}`, {
      method: call.method,
      headers,
      credentials: 'same-origin',
      cache: 'no-store',
      signal: call.signal ? AbortSignal.any([call.signal, timeout]) : timeout,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
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
  let body: unknown;
  try {
    body = await response.json();
  } catch (cause) {
    // A proxy's error page is not JSON, yet its status still says what happened.
    if (response.ok) throw noAnswer('unreadable-reply', cause);
    body = {};
  }
  if (response.ok) return body;
  const parse = v.safeParse(ProblemDocument, body);
  const problem = parse.success ? parse.output : {};
  const retryAfter = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
  throw new ApiProblem({
    status: response.status,
    code: problem.code ?? 'unknown',
    message: problem.message ?? 'Request failed',
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

function noAnswer(code: 'network' | 'timeout' | 'unreadable-reply', cause: unknown): ApiProblem {
  return new ApiProblem({ status: 0, code, message: 'Network error occurred', cause });
}

/** Whether another try may help: no answer, or a fault that is the server's own. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof ApiProblem &&
    error.code !== 'unreadable-reply' &&
    (error.status === 0 || error.status >= 500)
  );
}

async function retried<T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
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
