import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildPages } from '#tests/web/support/site.ts';

/** Bytes; a kB is 1,000. Scripts and style are measured as sent with gzip. */
const limits = {
  publicScripts: 120_000,
  routeChunk: 30_000,
  style: 12_000,
  fonts: 60_000,
} as const;
const publicPages = [
  'index',
  'login',
  'signup',
  'forgot-password',
  'terms',
  'privacy',
  'method',
  'not-found',
] as const;

let dist = '';
const text = (path: string): string => readFileSync(join(dist, path), 'utf8');
const zipped = (content: string | Buffer): number => gzipSync(content, { level: 9 }).length;

/** The scripts that a page names in its markup: its entry and its preloads. */
function scriptsOf(page: string): string[] {
  const html = text(`${page}.html`);
  const linked = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(
    ([, path]) => path,
  );
  return [...new Set(linked.filter((path) => path !== undefined))];
}

beforeAll(async () => {
  dist = await buildPages();
});

describe('the sizes of what is sent', () => {
  it.each(publicPages)('the first load of %s has at most 120 kB of script', (page) => {
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

  it('the style is at most 12 kB', () => {
    const style = /<style>([^]*?)<\/style>/.exec(text('index.html'))?.[1] ?? '';
    console.log(`style: ${zipped(style)} bytes`);
    expect(style).not.toBe('');
    expect(zipped(style)).toBeLessThanOrEqual(limits.style);
  });

  it('the fonts are at most 60 kB', () => {
    const fonts = readdirSync(join(dist, 'assets')).filter((name) => name.endsWith('.woff2'));
    const total = fonts.reduce(
      (sum, name) => sum + readFileSync(join(dist, 'assets', name)).length,
      0,
    );
    console.log(`fonts: ${total} bytes`);
    expect(fonts).toHaveLength(2);
    expect(total).toBeLessThanOrEqual(limits.fonts);
  });

  it('no page contains the descriptions of API fields', () => {
    const said = globSync('services/*/*contract.ts')
      .flatMap((path) => [
        ...readFileSync(path, 'utf8').matchAll(/v\.description\(\s*(['"])(.{20,}?)\1,?\s*\)/g),
      ])
      .map(([, , words = '']) => words);
    expect(said.length).toBeGreaterThan(100);
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
  it.each([...publicPages, 'app'] as const)(
    'the page %s has no inline script and no style attribute',
    (page) => {
      const html = text(`${page}.html`);
      expect(html).not.toMatch(/\sstyle="/);
      expect(html).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>/);
      expect(html).not.toMatch(/\son\w+="/);
    },
  );

  it('search engines are offered every public page and no other', () => {
    for (const page of publicPages.filter((name) => name !== 'not-found')) {
      expect(text(`${page}.html`)).not.toContain('noindex');
      expect(text(`${page}.html`)).toMatch(/<meta name="description" content="[^"]{20,}"/);
    }
    expect(text('not-found.html')).toContain('<meta name="robots" content="noindex"');
    expect(text('app.html')).toContain('<meta name="robots" content="noindex"');
  });
});
