import { creditsInWords } from '#web/ui/figures.ts';

/** What was charged and what came back, from the ledger. */
export function moneyWords({
  charged,
  refunded,
  price,
}: {
  charged: number | null;
  refunded: number | null;
  price: number;
}): string {
  if (charged === null) return '';
  if (charged === 0) return `Nothing was charged: all ${creditsInWords(price)} came back.`;
  const back = refunded ?? 0;
  return back > 0
    ? `${creditsInWords(charged)} charged, ${creditsInWords(back)} came back.`
    : `${creditsInWords(charged)} charged.`;
}
