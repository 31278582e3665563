import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestApp } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import { give } from '#tests/support/processes/service.ts';
import {
  credentials,
  entries,
  fieldsOf,
  methodOf,
  newCaller,
  newRun,
  pretendWorker,
  send,
} from '#tests/walls/calls.ts';
import type { Caller, RouteEntry, Sample } from '#tests/walls/calls.ts';

/** Texts that would act as SQL if they were pasted into a statement. */
const corpus = [
  `' or '1'='1`,
  `\\'; select pg_sleep(30); --`,
  `$$; drop table users; $$`,
  `"; drop table users; --`,
  `o'--@example.com`,
];

let app: TestApp;
let bystander: Caller;
beforeAll(async () => {
  app = await createTestShop();
  await pretendWorker(app);
  bystander = await newCaller(app);
  await give(app, bystander.userId, 20);
  await newRun(app, bystander);
});
afterAll(async () => app.close());

/** All data of an idle user, and the names of all tables and views. */
async function storedState(): Promise<unknown> {
  const { ownerPool } = app.database;
  const ofPerson = ['users', 'sessions', 'credit_account', 'optimization_list'];
  const rows = await Promise.all(
    ofPerson.map(async (table) => {
      const column = table === 'users' ? 'id' : 'user_id';
      const found = await ownerPool.query(
        `select to_jsonb(t) as row from ${table} t where ${column} = $1`,
        [bystander.userId],
      );
      return [table, found.rows];
    }),
  );
  const tables = await ownerPool.query(
    `select relname, relkind from pg_class where relnamespace = 'public'::regnamespace
     and relkind in ('r', 'p', 'v') order by 1`,
  );
  return { rows, tables: tables.rows };
}

/** Postgres text cannot hold this character. */
const unstorable = ['\u0000', `ses_${'0'.repeat(25)}\u0000`];

/**
 * The valid call with a statement in each field, path parameter and query value: the whole corpus, because
 * each could end up in its own statement.
 */
function poisonedFields(route: string, { path, ...sample }: Sample, entry: RouteEntry): Sample[] {
  const body = sample.body ?? {};
  const fields = entry.schema === undefined ? [] : fieldsOf(entry.schema);
  const [place = '', query = ''] = path.split('?');
  const template = route.split('/').slice(2);
  const named = place.split('/').slice(1);
  return [
    ...fields.map((field) => ({ path, ...sample, body: { ...body, [field]: corpus } })),
    ...[...corpus, ...unstorable].flatMap((poison) => [
      ...fields.map((field) => ({ path, ...sample, body: { ...body, [field]: poison } })),
      ...named
        .filter((_, index) => template[index]?.startsWith(':'))
        .map((part) => ({ path: path.replace(part, encodeURIComponent(poison)), ...sample })),
      ...[...new URLSearchParams(query).keys()].map((key) => ({
        path: `${place}?${key}=${encodeURIComponent(poison)}`,
        ...sample,
      })),
    ]),
  ];
}

/** Places that the same code reads for every route get one statement each. */
function poisonedElsewhere({ path, ...sample }: Sample, poison: string): Sample[] {
  const inAddress = encodeURIComponent(poison);
  const [place = ''] = path.split('?');
  const withHeaders = (headers: Record<string, string>): Sample => ({
    path,
    ...sample,
    headers: { ...sample.headers, ...headers },
  });
  return [
    { path: path.replace(/\w+/, inAddress), ...sample },
    { path: `${place}?before=${inAddress}`, ...sample },
    withHeaders({ 'idempotency-key': poison }),
    withHeaders({ 'last-event-id': poison, 'user-agent': poison, 'x-forwarded-for': poison }),
    withHeaders({ cookie: `sf_refresh=${inAddress}; sf_nonce=${inAddress}` }),
  ];
}

/** These read a key, a session cookie or the stream's last id, so they get the whole corpus. */
const readsHeaders = new Set([
  'POST /api/recipes',
  'POST /api/credits/consume',
  'POST /api/auth/refresh',
  'GET /api/auth/session',
  'POST /api/auth/links/:kind',
  'GET /api/stream',
]);

test.each(Object.entries(entries).map(([route, entry], index) => ({ route, entry, index })))(
  '$route treats statements, and texts that Postgres cannot hold, as texts',
  async ({ route, entry, index }) => {
    const before = await storedState();
    const owner = await newCaller(app);
    const proper = await entry.sample(app, owner);
    const own = await credentials(app, entry.access, owner);
    const page = { 'sec-fetch-site': 'same-origin' };
    const one = corpus.slice(index % corpus.length).slice(0, 1);
    // The headers last: under them the call itself succeeds, and may end all other sessions.
    const samples = [
      ...poisonedFields(route, proper, entry),
      ...(readsHeaders.has(route) ? corpus : one).flatMap((poison) =>
        poisonedElsewhere(proper, poison),
      ),
    ];
    for (const sample of samples) {
      const headers = { ...page, ...own, ...sample.headers };
      const { status } = await send(app, methodOf(route), sample, headers);
      const isFine = status < 500 || status === entry.status;
      expect([sample, status, isFine]).toEqual([sample, status, true]);
    }
    expect(await storedState()).toEqual(before);
    const faults = app.logged.splice(0).filter((line) => line.includes('"level":"error"'));
    expect(entry.status >= 500 ? [] : faults).toEqual([]);
  },
);

test('a name that looks like a statement is stored as it was sent', async () => {
  const owner = await newCaller(app);
  for (const name of corpus) {
    await app.data('/users/me', { method: 'PATCH', token: owner.token, body: { name } });
    expect(await app.data('/users/me', { token: owner.token })).toMatchObject({ name });
  }
});

// --- how statements are written ---

const root = join(import.meta.dirname, '../../..');

/**
 * The only places where something is pasted into a statement: lists of columns, names of tables and parts
 * of a condition, all written in the code. Input from outside is always a parameter. Code that generates
 * statements from declarations is left out, because it sees no request: migrations, the append function,
 * rebuilds and checks of read models, and starting Postgres.
 */
const pasted: Readonly<Record<string, readonly string[]>> = {
  'db/anchors.ts': ['anchorTime', "streamId === null ? '' : 'and stream_id = $1'"],
  'db/connect.ts': ['channel'],
  'db/streams.ts': ['activeEvents', 'defaultPartition', 'eventColumns', 'functionName'],
  'db/reader.ts': [
    'lastBelow',
    "tables.map((table) => client.escapeIdentifier(table)).join(', ')",
    'wanted',
  ],
  'db/transaction.ts': ['timeoutMs'],
  'projections/engine/checkpoint.ts': ['lock', 'waitingSince'],
  'projections/cash-refund.ts': ['columns', 'table'],
  'projections/credit-account.ts': ['accountColumns', 'table'],
  'projections/credit-analytics.ts': ['events', 'table'],
  'projections/credit-history.ts': [
    "byLine('detail', 'null')",
    "byLine('reason', 'null')",
    "byLine('type', \"'other'\")",
    'events',
    'historyColumns',
    'historyJoins',
    'signedBy(({ available, held, debt ',
    'table',
  ],
  'projections/credit-ledger.ts': ['movementOfEvent'],
  'projections/model-costs.ts': ['table'],
  'projections/optimization-list.ts': [
    'chosen',
    'orders.newest',
    'orders[sort]',
    'ofRefinements',
    'shownRefinement',
    'rowColumns',
    'table',
  ],
  'projections/paid-lot.ts': ['column', 'columns', 'events', 'table'],
  'projections/run-outcome.ts': ['table'],
  'projections/run-usage.ts': ['table'],
  'projections/engine/set-aside.ts': ['columns', 'eventRange(target, from, to)'],
  'services/identity/erasure/erasure.ts': ["leftBehind('e')"],
  'services/identity/accounts/export.ts': [
    'order',
    "selected.join(', ')",
    'table',
    "where ?? 'user_id = $1'",
  ],
  'services/identity/links/links.ts': [
    'accountColumns',
    "isCode ? 'code_challenge' : 'browser_hash'",
    'linkColumns',
    'named',
  ],
  'services/identity/erasure/purge.ts': ['table'],
  'services/identity/accounts/users.ts': ['accountColumns', 'holdsAddress'],
  'services/cli/queue/jobs.ts': ['columns', 'hasFailed', 'which.where'],
  'services/optimizations/sharing/rows.ts': ['columns', 'isLive'],
  'services/optimizations/dashboard/community.ts': ['sharing'],
  'services/optimizations/outcomes/questions.ts': ['notDismissed', 'openQuestions'],
  'services/payments/disputes/fraud-warnings.ts': ['leftOver'],
  'services/payments/statement.ts': ['historyColumns', 'historyJoins'],
  'services/payments/settle/sweep.ts': ['leftOver'],
  'services/recipes/recipes.ts': ['columns'],
  'services/contact/messages.ts': ['columns'],
  'services/policies/changes.ts': ['columns'],
  'services/platform/http/idempotency.ts': ['mine'],
  'services/platform/jobs/job-locks.ts': ['isWithoutJob', 'lockName'],
  'services/platform/mail/mail.ts': ['handOverColumns'],
};
const generators = [
  'db/append-function.ts',
  'db/backup/lay-out.ts',
  'db/embedded/cluster.ts',
  'db/embedded/embedded.ts',
  'db/log-file/export.ts',
  'db/log-file/queries.ts',
  'db/migrate.ts',
  'db/migrations/message-indexes.ts',
  'db/rights/auditor.ts',
  'db/rights/rights.ts',
  'db/verify-events.ts',
  'projections/engine/copy.ts',
  'projections/engine/own-bookkeeping.ts',
  'projections/engine/rebuild.ts',
  'projections/engine/take-over.ts',
  'projections/engine/touched.ts',
  'projections/engine/verify.ts',
];

/** Expressions inside the templates of a file that begin like a statement. */
function pastedInto(text: string): string[] {
  const found = new Set<string>();
  for (const [, body = ''] of text.matchAll(/`((?:[^`\\]|\\[\s\S])*)`/g)) {
    if (!statement.test(body)) continue;
    for (const [, expression = ''] of body.matchAll(/\$\{([^}]*)\}/g)) found.add(expression);
  }
  return [...found].toSorted();
}

const statement =
  /^\s*(?:--.*\s+)*(?:select|insert|update|delete|with|create|alter|drop|truncate|set|listen|notify|lock|copy|do|(?:grant|revoke)\s[^$]*\son)\s/i;

test('no statement is built from values: only names from the code are pasted into one', () => {
  const files = execFileSync('git', ['ls-files', 'services', 'projections', 'db'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file.endsWith('.ts') && !generators.includes(file));
  const found = files.flatMap((file) =>
    pastedInto(readFileSync(join(root, file), 'utf8'))
      .filter((expression) => pasted[file]?.includes(expression) !== true)
      .map((expression) => `${file}: ${expression}`),
  );
  expect(found).toEqual([]);
});

test('the rule finds a value that is pasted into a statement', () => {
  const bad = ["await pool.query(`select * from users where id = '$", "{id}'`)"].join('');
  expect(pastedInto(bad)).toEqual(['id']);
});
