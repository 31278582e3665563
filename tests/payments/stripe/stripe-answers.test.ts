import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Stripe } from 'stripe';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ProviderRefused } from '#services/payments/provider.ts';
import type { PaymentProvider } from '#services/payments/provider.ts';
import { createStripeProvider } from '#services/payments/stripe/adapter.ts';
import { unavailableProvider } from '#services/payments/unavailable.ts';
import { describeError } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';

/** Answers that Stripe would not give, and those that it gives when it refuses. */

type Asked = { method: string; path: string; key: string | undefined; body: string };
type Answer = (asked: Asked, response: ServerResponse) => void;

let answers: Answer[] = [];
let asked: Asked[] = [];
const server = createServer((request, response) => void answer(request, response));
let provider: PaymentProvider;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const key = request.headers['idempotency-key'];
  const call: Asked = {
    method: request.method ?? '',
    path: request.url ?? '',
    key: typeof key === 'string' ? key : undefined,
    body,
  };
  asked.push(call);
  const next = answers.length > 1 ? answers.shift() : answers[0];
  next?.(call, response);
}

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  provider = providerWith({ networkRetries: 0 });
});
beforeEach(() => {
  asked = [];
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

function providerWith(settings: Partial<Parameters<typeof createStripeProvider>[0]>) {
  const { port } = server.address() as AddressInfo;
  return createStripeProvider({
    secretKey: 'sk_test_canary',
    webhookSecrets: ['whsec_new', 'whsec_old'],
    url: `http://127.0.0.1:${port}`,
    automaticTax: false,
    ...settings,
  });
}

const says =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_asked, response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };
const refuses = (
  status: number,
  error: Record<string, unknown>,
  headers?: Record<string, string>,
) => says(status, { error: { message: 'canary 4242', ...error } }, headers);

async function thrown(asking: Promise<unknown>): Promise<unknown> {
  return asking.then(
    (value) => {
      throw new Error(`It resolved: ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}

const refund = { refundId: 'ref_1', intentId: 'pi_1', amountMinor: 100, userId: 'usr_1' };

describe('an answer that is not of the provider', () => {
  test.each([
    ['a 404 without its envelope', says(404, { message: 'canary' })],
    ['an empty object', says(200, {})],
    ['another kind of object', says(200, { object: 'charge', id: 'ch_1' })],
    ['an object without an id', says(200, { object: 'refund' })],
    ['an amount that is no number', says(200, { object: 'refund', id: 're_1', amount: '5' })],
  ])(
    'an answer that is not of the provider is a fault and never a refund: %s',
    async (_name, given) => {
      answers = [given];
      const error = await thrown(provider.createRefund(refund));
      expect(error).toMatchObject({ name: 'UnexpectedAnswer' });
      expect(JSON.stringify(describeError(error))).not.toContain('canary');
    },
  );

  test('an answer that is not of the provider is a fault where another object was asked for', async () => {
    answers = [says(200, { object: 'refund', id: 're_2', amount: 5, currency: 'usd', created: 1 })];
    expect(await thrown(provider.retrieveRefund('re_1'))).toMatchObject({
      name: 'UnexpectedAnswer',
    });
  });

  test.each([
    ['a page in HTML', says(404, '<html>canary</html>', { 'content-type': 'text/html' })],
    ['half an answer', says(200, '{"object": "refund", "id": "re')],
  ])('an answer that cannot be read means try again: %s', async (_name, given) => {
    answers = [given];
    expect(await thrown(provider.createRefund(refund))).toMatchObject({
      status: 503,
      code: 'payment-provider',
    });
  });

  test.each([
    ['no list', { message: 'Not Found' }],
    ['a list of something', { object: 'list', data: ['re_1'], has_more: false }],
    ['a list that does not say whether it ends', { object: 'list', data: [] }],
  ])('an answer in place of a list is a fault: %s', async (_name, page) => {
    answers = [says(200, page)];
    expect(await thrown(provider.listRefunds('pi_1'))).toMatchObject({
      name: 'UnexpectedAnswer',
    });
    answers = [says(200, page)];
    const charges = provider.listCharges(Date.now())[Symbol.asyncIterator]();
    expect(await thrown(charges.next())).toMatchObject({ name: 'UnexpectedAnswer' });
  });
});

describe('an unavailable provider', () => {
  test('an unavailable provider means try again, after as long as it says', async () => {
    answers = [refuses(429, { code: 'rate_limit' }, { 'retry-after': '17' })];
    const error = await thrown(provider.retrieveIntent('pi_1'));
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ status: 503, extras: { retryAfterSeconds: 17 } });
    expect(JSON.stringify(describeError(error))).not.toContain('canary');
  });

  test.each([
    ['a fault of its own', refuses(500, { type: 'api_error' })],
    ['the same call at the same time', refuses(409, { code: 'idempotency_key_in_use' })],
    ['a closed connection', ((_asked, response) => response.destroy()) satisfies Answer],
  ])('an unavailable provider means try again: %s', async (_name, given) => {
    answers = [given];
    expect(await thrown(provider.createRefund(refund))).toMatchObject({
      status: 503,
      code: 'payment-provider',
      extras: { retryAfterSeconds: 5 },
    });
  });

  test('an unavailable provider is not waited for longer than agreed', async () => {
    const impatient = providerWith({ networkRetries: 0, timeoutMs: 30 });
    answers = [() => undefined];
    expect(await thrown(impatient.createRefund(refund))).toMatchObject({ status: 503 });
  });

  test('an unavailable provider is asked again with the same key and the same figures', async () => {
    const done = {
      object: 'refund',
      id: 're_1',
      amount: 100,
      currency: 'usd',
      created: 1,
      status: null,
    };
    answers = [refuses(500, { type: 'api_error' }), says(200, done)];
    expect(await providerWith({ networkRetries: 1 }).createRefund(refund)).toMatchObject({
      providerRefundId: 're_1',
      status: 'pending',
    });
    expect(asked).toHaveLength(2);
    expect(asked[0]).toEqual(asked[1]);
    expect(asked[0]?.key).toBe('ref_1');
  });
});

describe('a refusal by the provider', () => {
  test('a refusal by the provider carries its code and nothing that was sent', async () => {
    answers = [refuses(400, { type: 'invalid_request_error', code: 'charge_already_refunded' })];
    const error = await thrown(provider.createRefund(refund));
    expect(error).toBeInstanceOf(ProviderRefused);
    expect(error).toMatchObject({ code: 'charge_already_refunded' });
    expect(JSON.stringify(describeError(error))).not.toContain('canary');
  });

  test('a refusal by the provider because of a card says so, too', async () => {
    answers = [refuses(402, { type: 'card_error', code: 'card_declined' })];
    expect(await thrown(provider.createRefund(refund))).toMatchObject({ code: 'card_declined' });
  });

  test('a refusal by the provider because of an unknown id is null, and only for a lookup', async () => {
    answers = [refuses(404, { type: 'invalid_request_error', code: 'resource_missing' })];
    expect(await provider.retrieveCheckout('cs_test_1')).toBe(null);
    expect(await provider.retrieveDispute('dp_1')).toBe(null);
    expect(await thrown(provider.createRefund(refund))).toMatchObject({ code: 'resource_missing' });
    await provider.deleteCustomer('cus_1');
  });

  test('the provider is not asked for an invalid id', async () => {
    for (const id of [
      '',
      'pi_1',
      'cs_test_1/line_items',
      'cs_../../refunds',
      `cs_${'x'.repeat(300)}`,
    ])
      expect(await provider.retrieveCheckout(id)).toBe(null);
    expect(asked).toEqual([]);
  });

  test('a refusal by the provider of the same key with other figures is a fault that says so', async () => {
    answers = [refuses(400, { type: 'idempotency_error' }, { 'request-id': 'req_1' })];
    expect(await thrown(provider.createRefund(refund))).toMatchObject({
      message:
        'The payment provider was asked for the same refund with other figures than before (req_1)',
    });
  });

  test('a provider that refuses our key is a fault without the key in its words', async () => {
    answers = [refuses(401, { type: 'invalid_request_error' })];
    const error = await thrown(provider.createRefund(refund));
    expect(error).toMatchObject({
      message: 'The payment provider does not accept the key for: refund',
    });
    expect(JSON.stringify(describeError(error))).not.toContain('canary');
  });
});

test('pages of a list are asked for one after another, and a long time in parts, oldest first', async () => {
  const day = 24 * 60 * 60;
  const now = 1_000 * day;
  const dispute = (id: number, created: number) =>
    ({
      object: 'dispute',
      id: `dp_${id}`,
      amount: 5,
      currency: 'usd',
      created,
      status: 'lost',
    }) as const;
  const page = (data: unknown[], hasMore: boolean) =>
    says(200, { object: 'list', data, has_more: hasMore });
  answers = [
    page([dispute(3, now - 2 * day + 3), dispute(2, now - 2 * day + 2)], true),
    page([dispute(1, now - 2 * day + 1)], false),
    page([], false),
    page([dispute(4, now)], false),
  ];
  const found: string[] = [];
  const listing = providerWith({ networkRetries: 0, clock: () => now * 1000 });
  for await (const { disputeId } of listing.listDisputes((now - 2 * day) * 1000))
    found.push(disputeId);
  expect(found).toEqual(['dp_1', 'dp_2', 'dp_3', 'dp_4']);
  expect(asked.map(({ path }) => decodeURIComponent(path.replace(/^.*\?/, '')))).toEqual([
    `limit=100&created[gte]=${now - 2 * day}&created[lt]=${now - day}`,
    `limit=100&starting_after=dp_2&created[gte]=${now - 2 * day}&created[lt]=${now - day}`,
    `limit=100&created[gte]=${now - day}&created[lt]=${now}`,
    `limit=100&created[gte]=${now}`,
  ]);
});

describe('a webhook event', () => {
  const event = {
    object: 'event',
    id: 'evt_1',
    type: 'invoice.paid',
    created: 1_700_000_000,
    data: { object: { object: 'invoice', id: 'in_1' } },
  };
  const now = 1_700_000_400_000;
  const signed = async (secret: string, body: string, at: number = now) => {
    const { Stripe: Sdk } = await import('stripe');
    return new Sdk('sk_test').webhooks.generateTestHeaderStringAsync({
      payload: body,
      secret,
      timestamp: Math.floor(at / 1000),
    });
  };
  const reader = () => providerWith({ clock: () => now });

  test.each(['whsec_new', 'whsec_old'])(
    'a webhook event is read when it is signed with %s',
    async (secret) => {
      const body = JSON.stringify(event);
      expect(await reader().readWebhookEvent(body, await signed(secret, body))).toEqual({
        eventId: 'evt_1',
        type: 'invoice.paid',
        objectId: 'in_1',
        createdAt: 1_700_000_000_000,
      });
    },
  );

  test('a webhook event is refused alike when it is forged, old or unsigned', async () => {
    const body = JSON.stringify(event);
    const bad: [string, string | undefined][] = [
      [body, await signed('whsec_other', body)],
      [`${body} `, await signed('whsec_new', body)],
      [body, await signed('whsec_new', body, now - 301_000)],
      [body, undefined],
      [body, 'canary'],
      ['', await signed('whsec_new', '')],
    ];
    for (const [text, signature] of bad) {
      const error = await thrown(reader().readWebhookEvent(text, signature));
      expect(error).toMatchObject({ status: 400, code: 'bad-signature' });
      expect(JSON.stringify(describeError(error))).not.toContain('whsec');
    }
  });

  const without = (name: string) =>
    Object.fromEntries(Object.entries(event).filter(([key]) => key !== name));
  test.each<[string, unknown]>([
    ['no JSON', 'no json'],
    ['null', null],
    ['a list', []],
    ['of another version', { object: 'v2.core.event' }],
    ['another object', { object: 'charge', id: 'ch_1' }],
    ['without a type', without('type')],
    ['of a type with a NUL', { ...event, type: 'invoice.paid\u0000' }],
    ['of a type that is too long', { ...event, type: 'a'.repeat(129) }],
    ['of a type that is a number', { ...event, type: 5 }],
    ['with an id that is none', { ...event, id: 'canary' }],
    ['with a NUL in its id', { ...event, id: 'evt_\u0000' }],
    ['with an id that is too long', { ...event, id: `evt_${'a'.repeat(300)}` }],
    ['without data', without('data')],
    ['about nothing', { ...event, data: { object: null } }],
    ['about an id with a NUL', { ...event, data: { object: { id: 'in_\u0000' } } }],
    ['about an id with a line feed', { ...event, data: { object: { id: 'in_1\n' } } }],
    ['without a time', without('created')],
    ['of a time that is a text', { ...event, created: 'x' }],
    ['of a time that is no whole number', { ...event, created: 1.5 }],
    ['of a time before 1970', { ...event, created: -1 }],
    ['of a time after the year 9999', { ...event, created: 253_402_300_800 }],
    ['of a time that no date has', { ...event, created: Number.MAX_SAFE_INTEGER }],
    ['of a time beyond all figures', { ...event, created: 1e300 }],
  ])('a webhook event that is signed and %s is refused', async (_what, sent) => {
    const body = typeof sent === 'string' ? sent : JSON.stringify(sent);
    const error = await thrown(reader().readWebhookEvent(body, await signed('whsec_new', body)));
    expect(error).toMatchObject({ status: 400, code: 'bad-webhook-event' });
    expect(JSON.stringify(describeError(error))).not.toMatch(/whsec|canary/);
  });

  test.each<[string, object, string | null]>([
    ['no id', {}, null],
    ['an id that is a number', { id: 5 }, null],
    ['an id of a kind that is not known', { id: 'climorder-1' }, 'climorder-1'],
  ])('a webhook event may be about an object with %s', async (_what, object, objectId) => {
    const body = JSON.stringify({ ...event, data: { object } });
    expect(await reader().readWebhookEvent(body, await signed('whsec_new', body))).toMatchObject({
      objectId,
    });
  });

  test('a webhook event is read up to 300 seconds after it was signed', async () => {
    const body = JSON.stringify(event);
    const signature = await signed('whsec_new', body, now - 300_000);
    expect(await reader().readWebhookEvent(body, signature)).toMatchObject({ eventId: 'evt_1' });
  });
});

test.each([
  ['warning_needs_response', -500, 'inquiry'],
  ['warning_closed', 0, 'closed'],
  ['prevented', 0, 'closed'],
  ['under_review', 0, 'withdrawn'],
  ['won', 0, 'won'],
  ['lost', -500, 'lost'],
  ['appeal_under_review', -500, 'withdrawn'],
  ['something_new', -2_000, 'withdrawn'],
  ['something_new', 0, 'inquiry'],
] satisfies [Stripe.Dispute.Status, number, string][])(
  'a dispute that is %s with %i away is %s for us',
  async (status, amount, stage) => {
    answers = [
      says(200, {
        object: 'dispute',
        id: 'dp_1',
        amount: 500,
        currency: 'usd',
        created: 1,
        charge: 'ch_1',
        payment_intent: 'pi_1',
        status,
        balance_transactions: [{ amount }],
      }),
    ];
    expect(await provider.retrieveDispute('dp_1')).toMatchObject({ stage, status });
  },
);

test('without a key each call says that payments are not set up', async () => {
  expect(await thrown(unavailableProvider.retrieveIntent('pi_1'))).toMatchObject({
    status: 503,
    code: 'payments-unavailable',
    message: 'Payments are not set up on this server.',
  });
  const events = unavailableProvider.listEvents(0)[Symbol.asyncIterator]();
  expect(await thrown(events.next())).toMatchObject({ code: 'payments-unavailable' });
});
