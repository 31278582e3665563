import { creditLimits, History, type Transaction } from '#services/credits/contract.ts';
import { read } from '#web/api/api.ts';

/** The whole ledger, newest first; of a very long one the newest `creditLimits.historyFile`. */
export async function readWholeHistory(): Promise<Transaction[]> {
  const lines: Transaction[] = [];
  while (lines.length < creditLimits.historyFile) {
    const page = await read('/credits/history', History, {
      query: { limit: creditLimits.historyMost, before: lines.at(-1)?.id },
    });
    lines.push(...page);
    if (page.length < creditLimits.historyMost) break;
  }
  return lines;
}
