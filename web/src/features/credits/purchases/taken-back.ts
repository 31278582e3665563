import type { Balance } from '#services/credits/contract.ts';
import { credits } from '#web/ui/text/figures.ts';

/**
 * What went back of all that an account ever got: refunded in money, or taken back by a bank. What a
 * person has is what they got less what they used and this.
 */
function takenBack(balance: Balance): number {
  const has = balance.available_credits + balance.reserved_credits - balance.debt_credits;
  return balance.total_credits - balance.used_credits - has;
}

/** "6 refunded or taken back"; null where nothing was. */
export function takenBackWords(balance: Balance, locale?: string): string | null {
  const amount = takenBack(balance);
  return amount <= 0 ? null : `${credits(amount, locale)} refunded or taken back`;
}
