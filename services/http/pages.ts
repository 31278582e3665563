import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { getCookie } from 'hono/cookie';
import * as v from 'valibot';
import { loopbackNames } from '#services/platform/http/cors.ts';
import { createRouter } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';

/** The built pages of web/dist, listed in its `pages.json`, in the visitor's theme. */
export type WebPagesOptions = {
  /** web/dist, absolute. */
  dist: string;
  isLocal: boolean;
  /** The address that links lead to. */
  publicUrl: string;
};

const Page = v.object({ file: v.string(), status: v.number() });
const Manifest = v.object({
  pages: v.record(v.string(), Page),
  application: v.object({ ...Page.entries, paths: v.array(v.string()) }),
  notFound: Page,
  htmlTag: v.string(),
  contentPolicy: v.object({
    styleHashes: v.array(v.string()),
    scriptHashes: v.array(v.string()),
  }),
  immutablePrefix: v.string(),
});
type Manifest = v.InferOutput<typeof Manifest>;

/** Null when the pages have not been built. */
export function readManifest(dist: string): Manifest | null {
  const path = join(dist, 'pages.json');
  return existsSync(path) ? v.parse(Manifest, JSON.parse(readFileSync(path, 'utf8'))) : null;
}

export function webPages({ dist, isLocal, publicUrl }: WebPagesOptions) {
  const manifest = readManifest(dist);
  const files = createFiles(dist);
  if (!manifest) throw new Error(`There are no pages in ${dist}: build them first`);
  const policy = contentPolicy(manifest);
  const isApplication = applicationPaths(manifest.application.paths);

  const sendPage = async (context: HttpContext, page: v.InferOutput<typeof Page>) => {
    const html = await files.text(page.file);
    const theme = getCookie(context, 'sf_theme');
    const attributes = [
      ...(theme === 'light' || theme === 'dark' ? [` data-theme="${theme}"`] : []),
      ...(isLocal ? [' data-mode="local"'] : []),
    ].join('');
    const tag = manifest.htmlTag.replace('>', `${attributes}>`);
    return send(context, Buffer.from(html.replace(manifest.htmlTag, tag)), {
      status: page.status,
      type: 'text/html; charset=utf-8',
      headers: {
        'Cache-Control': mayCarryToken(context) ? 'no-store' : 'no-cache',
        'Content-Security-Policy': policy,
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
      headers: {
        'Cache-Control': path.startsWith(manifest.immutablePrefix)
          ? 'public, max-age=31536000, immutable'
          : 'no-cache',
      },
    });
  });
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

/** No script or style but our own files and the inlined style by its hash. */
function contentPolicy({ contentPolicy: { styleHashes, scriptHashes } }: Manifest): string {
  return [
    "default-src 'self'",
    `script-src 'self'${quoted(scriptHashes)}`,
    `style-src 'self'${quoted(styleHashes)}`,
    "img-src 'self' data:",
    "font-src 'self'",
    // Sockets to our own host are part of it.
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self' https://checkout.stripe.com",
  ].join('; ');
}

/** Mailed links carry a token in the address, so no cache may keep these pages. */
function mayCarryToken(context: HttpContext): boolean {
  const { pathname, search } = new URL(context.req.url);
  return search !== '' || pathname.startsWith('/auth/');
}

function quoted(hashes: readonly string[]): string {
  return hashes.map((hash) => ` '${hash}'`).join('');
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
      const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
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

const compressed = new Map<string, Buffer>();

function send(
  context: HttpContext,
  bytes: Buffer,
  answer: { status: number; type: string; headers: Record<string, string>; etag?: string },
): Response {
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
  const body = packed(bytes, encoding, answer.etag);
  return new Response(Uint8Array.from(body), { status: answer.status, headers });
}

function encodingFor(context: HttpContext, type: string, bytes: Buffer): 'br' | 'gzip' | null {
  if (bytes.length < 1000 || !/^(text|application)\/|svg/.test(type)) return null;
  const accepted = context.req.header('accept-encoding') ?? '';
  if (/\bbr\b/.test(accepted)) return 'br';
  return /\bgzip\b/.test(accepted) ? 'gzip' : null;
}

/** Files are compressed once and well; pages differ by theme and are compressed fast each time. */
function packed(bytes: Buffer, encoding: 'br' | 'gzip', etag: string | undefined): Buffer {
  const key = etag === undefined ? undefined : `${encoding} ${etag}`;
  const known = key === undefined ? undefined : compressed.get(key);
  if (known) return known;
  const body =
    encoding === 'br'
      ? brotliCompressSync(bytes, {
          params: { [constants.BROTLI_PARAM_QUALITY]: key === undefined ? 4 : 9 },
        })
      : gzipSync(bytes);
  if (key !== undefined) compressed.set(key, body);
  return body;
}
