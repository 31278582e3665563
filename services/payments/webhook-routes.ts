import { answer } from '#services/platform/http/endpoints.ts';
import { createRouter, readBytes } from '#services/platform/http/http.ts';
import { purchaseLimits } from '#services/platform/limits.ts';
import type { PaymentDependencies } from './dependencies.ts';
import { acceptWebhookEvent } from './webhooks.ts';
import { paymentEndpoints } from './endpoints.ts';

/**
 * Where the payment provider tells what happened. It has no session and no cookie; what counts is its
 * signature over the body as it was sent, so the body is read as bytes and parsed by nobody else.
 */
export function webhookRoutes({
  pool,
  provider,
  clock,
}: Pick<PaymentDependencies, 'pool' | 'provider' | 'clock'>) {
  return createRouter().post('/webhooks/stripe', async (context) => {
    const body = await readBytes(context, purchaseLimits.deliveryBytes);
    const signature = context.req.header('stripe-signature');
    const delivery = await provider.readWebhookEvent(body.toString('utf8'), signature);
    await acceptWebhookEvent(pool, delivery, new Date(clock()));
    return answer(context, paymentEndpoints['POST /webhooks/stripe'], { received: true });
  });
}
