import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isFromThisMachine } from '#services/platform/client-address.ts';
import { createRouter, notFound, readBytes } from '#services/platform/http.ts';
import { Problem } from '#services/platform/problem.ts';

export type DevPagesOptions = {
  /** Where the sandbox listens; null when there is none. */
  sandboxUrl: string | null;
  publicUrl: string;
  /** ALLOW_PUBLIC_SANDBOX: others than this machine may come, and pay by what moves no money. */
  isPublic: boolean;
};

/**
 * The sandbox's own pages on our port, in local mode only, passed on as they are. Whoever reads the
 * mailbox can sign in as anybody, and whoever plays the bank can take credits away, so they are shown
 * under our own names alone: a page elsewhere that points its name at this machine gets nothing. A name
 * is only what the caller wrote, so the call must come from this machine besides. Of a public sandbox
 * others see the page of a checkout, which they need to buy anything, and nothing else.
 */
export function devPages({ sandboxUrl, publicUrl, isPublic }: DevPagesOptions) {
  const ours = new Set([...ownNames, new URL(publicUrl).hostname]);
  const paths = ['/mail', '/mail/*', '/stripe', '/stripe/*'];
  return createRouter().on(['GET', 'POST', 'DELETE'], paths, async (context) => {
    const url = new URL(context.req.url);
    const { method } = context.req;
    const isOpen = isFromThisMachine(context) || (isPublic && isCheckout(method, url));
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
 * that the provider was told, and comes by a link. What they change, they change by forms of their own.
 */
function mayCome(request: Request, url: URL, ours: ReadonlySet<string>): boolean {
  const site = request.headers.get('sec-fetch-site');
  const origin = request.headers.get('origin');
  // A page that tells nobody where it is sends an origin of null; then the browser's own word counts.
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
  return new Problem(503, 'busy', 'The sandbox does not answer right now.', {
    retryAfterSeconds: 1,
  });
}
