import type { Page } from 'playwright-core';
import { placeOf } from '#web/consent/places.ts';
import { cookies } from '#web/consent/register.ts';

/** A text, because journeys are checked without the types of a browser. No page keeps anything in the last two. */
const listKept = `(async () => [
  ...Object.keys(localStorage).map((key) => ['local', key]),
  ...Object.keys(sessionStorage).map((key) => ['session', key]),
  ...(await indexedDB.databases()).map(({ name }) => ['database', String(name)]),
  ...('caches' in globalThis ? await caches.keys() : []).map((name) => ['cache', name]),
])()`;

/** Everything that the browser keeps for this page's origin. */
export async function kept(page: Page): Promise<{ area: string; name: string }[]> {
  const named = await page.context().cookies(page.url());
  const stored = await page.evaluate<[area: string, key: string][]>(listKept);
  return [
    ...named.map(({ name }) => ({ area: 'cookie', name })),
    ...stored.map(([area, name]) => ({ area, name })),
  ];
}

/** What the browser keeps for this page's origin and the register does not name. */
export async function unregistered(page: Page): Promise<string[]> {
  const known = Object.keys(cookies);
  return (await kept(page))
    .filter(({ area, name }) =>
      area === 'cookie'
        ? !known.some((entry) => isEntryOf(name, entry))
        : placeOf(name)?.[0] !== area,
    )
    .map(({ area, name }) => `${area} ${name}`);
}

/** If this entry of the page of cookies is about this name; `…` stands for any rest. */
export function isEntryOf(name: string, entry: string): boolean {
  if (entry.endsWith('…')) return name.startsWith(entry.slice(0, -1));
  return name === entry || name === entry.replace('__Host-', 'sf_');
}
