import type { Stripe } from 'stripe';
import * as v from 'valibot';
import { priceFor } from './catalogue.ts';
import { mustId } from './customers.ts';
import { beginInvoice, declineInvoice, payInvoice } from './invoices.ts';
import {
  boolean,
  integer,
  invalid,
  listFields,
  metadata,
  missing,
  pageOf,
  parametersOf,
  text,
  withMetadata,
} from '#services/sandbox/stripe/wire.ts';
import type { Params } from '#services/sandbox/stripe/wire.ts';
import { daySeconds } from '#services/sandbox/stripe/world.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

/** Plans that renew by the clock. They begin through checkout. */

/** Days until the next try of a failed payment, each counted from the try before. */
const retryDays = [3, 5, 7] as const;

export function beginSubscription(
  world: World,
  wanted: {
    customer: string;
    price: Stripe.Price;
    quantity: number;
    metadata: Stripe.Metadata;
    taxed: boolean;
  },
): Stripe.Subscription {
  const { price } = wanted;
  const id = world.store.newId('sub_');
  const now = world.now();
  const item = {
    id: world.store.newId('si_'),
    object: 'subscription_item',
    billing_thresholds: null,
    created: now,
    current_period_end: periodEnd(now, price, 1),
    current_period_start: now,
    current_trial: null,
    discounts: [],
    metadata: {},
    plan: planOf(price),
    price,
    quantity: wanted.quantity,
    subscription: id,
    tax_rates: [],
  } satisfies Stripe.SubscriptionItem;
  const subscription = world.store.put('subscription', id, {
    id,
    object: 'subscription',
    application: null,
    application_fee_percent: null,
    automatic_tax: { disabled_reason: null, enabled: wanted.taxed, liability: null },
    billing_cycle_anchor: now,
    billing_cycle_anchor_config: null,
    billing_mode: { flexible: null, type: 'flexible' },
    billing_schedules: [],
    billing_thresholds: null,
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    cancellation_details: {
      comment: null,
      feedback: null,
      feedback_option: null,
      reason: null,
    },
    collection_method: 'charge_automatically',
    created: now,
    currency: price.currency,
    customer: wanted.customer,
    customer_account: null,
    days_until_due: null,
    default_payment_method: null,
    default_source: null,
    default_tax_rates: [],
    description: null,
    discounts: [],
    ended_at: null,
    invoice_settings: {
      account_tax_ids: null,
      custom_fields: null,
      description: null,
      footer: null,
      issuer: { type: 'self' },
    },
    items: {
      object: 'list',
      data: [item],
      has_more: false,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    latest_invoice: null,
    livemode: false,
    managed_payments: null,
    metadata: wanted.metadata,
    next_pending_invoice_item_invoice: null,
    on_behalf_of: null,
    pause_collection: null,
    payment_settings: null,
    pending_invoice_item_interval: null,
    pending_setup_intent: null,
    pending_update: null,
    schedule: null,
    start_date: now,
    status: 'incomplete',
    test_clock: null,
    transfer_data: null,
    trial_end: null,
    trial_settings: null,
    trial_start: null,
  });
  world.store.put('collection', id, { failures: 0, retries: 0, retryAt: null });
  world.emit('customer.subscription.created', subscription);
  return subscription;
}

function planOf(price: Stripe.Price): Stripe.Plan {
  return {
    id: price.id,
    object: 'plan',
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: 'per_unit',
    created: price.created,
    currency: price.currency,
    interval: price.recurring?.interval ?? 'month',
    interval_count: price.recurring?.interval_count ?? 1,
    livemode: false,
    metadata: {},
    meter: null,
    nickname: price.nickname,
    product: mustId(price.product),
    tiers_mode: null,
    transform_usage: null,
    trial_period_days: null,
    usage_type: 'licensed',
  };
}

/** After so many periods from the anchor; a month that is too short ends on its last day. */
function periodEnd(anchor: number, price: Stripe.Price, periods: number): number {
  const { interval, interval_count: every } = price.recurring ?? {
    interval: 'month',
    interval_count: 1,
  };
  const count = every * periods;
  if (interval === 'day') return anchor + count * daySeconds;
  if (interval === 'week') return anchor + count * 7 * daySeconds;
  const start = new Date(anchor * 1000);
  const months = interval === 'year' ? 12 * count : count;
  const end = new Date(anchor * 1000);
  end.setUTCDate(1);
  end.setUTCMonth(start.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
  end.setUTCDate(Math.min(start.getUTCDate(), lastDay));
  return Math.floor(end.getTime() / 1000);
}

export function itemOf(subscription: Stripe.Subscription): Stripe.SubscriptionItem {
  const [item] = subscription.items.data;
  if (item === undefined) throw new Error(`${subscription.id} has no item`);
  return item;
}

export function changeSubscription(
  world: World,
  id: string,
  values: Partial<Stripe.Subscription>,
): Stripe.Subscription {
  return world.store.put('subscription', id, { ...retrieveSubscription(world, id), ...values });
}

function withItem(
  subscription: Stripe.Subscription,
  values: Partial<Stripe.SubscriptionItem>,
): Pick<Stripe.Subscription, 'items'> {
  return {
    items: { ...subscription.items, data: [{ ...itemOf(subscription), ...values }] },
  };
}

// --- what the clock brings ---

/** When its next change is due, in seconds. */
export function nextStepOf(world: World, subscription: Stripe.Subscription): number | null {
  if (subscription.status !== 'active' && subscription.status !== 'past_due') return null;
  const retryAt = world.store.get('collection', subscription.id)?.retryAt ?? null;
  const end = itemOf(subscription).current_period_end;
  return retryAt === null ? end : Math.min(retryAt, end);
}

/** Renews, retries a payment, or ends, as due at this time of the clock. */
export function stepSubscription(world: World, id: string): void {
  const retryAt = world.store.get('collection', id)?.retryAt ?? null;
  if (retryAt !== null && retryAt <= world.now()) retry(world, id);
  else renew(world, id);
}

function renew(world: World, id: string): void {
  const before = retrieveSubscription(world, id);
  if (before.cancel_at_period_end) {
    endSubscription(world, id, 'cancellation_requested');
    return;
  }
  const item = itemOf(before);
  const start = item.current_period_end;
  const subscription = changeSubscription(world, id, {
    ...withItem(before, {
      current_period_start: start,
      current_period_end: endAfter(before.billing_cycle_anchor, item.price, start),
    }),
  });
  const invoice = beginInvoice(world, subscription, 'subscription_cycle');
  world.emit(
    'customer.subscription.updated',
    changeSubscription(world, id, { latest_invoice: invoice.id }),
  );
  collectInvoice(world, id, invoice.id);
}

function endAfter(anchor: number, price: Stripe.Price, start: number): number {
  let periods = 1;
  while (periodEnd(anchor, price, periods) <= start) periods += 1;
  return periodEnd(anchor, price, periods);
}

function retry(world: World, id: string): void {
  const { latest_invoice: invoice } = retrieveSubscription(world, id);
  collectInvoice(world, id, mustId(invoice));
}

function collectInvoice(world: World, id: string, invoiceId: string): void {
  const collection = collectionOf(world, id);
  if (collection.failures > 0) {
    failCollection(world, id, invoiceId);
    return;
  }
  payInvoice(world, invoiceId);
  world.store.put('collection', id, { failures: 0, retries: 0, retryAt: null });
  const before = retrieveSubscription(world, id);
  if (before.status !== 'active')
    world.emit(
      'customer.subscription.updated',
      changeSubscription(world, id, { status: 'active' }),
    );
}

/** Schedules the next try, or ends the plan when none is left. */
function failCollection(world: World, id: string, invoiceId: string): void {
  const { failures, retries, retryAt } = collectionOf(world, id);
  const done = retryAt === null ? 0 : retries + 1;
  const wait = retryDays[done];
  const next = wait === undefined ? null : world.now() + wait * daySeconds;
  declineInvoice(world, invoiceId, next);
  world.store.put('collection', id, {
    failures: Math.max(0, failures - 1),
    retries: done,
    retryAt: next,
  });
  if (next === null) {
    endSubscription(world, id, 'payment_failed');
    return;
  }
  if (retrieveSubscription(world, id).status !== 'past_due')
    world.emit(
      'customer.subscription.updated',
      changeSubscription(world, id, { status: 'past_due' }),
    );
}

function collectionOf(world: World, id: string) {
  const found = world.store.get('collection', id);
  if (found === null) throw missing('subscription', id);
  return found;
}

export function failNextRenewal(world: World, id: string, tries: number): void {
  world.store.put('collection', id, { ...collectionOf(world, id), failures: tries });
}

function endSubscription(
  world: World,
  id: string,
  reason: Stripe.Subscription.CancellationDetails.Reason,
): Stripe.Subscription {
  const before = retrieveSubscription(world, id);
  const now = world.now();
  world.store.put('collection', id, { failures: 0, retries: 0, retryAt: null });
  const subscription = changeSubscription(world, id, {
    status: 'canceled',
    canceled_at: before.canceled_at ?? now,
    ended_at: now,
    cancellation_details: { comment: null, feedback: null, feedback_option: null, reason },
  });
  world.emit('customer.subscription.deleted', subscription);
  return subscription;
}

// --- calls ---

export function retrieveSubscription(world: World, id: string): Stripe.Subscription {
  const found = world.store.get('subscription', id);
  if (found === null) throw missing('subscription', id);
  return found;
}

const readChange = parametersOf<Stripe.SubscriptionUpdateParams>()(
  {
    cancel_at: v.optional(v.literal('')),
    cancel_at_period_end: v.optional(boolean),
    items: v.optional(
      v.array(
        v.object({
          id: v.optional(text),
          price: v.optional(text),
          quantity: v.optional(integer),
        }),
      ),
    ),
    metadata: v.optional(metadata),
    proration_behavior: v.optional(v.picklist(['none', 'create_prorations', 'always_invoice'])),
  },
  ['cancellation_details', 'payment_behavior', 'off_session', 'description'],
);

export function updateSubscription(world: World, id: string, given: Params): Stripe.Subscription {
  const params = readChange(given);
  const before = openSubscription(world, id);
  const [change] = params.items ?? [];
  const price =
    change?.price === undefined ? null : priceFor(world, change.price, 'items[0][price]');
  if (change !== undefined) refuseChange(before, params, change.id, price);
  const kept = params.cancel_at === '' ? false : before.cancel_at_period_end;
  const cancels = params.cancel_at_period_end ?? kept;
  const subscription = changeSubscription(world, id, {
    ...(price === null ? {} : withItem(before, { price, plan: planOf(price) })),
    cancel_at_period_end: cancels,
    cancel_at: cancels ? itemOf(before).current_period_end : null,
    canceled_at: cancels ? (before.canceled_at ?? world.now()) : null,
    cancellation_details: {
      comment: null,
      feedback: null,
      feedback_option: null,
      reason: cancels ? 'cancellation_requested' : null,
    },
    metadata: withMetadata(before.metadata, params.metadata),
  });
  world.emit('customer.subscription.updated', subscription);
  return subscription;
}

/** Without an item's id another item would be added; with proration another invoice would be made. */
function refuseChange(
  before: Stripe.Subscription,
  params: { items?: readonly unknown[] | undefined; proration_behavior?: string | undefined },
  itemId: string | undefined,
  price: Stripe.Price | null,
): void {
  const item = itemOf(before);
  if (params.items?.length !== 1 || itemId !== item.id)
    throw invalid('The sandbox changes the one item of a subscription: give its id.', {
      param: 'items[0][id]',
    });
  if (price === null) return;
  if (params.proration_behavior !== 'none')
    throw invalid('The sandbox changes prices without proration only.', {
      param: 'proration_behavior',
    });
  if (price.recurring?.interval !== item.price.recurring?.interval)
    throw invalid('The sandbox changes prices of the same interval only.', {
      param: 'items[0][price]',
    });
}

function openSubscription(world: World, id: string): Stripe.Subscription {
  const found = retrieveSubscription(world, id);
  if (found.status === 'canceled' || found.status === 'incomplete_expired')
    throw invalid(
      'A canceled subscription can only update its cancellation_details and metadata.',
      { code: 'invalid_canceled_subscription_fields' },
    );
  return found;
}

const readCancel = parametersOf<Stripe.SubscriptionCancelParams>()({}, [
  'cancellation_details',
  'invoice_now',
  'prorate',
]);

export function cancelSubscription(world: World, id: string, given: Params): Stripe.Subscription {
  readCancel(given);
  const { status } = retrieveSubscription(world, id);
  if (status === 'canceled') throw missing('subscription', id);
  return endSubscription(world, id, 'cancellation_requested');
}

const readList = parametersOf<Stripe.SubscriptionListParams>()(
  {
    ...listFields,
    customer: v.optional(text),
    price: v.optional(text),
    status: v.optional(text),
  },
  ['collection_method'],
);

/** Without a status, those that have not ended. */
export function listSubscriptions(world: World, given: Params) {
  const params = readList(given);
  const rows = world.store
    .all('subscription')
    .filter(
      (one) =>
        (params.customer === undefined || one.customer === params.customer) &&
        (params.price === undefined || itemOf(one).price.id === params.price) &&
        hasStatus(one, params.status),
    );
  return pageOf(rows, params, '/v1/subscriptions');
}

function hasStatus({ status }: Stripe.Subscription, wanted: string | undefined): boolean {
  if (wanted === undefined) return status !== 'canceled';
  if (wanted === 'all') return true;
  if (wanted === 'ended') return status === 'canceled' || status === 'incomplete_expired';
  return status === wanted;
}
