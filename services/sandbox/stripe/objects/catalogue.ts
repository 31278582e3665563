import { Stripe } from 'stripe';
import * as v from 'valibot';
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
import type { World } from '#services/sandbox/stripe/world.ts';

/** Products and their prices. */

const productFields = {
  active: v.optional(boolean),
  description: v.optional(text),
  metadata: v.optional(metadata),
  name: text,
};
const readNewProduct = parametersOf<Stripe.ProductCreateParams>()(
  { ...productFields, id: v.optional(text) },
  ['images', 'marketing_features', 'statement_descriptor', 'tax_code', 'unit_label', 'url'],
);
const readProductChange = parametersOf<Stripe.ProductUpdateParams>()(
  { ...productFields, name: v.optional(text) },
  ['images', 'marketing_features', 'statement_descriptor', 'tax_code', 'unit_label', 'url'],
);

export function createProduct(world: World, given: Params): Stripe.Product {
  const params = readNewProduct(given);
  const id = params.id ?? world.store.newId('prod_');
  if (world.store.get('product', id) !== null)
    throw invalid('Product already exists.', { code: 'resource_already_exists', param: 'id' });
  const now = world.now();
  const product = world.store.put('product', id, {
    id,
    object: 'product',
    active: params.active ?? true,
    created: now,
    default_price: null,
    description: params.description ?? null,
    images: [],
    livemode: false,
    marketing_features: [],
    metadata: withMetadata({}, params.metadata),
    name: params.name,
    package_dimensions: null,
    shippable: null,
    statement_descriptor: null,
    tax_code: null,
    tax_details: null,
    type: 'service',
    unit_label: null,
    updated: now,
    url: null,
  });
  world.emit('product.created', product);
  return product;
}

export function retrieveProduct(world: World, id: string): Stripe.Product {
  const found = world.store.get('product', id);
  if (found === null) throw missing('product', id);
  return found;
}

export function updateProduct(world: World, id: string, given: Params): Stripe.Product {
  const params = readProductChange(given);
  const before = retrieveProduct(world, id);
  const product = world.store.put('product', id, {
    ...before,
    active: params.active ?? before.active,
    description: params.description ?? before.description,
    metadata: withMetadata(before.metadata, params.metadata),
    name: params.name ?? before.name,
    updated: world.now(),
  });
  world.emit('product.updated', product);
  return product;
}

const readProducts = parametersOf<Stripe.ProductListParams>()(
  { ...listFields, active: v.optional(boolean), ids: v.optional(v.array(text)) },
  ['shippable', 'type', 'url'],
);

export function listProducts(world: World, given: Params) {
  const params = readProducts(given);
  const rows = world.store
    .all('product')
    .filter(
      (one) =>
        (params.active === undefined || one.active === params.active) &&
        (params.ids === undefined || params.ids.includes(one.id)),
    );
  return pageOf(rows, params, '/v1/products');
}

const interval = v.picklist(['day', 'week', 'month', 'year']);

const readNewPrice = parametersOf<Stripe.PriceCreateParams>()(
  {
    active: v.optional(boolean),
    currency: text,
    lookup_key: v.optional(text),
    metadata: v.optional(metadata),
    nickname: v.optional(text),
    product: v.optional(text),
    product_data: v.optional(v.object({ name: text })),
    recurring: v.optional(v.object({ interval, interval_count: v.optional(integer, '1') })),
    tax_behavior: v.optional(v.picklist(['exclusive', 'inclusive', 'unspecified'])),
    transfer_lookup_key: v.optional(boolean),
    unit_amount: integer,
  },
  ['billing_scheme'],
);

export function createPrice(world: World, given: Params): Stripe.Price {
  const params = readNewPrice(given);
  if ((params.product === undefined) === (params.product_data === undefined))
    throw invalid('You must specify exactly one of product or product_data.', { param: 'product' });
  const product =
    params.product_data === undefined
      ? productFor(world, params.product ?? '')
      : createProduct(world, { name: params.product_data.name });
  takeLookupKey(world, params.lookup_key, params.transfer_lookup_key);
  const made = newPrice(world, product.id, params);
  const price = world.store.put('price', made.id, {
    ...made,
    active: params.active ?? true,
    lookup_key: params.lookup_key ?? null,
    metadata: withMetadata({}, params.metadata),
    nickname: params.nickname ?? null,
    tax_behavior: params.tax_behavior ?? 'unspecified',
  });
  world.emit('price.created', price);
  return price;
}

function productFor(world: World, id: string): Stripe.Product {
  const found = world.store.get('product', id);
  if (found === null) throw missing('product', id, 'product', 400);
  return found;
}

/** A key belongs to one price at a time. */
function takeLookupKey(world: World, key: string | undefined, transfers: boolean | undefined) {
  const holder = world.store.all('price').find(({ lookup_key: held }) => held === key);
  if (key === undefined || holder === undefined) return;
  if (transfers !== true)
    throw invalid(`A price (\`${holder.id}\`) already uses that lookup key.`, {
      param: 'lookup_key',
    });
  world.store.put('price', holder.id, { ...holder, lookup_key: null });
}

export function newPrice(
  world: World,
  productId: string,
  params: {
    currency: string;
    unit_amount: number;
    recurring?: { interval: v.InferOutput<typeof interval>; interval_count: number } | undefined;
  },
): Stripe.Price {
  if (!/^[a-z]{3}$/i.test(params.currency))
    throw invalid(`Invalid currency: ${params.currency}`, { param: 'currency' });
  if (params.unit_amount < 0)
    throw invalid('This value must be greater than or equal to 0.', {
      code: 'parameter_invalid_integer',
      param: 'unit_amount',
    });
  return {
    id: world.store.newId('price_'),
    object: 'price',
    active: true,
    billing_scheme: 'per_unit',
    created: world.now(),
    currency: params.currency.toLowerCase(),
    custom_unit_amount: null,
    livemode: false,
    lookup_key: null,
    metadata: {},
    nickname: null,
    product: productId,
    recurring:
      params.recurring === undefined
        ? null
        : { ...params.recurring, meter: null, trial_period_days: null, usage_type: 'licensed' },
    tax_behavior: 'unspecified',
    tiers_mode: null,
    transform_quantity: null,
    type: params.recurring === undefined ? 'one_time' : 'recurring',
    unit_amount: params.unit_amount,
    unit_amount_decimal: Stripe.Decimal.from(params.unit_amount),
  };
}

export function retrievePrice(world: World, id: string): Stripe.Price {
  const found = world.store.get('price', id);
  if (found === null) throw missing('price', id);
  return found;
}

/** A price that can be sold. */
export function priceFor(world: World, id: string, param: string): Stripe.Price {
  const found = world.store.get('price', id);
  if (found === null) throw missing('price', id, param, 400);
  if (!found.active)
    throw invalid(`The price specified is inactive. This field only accepts active prices.`, {
      param,
    });
  return found;
}

const readPriceChange = parametersOf<Stripe.PriceUpdateParams>()({
  active: v.optional(boolean),
  lookup_key: v.optional(text),
  metadata: v.optional(metadata),
  nickname: v.optional(text),
  tax_behavior: v.optional(v.picklist(['exclusive', 'inclusive', 'unspecified'])),
  transfer_lookup_key: v.optional(boolean),
});

export function updatePrice(world: World, id: string, given: Params): Stripe.Price {
  const params = readPriceChange(given);
  const before = retrievePrice(world, id);
  if (params.lookup_key !== before.lookup_key)
    takeLookupKey(world, params.lookup_key, params.transfer_lookup_key);
  const price = world.store.put('price', id, {
    ...before,
    active: params.active ?? before.active,
    lookup_key: params.lookup_key ?? before.lookup_key,
    metadata: withMetadata(before.metadata, params.metadata),
    nickname: params.nickname ?? before.nickname,
    tax_behavior: params.tax_behavior ?? before.tax_behavior,
  });
  world.emit('price.updated', price);
  return price;
}

const readPrices = parametersOf<Stripe.PriceListParams>()({
  ...listFields,
  active: v.optional(boolean),
  currency: v.optional(text),
  lookup_keys: v.optional(v.array(text)),
  product: v.optional(text),
  recurring: v.optional(v.object({ interval: v.optional(interval) })),
  type: v.optional(v.picklist(['one_time', 'recurring'])),
});

export function listPrices(world: World, given: Params) {
  const params = readPrices(given);
  if ((params.lookup_keys?.length ?? 0) > 10)
    throw invalid('You may only specify up to 10 of these.', { param: 'lookup_keys' });
  const rows = world.store
    .all('price')
    .filter(
      (one) =>
        (params.active === undefined || one.active === params.active) &&
        (params.currency === undefined || one.currency === params.currency) &&
        (params.lookup_keys === undefined || params.lookup_keys.includes(one.lookup_key ?? '')) &&
        (params.product === undefined || one.product === params.product) &&
        (params.recurring?.interval === undefined ||
          one.recurring?.interval === params.recurring.interval) &&
        (params.type === undefined || one.type === params.type),
    );
  return pageOf(rows, params, '/v1/prices');
}
