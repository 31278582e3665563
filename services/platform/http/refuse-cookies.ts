import type { MiddlewareHandler } from 'hono';
import { Problem } from '#services/platform/problem.ts';
import type { HttpEnv } from './http.ts';

/** For doors that take API keys alone: a request with a cookie comes from a browser, which has no business there. */
export function refuseCookies(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    if (context.req.header('cookie') !== undefined)
      throw new Problem(
        'cookies-refused',
        'This address takes no cookies. Send an API key in the Authorization header.',
      );
    await next();
  };
}
