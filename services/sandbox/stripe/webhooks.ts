import { Stripe } from 'stripe';
import { strikes } from './faults.ts';
import type { FakeFaults } from './faults.ts';
import type { WebhookEventRow, Store } from './store.ts';

/**
 * Webhook events, signed, tried again with a growing delay for three days of the fake's clock, and kept
 * over restarts. They are sent automatically after `start`, or one by one by a test.
 */
export type Webhooks = {
  /** Records that an event is to be sent, within the transaction that made it. */
  queue: (eventId: string) => void;
  /** After that transaction: something may be due. */
  wake: () => void;
  start: () => void;
  stop: () => Promise<void>;
  pending: () => Stripe.Event[];
  deliverAll: (how?: DeliverAll) => Promise<Delivered[]>;
};

export type DeliverAll = {
  order?: 'sent' | 'reversed' | ((events: Stripe.Event[]) => Stripe.Event[]) | undefined;
  /** How often each event is sent, one right after the other. */
  copies?: number | undefined;
  /** These events are never sent. */
  drop?: ((event: Stripe.Event) => boolean) | undefined;
};

export type Delivered = { event: Stripe.Event; status: number };

export type WebhookOptions = {
  store: Store;
  faults: FakeFaults;
  secret: string;
  /** Milliseconds of the fake's clock, which may be ahead of real time. */
  now: () => number;
  /** Milliseconds of real time: receivers compare signatures with it. */
  worldClock: () => number;
  deliver: (body: string, signature: string) => Promise<number>;
};

const retryMs = [1_000, 5_000, 30_000] as const;
const longRetryMs = 5 * 60_000;
const giveUpMs = 3 * 24 * 3600_000;
const longestWaitMs = 60_000;

export function createWebhooks(options: WebhookOptions): Webhooks {
  const { store, faults, now } = options;
  let running = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  let isWorking = false;
  let wasWoken = false;

  // Those that may be waiting, oldest first; the rows say which are.
  const maybe = new Set(store.entries('webhook').map(([id]) => id));

  function waiting(): [Stripe.Event, WebhookEventRow][] {
    const found: [Stripe.Event, WebhookEventRow][] = [];
    for (const id of maybe) {
      const event = store.get('event', id);
      const row = store.get('webhook', id);
      if (event !== null && row?.state === 'pending') found.push([event, row]);
      else maybe.delete(id);
    }
    return found;
  }

  async function send(event: Stripe.Event): Promise<number> {
    const payload = JSON.stringify(event);
    const signedAt = Math.floor(options.worldClock() / 1000) + (faults.signatureSkewSeconds ?? 0);
    const signature = await Stripe.webhooks.generateTestHeaderStringAsync({
      payload,
      secret: options.secret,
      timestamp: signedAt,
    });
    try {
      return await options.deliver(payload, signature);
    } catch {
      // A failed call counts as a refusal, and the next try is scheduled.
      return 0;
    }
  }

  async function attempt(event: Stripe.Event): Promise<number> {
    const status = await send(event);
    const before = store.get('webhook', event.id);
    if (before === null) return status;
    const attempts = before.attempts + 1;
    const done = status >= 200 && status < 300;
    const late = now() - before.createdAt > giveUpMs;
    const state = done ? 'delivered' : late ? 'given-up' : before.state;
    const nextAt = now() + (retryMs[attempts - 1] ?? longRetryMs);
    store.put('webhook', event.id, { ...before, state, attempts, nextAt });
    return status;
  }

  async function work(): Promise<void> {
    const due = waiting().filter(([, { nextAt }]) => nextAt <= now());
    const ordered = faults.reorder === true ? due.toReversed() : due;
    for (const [event] of ordered)
      for (let copy = 0; copy <= (faults.duplicate ?? 0); copy += 1)
        if (running) await attempt(event);
  }

  /** One round at a time; events that become due meanwhile wait for the next round. */
  function run(): void {
    if (!running || isWorking) {
      wasWoken = true;
      return;
    }
    isWorking = true;
    wasWoken = false;
    clearTimeout(timer);
    round = work().finally(() => {
      isWorking = false;
      if (wasWoken) run();
      else schedule();
    });
  }

  function schedule(): void {
    if (!running) return;
    const next = Math.min(...waiting().map(([, { nextAt }]) => nextAt));
    if (next === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(run, Math.max(1, Math.min(next - now(), longestWaitMs)));
  }

  return {
    queue(eventId) {
      const at = now();
      const dropped = strikes(faults, 'drop');
      maybe.add(eventId);
      store.put('webhook', eventId, {
        state: dropped ? 'dropped' : 'pending',
        attempts: 0,
        createdAt: at,
        nextAt: at + (faults.delayMs ?? 0),
      });
    },
    wake: () => run(),
    start() {
      running = true;
      run();
    },
    async stop() {
      running = false;
      clearTimeout(timer);
      await round;
    },
    pending: () => waiting().map(([event]) => event),
    async deliverAll({ order = 'sent', copies = 1, drop = () => false } = {}) {
      const all = waiting().map(([event]) => event);
      for (const event of all.filter(drop)) {
        const row = store.get('webhook', event.id);
        if (row !== null) store.put('webhook', event.id, { ...row, state: 'dropped' });
      }
      const rest = all.filter((event) => !drop(event));
      const delivered: Delivered[] = [];
      for (const event of orderedBy(rest, order))
        for (let copy = 0; copy < copies; copy += 1)
          delivered.push({ event, status: await attempt(event) });
      return delivered;
    },
  };
}

function orderedBy(events: Stripe.Event[], order: NonNullable<DeliverAll['order']>) {
  if (typeof order === 'function') return order(events);
  return order === 'reversed' ? events.toReversed() : events;
}
