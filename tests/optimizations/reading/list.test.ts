import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Optimization, OptimizationList } from '#services/optimizations/contract/run.ts';
import { settleRun } from '#services/optimizations/commands.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';

let app: TestApp;
let person: Person;
/** By a word of the question. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  let now = Date.now();
  app = await createTestApp({ clock: () => now });
  person = await app.signUp();
  const questions = [
    ['van', 'Lease or buy the VAN? It is for the bakery.', 'fast'],
    ['shop', 'Should the bakery open a second shop?', 'premium'],
    ['price', 'Raise the price?', 'balanced'],
    ['café', 'Close the cafe\u0301 on Mondays?', 'fast'],
  ] as const;
  for (const [name, challenge, strategy] of questions) {
    now += 1000;
    const run = await app.data<Optimization>('/optimizations', {
      token: person.token,
      body: { challenge, strategy },
    });
    ids[name] = run.id;
  }
  await app.data(`/optimizations/${ids['shop']}/cancel`, { method: 'POST', token: person.token });
  await settleRun(app.core, ids['shop'] ?? '');
  const other = await app.signUp();
  await app.data('/optimizations', {
    token: other.token,
    body: { challenge: "Somebody else's bakery", strategy: 'fast' },
  });
});
afterAll(async () => app.close());

async function list(query: string): Promise<{ names: string[]; total: number }> {
  const response = await app.call(`/optimizations${query}`, { token: person.token });
  const { data, pagination } = (await response.json()) as OptimizationList;
  const names = data.map(({ id }) => Object.keys(ids).find((name) => ids[name] === id) ?? id);
  return { names, total: pagination.total };
}

describe('the list of runs', () => {
  test.each([
    ['', ['café', 'price', 'shop', 'van']],
    ['?sort=oldest', ['van', 'shop', 'price', 'café']],
    // The cancelled one has cost nothing in the end.
    ['?sort=credits', ['price', 'café', 'van', 'shop']],
    ['?status=cancelled', ['shop']],
    ['?status=pending&strategy=fast', ['café', 'van']],
    ['?status=completed', []],
    ['?q=bakery', ['shop', 'van']],
    ['?q=BAKERY&sort=oldest', ['van', 'shop']],
    ['?q=van%20bakery', ['van']],
    ['?q=bakery&strategy=premium', ['shop']],
    ['?q=caf%C3%A9', ['café']],
    ['?q=Mondays%20bakery', []],
    ['?q=%20', ['café', 'price', 'shop', 'van']],
    ['?q=%25', []],
  ])('the list of runs is searched, filtered and sorted by %s', async (query, names) => {
    expect(await list(query)).toEqual({ names, total: names.length });
  });

  test('the list of runs is paged, and so is a search', async () => {
    expect(await list('?limit=3&page=2')).toEqual({ names: ['van'], total: 4 });
    expect(await list('?q=bakery&limit=1&page=2')).toEqual({ names: ['van'], total: 2 });
    expect(await list('?q=bakery&limit=1&page=3')).toEqual({ names: [], total: 2 });
    expect(await list('?strategy=fast&limit=1&page=9')).toEqual({ names: [], total: 2 });
  });

  test.each([
    ['?status=hidden', 'status', 'Choose one of the listed statuses'],
    ['?strategy=best', 'strategy', 'Choose one of the listed strategies'],
    ['?sort=title', 'sort', 'Choose one of the listed orders'],
    [`?q=${'x'.repeat(201)}`, 'q', 'Searches can have up to 200 characters'],
  ])('the list of runs refuses %s', async (query, field, message) => {
    const response = await app.call(`/optimizations${query}`, { token: person.token });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ field, message }] });
  });
});

describe('asking with the tag of an answer', () => {
  const ask = async (path: string, tag?: string, token = person.token) =>
    app.call(path, { token, headers: tag === undefined ? {} : { 'if-none-match': tag } });

  test('a request with the tag of an answer gets 304 without a body while the answer is the same, and no cache keeps either', async () => {
    for (const path of ['/optimizations', `/optimizations/${ids['van']}`, '/credits/balance']) {
      const first = await ask(path);
      const tag = first.headers.get('etag') ?? '';
      expect(tag).toMatch(/^W\/"[\w-]{40}"$/);
      for (const asked of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
        const again = await ask(path, asked);
        expect([path, again.status, await again.text()]).toEqual([path, 304, '']);
        expect(again.headers.get('etag')).toBe(tag);
        expect(again.headers.get('cache-control')).toBe('no-store');
      }
      expect((await ask(path, '"other"')).status).toBe(200);
      expect(first.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('a request with the tag of an answer gets the answer once it has changed', async () => {
    const path = `/optimizations/${ids['price']}`;
    const tag = (await ask(path)).headers.get('etag') ?? '';
    const listed = (await ask('/optimizations')).headers.get('etag') ?? '';
    await app.data(path, { method: 'PATCH', token: person.token, body: { title: 'Prices' } });
    expect((await ask(path, tag)).status).toBe(200);
    expect((await ask('/optimizations', listed)).status).toBe(200);
    // Erasing changes what is answered, and no version of a row.
    const renamed = (await ask(path)).headers.get('etag') ?? '';
    await app.core.sealer.eraseKey(ids['price'] ?? '');
    expect((await ask(path, renamed)).status).toBe(200);
  });

  test("a request with the tag of an answer learns nothing about another user's runs", async () => {
    const other = await app.signUp();
    expect((await ask(`/optimizations/${ids['van']}`, '*', other.token)).status).toBe(404);
  });
});
