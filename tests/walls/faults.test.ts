import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestApp } from '#tests/support/app.ts';
import { isProof } from '#tests/support/properties.ts';
import { createTestShop } from '#tests/support/payments.ts';
import { credentials, entries, methodOf, newCaller, pretendWorker, send } from './calls.ts';
import type { RouteEntry, Sample } from './calls.ts';

/**
 * Real faults of a database: the application loses its rights on one table after another, so each route
 * fails at its statement on that table, and the error names it.
 */
let app: TestApp;
let role: string;
let tables: string[];
beforeAll(async () => {
  app = await createTestShop();
  await pretendWorker(app);
  role = new URL(app.database.appUrl).username;
  const { rows } = await app.database.ownerPool.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition and n.nspname in ('public', 'graphile_worker')
       and has_table_privilege($1, c.oid, 'select') order by 1`,
    [role],
  );
  tables = rows.map(({ name }) => name);
});
afterAll(async () => app.close());

/** While `work` is done, the application may do nothing with the table. */
async function without(table: string, work: () => Promise<void>): Promise<void> {
  const { ownerPool } = app.database;
  const { rows } = await ownerPool.query<{ granted: string | null }>(
    `select string_agg(privilege_type, ', ') as granted from information_schema.role_table_grants
     where grantee = $2 and format('%I.%I', table_schema, table_name) = $1`,
    [table, role],
  );
  await ownerPool.query(`revoke all on ${table} from "${role}"`);
  try {
    await work();
  } finally {
    await ownerPool.query(`grant ${rows[0]?.granted ?? 'select'} on ${table} to "${role}"`);
  }
}

/** Traces of a cause that no response may contain. */
const leaks = [
  /permission denied/i,
  /\b(?:select|insert|update|delete)\b.*\b(?:from|into|set|where)\b/i,
  /\bat .*\.ts:\d+/,
  /node_modules|\/services\//,
  /\b42501\b/,
  // A token is random letters, and may hold three of them.
  /\bpg_[a-z]{3}|graphile/,
];

type Ready = { route: string; sample: Sample; headers: Record<string, string> };

/** A new user and an unused valid call for each route. */
async function prepare([route, entry]: [string, RouteEntry]): Promise<Ready> {
  const owner = await newCaller(app);
  const sample = await entry.sample(app, owner);
  const shown = await credentials(app, entry.access, owner);
  return { route, sample, headers: { 'sec-fetch-site': 'same-origin', ...shown } };
}

function routesThat(are: (route: string) => boolean): [string, RouteEntry][] {
  return Object.entries(entries).filter(([route]) => routes.includes(route) && are(route));
}

const untouched = [
  'DELETE /dev/mail',
  'DELETE /dev/mail/*',
  'DELETE /dev/stripe',
  'DELETE /dev/stripe/*',
  'GET /.well-known/jwks.json',
  'GET /.well-known/security.txt',
  'GET /api-docs',
  'GET /api-docs/:file',
  'GET /api-docs/begin.js',
  'GET /api-docs/live',
  'GET /api-docs/pages.css',
  'GET /api-docs/programs',
  'GET /api/credits/packages',
  'GET /api/health',
  'GET /api/openapi.json',
  'GET /api/optimizations/strategies',
  // Readiness reports the broken parts with 503 and no error of its own.
  'GET /api/ready',
  'GET /dev/mail',
  'GET /dev/mail/*',
  'GET /dev/models',
  'GET /dev/stripe',
  'GET /dev/stripe/*',
  // They work after the response, so that it takes equally long for every address.
  'POST /api/auth/magic-link',
  'POST /api/auth/password/reset-request',
  'POST /api/auth/resend-confirmation',
  'POST /dev/mail',
  'POST /dev/mail/*',
  'POST /dev/models',
  'POST /dev/stripe',
  'POST /dev/stripe/*',
];

/** Static documents, whose text mentions deleting and updating. */
const isDocument = /^GET \/api(?:-docs|\/openapi\.json)/;

/** The gate tries one route in six until each has failed once; `npm run proof` tries all at every table. */
const routes = Object.keys(entries).filter((_, index) => isProof || index % 6 === 0);

/**
 * Tables at which many routes fail; the others are then tried with few routes. Without sessions most
 * routes fail, but all at the same statement, so that table comes last.
 */
const telling = [
  'public.audit_log',
  'public.api_key',
  'public.emt_messages',
  'public.emt_streams',
  'public.optimization_list',
  'graphile_worker._private_job_queues',
  'public.credit_account',
  'public.auth_link',
  'public.data_key',
  'public.recipe',
  'public.avatar',
  'public.community_figures',
  'public.credit_history',
  'public.customer_introduction',
  'public.onboarding',
  'public.plan',
  'public.bank_refund',
  'public.chain_anchor',
  'public.purchase',
  'public.recipe_use',
  'public.share_link',
  'public.sessions',
];

test(
  'a call that fails inside answers a problem with a request id and no trace of the cause',
  { timeout: 300_000 },
  async () => {
    const broken = new Set<string>();
    // A call that writes can succeed only once, so it is prepared again for each table.
    const reading = new Map<string, Ready>();
    const tryWithout = async (table: string, isTried: (route: string) => boolean) => {
      const ready = await Promise.all(
        routesThat(isTried).map(async (each) => {
          const prepared = reading.get(each[0]) ?? (await prepare(each));
          if (methodOf(each[0]) === 'GET') reading.set(each[0], prepared);
          return prepared;
        }),
      );
      await without(table, async () => {
        const answers = ready.map(async ({ route, sample, headers }) => {
          const response = await send(app, methodOf(route), sample, headers);
          return { route, response, text: await response.text() };
        });
        for (const { route, response, text } of await Promise.all(answers)) {
          const place = `${route} without ${table}: ${response.status}`;
          const id = response.headers.get('x-request-id');
          expect([place, id]).toEqual([place, expect.stringMatching(/^[\w-]{36}$/)]);
          const shown = isDocument.test(route) ? '' : text;
          expect([place, leaks.filter((leak) => leak.test(shown)), text]).toEqual([
            place,
            [],
            text,
          ]);
          if (response.status !== 500) continue;
          broken.add(route);
          expect(JSON.parse(text)).toEqual(internalError(route, id));
        }
      });
    };
    if (isProof) for (const table of tables) await tryWithout(table, () => true);
    // A route that was never broken has proved nothing.
    const isLeft = (route: string) => !broken.has(route) && !untouched.includes(route);
    for (const table of new Set([...telling, ...tables]))
      if (routes.some(isLeft)) await tryWithout(table, isLeft);
    expect(routes.filter((route) => !broken.has(route)).toSorted()).toEqual(
      untouched.filter((route) => routes.includes(route)),
    );
  },
);

/** What a caller reads of an internal error; `/v1` has the errors of OpenAI. */
function internalError(route: string, requestId: string | null): object {
  const message = 'Something went wrong on our side. Please try again in a moment.';
  if (/ \/v1\//.test(route))
    return { error: { message, type: 'server_error', param: null, code: 'internal' } };
  return {
    type: '/problems/internal',
    title: 'Internal error',
    status: 500,
    detail: message,
    message,
    code: 'internal',
    errors: [],
    request_id: requestId,
  };
}
