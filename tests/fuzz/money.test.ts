import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { askBack, purchasesOf } from '#tests/payments/purchases/bought.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { usualSeed } from './calls.ts';
import { pick } from './schemas.ts';
import { createChance } from '#tests/support/chance.ts';

/**
 * The same calls beside a model: a user signs up, buys, starts runs and requests refunds in any order. After
 * each step the balance equals the model's.
 */
let shop: TestShop;
beforeAll(async () => {
  shop = await createTestShop();
});
afterAll(async () => shop.close());

type Model = { bought: number; held: number; returned: number };

const steps = {
  async buy(person: Person, model: Model) {
    await shop.buy(person, 'boost-20');
    model.bought += 20;
  },
  async run(person: Person, model: Model) {
    const { token } = person;
    const body = { challenge: 'A second shop?', strategy: 'economy', allow_simulated: true };
    const run = await shop.data<Optimization>('/optimizations', { token, body });
    const { price } = run.credits;
    const response = await shop.call(`/optimizations/${run.id}/process`, { method: 'POST', token });
    const isEnough = model.bought - model.held - model.returned >= price;
    expect(response.status).toBe(isEnough ? 202 : 402);
    if (isEnough) model.held += price;
  },
  async refund(person: Person, model: Model) {
    const [purchase] = (await purchasesOf(shop, person)).filter(({ refundable }) => refundable);
    if (!purchase) return;
    const { status, refund } = await askBack(shop, { person, purchaseId: purchase.id });
    expect(status).toBe(201);
    expect(refund.credits).toBe(purchase.unused_credits);
    model.returned += refund.credits;
    await shop.runJobs();
    await shop.deliver();
  },
};

test.each([0, 1, 2])(
  'F1: after each step of life %i the balance equals that of the model',
  { timeout: 120_000 },
  async (life) => {
    const chance = createChance(usualSeed() + life);
    const person = await shop.signUp();
    const model: Model = { bought: 0, held: 0, returned: 0 };
    const lived: string[] = [];
    for (let step = 0; step < 12; step += 1) {
      const name = step === 0 ? 'buy' : pick(chance, ['buy', 'run', 'run', 'refund'] as const);
      lived.push(name);
      await steps[name](person, model);
      const { token } = person;
      const balance = await shop.data<Balance>('/credits/balance', { token });
      expect([lived, balance]).toMatchObject([
        lived,
        {
          available_credits: model.bought - model.held - model.returned,
          reserved_credits: model.held,
          debt_credits: 0,
          spending_frozen: false,
        },
      ]);
    }
  },
);
