import { prepareDemoAccount, demoEmail } from '#services/identity/accounts/demo.ts';
import type { Account } from '#services/identity/accounts/users.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { newId } from '#services/platform/ids.ts';
import { beginRun } from '#services/programs/ask.ts';
import { UsageError } from '#services/cli/command.ts';
import { personNamed } from '#services/cli/database.ts';
import type { Database } from '#services/cli/database.ts';

/** Whose runs a command starts, and how it starts them. */

/** In local mode the demo account, unless another one is named. @throws NoSuchPerson, UsageError */
export async function whoAsks(database: Database, named: string | undefined): Promise<Account> {
  const { env } = database;
  if (named !== undefined) return personNamed(database, named);
  if (env.mode !== 'local') throw new UsageError('Name the account with --as');
  await prepareDemoAccount({ ...database, dataDir: env.dataDir });
  return personNamed(database, demoEmail);
}

/** The id of the run that was started. An operator on the machine is not limited in number. */
export async function startRun(
  database: Database,
  person: Account,
  request: CreateOptimizationRequest,
): Promise<string> {
  const { env, clock } = database;
  const runId = newId('opt', clock());
  await beginRun(
    {
      ...database,
      ...limitsFor(database, person.subscription_tier),
      sandboxSeed: env.sandboxSeed,
    },
    { userId: person.id, apiKey: null },
    runId,
    request,
  );
  return runId;
}

export function limitsFor({ env }: Database, tier: Account['subscription_tier']) {
  return {
    dailyCostLimitUsd: env.dailyCostLimitUsd,
    monthlyLimitOf: async () => env.monthlyLimits[tier] ?? 0,
  };
}
