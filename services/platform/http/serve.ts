import type { Handler as HonoHandler, Hono } from 'hono';
import { etag } from 'hono/etag';
import type pg from 'pg';
import type * as v from 'valibot';
import { bearerOf, callerOf } from './auth.ts';
import type { Authenticate, Caller, CallingKey } from './auth.ts';
import type { Endpoint, EndpointList, EndpointName } from '#services/platform/contract.ts';
import {
  answerJson,
  createRouter,
  notFound,
  parseBody,
  parseInput,
  requireNoFields,
} from './http.ts';
import type { HttpContext, HttpEnv } from './http.ts';
import { answerOnce } from './idempotency.ts';
import type { Once } from './idempotency.ts';
import type { RateLimits } from './rate-limits.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * Routes made of endpoints (`platform/contract.ts`). What an endpoint says holds before its handler
 * runs: who may call, the query, the Idempotency-Key, the body. What the handler returns is sent with
 * the endpoint's status.
 */
export type ServeDependencies = {
  pool: pg.Pool;
  rateLimits: Pick<RateLimits, 'take'>;
  authenticate: Authenticate;
  /** The id of the calling service. @throws Problem 401, 403 */
  authenticateService: (context: HttpContext) => Promise<string>;
};

/** A handler for each endpoint: the compiler names one that is missing. */
export type Handlers<List extends EndpointList> = {
  readonly [Name in keyof List & EndpointName]: (
    call: Call<List, Name>,
  ) => Outcome<List[Name]> | Promise<Outcome<List[Name]>>;
};

/** What a handler is called with. */
export type Call<List extends EndpointList, Name extends keyof List & EndpointName> = {
  context: HttpContext;
} & Callers[List[Name]['access']] &
  Parsed<'path', List[Name], Fields<Name>> &
  Parsed<'query', List[Name]> &
  Parsed<'body', List[Name]>;

type Callers = {
  everyone: unknown;
  visitor: Visitor;
  cookie: unknown;
  person: Person;
  key: KeyCaller;
  service: Service;
};
type Visitor = { userId: string | null };
type Person = Caller;
export type KeyCaller = Caller & { apiKey: CallingKey; secret: string };
type Service = { serviceId: string };

type Parsed<Part extends 'path' | 'query' | 'body', Of, Otherwise = never> =
  Of extends Record<Part, infer Schema extends v.GenericSchema>
    ? Record<Part, v.InferOutput<Schema>>
    : [Otherwise] extends [never]
      ? unknown
      : Record<Part, Otherwise>;

/** The fields of a path as texts; never where it has none. */
type Fields<Name> = [FieldOf<Name>] extends [never]
  ? never
  : Readonly<Record<FieldOf<Name>, string>>;
type FieldOf<Name> = Name extends `${string}{${infer Field}}${infer Rest}`
  ? Field | FieldOf<Rest>
  : never;

/** A Response is sent as it is. */
type Outcome<Of> = Of extends { idempotencyKey: string } ? Once<Reply<Of>> : Reply<Of> | Response;

type Reply<Of> = Of extends { reply: infer Schema extends v.GenericSchema }
  ? v.InferInput<Schema>
  : Of extends { whole: infer Schema extends v.GenericSchema }
    ? v.InferInput<Schema>
    : never;

/** Each handler takes what its own endpoint parses. */
type AnyHandler = (call: never) => unknown;

/** @param refusalOf what a body that is not valid is refused with, where it is no plain `validation` */
export function serve<const List extends EndpointList>(
  endpoints: List,
  handlers: Handlers<List>,
  dependencies: ServeDependencies,
  refusalOf: (problem: Problem, name: keyof List) => Problem = (problem) => problem,
): Hono<HttpEnv> {
  const router = createRouter();
  // Those with fields come last: `/recipes/me` is not `/recipes/{id}`.
  const names = Object.keys(endpoints).toSorted((one, other) => fieldsIn(one) - fieldsIn(other));
  for (const name of names as (keyof List & EndpointName)[]) {
    const endpoint: Endpoint = endpoints[name];
    const handle: AnyHandler = handlers[name];
    const [method = '', template = ''] = name.split(' ');
    if (endpoint.isConditional) router.use(routeOf(template), conditional);
    router.on(method, routeOf(template), async (context) => {
      refuseUnknownQuery(context, endpoint);
      const caller = await identify(context, endpoint, dependencies);
      if (endpoint.idempotencyKey === 'required') requireKey(context);
      const body = await bodyOf(context, endpoint).catch((error: unknown) => {
        throw error instanceof Problem ? refusalOf(error, name) : error;
      });
      const fields = context.req.param() as Record<string, string>;
      const path = endpoint.path ? parseInput(endpoint.path, fields) : fields;
      const query = endpoint.query && parseInput(endpoint.query, context.req.query());
      const outcome = await handle({ context, ...caller, path, query, body } as never);
      if (outcome instanceof Response) return outcome;
      if (endpoint.idempotencyKey === undefined) return answer(context, endpoint, outcome);
      const place = {
        pool: dependencies.pool,
        owner: ownerOf(caller),
        route: name.replaceAll(/\{(\w+)\}/g, (_, field: string) => fields[field] ?? ''),
        body: body ?? {},
        status: endpoint.status,
      };
      return answerOnce(context, place, outcome as Once<unknown>);
    });
  }
  return router;
}

/** Whose Idempotency-Keys they are: all visitors share theirs, which their programs draw at random. */
function ownerOf(caller: Visitor | Person | Service | null): string {
  if (caller === null) return 'visitor';
  return ('serviceId' in caller ? caller.serviceId : caller.userId) ?? 'visitor';
}

const fieldsIn = (name: string): number => name.split('{').length;

async function identify(
  context: HttpContext,
  { access, scope, files }: Endpoint,
  { authenticate, authenticateService, rateLimits }: ServeDependencies,
): Promise<Visitor | Person | Service | null> {
  if (access === 'service') return { serviceId: await authenticateService(context) };
  const header = context.req.header('authorization');
  if (access === 'visitor' && header === undefined) return { userId: null };
  if (access !== 'person' && access !== 'visitor' && access !== 'key') return null;
  const caller = await callerOf(authenticate, header, scope);
  const { userId, sessionId } = caller;
  context.set('userId', userId);
  context.set('sessionId', sessionId);
  const isRead = context.req.method === 'GET' || context.req.method === 'HEAD';
  // Streams have a limit of their own.
  if (isRead && files?.includes('text/event-stream') !== true)
    await rateLimits.take('reads', userId, { userId });
  return access === 'key' ? keyCaller(caller, header) : caller;
}

/** @throws Problem 403 `api-key-required` for a user in person */
function keyCaller(caller: Caller, header: string | undefined): KeyCaller {
  const { apiKey } = caller;
  if (apiKey === null)
    throw new Problem(
      'api-key-required',
      'This call needs an API key. Create one in your account settings.',
    );
  return { ...caller, apiKey, secret: bearerOf(header) ?? '' };
}

/** What each query holds is up to its schema. @throws Problem 400 for a key that comes twice, too */
function refuseUnknownQuery(context: HttpContext, { query }: Endpoint): void {
  const values = Object.values(context.req.queries());
  if (query ? values.every((all) => all.length === 1) : values.length === 0) return;
  const message = query ? 'A field was sent twice.' : 'This call takes no query parameters.';
  throw new Problem('validation', message, { errors: [{ field: '', message }] });
}

/** Without a key, a caller that does not know what became of its call would make it twice. */
function requireKey(context: HttpContext): void {
  if (context.req.header('idempotency-key') === undefined)
    throw new Problem('validation', 'Send an Idempotency-Key with this call.', {
      errors: [{ field: 'Idempotency-Key', message: 'This header is required.' }],
    });
}

async function bodyOf(
  context: HttpContext,
  { body, bodyBytes, sends }: Endpoint,
): Promise<unknown> {
  if (body) return parseBody(context, body, bodyBytes);
  const isRead = context.req.method === 'GET' || context.req.method === 'HEAD';
  if (!isRead && !sends) await requireNoFields(context);
  return undefined;
}

function answer(context: HttpContext, endpoint: Endpoint, outcome: unknown): Response {
  const { reply, status, cacheSeconds } = endpoint;
  const response = answerJson(context, reply ? { data: outcome } : outcome, status, {
    tagged: endpoint.isConditional === true,
  });
  if (cacheSeconds !== undefined)
    response.headers.set('Cache-Control', `public, max-age=${cacheSeconds}`);
  return response;
}

/**
 * Answers with 304 what the caller has. The `ETag` is of the response itself, which `answer` gives JSON: texts that are erased, calls that progress and a new release change
 * a response without a new version of its rows. `no-store` stays, so no browser sends it automatically.
 */
const conditional = etag({ weak: true });

/** As the router names it: `/optimizations/:id` for `/optimizations/{id}`. */
export function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Matches every address that a path such as `/optimizations/{id}` stands for. */
export function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/**
 * The handler of every call that no route takes.
 *
 * @param names of all endpoints, such as `GET /optimizations/{id}`
 * @param base what stands before their paths
 * @throws Problem 405 `method-not-allowed` with `Allow` where other methods are taken, else 404
 */
export function refuseUnknownRoute(names: readonly string[], base: string): HonoHandler<HttpEnv> {
  const routes = names.map((name) => {
    const [method = '', path = ''] = name.split(' ');
    return {
      methods: method === 'GET' ? ['GET', 'HEAD'] : [method],
      pattern: patternOf(base + path),
    };
  });
  return (context) => {
    const found = routes.filter(({ pattern }) => pattern.test(context.req.path));
    if (found.length === 0) throw notFound();
    const methods = [...new Set(found.flatMap((route) => route.methods))].join(', ');
    context.header('Allow', methods);
    throw new Problem('method-not-allowed', `This address accepts only ${methods}.`);
  };
}
