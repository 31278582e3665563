import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { getCookie } from 'hono/cookie';
import { LRUCache } from 'lru-cache';
import * as v from 'valibot';
import { loopbackNames } from '#services/platform/http/cors.ts';
import { createRouter } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';

/** The built pages of web/dist, listed in its `pages.json`, in the visitor's theme, motion and density. */
export type WebPagesOptions = {
  /** web/dist, absolute. */
  dist: string;
  isLocal: boolean;
  /** The address that links lead to. */
  publicUrl: string;
  /** A script that pages load after consent; null for none. */
  analyticsUrl: string | null;
  /** Markup at the top of every page; empty for none. */
  announcement: () => Promise<string>;
};

const Page = v.object({ file: v.string(), status: v.number(), styleHash: v.string() });
const Manifest = v.object({
  pages: v.record(v.string(), Page),
  application: v.object({ ...Page.entries, paths: v.array(v.string()) }),
  notFound: Page,
  htmlTag: v.string(),
  announcementMark: v.string(),
  consent: v.object({
    begin: v.string(),
    end: v.string(),
    /** A pattern that finds a choice in the Cookie header. */
    choice: v.string(),
  }),
  immutablePrefix: v.string(),
});
type Manifest = v.InferOutput<typeof Manifest>;

/** What a cookie may choose; anything else never reaches a page. */
const displayWords: Readonly<Record<string, readonly string[]>> = {
  theme: ['light', 'dark'],
  motion: ['reduced', 'full'],
  density: ['compact'],
};

/** Null when the pages have not been built. */
export function readManifest(dist: string): Manifest | null {
  const path = join(dist, 'pages.json');
  return existsSync(path) ? v.parse(Manifest, JSON.parse(readFileSync(path, 'utf8'))) : null;
}

export function webPages({
  dist,
  isLocal,
  publicUrl,
  analyticsUrl,
  announcement,
}: WebPagesOptions) {
  const manifest = readManifest(dist);
  const files = createFiles(dist);
  if (!manifest) throw new Error(`No pages found in ${dist}. Build them first.`);
  const packFile = createPacker(filesAtMost);
  // Every page in every combination, so that no visitor makes the others' be compressed again.
  const packPage = createPacker((Object.keys(manifest.pages).length + 2) * variants);
  const { consent } = manifest;
  const choice = new RegExp(consent.choice);
  const isApplication = applicationPaths(manifest.application.paths);

  const sendPage = async (context: HttpContext, page: v.InferOutput<typeof Page>) => {
    const html = await files.text(page.file);
    const chosen = Object.entries(displayWords)
      .flatMap(([name, words]) => {
        const word = words.find((known) => known === getCookie(context, `sf_${name}`));
        return word === undefined ? [] : [` data-${name}="${word}"`];
      })
      .join('');
    const tag = manifest.htmlTag.replace('>', `${chosen}${isLocal ? ' data-mode="local"' : ''}>`);
    const hasChosen = choice.test(context.req.header('cookie') ?? '');
    const asked = hasChosen ? without(html, consent) : html;
    const announced = await announcement();
    const shown = asked
      .replace(manifest.htmlTag, tag)
      .replace(manifest.announcementMark, () => announced);
    const isFirstVisit = chosen === '' && !hasChosen;
    return send(context, Buffer.from(shown), {
      status: page.status,
      type: 'text/html; charset=utf-8',
      pack: (bytes, encoding) => packPage(bytes, encoding, isFirstVisit ? 11 : 5),
      headers: {
        'Cache-Control': mayCarryToken(context) ? 'no-store' : 'no-cache',
        ...(isShared(context.req.path) ? { 'X-Robots-Tag': 'noindex' } : {}),
        'Content-Security-Policy': contentPolicy(page.styleHash, analyticsUrl),
        Vary: 'Accept-Encoding, Cookie',
      },
    });
  };

  return createRouter().get('*', async (context) => {
    const home = isLocal ? otherLoopbackName(context.req.url, publicUrl) : null;
    if (home !== null) return context.redirect(home, 302);
    const path = withoutTrailingSlashes(context.req.path);
    const page = manifest.pages[path];
    if (page) return sendPage(context, page);
    if (isApplication(path)) return sendPage(context, manifest.application);
    const file = await files.find(path);
    if (!file) return sendPage(context, manifest.notFound);
    return send(context, file.bytes, {
      status: 200,
      type: file.type,
      etag: file.etag,
      pack: (bytes, encoding) => packFile(bytes, encoding, 9, file.etag),
      headers: {
        'Cache-Control': path.startsWith(manifest.immutablePrefix)
          ? 'public, max-age=31536000, immutable'
          : 'no-cache',
      },
    });
  });
}

/** The page without what stands between two marks. */
function without(html: string, { begin, end }: { begin: string; end: string }): string {
  const from = html.indexOf(begin);
  const to = html.indexOf(end);
  return from < 0 || to < from ? html : html.slice(0, from) + html.slice(to + end.length);
}

/** A loop: a regular expression would take quadratic time on a long run of slashes. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/**
 * Cookies belong to a host name: a user who signs up at localhost has no cookies when a mailed link opens
 * 127.0.0.1. So pages redirect to the host name of our links, if both names are this machine on this port.
 */
function otherLoopbackName(requested: string, publicUrl: string): string | null {
  const url = new URL(requested);
  const home = new URL(publicUrl);
  const isOther =
    url.hostname !== home.hostname &&
    url.port === home.port &&
    loopbackNames.has(url.hostname) &&
    loopbackNames.has(home.hostname);
  return isOther ? `${home.origin}${url.pathname}${url.search}` : null;
}

/** No script or style but our own files, the inlined style by its hash, and the operator's analytics. */
function contentPolicy(styleHash: string, analyticsUrl: string | null): string {
  const analytics = analyticsUrl === null ? '' : ` ${new URL(analyticsUrl).origin}`;
  return [
    "default-src 'self'",
    `script-src 'self'${analytics}`,
    `style-src 'self' '${styleHash}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    // Sockets to our own host are part of it.
    `connect-src 'self'${analytics}`,
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self' https://checkout.stripe.com",
  ].join('; ');
}

/** Mailed and shared links carry a token in the address, so no cache may keep these pages. */
function mayCarryToken(context: HttpContext): boolean {
  const { pathname, search } = new URL(context.req.url);
  return search !== '' || pathname.startsWith('/auth/') || isShared(pathname);
}

/** Search engines must not list a result that somebody shared. */
function isShared(path: string): boolean {
  return path.startsWith('/shared/');
}

/** `/optimizations/$id` matches one segment where the parameter stands. */
function applicationPaths(paths: readonly string[]): (path: string) => boolean {
  const patterns = paths.map(
    (path) =>
      new RegExp(`^${path.replace(/[.*+?^{}()|[\]\\]/g, '\\$&').replace(/\$\w*/g, '[^/]+')}$`),
  );
  return (path) => patterns.some((pattern) => pattern.test(path));
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

type Found = { bytes: Buffer; type: string; etag: string };

function createFiles(dist: string) {
  const known = new Map<string, Found>();
  const read = async (path: string): Promise<Found | null> => {
    const cached = known.get(path);
    if (cached) return cached;
    const type = types[extname(path)];
    if (type === undefined) return null;
    try {
      const bytes = await readFile(join(dist, path));
      const etag = `"${digestOf(bytes)}"`;
      const found = { bytes, type, etag };
      known.set(path, found);
      return found;
    } catch (error) {
      if (error instanceof Error && 'code' in error && isNoFile.has(String(error.code)))
        return null;
      throw error;
    }
  };
  return {
    find: async (path: string): Promise<Found | null> =>
      isFileAddress(path) && path !== '/pages.json' ? read(path) : null,
    text: async (file: string): Promise<string> => readFile(join(dist, file), 'utf8'),
  };
}

/**
 * The names of built files: no escapes and no leading dot, so each file has one address. Varied addresses
 * cannot fill the cache.
 */
function isFileAddress(path: string): boolean {
  return path.length <= longestFileAddress && /^(?:\/[\w-][\w.-]*)+$/.test(path);
}

const longestFileAddress = 200;
const isNoFile: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);

async function send(
  context: HttpContext,
  bytes: Buffer,
  answer: {
    status: number;
    type: string;
    headers: Record<string, string>;
    etag?: string;
    pack: (bytes: Buffer, encoding: Encoding) => Promise<Buffer>;
  },
): Promise<Response> {
  const headers: Record<string, string> = {
    'Content-Type': answer.type,
    Vary: 'Accept-Encoding',
    ...answer.headers,
  };
  if (answer.etag !== undefined) {
    headers['ETag'] = answer.etag;
    if (context.req.header('if-none-match') === answer.etag)
      return new Response(null, { status: 304, headers });
  }
  const encoding = encodingFor(context, answer.type, bytes);
  if (encoding === null)
    return new Response(Uint8Array.from(bytes), { status: answer.status, headers });
  headers['Content-Encoding'] = encoding;
  const body = await answer.pack(bytes, encoding);
  return new Response(Uint8Array.from(body), { status: answer.status, headers });
}

function encodingFor(context: HttpContext, type: string, bytes: Buffer): Encoding | null {
  if (bytes.length < 1000 || !/^(text|application)\/|svg/.test(type)) return null;
  const accepted = context.req.header('accept-encoding') ?? '';
  if (/\bbr\b/.test(accepted)) return 'br';
  return /\bgzip\b/.test(accepted) ? 'gzip' : null;
}

const encodings = ['br', 'gzip'] as const;
type Encoding = (typeof encodings)[number];

/** Of one page: each choice of display or none, with the banner or without, in each encoding. */
const variants = Object.values(displayWords).reduce(
  (all, words) => all * (words.length + 1),
  2 * encodings.length,
);
const filesAtMost = 1_000;
const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/**
 * Compresses once. The page of a first visit takes Brotli's best quality, because its number of packets
 * decides when it is seen; for every combination, or a large script, that would take a second or more.
 */
function createPacker(max: number) {
  const known = new LRUCache<string, Promise<Buffer>>({ max });
  return (
    bytes: Buffer,
    encoding: Encoding,
    quality: number,
    digest: string = digestOf(bytes),
  ): Promise<Buffer> => {
    const key = `${encoding} ${digest}`;
    const earlier = known.get(key);
    if (earlier) return earlier;
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality };
    const body = encoding === 'br' ? compressBrotli(bytes, { params }) : compressGzip(bytes);
    known.set(key, body);
    return body;
  };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
}
