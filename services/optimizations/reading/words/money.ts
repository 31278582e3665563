import { credits, creditsInWords } from '#services/platform/numbers.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';

/** What was charged and returned, from the ledger; empty until it is settled. */
export function moneyWords(
  { charged, refunded, price, settlement }: Optimization['credits'],
  locale?: string,
): string {
  if (charged === null) return '';
  if (price === 0) return 'It was included, so nothing was charged.';
  if (settlement === 'none') return 'The run was never started, so nothing was charged.';
  const all = `${creditsInWords(price, locale)} ${price === 1 ? 'was' : 'were'}`;
  if (charged === 0) return `You weren't charged. ${all} returned.`;
  const back = refunded ?? 0;
  if (back === 0) return `${all} charged.`;
  return `${credits(charged, locale)} of ${all} charged, ${credits(back, locale)} returned.`;
}
