import { prepareDemoAccount, demoEmail } from '#services/identity/accounts/demo.ts';
import type { Account } from '#services/identity/accounts/users.ts';
import { issue, processRun } from '#services/optimizations/commands.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { createCommand } from '#services/optimizations/create.ts';
import { newId } from '#services/platform/ids.ts';
import { personNamed } from './database.ts';
import type { Database } from './database.ts';

/** Whose runs a command starts, and how it starts them. */

/** In local mode the demo account, unless another one is named. @throws NoSuchPerson */
export async function whoAsks(database: Database, named: string | undefined): Promise<Account> {
  const { env } = database;
  if (named === undefined && env.mode === 'local')
    await prepareDemoAccount({ ...database, dataDir: env.dataDir });
  return personNamed(database, named ?? demoEmail);
}

/** The id of the run that was started. */
export async function beginRun(
  database: Database,
  person: Account,
  request: CreateOptimizationRequest,
): Promise<string> {
  const { env, sealer, clock } = database;
  const runId = newId('opt', clock());
  const command = await createCommand(
    { ...database, sandboxSeed: env.sandboxSeed },
    sealer,
    { runId, userId: person.id, now: clock() },
    request,
  );
  const created = await issue(database, runId, command, ['create'], 'http');
  await processRun(
    { ...database, ...limitsFor(database, person.subscription_tier) },
    { userId: person.id, apiKey: null },
    runId,
    created.state,
  );
  return runId;
}

export function limitsFor({ env }: Database, tier: Account['subscription_tier']) {
  return {
    dailyCostLimitUsd: env.dailyCostLimitUsd,
    monthlyLimitOf: async () => env.monthlyLimits[tier] ?? 0,
  };
}
