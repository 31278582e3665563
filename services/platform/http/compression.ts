import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { MiddlewareHandler } from 'hono';
import type { HttpEnv } from './http.ts';

/**
 * Answers of JSON and CSV go gzipped to whoever asks for it. Not those of `/api/auth/`: beside what a
 * caller sent they hold what lets somebody in, and the length of a packed answer tells how much of the
 * one stands in the other (BREACH). These are also the calls that a browser proves by a cookie; every
 * other needs a token that no foreign page can send. A stream is never packed: it has to arrive as it
 * is written.
 */
export function compression(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    await next();
    const { res: response } = context;
    const type = response.headers.get('content-type') ?? '';
    const isPackable = /^(?:application\/json|text\/csv)\b/.test(type);
    if (!isPackable || context.req.path.startsWith('/api/auth/')) return;
    const bytes = Buffer.from(await response.arrayBuffer());
    const headers = new Headers(response.headers);
    const isLarge = bytes.length >= leastBytes;
    if (isLarge) headers.append('Vary', 'Accept-Encoding');
    const isAsked = isLarge && takesGzip(context.req.header('accept-encoding') ?? '');
    if (isAsked) headers.set('Content-Encoding', 'gzip');
    const body = isAsked ? await pack(bytes) : bytes;
    // Emptied first: what is put in its place would otherwise take over its headers once more.
    context.res = undefined;
    context.res = new Response(Uint8Array.from(body), { status: response.status, headers });
  };
}

/** Shorter ones become no shorter by it. */
const leastBytes = 1_000;

/** `gzip;q=0` says that it must not be. */
export function takesGzip(accepted: string): boolean {
  return accepted
    .toLowerCase()
    .split(',')
    .some((one) => /^\s*(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|$)/.test(one));
}

const pack = promisify(gzip);
