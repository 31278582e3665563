import { tiers } from '#services/identity/contract/session.ts';
import type { Tier } from '#services/identity/contract/session.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { grantTier } from '#services/payments/plans/granted-tier.ts';
import type { TierGranted } from '#services/payments/plans/granted-tier.ts';
import {
  operatorName,
  printResult,
  required,
  say,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';
import { personNamed } from '#services/cli/database.ts';
import type { Database } from '#services/cli/database.ts';
import { reasonOf } from '#services/cli/people/reason.ts';

export const setTier: CliCommand = {
  noun: 'users',
  verb: 'set-tier',
  arguments: '<email|user id> <free|pro|scale>',
  summary: 'Grants a tier beside any plan, until you set it back to free.',
  options: {
    reason: {
      type: 'string',
      help: "Reason, such as a ticket number. It is kept, so don't use names.",
    },
  },
  async run(call) {
    const { database } = call;
    const tier = tierNamed(required(call, 1, 'tier'));
    const given = text(call, 'reason')?.trim();
    if (!given) throw new UsageError('Missing: --reason');
    const person = await personNamed(database, required(call, 0, 'email address or id'));
    if (person.erasing_at !== null) throw identityProblem('account-erasing');
    const { id: userId } = person;
    const reason = reasonOf(given, person);
    const granted = await grantTier(database, { userId, tier, reason, actor: operatorName() });
    if (granted.outcome !== 'set') {
      say(refusal(granted));
      return 1;
    }
    const { from, paid } = granted;
    const limits = { before: limitOf(database, from), now: limitOf(database, tier) };
    printResult(call, { id: userId, from, to: tier, paid_tier: paid, bonus_runs: limits }, [
      from === tier ? `The tier stays ${tier}.` : `The tier was ${from} and is ${tier}.`,
      `Runs on bonus credits a month: ${runs(limits.before)} before, ${runs(limits.now)} now. Runs already counted this month stay counted.`,
      ...(paid === null
        ? []
        : [
            tier === paid
              ? `A paid plan brings ${paid}, too. When it ends, ${tier} stays.`
              : `The paid plan for ${paid} continues and is charged as before.`,
          ]),
    ]);
    return 0;
  },
};

function tierNamed(given: string): Tier {
  const tier = tiers.find((known) => known === given);
  if (tier === undefined) throw new UsageError(`The tier must be one of: ${tiers.join(', ')}`);
  return tier;
}

function refusal(granted: Exclude<TierGranted, { outcome: 'set' }>): string {
  if (granted.outcome === 'unknown') return 'The account was erased in the meantime';
  const { paid, until } = granted;
  return `A paid plan brings ${paid} until ${new Date(until).toISOString()}. End the plan first; a lower tier can be set after that time.`;
}

function limitOf({ env }: Database, tier: Tier): number {
  return env.monthlyLimits[tier] ?? 0;
}

/** −1 is unlimited. */
function runs(limit: number): string {
  return limit < 0 ? 'unlimited' : String(limit);
}
