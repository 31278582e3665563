import type { MiddlewareHandler } from 'hono';
import type { HttpEnv } from './http.ts';
import { Problem } from '#services/platform/problem.ts';

/** For calls of programs alone: what sends a cookie is a browser, which a page of a stranger may steer. */
export function refuseCookies(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    if (context.req.header('cookie') !== undefined)
      throw new Problem('cookies-refused', 'This call takes no cookies. Send an API key instead.');
    await next();
  };
}
