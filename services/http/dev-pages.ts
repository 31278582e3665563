import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isFromThisMachine } from '#services/platform/http/client-address.ts';
import { createRouter, notFound, readBytes } from '#services/platform/http/http.ts';
import type { HttpEnv } from '#services/platform/http/http.ts';
import { Problem } from '#services/platform/problem.ts';

export type DevPagesOptions = {
  /** Where the sandbox listens; null when there is none. */
  sandboxUrl: string | null;
  publicUrl: string;
  /** ALLOW_PUBLIC_SANDBOX: others than this machine may come, and pay by what moves no money. */
  isPublic: boolean;
  /** What opens a public sandbox's pages; null keeps them closed. */
  token: string | null;
};

/**
 * The sandbox's own pages on our port, in local mode only, passed on as they are. The mailbox lets
 * its reader sign in as anybody, and the bank's pages take credits away, so they are shown
 * under our own names alone: a page elsewhere that points its name at this machine gets nothing. A name
 * is only what the caller wrote, so the call must come from this machine besides.
 *
 * A public sandbox may stand behind a proxy on this machine that says nothing of itself, so where a call
 * comes from proves nothing: its pages open to the token of the start. Without it others see the page of
 * a checkout, which they need to buy anything, and nothing else.
 */
export function devPages({ sandboxUrl, publicUrl, isPublic, token }: DevPagesOptions) {
  const pages = createRouter();
  if (isPublic) pages.use('*', requireToken(token, publicUrl));
  const ours = new Set([...ownNames, new URL(publicUrl).hostname]);
  const paths = ['/mail', '/mail/*', '/stripe', '/stripe/*'];
  return pages.on(['GET', 'POST', 'DELETE'], paths, async (context) => {
    const url = new URL(context.req.url);
    const { method } = context.req;
    const isOpen = isPublic || isFromThisMachine(context);
    if (!isOpen || !ours.has(url.hostname) || !mayCome(context.req.raw, url, ours))
      throw notFound();
    const answer = await ask(sandboxUrl, url, {
      method,
      headers: {
        accept: context.req.header('accept') ?? '*/*',
        ...(method === 'POST'
          ? { 'content-type': context.req.header('content-type') ?? 'text/plain' }
          : {}),
      },
      ...(method === 'POST' ? { body: await readBytes(context, formBytes) } : {}),
    });
    for (const name of passedOn) {
      const value = answer.headers.get(name);
      if (value !== null) context.header(name, value);
    }
    return context.body(await answer.arrayBuffer(), answer.status as ContentfulStatusCode);
  });
}

/**
 * Lets those pass who have the token, which a link brings once and a cookie keeps for as long as the
 * browser is open. Everything else under /dev looks as if it did not exist.
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

/** Of one length, whatever somebody sends. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The page itself, and the buttons on it. */
function isCheckout(method: string, { pathname }: URL): boolean {
  if (method === 'GET') return /^\/dev\/stripe\/checkout\/\w+$/.test(pathname);
  return method === 'POST' && /^\/dev\/stripe\/checkout\/\w+\/[\w-]+$/.test(pathname);
}

const ownNames = ['localhost', '127.0.0.1', '[::1]'];
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
 * A link to the mailbox from elsewhere is a mistake, and a form or a script there is an attack. The
 * pages that a payment leads to are the exception: somebody may use another of our names than the one
 * that the provider was given, and comes by a link. What they change, they change by forms of their own.
 */
function mayCome(request: Request, url: URL, ours: ReadonlySet<string>): boolean {
  const site = request.headers.get('sec-fetch-site');
  const origin = request.headers.get('origin');
  // A page without a referrer sends an origin of null; then the browser's Sec-Fetch-Site counts.
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
  return new Problem('busy', 'The sandbox does not answer right now.', {
    retryAfterSeconds: 1,
  });
}
