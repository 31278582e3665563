import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ForgetReply, Purchase } from '#services/payments/contract.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

let shop: TestShop;

beforeAll(async () => {
  shop = await createTestShop();
});
afterAll(async () => shop.close());

async function forget({ token }: Person, purchaseId: string): Promise<string> {
  const path = `/credits/purchases/${purchaseId}/forget`;
  return (await shop.data<ForgetReply>(path, { token, body: {} })).status;
}

describe('forgetting a purchase', () => {
  test('forgetting a purchase ends its checkout at the provider and takes it off the list, however often it is asked for', async () => {
    const person = await shop.signUp();
    const { purchase_id: id, session_id: sessionId } = await shop.checkout(person, 'boost-20');
    expect(await forget(person, id)).toBe('expired');
    expect(await forget(person, id)).toBe('expired');
    expect(shop.stripe.world.store.get('session', sessionId)?.status).toBe('expired');
    expect(await shop.data<Purchase[]>('/credits/purchases', { token: person.token })).toEqual([]);
  });

  test('forgetting a purchase says that it was paid when it was, and grants what was paid for', async () => {
    const person = await shop.signUp();
    const { purchase_id: id, session_id: sessionId } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(sessionId, 'pay');
    expect(await forget(person, id)).toBe('paid');
    const [bought] = await shop.data<Purchase[]>('/credits/purchases', { token: person.token });
    expect(bought).toMatchObject({ id, status: 'paid', unused_credits: 20 });
  });

  test('forgetting a purchase leaves one alone that a bank is still confirming', async () => {
    const person = await shop.signUp();
    const { purchase_id: id, session_id: sessionId } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(sessionId, 'pay-later');
    expect(await forget(person, id)).toBe('processing');
  });

  test("forgetting a purchase finds nothing at another's", async () => {
    const { purchase_id: id } = await shop.checkout(await shop.signUp(), 'boost-20');
    const { token } = await shop.signUp();
    const response = await shop.call(`/credits/purchases/${id}/forget`, { token, body: {} });
    expect(response.status).toBe(404);
  });
});
