import { join } from 'node:path';
import { sandboxWebhookSecret, SettingsError } from '#services/platform/process/env.ts';
import { runProcess } from '#services/platform/process/lifecycle.ts';
import { startFakeStripe } from './stripe/fake-stripe.ts';

/**
 * The payment provider of DATA_DIR, read-only: a separate process that answers reads, whether or not
 * the sandbox is running.
 */
await runProcess('sandbox', async ({ env, resources }) => {
  if (env.mode === 'production') {
    throw new SettingsError(['MODE must not be production: the sandbox serves local mode only']);
  }
  const stripe = await startFakeStripe({
    folder: join(env.dataDir, 'stripe'),
    readOnly: true,
    clock: Date.now,
    publicUrl: env.publicUrl,
    webhookSecret: sandboxWebhookSecret,
    deliver: async () => {
      throw new Error('This process sends no webhook events');
    },
  });
  resources.defer(async () => stripe.close());
  return { stripe_url: stripe.url };
});
