import { startFakeStripe } from '#services/sandbox/stripe/fake-stripe.ts';
import type {
  FakeStripeOptions,
  ListeningFakeStripe,
} from '#services/sandbox/stripe/fake-stripe.ts';

/** A test's own payment provider: in memory, on a free port, sending webhook events on request. */
export type TestStripe = ListeningFakeStripe & {
  /** The settings that point the app at it. */
  env: { STRIPE_URL: string };
  webhookSecret: string;
  /** Webhook events that were sent, with the status from `receive`. */
  received: { body: string; signature: string; status: number }[];
  /** Handles webhook events from now on; until then they get 503. */
  receive(take: (body: string, signature: string) => Promise<number>): void;
};

export async function createTestStripe(
  options: Partial<FakeStripeOptions> = {},
): Promise<TestStripe> {
  const webhookSecret = options.webhookSecret ?? 'whsec_sandbox';
  const received: TestStripe['received'] = [];
  let take = options.deliver ?? (async () => 503);
  const fake = await startFakeStripe({
    folder: null,
    clock: () => Date.now(),
    publicUrl: 'http://localhost:3000',
    ...options,
    webhookSecret,
    async deliver(body, signature) {
      const status = await take(body, signature);
      received.push({ body, signature, status });
      return status;
    },
  });
  return {
    ...fake,
    env: { STRIPE_URL: fake.url },
    webhookSecret,
    received,
    receive(taker) {
      take = taker;
    },
  };
}
