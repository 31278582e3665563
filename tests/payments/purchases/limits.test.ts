import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

let shop: TestShop;

beforeAll(async () => {
  shop = await createTestShop({
    env: { RATE_LIMITS: 'plan=2/h,portal=2/h,forget=2/h,checkout-state=2/m,checkout=off' },
  });
});
afterAll(async () => shop.close());

/** The statuses of three calls, one after the other. */
async function thrice(call: () => Promise<Response>): Promise<number[]> {
  const statuses = [];
  for (let time = 0; time < 3; time += 1) statuses.push((await call()).status);
  return statuses;
}

const post = async ({ token }: Person, path: string, body: object) =>
  shop.call(path, { token, body });

const isOpen = (sessionId: string) =>
  shop.stripe.world.store.get('session', sessionId)?.status === 'open';

describe('calls that ask the payment provider', () => {
  test('changes of a plan, visits to the provider’s pages and given-up purchases are limited for each person', async () => {
    const person = await shop.signUp();
    await shop.buy(person, 'side-gig-builder');
    const plan = { action: 'cancel' };
    expect(await thrice(async () => post(person, '/credits/plan', plan))).toEqual([200, 200, 429]);
    expect(await thrice(async () => post(person, '/credits/portal-session', {}))).toEqual([
      201, 201, 429,
    ]);
    const statuses = await thrice(async () => {
      const { purchase_id: id } = await shop.checkout(person, 'boost-20');
      return post(person, `/credits/purchases/${id}/forget`, {});
    });
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('the state of a checkout beyond the limit is what is known already, and is not refused', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    const state = async () =>
      (
        await shop.data<{ status: string }>(`/credits/checkout-sessions/${id}`, {
          token: person.token,
        })
      ).status;
    expect([await state(), await state()]).toEqual(['open', 'open']);
    shop.stripe.pay(id, 'pay');
    expect(await state()).toBe('open');
    await shop.deliver();
    expect(await state()).toBe('paid');
  });
});

describe('a person’s unfinished checkouts', () => {
  test('a person’s unfinished checkouts are ten at most: the next one ends the oldest at the provider, also when they begin at once', async () => {
    const person = await shop.signUp();
    const first = await shop.checkout(person, 'boost-20');
    const second = await shop.checkout(person, 'boost-50');
    for (let count = 0; count < 8; count += 1) await shop.checkout(person, 'boost-20');
    expect(isOpen(first.session_id)).toBe(true);
    const more = await Promise.all([
      shop.checkout(person, 'boost-20'),
      shop.checkout(person, 'boost-20'),
    ]);
    expect([first, second, ...more].map(({ session_id: id }) => isOpen(id))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    const { rows } = await shop.database.pool.query<{ count: number }>(
      `select count(*)::int as count from purchase where user_id = $1 and status = 'open'`,
      [person.userId],
    );
    expect(rows).toEqual([{ count: 10 }]);
  });

  test('an unfinished checkout that is being paid when its turn comes is granted, not ended', async () => {
    const person = await shop.signUp();
    const first = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(first.session_id, 'pay');
    for (let count = 0; count < 10; count += 1)
      await post(person, '/credits/create-payment-intent', { package_id: 'boost-20' });
    const { lots } = await shop.payments.ledger.readAccount(person.userId);
    expect(lots.map(({ granted }) => granted)).toEqual([20]);
  });
});
