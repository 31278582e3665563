import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { strategies } from '#services/models/strategies.ts';
import { sandboxWebhookSecret, SettingsError } from '#services/platform/process/env.ts';
import type { Env } from '#services/platform/process/env.ts';
import { runProcess } from '#services/platform/process/lifecycle.ts';
import { startMailCatcher } from './mail/mail-catcher.ts';
import { createMailbox } from './mail/mailbox.ts';
import { mailboxPages } from './mail/mailbox-pages.ts';
import { startProviderSandbox } from './models/provider-sandbox.ts';
import { createSimulator } from './models/simulator/respond.ts';
import { deliverTo } from './stripe/deliver.ts';
import { startFakeStripe } from './stripe/fake-stripe.ts';
import type { ListeningFakeStripe } from './stripe/fake-stripe.ts';
import { stripePages } from './stripe/pages/pages.ts';

/**
 * The outside services as one process on loopback: the model providers in their wire formats, a mail
 * server that keeps every mail, and a payment provider that moves no money. It listens at
 * SANDBOX_URL, SMTP_URL and STRIPE_URL, or on free ports, and reports the addresses to its parent
 * process.
 */
await runProcess('sandbox', async ({ env, log, resources }) => {
  if (env.mode === 'production') {
    throw new SettingsError(['MODE must not be production: the sandbox serves local mode only']);
  }
  const mailbox = createMailbox(join(env.dataDir, 'mail'));
  const catcher = await startMailCatcher({
    mailbox,
    port: env.smtpUrl === null ? 0 : Number(new URL(env.smtpUrl).port),
  });
  resources.defer(async () => catcher.close());
  const stripe = await payments(env);
  if (stripe !== null) resources.defer(async () => stripe.close());
  const pages = new Hono().route('/', mailboxPages(mailbox, env.productName));
  if (stripe !== null) pages.route('/', stripePages(stripe, env.productName));
  const showPages = getRequestListener(pages.fetch);
  const providers = await startProviderSandbox({
    respond: createSimulator(strategies),
    seed: env.sandboxSeed,
    personas: env.sandboxPersonas,
    profile: env.sandboxProfile,
    pages: (request, response) => void showPages(request, response),
    port: env.sandboxUrl === null ? 0 : Number(new URL(env.sandboxUrl).port),
  });
  resources.defer(async () => providers.close());
  log.info({ address: providers.url }, 'sandbox listening');
  stripe?.startDelivering();
  return {
    url: providers.url,
    smtp_url: catcher.url,
    ...(stripe === null ? {} : { stripe_url: stripe.url }),
  };
});

/** Null when there is a key: then Stripe itself takes payments. */
async function payments(env: Env): Promise<ListeningFakeStripe | null> {
  if (env.stripe !== null && env.stripe.url === null) return null;
  return startFakeStripe({
    folder: join(env.dataDir, 'stripe'),
    clock: Date.now,
    publicUrl: env.publicUrl,
    webhookSecret: sandboxWebhookSecret,
    deliver: deliverTo(env),
    port: env.stripe === null ? 0 : Number(new URL(env.stripe.url ?? '').port),
  });
}
