import { readBytes } from '#services/platform/http/http.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import type { paymentEndpoints } from './contract.ts';
import type { PaymentDependencies } from './dependencies.ts';
import { acceptWebhookEvent } from './webhooks.ts';

/** Of the body of one webhook event. */
export const webhookEventBytes = 262_144;

/**
 * Webhook events of the payment provider. They come without session and cookie; the proof is the
 * signature over the body as it was sent, so the body is read as bytes.
 */
export function webhookHandlers({
  pool,
  provider,
  clock,
}: Pick<PaymentDependencies, 'pool' | 'provider' | 'clock'>) {
  return {
    'POST /webhooks/stripe': async ({ context }) => {
      const body = await readBytes(context, webhookEventBytes);
      const signature = context.req.header('stripe-signature');
      const event = await provider.readWebhookEvent(body.toString('utf8'), signature);
      await acceptWebhookEvent(pool, event, new Date(clock()));
      return { received: true };
    },
  } satisfies Partial<Handlers<typeof paymentEndpoints>>;
}
