import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type * as v from 'valibot';
import type { TestApp } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import {
  credentials,
  entries,
  fieldsOf,
  methodOf,
  newCaller,
  pretendWorker,
  send,
} from './calls.ts';
import type { Caller, RouteEntry, Sample } from './calls.ts';

/** Values long enough to be unique, the number for numeric fields. */
const canary = 'Canary-7f3a9c';
const canaryNumber = 424_242_424_242;
const traces = [canary, encodeURIComponent(canary), String(canaryNumber), canary.toLowerCase()];

let app: TestApp;
/** Whose calls are all refused, so that they change nothing. */
let owner: Caller;
beforeAll(async () => {
  app = await createTestShop();
  await pretendWorker(app);
  owner = await newCaller(app);
});
afterAll(async () => app.close());
beforeEach(() => void app.logged.splice(0));

const all = Object.entries(entries);
const withBody = all.filter(([, { schema }]) => schema !== undefined);

test.each(withBody)('%s takes the fields that it names and no others', (_route, { schema }) => {
  const objects = schema !== undefined && 'options' in schema ? schema.options : [schema];
  for (const one of objects as v.GenericSchema[]) expect(one.type).toBe('strict_object');
});

const ofTheApi = all.filter(([route]) => route.includes(' /api/'));

/** One function refuses these for all routes, so one route is enough. */
const unknownQueries = ['surplus', 'limit=1&limit=2', '__proto__=1', 'token=a'];

test.each(ofTheApi)('%s refuses an unknown query and a repeated one', async (route, entry) => {
  const { path, ...sample } = await entry.sample(app, owner);
  const own = await credentials(app, entry.access, owner);
  const joint = path.includes('?') ? '&' : '?';
  const more = route === 'GET /api/optimizations' ? unknownQueries : [];
  for (const query of ['surplus=1', 'page=1&page=2', ...more]) {
    const response = await send(
      app,
      methodOf(route),
      { path: path + joint + query, ...sample },
      { 'sec-fetch-site': 'same-origin', ...own },
    );
    expect([query, response.status]).toEqual([query, 400]);
    expect(await response.json()).toMatchObject({ code: 'validation' });
  }
});

type Sent = { what: string; sample: Sample };

/** The valid call with the canary in each place in turn. */
function spoilt(sample: Sample, entry: RouteEntry): Sent[] {
  const { body = {}, path, headers = {} } = sample;
  const fields = entry.schema === undefined ? [] : fieldsOf(entry.schema);
  const values: unknown[] = [canary, canaryNumber, [canary], { [canary]: canary }, `${canary}@`];
  const withRaw = (text: string, type = 'application/json') => ({
    path,
    raw: Uint8Array.from(Buffer.from(text)),
    headers: { ...headers, 'content-type': type },
  });
  const joint = path.includes('?') ? '&' : '?';
  return [
    ...fields.flatMap((field) =>
      values.map((value) => ({
        what: `${field} = ${JSON.stringify(value)}`,
        sample: { ...sample, body: { ...body, [field]: value } },
      })),
    ),
    ...[canary, `${canary} with spaces`, '__proto__', 'constructor'].map((name) => ({
      what: `the unknown key ${name}`,
      sample: withRaw(`{${JSON.stringify(name)}:${JSON.stringify(canary)}}`),
    })),
    // A body of the wrong kind.
    { what: 'a text in place of an object', sample: withRaw(JSON.stringify(canary)) },
    { what: 'what is no JSON', sample: withRaw(`{"${canary}`) },
    { what: 'another type', sample: withRaw(`a=${canary}`, `text/${canary}`) },
    { what: 'an unknown query', sample: { ...sample, path: `${path}${joint}${canary}=1` } },
    { what: 'a query twice', sample: { ...sample, path: `${path}${joint}a=1&a=${canary}` } },
    ...path
      .split(/[?=&]/)
      .flatMap((part, index) =>
        index === 0 || /^[a-z]+$/.test(part)
          ? []
          : [{ what: 'a query value', sample: { ...sample, path: path.replace(part, canary) } }],
      ),
    ...path.split('/').flatMap((part) =>
      /_|magic/.test(part)
        ? [
            {
              what: 'a part of the path',
              sample: { ...sample, path: path.replace(part, canary) },
            },
          ]
        : [],
    ),
    { what: 'more of a path', sample: { ...sample, path: `${path.split('?')[0]}/${canary}` } },
    ...headerNames.map((names) => ({
      what: `the headers ${names.join(', ')}`,
      sample: {
        ...sample,
        headers: { ...headers, ...Object.fromEntries(names.map((name) => [name, canary])) },
      },
    })),
    {
      what: 'cookies',
      sample: {
        ...sample,
        headers: { ...headers, cookie: `sf_refresh=${canary}; sf_nonce=${canary}; ${canary}=1` },
      },
    },
  ];
}

/** Each of the first three can be refused alone; the others never are, so they are sent together. */
const headerNames = [
  ['authorization'],
  ['origin'],
  ['idempotency-key'],
  [
    'accept',
    'accept-language',
    'forwarded',
    'if-none-match',
    'last-event-id',
    'referer',
    'user-agent',
    'x-forwarded-for',
    'x-request-id',
  ],
];

test.each(all)(
  'no refusal of %s and no line of the log repeats what was sent',
  async (route, entry) => {
    const caller = await newCaller(app);
    const proper = await entry.sample(app, caller);
    const own = await credentials(app, entry.access, caller);
    const takesBody = methodOf(route) !== 'GET';
    for (const { what, sample } of spoilt(proper, entry)) {
      if (sample.raw !== undefined && !takesBody) continue;
      const headers = { 'sec-fetch-site': 'same-origin', ...own, ...sample.headers };
      const response = await send(app, methodOf(route), sample, headers);
      const text = response.ok ? '' : await response.text();
      const said = [text, ...[...response.headers].map((pair) => pair.join(': '))].join('\n');
      expect([what, response.status < 500 || entry.status >= 500]).toEqual([what, true]);
      expect([what, traces.filter((trace) => said.includes(trace))]).toEqual([what, []]);
    }
    const lines = app.logged.join('\n');
    expect(traces.filter((trace) => lines.includes(trace))).toEqual([]);
  },
);

test('a refusal names a known field, and leaves out the name of an unknown one', async () => {
  const errorsOf = async (body: object) => {
    const response = await app.call('/auth/login', { body });
    return ((await response.json()) as { errors: unknown }).errors;
  };
  const fine = { email: 'a@example.com', password: 'Wrong-1234' };
  expect(await errorsOf({ ...fine, email: 1 })).toMatchObject([{ field: 'email' }]);
  expect(await errorsOf({ ...fine, extra: 1 })).toEqual([{ field: '', message: 'Unknown field.' }]);
});
