import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import type { HttpEnv } from './http.ts';

/** How long a browser may cache a preflight. */
export const preflightSeconds = 600;

/** The host names of this machine. A foreign page could point a name of its own at it and try all ports. */
export const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Origins by what their pages may do. Both lists are compared whole, never by a part. */
export type Origins = {
  /** Our own pages: cookies speak for them. */
  own: ReadonlySet<string>;
  /** Pages of others that may call with a bearer token; cookies are neither sent nor read. */
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

/** On a developer's machine a page is opened by either name, and each is an origin. */
function loopbackNamesOf(publicUrl: string): string[] {
  return ['127.0.0.1', 'localhost'].map((name) => {
    const url = new URL(publicUrl);
    url.hostname = name;
    return url.origin;
  });
}

/**
 * Pages of listed origins may read responses. No credentials: our own pages are of the same origin, and
 * those of others bring a token.
 */
export function allowOrigins({ own, foreign }: Origins): MiddlewareHandler<HttpEnv> {
  const allow = cors({
    origin: [...own, ...foreign],
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID'],
    exposeHeaders: ['Retry-After', 'X-Request-Id'],
    maxAge: preflightSeconds,
  });
  return async (context, next) => {
    const hasOrigin = context.req.header('origin') !== undefined;
    if (hasOrigin || context.req.method === 'OPTIONS') return allow(context, next);
    // Programs, and our own pages when they read. Headers set before `next` cost them a second Response.
    await next();
    context.res.headers.append('Vary', 'Origin');
    return undefined;
  };
}
