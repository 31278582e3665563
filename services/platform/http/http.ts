import { hash, randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { Hono } from 'hono';
import type { Context, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import * as v from 'valibot';
import type { ProblemReply } from '#services/platform/contract.ts';
import { logWords } from './log-words.ts';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { titles } from '#services/platform/problems.ts';

export const requestLimits = {
  bodyBytes: 100_000,
  /** Depth of arrays and objects. */
  jsonDepth: 20,
  /** Values of a body, at all depths: each is checked, and each may be at fault. */
  jsonValues: 5_000,
  /** Faults that a refusal names. */
  namedFaults: 20,
  /** Characters of an address with its query; a link in an email with both tokens has some 1,500. */
  addressLength: 4_000,
} as const;

/** What every route shares: a request id, parsing at the edge, one envelope and one shape of refusal. */
export type HttpVariables = {
  requestId: string;
  log: Log;
  /** The caller's network address, as far as trusted proxies name it; 'unknown' without a socket. */
  address: string;
  userId: string;
  sessionId: string;
};
export type HttpEnv = { Variables: HttpVariables };
export type HttpContext = Context<HttpEnv>;

export function createRouter(): Hono<HttpEnv> {
  return new Hono<HttpEnv>({ strict: false });
}

/** The request id stands in the log, in the problem and in a header (`security-headers.ts`). */
export function requestLog(log: Log): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const started = performance.now();
    const requestId = randomUUID();
    context.set('requestId', requestId);
    context.set('log', log.child({ request_id: requestId }));
    await next();
    context.get('log').info(
      {
        method: context.req.method,
        route: routeOf(context),
        status: context.res.status,
        duration_ms: Math.round(performance.now() - started),
      },
      'Request',
    );
  };
}

/** The pattern of the route, never the path: a path may carry what no log should. */
export function routeOf(context: Context): string {
  return context.req.routePath;
}

/** JSON of one schema; a missing body and `{}` are the same. Unknown keys are refused. */
export async function parseBody<Schema extends v.GenericSchema>(
  context: HttpContext,
  schema: Schema,
  maxBytes: number = requestLimits.bodyBytes,
): Promise<v.InferOutput<Schema>> {
  const text = decoded(await readBytes(context, maxBytes)).trim();
  if (text !== '' && !isJsonType(context.req.header('content-type') ?? '')) throw notJson();
  return parseInput(schema, text === '' ? {} : parseJson(text));
}

/** For whatever is not read by `parseBody`. @throws Problem 415 for a body that is not JSON by its type */
export function requireJsonType(context: HttpContext): void {
  const type = context.req.header('content-type');
  const hasBody =
    Number(context.req.header('content-length') ?? 0) > 0 ||
    context.req.header('transfer-encoding') !== undefined;
  if (type === undefined ? hasBody : !isJsonType(type)) throw notJson();
}

/** `application/json` itself and no relative of it, such as `application/json-patch+json`. */
function isJsonType(type: string): boolean {
  return /^application\/json\s*(?:;\s*charset=("?)utf-8\1\s*)?$/i.test(type.trim());
}

function notJson(): Problem {
  return new Problem('unsupported-media-type', 'Send JSON (Content-Type: application/json).');
}

/** For calls that take nothing: no body and `{}` are the same, and anything else is a mistake. */
export async function requireNoFields(context: HttpContext): Promise<void> {
  await parseBody(context, noFields);
}

const noFields = v.strictObject({});

/** No route of ours needs a longer address. */
export function refuseLongAddresses(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    if (context.req.url.length > requestLimits.addressLength)
      throw new Problem('address-too-long', 'The request URL is too long.');
    await next();
  };
}

/** @throws Problem 400 `validation` with a sentence for each field, which repeats no value. */
export function parseInput<Schema extends v.GenericSchema>(
  schema: Schema,
  input: unknown,
): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, withEveryKey(schema, input));
  if (parsed.success) return parsed.output;
  const errors = parsed.issues.slice(0, requestLimits.namedFaults).map((issue) => ({
    field: fieldOf(issue),
    message: sentenceOf(issue),
  }));
  const first = errors[0];
  throw new Problem(
    'validation',
    first === undefined ? "The request isn't valid." : first.message,
    { errors },
  );
}

/** A key that is missing reads as undefined, so that the field's own sentence says it is required. */
function withEveryKey(schema: v.GenericSchema, input: unknown): unknown {
  if (!('entries' in schema)) return input;
  // A list has no fields, and would pass for an object of which every field is optional.
  if (Array.isArray(input)) return null;
  if (typeof input !== 'object' || input === null) return input;
  const given = input as Record<string, unknown>;
  // `false`, because a field may be null.
  const entries = Object.entries(schema.entries as Record<string, v.GenericSchema>).map(
    ([key, entry]) => {
      const inner = 'wrapped' in entry ? (entry.wrapped as v.GenericSchema) : entry;
      return [key, 'entries' in inner && Array.isArray(given[key]) ? false : given[key]];
    },
  );
  return { ...given, ...Object.fromEntries(entries) };
}

/** The name of an unknown key is input, too, and is not repeated. */
function fieldOf(issue: v.BaseIssue<unknown>): string {
  return issue.expected === 'never' ? '' : (v.getDotPath(issue) ?? '');
}

/** Our schemas have their own sentences; the library's would repeat the input. */
function sentenceOf(issue: v.BaseIssue<unknown>): string {
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'Unknown field.';
  if (issue.type === 'strict_object' && issue.expected !== 'Object')
    return 'This field is required.';
  return issue.message.startsWith('Invalid ') ? "This field isn't valid." : issue.message;
}

/**
 * The body as it is, for what is not JSON. Nothing beyond the limit is kept, even where no length was
 * sent. @throws Problem 413, or what `tooLarge` makes
 */
export async function readBytes(
  context: HttpContext,
  maxBytes: number,
  tooLarge: () => Problem = () =>
    new Problem('too-large', `Requests can be up to ${maxBytes / 1000} kB.`),
): Promise<Buffer> {
  if (Number(context.req.header('content-length') ?? 0) > maxBytes) throw tooLarge();
  const { body } = context.req.raw;
  if (!body) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Not cancelled when it is left early: that would cut the connection before the response is read.
    for await (const chunk of (body as ReadableStream<Uint8Array>).values({
      preventCancel: true,
    })) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    // The caller has disconnected, which is not an internal error.
    throw new Problem('aborted', 'The request was cut off before its body was complete.');
  }
  return Buffer.concat(chunks);
}

function decoded(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Problem('validation', "The request body isn't valid UTF-8.");
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(text: string): unknown {
  if (depthOf(text) > requestLimits.jsonDepth)
    throw new Problem('validation', 'The request body is nested too deeply.');
  let values = 0;
  try {
    return JSON.parse(text, (_key, value: unknown) => {
      values += 1;
      if (values > requestLimits.jsonValues)
        throw new Problem('validation', 'The request body holds too many values.');
      return storable(value);
    });
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem('validation', "The request body isn't valid JSON.");
  }
}

/** How deep brackets are nested outside of texts, counted before anything is parsed. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\[\s\S])*"?|[[\]{}]/g)) {
    if (token === '[' || token === '{') deepest = Math.max(deepest, (depth += 1));
    else if (token === ']' || token === '}') depth -= 1;
  }
  return deepest;
}

/** What Postgres and the event store can hold. Half a pair of surrogates becomes the sign for unknown. */
function storable(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value.includes('\0'))
    throw new Problem('validation', "Text can't contain the NUL character.");
  return value.toWellFormed();
}

export function answerData(
  context: HttpContext,
  data: unknown,
  status: ContentfulStatusCode = 200,
): Response {
  return answerJson(context, { data }, status);
}

/**
 * With its length, because a short response is not worth compressing. It must not be cached.
 *
 * @param options.tagged whether it gets an `ETag`
 */
export function answerJson(
  context: HttpContext,
  body: unknown,
  status: ContentfulStatusCode,
  { tagged = false } = {},
): Response {
  const json = JSON.stringify(body);
  return context.body(json, status, {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(json)),
    'Cache-Control': 'no-store',
    ...(tagged ? { ETag: `W/"${hash('sha1', json)}"` } : {}),
  });
}

/**
 * A response whose body is written straight to its connection for as long as that lasts. The route leaves
 * the writer in the bindings of its request; all middleware sees a response without a body. The server
 * sends the head, with its headers, and then calls the writer (`process/listen.ts`).
 */
export type Write = (connection: Writable) => void;

const written = Symbol('written response');
type Bindings = { [written]?: Write };

export function answerWritten(
  context: HttpContext,
  headers: Record<string, string>,
  write: Write,
): Response {
  const bindings = context.env as Bindings;
  bindings[written] = write;
  return context.body(null, 200, headers);
}

/** Null for a response that has its body. */
export function writerOf(bindings: object): Write | null {
  return (bindings as Bindings)[written] ?? null;
}

/** The one place where something thrown becomes a reply. */
export function answerError(error: unknown, context: HttpContext): Response {
  const problem = problemOf(error);
  if (problem.status >= 500)
    context.get('log').error({ err: error, code: problem.code }, logWords(error, context.req));
  return answerProblem(problem, context);
}

export function answerProblem(problem: Problem, context: HttpContext): Response {
  const { title, detail, retryAfterSeconds, errors, members } = problem.extras;
  if (retryAfterSeconds !== undefined) context.header('Retry-After', String(retryAfterSeconds));
  const reply: ProblemReply = {
    type: `/problems/${problem.code}`,
    title: title ?? titles[problem.status],
    status: problem.status,
    detail: detail ?? problem.message,
    message: problem.message,
    code: problem.code,
    errors: [...(errors ?? [])],
    request_id: context.get('requestId'),
    ...members,
  };
  return context.body(JSON.stringify(reply), problem.status, {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
  });
}

/** What a caller may learn of something thrown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem('internal', 'Something went wrong on our side. Please try again in a moment.');
}

export function notFound(message: string = "There's nothing at this address."): Problem {
  return new Problem('not-found', message);
}
