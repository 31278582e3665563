import type { Stripe } from 'stripe';
import * as v from 'valibot';
import type { Store } from './store.ts';
import { boolean, listFields, missing, pageOf, parametersOf, text } from './wire.ts';
import type { Params } from './wire.ts';
import type { EventObject, World } from './world.ts';

export const apiVersion = '2026-10-28.endive';

/** The event with its object as it is at this moment, whatever becomes of it later. */
export function recordEvent<T extends Stripe.Event.Type>(
  store: Store,
  createdSeconds: number,
  type: T,
  object: EventObject<T>,
): string {
  const id = store.newId('evt_');
  const asOfThen: unknown = JSON.parse(JSON.stringify(object));
  const event = {
    id,
    object: 'event',
    api_version: apiVersion,
    created: createdSeconds,
    data: { object: asOfThen },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
  // `emit` has tied the object to the type; the union of all events cannot say so.
  store.put('event', id, event as Stripe.Event);
  return id;
}

export function retrieveEvent(world: World, id: string): Stripe.Event {
  const found = world.store.get('event', id);
  if (found === null) throw missing('event', id);
  return asOfNow(world, found);
}

function asOfNow(world: World, event: Stripe.Event): Stripe.Event {
  return { ...event, pending_webhooks: isWaiting(world, event.id) ? 1 : 0 };
}

function isWaiting(world: World, id: string): boolean {
  return world.store.get('webhook', id)?.state === 'pending';
}

const readList = parametersOf<Stripe.EventListParams>()({
  ...listFields,
  delivery_success: v.optional(boolean),
  type: v.optional(text),
  types: v.optional(v.array(text)),
});

/** `delivery_success=false` lists those that were not accepted yet. */
export function listEvents(world: World, given: Params) {
  const params = readList(given);
  const wanted = params.type === undefined ? params.types : [params.type];
  const rows = world.store
    .all('event')
    .filter(
      (one) =>
        (wanted === undefined || wanted.some((type) => matches(one.type, type))) &&
        (params.delivery_success === undefined ||
          wasDelivered(world, one.id) === params.delivery_success),
    );
  const page = pageOf(rows, params, '/v1/events');
  return { ...page, data: page.data.map((event) => asOfNow(world, event)) };
}

function wasDelivered(world: World, id: string): boolean {
  return world.store.get('webhook', id)?.state === 'delivered';
}

function matches(type: string, wanted: string): boolean {
  return wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
}
