import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPlans } from '#services/payments/plans/plans.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { bought } from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';

/** Payments of plans that go back in several pieces of several kinds. */
let shop: TestShop;
beforeAll(async () => {
  shop = await createTestShop();
});
afterAll(async () => shop.close());

const paidMinor = 2_500;
const halfMinor = paidMinor / 2;

const pieces = {
  'a refund by the bank': ({ intentId }: Bought) =>
    void shop.stripe.refundAtBank(intentId, halfMinor),
  'a dispute': ({ intentId }: Bought) =>
    void shop.stripe.openDispute(intentId, { amountMinor: halfMinor }),
  'a lost dispute': ({ intentId }: Bought) => {
    const { id } = shop.stripe.openDispute(intentId, { amountMinor: halfMinor });
    shop.stripe.moveDispute(id, 'lost');
  },
} as const;
type Piece = keyof typeof pieces;

async function standing({ person }: Bought): Promise<unknown[]> {
  const { rows } = await shop.core.pool.query<{ tier: string }>(
    'select subscription_tier as tier from users where id = $1',
    [person.userId],
  );
  const [plan] = await readPlans(shop.core.pool, person.userId);
  return [rows[0]?.tier, plan?.status, plan?.revoked_as];
}
const kept = ['pro', 'active', null];
const ended = ['free', 'canceled', 'taken_back'];

describe('a plan ends when the payment of its period went back', () => {
  test.each<[Piece, Piece]>([
    ['a refund by the bank', 'a lost dispute'],
    ['a refund by the bank', 'a dispute'],
    ['a lost dispute', 'a dispute'],
  ])(
    'a plan ends when the payment of its period went back half by %s and half by %s',
    async (first, second) => {
      const plan = await bought(shop, 'side-gig-builder');
      pieces[first](plan);
      await shop.deliver();
      expect(await standing(plan)).toEqual(kept);
      pieces[second](plan);
      await shop.deliver();
      expect(await standing(plan)).toEqual(ended);
    },
  );

  test('a plan ends when the payment of its period went back in pieces that are reported at once and in the wrong order', async () => {
    const plan = await bought(shop, 'side-gig-builder');
    pieces['a refund by the bank'](plan);
    pieces['a lost dispute'](plan);
    await shop.deliver({ copies: 2, order: 'reversed' });
    expect(await standing(plan)).toEqual(ended);
  });
});

test('a half that came back is not added to the half that goes after it', async () => {
  const plan = await bought(shop, 'side-gig-builder');
  const { id } = shop.stripe.openDispute(plan.intentId, { amountMinor: halfMinor });
  shop.stripe.moveDispute(id, 'won');
  await shop.deliver();
  pieces['a refund by the bank'](plan);
  await shop.deliver();
  expect(await standing(plan)).toEqual(kept);
});
