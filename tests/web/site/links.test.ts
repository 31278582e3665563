import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { beforeAll, expect, test } from 'vitest';
import { guidePage } from '#services/http/guide.ts';
import { listedPaths } from '#tests/web/specification/pages.ts';
import { buildPages } from '#tests/web/support/site.ts';

/** Every page that the build writes, by path; the shell of the signed-in area has no links. */
const Manifest = v.object({
  pages: v.record(v.string(), v.object({ file: v.string() })),
});

const pages = new Map<string, string>();
/** The page of every address in the signed-in area and of every link in an email. */
let shell = '';
beforeAll(async () => {
  const dist = await buildPages();
  const read = (file: string): string => readFileSync(join(dist, file), 'utf8');
  const manifest = v.parse(Manifest, JSON.parse(read('pages.json')));
  for (const [path, { file }] of Object.entries(manifest.pages)) pages.set(path, read(file));
  pages.set('/nowhere', read('not-found.html'));
  shell = read('app.html');
  for (const name of ['live', 'programs'] as const)
    pages.set(`/api-docs/${name}`, await guidePage(name, { productName: 'Sevenfold' }));
});

test('every public page has one heading, a title of its own and a description', () => {
  const own = [...pages].filter(([path]) => !path.startsWith('/api-docs/'));
  const titles = new Set(own.map(([, html]) => /<title>(.+?)<\/title>/.exec(html)?.[1]));
  expect(titles.size).toBe(own.length);
  const incomplete = own.filter(
    ([path, html]) =>
      html.match(/<h1\b/g)?.length !== 1 ||
      (path !== '/nowhere' && !/<meta name="description" content="[^"]{20,}"/.test(html)),
  );
  expect(incomplete.map(([path]) => path)).toEqual([]);
});

test('no page has the same part twice', () => {
  for (const [path, html] of pages) {
    const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    expect([path, ids.filter((id, index) => ids.indexOf(id) !== index)]).toEqual([path, []]);
  }
});

test('search engines are offered every listed page and no other', () => {
  const isHidden = (html: string): boolean =>
    html.includes('<meta name="robots" content="noindex"');
  const offered = [...pages].filter(([, html]) => !isHidden(html)).map(([path]) => path);
  expect(offered.toSorted()).toEqual(listedPaths.toSorted());
  expect(isHidden(shell)).toBe(true);
});

test('no page leads to one without posts or positions', () => {
  for (const path of ['/blog', '/careers'])
    expect([...pages.values()].some((html) => html.includes(`href="${path}"`))).toBe(false);
});
