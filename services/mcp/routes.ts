import { createMcpHandler } from '@modelcontextprotocol/server';
import type { MiddlewareHandler } from 'hono';
import { createRouter } from '#services/platform/http/http.ts';
import type { HttpContext, HttpEnv } from '#services/platform/http/http.ts';
import { limitByAddress } from '#services/platform/http/rate-limits.ts';
import { refuseCookies } from '#services/platform/http/refuse-cookies.ts';
import { refuseUnknownRoute, serve } from '#services/platform/http/serve.ts';
import type { KeyCaller, ServeDependencies } from '#services/platform/http/serve.ts';
import { Problem } from '#services/platform/problem.ts';
import { createActions } from './actions.ts';
import type { McpDependencies } from './actions.ts';
import { mcpEndpoints } from './contract.ts';
import { programCaller } from './program-caller.ts';
import type { ProgramDependencies } from './program-caller.ts';
import { createMcpServer } from './server.ts';

export type McpRouteDependencies = McpDependencies &
  ProgramDependencies & { productName: string; version: string };

/**
 * `POST /mcp`, the only method: no session, so there is no stream to open with GET and none to end with
 * DELETE. Any process can answer any message. @param own the origins of our own pages
 */
export function mcpRoutes(
  dependencies: McpRouteDependencies & ServeDependencies,
  own: ReadonlySet<string>,
) {
  return createRouter()
    .use(
      '/mcp',
      limitByAddress(dependencies.rateLimits, 'address'),
      refuseForeignOrigins(own),
      refuseCookies(),
      nameScheme(),
    )
    .route(
      '/',
      serve(
        mcpEndpoints,
        {
          'POST /mcp': async ({ context, body, ...caller }) =>
            answer(dependencies, context, caller, given(body)),
        },
        dependencies,
      ),
    )
    .all('/mcp', refuseUnknownRoute(Object.keys(mcpEndpoints), ''));
}

async function answer(
  dependencies: McpRouteDependencies,
  context: HttpContext,
  caller: KeyCaller,
  message: object,
): Promise<Response> {
  const { productName, version } = dependencies;
  const log = context.get('log');
  // Most errors are refusals, which the response explains.
  let last: Error | null = null;
  const handler = createMcpHandler(
    () => {
      const actions = createActions(dependencies, programCaller(dependencies, context, caller));
      return createMcpServer(actions, { productName, version, log });
    },
    {
      // A stream stays open while `follow` waits: its comments keep proxies and our own bound on silence away.
      responseMode: 'sse',
      // The tools never change, so there is nothing to subscribe to.
      maxSubscriptions: 0,
      onerror: (error) => (last = error),
    },
  );
  const response = await handler.fetch(context.req.raw, { parsedBody: message });
  if (response.status >= 500) log.error({ err: last }, 'A message could not be answered');
  return response;
}

/** Without the fields that a notification lacks: to the protocol an `id` is there even when undefined. */
function given(message: object): object {
  return Object.fromEntries(
    Object.entries(message).filter(([, value]: [string, unknown]) => value !== undefined),
  );
}

/**
 * Programs name no origin. Browsers name one with every POST, also for a page that pointed its own host
 * name at this machine (DNS rebinding).
 */
function refuseForeignOrigins(own: ReadonlySet<string>): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const origin = context.req.header('origin');
    if (origin !== undefined && !own.has(origin))
      throw new Problem('cross-site', "Pages of other origins can't call this address.");
    await next();
  };
}

/** The protocol asks for the name of the scheme with every 401. */
function nameScheme(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    await next();
    if (context.res.status === 401) context.header('WWW-Authenticate', 'Bearer');
  };
}
