import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isFromThisMachine } from '#services/platform/http/client-address.ts';
import { loopbackNames } from '#services/platform/http/cors.ts';
import { createRouter, notFound, readBytes } from '#services/platform/http/http.ts';
import type { HttpEnv } from '#services/platform/http/http.ts';
import { Problem } from '#services/platform/problem.ts';
import { devModels } from './dev-models.ts';
import type { DevModelsOptions } from './dev-models.ts';

export type DevPagesOptions = {
  /** Where the sandbox listens; null when there is none. */
  sandboxUrl: string | null;
  publicUrl: string;
  /** ALLOW_PUBLIC_SANDBOX: other machines may connect and pay with test cards. */
  isPublic: boolean;
  /** The token that opens a public sandbox's pages; null keeps them closed. */
  token: string | null;
  /** The page of models; null leaves it out. */
  models: DevModelsOptions | null;
};

/**
 * The sandbox's pages, proxied on our port in local mode only. The mailbox lets its reader sign in as any
 * user, and the bank's pages take credits away. So they are served only under our own host names, which
 * stops DNS rebinding. The caller chooses the Host header, so the connection must also come from this
 * machine.
 *
 * A public sandbox may be behind a proxy on this machine that adds no headers, so the address of a caller
 * proves nothing: its pages require the token of the start. Without the token only the checkout page is
 * served, because every buyer needs it.
 */
export function devPages({ sandboxUrl, publicUrl, isPublic, token, models }: DevPagesOptions) {
  const pages = createRouter();
  if (isPublic) pages.use('*', requireToken(token, publicUrl));
  const ours = new Set([...loopbackNames, new URL(publicUrl).hostname]);
  pages.use('*', async (context, next) => {
    const url = new URL(context.req.url);
    const isOpen = isPublic || isFromThisMachine(context);
    if (!isOpen || !ours.has(url.hostname) || !isAllowedSite(context.req.raw, url, ours))
      throw notFound();
    return next();
  });
  // Its check spends the operator's money, so other machines never get it.
  if (models !== null && !isPublic) pages.route('/', devModels(models));
  const paths = ['/mail', '/mail/*', '/stripe', '/stripe/*'];
  return pages.on(['GET', 'POST', 'DELETE'], paths, async (context) => {
    const url = new URL(context.req.url);
    const { method } = context.req;
    const answer = await ask(sandboxUrl, url, {
      method,
      headers: {
        accept: context.req.header('accept') ?? '*/*',
        ...(method === 'POST'
          ? { 'content-type': context.req.header('content-type') ?? 'text/plain' }
          : {}),
      },
      ...(method === 'POST' ? { body: new Uint8Array(await readBytes(context, formBytes)) } : {}),
    });
    for (const name of passedOn) {
      const value = answer.headers.get(name);
      if (value !== null) context.header(name, value);
    }
    return context.body(await answer.arrayBuffer(), answer.status as ContentfulStatusCode);
  });
}

/**
 * Admits callers with the token, which a link carries once and a session cookie keeps. Every other call
 * under /dev gets a 404.
 */
function requireToken(token: string | null, publicUrl: string): MiddlewareHandler<HttpEnv> {
  const isRight = (given: string | null | undefined): given is string =>
    token !== null && typeof given === 'string' && timingSafeEqual(digest(given), digest(token));
  return async (context, next) => {
    const url = new URL(context.req.url);
    const given = url.searchParams.get('token');
    if (context.req.method === 'GET' && isRight(given)) {
      setCookie(context, tokenCookie, given, {
        path: '/dev',
        httpOnly: true,
        sameSite: 'Strict',
        secure: publicUrl.startsWith('https:'),
      });
      context.header('Cache-Control', 'no-store');
      url.searchParams.delete('token');
      return context.redirect(`${url.pathname}${url.search}`);
    }
    if (!isCheckout(context.req.method, url) && !isRight(getCookie(context, tokenCookie)))
      throw notFound();
    return next();
  };
}

const tokenCookie = 'sf_dev';

/** Hashed, so that both sides of the comparison have one length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The checkout page and its buttons. */
function isCheckout(method: string, { pathname }: URL): boolean {
  if (method === 'GET') return /^\/dev\/stripe\/checkout\/\w+$/.test(pathname);
  return method === 'POST' && /^\/dev\/stripe\/checkout\/\w+\/[\w-]+$/.test(pathname);
}

const formBytes = 16 * 1024;

const passedOn = [
  'content-type',
  'content-security-policy',
  'cache-control',
  'location',
  'referrer-policy',
  'x-content-type-options',
  'vary',
];

/**
 * A link from another site to the mailbox is a mistake; a form or script there is an attack. The pages of
 * a payment are the exception: a user may browse under another of our names than the provider was given,
 * and follows a link. These pages change things only by their own forms.
 */
function isAllowedSite(request: Request, url: URL, ours: ReadonlySet<string>): boolean {
  const site = request.headers.get('sec-fetch-site');
  const origin = request.headers.get('origin');
  // A page without a referrer sends an origin of null; then the browser's Sec-Fetch-Site decides.
  if (request.method !== 'GET')
    return site === null ? origin === null || isOurs(origin, ours) : site === 'same-origin';
  if (site !== 'cross-site') return true;
  const isVisit = request.headers.get('sec-fetch-mode') === 'navigate';
  return isVisit && /^\/dev\/stripe\/(?:checkout|receipts|invoices|portal)\//.test(url.pathname);
}

function isOurs(origin: string, ours: ReadonlySet<string>): boolean {
  return URL.canParse(origin) && ours.has(new URL(origin).hostname);
}

const timeoutMs = 5_000;

async function ask(sandboxUrl: string | null, url: URL, request: RequestInit): Promise<Response> {
  if (sandboxUrl === null) throw away();
  try {
    return await fetch(new URL(`${url.pathname}${url.search}`, sandboxUrl), {
      ...request,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch {
    throw away();
  }
}

function away(): Problem {
  return new Problem('busy', "The sandbox isn't responding right now.", {
    retryAfterSeconds: 1,
  });
}
