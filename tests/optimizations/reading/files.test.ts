import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApiKey } from '#services/identity/api-keys/api-keys.ts';
import type { Brief } from '#services/optimizations/contract/dashboard.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import type { Optimization, OptimizationList } from '#services/optimizations/contract/run.ts';
import { briefMarkdown } from '#services/optimizations/reading/markdown/brief-markdown.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { runsCsv } from '#services/optimizations/reading/runs-csv.ts';
import type { KeyScope } from '#services/platform/contract.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { readCsv } from '#tests/platform/read-csv.ts';
import { give } from '#tests/support/processes/service.ts';

/** What programs read as files: runs, the list of them and the brief. */
let council: TestCouncil;
let person: Person;
let other: Person;
let run: Optimization;
let draft: Optimization;

const hostile = '=HYPERLINK("https://evil.example"), he said "yes"\nand left';

beforeAll(async () => {
  council = await createTestCouncil();
  person = await council.signUp();
  other = await council.signUp();
  await give(council, person.userId, 20);
  run = await council.ask(person, { challenge: 'Rent or buy a van?', strategy: 'fast' });
  draft = await council.data<Optimization>('/optimizations', {
    token: person.token,
    body: { challenge: 'Rename me?', strategy: 'ultra-economy' },
  });
  await council.data(`/optimizations/${draft.id}`, {
    token: person.token,
    method: 'PATCH',
    body: { title: hostile },
  });
});
afterAll(async () => council.close());

async function get(path: string, token = person.token, method = 'GET'): Promise<Response> {
  return council.call(path, { token, method });
}

async function list(query = ''): Promise<OptimizationList> {
  return (await (await get(`/optimizations${query}`)).json()) as OptimizationList;
}

async function keyFor(scope: KeyScope): Promise<string> {
  const made = { name: 'A program', scopes: [scope], monthlyCap: 1 };
  return (await createApiKey(council.core.pool, person.userId, made, new Date())).key;
}

const csv = { type: 'text/csv; charset=utf-8; header=present' };
const markdown = { type: 'text/markdown; charset=utf-8' };
const files = () => [
  { path: `/optimizations/${run.id}/markdown`, name: `${run.id}.md`, ...markdown },
  {
    path: '/optimizations/brief?format=markdown',
    name: `sevenfold-brief-${new Date().toISOString().slice(0, 10)}.md`,
    ...markdown,
  },
  { path: '/optimizations?format=csv', name: 'sevenfold-optimizations.csv', ...csv },
  { path: `/optimizations/${run.id}/claims?format=csv`, name: `claims-${run.id}.csv`, ...csv },
];

describe('a file of runs', () => {
  test('a file of runs has its type and a name, is kept in no cache, and is read with a key, also by HEAD', async () => {
    const key = await keyFor('read');
    for (const { path, name, type } of files()) {
      const answers = [await get(path), await get(path, key), await get(path, key, 'HEAD')];
      for (const answer of answers)
        expect([
          path,
          answer.status,
          ...['content-type', 'content-disposition', 'cache-control'].map((header) =>
            answer.headers.get(header),
          ),
        ]).toEqual([path, 200, type, `attachment; filename="${name}"`, 'no-store']);
      const [whole, ofKey, head] = await Promise.all(
        answers.map(async (each) => new Uint8Array(await each.arrayBuffer())),
      );
      expect([path, ofKey, head?.length]).toEqual([path, whole, 0]);
      expect(answers.map(({ headers }) => Number(headers.get('content-length')))).toEqual(
        answers.map(() => whole?.length),
      );
    }
  });

  test('a file of runs is not read with a key of another scope', async () => {
    const key = await keyFor('credits:read');
    for (const { path } of files())
      expect([path, (await get(path, key)).status]).toEqual([path, 403]);
  });

  test.each([
    ['/optimizations?format=pdf', 'format', 'The format is json or csv'],
    ['/optimizations/brief?format=csv', 'format', 'The format is json or markdown'],
    ['/optimizations?format=csv&limit=1001', 'limit', 'Enter a whole number from 1 to 100.'],
    ['/optimizations?format=csv&format=json', '', 'A field was sent twice.'],
  ])('%s is refused', async (path, field, message) => {
    const answer = await get(path);
    expect([answer.status, ((await answer.json()) as { errors: unknown }).errors]).toEqual([
      400,
      [{ field, message }],
    ]);
  });
});

test('a file of runs is compressed for a client that accepts it', async () => {
  for (const { path } of files()) {
    const headers = { 'accept-encoding': 'gzip' };
    const packed = await council.call(path, { token: person.token, headers });
    // A list of two runs is too short.
    expect([path, packed.headers.get('content-encoding')]).toEqual([
      path,
      path.startsWith('/optimizations?') ? null : 'gzip',
    ]);
    if (packed.headers.get('content-encoding') === null) continue;
    expect(gunzipSync(new Uint8Array(await packed.arrayBuffer()))).toEqual(
      Buffer.from(await (await get(path)).arrayBuffer()),
    );
  }
});

describe('a run as Markdown', () => {
  const of = async (id: string, token = person.token) =>
    get(`/optimizations/${id}/markdown`, token);

  test('a run as Markdown is the text that its page saves', async () => {
    const { data } = (await (await get(`/optimizations/${run.id}`)).json()) as {
      data: Optimization;
    };
    const text = await (await of(run.id)).text();
    expect(text).toBe(runMarkdown(data));
    expect(text).toContain(`## ${run.outcome!.split(' ')[0]}`);
  });

  test('a run that was not started is pending in its Markdown', async () => {
    const text = await (await of(draft.id)).text();
    expect(text).toContain('\n**Pending.**\n');
  });

  test('a run as Markdown is not found by another user, nor once it is deleted', async () => {
    expect((await of(run.id, other.token)).status).toBe(404);
    const { id } = await council.data<Optimization>('/optimizations', {
      token: person.token,
      body: { challenge: 'Deleted', strategy: 'fast' },
    });
    await council.data(`/optimizations/${id}`, { token: person.token, method: 'DELETE' });
    expect((await of(id)).status).toBe(404);
    expect((await get(`/optimizations/${run.id}/markdown?format=csv`)).status).toBe(400);
  });
});

test('the brief as Markdown is the text that its page saves, and of its owner alone', async () => {
  const path = '/optimizations/brief';
  const brief = await council.data<Brief>(path, { token: person.token });
  expect(await (await get(`${path}?format=markdown`)).text()).toBe(briefMarkdown(brief));
  expect(briefMarkdown(brief)).toContain(`## ${run.title}`);
  const empty = await (await get(`${path}?format=markdown`, other.token)).text();
  expect(empty).toContain('No decisions in this period.');
});

describe('the list of runs as CSV', () => {
  const rowsOf = async (query = '') =>
    readCsv(await (await get(`/optimizations?format=csv${query}`)).text());
  const idsOf = async (query = '') => (await rowsOf(query)).slice(1).map(([id]) => id);

  test('the list as CSV has the rows of the JSON, and a cell holds any text without becoming a formula', async () => {
    const { data } = await list();
    const file = await (await get('/optimizations?format=csv')).arrayBuffer();
    expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(file)).toBe(runsCsv(data));
    const [names = [], ...rows] = await rowsOf();
    const cells = rows.map((row) =>
      Object.fromEntries(names.map((column, index) => [column, row[index]])),
    );
    expect(cells.map(({ id }) => id)).toEqual([draft.id, run.id]);
    expect([data[0]!.title, cells[0]!['title']]).toEqual([hostile, `'${hostile}`]);
    expect(cells[1]).toMatchObject({
      title: run.title,
      status: 'Completed',
      outcome: run.outcome,
      strategy: 'Fast',
      charged: String(run.credits.charged),
    });
  });

  test('the list as CSV follows the filters, the order and the pages of the list', async () => {
    expect(await idsOf('&status=completed')).toEqual([run.id]);
    expect(await idsOf('&sort=oldest')).toEqual([run.id, draft.id]);
    expect(await idsOf('&q=van')).toEqual([run.id]);
    expect(await idsOf('&limit=1&page=2')).toEqual([run.id]);
    expect(await idsOf('&page=2')).toEqual([]);
  });

  test('the list as CSV has an ETag of its own', async () => {
    const [asJson, asCsv] = [await get('/optimizations'), await get('/optimizations?format=csv')];
    const tag = asCsv.headers.get('etag') ?? '';
    expect(tag).not.toBe(asJson.headers.get('etag'));
    const again = await council.call('/optimizations?format=csv', {
      token: person.token,
      headers: { 'if-none-match': tag },
    });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  test('a list as CSV holds 1,000 runs, and the next page those after them', async () => {
    await council.database.ownerPool.query(
      `insert into optimization_list
       select copy.* from optimization_list one, generate_series(1, $2::integer - 1) number,
         jsonb_populate_record(null::optimization_list, to_jsonb(one)
           || jsonb_build_object('user_id', $3::text, 'run_id', 'opt_' || lpad(number::text, 26, '0')))
           copy
       where one.run_id = $1`,
      [draft.id, optimizationLimits.fileRuns + 2, other.userId],
    );
    const of = async (page: number) => {
      const answer = await get(`/optimizations?format=csv&page=${page}`, other.token);
      return readCsv(await answer.text())
        .slice(1)
        .map(([id]) => id);
    };
    const pages = [await of(1), await of(2), await of(3)];
    expect(pages.map(({ length }) => length)).toEqual([optimizationLimits.fileRuns, 1, 0]);
    expect(new Set(pages.flat()).size).toBe(optimizationLimits.fileRuns + 1);
  });
});
