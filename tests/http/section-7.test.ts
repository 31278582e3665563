import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProblemReply } from '#services/platform/contract.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { give } from '#tests/support/processes/service.ts';
import { credentials, newCaller, newRun } from '#tests/walls/calls.ts';
import type { Access, Caller } from '#tests/walls/calls.ts';

/**
 * The calls that older clients make, row by row as section 7 of the specification lists them: paths,
 * payloads, defaults, and the fields that those clients read. What an answer has besides is for others.
 */
type Row = {
  /** Method and path; `{id}` is an object of the caller. */
  call: string;
  access: Access;
  status: number;
  /** Creates the object of `{id}`; for other users it does not exist. */
  id?: (caller: Caller) => Promise<string>;
  body?: (caller: Caller) => Record<string, unknown>;
  /** The status without a session, where that is not a refusal. */
  withoutSession?: number;
  /** Names that `data` must have; of the first item where it is a list. */
  fields: readonly string[];
  /** The list is read whole. */
  isWhole?: true;
  /** Values that `data` must contain. */
  holds?: Record<string, unknown>;
  /** A body or query that is refused, and the field that the refusal names. */
  bad?: readonly { query?: string; body?: Record<string, unknown>; field: string }[];
};

/** Invented values of a caller are not echoed. */
const unknownField = '';

let app: TestApp;
beforeAll(async () => {
  app = await createTestShop();
});
afterAll(async () => app.close());

const person = [
  'id',
  'email',
  'name',
  'subscription_tier',
  'optimizations_used',
  'optimizations_limit',
  'created_at',
  'updated_at',
  'avatar_url',
];
const optimization = [
  'id',
  'title',
  'challenge',
  'description',
  'status',
  'strategy',
  'models',
  'challenge_type',
  'created_at',
  'confidence_score',
  'cost',
  'insights_count',
  'context',
  'objectives',
  'constraints',
  'progress',
  'createdAt',
  'metadata',
];
const summary = ['id', 'title', 'description', 'status', 'strategy', 'created_at', 'createdAt'];
const checkout = {
  package_id: 'boost-20',
  success_url: 'http://127.0.0.1:3000/credits/success',
  cancel_url: 'http://127.0.0.1:3000/credits/purchase',
};
const question = {
  challenge: 'Should we open a second shop?',
  context: '',
  objectives: ['More customers'],
  constraints: [],
  strategy: 'ultra-economy',
  challenge_type: 'business_strategy',
};

async function fundedRun(caller: Caller): Promise<string> {
  await give(app, caller.userId, 50);
  return newRun(app, caller);
}

async function ownRecipe({ token }: Caller): Promise<string> {
  const { challenge, objectives, constraints, challenge_type, strategy } = question;
  const body = {
    title: 'A second shop',
    summary: 'Whether to open one',
    category: challenge_type,
    challenge,
    objectives,
    constraints,
    strategy,
  };
  return (await app.data<{ id: string }>('/recipes', { token, body })).id;
}

const rows: readonly Row[] = [
  { call: 'GET /health', access: 'everyone', status: 200, fields: ['status'] },
  {
    call: 'POST /auth/login',
    access: 'everyone',
    status: 200,
    body: ({ email }) => ({ email, password: testPassword }),
    fields: ['token', 'user'],
    bad: [
      { body: { password: 'secret' }, field: 'email' },
      { body: { email: 'ann@example.com' }, field: 'password' },
    ],
  },
  {
    call: 'POST /auth/signup',
    access: 'everyone',
    status: 201,
    body: () => ({
      name: 'Ann Example',
      email: `ann-${randomUUID()}@example.com`,
      password: testPassword,
    }),
    fields: ['token', 'needsEmailVerification'],
    bad: [
      { body: { name: 'A', email: 'ann@example.com', password: testPassword }, field: 'name' },
      { body: { name: 'Ann', email: 'ann', password: testPassword }, field: 'email' },
      { body: { name: 'Ann', email: 'ann@example.com', password: 'short' }, field: 'password' },
      {
        body: {
          name: 'Ann',
          email: 'ann@example.com',
          password: testPassword,
          confirmPassword: testPassword,
        },
        field: unknownField,
      },
    ],
  },
  { call: 'POST /auth/logout', access: 'everyone', status: 200, fields: ['ok'] },
  { call: 'POST /auth/refresh', access: 'cookie', status: 200, fields: ['token'] },
  {
    call: 'GET /auth/session',
    access: 'cookie',
    status: 200,
    withoutSession: 200,
    fields: ['token', 'user'],
  },
  { call: 'GET /users/me', access: 'person', status: 200, fields: person },
  {
    call: 'PATCH /users/me',
    access: 'person',
    status: 200,
    body: () => ({ name: 'Another Name' }),
    fields: person,
    holds: { name: 'Another Name' },
    bad: [
      { body: { name: 'A' }, field: 'name' },
      { body: { subscription_tier: 'scale' }, field: unknownField },
    ],
  },
  {
    call: 'GET /users/me/stats',
    access: 'person',
    status: 200,
    fields: ['optimizations_used', 'optimizations_limit', 'success_rate'],
    holds: { optimizations_used: 0, optimizations_limit: 5, success_rate: null },
  },
  {
    call: 'GET /optimizations',
    access: 'person',
    status: 200,
    fields: summary,
    isWhole: true,
    bad: [
      { query: 'page=0', field: 'page' },
      { query: 'limit=101', field: 'limit' },
    ],
  },
  {
    call: 'GET /optimizations/{id}',
    access: 'person',
    status: 200,
    id: async (caller) => newRun(app, caller),
    fields: optimization,
  },
  {
    call: 'POST /optimizations',
    access: 'person',
    status: 201,
    body: () => question,
    fields: ['id', 'created_at'],
    holds: { status: 'pending', challenge_type: 'business_strategy' },
    bad: [
      { body: { ...question, challenge: ' ' }, field: 'challenge' },
      { body: { ...question, strategy: 'best' }, field: 'strategy' },
      { body: { ...question, challenge_type: 'war' }, field: 'challenge_type' },
    ],
  },
  {
    call: 'DELETE /optimizations/{id}',
    access: 'person',
    status: 200,
    id: async (caller) => newRun(app, caller),
    fields: ['id', 'deleted'],
    holds: { deleted: true },
  },
  {
    call: 'POST /optimizations/{id}/process',
    access: 'person',
    status: 202,
    id: fundedRun,
    fields: optimization,
    holds: { status: 'processing' },
  },
  {
    call: 'POST /optimizations/{id}/cancel',
    access: 'person',
    status: 202,
    id: async (caller) => newRun(app, caller),
    fields: optimization,
  },
  {
    call: 'GET /optimizations/strategies',
    access: 'everyone',
    status: 200,
    fields: ['strategies'],
  },
  {
    call: 'POST /optimizations/estimate',
    access: 'person',
    status: 200,
    body: () => ({
      strategy: 'balanced',
      workflowType: 'business-optimization',
      challengeText: question.challenge,
    }),
    fields: ['estimate'],
    bad: [{ body: { strategy: 'best' }, field: 'strategy' }],
  },
  {
    call: 'GET /optimizations/usage',
    access: 'person',
    status: 200,
    fields: ['current_month', 'limit', 'percentage'],
    holds: { current_month: 0, limit: 5, percentage: 0 },
  },
  {
    call: 'GET /recipes',
    access: 'person',
    status: 200,
    fields: ['id'],
    isWhole: true,
    bad: [
      { query: 'page=0', field: 'page' },
      { query: 'limit=101', field: 'limit' },
      { query: 'category=war', field: 'category' },
    ],
  },
  { call: 'GET /recipes/{id}', access: 'person', status: 200, id: ownRecipe, fields: ['id'] },
  { call: 'GET /recipes/me', access: 'person', status: 200, fields: ['id'], isWhole: true },
  {
    call: 'GET /credits/balance',
    access: 'person',
    status: 200,
    fields: [
      'available_credits',
      'total_purchased',
      'total_consumed',
      'total_credits',
      'used_credits',
    ],
  },
  {
    call: 'GET /credits/packages',
    access: 'everyone',
    status: 200,
    fields: ['id', 'name', 'price_usd', 'credits', 'description'],
  },
  {
    call: 'GET /credits/history',
    access: 'person',
    status: 200,
    fields: ['id', 'transaction_type', 'description', 'created_at', 'amount'],
    bad: [
      { query: 'limit=0', field: 'limit' },
      { query: 'limit=201', field: 'limit' },
    ],
  },
  {
    call: 'POST /credits/check-usage',
    access: 'person',
    status: 200,
    body: () => ({ required_credits: 14 }),
    fields: ['has_sufficient_credits', 'required_credits', 'current_balance', 'shortfall'],
    bad: [{ body: { required_credits: 0 }, field: 'required_credits' }],
  },
  {
    call: 'POST /credits/purchase',
    access: 'person',
    status: 201,
    body: () => checkout,
    fields: ['checkout_url'],
    bad: [{ body: {}, field: 'package_id' }],
  },
  {
    call: 'POST /credits/create-payment-intent',
    access: 'person',
    status: 201,
    body: () => ({ package_id: 'boost-20' }),
    fields: ['client_secret'],
    bad: [{ body: {}, field: 'package_id' }],
  },
  {
    call: 'POST /credits/consume',
    access: 'service',
    status: 201,
    body: ({ userId }) => ({ user_id: userId, credits: 2, reason: 'A report' }),
    fields: ['consumed_credits', 'balance'],
    bad: [{ body: { credits: 2, reason: 'A report' }, field: 'user_id' }],
  },
  {
    call: 'POST /credits/create-checkout-session',
    access: 'person',
    status: 201,
    body: () => checkout,
    fields: ['checkout_url'],
    bad: [{ body: { ...checkout, package_id: 'Every thing' }, field: 'package_id' }],
  },
  {
    call: 'GET /credits/analytics',
    access: 'person',
    status: 200,
    fields: [
      'monthly_consumption',
      'average_cost_per_optimization',
      'total_consumed',
      'most_used_models',
    ],
  },
  {
    call: 'GET /credits/model-costs',
    access: 'everyone',
    status: 200,
    fields: ['models', 'as_of'],
  },
];

type Answer = { status: number; body: Record<string, unknown> };

async function ask(
  { call, access }: Row,
  caller: Caller | null,
  { id = '', query = '', body }: { id?: string; query?: string; body?: object | undefined } = {},
): Promise<Answer> {
  const [method = '', path = ''] = call.split(' ');
  const response = await app.call(`${path.replace('{id}', id)}${query === '' ? '' : `?${query}`}`, {
    method,
    ...(body === undefined ? {} : { body }),
    ...(access === 'service' ? { key: randomUUID() } : {}),
    headers: caller === null ? {} : await credentials(app, access, caller),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

describe.each(rows)('$call', (row) => {
  test(`${row.call} answers its owner in the envelope, with the fields that clients read`, async () => {
    const caller = await newCaller(app);
    await give(app, caller.userId, 20);
    await newRun(app, caller);
    await ownRecipe(caller);
    const id = await row.id?.(caller);
    const { status, body } = await ask(row, caller, { id: id ?? '', body: row.body?.(caller) });
    expect(status).toBe(row.status);
    expect(Object.keys(body)).toEqual(row.isWhole ? ['data', 'pagination'] : ['data']);
    const data = Array.isArray(body['data']) ? (body['data'] as unknown[])[0] : body['data'];
    expect(Object.keys(data as object)).toEqual(expect.arrayContaining([...row.fields]));
    expect(body['data']).toMatchObject(row.holds ?? {});
  });

  test(`${row.call} requires authentication exactly where it should`, async () => {
    const caller = await newCaller(app);
    const id = await row.id?.(caller);
    const { status, body } = await ask(row, null, { id: id ?? '', body: row.body?.(caller) });
    const refused = { status: 401, body: { message: 'Authentication required' } };
    const withoutSession = row.withoutSession
      ? { status: row.withoutSession, body: { data: null } }
      : refused;
    expect({ status, body }).toMatchObject(
      row.access === 'everyone' ? { status: row.status } : withoutSession,
    );
  });
});

describe.each(rows.filter(({ id }) => id !== undefined))('$call', (row) => {
  test(`${row.call} answers another user as if the object did not exist`, async () => {
    const [owner, other] = [await newCaller(app), await newCaller(app)];
    const id = (await row.id?.(owner)) ?? '';
    const said = async (of: string) => {
      const { status, body } = await ask(row, other, { id: of, body: row.body?.(other) });
      const { request_id: _, ...same } = body;
      return { status, same };
    };
    const foreign = await said(id);
    expect(foreign.status).toBe(404);
    expect(foreign).toEqual(await said(`${id.slice(0, 4)}${'0'.repeat(26)}`));
  });
});

const refusals = rows.flatMap((row) =>
  (row.bad ?? []).map((bad) => ({ ...bad, row, of: row.call })),
);
test.each(refusals)(
  '$of refuses an invalid $field and names it',
  async ({ row, query, body, field }) => {
    const caller = await newCaller(app);
    const answer = await ask(row, caller, { query: query ?? '', body });
    expect(answer.status).toBe(400);
    const { errors, message } = answer.body as ProblemReply;
    expect([...new Set(errors.map((error) => error.field))]).toEqual([field]);
    expect(message).not.toBe('');
  },
);

test('lists have the expected defaults: page 1 of 10 rows, and 50 lines of history', async () => {
  const caller = await newCaller(app);
  for (let number = 0; number < 11; number += 1) await newRun(app, caller);
  for (let number = 0; number < 51; number += 1) await give(app, caller.userId, 1);
  const { token } = caller;
  const page = await app.call('/optimizations', { token });
  const list = (await page.json()) as { data: unknown[]; pagination: unknown };
  expect(list.data).toHaveLength(10);
  expect(list.pagination).toEqual({ page: 1, limit: 10, total: 11, total_pages: 2 });
  expect(await app.data('/credits/history', { token })).toHaveLength(50);
});
