import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { createMailbox } from '#services/sandbox/mail/mailbox.ts';
import { mailboxPages } from '#services/sandbox/mail/mailbox-pages.ts';
import { stripePages } from '#services/sandbox/stripe/pages/pages.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { temporaryFolder } from '#tests/support/processes/processes.ts';
import { createTestStripe } from '#tests/support/stripe.ts';

/** The sandbox's pages on our port, made public by ALLOW_PUBLIC_SANDBOX. */
const token = 'a'.repeat(20) + 'B'.repeat(23);
const publicUrl = 'https://demo.example';
const resources = new AsyncDisposableStack();
let app: TestApp;
/** The paths of all pages of the sandbox, with a value for each parameter. */
let routes: { method: string; path: string }[];

beforeAll(async () => {
  const folder = temporaryFolder();
  resources.defer(() => folder.remove());
  const fake = await createTestStripe({ publicUrl });
  resources.defer(async () => fake.close());
  const pages = new Hono()
    .route('/', mailboxPages(createMailbox(folder.path), 'Sevenfold'))
    .route('/', stripePages(fake, 'Sevenfold'));
  routes = pages.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ method, path: path.replaceAll(/:\w+/g, 'a') }));
  const show = getRequestListener(pages.fetch);
  const server = createServer((request, response) => void show(request, response));
  const SANDBOX_URL = await listen(server, { host: '127.0.0.1', port: 0 });
  resources.defer(async () => stopListening(server));
  app = await createTestApp({
    env: {
      SANDBOX_URL,
      PUBLIC_URL: publicUrl,
      ALLOW_PUBLIC_SANDBOX: 'true',
      DEV_PAGES_TOKEN: token,
    },
  });
  resources.defer(async () => app.close());
});
afterAll(async () => resources.disposeAsync());

async function open(path: string, init: RequestInit = {}): Promise<Response> {
  return app.app.request(`${publicUrl}${path}`, init);
}

/** Whether the sandbox answered, and not the API in its place. */
const isOpen = ({ headers }: Response) =>
  headers.get('content-type') !== 'application/problem+json';

test('every page except a checkout is closed without the token, and open with its cookie', async () => {
  expect(routes.length).toBeGreaterThan(15);
  for (const { method, path } of routes) {
    const route = `${method} ${path}`;
    const isCheckout = path.startsWith('/dev/stripe/checkout/');
    const nothing = await open('/dev/nothing', { method });
    for (const [address, cookie] of [
      [path, ''],
      [`${path}?token=${token.toUpperCase()}`, ''],
      [`${path}?token=`, 'sf_dev='],
      [path, `sf_dev=${token}x`],
    ] as const) {
      const closed = await open(address, { method, headers: { cookie } });
      expect([route, isOpen(closed)]).toEqual([route, isCheckout]);
      if (isCheckout) continue;
      // A closed page answers like a missing one.
      expect([closed.status, nothing.status]).toEqual([404, 404]);
      const [one, other] = [await closed.json(), await nothing.clone().json()] as object[];
      expect({ ...one, request_id: '' }).toEqual({ ...other, request_id: '' });
    }
    const opened = await open(path, { method, headers: { cookie: `sf_dev=${token}` } });
    expect([route, isOpen(opened)]).toEqual([route, true]);
  }
});

test('the link with the token leaves a cookie and leads to the same page without the token', async () => {
  const led = await open(`/dev/mail?to=ann@example.com&token=${token}`);
  expect([led.status, led.headers.get('location')]).toEqual([
    302,
    '/dev/mail?to=ann%40example.com',
  ]);
  expect(led.headers.get('cache-control')).toBe('no-store');
  expect(led.headers.get('set-cookie')).toBe(
    `sf_dev=${token}; Path=/dev; HttpOnly; Secure; SameSite=Strict`,
  );
  const plain = await open(`/dev/stripe?token=${token}`);
  expect(plain.headers.get('location')).toBe('/dev/stripe');
  const form = await open(`/dev/stripe/clock?token=${token}`, { method: 'POST' });
  expect([form.status, form.headers.get('set-cookie')]).toEqual([404, null]);
  expect(app.logged.join()).not.toContain(token);
});

test('without a token in the settings nothing opens a public sandbox', async () => {
  const closed = await createTestApp({ env: { ALLOW_PUBLIC_SANDBOX: 'true' } });
  for (const [path, cookie] of [
    ['/dev/mail', 'sf_dev='],
    ['/dev/mail?token=', 'sf_dev=null'],
  ] as const) {
    const response = await closed.app.request(`http://localhost${path}`, { headers: { cookie } });
    expect(response.status).toBe(404);
  }
  await closed.close();
});
