import type { MiddlewareHandler } from 'hono';
import type { HttpEnv } from './http.ts';
import { httpLimits } from '#services/platform/limits.ts';

/** Origins by what their pages may do. Both lists are compared whole, never by a part. */
export type Origins = {
  /** Our own pages: cookies speak for them. */
  own: ReadonlySet<string>;
  /** Pages of others that may call with a bearer token; cookies are neither sent nor heard. */
  foreign: ReadonlySet<string>;
};

export type OriginSettings = {
  publicUrl: string;
  corsOrigins: readonly string[];
  isLocal: boolean;
};

export function originsOf({ publicUrl, corsOrigins, isLocal }: OriginSettings): Origins {
  const own = new Set([publicUrl, ...(isLocal ? loopbackNamesOf(publicUrl) : [])]);
  return { own, foreign: new Set(corsOrigins.filter((origin) => !own.has(origin))) };
}

/** On one's own machine a page is opened by either name, and each is an origin of its own. */
function loopbackNamesOf(publicUrl: string): string[] {
  return ['127.0.0.1', 'localhost'].map((name) => {
    const url = new URL(publicUrl);
    url.hostname = name;
    return url.origin;
  });
}

/**
 * Lets pages of listed origins read what they ask for. Credentials are allowed to nobody: our own
 * pages are of the same origin and need no leave, and those of others bring a token.
 */
export function cors(origins: Origins): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const origin = context.req.header('origin');
    const isListed =
      origin !== undefined && (origins.own.has(origin) || origins.foreign.has(origin));
    const isPreflight =
      context.req.method === 'OPTIONS' &&
      context.req.header('access-control-request-method') !== undefined;
    if (isPreflight) context.res = new Response(null, { status: 204 });
    else await next();
    const { headers } = context.res;
    // What is answered differs by the origin, also where none was told.
    headers.append('Vary', 'Origin');
    if (!isListed) return;
    headers.set('Access-Control-Allow-Origin', origin);
    headers.set('Access-Control-Expose-Headers', 'Retry-After, X-Request-Id');
    if (!isPreflight) return;
    headers.set('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
    headers.set(
      'Access-Control-Allow-Headers',
      'Authorization, Content-Type, Idempotency-Key, Last-Event-ID',
    );
    headers.set('Access-Control-Max-Age', String(httpLimits.preflightSeconds));
  };
}
