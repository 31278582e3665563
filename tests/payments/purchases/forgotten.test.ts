import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CheckoutReply } from '#services/payments/contract.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { accountOf } from './bought.ts';

/**
 * What we know and the provider does not: deleted there, of another account of it, or from before the
 * key was changed. No user is locked out by that.
 */
let shop: TestShop;
let now = Date.parse('2026-11-20T10:00:00Z');
let ann: Person;

const minute = 60_000;

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
beforeEach(async () => {
  ann = await shop.signUp();
});
afterAll(async () => shop.close());

async function customerOf({ userId }: Person): Promise<string | undefined> {
  const { rows } = await shop.database.pool.query<{ customer_id: string }>(
    'select customer_id from stripe_customer where user_id = $1',
    [userId],
  );
  return rows[0]?.customer_id;
}

async function begin({ token }: Person, packageId: string) {
  const body = { package_id: packageId };
  return shop.call('/credits/create-checkout-session', { token, body });
}

describe('a customer whom the provider does not know', () => {
  async function deleted(): Promise<void> {
    await shop.payments.provider.deleteCustomer((await customerOf(ann)) ?? '');
  }
  async function ofAnotherAccount(): Promise<void> {
    await shop.database.pool.query(
      'update stripe_customer set customer_id = $2 where user_id = $1',
      [ann.userId, `cus_elsewhere${ann.userId.slice(4, 14)}`],
    );
  }

  test.each([
    ['was deleted there', deleted],
    ['is of another account', ofAnotherAccount],
  ])(
    'a customer whom the provider does not know because it %s is created again, and can buy',
    async (_, lose) => {
      await shop.checkout(ann, 'boost-20');
      const before = await customerOf(ann);
      await lose();
      const { session_id: sessionId } = await shop.checkout(ann, 'boost-50');
      expect(await customerOf(ann)).not.toBe(before);
      shop.stripe.pay(sessionId, 'pay');
      await shop.deliver();
      expect((await accountOf(shop, ann)).balance.available).toBe(50);
    },
  );

  test('a customer whom the provider does not know can be lost several times within a day', async () => {
    const known = new Set<string | undefined>();
    for (let count = 0; count < 3; count += 1) {
      await shop.checkout(ann, 'boost-20');
      known.add(await customerOf(ann));
      await deleted();
    }
    expect(known.size).toBe(3);
  });

  test('a customer whom the provider does not know is created once by many calls at once', async () => {
    await shop.checkout(ann, 'boost-20');
    await deleted();
    const made = vi.spyOn(shop.core.provider, 'createCustomer');
    const replies = await Promise.all(
      Array.from({ length: 5 }, async () => begin(ann, 'boost-20')),
    );
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    const ids = await Promise.all(made.mock.results.map(async ({ value }) => value as string));
    expect(new Set(ids)).toEqual(new Set([await customerOf(ann)]));
    made.mockRestore();
  });

  test('a customer whom the provider does not know pays by another client, and sees the provider’s pages', async () => {
    const { token } = ann;
    await shop.checkout(ann, 'boost-20');
    await deleted();
    const body = { package_id: 'boost-20' };
    expect((await shop.call('/credits/create-payment-intent', { token, body })).status).toBe(201);
    await deleted();
    expect((await shop.call('/credits/portal-session', { token, body: {} })).status).toBe(201);
  });

  test('a customer whom the provider does not know is not created for an account that is gone', async () => {
    await shop.checkout(ann, 'boost-20');
    await deleted();
    await shop.database.pool.query('update users set erasing_at = now() where id = $1', [
      ann.userId,
    ]);
    const { status } = await begin(ann, 'boost-20');
    expect(status).toBeGreaterThanOrEqual(401);
    expect(status).toBeLessThan(500);
  });
});

describe('a checkout that the provider does not know', () => {
  async function lost(packageId: string): Promise<CheckoutReply> {
    const reply = await shop.checkout(ann, packageId);
    await shop.database.pool.query(
      `update purchase set session_id = 'cs_test_elsewhere' || right(id, 8) where id = $1`,
      [reply.purchase_id],
    );
    return reply;
  }
  /** Ages a purchase until its checkout has ended; sessions stay signed in. */
  async function ended({ purchase_id: id }: CheckoutReply): Promise<void> {
    await shop.database.pool.query(
      `update purchase set created_at = created_at - interval '90 minutes' where id = $1`,
      [id],
    );
  }
  async function statusOf({ purchase_id: purchaseId }: CheckoutReply) {
    return (await findPurchase(shop.database.pool, { purchaseId }))?.status;
  }

  test.each(['boost-20', 'side-gig-builder'])(
    'a checkout that the provider does not know ends by the sweeper once it could not be paid any more: %s',
    async (packageId) => {
      const reply = await lost(packageId);
      now += 80 * minute;
      await sweepPayments(shop.payments);
      expect(await statusOf(reply)).toBe('open');
      now += 30 * minute;
      await sweepPayments(shop.payments);
      expect(await statusOf(reply)).toBe('expired');
    },
  );

  test('a checkout that the provider does not know does not block another plan', async () => {
    const reply = await lost('side-gig-builder');
    expect((await begin(ann, 'side-gig-builder')).status).toBe(201);
    expect(await statusOf(reply)).toBe('expired');
  });

  test('a checkout that the provider does not know is forgotten by its person after that', async () => {
    const reply = await lost('side-gig-builder');
    const path = `/credits/purchases/${reply.purchase_id}/forget`;
    const forget = async () => shop.data(path, { method: 'POST', token: ann.token });
    expect(await forget()).toEqual({ status: 'open' });
    await ended(reply);
    expect(await forget()).toEqual({ status: 'expired' });
  });
});
