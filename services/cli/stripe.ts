import { createStripe } from '#services/payments/stripe/adapter.ts';
import { syncCatalogue } from '#services/payments/stripe/prices.ts';
import type { SyncLine } from '#services/payments/stripe/prices.ts';
import { SettingsError } from '#services/platform/process/env.ts';
import { printResult, say, table } from './command.ts';
import type { CliCommand } from './command.ts';

const sync: CliCommand = {
  noun: 'stripe',
  verb: 'sync',
  arguments: '',
  summary: "Creates the catalog's products and prices at Stripe, or compares them.",
  options: {
    check: {
      type: 'boolean',
      help: 'Compare only. Exits with 1 if anything is missing or different.',
    },
  },
  async run(call) {
    const settings = call.database.env.stripe;
    if (settings === null) throw new SettingsError(['STRIPE_SECRET_KEY must be set']);
    const lines = await syncCatalogue(createStripe(settings), call.options['check'] === true);
    printResult(call, lines, table(lines.map(rowOf)));
    const open = lines.filter(({ state }) => state === 'missing' || state === 'different');
    if (open.length > 0) say(sentenceOf(open));
    return open.length === 0 ? 0 : 1;
  },
};

function rowOf({ what, key, state, differences }: SyncLine): string[] {
  return [what, key, state, differences.join(', ')];
}

function sentenceOf(open: readonly SyncLine[]): string {
  const price = open.find(({ what, state }) => what === 'price' && state === 'different');
  return price === undefined
    ? `${open.length} of them are missing or different: run it without --check`
    : `The price ${price.key} is not what its key says. Prices cannot be changed: take the key away from it at Stripe, then run this again`;
}

export const stripeCommands: readonly CliCommand[] = [sync];
