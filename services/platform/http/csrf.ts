import type { MiddlewareHandler } from 'hono';
import type { Origins } from './cors.ts';
import type { HttpContext, HttpEnv } from './http.ts';
import { requireJsonType } from './http.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * Calls that change something come from our own pages. A bearer token alone is proof of that: no
 * page can send one across origins without a preflight, which `cors.ts` answers by its list. Every
 * other unsafe call has to show where it comes from:
 *
 * - Browsers name the origin with every unsafe call that `fetch` makes, so one that carries a cookie
 *   needs an own `Origin`. 'null' is what a sandboxed frame has, and none of our pages.
 * - Where it is missing, `Sec-Fetch-Site: same-origin` says the same; no page can write either header.
 *   `none` is a typed address, which never changes anything here. A cookie with neither header comes
 *   from no browser that protects its user.
 * - A call without a cookie, such as a login, may have no origin, since programs have none. When it
 *   names one, the page must be listed, so that a stranger's page cannot sign a user in.
 * - A body that comes with a cookie must have the type JSON, which a form cannot send.
 */
export function refuseForeignCalls(origins: Origins): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const isSafe = ['GET', 'HEAD', 'OPTIONS'].includes(context.req.method);
    // Only a bearer: browsers send Basic credentials automatically.
    const hasBearer = /^bearer /i.test(context.req.header('authorization') ?? '');
    if (!isSafe && !hasBearer) {
      if (!isOurs(context, origins)) throw crossSite();
      if (context.req.header('cookie') !== undefined) requireJsonType(context);
    }
    await next();
  };
}

function isOurs(context: HttpContext, { own, foreign }: Origins): boolean {
  const origin = context.req.header('origin');
  const site = context.req.header('sec-fetch-site');
  const hasCookie = context.req.header('cookie') !== undefined;
  if (hasCookie && site !== undefined && site !== 'same-origin') return false;
  if (origin !== undefined) return own.has(origin) || (!hasCookie && foreign.has(origin));
  return site === 'same-origin' || (!hasCookie && site === undefined);
}

/** For calls that only read, where a cookie speaks. @throws Problem 403 `cross-site` */
export function refuseCrossSite(context: HttpContext): void {
  if (context.req.header('sec-fetch-site') === 'cross-site') throw crossSite();
}

function crossSite(): Problem {
  return new Problem('cross-site', 'This call only accepts requests from our own pages.');
}
