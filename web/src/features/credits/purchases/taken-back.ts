import type { Balance } from '#services/credits/contract.ts';
import { credits } from '#services/platform/numbers.ts';

/** Credits that left the account other than by use: refunded in money, or taken back by a bank. */
function takenBack(balance: Balance): number {
  const has = balance.available_credits + balance.reserved_credits - balance.debt_credits;
  return balance.total_credits - balance.used_credits - has;
}

/** "6 refunded or reversed"; null when there were none. */
export function takenBackWords(balance: Balance, locale?: string): string | null {
  const amount = takenBack(balance);
  return amount <= 0 ? null : `${credits(amount, locale)} refunded or reversed`;
}
