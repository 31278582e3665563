import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { askForErasure, eraseAccount, sweepErasures } from '#services/identity/erasure/erasure.ts';
import type { ErasureDependencies } from '#services/identity/erasure/erasure.ts';
import { packages } from '#services/payments/catalogue.ts';
import { beginCheckout } from '#services/payments/purchases/checkout.ts';
import type { Package } from '#services/payments/contract.ts';
import type { PaymentProvider } from '#services/payments/provider.ts';
import { newId } from '#services/platform/ids.ts';
import { erasureOf } from '#services/core.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

/** The payment provider deletes an erased user's customer, whatever happens during the erasure. */
const minuteMs = 60_000;
const [boost] = packages.filter(({ id }) => id === 'boost-20') as [Package];
const addresses = { successUrl: 'http://localhost/a', cancelUrl: 'http://localhost/b' };

let shop: TestShop;
let erasure: ErasureDependencies;
let now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
  erasure = erasureOf(shop.core);
});
afterEach(() => {
  for (const name of ['only', 'tooMany', 'loseReply'] as const) delete shop.stripe.faults[name];
});
afterAll(async () => shop.close());

async function leave({ userId }: Person): Promise<void> {
  await askForErasure(erasure, { userId, actor: userId });
}

function customersOf({ userId }: Person) {
  return shop.stripe.world.store
    .all('customer')
    .filter((one) => !('deleted' in one) && one.metadata['user_id'] === userId);
}

async function countOf(
  table: 'stripe_customer' | 'customer_introduction',
  { userId }: Person,
): Promise<number> {
  const { rowCount } = await shop.database.pool.query(`select from ${table} where user_id = $1`, [
    userId,
  ]);
  return rowCount ?? 0;
}

/** A checkout of the user, interrupted right before that call to the provider. */
async function checkoutWith(
  call: 'createCustomer' | 'createCheckout',
  { userId }: Person,
  happens: () => Promise<void>,
): Promise<unknown> {
  const provider = new Proxy(shop.payments.provider, {
    get(target, name: keyof PaymentProvider) {
      const ask = target[name] as (...given: unknown[]) => Promise<unknown>;
      if (name !== call) return ask;
      return async (...given: unknown[]) => {
        await happens();
        return ask(...given);
      };
    },
  });
  const buying = { purchaseId: newId('pur', now), userId };
  return beginCheckout({ ...shop.payments, provider }, buying, boost, addresses);
}

test('a customer whom a checkout makes only after the erasure is deleted by another erasure', async () => {
  const person = await shop.signUp();
  const begun = checkoutWith('createCustomer', person, async () => {
    await leave(person);
    // A checkout has this long to create the customer.
    expect(await eraseAccount(erasure, person.userId)).toEqual({ waitsFor: 'forget-customer' });
    now += 3 * minuteMs;
    expect(await eraseAccount(erasure, person.userId)).toBe('erased');
  });
  await expect(begun).rejects.toMatchObject({ code: 'checkout-ended' });
  expect(customersOf(person)).toHaveLength(1);
  await shop.database.ownerPool.query(`select graphile_worker.remove_job('erase:' || $1)`, [
    person.userId,
  ]);
  expect(await sweepErasures(shop.core.pool)).toBe(1);
  expect(await eraseAccount(erasure, person.userId)).toBe('erased');
  expect(customersOf(person)).toEqual([]);
  expect(await countOf('stripe_customer', person)).toBe(0);
});

test('a checkout that continues after the erasure does not create the customer again', async () => {
  const person = await shop.signUp();
  await shop.checkout(person, 'boost-50');
  expect(customersOf(person)).toHaveLength(1);
  const begun = checkoutWith('createCheckout', person, async () => {
    await leave(person);
    expect(await eraseAccount(erasure, person.userId)).toBe('erased');
  });
  await expect(begun).rejects.toMatchObject({ code: 'account-closed' });
  expect(customersOf(person)).toEqual([]);
  expect(await countOf('customer_introduction', person)).toBe(0);
});

test('the provider is asked to delete the customer until it has, also when its response is lost', async () => {
  const person = await shop.signUp();
  await shop.checkout(person, 'boost-20');
  await leave(person);
  const { faults } = shop.stripe;
  faults.only = /^DELETE \/v1\/customers/;
  faults.tooMany = 1_000;
  expect(await eraseAccount(erasure, person.userId)).toEqual({ waitsFor: 'forget-customer' });
  expect([customersOf(person).length, await countOf('stripe_customer', person)]).toEqual([1, 1]);
  faults.tooMany = 0;
  faults.loseReply = 1;
  expect(await eraseAccount(erasure, person.userId)).toBe('erased');
  expect([faults.loseReply, customersOf(person)]).toEqual([0, []]);
  expect(await countOf('stripe_customer', person)).toBe(0);
});
