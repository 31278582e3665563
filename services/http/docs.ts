import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Handler } from 'hono';
import { createRouter, notFound } from '#services/platform/http/http.ts';
import { guidePage, pageStyle } from './guide.ts';
import { escapeHtml } from '#services/platform/http/html.ts';

/**
 * `/api-docs`: the description of the API in our own copy of Swagger UI. It loads nothing from other
 * servers and runs only these scripts. `/api-docs/live` and `/api-docs/programs` explain
 * what it cannot say.
 */
const folder = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

/** Files of the viewer by name, with their media types. */
const files: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

const begin = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
window.addEventListener('DOMContentLoaded', () => {
  SwaggerUIBundle({
    url: '/api/openapi.json',
    dom_id: '#api',
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    // No validation by swagger.io.
    validatorUrl: null,
    // "Try it out" calls this server, even when PUBLIC_URL names another host.
    requestInterceptor: (request) => {
      const { pathname, search } = new URL(request.url, location.href);
      return { ...request, url: pathname + search };
    },
  });
});
`;

// The viewer uses data URLs for its icons and sets inline styles by script.
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function apiDocs({ productName }: { productName: string }) {
  const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <title>API · ${escapeHtml(productName)}</title>
    <link rel="stylesheet" href="/api-docs/swagger-ui.css" />
    <link rel="stylesheet" href="/api-docs/pages.css" />
    <script src="/api-docs/swagger-ui-bundle.js" defer></script>
    <script src="/api-docs/begin.js" defer></script>
  </head>
  <body>
    <nav class="top" aria-label="API">
      <a href="/api-docs/live">Live updates: how to use the stream and the socket</a>
      <a href="/api-docs/programs">Programs: how to use an API key</a>
    </nav>
    <main id="api">
      <noscript>The API description is at <a href="/api/openapi.json">/api/openapi.json</a>.</noscript>
    </main>
  </body>
</html>
`;
  const headers = { 'Content-Security-Policy': contentPolicy, 'Cache-Control': 'no-cache' };
  /** Rendered at the first request. */
  const guide = (name: Parameters<typeof guidePage>[0]): Handler => {
    let rendered: Promise<string> | null = null;
    return async (context) =>
      context.html(await (rendered ??= guidePage(name, { productName })), 200, headers);
  };
  return createRouter()
    .get('/api-docs', (context) => context.html(page, 200, headers))
    .get('/api-docs/live', guide('live'))
    .get('/api-docs/programs', guide('programs'))
    .get('/api-docs/pages.css', (context) =>
      context.body(pageStyle, 200, { 'Content-Type': 'text/css; charset=utf-8' }),
    )
    .get('/api-docs/begin.js', (context) =>
      context.body(begin, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }),
    )
    .get('/api-docs/:file', async (context) => {
      const name = context.req.param('file');
      const type = Object.hasOwn(files, name) ? files[name] : undefined;
      if (type === undefined) throw notFound();
      return context.body(await readFile(join(folder, name)), 200, {
        'Content-Type': type,
        'Cache-Control': 'public, max-age=86400',
      });
    });
}
