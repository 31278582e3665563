import type { TransactionType } from '#services/credits/contract.ts';

/** The type of a ledger line in one word. */
export const transactionWords: Readonly<Record<TransactionType, string>> = {
  purchase: 'Purchase',
  consumption: 'Consumption',
  refund: 'Refund',
  bonus: 'Bonus',
  other: 'Other',
};

/** The command that gives the same credits, ready to be pasted into a shell. */
export function grantCommand(email: string, credits: number): string {
  return `npm run cli -- credits grant ${shellWord(email)} ${credits} --reason "Trial credits"`;
}

/** Addresses may hold quotes and other characters that a shell would act on. */
function shellWord(word: string): string {
  return /^[\w.@+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
