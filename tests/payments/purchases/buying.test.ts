import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Balance, Transaction } from '#services/credits/contract.ts';
import { packages } from '#services/payments/catalogue.ts';
import type {
  CheckoutReply,
  CheckoutState,
  PaymentIntentReply,
  Purchase,
} from '#services/payments/contract.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import type { PurchaseRow } from '#services/payments/purchases/rows.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { askBack, bought } from './bought.ts';

/** From the call to the credits, by way of the provider's page. */
let shop: TestShop;

beforeAll(async () => {
  shop = await createTestShop({ env: { CORS_ORIGINS: 'https://partner.example' } });
});
afterAll(async () => shop.close());

const checkoutPath = '/credits/create-checkout-session';

async function balanceOf({ token }: Person): Promise<Balance> {
  return shop.data<Balance>('/credits/balance', { token });
}

async function stateOf({ token }: Person, sessionId: string): Promise<CheckoutState> {
  return shop.data<CheckoutState>(`/credits/checkout-sessions/${sessionId}`, { token });
}

async function purchase(purchaseId: string): Promise<PurchaseRow | null> {
  return findPurchase(shop.core.pool, { purchaseId });
}

async function refusal(person: Person, path: string, body: object): Promise<unknown[]> {
  const response = await shop.call(path, { token: person.token, body });
  const { code, errors } = (await response.json()) as { code: string; errors: { field: string }[] };
  return [response.status, code, ...errors.map(({ field }) => field)];
}

/** The return addresses that the provider was given. */
function addressesOf(sessionId: string): (string | null | undefined)[] {
  const session = shop.stripe.world.store.get('session', sessionId);
  return [session?.success_url, session?.cancel_url];
}

describe('packages', () => {
  test('packages are public and may be cached for a while', async () => {
    const response = await shop.call('/credits/packages');
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(await response.json()).toEqual({ data: packages });
    expect(packages.map(({ id, price_cents: price, credits }) => [id, price, credits])).toEqual([
      ['opportunity-finder', 500, 10],
      ['side-gig-builder', 2_500, 50],
      ['empire-builder', 15_000, 400],
      ['boost-20', 1_000, 20],
      ['boost-50', 2_500, 50],
      ['boost-125', 5_000, 125],
    ]);
  });
});

describe('a package', () => {
  test.each(packages.filter(({ kind }) => kind === 'one_time'))(
    'a package $id is bought: its credits come once, with its price to the cent',
    async ({ id, credits, price_cents: price }) => {
      const person = await shop.signUp();
      const { purchaseId, sessionId } = await shop.buy(person, id);
      expect(await balanceOf(person)).toMatchObject({
        available_credits: credits,
        total_purchased: credits,
      });
      expect(await stateOf(person, sessionId)).toMatchObject({
        session_id: sessionId,
        purchase_id: purchaseId,
        package_id: id,
        kind: 'one_time',
        status: 'paid',
        credits,
        amount_cents: price,
        currency: 'usd',
        receipt_url: expect.stringMatching(/^https?:/) as unknown,
        balance: { available_credits: credits },
      });
      const { token } = person;
      const [line, ...others] = await shop.data<Transaction[]>('/credits/history', { token });
      expect(line).toMatchObject({ transaction_type: 'purchase', amount: credits });
      expect(line).toMatchObject({ purchase_id: purchaseId });
      expect(others).toEqual([]);
      const row = await purchase(purchaseId);
      expect(row).toMatchObject({ paid_minor: price, tax_minor: 0, failure: null });
      expect(row?.payment_key).toBe(`pi:${row?.payment_intent_id}`);
      expect(line?.lot_id).toBe(row?.lot_id);
    },
  );

  test('a package is bought by POST /credits/purchase in the same way', async () => {
    const { token } = await shop.signUp();
    const reply = await shop.data<CheckoutReply>('/credits/purchase', {
      token,
      body: { package_id: 'boost-20' },
    });
    expect(reply.checkout_url).toMatch(/^http:\/\/localhost:3000\/dev\/stripe\//);
    expect(reply.purchase_id).toMatch(/^pur_/);
  });

  test('the package of a plan begins a subscription, whose first invoice grants, with or without its webhook event', async () => {
    const person = await shop.signUp();
    const { session_id: sessionId, purchase_id: id } = await shop.checkout(
      person,
      'side-gig-builder',
    );
    shop.stripe.pay(sessionId, 'pay');
    await shop.deliver({ drop: ({ type }) => type === 'invoice.paid' });
    expect(await stateOf(person, sessionId)).toMatchObject({ status: 'paid', kind: 'monthly' });
    expect(await purchase(id)).toMatchObject({
      subscription_id: expect.stringMatching(/^sub_/) as unknown,
      payment_key: null,
      lot_id: null,
    });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 50 });
    const { lots } = await shop.core.ledger.readAccount(person.userId);
    expect(lots.map(({ paymentKey }) => paymentKey)).toEqual([expect.stringMatching(/^invoice:/)]);
  });

  test('a package that does not exist is refused by name', async () => {
    const person = await shop.signUp();
    const unknown = [400, 'unknown-package', 'package_id'];
    for (const path of [checkoutPath, '/credits/purchase', '/credits/create-payment-intent'])
      expect(await refusal(person, path, { package_id: 'boost-500' })).toEqual(unknown);
    const plan = { package_id: 'empire-builder' };
    expect(await refusal(person, '/credits/create-payment-intent', plan)).toEqual(unknown);
    for (const wrong of ['Boost 20', 4, null])
      expect(await refusal(person, checkoutPath, { package_id: wrong })).toEqual([
        400,
        'validation',
        'package_id',
      ]);
    expect(await refusal(person, checkoutPath, { ...plan, price_cents: 1 })).toEqual([
      400,
      'validation',
      '',
    ]);
  });

  test('a package cannot be bought by an account that is about to be erased', async () => {
    const { token, userId } = await shop.signUp();
    await shop.database.pool.query('update users set erasing_at = now() where id = $1', [userId]);
    const response = await shop.call(checkoutPath, { token, body: { package_id: 'boost-20' } });
    expect(response.status).toBe(401);
  });

  test('purchases are limited per hour; a repeat counts when it calls the provider again', async () => {
    const limited = await createTestShop({ env: { RATE_LIMITS: 'checkout=2/h' } });
    try {
      const { token } = await limited.signUp();
      const body = { package_id: 'boost-20' };
      const buy = async (path: string, key: string) =>
        (await limited.call(path, { token, key, body })).status;
      expect([
        await buy(checkoutPath, 'first'),
        await buy(checkoutPath, 'first'),
        await buy('/credits/create-payment-intent', 'second'),
        await buy('/credits/create-payment-intent', 'second'),
        await buy('/credits/purchase', 'third'),
      ]).toEqual([201, 201, 201, 429, 429]);
    } finally {
      await limited.close();
    }
  });
});

describe('the return addresses', () => {
  test('the return addresses are our own pages unless others are given', async () => {
    const { session_id: id } = await shop.checkout(await shop.signUp(), 'boost-20');
    expect(addressesOf(id)).toEqual([
      'http://127.0.0.1:3000/credits/success?session_id={CHECKOUT_SESSION_ID}',
      'http://127.0.0.1:3000/credits/purchase?cancelled=boost-20',
    ]);
  });

  test.each([
    [
      'http://127.0.0.1:3000/credits/success',
      'http://127.0.0.1:3000/credits/success?session_id={CHECKOUT_SESSION_ID}',
    ],
    [
      'https://partner.example/done?from=a%20b&x=1#top',
      'https://partner.example/done?from=a%20b&x=1&session_id={CHECKOUT_SESSION_ID}#top',
    ],
    [
      'http://localhost:3000/?session_id={CHECKOUT_SESSION_ID}',
      'http://localhost:3000/?session_id={CHECKOUT_SESSION_ID}',
    ],
  ])('the return addresses may be %s', async (success, address) => {
    const { token } = await shop.signUp();
    const cancel = 'https://partner.example/back';
    const { session_id: id } = await shop.data<CheckoutReply>(checkoutPath, {
      token,
      body: { package_id: 'boost-20', success_url: success, cancel_url: cancel },
    });
    expect(addressesOf(id)).toEqual([address, cancel]);
  });

  test.each([
    'https://foreign.example/credits/success',
    'http://127.0.0.1:3000.foreign.example/',
    'http://127.0.0.1:3000@foreign.example/',
    'http://ann:secret@127.0.0.1:3000/',
    'http://127.0.0.1:3001/',
    'https://127.0.0.1:3000/',
    '//foreign.example',
    '/credits/success',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://partner.example.foreign.example/',
    '',
  ])('the return addresses may not be %j', async (address) => {
    const person = await shop.signUp();
    for (const field of ['success_url', 'cancel_url'])
      expect(
        await refusal(person, checkoutPath, { package_id: 'boost-20', [field]: address }),
      ).toEqual([400, 'foreign-address', field]);
  });
});

describe('the same Idempotency-Key', () => {
  test('the same Idempotency-Key is the same checkout, also when 10 calls come at once', async () => {
    const { token } = await shop.signUp();
    const body = { package_id: 'boost-20' };
    const buy = async () => shop.call(checkoutPath, { token, key: 'one', body });
    const statuses = (await Promise.all(Array.from({ length: 10 }, buy))).map((one) => one.status);
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
    const replies = [await buy(), await buy()];
    const [first, second] = await Promise.all(replies.map(async (reply) => reply.json()));
    expect(second).toEqual(first);
    const other = await shop.call(checkoutPath, {
      token,
      key: 'one',
      body: { package_id: 'boost-50' },
    });
    expect([other.status, await other.json()]).toMatchObject([
      409,
      { code: 'idempotency-mismatch' },
    ]);
  });

  test('the same Idempotency-Key is the same payment of another client, whose secret is not kept', async () => {
    const { token } = await shop.signUp();
    const body = { package_id: 'boost-20' };
    const begin = async () =>
      shop.data<PaymentIntentReply>('/credits/create-payment-intent', { token, key: 'two', body });
    const first = await begin();
    expect(await begin()).toEqual(first);
    const { rows } = await shop.database.pool.query(
      `select from idempotency_key where body::text like '%secret%'`,
    );
    expect(rows).toEqual([]);
  });

  test('the same Idempotency-Key continues the purchase whose session was lost on the way', async () => {
    const person = await shop.signUp();
    const { provider } = shop.core;
    const body = { package_id: 'boost-20' };
    const buy = async () => shop.call(checkoutPath, { token: person.token, key: 'three', body });
    const create = provider.createCheckout.bind(provider);
    vi.spyOn(provider, 'createCheckout').mockImplementationOnce(async (wanted) => {
      await create(wanted);
      throw new Problem('payment-provider', 'Lost on the way');
    });
    const lost = await buy();
    expect([lost.status, await lost.json()]).toMatchObject([503, { code: 'payment-provider' }]);
    const { data } = (await (await buy()).json()) as { data: CheckoutReply };
    const { rows } = await shop.database.pool.query<{ id: string }>(
      'select id from purchase where user_id = $1',
      [person.userId],
    );
    expect(rows.map(({ id }) => id)).toEqual([data.purchase_id]);
    expect(sessionsOf(data.purchase_id)).toEqual([data.session_id]);
  });
});

/** Of one purchase, as the provider has them. */
function sessionsOf(purchaseId: string): string[] {
  return shop.stripe.world.store
    .all('session')
    .filter(({ metadata }) => metadata?.['purchase_id'] === purchaseId)
    .map(({ id }) => id);
}

describe('a payment that another client makes', () => {
  test('a payment that another client makes grants once it has succeeded', async () => {
    const person = await shop.signUp();
    const reply = await shop.data<PaymentIntentReply>('/credits/create-payment-intent', {
      token: person.token,
      body: { package_id: 'boost-125' },
    });
    expect(reply).toMatchObject({ amount_cents: 5_000, currency: 'usd' });
    expect(reply.client_secret.startsWith(reply.payment_intent_id)).toBe(true);
    await shop.deliver();
    expect(await purchase(reply.purchase_id)).toMatchObject({ status: 'open' });
    shop.stripe.pay(reply.payment_intent_id, 'pay');
    await shop.deliver();
    expect(await purchase(reply.purchase_id)).toMatchObject({ status: 'paid', paid_minor: 5_000 });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 125 });
  });

  test('a payment that another client makes that is declined may be tried again with another card', async () => {
    const person = await shop.signUp();
    const { payment_intent_id: intentId, purchase_id: id } = await shop.data<PaymentIntentReply>(
      '/credits/create-payment-intent',
      { token: person.token, body: { package_id: 'boost-20' } },
    );
    shop.stripe.pay(intentId, 'decline');
    await shop.deliver();
    expect(await purchase(id)).toMatchObject({ status: 'failed', failure: 'card_declined' });
    shop.stripe.pay(intentId, 'pay');
    await shop.deliver();
    expect(await purchase(id)).toMatchObject({ status: 'paid', failure: null });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 20 });
  });
});

describe('a checkout', () => {
  test('a checkout is shown to its buyer alone', async () => {
    const [ann, bob] = [await shop.signUp(), await shop.signUp()];
    const { session_id: id } = await shop.checkout(ann, 'boost-20');
    expect(await stateOf(ann, id)).toMatchObject({ status: 'open', balance: {} });
    for (const unknown of [id, 'cs_test_nothing', 'nothing', '%27', 'pi_1']) {
      const path = `/credits/checkout-sessions/${unknown}`;
      const response = await shop.call(path, { token: bob.token });
      expect([unknown, response.status]).toEqual([unknown, 404]);
    }
    expect((await shop.call(`/credits/checkout-sessions/${id}`)).status).toBe(401);
  });

  test('a checkout shows the credits as soon as it is asked, before any webhook', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'boost-50');
    shop.stripe.pay(id, 'pay');
    expect(await stateOf(person, id)).toMatchObject({
      status: 'paid',
      balance: { available_credits: 50 },
    });
    await shop.deliver({ copies: 2 });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 50 });
  });

  test('a checkout whose card is declined stays open and may be paid with another one', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'decline');
    await shop.deliver();
    expect(await stateOf(person, id)).toMatchObject({ status: 'open' });
    shop.stripe.pay(id, 'pay');
    await shop.deliver();
    expect(await stateOf(person, id)).toMatchObject({ status: 'paid' });
  });

  test('a checkout that waits for the bank is processing, and paid when the bank has paid', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'pay-later');
    await shop.deliver();
    expect(await stateOf(person, id)).toMatchObject({
      status: 'processing',
      balance: { available_credits: 0 },
    });
    shop.stripe.settleLater(id, 'paid');
    await shop.deliver();
    expect(await stateOf(person, id)).toMatchObject({
      status: 'paid',
      balance: { available_credits: 20 },
    });
  });

  test('a checkout that the bank refuses has failed, and grants nothing', async () => {
    const person = await shop.signUp();
    const { session_id: id, purchase_id: purchaseId } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'pay-later');
    await shop.deliver();
    shop.stripe.settleLater(id, 'failed');
    await shop.deliver();
    expect(await stateOf(person, id)).toMatchObject({ status: 'failed' });
    expect((await purchase(purchaseId))?.failure).toMatch(/^[a-z_]+$/);
    expect(await balanceOf(person)).toMatchObject({ available_credits: 0 });
  });

  test('an abandoned checkout expires, and nothing is bought', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'abandon');
    await shop.core.provider.expireCheckout(id);
    await shop.deliver();
    expect(await stateOf(person, id)).toMatchObject({
      status: 'expired',
      balance: { available_credits: 0 },
    });
  });

  test('a checkout is shown as far as is known while the provider is unavailable', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    Object.assign(shop.stripe.faults, { tooMany: 10 });
    expect(await stateOf(person, id)).toMatchObject({ status: 'open' });
    Object.assign(shop.stripe.faults, { tooMany: 0 });
  });
});

describe('the list of purchases', () => {
  const list = async ({ token }: Person) => shop.data<Purchase[]>('/credits/purchases', { token });

  test('the list of purchases asks about what is open before it says that nothing was paid, and says where to continue', async () => {
    const person = await shop.signUp();
    const begun = await shop.checkout(person, 'boost-20');
    const paid = await shop.checkout(person, 'boost-50');
    shop.stripe.pay(paid.session_id, 'pay');
    const listed = await list(person);
    const by = (id: string) => listed.find((one) => one.id === id);
    expect(by(paid.purchase_id)).toMatchObject({ status: 'paid', checkout_url: null });
    expect(by(begun.purchase_id)).toMatchObject({
      status: 'open',
      checkout_url: begun.checkout_url,
    });
    // The provider was asked a moment ago and is not asked again.
    shop.stripe.pay(begun.session_id, 'pay');
    expect((await list(person)).map(({ status }) => status)).toEqual(['paid', 'open']);
    await shop.database.pool.query('update purchase set checked_at = $2 where id = $1', [
      begun.purchase_id,
      new Date(0),
    ]);
    expect((await list(person)).map(({ status }) => status)).toEqual(['paid', 'paid']);
    await shop.deliver();
  });

  test('the list of purchases is there while the provider is unavailable, and shows no row for each try that failed', async () => {
    const person = await shop.signUp();
    const begun = await shop.checkout(person, 'boost-20');
    Object.assign(shop.stripe.faults, { tooMany: 100 });
    const body = { package_id: 'boost-50' };
    const { status } = await shop.call(checkoutPath, { token: person.token, body });
    expect(status).toBe(503);
    expect((await list(person)).map(({ id }) => id)).toEqual([begun.purchase_id]);
    Object.assign(shop.stripe.faults, { tooMany: 0 });
  });
});

describe('the list of purchases, of a payment that the bank refuses later', () => {
  const list = async ({ token }: Person) => shop.data<Purchase[]>('/credits/purchases', { token });

  test('the list of purchases says of a payment that the bank refuses later that it failed for as long as it might have been pending', async () => {
    const person = await shop.signUp();
    const { session_id: id, purchase_id: purchaseId } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'pay-later');
    await shop.deliver();
    expect(await list(person)).toMatchObject([{ id: purchaseId, status: 'processing' }]);
    shop.stripe.settleLater(id, 'failed');
    await shop.deliver();
    expect(await list(person)).toMatchObject([
      { id: purchaseId, status: 'failed', paid_at: null, refundable: null, refusal: 'not_paid' },
    ]);
    const move = async (set: string) =>
      shop.database.pool.query(`update purchase set ${set} where id = $1`, [purchaseId]);
    for (const failure of ['refused', 'mismatch-amount']) {
      await move(`failure = '${failure}'`);
      expect(await list(person)).toEqual([]);
    }
    await move(`failure = 'declined', updated_at = updated_at - interval '15 days 1 second'`);
    expect(await list(person)).toEqual([]);
  });

  test('the list of purchases is what lines of the ledger name, of a purchase and of what went back of it', async () => {
    const of = await bought(shop, 'boost-20');
    await askBack(shop, of);
    await shop.deliver();
    const lines = await shop.data<Transaction[]>('/credits/history', { token: of.person.token });
    expect(
      lines.map(({ reason_code: reason, purchase_id: purchaseId }) => [reason, purchaseId]),
    ).toEqual([
      ['cash_refund', of.purchaseId],
      ['purchase', of.purchaseId],
    ]);
  });
});

describe('a plan', () => {
  const plan = { package_id: 'side-gig-builder' };

  test('a user has one plan at a time, and a second one is refused', async () => {
    const person = await shop.signUp();
    await shop.buy(person, 'side-gig-builder');
    expect(await balanceOf(person)).toMatchObject({ available_credits: 50 });
    for (const id of ['side-gig-builder', 'empire-builder'])
      expect(await refusal(person, checkoutPath, { package_id: id })).toEqual([409, 'plan-exists']);
    // A boost has nothing to do with it.
    await shop.buy(person, 'boost-20');
    expect(await balanceOf(person)).toMatchObject({ available_credits: 70 });
  });

  test('a plan counts as soon as it is paid, before its first reading', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'side-gig-builder');
    shop.stripe.pay(id, 'pay');
    expect(await stateOf(person, id)).toMatchObject({ status: 'paid' });
    expect(await refusal(person, checkoutPath, plan)).toEqual([409, 'plan-exists']);
  });

  test('a plan whose checkout is open begins again: the older one can be paid no more', async () => {
    const person = await shop.signUp();
    const older = await shop.checkout(person, 'side-gig-builder');
    const newer = await shop.checkout(person, 'empire-builder');
    expect(await purchase(older.purchase_id)).toMatchObject({ status: 'expired' });
    expect(shop.stripe.world.store.get('session', older.session_id)?.status).toBe('expired');
    shop.stripe.pay(newer.session_id, 'pay');
    expect(await stateOf(person, newer.session_id)).toMatchObject({ status: 'paid' });
  });

  test('a plan whose checkout the provider does not know begins again at once', async () => {
    const person = await shop.signUp();
    const lost = await shop.checkout(person, 'side-gig-builder');
    await shop.database.pool.query('update purchase set session_id = $2 where id = $1', [
      lost.purchase_id,
      'cs_test_of_another_account',
    ]);
    const newer = await shop.checkout(person, 'side-gig-builder');
    expect(newer.purchase_id).not.toBe(lost.purchase_id);
    expect(await purchase(lost.purchase_id)).toMatchObject({ status: 'expired' });
    shop.stripe.pay(newer.session_id, 'pay');
    expect(await stateOf(person, newer.session_id)).toMatchObject({ status: 'paid' });
  });

  test('a plan whose first answer was lost is the same checkout by its key, and else a new one', async () => {
    const person = await shop.signUp();
    const { provider } = shop.core;
    const create = provider.createCheckout.bind(provider);
    vi.spyOn(provider, 'createCheckout').mockImplementationOnce(async (wanted) => {
      await create(wanted);
      throw new Problem('payment-provider', 'Lost on the way');
    });
    const begin = async (key: string) =>
      shop.call(checkoutPath, { token: person.token, key, body: plan });
    expect((await begin('first')).status).toBe(503);
    const again = (await (await begin('first')).json()) as { data: CheckoutReply };
    expect(sessionsOf(again.data.purchase_id)).toEqual([again.data.session_id]);
    const other = (await (await begin('second')).json()) as { data: CheckoutReply };
    expect(other.data.session_id).not.toBe(again.data.session_id);
    expect(shop.stripe.world.store.get('session', again.data.session_id)?.status).toBe('expired');
  });

  test('a plan whose older checkout was paid a moment ago is not begun again', async () => {
    const person = await shop.signUp();
    const older = await shop.checkout(person, 'side-gig-builder');
    shop.stripe.pay(older.session_id, 'pay');
    expect(await refusal(person, checkoutPath, plan)).toEqual([409, 'plan-exists']);
    expect(await purchase(older.purchase_id)).toMatchObject({ status: 'paid' });
  });

  test('a plan begun in ten windows at once leaves one checkout that can be paid', async () => {
    const { token, userId } = await shop.signUp();
    const answers = await Promise.all(
      Array.from({ length: 10 }, async () => shop.call(checkoutPath, { token, body: plan })),
    );
    expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
    const open = shop.stripe.world.store
      .all('session')
      .filter((one) => one.client_reference_id === userId && one.status === 'open');
    expect(open.length).toBeLessThanOrEqual(1);
    const { rows } = await shop.database.pool.query(
      `select from purchase where user_id = $1 and status = 'open'`,
      [userId],
    );
    expect(rows.length).toBeLessThanOrEqual(1);
  });
});

describe('a person', () => {
  const begin = async ({ token }: Person) =>
    shop.call(checkoutPath, { token, body: { package_id: 'boost-20' } });
  const customersOf = ({ userId }: Person) =>
    shop.stripe.world.store
      .all('customer')
      .filter((one) => !('deleted' in one) && one.metadata['user_id'] === userId);

  test('a customer is created at the provider once, also by ten checkouts at once', async () => {
    // Ten of them find no row and then write theirs: an index that takes its time makes it certain.
    await shop.database.ownerPool.query(`
      create function slow(text) returns text immutable language plpgsql
        as $$ begin perform pg_sleep(0.1); return $1; end $$;
      grant execute on function slow to public;
      alter table stripe_customer drop constraint stripe_customer_pkey,
        drop constraint stripe_customer_customer_id_key;
      create index slow_index on stripe_customer (slow(user_id));
      alter table stripe_customer add primary key (user_id), add unique (customer_id)`);
    const person = await shop.signUp();
    const answers = await Promise.all(Array.from({ length: 10 }, async () => begin(person)));
    await shop.database.ownerPool.query('drop index slow_index');
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(customersOf(person)).toHaveLength(1);
  });

  test('a user never buys under the customer of another one', async () => {
    const [other, person] = [await shop.signUp(), await shop.signUp()];
    await begin(other);
    const [customer] = customersOf(other);
    vi.spyOn(shop.core.provider, 'createCustomer').mockResolvedValueOnce(customer?.id ?? '');
    expect((await begin(person)).status).toBe(500);
    expect((await begin(person)).status).toBe(201);
    expect(customersOf(person)).toHaveLength(1);
  });
});
