import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  askForErasure,
  eraseAccount,
  erasureSteps,
  sweepErasures,
} from '#services/identity/erasure/erasure.ts';
import type { ErasureDependencies, Progress } from '#services/identity/erasure/erasure.ts';
import { packages } from '#services/payments/catalogue.ts';
import { beginCheckout } from '#services/payments/purchases/checkout.ts';
import type { Package } from '#services/payments/contract.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import type { PaymentProvider } from '#services/payments/provider.ts';
import { unavailableProvider } from '#services/payments/unavailable.ts';
import { newId } from '#services/platform/ids.ts';
import { erasureOf } from '#services/core.ts';
import {
  accountOf,
  bought,
  hold,
  partsOf,
  refundsAt,
  use,
} from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';
import type { Person } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { mailsTo } from '#tests/identity/browser.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

const [boost] = packages.filter(({ id }) => id === 'boost-20') as [Package];
const addresses = { successUrl: 'http://localhost/a', cancelUrl: 'http://localhost/b' };

let shop: TestShop;
let erasure: ErasureDependencies;
let now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
  erasure = erasureOf(shop.core);
});
afterAll(async () => {
  expect(shop.logged.filter((line) => line.includes('Failed task'))).toEqual([]);
  await shop.close();
});

async function signedInAgain(person: Person): Promise<Person> {
  const body = { email: person.email, password: testPassword };
  const { token } = await shop.data<{ token: string }>('/auth/login', { body });
  return { ...person, token };
}

/** A user with a confirmed address, so that every notice is an email. */
async function newPerson(): Promise<Person> {
  const person = await shop.signUp();
  await shop.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
    person.userId,
  ]);
  return person;
}

async function leave({ userId }: Person): Promise<void> {
  await askForErasure(erasure, { userId, actor: userId });
  await mailsLeave(userId);
}

/** As if a worker had sent what is queued. */
async function mailsLeave(userId: string): Promise<void> {
  await shop.database.pool.query(
    `update mail set status = 'sent', sealed = null, ended_at = now() where user_id = $1`,
    [userId],
  );
}

/** Erases as far as possible; the email about refunds is sent at once. */
async function erase(dependencies: ErasureDependencies, { userId }: Person): Promise<Progress> {
  const progress = await eraseAccount(dependencies, userId);
  if (progress === 'erased' || progress.waitsFor !== 'notify') return progress;
  await mailsLeave(userId);
  return eraseAccount(dependencies, userId);
}

async function countOf(table: string, { userId }: Person): Promise<number> {
  const { rowCount } = await shop.database.pool.query(`select from ${table} where user_id = $1`, [
    userId,
  ]);
  return rowCount ?? 0;
}

test('a user who leaves is refunded unused purchases of the last 30 days', async () => {
  const person = await newPerson();
  const old = await bought(shop, 'boost-20', person);
  now += 31 * dayMs;
  const fresh = await bought(shop, 'boost-50', await signedInAgain(person));
  await use(shop, person, 24);
  await leave(person);
  expect(await erase(erasure, person)).toBe('erased');
  await shop.deliver();
  expect(await partsOf(shop, old)).toEqual({ consumed: 20 });
  expect(await partsOf(shop, fresh)).toEqual({ consumed: 4, cashRefunded: 46 });
  expect(await refundsAt(shop, old)).toEqual([]);
  expect(await refundsAt(shop, fresh)).toMatchObject([{ amountMinor: 2_300 }]);
  expect([await countOf('stripe_customer', person), await countOf('mail', person)]).toEqual([0, 0]);
});

test('one email names the refund of each purchase before the keys are deleted', async () => {
  const person = await newPerson();
  await bought(shop, 'boost-20', person);
  now += 1_000;
  await bought(shop, 'boost-50', person);
  await use(shop, person, 1);
  const run = await hold(shop, person, 14);
  await leave(person);
  expect(await eraseAccount(erasure, person.userId)).toEqual({ waitsFor: 'close-account' });
  expect(await mailedTo(person)).toEqual([]);
  await run.release();
  shop.stripe.faults.refunds = 'pending';
  for (let count = 1; count <= 3; count += 1)
    expect(await eraseAccount(erasure, person.userId)).toEqual({ waitsFor: 'notify' });
  delete shop.stripe.faults.refunds;
  const [email, ...more] = await mailedTo(person);
  expect(more).toEqual([]);
  // The credits that the run released are in the same line as the rest of their purchase.
  expect(email).toContain('$9.50 for 19 unused credits from Boost 20.');
  expect(email).toContain('$25.00 for 50 unused credits from Boost 50.');
  expect(await erase(erasure, person)).toBe('erased');
});

test('no email is sent when nothing is refunded', async () => {
  const person = await newPerson();
  await bought(shop, 'boost-20', person);
  await use(shop, person, 20);
  await leave(person);
  expect(await eraseAccount(erasure, person.userId)).toBe('erased');
});

async function mailedTo({ email }: Person): Promise<string[]> {
  const mails = await mailsTo(shop, email);
  return mails.filter(({ kind }) => kind === 'account-refunds').map(({ text }) => text);
}

test('a plan and an open checkout end with the account, and the user is not charged again', async () => {
  const person = await newPerson();
  const plan = await bought(shop, 'side-gig-builder', person);
  const { session_id: sessionId } = await shop.checkout(person, 'boost-20');
  await leave(person);
  expect(await erase(erasure, person)).toBe('erased');
  await shop.deliver();
  expect(await partsOf(shop, plan)).toEqual({ cashRefunded: 50 });
  expect(await shop.payments.provider.retrieveCheckout(sessionId)).toMatchObject({
    status: 'expired',
  });
  now += 40 * dayMs;
  shop.stripe.advance(0);
  await shop.deliver();
  const { balance } = await accountOf(shop, person);
  expect(balance).toMatchObject({ purchased: 50, refunded: 50, available: 0 });
});

test('an unavailable provider postpones the erasure, which then continues without waiting for a bank', async () => {
  const person = await newPerson();
  const one = await bought(shop, 'boost-20', person);
  await leave(person);
  const away = erasureOf({ ...shop.core, provider: unavailableProvider });
  expect(await erase(away, person)).toEqual({ waitsFor: 'end-plans' });
  const refusing = {
    ...erasure,
    leavePayments: { ...away.leavePayments, endPlans: erasure.leavePayments.endPlans },
  };
  expect(await erase(refusing, person)).toEqual({ waitsFor: 'refund-unused' });
  expect(await countOf('stripe_customer', person)).toBe(1);
  shop.stripe.faults.refunds = 'pending';
  expect(await erase(erasure, person)).toBe('erased');
  delete shop.stripe.faults.refunds;
  expect(await partsOf(shop, one)).toEqual({ cashPending: 20 });
  const [made] = await refundsAt(shop, one);
  shop.stripe.settleRefund(made?.providerRefundId ?? '', 'succeeded');
  await shop.deliver();
  expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
});

test('users with nothing to end are erased also where payments are off', async () => {
  const person = await newPerson();
  await leave(person);
  const without = erasureOf({ ...shop.core, provider: unavailableProvider });
  expect(await erase(without, person)).toBe('erased');
});

test('users whose purchase failed or was refused are erased also where payments are off', async () => {
  const refused = async () => Promise.reject(new ProviderRefused('email_invalid'));
  const refusing = { ...shop.core.provider, createCustomer: refused };
  for (const provider of [unavailableProvider, refusing]) {
    const person = await newPerson();
    const buying = { purchaseId: newId('pur', now), userId: person.userId };
    await expect(
      beginCheckout({ ...shop.payments, provider }, buying, boost, addresses),
    ).rejects.toThrow(/refused|not set up/);
    await leave(person);
    const without = erasureOf({ ...shop.core, provider: unavailableProvider });
    expect(await erase(without, person)).toBe('erased');
  }
});

test('a payment that the bank confirms after the erasure is granted and refunded at once', async () => {
  const person = await newPerson();
  const checkout = await shop.checkout(person, 'boost-50');
  shop.stripe.pay(checkout.session_id, 'pay-later');
  await shop.deliver();
  await leave(person);
  expect(await erase(erasure, person)).toBe('erased');
  shop.stripe.settleLater(checkout.session_id, 'paid');
  await shop.deliver({ copies: 2 });
  const { balance } = await accountOf(shop, person);
  expect(balance).toMatchObject({ purchased: 50, refunded: 50, available: 0 });
  expect(await countOf('mail', person)).toBe(0);
});

test('a dispute after the erasure is booked under an id that identifies no one', async () => {
  const person = await newPerson();
  const one = await bought(shop, 'boost-20', person);
  await use(shop, person, 20);
  await leave(person);
  expect(await erase(erasure, person)).toBe('erased');
  shop.stripe.openDispute(one.intentId);
  await shop.deliver({ copies: 2 });
  const { balance } = await accountOf(shop, person);
  expect([balance.debt, await countOf('dispute', person)]).toEqual([20, 1]);
});

test('credits that a run still holds are released first and then refunded', async () => {
  const person = await newPerson();
  const one = await bought(shop, 'boost-20', person);
  const run = await hold(shop, person, 14);
  await leave(person);
  expect(await erase(erasure, person)).toEqual({ waitsFor: 'close-account' });
  await run.release();
  expect(await erase(erasure, person)).toBe('erased');
  expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
  expect((await refundsAt(shop, one)).map(({ amountMinor }) => amountMinor)).toEqual([700, 300]);
});

describe('a customer that only the provider knows', () => {
  const customersOf = ({ userId }: Person) =>
    shop.stripe.world.store
      .all('customer')
      .filter((one) => !('deleted' in one) && one.metadata['user_id'] === userId);

  /** The provider creates the customer, and the process is killed before the response. */
  async function introduced({ userId }: Person, dependencies = shop.payments): Promise<void> {
    const { provider } = dependencies;
    const createCustomer: typeof provider.createCustomer = async (customer) => {
      await provider.createCustomer(customer);
      throw new Error('killed');
    };
    const dying = { ...dependencies, provider: { ...provider, createCustomer } };
    const buying = { purchaseId: newId('pur', now), userId };
    const begun = beginCheckout(dying, buying, boost, addresses);
    await expect(begun).rejects.toThrow('killed');
  }

  test('a customer that only the provider knows is deleted once the provider lists it', async () => {
    const person = await newPerson();
    await introduced(person);
    expect(customersOf(person)).toHaveLength(1);
    await leave(person);
    expect(await erase(erasure, person)).toEqual({ waitsFor: 'forget-customer' });
    now += 3 * minuteMs;
    expect(await erase(erasure, person)).toBe('erased');
    expect(customersOf(person)).toEqual([]);
  });

  test('a customer that only the provider knows is deleted also when the user bought under another name', async () => {
    const person = await newPerson();
    await introduced(person);
    now += 3 * minuteMs;
    await shop.database.pool.query(`update users set name = 'Somebody Else' where id = $1`, [
      person.userId,
    ]);
    await bought(shop, 'boost-20', await signedInAgain(person));
    expect(customersOf(person)).toHaveLength(2);
    await leave(person);
    expect(await erase(erasure, person)).toBe('erased');
    expect(customersOf(person)).toEqual([]);
  });

  test('the sweep deletes a customer that was created at the last moment', async () => {
    const person = await newPerson();
    await leave(person);
    expect(await erase(erasure, person)).toBe('erased');
    const billedPerson = async () => ({ email: person.email, name: 'A person' });
    await introduced(person, { ...shop.payments, billedPerson });
    now += 3 * minuteMs;
    await shop.database.ownerPool.query(`select graphile_worker.remove_job('erase:' || $1)`, [
      person.userId,
    ]);
    expect(await sweepErasures(shop.core.pool)).toBe(1);
    expect(await erase(erasure, person)).toBe('erased');
    expect(customersOf(person)).toEqual([]);
    expect(await countOf('customer_introduction', person)).toBe(0);
  });
});

test(
  'a job that is killed after any call to the provider is repeated with the same result',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    const first = await buyer();
    const whole = mortal(Number.POSITIVE_INFINITY);
    await leave(first.person);
    // One job runs up to here; the next one starts again at the first step.
    expect(await eraseAccount(whole.erasure, first.person.userId)).toEqual({ waitsFor: 'notify' });
    const calls = whole.calls();
    expect(calls).toBeGreaterThan(5);
    expect(await erase(erasure, first.person)).toBe('erased');
    const others: Buyer[] = [];
    for (let count = 1; count <= calls; count += 1) others.push(await buyer());
    const killed = others.map(async ({ person }, index) => {
      await leave(person);
      const dying = eraseAccount(mortal(index + 1).erasure, person.userId);
      await expect(dying).rejects.toThrow('killed');
      expect(await erase(erasure, person)).toBe('erased');
    });
    await Promise.all(killed);
    await shop.deliver({ copies: 2 });
    for (const { person, paid } of [first, ...others]) {
      const { balance } = await accountOf(shop, person);
      expect(balance).toMatchObject({ purchased: 70, refunded: 70, available: 0 });
      expect(await countOf('stripe_customer', person)).toBe(0);
      for (const of of paid) expect(await refundsAt(shop, of)).toHaveLength(1);
    }
  },
);

type Buyer = { person: Person; paid: Bought[] };

/** A user with a plan, another purchase, and a checkout that can still be paid. */
async function buyer(): Promise<Buyer> {
  const person = await newPerson();
  const plan = await bought(shop, 'side-gig-builder', person);
  now += 1_000;
  const paid = [plan, await bought(shop, 'boost-20', person)];
  await shop.checkout(person, 'boost-50');
  return { person, paid };
}

/** The erasure of a process that is killed after this many completed calls to the provider. */
function mortal(lives: number): { erasure: ErasureDependencies; calls: () => number } {
  let calls = 0;
  const provider = new Proxy(shop.core.provider, {
    get(target, name: keyof PaymentProvider) {
      const call = target[name] as (...given: unknown[]) => Promise<unknown>;
      return async (...given: unknown[]) => {
        if (calls >= lives) throw new Error('killed');
        const answer = await call(...given);
        calls += 1;
        if (calls >= lives) throw new Error('killed');
        return answer;
      };
    },
  });
  return { erasure: erasureOf({ ...shop.core, provider }), calls: () => calls };
}

test('an erasure whose steps are repeated, also by two jobs at once, has the same result', async () => {
  const person = await newPerson();
  const plan = await bought(shop, 'side-gig-builder', person);
  now += 1_000;
  const one = await bought(shop, 'boost-20', person);
  await shop.checkout(person, 'boost-20');
  await leave(person);
  const money = erasureSteps.findIndex(({ name }) => name === 'close-account') + 1;
  for (let count = 1; count <= money; count += 1)
    for (const { run } of erasureSteps.slice(0, count)) await run(erasure, person.userId);
  const ends = await Promise.all([1, 2].map(async () => erase(erasure, person)));
  expect(ends).toEqual(['erased', 'erased']);
  await shop.deliver({ copies: 2 });
  for (const of of [plan, one]) expect(await refundsAt(shop, of)).toHaveLength(1);
  const { balance } = await accountOf(shop, person);
  expect(balance).toMatchObject({ purchased: 70, refunded: 70, available: 0 });
  expect(await countOf('stripe_customer', person)).toBe(0);
});
