import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Stripe } from 'stripe';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { devPages } from '#services/http/dev-pages.ts';
import { answerError, createRouter } from '#services/platform/http/http.ts';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { stripePages } from '#services/sandbox/stripe/pages/pages.ts';
import { createTestStripe } from '#tests/support/stripe.ts';
import type { TestStripe } from '#tests/support/stripe.ts';

/** The sandbox's payment pages on our port, for people and for scripts. */
let fake: TestStripe;
let stripe: Stripe;
let server: ReturnType<typeof createServer>;
let app: ReturnType<typeof createRouter>;
/** The same with ALLOW_PUBLIC_SANDBOX. */
let demo: ReturnType<typeof createRouter>;

const publicUrl = 'http://shop.test:3000';
const json = { accept: 'application/json' };
const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

beforeAll(async () => {
  fake = await createTestStripe({ publicUrl });
  const { hostname, port } = new URL(fake.url);
  stripe = new Stripe('sk_test_sandbox', { host: hostname, port, protocol: 'http' });
  const show = getRequestListener(stripePages(fake, 'Sevenfold').fetch);
  server = createServer((request, response) => void show(request, response));
  const sandboxUrl = await listen(server, { host: '127.0.0.1', port: 0 });
  app = createRouter();
  app.onError((error, context) => answerError(error, context));
  app.route(
    '/dev',
    devPages({ sandboxUrl, publicUrl, isPublic: false, token: null, models: null }),
  );
  demo = createRouter();
  demo.onError((error, context) => answerError(error, context));
  demo.route(
    '/dev',
    devPages({ sandboxUrl, publicUrl, isPublic: true, token: null, models: null }),
  );
});

afterAll(async () => {
  await stopListening(server);
  await fake.close();
});

async function open(path: string, init: RequestInit = {}): Promise<Response> {
  return app.request(new URL(path, publicUrl), { headers: page, ...init });
}

async function post(path: string, body: Readonly<Record<string, unknown>> = {}): Promise<Response> {
  return open(path, {
    method: 'POST',
    headers: { ...json, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function begin(
  name: string = 'Opportunity Finder',
  monthly: boolean = false,
): Promise<Stripe.Checkout.Session> {
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 500,
    product_data: { name },
    ...(monthly ? { recurring: { interval: 'month' } } : {}),
  });
  const customer = await stripe.customers.create({ email: 'ann@example.com' });
  return stripe.checkout.sessions.create({
    mode: monthly ? 'subscription' : 'payment',
    customer: customer.id,
    line_items: [{ price: price.id }],
    success_url: `${publicUrl}/credits/success?session_id={CHECKOUT_SESSION_ID}`,
    cancel_url: `${publicUrl}/credits/purchase`,
  });
}

describe('the checkout page', () => {
  test('the checkout page says that no money moves, what is bought, for how much, how often and by whom', async () => {
    const once = await begin();
    const answer = await open(new URL(once.url ?? '').pathname);
    expect(answer.headers.get('content-security-policy')).toContain(
      `form-action 'self' ${publicUrl}`,
    );
    const html = await answer.text();
    for (const words of [
      'Sandbox: no money moves',
      'Pay for Opportunity Finder',
      '$5.00',
      'One-time payment',
      'ann@example.com',
      'Pay later (bank confirms)',
      'Decline card',
      'Abandon and go back',
    ])
      expect(html).toContain(words);
    expect(html).not.toContain('<script');
    const monthly = await begin('Side-Gig Builder', true);
    const plan = await open(`/dev/stripe/checkout/${monthly.id}`);
    expect(await plan.text()).toContain('Monthly, until you cancel');
  });

  test('the checkout page leads back after each outcome, a browser by a redirect and a script in JSON', async () => {
    const back = `${publicUrl}/credits/purchase`;
    const one = await begin();
    const declined = await post(`/dev/stripe/checkout/${one.id}/decline`);
    expect(await declined.json()).toEqual({ redirect: one.url });
    const again = await open(`/dev/stripe/checkout/${one.id}`);
    expect(await again.text()).toContain('Your card was declined.');
    const left = await post(`/dev/stripe/checkout/${one.id}/abandon`);
    expect(await left.json()).toEqual({ redirect: back });

    const form = await open(`/dev/stripe/checkout/${one.id}/pay`, {
      method: 'POST',
      headers: { ...page, 'sec-fetch-site': 'same-origin', origin: 'null' },
    });
    expect(form.status).toBe(303);
    expect(form.headers.get('location')).toBe(`${publicUrl}/credits/success?session_id=${one.id}`);
    expect(await (await open(`/dev/stripe/checkout/${one.id}`)).text()).toContain(
      'This checkout is paid.',
    );
    const twice = await post(`/dev/stripe/checkout/${one.id}/pay`);
    expect([twice.status, await twice.json()]).toEqual([
      400,
      { error: `The session ${one.id} is complete.` },
    ]);

    const two = await begin();
    await post(`/dev/stripe/checkout/${two.id}/pay-later`);
    expect(await (await open(`/dev/stripe/checkout/${two.id}`)).text()).toContain(
      'confirmed the payment yet',
    );
  });

  test('the checkout page says when a checkout has expired or does not exist', async () => {
    const { id } = await begin();
    await stripe.checkout.sessions.expire(id);
    const html = await (await open(`/dev/stripe/checkout/${id}`)).text();
    expect(html).toContain('This checkout has expired.');
    expect(html).not.toContain('<button');
    const none = await open('/dev/stripe/checkout/cs_test_none');
    expect([none.status, (await none.text()).includes('No such checkout.session')]).toEqual([
      404,
      true,
    ]);
    expect((await post(`/dev/stripe/checkout/${id}/steal`)).status).toBe(400);
  });

  test('the checkout page runs no script from a name', async () => {
    const { id } = await begin(`<img src=x onerror=alert(1)>`);
    const html = await (await open(`/dev/stripe/checkout/${id}`)).text();
    expect(html).not.toContain('<img');
    expect(html).toContain('&lt;img');
  });
});

describe('the page of payments', () => {
  test('the page of payments plays the bank, the network and time, for people and for scripts', async () => {
    const once = await begin();
    fake.pay(once.id, 'pay');
    const done = await stripe.checkout.sessions.retrieve(once.id, { expand: ['payment_intent'] });
    const intent = done.payment_intent;
    if (intent === null || typeof intent === 'string') throw new Error('No intent');
    const payment = intent.id;

    const refund = await post('/dev/stripe/bank-refunds', { payment, amount: 100 });
    expect(await refund.json()).toMatchObject({ object: 'refund', amount: 100 });
    const warning = await post('/dev/stripe/fraud-warnings', { payment });
    expect(await warning.json()).toMatchObject({ object: 'radar.early_fraud_warning' });
    const dispute = await post('/dev/stripe/disputes', { payment, inquiry: true, amount: 300 });
    const { id, status } = (await dispute.json()) as Stripe.Dispute;
    expect(status).toBe('warning_needs_response');
    const moved = await post(`/dev/stripe/disputes/${id}`, { move: 'needs_response' });
    expect(await moved.json()).toMatchObject({ status: 'needs_response' });
    expect((await post(`/dev/stripe/disputes/${id}`, { move: 'sideways' })).status).toBe(400);
    expect((await post('/dev/stripe/fraud-warnings', { payment: 'pi_none' })).status).toBe(404);

    const later = await begin();
    fake.pay(later.id, 'pay-later');
    await post(`/dev/stripe/later/${later.id}`, { outcome: 'paid' });
    expect(await stripe.checkout.sessions.retrieve(later.id)).toMatchObject({
      payment_status: 'paid',
    });

    const html = await (await open('/dev/stripe')).text();
    for (const words of ['needs response', '$1.00 of it refunded', 'Skip one month', 'We lose'])
      expect(html).toContain(words);
  });

  test('the page of payments advances the clock, and plans with it', async () => {
    const { id } = await begin('Side-Gig Builder', true);
    fake.pay(id, 'pay');
    const { subscription } = await stripe.checkout.sessions.retrieve(id);
    if (typeof subscription !== 'string') throw new Error('No plan');
    await post(`/dev/stripe/subscriptions/${subscription}/failures`, { tries: 1 });
    const before = fake.nowMs();
    const moved = await post('/dev/stripe/clock', { advance: 31 * 24 * 3_600 });
    const { now } = (await moved.json()) as { now: string };
    expect(Date.parse(now) - before).toBeGreaterThanOrEqual(31 * 24 * 3_600_000);
    expect(await stripe.subscriptions.retrieve(subscription)).toMatchObject({ status: 'past_due' });
    for (const advance of [0, -1, 'soon', 1e12])
      expect((await post('/dev/stripe/clock', { advance })).status).toBe(400);
  });

  test('the page of payments says beside the clock which time it advances', async () => {
    const text = (await (await open('/dev/stripe')).text()).replace(/\s+/g, ' ');
    expect(text).toContain("This moves only the payment provider's clock");
  });

  test('the page of payments makes the faults that are set', async () => {
    const body = await post('/dev/stripe/faults', { refunds: 'pending', drop: 2 });
    expect(await body.json()).toMatchObject({ refunds: 'pending', drop: 2 });
    expect(fake.faults).toMatchObject({ refunds: 'pending', drop: 2 });
    await post('/dev/stripe/faults', { refunds: 'succeeded', drop: 0 });
  });

  test('the page of payments links a receipt, an invoice, and a page on which a plan can be cancelled', async () => {
    const { id, customer } = await begin('Side-Gig Builder', true);
    fake.pay(id, 'pay');
    const portal = await stripe.billingPortal.sessions.create({
      customer: typeof customer === 'string' ? customer : '',
      return_url: `${publicUrl}/credits/plan`,
    });
    const path = new URL(portal.url).pathname;
    expect(await (await open(path)).text()).toContain('Cancel at the end of the period');
    const cancelled = await open(`${path}/cancel`, { method: 'POST' });
    expect([cancelled.status, cancelled.headers.get('location')]).toEqual([303, path]);
    expect(await (await open(path)).text()).toContain('Keep the plan');
    const { invoice } = await stripe.checkout.sessions.retrieve(id, { expand: ['invoice'] });
    if (invoice === null || typeof invoice === 'string') throw new Error('No invoice');
    const paper = await open(new URL(invoice.hosted_invoice_url ?? '').pathname);
    expect(await paper.text()).toContain('1 × Side-Gig Builder');
    const [charge] = (await stripe.charges.list({ limit: 1 })).data;
    const receipt = await open(new URL(charge?.receipt_url ?? '').pathname);
    expect(await receipt.text()).toContain('ann@example.com');
  });
});

describe('strangers', () => {
  const status = async (path: string, headers: Record<string, string>, method: string = 'GET') =>
    (await open(path, { method, headers: { ...page, ...headers } })).status;

  test('strangers reach only the checkout by a link, and can send no form', async () => {
    const { id } = await begin();
    const visit = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    expect(await status(`/dev/stripe/checkout/${id}`, visit)).toBe(200);
    expect(await status('/dev/stripe', visit)).toBe(404);
    const script = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };
    expect(await status(`/dev/stripe/checkout/${id}`, script)).toBe(404);
    const pay = `/dev/stripe/checkout/${id}/pay`;
    expect(await status(pay, { 'sec-fetch-site': 'cross-site' }, 'POST')).toBe(404);
    expect(await status(pay, { 'sec-fetch-site': 'same-site' }, 'POST')).toBe(404);
    expect(await status(pay, { origin: 'https://evil.example' }, 'POST')).toBe(404);
    expect(await status(pay, { origin: 'null' }, 'POST')).toBe(404);
    expect(await stripe.checkout.sessions.retrieve(id)).toMatchObject({ status: 'open' });
    expect((await app.request('http://evil.example/dev/stripe', { headers: page })).status).toBe(
      404,
    );
  });

  /** A call over a socket whose other end is at `address`. */
  const from = async (
    where: typeof app,
    address: string,
    [method, path]: readonly [string, string],
    headers: Record<string, string> = {},
  ) => {
    const url = `http://localhost:3000${path}`;
    const bindings = { incoming: { socket: { remoteAddress: address } } };
    return (await where.request(url, { method, headers: { ...page, ...headers } }, bindings))
      .status;
  };

  test('strangers on another machine or behind a proxy get 404 under any host name', async () => {
    for (const where of [app, demo]) {
      for (const path of [
        '/dev/stripe',
        '/dev/mail',
        '/dev/stripe/portal/a',
        '/dev/stripe/checkout/',
      ])
        expect(await from(where, '192.168.0.7', ['GET', path])).toBe(404);
      expect(await from(where, '192.168.0.7', ['POST', '/dev/stripe/payouts'])).toBe(404);
      expect(await from(where, '192.168.0.7', ['DELETE', '/dev/mail'])).toBe(404);
      expect(await from(where, '', ['GET', '/dev/stripe'])).toBe(404);
      for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
        expect(await from(where, '127.0.0.1', ['GET', '/dev/stripe'], { [name]: 'a' })).toBe(404);
      for (const address of ['127.0.0.1', '127.0.0.9', '::1', '::ffff:127.0.0.1'])
        expect(await from(where, address, ['GET', '/dev/stripe'])).toBe(where === app ? 200 : 404);
    }
  });

  test('strangers reach the checkout, and pay there, only where the sandbox is public', async () => {
    const { id } = await begin();
    const see = ['GET', `/dev/stripe/checkout/${id}`] as const;
    const pay = ['POST', `/dev/stripe/checkout/${id}/pay`] as const;
    expect(await from(app, '192.168.0.7', see)).toBe(404);
    expect(await from(app, '192.168.0.7', pay)).toBe(404);
    expect(await stripe.checkout.sessions.retrieve(id)).toMatchObject({ status: 'open' });
    expect(await from(demo, '127.0.0.1', see, { 'x-forwarded-for': '203.0.113.7' })).toBe(200);
    expect(await from(demo, '192.168.0.7', see)).toBe(200);
    expect(await from(demo, '192.168.0.7', pay)).toBe(303);
    expect(await stripe.checkout.sessions.retrieve(id)).toMatchObject({ status: 'complete' });
  });

  test("strangers get 404 on the sandbox's own port under a foreign name or from a foreign page", async () => {
    const direct = stripePages(fake, 'Sevenfold');
    const at = async (host: string, init: RequestInit = {}) =>
      (await direct.request(`http://${host}/dev/stripe`, init)).status;
    expect([await at('evil.example'), await at('127.0.0.1:41234')]).toEqual([404, 200]);
    const form = { method: 'POST', headers: { origin: 'https://evil.example' } };
    const clock = await direct.request('http://127.0.0.1:41234/dev/stripe/clock', form);
    expect(clock.status).toBe(404);
  });
});
