import { Logger, runOnce } from 'graphile-worker';
import type { Stripe } from 'stripe';
import type { CheckoutReply } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { createPlanHandlers } from '#services/payments/plans/webhooks.ts';
import { createRefundHandlers } from '#services/payments/refunds/webhooks.ts';
import { paymentTasks } from '#services/payments/tasks.ts';
import { createPurchaseHandlers } from '#services/payments/webhooks.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import type { DeliverAll } from '#services/sandbox/stripe/webhooks.ts';
import { paymentsOf } from '#services/core.ts';
import { createTestApp } from './app.ts';
import type { Person, TestApp } from './app.ts';
import { createTestStripe } from './stripe.ts';
import type { TestStripe } from './stripe.ts';

/** The application with a payment provider and a worker's payments, all in this process. */
export type TestShop = TestApp & {
  stripe: TestStripe;
  payments: PaymentDependencies;
  /** Types of webhook events that the provider is asked to send. */
  handledTypes: ReadonlySet<string>;
  /** Begins a checkout through the API. */
  checkout(person: Person, packageId: string): Promise<CheckoutReply>;
  /** Begins a checkout, pays at the provider's page, and sends the provider's webhook events. */
  buy(person: Person, packageId: string): Promise<{ purchaseId: string; sessionId: string }>;
  /** Sends the provider's waiting webhook events; then every job runs. */
  deliver(how?: DeliverAll): Promise<void>;
  /** Runs all due payment jobs, and the jobs that they enqueue, until none is left. */
  runJobs(dependencies?: PaymentDependencies): Promise<void>;
  /** Sends one webhook event, as the provider does. */
  post(body: string, signature: string | null): Promise<Response>;
};

export async function createTestShop(
  options: {
    clock?: () => number;
    env?: EnvSource;
    /** The seed of the provider's ids; random when absent. */
    seed?: string;
  } = {},
): Promise<TestShop> {
  const { clock = Date.now, env, seed } = options;
  const stripe = await createTestStripe({ clock, ...(seed === undefined ? {} : { seed }) });
  const app = await createTestApp({ clock, env: { ...stripe.env, ...env } });
  const payments = paymentsOf(app.core);

  const post: TestShop['post'] = async (body, signature) =>
    app.app.request('http://localhost/api/webhooks/stripe', {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        ...(signature === null ? {} : { 'stripe-signature': signature }),
      },
      body,
    });
  // As at the provider: only events with a handler are sent.
  const handledTypes: TestShop['handledTypes'] = new Set(
    [createPurchaseHandlers, createPlanHandlers, createRefundHandlers].flatMap((create) =>
      Object.keys(create(payments)),
    ),
  );
  stripe.receive(async (body, signature) => {
    const { type } = JSON.parse(body) as Stripe.Event;
    return handledTypes.has(type) ? (await post(body, signature)).status : 200;
  });

  const runJobs: TestShop['runJobs'] = async (dependencies = payments) => {
    await runOnce({
      pgPool: app.core.pool,
      taskList: paymentTasks(dependencies),
      noHandleSignals: true,
      logger: new Logger(() => (level, message, meta) => {
        if (level === 'error') app.logged.push(`${message} ${String(meta?.['error'])}`);
      }),
    });
  };
  const checkout: TestShop['checkout'] = async ({ token }, packageId) =>
    app.data<CheckoutReply>('/credits/create-checkout-session', {
      token,
      body: { package_id: packageId },
    });
  const deliver: TestShop['deliver'] = async (how) => {
    await stripe.deliverAll(how);
    await runJobs();
  };
  return {
    ...app,
    stripe,
    payments,
    handledTypes,
    checkout,
    deliver,
    runJobs,
    post,
    async buy(person, packageId) {
      const { session_id: sessionId, purchase_id: purchaseId } = await checkout(person, packageId);
      stripe.pay(sessionId, 'pay');
      await deliver();
      return { purchaseId, sessionId };
    },
    async close() {
      await app.close();
      await stripe.close();
    },
  };
}
