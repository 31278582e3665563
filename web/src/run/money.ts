import type { Optimization } from '#services/optimizations/contract/run.ts';
import { creditsInWords } from '#web/ui/text/figures.ts';

/** The price of a run; the one that a refined run has paid covers a refinement. */
export function priceWords(price: number): string {
  return price === 0 ? 'Included' : creditsInWords(price);
}

/** What was charged and returned, from the ledger. */
export function moneyWords({
  charged,
  refunded,
  price,
  settlement,
}: Optimization['credits']): string {
  if (charged === null) return '';
  if (price === 0) return 'It was included, so nothing was charged.';
  if (settlement === 'none') return 'The run was never started, so nothing was charged.';
  if (charged === 0) return `You weren't charged. All ${creditsInWords(price)} were returned.`;
  const back = refunded ?? 0;
  return back > 0
    ? `${charged} of ${creditsInWords(price)} charged, ${back} returned.`
    : `${creditsInWords(charged)} charged.`;
}
