import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as v from 'valibot';
import type { PageManifest } from './src/app/page-manifest.ts';

/**
 * The last step of the build. It writes one HTML file per public page, one for unknown addresses,
 * one for the signed-in area, and `pages.json`, which maps paths to files.
 *
 * The style is inlined and allowed by its hash. There is no inline script and no style attribute,
 * so the content policy needs no exception.
 */
type Rendered = { html: string; title: string; description: string | undefined };
type Renderer = {
  renderPage: (path: string) => Promise<Rendered>;
  renderShell: () => Rendered;
  listPaths: () => { prerendered: string[]; application: string[] };
};

const ViteManifest = v.record(
  v.string(),
  v.object({
    file: v.string(),
    isEntry: v.optional(v.boolean(), false),
    imports: v.optional(v.array(v.string()), []),
    dynamicImports: v.optional(v.array(v.string()), []),
    css: v.optional(v.array(v.string()), []),
  }),
);
type ViteManifest = v.InferOutput<typeof ViteManifest>;

const htmlTag = '<html lang="en">';
/** A path that no route has. */
const missingPath = '/not-found';

export async function prerender({
  dist,
  renderer,
}: {
  dist: string;
  renderer: string;
}): Promise<void> {
  // The query string prevents a second build from importing the first one's renderer.
  const module: unknown = await import(`${pathToFileURL(renderer).href}?at=${Date.now()}`);
  if (!isRenderer(module)) throw new Error(`${renderer} does not render pages`);
  const manifest = v.parse(
    ViteManifest,
    JSON.parse(await readFile(join(dist, '.vite/manifest.json'), 'utf8')),
  );
  const template = await readFile(join(dist, 'index.html'), 'utf8');
  const style = await takeStyle(dist);
  const document = documentMaker(template, style, await fontFiles(dist));
  const paths = module.listPaths();

  const pages: PageManifest['pages'] = {};
  for (const path of paths.prerendered) {
    const file = path === '/' ? 'index.html' : `${path.slice(1)}.html`;
    const rendered = await module.renderPage(path);
    await writeFile(
      join(dist, file),
      document({ rendered, page: path, preload: scriptsOf(manifest, path), indexed: true }),
    );
    pages[path] = { file, status: 200 };
  }
  await writeFile(
    join(dist, 'not-found.html'),
    document({
      rendered: await module.renderPage(missingPath),
      page: 'not-found',
      preload: [],
      indexed: false,
    }),
  );
  await writeFile(
    join(dist, 'app.html'),
    document({ rendered: module.renderShell(), page: '', preload: [], indexed: false }),
  );
  const pageManifest: PageManifest = {
    pages,
    application: { file: 'app.html', status: 200, paths: paths.application.toSorted() },
    notFound: { file: 'not-found.html', status: 404 },
    htmlTag,
    contentPolicy: { styleHashes: [sourceHash(style)], scriptHashes: [] },
    immutablePrefix: '/assets/',
  };
  await writeFile(join(dist, 'pages.json'), `${JSON.stringify(pageManifest, null, 2)}\n`);
  await rm(join(dist, '.vite'), { recursive: true });
}

function isRenderer(module: unknown): module is Renderer {
  return (
    typeof module === 'object' &&
    module !== null &&
    ['renderPage', 'renderShell', 'listPaths'].every((name) => name in module)
  );
}

/** Every page carries the style inline, so its file is removed. */
async function takeStyle(dist: string): Promise<string> {
  const names = (await readdir(join(dist, 'assets'))).filter((name) => name.endsWith('.css'));
  const [name] = names;
  if (name === undefined || names.length > 1) {
    throw new Error(`Expected one style sheet, found ${names.length}`);
  }
  const style = (await readFile(join(dist, 'assets', name), 'utf8')).trim();
  await rm(join(dist, 'assets', name));
  return style;
}

async function fontFiles(dist: string): Promise<string[]> {
  const names = await readdir(join(dist, 'assets'));
  return names.filter((name) => name.endsWith('.woff2')).map((name) => `/assets/${name}`);
}

type Page = { rendered: Rendered; page: string; preload: readonly string[]; indexed: boolean };

function documentMaker(
  template: string,
  style: string,
  fonts: readonly string[],
): (page: Page) => string {
  const bare = template.replace(/\s*<link rel="stylesheet"[^>]*>/g, '');
  if (!bare.includes(htmlTag)) throw new Error(`index.html must contain ${htmlTag}`);
  return ({ rendered, page, preload, indexed }) => {
    if (/\sstyle="/.test(rendered.html)) {
      throw new Error(
        `${page || 'The shell'} has a style attribute, which the content policy forbids`,
      );
    }
    const head = [
      `<title>${escapeText(rendered.title)}</title>`,
      rendered.description &&
        `<meta name="description" content="${escapeText(rendered.description)}" />`,
      !indexed && '<meta name="robots" content="noindex" />',
      ...fonts.map(
        (font) => `<link rel="preload" href="${font}" as="font" type="font/woff2" crossorigin />`,
      ),
      ...preload.map((script) => `<link rel="modulepreload" crossorigin href="${script}" />`),
      `<style>${style}</style>`,
    ];
    return bare
      .replace('<!--head-->', () => head.filter(Boolean).join('\n    '))
      .replace(
        '<div id="app"><!--app-->',
        () => `<div id="app" data-page="${page}">${rendered.html}`,
      );
  };
}

function escapeText(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** The scripts of a page's own route. The template already has the entry's. */
function scriptsOf(manifest: ViteManifest, path: string): string[] {
  const route = `src/routes/${path === '/' ? 'index' : path.slice(1)}.tsx?`;
  const loaded = new Set<string>();
  const follow = (key: string): void => {
    const chunk = manifest[key];
    if (!chunk || loaded.has(chunk.file)) return;
    loaded.add(chunk.file);
    for (const imported of chunk.imports) follow(imported);
  };
  for (const [key, chunk] of Object.entries(manifest)) if (chunk.isEntry) follow(key);
  const already = new Set(loaded);
  for (const key of Object.keys(manifest)) if (key.startsWith(route)) follow(key);
  return [...loaded].filter((file) => !already.has(file)).map((file) => `/${file}`);
}

function sourceHash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
