import { SettingsError } from '#services/platform/env.ts';
import { runProcess } from '#services/platform/lifecycle.ts';
import { startProviderSandbox } from './providers/provider-sandbox.ts';
import { respond } from './responder/respond.ts';

/**
 * The outside world as a process of its own, on loopback: the model providers in their wire formats.
 * It listens where SANDBOX_URL says, or on a free port, and tells the address to whoever started it.
 */
await runProcess('sandbox', async ({ env, log, resources }) => {
  if (env.mode === 'production') {
    throw new SettingsError(['MODE must not be production: the sandbox serves local mode only']);
  }
  const providers = await startProviderSandbox({
    respond,
    seed: env.sandboxSeed,
    personas: env.sandboxPersonas,
    profile: env.sandboxProfile,
    port: env.sandboxUrl === null ? 0 : Number(new URL(env.sandboxUrl).port),
  });
  resources.defer(async () => providers.close());
  log.info({ address: providers.url }, 'sandbox listening');
  return { url: providers.url };
});
