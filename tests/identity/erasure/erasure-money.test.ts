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

/** Somebody whose mailbox is proved, so that whatever is told is a mail. */
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

/** As far as it goes; the mail about what is paid back leaves at once. */
async function erase(dependencies: ErasureDependencies, { userId }: Person): Promise<Progress> {
  const progress = await eraseAccount(dependencies, userId);
  if (progress === 'erased' || progress.waitsFor !== 'tell') return progress;
  await mailsLeave(userId);
  return eraseAccount(dependencies, userId);
}

async function countOf(table: string, { userId }: Person): Promise<number> {
  const { rowCount } = await shop.database.pool.query(`select from ${table} where user_id = $1`, [
    userId,
  ]);
  return rowCount ?? 0;
}

test('whoever leaves gets back what they bought in the last 30 days and have not used', async () => {
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

test('one mail names what is paid back of each purchase, before the keys go', async () => {
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
    expect(await eraseAccount(erasure, person.userId)).toEqual({ waitsFor: 'tell' });
  delete shop.stripe.faults.refunds;
  const [told, ...more] = await mailedTo(person);
  expect(more).toEqual([]);
  // What the run gave back is in the same line as the rest of its purchase.
  expect(told).toContain('$9.50 for 19 unused credits of Boost 20.');
  expect(told).toContain('$25.00 for 50 unused credits of Boost 50.');
  expect(await erase(erasure, person)).toBe('erased');
});

test('nobody is written to when nothing is paid back', async () => {
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

test('a plan and an open checkout end with the account, and nobody is charged again', async () => {
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

test('the provider away puts it off; it goes on, and waits for no bank', async () => {
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

test('without anything to end, people are erased also where there are no payments', async () => {
  const person = await newPerson();
  await leave(person);
  const without = erasureOf({ ...shop.core, provider: unavailableProvider });
  expect(await erase(without, person)).toBe('erased');
});

test('also who has tried to buy there, or was refused', async () => {
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

test('what a bank confirms only afterwards is granted and paid back at once', async () => {
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

test('a dispute afterwards is booked under an id that leads to nobody', async () => {
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

test('what a run still holds comes back first, and then goes back as money', async () => {
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

describe('somebody of whom the provider knows more than we do', () => {
  const customersOf = ({ userId }: Person) =>
    shop.stripe.world.store
      .all('customer')
      .filter((one) => !('deleted' in one) && one.metadata['user_id'] === userId);

  /** The provider has been told of the person, and whoever told it does not live to hear the answer. */
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

  test('is forgotten there as well, once the provider tells of everybody', async () => {
    const person = await newPerson();
    await introduced(person);
    expect(customersOf(person)).toHaveLength(1);
    await leave(person);
    expect(await erase(erasure, person)).toEqual({ waitsFor: 'forget-customer' });
    now += 3 * minuteMs;
    expect(await erase(erasure, person)).toBe('erased');
    expect(customersOf(person)).toEqual([]);
  });

  test('also when they bought under another name afterwards', async () => {
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

  test('also when they were introduced in the last moment: the sweeper sees it', async () => {
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

test('a job that is killed after any call of the provider comes to the same end', async () => {
  const first = await buyer();
  const whole = mortal(Number.POSITIVE_INFINITY);
  await leave(first.person);
  // Up to here it is one job; the next one goes through the steps again.
  expect(await eraseAccount(whole.erasure, first.person.userId)).toEqual({ waitsFor: 'tell' });
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
}, 120_000);

type Buyer = { person: Person; paid: Bought[] };

/** Somebody with a plan, something else that they paid for, and a checkout that can still be paid. */
async function buyer(): Promise<Buyer> {
  const person = await newPerson();
  const plan = await bought(shop, 'side-gig-builder', person);
  now += 1_000;
  const paid = [plan, await bought(shop, 'boost-20', person)];
  await shop.checkout(person, 'boost-50');
  return { person, paid };
}

/** The erasure of a process that dies after so many calls of the provider, each of them done. */
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

test('a job that is killed after each step, and another beside it, come to the same end', async () => {
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
