import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as v from 'valibot';
import { styleOfPage, withoutTypefaces } from './page-style.ts';
import type { PageManifest } from './src/app/page-manifest.ts';
import { escapeHtml } from '#services/platform/http/html.ts';

/**
 * The last step of the build. It writes one HTML file per public page, one for unknown addresses,
 * one for the signed-in area, and `pages.json`, which maps paths to files.
 *
 * The style is inlined and allowed by its hash: all of it for the signed-in area, for any other page what
 * its own markup uses, so that the page fits the first packets of a connection. The starter loads the
 * rest. There is no inline script and no style attribute, so the content policy needs no exception.
 */
type Rendered = {
  html: string;
  title: string;
  description: string | undefined;
  indexed: boolean;
};
type Renderer = {
  renderPage: (path: string) => Promise<Rendered>;
  renderShell: () => Rendered;
  listPaths: () => { prerendered: string[]; application: string[] };
  consent: { choice: string };
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
const styleMark = '<!--style-->';
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
  const style = await readStyle(dist);
  const document = documentMaker(template, {
    style,
    fonts: await fontFiles(dist),
    starter: fileOf(manifest, 'src/start.ts'),
    application: fileOf(manifest, 'index.html'),
  });
  const write = async (file: string, page: Page) => {
    const { html, styleHash } = document(page);
    await writeFile(join(dist, file), html);
    return { file, styleHash };
  };
  const paths = module.listPaths();

  const pages: PageManifest['pages'] = {};
  for (const path of paths.prerendered) {
    const file = path === '/' ? 'index.html' : `${path.slice(1)}.html`;
    const rendered = await module.renderPage(path);
    const written = await write(file, { rendered, page: path, parts: scriptsOf(manifest, path) });
    pages[path] = { ...written, status: 200 };
  }
  const notFound = await write('not-found.html', {
    rendered: { ...(await module.renderPage(missingPath)), indexed: false },
    page: 'not-found',
    parts: [],
  });
  const application = await write('app.html', {
    rendered: module.renderShell(),
    page: '',
    parts: [],
  });
  const pageManifest: PageManifest = {
    pages,
    application: { ...application, status: 200, paths: paths.application.toSorted() },
    notFound: { ...notFound, status: 404 },
    htmlTag,
    announcementMark: '<!--announcement-->',
    consent: { begin: '<!--consent-->', end: '<!--/consent-->', ...module.consent },
    immutablePrefix: '/assets/',
  };
  await writeFile(join(dist, 'pages.json'), `${JSON.stringify(pageManifest, null, 2)}\n`);
  await rm(join(dist, '.vite'), { recursive: true });
}

function isRenderer(module: unknown): module is Renderer {
  return (
    typeof module === 'object' &&
    module !== null &&
    ['renderPage', 'renderShell', 'listPaths', 'consent'].every((name) => name in module)
  );
}

type Style = { text: string; address: string };

/** The one style sheet of the build. Its file keeps what pages load later. */
async function readStyle(dist: string): Promise<Style> {
  const names = (await readdir(join(dist, 'assets'))).filter((name) => name.endsWith('.css'));
  const [name] = names;
  if (name === undefined || names.length > 1) {
    throw new Error(`Expected one style sheet, found ${names.length}`);
  }
  const path = join(dist, 'assets', name);
  const text = (await readFile(path, 'utf8')).trim();
  await writeFile(path, withoutTypefaces(text));
  return { text, address: `/assets/${name}` };
}

/** The part of each typeface that every page needs. */
async function fontFiles(dist: string): Promise<string[]> {
  const names = await readdir(join(dist, 'assets'));
  return names
    .filter((name) => name.endsWith('.woff2') && !name.includes('-more'))
    .map((name) => `/assets/${name}`);
}

type Page = { rendered: Rendered; page: string; parts: readonly string[] };
type Files = { style: Style; fonts: readonly string[]; starter: string; application: string };

function documentMaker(
  template: string,
  files: Files,
): (page: Page) => { html: string; styleHash: string } {
  const { style, fonts, starter, application } = files;
  const bare = template.replace(/\s*<link rel="stylesheet"[^>]*>/g, '');
  const script = `src="${application}"`;
  for (const part of [htmlTag, script])
    if (!bare.includes(part)) throw new Error(`index.html must contain ${part}`);
  return ({ rendered, page, parts }) => {
    if (/\sstyle="/.test(rendered.html)) {
      throw new Error(
        `${page || 'The shell'} has a style attribute, which the content policy forbids`,
      );
    }
    const head = [
      `<title>${escapeHtml(rendered.title)}</title>`,
      rendered.description &&
        `<meta name="description" content="${escapeHtml(rendered.description)}" />`,
      !rendered.indexed && '<meta name="robots" content="noindex" />',
      ...fonts.map(
        (font) => `<link rel="preload" href="${font}" as="font" type="font/woff2" crossorigin />`,
      ),
      styleMark,
    ];
    const scripts = [application, ...parts].join(' ');
    const container =
      page === ''
        ? '<div id="app">'
        : `<div id="app" data-page="${page}" data-style="${style.address}" data-scripts="${scripts}">`;
    const html = bare
      .replace(script, page === '' ? script : `src="${starter}"`)
      .replace('<!--head-->', () => head.filter(Boolean).join('\n    '))
      .replace('<div id="app"><!--app-->', () => `${container}${rendered.html}`);
    const own = page === '' ? style.text : styleOfPage(style.text, html);
    return {
      html: html.replace(styleMark, () => `<style>${own}</style>`),
      styleHash: sourceHash(own),
    };
  };
}

/** The address of what a source file was built into. */
function fileOf(manifest: ViteManifest, source: string): string {
  const chunk = manifest[source];
  if (!chunk) throw new Error(`The build made nothing of ${source}`);
  return `/${chunk.file}`;
}

/** The scripts of a page's own route, without those of the application. */
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
