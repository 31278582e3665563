import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { listedPaths } from '#tests/web/specification/pages.ts';
import { buildPages } from '#tests/web/support/site.ts';

/** Bytes; a kB is 1,000. Scripts and style are measured as sent with gzip. */
const limits = {
  publicScripts: 120_000,
  routeChunk: 30_000,
  style: 12_000,
  /** As sent with brotli and below the 10 packets of 1,460 bytes that open a connection, with headers. */
  page: 13_800,
  /** A document that is read from its top, which the first packets hold. */
  method: 16_000,
  fonts: 60_000,
  player: 25_000,
} as const;
/** The files of the pages that search engines are offered, and of the page for every other address. */
const listed = listedPaths.map((path) => (path === '/' ? 'index' : path.slice(1)));
const files = [...listed, 'not-found'];

let dist = '';
const text = (path: string): string => readFileSync(join(dist, path), 'utf8');
const zipped = (content: string | Buffer): number => gzipSync(content, { level: 9 }).length;

/** The scripts that a page names in its markup: the starter, the application and the page's parts. */
function scriptsOf(page: string): string[] {
  const html = text(`${page}.html`);
  const linked = [...html.matchAll(/[ "]\/(assets\/[\w.-]+\.js)\b/g)].map(([, path]) => path);
  return [...new Set(linked.filter((path) => path !== undefined))];
}

beforeAll(async () => {
  dist = await buildPages();
});

describe('the sizes of what is sent', () => {
  it.each(files)('the first load of %s has at most 120 kB of script', (page) => {
    const sizes = scriptsOf(page).map((path) => zipped(readFileSync(join(dist, path))));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    console.log(`${page}: ${total} bytes of script in ${sizes.length} files`);
    expect(sizes.length).toBeGreaterThan(0);
    expect(total).toBeLessThanOrEqual(limits.publicScripts);
  });

  it('no later file is larger than 30 kB, except the Markdown parser', () => {
    const later = readdirSync(join(dist, 'assets'))
      .filter((name) => name.endsWith('.js') && !/^(index|markdown-body)-/.test(name))
      .map((name) => ({ name, size: zipped(readFileSync(join(dist, 'assets', name))) }));
    expect(later.filter(({ size }) => size > limits.routeChunk)).toEqual([]);
  });

  it('the recorded run, its player and all that these load are at most 25 kB', () => {
    const first = new Set(scriptsOf('index'));
    const loaded = new Set<string>();
    const load = (path: string): void => {
      if (first.has(path) || loaded.has(path)) return;
      loaded.add(path);
      for (const [, name] of text(path).matchAll(/from"\.\/([\w.-]+\.js)"/g))
        load(`assets/${name}`);
    };
    const player = readdirSync(join(dist, 'assets')).find((name) => /^player-.*\.js$/.test(name));
    load(`assets/${player}`);
    const total = [...loaded].reduce((sum, path) => sum + zipped(text(path)), 0);
    console.log(`recorded run: ${total} bytes in ${loaded.size} files`);
    expect(text(`assets/${player}`)).toContain('Recorded example, simulated models');
    expect(total).toBeLessThanOrEqual(limits.player);
  });

  it('the style is at most 12 kB', () => {
    const style = /<style>([^]*?)<\/style>/.exec(text('app.html'))?.[1] ?? '';
    console.log(`style: ${zipped(style)} bytes`);
    expect(style).not.toBe('');
    expect(zipped(style)).toBeLessThanOrEqual(limits.style);
  });

  it.each([...files, 'app'] as const)('the page %s arrives in the first packets', (page) => {
    const size = brotliCompressSync(text(`${page}.html`)).length;
    console.log(`${page}: ${size} bytes of markup and style`);
    expect(size).toBeLessThanOrEqual(page === 'method' ? limits.method : limits.page);
  });

  it('the footer of every page brings no script of signed-in pages', () => {
    const footer = readdirSync(join(dist, 'assets')).find((name) => /^footer-.*\.js$/.test(name));
    const imported = [...text(`assets/${footer}`).matchAll(/from"\.\/([\w.-]+\.js)"/g)];
    expect(imported.map(([, name]) => `assets/${name}`)).toEqual(
      scriptsOf('index').filter((path) => path.startsWith('assets/index-')),
    );
  });

  it('the fonts are at most 60 kB', () => {
    const fonts = readdirSync(join(dist, 'assets')).filter((name) => name.endsWith('.woff2'));
    const total = fonts.reduce(
      (sum, name) => sum + readFileSync(join(dist, 'assets', name)).length,
      0,
    );
    console.log(`fonts: ${total} bytes`);
    expect(fonts).toHaveLength(4);
    expect(total).toBeLessThanOrEqual(limits.fonts);
  });

  it('no page contains the descriptions of API fields', () => {
    const said = globSync(['services/*/contract.ts', 'services/*/contract/*.ts'])
      .flatMap((path) => [
        ...readFileSync(path, 'utf8').matchAll(/v\.description\(\s*(['"])(.{20,}?)\1,?\s*\)/g),
      ])
      .map(([, , words = '']) => words);
    expect(said.length).toBeGreaterThan(400);
    const scripts = readdirSync(join(dist, 'assets'))
      .filter((name) => name.endsWith('.js'))
      .map((name) => text(`assets/${name}`));
    expect(said.filter((words) => scripts.some((script) => script.includes(words)))).toEqual([]);
  });

  it('no page contains the gallery', () => {
    const scripts = readdirSync(join(dist, 'assets')).filter((name) => name.endsWith('.js'));
    expect(
      scripts.some((name) => text(`assets/${name}`).includes('an image that is never loaded')),
    ).toBe(false);
  });
});

describe('the markup of a prerendered page', () => {
  it.each([...files, 'app'])('the page %s has no inline script and no style attribute', (page) => {
    const html = text(`${page}.html`);
    expect(html).not.toMatch(/\sstyle="/);
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>/);
    expect(html).not.toMatch(/\son\w+="/);
  });
});
