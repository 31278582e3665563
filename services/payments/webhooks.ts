import type { Queryable } from '#db/connect.ts';
import type {
  WebhookHandler,
  WebhookHandlers,
  PaymentDependencies,
  StoredWebhookEvent,
} from './dependencies.ts';
import { fulfil } from './settle/fulfil.ts';
import { jobAttempts } from './settle/lock.ts';
import type { WebhookEvent } from './provider.ts';

/**
 * Webhook events, in two steps. An event is stored with a job and answered at once, since the provider
 * counts a slow answer as a failure. The job reads the object from the provider and settles its payment;
 * an event that arrives again changes nothing.
 */

/** Stores an event and its job in one statement. False when it had arrived before. */
export async function acceptWebhookEvent(
  client: Queryable,
  { eventId, type, objectId, createdAt }: WebhookEvent,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `with stored as (
       insert into stripe_event (id, type, object_id, created_at, received_at)
       values ($1, $2, $3, $4, $5)
       on conflict (id) do nothing returning id)
     select graphile_worker.add_job('process-webhook-event', json_build_object('eventId', id),
       job_key := id, max_attempts := $6)
     from stored`,
    [eventId, type, objectId, new Date(createdAt), now, jobAttempts],
  );
  return rowCount === 1;
}

/** Processes one event that was stored. What fails is thrown, and the queue tries it again. */
export async function processWebhookEvent(
  { pool, clock, log }: Pick<PaymentDependencies, 'pool' | 'clock' | 'log'>,
  handlers: WebhookHandlers,
  eventId: string,
): Promise<void> {
  const event = await openWebhookEvent(pool, eventId);
  if (event === null) return;
  const handler = Object.hasOwn(handlers, event.type) ? handlers[event.type] : undefined;
  const outcome = handler === undefined ? 'ignored' : await handler(event);
  await pool.query(
    `update stripe_event set processed_at = $2, outcome = $3 where id = $1 and processed_at is null`,
    [eventId, new Date(clock()), outcome],
  );
  log.info({ event_id: eventId, event_type: event.type, outcome }, 'A webhook event was processed');
}

async function openWebhookEvent(
  client: Queryable,
  eventId: string,
): Promise<StoredWebhookEvent | null> {
  const { rows } = await client.query<{
    type: string;
    object_id: string | null;
    created_at: Date;
    received_at: Date;
  }>(
    `select type, object_id, created_at, received_at from stripe_event
     where id = $1 and processed_at is null`,
    [eventId],
  );
  const row = rows[0];
  return row
    ? {
        eventId,
        type: row.type,
        objectId: row.object_id,
        createdAt: row.created_at.getTime(),
        receivedAt: row.received_at.getTime(),
      }
    : null;
}

/** Events that wait, and the age of the oldest. The index `stripe_event_open` holds these rows alone. */
export async function readWebhookBacklog(
  client: Queryable,
): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await client.query<{ count: number; oldestSeconds: number }>(
    `select count(*)::float8,
       coalesce(extract(epoch from now() - min(received_at)), 0)::float8 as "oldestSeconds"
     from stripe_event where processed_at is null`,
  );
  return rows[0]!;
}

/** @throws when two of them would handle the same type */
export function mergeHandlers(...all: readonly WebhookHandlers[]): WebhookHandlers {
  const merged: Record<string, WebhookHandler> = {};
  for (const handlers of all)
    for (const [type, handler] of Object.entries(handlers)) {
      if (Object.hasOwn(merged, type)) throw new Error(`Two handlers for ${type}`);
      merged[type] = handler;
    }
  return merged;
}

/** Checkout sessions, and payments that another client makes itself. */
export function createPurchaseHandlers(dependencies: PaymentDependencies): WebhookHandlers {
  const session: WebhookHandler = async ({ objectId }) =>
    objectId === null ? 'ignored' : (await fulfil(dependencies, { sessionId: objectId })).outcome;
  const intent: WebhookHandler = async ({ objectId }) => {
    if (objectId === null) return 'ignored';
    const { outcome, purchase } = await fulfil(dependencies, { intentId: objectId });
    return purchase?.kind === 'intent' ? outcome : 'ignored';
  };
  return {
    'checkout.session.completed': session,
    'checkout.session.async_payment_succeeded': session,
    'checkout.session.async_payment_failed': session,
    'checkout.session.expired': session,
    'payment_intent.succeeded': intent,
    'payment_intent.payment_failed': intent,
  };
}
