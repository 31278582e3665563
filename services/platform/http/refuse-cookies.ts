import type { MiddlewareHandler } from 'hono';
import type { HttpEnv } from './http.ts';
import { Problem } from '#services/platform/problem.ts';

/** A request with a cookie comes from a browser, which another site's page may control. */
export function refuseCookies(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    if (context.req.header('cookie') !== undefined)
      throw new Problem('cookies-refused', 'This call takes no cookies. Send an API key instead.');
    await next();
  };
}
