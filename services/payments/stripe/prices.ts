import type { Stripe } from 'stripe';
import { packageOf, packages } from '#services/payments/catalogue.ts';
import type { Package } from '#services/payments/contract.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import type { InvoiceView } from '#services/payments/provider.ts';
import { ask, askForOne } from './errors.ts';
import { checked, checkedList } from './views.ts';
import { paymentsUnavailable } from '#services/payments/unavailable.ts';

/**
 * Packages and the provider's prices. A price is found by its lookup key, which names what is sold and
 * for how much: a price with another amount is another price, and the old one stays for the plans that
 * were begun with it.
 */
export type Prices = {
  /** The id of its price. @throws Problem 503 `payments-unavailable` when there is none */
  priceOf(packageId: string): Promise<string>;
  /** What a price is for; null when it is not ours. */
  describe(price: string | Stripe.Price): Promise<PriceOfOurs | null>;
  /** After a refusal: what is remembered may not be for sale any more. */
  forget(): void;
};

/** The package that a price is of, and what was agreed for it: see `agreed` of `InvoiceView`. */
export type PriceOfOurs = { packageId: string; agreed: InvoiceView['agreed'] };

/** `makesMissing`: a price that is not there is made, which a fake is asked for and Stripe is not. */
export function createPrices(stripe: Stripe, makesMissing: boolean): Prices {
  const ids = new Map<string, string>();
  const described = new Map<string, PriceOfOurs | null>();
  return {
    async priceOf(packageId) {
      const pack = packageOf(packageId);
      if (!pack) throw new ProviderRefused('unknown_package');
      const known = ids.get(packageId);
      if (known !== undefined) return known;
      const found = await findPrice(stripe, pack);
      const price = found ?? (makesMissing ? await makePrice(stripe, pack) : null);
      if (!price) {
        const problem = paymentsUnavailable();
        problem.cause = new Error(`There is no price ${lookupKeyOf(pack)}: run stripe sync`);
        throw problem;
      }
      const differences = differencesOf(price, pack);
      if (differences.length > 0)
        throw new Error(`The price ${lookupKeyOf(pack)} is another: ${differences.join(', ')}`);
      ids.set(packageId, price.id);
      return price.id;
    },
    async describe(named) {
      const id = typeof named === 'string' ? named : named.id;
      const known = described.get(id);
      if (known !== undefined) return known;
      const price =
        typeof named === 'string'
          ? await askForOne('price', async () => stripe.prices.retrieve(named))
          : named;
      const ours = price === null ? null : priceOfOurs(checked('price', price));
      described.set(id, ours);
      return ours;
    },
    forget: () => ids.clear(),
  };
}

/** `boost-50:usd:2500`. */
export function lookupKeyOf(pack: Package): string {
  return nameOf(pack.id, pack.currency, pack.price_cents);
}

function nameOf(packageId: string, currency: string, amountMinor: number): string {
  return `${packageId}:${currency}:${amountMinor}`;
}

/**
 * A price is named when it is made, by its lookup key and, should another price be given that, in its
 * metadata. An amount that the name does not say was never agreed with anybody.
 */
function priceOfOurs(price: Stripe.Price): PriceOfOurs | null {
  const packageId = packageOfMetadata(price);
  if (packageId === null) return null;
  const { currency, unit_amount: amountMinor } = price;
  const names = [price.lookup_key, price.metadata['name']];
  const isNamed = amountMinor !== null && names.includes(nameOf(packageId, currency, amountMinor));
  return { packageId, agreed: isNamed ? { amountMinor, currency } : null };
}

/** One thing that stands at the provider, or should. */
export type SyncLine = {
  package: string;
  what: 'product' | 'price';
  key: string;
  /** `made` and `changed` were done; `missing` and `different` are what `--check` found. */
  state: 'same' | 'made' | 'changed' | 'missing' | 'different';
  differences: string[];
};

/**
 * Compares the catalogue with the provider's products and prices, and makes what is missing unless it
 * only compares. An amount is never changed: a price that differs from its own key is only reported.
 */
export async function syncCatalogue(stripe: Stripe, onlyLooks: boolean): Promise<SyncLine[]> {
  const lines: SyncLine[] = [];
  for (const pack of packages) {
    lines.push(await syncProduct(stripe, pack, onlyLooks));
    lines.push(await syncPrice(stripe, pack, onlyLooks));
  }
  return lines;
}

async function syncProduct(stripe: Stripe, pack: Package, onlyLooks: boolean): Promise<SyncLine> {
  const line = { package: pack.id, what: 'product', key: productIdOf(pack) } as const;
  const product = await findProduct(stripe, pack);
  if (!product) {
    if (!onlyLooks) await makeProduct(stripe, pack);
    return { ...line, state: onlyLooks ? 'missing' : 'made', differences: [] };
  }
  const differences = [
    ...(product.name === pack.name ? [] : ['name']),
    ...(product.description === pack.description ? [] : ['description']),
    ...(product.active ? [] : ['not active']),
  ];
  if (differences.length === 0) return { ...line, state: 'same', differences };
  if (!onlyLooks)
    await ask('product', async () =>
      stripe.products.update(product.id, {
        name: pack.name,
        description: pack.description,
        active: true,
      }),
    );
  return { ...line, state: onlyLooks ? 'different' : 'changed', differences };
}

async function syncPrice(stripe: Stripe, pack: Package, onlyLooks: boolean): Promise<SyncLine> {
  const line = { package: pack.id, what: 'price', key: lookupKeyOf(pack) } as const;
  const price = await findPrice(stripe, pack);
  if (!price) {
    if (!onlyLooks) await makePrice(stripe, pack);
    return { ...line, state: onlyLooks ? 'missing' : 'made', differences: [] };
  }
  const differences = differencesOf(price, pack);
  return { ...line, state: differences.length === 0 ? 'same' : 'different', differences };
}

async function findPrice(stripe: Stripe, pack: Package): Promise<Stripe.Price | null> {
  const page = await ask('prices', async () =>
    stripe.prices.list({ lookup_keys: [lookupKeyOf(pack)], active: true, limit: 1 }),
  );
  const [price] = checkedList('prices', page).data;
  return price === undefined ? null : checked('price', price);
}

/** Twice at once makes one: the second is answered with the first's. */
async function makePrice(stripe: Stripe, pack: Package): Promise<Stripe.Price> {
  if ((await findProduct(stripe, pack)) === null) await makeProduct(stripe, pack);
  const key = lookupKeyOf(pack);
  const made = await ask('price', async () =>
    stripe.prices.create(
      {
        product: productIdOf(pack),
        currency: pack.currency,
        unit_amount: pack.price_cents,
        // The price is without tax, which comes on top where it is switched on.
        tax_behavior: 'exclusive',
        lookup_key: key,
        metadata: { package: pack.id, credits: String(pack.credits), name: key },
        ...(pack.kind === 'monthly' ? { recurring: { interval: 'month' } } : {}),
      },
      { idempotencyKey: `price:${key}` },
    ),
  );
  return checked('price', made);
}

async function findProduct(stripe: Stripe, pack: Package): Promise<Stripe.Product | null> {
  const id = productIdOf(pack);
  const product = await askForOne('product', async () => stripe.products.retrieve(id));
  return product === null ? null : checked('product', product, id);
}

async function makeProduct(stripe: Stripe, pack: Package): Promise<void> {
  const id = productIdOf(pack);
  const made = ask('product', async () =>
    stripe.products.create({
      id,
      name: pack.name,
      description: pack.description,
      metadata: { package: pack.id },
    }),
  );
  try {
    checked('product', await made, id);
  } catch (error) {
    // Another process was a moment faster.
    const isThere = error instanceof ProviderRefused && error.code === 'resource_already_exists';
    if (!isThere) throw error;
  }
}

function productIdOf(pack: Package): string {
  return `credits-${pack.id}`;
}

function differencesOf(price: Stripe.Price, pack: Package): string[] {
  const isMonthly = price.recurring?.interval === 'month' && price.recurring.interval_count === 1;
  return [
    ...(price.unit_amount === pack.price_cents ? [] : ['amount']),
    ...(price.currency === pack.currency ? [] : ['currency']),
    ...((pack.kind === 'monthly' ? isMonthly : price.recurring === null) ? [] : ['how often']),
    ...(price.tax_behavior === 'exclusive' ? [] : ['tax behaviour']),
    ...(packageOfMetadata(price) === pack.id ? [] : ['package']),
  ];
}

function packageOfMetadata(price: Stripe.Price): string | null {
  return price.metadata['package'] ?? null;
}
