import { Stripe } from 'stripe';
import type { FakeStripeOptions } from '#services/sandbox/stripe/fake-stripe.ts';
import { createTestStripe } from '#tests/support/stripe.ts';
import type { TestStripe } from '#tests/support/stripe.ts';

export const second = 1_000;
export const hour = 3_600 * second;
export const day = 24 * hour;

export type Buyer = Awaited<ReturnType<typeof createBuyer>>;

/** The payment provider of the sandbox as the real SDK meets it, and a user who buys there. */
export async function createBuyer(
  options: Partial<FakeStripeOptions> = {},
  time = { now: Date.UTC(2026, 10, 20, 12) },
) {
  const fake = await createTestStripe({ clock: () => time.now, ...options });
  const stripe = sdk(fake);

  async function pack(cents: number = 500): Promise<Stripe.Price> {
    return stripe.prices.create({
      currency: 'usd',
      unit_amount: cents,
      product_data: { name: 'Opportunity Finder' },
    });
  }

  async function plan(cents: number = 2_500): Promise<Stripe.Price> {
    return stripe.prices.create({
      currency: 'usd',
      unit_amount: cents,
      recurring: { interval: 'month' },
      product_data: { name: 'Side-Gig Builder' },
    });
  }

  async function customer(): Promise<Stripe.Customer> {
    return stripe.customers.create({
      email: 'ann@example.com',
      name: 'Ann',
      metadata: { user_id: 'usr_1' },
    });
  }

  async function open(
    more: Partial<Stripe.Checkout.SessionCreateParams> = {},
    price: Stripe.Price | null = null,
  ): Promise<Stripe.Checkout.Session> {
    const sold = price ?? (await pack());
    const metadata = { purchase_id: 'pur_1' };
    return stripe.checkout.sessions.create({
      customer: (await customer()).id,
      client_reference_id: 'usr_1',
      line_items: [{ price: sold.id, quantity: 1 }],
      metadata,
      success_url: 'http://localhost:3000/credits/success?session_id={CHECKOUT_SESSION_ID}',
      cancel_url: 'http://localhost:3000/credits/purchase',
      ...(sold.type === 'recurring'
        ? { mode: 'subscription', subscription_data: { metadata } }
        : { mode: 'payment', payment_intent_data: { metadata } }),
      ...more,
    });
  }

  return {
    fake,
    stripe,
    time,
    pack,
    plan,
    customer,
    open,
    /** The intent and the charge of a paid pack. */
    async paid(): Promise<{ intent: string; charge: string }> {
      const session = await open();
      fake.pay(session.id, 'pay');
      const done = await stripe.checkout.sessions.retrieve(session.id, {
        expand: ['payment_intent'],
      });
      const intent = done.payment_intent;
      if (intent === null || typeof intent === 'string') throw new Error('No intent');
      return { intent: intent.id, charge: idOf(intent.latest_charge) };
    },
    async subscribed(): Promise<Stripe.Subscription> {
      const session = await open({}, await plan());
      fake.pay(session.id, 'pay');
      const done = await stripe.checkout.sessions.retrieve(session.id);
      return stripe.subscriptions.retrieve(idOf(done.subscription));
    },
    sentTypes: (): string[] => fake.pendingWebhookEvents().map(({ type }) => type),
  };
}

export function sdk(fake: TestStripe, key: string = 'sk_test_sandbox'): Stripe {
  const { hostname, port } = new URL(fake.url);
  return new Stripe(key, { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 });
}

export function idOf(named: string | { id: string } | null | undefined): string {
  if (named === null || named === undefined) throw new Error('There is nothing');
  return typeof named === 'string' ? named : named.id;
}

/** The error of a refused call. */
export async function refusal(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError) return error;
    throw error;
  }
  throw new Error('It was not refused');
}
