import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve, type ServerType } from '@hono/node-server';
import { Hono } from 'hono';
import type { AddressInfo } from 'node:net';
import { apiDocs } from '#services/http/docs.ts';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { defaultPreferences } from '#services/identity/contract/preferences.ts';
import { identityProblems } from '#services/identity/refusals.ts';
import { createLog } from '#services/platform/process/log.ts';
import { buildWebWhenStale } from '#web/build.ts';
import { webPages } from '#services/http/pages.ts';

/**
 * The built pages, sent by the server's own code under its own content policy. `/api` is answered by
 * the test, which decides what the server says; the journeys against the real one are end to end.
 */
const root = join(import.meta.dirname, '../../..');

export type Reply = { status: number; body: unknown; headers?: Record<string, string> };
export type Call = {
  method: string;
  path: string;
  /** The query with its question mark, or empty. */
  search: string;
  /** The value of a JSON body, the bytes of any other body. */
  body: unknown;
  headers: Headers;
};
export type Api = (call: Call) => Reply;

export type Site = {
  origin: string;
  calls: Call[];
  /** The requested pages and files, in order. */
  files: string[];
  /** Replaces the server's replies from now on. */
  answer: (api: Api) => void;
  close: () => Promise<void>;
};

export const ok = (data: unknown): Reply => ({ status: 200, body: { data } });

export const problem = (
  status: number,
  code: string,
  message: string,
  rest: { headers?: Record<string, string>; errors?: { field: string; message: string }[] } = {},
): Reply => ({
  status,
  body: {
    type: 'about:blank',
    title: titleOf(code),
    status,
    detail: message,
    message,
    code,
    errors: rest.errors ?? [],
    request_id: 'req_of_this_test',
  },
  headers: { 'content-type': 'application/problem+json', ...rest.headers },
});

/** The server's own title, where known. */
function titleOf(code: string): string {
  const titles: Readonly<Record<string, { title: string }>> = identityProblems;
  return titles[code]?.title ?? code;
}

/** A visitor without a session; no other call is expected. */
export const visitor: Api = ({ path }) =>
  path === '/api/auth/session' ? ok(null) : problem(500, 'internal', 'Unexpected');

/** A signed-in user who can sign in, up and out; every other call is a 404. */
export const member: Api = ({ path }) => {
  if (path === '/api/auth/logout') return ok({ ok: true });
  return path.startsWith('/api/auth/')
    ? ok(sessionOf())
    : problem(404, 'not-found', 'Nothing here');
};

/** No session yet; `reply` answers a login or sign-up, and a successful one starts the session. */
export const newcomer = (reply: Reply): Api => {
  let session: unknown = null;
  return (call) => {
    if (call.path === '/api/auth/session') return ok(session);
    if (!/\/(login|signup)$/.test(call.path)) return member(call);
    if (reply.status < 300) session = sessionOf();
    return reply;
  };
};

/** The reply to a sign-in; its access token lasts `seconds`. */
export function sessionOf(name = 'Ada Example', seconds = 600): SessionReply {
  return {
    token: 'token-of-this-test',
    access_token: 'token-of-this-test',
    expires_at: new Date(Date.now() + seconds * 1000).toISOString(),
    expires_in: seconds,
    user: {
      id: 'usr_01J00000000000000000000000',
      email: 'ada@example.com',
      name,
      subscription_tier: 'free',
      optimizations_used: 0,
      optimizations_limit: 5,
      preferred_dashboard: 'standard',
      preferences: defaultPreferences,
      created_at: '2026-11-01T00:00:00.000Z',
      updated_at: '2026-11-01T00:00:00.000Z',
    },
  };
}

/** Builds the pages when stale and returns their folder. */
export async function buildPages(): Promise<string> {
  await buildWebWhenStale({
    root,
    productName: 'Sevenfold',
    contactEmail: null,
    analyticsUrl: null,
    socialLinks: [],
    modelsFile: null,
    signal: new AbortController().signal,
    log: createLog({ level: 'error', process: 'build' }),
  });
  return join(root, 'web/dist');
}

export async function serveSite(
  options: { api?: Api; isLocal?: boolean; analyticsUrl?: string } = {},
): Promise<Site> {
  // A copy, so that a build by another process does not change the pages during a test.
  const dist = mkdtempSync(join(tmpdir(), 'sevenfold-pages-'));
  cpSync(await buildPages(), dist, { recursive: true });
  let api = options.api ?? visitor;
  const calls: Call[] = [];
  const files: string[] = [];
  const app = new Hono()
    .all('/api/*', async (context) => {
      const call: Call = {
        method: context.req.method,
        path: context.req.path,
        search: new URL(context.req.url).search,
        body: await bodyOf(context.req.raw),
        headers: context.req.raw.headers,
      };
      calls.push(call);
      const { status, body, headers } = api(call);
      const head = { status, ...(headers ? { headers } : {}) };
      // A stream is sent as written; everything else is JSON.
      return body instanceof ReadableStream ? new Response(body, head) : Response.json(body, head);
    })
    .get('/empty', (context) => context.html('<!doctype html><title>Empty</title>'))
    .use(async (context, next) => {
      files.push(context.req.path);
      await next();
    })
    .route('/', apiDocs({ productName: 'Sevenfold' }))
    .route(
      '/',
      webPages({
        dist,
        isLocal: options.isLocal ?? false,
        publicUrl: 'http://127.0.0.1:1',
        analyticsUrl: options.analyticsUrl ?? null,
        announcement: async () => '',
      }),
    );
  const { promise, resolve } = Promise.withResolvers<AddressInfo>();
  const server: ServerType = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, resolve);
  const { port } = await promise;
  return {
    origin: `http://127.0.0.1:${port}`,
    calls,
    files,
    answer: (next) => {
      api = next;
    },
    close: async () => {
      await closed(server);
      rmSync(dist, { recursive: true, force: true });
    },
  };
}

/** JSON as its value, anything else as its bytes. */
async function bodyOf(request: Request): Promise<unknown> {
  const bytes = Buffer.from(await request.arrayBuffer());
  if (request.headers.get('content-type') !== 'application/json') return bytes;
  return bytes.length === 0 ? undefined : (JSON.parse(bytes.toString()) as unknown);
}

async function closed(server: ServerType): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  if ('closeAllConnections' in server) server.closeAllConnections();
  return promise;
}
