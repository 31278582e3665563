import { counted } from '#services/cli/command.ts';
import { createStripe } from '#services/payments/stripe/adapter.ts';
import { checkMailServer, MailNotSent } from '#services/platform/mail/transport.ts';
import { checkConnected, connectionsOf, lineOf } from '#services/cli/models.ts';
import { elseOk, ok, warning, wrong } from './finding.ts';
import type { Check, Finding } from './finding.ts';

const providers: Check = {
  name: 'models',
  async run({ env }) {
    const { catalogue, registry, connected } = connectionsOf(env);
    if (connected.length === 0)
      return env.mode === 'local'
        ? [ok('no provider has a key, so models are simulated')]
        : [
            wrong(
              'no provider has a key, so no run can begin',
              'set OPENROUTER_API_KEY or another',
            ),
          ];
    const stale = catalogue.staleModels(new Date().toISOString());
    return [
      ok(`connected: ${connected.map(({ displayName }) => displayName).join(', ')}`),
      ...(registry.hasRealModels && stale.length > 0
        ? [
            warning(
              `prices of ${counted(stale.length, 'model')} were read more than 30 days ago or have ended`,
              'run: models sync',
            ),
          ]
        : []),
    ];
  },
};

/** Each seated model answers a small question, which costs a fraction of a cent. */
export const answers: Check = {
  name: 'answers of models',
  async run({ env }) {
    const { providers: asked, faults } = await checkConnected(env);
    const answered = asked.reduce((sum, one) => sum + one.answered, 0);
    return elseOk(
      faults.map((fault): Finding => wrong(lineOf(fault), 'run: models check')),
      `${counted(answered, 'model')} of ${counted(asked.length, 'provider')} answered`,
    );
  },
};

const mail: Check = {
  name: 'mail server',
  async run({ env: { smtpUrl, mode } }) {
    if (smtpUrl === null)
      return mode === 'local'
        ? [ok('the mailbox of the app catches every email')]
        : [wrong('SMTP_URL is not set, so emails wait', 'set SMTP_URL')];
    const { host } = new URL(smtpUrl);
    try {
      await checkMailServer(smtpUrl);
      return [ok(`${host} accepts this sender's connection`)];
    } catch (error) {
      if (!(error instanceof MailNotSent)) throw error;
      return [wrong(`${host} refuses or does not answer (${error.code})`, 'check SMTP_URL')];
    }
  },
};

const stripe: Check = {
  name: 'Stripe',
  async run({ env }) {
    if (env.stripe === null)
      return env.mode === 'local'
        ? [ok('the sandbox replaces Stripe')]
        : [
            warning(
              'STRIPE_SECRET_KEY is not set, so nothing can be bought',
              'see docs/payments.md',
            ),
          ];
    const { secretKey, webhookSecrets } = env.stripe;
    const isLive = /^[sr]k_live_/.test(secretKey);
    const secrets = ok(`${counted(webhookSecrets.length, 'webhook secret')} set`);
    const found = [
      isLive || env.mode === 'local'
        ? ok(`a ${isLive ? 'live' : 'test'} key`)
        : warning('a test key, so payments move no money', 'set a live STRIPE_SECRET_KEY'),
      secrets,
    ];
    try {
      // Without a retry: a slow answer is what a check is to find.
      await createStripe({ ...env.stripe, networkRetries: 0 }).balance.retrieve();
      return [...found, ok('the account answers')];
    } catch (error) {
      const type = error instanceof Error && 'type' in error ? String(error.type) : 'no answer';
      // A restricted key that may not read the balance still reached its account.
      if (type === 'StripePermissionError') return [...found, ok('the account answers')];
      return [...found, wrong(`the account does not answer (${type})`, 'check STRIPE_SECRET_KEY')];
    }
  },
};

export const outsideChecks: readonly Check[] = [providers, mail, stripe];
