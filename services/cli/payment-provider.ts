import { join } from 'node:path';
import type { PaymentProvider } from '#services/payments/provider.ts';
import { createStripeProvider } from '#services/payments/stripe/adapter.ts';
import {
  sandboxStripeKey,
  sandboxWebhookSecret,
  SettingsError,
} from '#services/platform/process/env.ts';
import { createSupervisor, processService } from '#services/platform/process/supervise.ts';
import type { Database } from './database.ts';

/**
 * The payment provider, whether the app runs or not. In local mode without a key it is the sandbox's data
 * in DATA_DIR, opened read-only because the app may be writing to it.
 *
 * @throws SettingsError when payments are not configured
 */
export async function withProvider<Result>(
  { env, log, provider, clock }: Database,
  work: (provider: PaymentProvider) => Promise<Result>,
): Promise<Result> {
  if (env.stripe !== null) return work(provider);
  if (env.mode === 'production') throw new SettingsError(['STRIPE_SECRET_KEY must be set']);
  const supervisor = createSupervisor(log);
  try {
    const [details] = await supervisor.start(
      processService({
        name: 'sandbox',
        file: join(import.meta.dirname, '../sandbox/stripe-books.ts'),
        variables: { LOG_LEVEL: 'error' },
      }),
    );
    return await work(
      createStripeProvider({
        secretKey: sandboxStripeKey,
        webhookSecrets: [sandboxWebhookSecret],
        automaticTax: false,
        url: String(details?.['stripe_url']),
        clock,
      }),
    );
  } finally {
    await supervisor.stop();
  }
}
