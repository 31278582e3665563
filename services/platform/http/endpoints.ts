import type { Context, Handler } from 'hono';
import type * as v from 'valibot';
import { answerIfChanged } from './conditional.ts';
import type { Endpoint } from '#services/platform/contract.ts';
import { notFound, parseBody, parseInput, parseQuery } from './http.ts';
import type { HttpContext, HttpEnv } from './http.ts';
import { Problem } from '#services/platform/problem.ts';

/** How a route takes what its endpoint describes (`contract.ts`), and answers it. */
type Schema = v.GenericSchema;
type WithBody = Endpoint & { body: Schema };
type WithQuery = Endpoint & { query: Schema };
type WithPath = Endpoint & { path: Schema };
type WithReply = Endpoint & { reply: Schema };
type Whole = Endpoint & { whole: Schema };

/** The body that the endpoint takes. @throws Problem 400, 413, 415 */
export async function bodyOf<Of extends WithBody>(
  context: HttpContext,
  endpoint: Of,
): Promise<v.InferOutput<Of['body']>> {
  return parseBody(context, endpoint.body);
}

/** @throws Problem 400 */
export function queryOf<Of extends WithQuery>(
  context: HttpContext,
  endpoint: Of,
): v.InferOutput<Of['query']> {
  return parseQuery(context, endpoint.query);
}

/** @throws Problem 400 */
export function pathOf<Of extends WithPath>(
  context: HttpContext,
  endpoint: Of,
): v.InferOutput<Of['path']> {
  return parseInput(endpoint.path, context.req.param());
}

/** The answer in its envelope, with the endpoint's own status. */
export function answer<Of extends WithReply>(
  context: Context,
  endpoint: Of,
  data: v.InferInput<Of['reply']>,
): Response {
  return answered(context, { data }, endpoint);
}

/** The answer of a list that is read whole, its pagination beside it. */
export function answerWhole<Of extends Whole>(
  context: Context,
  endpoint: Of,
  whole: v.InferInput<Of['whole']>,
): Response {
  return answered(context, whole, endpoint);
}

function answered(context: Context, body: unknown, endpoint: Endpoint): Response {
  context.header('Cache-Control', 'no-store');
  return endpoint.isConditional
    ? answerIfChanged(context, body)
    : context.json(body, endpoint.status);
}

/** As the router names it: `GET /api/optimizations/:id` for `GET /optimizations/{id}` under `/api`. */
export function routeOf(name: string, base: string): string {
  return name.replace(' ', ` ${base}`).replaceAll(/\{(\w+)\}/g, ':$1');
}

/** What an address looks like that a path such as `/optimizations/{id}` stands for. */
export function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/**
 * What answers a call that no route takes.
 *
 * @param names of all endpoints, such as `GET /optimizations/{id}`
 * @param base what stands before their paths
 * @throws Problem 405 `method-not-allowed` with `Allow` where other methods are taken, else 404
 */
export function refuseUnknownRoute(names: readonly string[], base: string): Handler<HttpEnv> {
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
    throw new Problem(405, 'method-not-allowed', `This address takes ${methods}.`);
  };
}
