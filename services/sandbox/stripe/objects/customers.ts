import type { Stripe } from 'stripe';
import * as v from 'valibot';
import {
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
import type { World } from '#services/sandbox/stripe/world.ts';

const fields = {
  description: v.optional(text),
  email: v.optional(text),
  metadata: v.optional(metadata),
  name: v.optional(text),
  phone: v.optional(text),
};
const readNew = parametersOf<Stripe.CustomerCreateParams>()(fields, [
  'address',
  'preferred_locales',
  'tax',
  'tax_exempt',
]);
const readChange = parametersOf<Stripe.CustomerUpdateParams>()(fields, [
  'address',
  'preferred_locales',
  'tax',
  'tax_exempt',
]);

export function createCustomer(world: World, given: Params): Stripe.Customer {
  const params = readNew(given);
  const id = world.store.newId('cus_');
  const customer = {
    id,
    object: 'customer',
    address: null,
    balance: 0,
    created: world.now(),
    currency: null,
    customer_account: null,
    default_source: null,
    delinquent: false,
    description: params.description ?? null,
    discount: null,
    email: params.email ?? null,
    invoice_prefix: id.slice(-8).toUpperCase(),
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    livemode: false,
    metadata: withMetadata({}, params.metadata),
    name: params.name ?? null,
    next_invoice_sequence: 1,
    phone: params.phone ?? null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
    test_clock: null,
  } satisfies Stripe.Customer;
  world.store.put('customer', id, customer);
  world.emit('customer.created', customer);
  return customer;
}

/** A deleted customer is still returned, as deleted. */
export function retrieveCustomer(world: World, id: string) {
  const found = world.store.get('customer', id);
  if (found === null) throw missing('customer', id);
  return found;
}

/** A customer that is not deleted. */
export function customerFor(world: World, id: string): Stripe.Customer {
  const found = world.store.get('customer', id);
  if (found === null || found.deleted === true) throw missing('customer', id, 'customer', 400);
  return found;
}

export function updateCustomer(world: World, id: string, given: Params): Stripe.Customer {
  const { metadata: changed, ...rest } = readChange(given);
  const before = world.store.get('customer', id);
  if (before === null || before.deleted === true) throw missing('customer', id);
  const customer: Stripe.Customer = {
    ...before,
    ...sentOf(rest),
    metadata: withMetadata(before.metadata, changed),
  };
  world.store.put('customer', id, customer);
  world.emit('customer.updated', customer);
  return customer;
}

/** Only the fields that were sent; an empty value removes a field. */
function sentOf(values: Readonly<Record<string, string | undefined>>) {
  const sent = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(sent.map(([name, value]) => [name, value === '' ? null : value]));
}

export function deleteCustomer(world: World, id: string): Stripe.DeletedCustomer {
  const before = world.store.get('customer', id);
  if (before === null || before.deleted === true) throw missing('customer', id);
  const deleted = { id, object: 'customer', deleted: true } satisfies Stripe.DeletedCustomer;
  world.store.put('customer', id, deleted);
  world.emit('customer.deleted', before);
  return deleted;
}

const readList = parametersOf<Stripe.CustomerListParams>()({
  ...listFields,
  email: v.optional(text),
});

export function listCustomers(world: World, given: Params) {
  const params = readList(given);
  const rows = world.store
    .all('customer')
    .filter((one) => one.deleted !== true)
    .filter(({ email }) => params.email === undefined || email === params.email);
  return pageOf(rows, params, '/v1/customers');
}

/** The customer of a session, an intent or a subscription, who may have been deleted. */
export function emailOf(world: World, customerId: string | null): string | null {
  const found = customerId === null ? null : world.store.get('customer', customerId);
  return found === null || found.deleted === true ? null : found.email;
}

export function idOf(reference: string | { id: string } | null): string | null {
  return typeof reference === 'string' || reference === null ? reference : reference.id;
}

/** As `idOf`, where there is always one. */
export function mustId(reference: string | { id: string } | null | undefined): string {
  const id = idOf(reference ?? null);
  if (id === null) throw invalid('This object refers to nothing');
  return id;
}
