import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { timingSafeEqual } from 'node:crypto';
import type { Stripe } from 'stripe';
import { sandboxStripeKey } from '#services/platform/process/env.ts';
import { payOut } from './objects/balance.ts';
import { createFakeClock } from './clock.ts';
import { endCheckout, settleLater } from './objects/checkout.ts';
import type { Outcome } from './objects/checkout.ts';
import { openDispute, moveDispute, warnOfFraud } from './objects/disputes.ts';
import type { DisputeMove } from './objects/disputes.ts';
import { apiVersion, recordEvent } from './events.ts';
import { ReplyLost, strikes } from './faults.ts';
import type { FakeFaults } from './faults.ts';
import {
  fingerprintOf,
  isBeforehand,
  keyInUse,
  rememberAnswer,
  rememberedAnswer,
} from './idempotency.ts';
import type { Answer } from './idempotency.ts';
import {
  beginLater,
  confirmLater,
  decline,
  failLater,
  openIntent,
  succeed,
} from './objects/payments.ts';
import { refundAtBank, settleRefund } from './objects/refunds.ts';
import { includedOf, routeOf } from './routes.ts';
import { createStore } from './store.ts';
import { failNextRenewal } from './objects/subscriptions.ts';
import { expanded, parseForm, WireError } from './wire.ts';
import type { Params } from './wire.ts';
import { createWebhooks } from './webhooks.ts';
import type { DeliverAll, Delivered } from './webhooks.ts';
import type { World } from './world.ts';

/**
 * The payment provider of local mode and of tests: its API in the wire format that the SDK pins, its
 * webhook events, and the actions of the payer, the bank and the clock. No money moves. With a folder
 * its state survives a restart.
 */
export type FakeStripe = {
  /** The API. @throws ReplyLost when the connection is to be cut */
  fetch(request: Request): Promise<Response>;
  /** The shared state; for the pages. */
  world: World;
  faults: FakeFaults;
  /** Milliseconds since 1970, by its own clock. */
  nowMs(): number;
  /** Runs what changes something: as a whole, after what the clock brought, with its events. */
  act<T>(work: () => T): T;

  /** What the payer does at a checkout session (or, for other clients, with an intent). */
  pay(id: string, outcome: Outcome): { redirect: string | null };
  /** The bank decides about a payment of `pay-later`; otherwise it pays after three days. */
  settleLater(id: string, outcome: 'paid' | 'failed'): void;
  /** Moves its clock; what falls due happens in order. */
  advance(ms: number): void;
  openDispute(id: string, dispute?: { amountMinor?: number; inquiry?: boolean }): Stripe.Dispute;
  moveDispute(id: string, move: DisputeMove): Stripe.Dispute;
  warnOfFraud(id: string): Stripe.Radar.EarlyFraudWarning;
  refundAtBank(intentId: string, amountMinor: number): Stripe.Refund;
  settleRefund(refundId: string, outcome: 'succeeded' | 'failed'): Stripe.Refund;
  /** Of the coming payments of a plan so many fail: 1 is paid by the first retry, 4 end the plan. */
  failNextRenewal(subscriptionId: string, tries?: number): void;
  /** Null when there is nothing to send. */
  payOut(currency?: string): Stripe.Payout | null;

  pendingWebhookEvents(): Stripe.Event[];
  /** Delivers what waits, due or not, once each. */
  deliverAll(how?: DeliverAll): Promise<Delivered[]>;
  /** From now on it sends webhook events automatically. */
  startDelivering(): void;
  close(): Promise<void>;
};

export type FakeStripeOptions = {
  /** Null keeps everything in memory. */
  folder: string | null;
  /** Milliseconds since 1970: the world's clock, which its own runs ahead of. */
  clock: () => number;
  /** Where its pages are seen. */
  publicUrl: string;
  webhookSecret: string;
  /** Sends an event to our webhook; the status that it answered. */
  deliver: (body: string, signature: string) => Promise<number>;
  faults?: FakeFaults;
  /** The only key that it accepts. */
  secretKey?: string;
  /** The seed of ids; random when absent. */
  seed?: string;
  /** For a second process that only reads the folder. */
  readOnly?: boolean;
};

const tickMs = 5_000;

export function createFakeStripe(options: FakeStripeOptions): FakeStripe {
  const { faults = {}, secretKey = sandboxStripeKey } = options;
  const store = createStore({
    folder: options.folder,
    readOnly: options.readOnly ?? false,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
  });
  const clock = createFakeClock(store, options.clock);
  const webhooks = createWebhooks({
    store,
    faults,
    secret: options.webhookSecret,
    now: clock.nowMs,
    worldClock: options.clock,
    deliver: options.deliver,
  });
  const world: World = {
    store,
    faults,
    publicUrl: options.publicUrl,
    now: () => Math.floor(clock.nowMs() / 1000),
    ahead: () => Math.floor(clock.aheadMs() / 1000),
    emit: (type, object) => webhooks.queue(recordEvent(store, world.now(), type, object)),
  };
  const included = includedOf(world);
  const inProgress = new Set<string>();
  let ticking: NodeJS.Timeout | undefined;

  /** Everything that changes something: as a whole, after what the clock brought, with its events. */
  function act<T>(work: () => T): T {
    // A reader does nothing that falls due: the writing process does.
    if (options.readOnly !== true) clock.catchUp(world);
    try {
      return store.transact(work);
    } finally {
      webhooks.wake();
    }
  }

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const call = `${request.method} ${url.pathname}`;
    const body = await request.text();
    const requestId = `req_${Math.random().toString(36).slice(2, 16)}`;
    const key = request.headers.get('idempotency-key');
    const headers = {
      'content-type': 'application/json',
      'request-id': requestId,
      'stripe-version': apiVersion,
      ...(key === null ? {} : { 'idempotency-key': key }),
    };
    const respond = ({ status, body: text }: Answer, more: Record<string, string> = {}) =>
      new Response(text, { status, headers: { ...headers, ...more } });
    try {
      refuseStranger(request, secretKey);
      if (strikes(faults, 'tooMany', call)) throw tooMany();
      const params = paramsOf(url, body);
      const known = request.method === 'POST' ? key : null;
      if (known !== null && inProgress.has(known)) throw keyInUse(known);
      const fingerprint = fingerprintOf(request.method, url.pathname, params);
      const before =
        known === null ? null : rememberedAnswer(store, known, fingerprint, clock.nowMs());
      const writes = request.method !== 'GET';
      const done =
        before ??
        act(() => {
          const first = perform(request.method, url.pathname, params);
          const breaks = writes && first.status < 400 && strikes(faults, 'failAfterCommit', call);
          const reply = breaks ? serverError() : first;
          if (known !== null) rememberAnswer(store, known, fingerprint, reply, clock.nowMs());
          return reply;
        });
      if (before === null) await held(request.method, call, known);
      if (writes && done.status < 400 && strikes(faults, 'loseReply', call))
        throw new ReplyLost('The reply is lost');
      return respond(done, {
        ...(before === null ? {} : { 'idempotent-replayed': 'true' }),
        ...(done.status < 500 ? {} : { 'stripe-should-retry': 'false' }),
      });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      const retry = error.status === 409 ? { 'stripe-should-retry': 'true' } : {};
      return respond(error, retry);
    }
  }

  /** A refusal in the middle undoes what was begun, and is an answer like every other. */
  function perform(method: string, path: string, params: Params): Answer {
    const handle = routeOf(method, path);
    try {
      return store.transact(() => {
        const result = handle(world, params);
        if (result instanceof WireError) return result;
        const whole = expanded(store, included, result, params['expand']);
        return { status: 200, body: JSON.stringify(whole) };
      });
    } catch (error) {
      if (error instanceof WireError && !isBeforehand(error)) return error;
      throw error;
    }
  }

  async function held(method: string, call: string, key: string | null): Promise<void> {
    const { holdReplies, only } = faults;
    if (holdReplies === undefined || method === 'GET' || (only && !only.test(call))) return;
    if (key !== null) inProgress.add(key);
    try {
      await holdReplies;
    } finally {
      if (key !== null) inProgress.delete(key);
    }
  }

  return {
    fetch: answer,
    world,
    faults,
    nowMs: clock.nowMs,
    act,
    pay: (id, outcome) =>
      act(() => ({
        redirect: id.startsWith('pi_')
          ? payIntent(world, id, outcome)
          : endCheckout(world, id, outcome),
      })),
    settleLater: (id, outcome) =>
      act(() => {
        if (!id.startsWith('pi_')) settleLater(world, id, outcome);
        else if (outcome === 'paid') confirmLater(world, id);
        else failLater(world, id);
      }),
    advance(ms) {
      clock.advance(world, ms);
      webhooks.wake();
    },
    openDispute: (id, dispute) => act(() => openDispute(world, id, dispute)),
    moveDispute: (id, move) => act(() => moveDispute(world, id, move)),
    warnOfFraud: (id) => act(() => warnOfFraud(world, id)),
    refundAtBank: (id, amount) => act(() => refundAtBank(world, id, amount)),
    settleRefund: (id, outcome) => act(() => settleRefund(world, id, outcome)),
    failNextRenewal: (id, tries = 1) => act(() => failNextRenewal(world, id, tries)),
    payOut: (currency) => act(() => payOut(world, currency)),
    pendingWebhookEvents: webhooks.pending,
    deliverAll: webhooks.deliverAll,
    startDelivering() {
      webhooks.start();
      // Time passes here, too, between calls.
      ticking = setInterval(() => act(() => undefined), tickMs);
    },
    async close() {
      clearInterval(ticking);
      await webhooks.stop();
    },
  };
}

function payIntent(world: World, id: string, outcome: Outcome): null {
  openIntent(world, id, 'confirm');
  if (outcome === 'pay') succeed(world, id);
  if (outcome === 'decline') decline(world, id);
  if (outcome === 'pay-later') beginLater(world, id);
  return null;
}

function refuseStranger(request: Request, secretKey: string): void {
  const header = request.headers.get('authorization') ?? '';
  const key = keyIn(header);
  if (key === null)
    throw new WireError(
      401,
      'invalid_request_error',
      "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
    );
  const given = Buffer.from(key);
  const wanted = Buffer.from(secretKey);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    throw new WireError(401, 'invalid_request_error', 'Invalid API Key provided.');
}

function keyIn(header: string): string | null {
  const bearer = /^Bearer (\S+)$/i.exec(header)?.[1];
  if (bearer !== undefined) return bearer;
  const basic = /^Basic (\S+)$/i.exec(header)?.[1];
  if (basic === undefined) return null;
  return Buffer.from(basic, 'base64').toString('utf8').split(':')[0] ?? null;
}

function paramsOf(url: URL, body: string): Params {
  const text = url.search.slice(1);
  return { ...parseForm(text), ...parseForm(body) };
}

function tooMany(): WireError {
  return new WireError(429, 'invalid_request_error', 'Request rate limit exceeded.', {
    code: 'rate_limit',
  });
}

function serverError(): Answer {
  return new WireError(
    500,
    'api_error',
    'Sorry! There was an error while talking to one of our backends.',
  );
}

// --- on a port ---

export type ListeningFakeStripe = FakeStripe & { url: string };

/** Listens on loopback; port 0 or absent takes a free one. */
export async function startFakeStripe(
  options: FakeStripeOptions & { port?: number },
): Promise<ListeningFakeStripe> {
  const fake = createFakeStripe(options);
  const server = createServer((request, response) => {
    serve(fake, request, response).catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    ...fake,
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      await fake.close();
    },
  };
}

const bodyLimitBytes = 1024 * 1024;

async function serve(
  fake: FakeStripe,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyLimitBytes) throw new Error('The request is too large');
    chunks.push(chunk);
  }
  const method = incoming.method ?? 'GET';
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    if (typeof value === 'string') headers.set(name, value);
  const answer = await fake.fetch(
    new Request(new URL(incoming.url ?? '/', 'http://127.0.0.1'), {
      method,
      headers,
      ...(method === 'GET' || method === 'HEAD' ? {} : { body: Buffer.concat(chunks) }),
    }),
  );
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
  outgoing.end(await answer.text());
}
