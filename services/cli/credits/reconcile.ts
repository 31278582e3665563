import type { CashBalance } from '#services/payments/settle/reconcile/cash-ledger.ts';
import type { Difference } from '#services/payments/settle/reconcile/difference.ts';
import { askToRepair } from '#services/payments/settle/repair.ts';
import { moneyText } from '#services/platform/numbers.ts';
import { reconcile, reconcileDays } from '#services/payments/settle/reconcile/reconcile.ts';
import type { Reconciliation } from '#services/payments/settle/reconcile/reconcile.ts';
import { printResult, say, table, text, UsageError } from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';
import { withProvider } from '#services/cli/payment-provider.ts';

const reconcileCommand: CliCommand = {
  noun: 'credits',
  verb: 'reconcile',
  arguments: '',
  summary:
    'Compares every payment, refund, and dispute at the provider with the ledger, in both directions.',
  options: {
    since: {
      type: 'string',
      help: `A day or a time (ISO 8601, UTC unless it says so); default ${reconcileDays} days ago`,
    },
  },
  async run(call) {
    const { database } = call;
    const since = sinceOf(text(call, 'since'), database.clock());
    const result = await withProvider(database, async (provider) =>
      reconcile({ ...database, provider }, since),
    );
    await askToRepair(database.pool, result.differences);
    printResult(call, documentOf(result), linesOf(result));
    if (result.differences.length > 0)
      say(`${result.differences.length} differences. Workers fix what they can automatically.`);
    return result.differences.length === 0 && result.isBalanced ? 0 : 1;
  },
};

/** Only what is unmistakably a day or a time that has come: `Date.parse` takes more. */
export function sinceOf(given: string | undefined, now: number): number | undefined {
  if (given === undefined) return undefined;
  const match =
    /^\d{4}-\d{2}-\d{2}(?<time>T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(?<zone>Z|[+-]\d{2}:\d{2})?)?$/.exec(
      given,
    );
  const isLocal = match?.groups?.['time'] !== undefined && match.groups['zone'] === undefined;
  const since = match === null ? Number.NaN : Date.parse(isLocal ? `${given}Z` : given);
  const isSo = !Number.isNaN(since) && dayOf(given) === given.slice(0, 10);
  if (!isSo) throw new UsageError('--since must be a day or a time, such as 2026-11-20');
  if (since > now) throw new UsageError('--since must not be in the future');
  return since;
}

/** The 30th of February is no day, and would be read as another. */
function dayOf(given: string): string {
  return new Date(`${given.slice(0, 10)}T00:00:00Z`).toISOString().slice(0, 10);
}

function documentOf(result: Reconciliation) {
  const { since, ranAt, compared, differences, settling, cash, isBalanced } = result;
  return {
    since,
    ran_at: ranAt,
    compared: {
      charges: compared.charges,
      invoices: compared.invoices,
      refunds: compared.refunds,
      disputes: compared.disputes,
      lots: compared.lots,
      new_balance_transactions: compared.balanceTransactions,
    },
    differences: differences.map(rowOf),
    settling: settling.map(rowOf),
    trial_balance: cash.map(({ currency, accounts, sum }) => ({
      currency,
      accounts: Object.fromEntries(accounts.map((one) => [one.account, one.amountMinor])),
      sum,
    })),
    balanced: isBalanced,
  };
}

function rowOf({ kind, object, userId, expected, found, cause, repairs }: Difference) {
  return { kind, object, user_id: userId, expected, found, cause, repairs };
}

function linesOf(result: Reconciliation): string[] {
  const { since, compared, differences, settling, cash } = result;
  const { charges, invoices, refunds, disputes, lots } = compared;
  return [
    ...differences.flatMap(linesOfDifference),
    ...settling.map(
      ({ kind, object, found, repairs }) => `settling: ${kind} ${object}: ${found}; ${repairs}`,
    ),
    ...cash.flatMap(cashLines),
    `since ${since}: ${charges} charges, ${invoices} invoices, ${refunds} refunds, ${disputes} disputes against ${lots} lots: ${differences.length} differences, ${settling.length} settling`,
  ];
}

function linesOfDifference({ kind, object, userId, ...said }: Difference): string[] {
  return [
    `${kind} ${object}${userId === null ? '' : ` (${userId})`}`,
    `  expected ${said.expected}`,
    `  found    ${said.found}`,
    `  cause    ${said.cause}`,
    `  repaired   ${said.repairs}`,
  ];
}

function cashLines({ currency, accounts, sum }: CashBalance): string[] {
  const rows = accounts.map(({ account, amountMinor }) => [
    account,
    moneyText(amountMinor, currency),
  ]);
  const verdict = sum === 0 ? 'balanced' : 'DOES NOT BALANCE';
  return table([...rows, [`sum ${currency}`, `${moneyText(sum, currency)}  ${verdict}`]]);
}

export const reconcileCommands: readonly CliCommand[] = [reconcileCommand];
