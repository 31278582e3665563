import { credits, creditsInWords } from '#services/platform/numbers.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';

/** The price of a run, its hold, or its charge and what was returned, as lists say it. */
export function runCredits(
  { status, credits: held }: Pick<OptimizationSummary, 'status' | 'credits'>,
  locale?: string,
): string {
  if (held.price === 0) return 'included';
  const price = creditsInWords(held.price, locale);
  if (status === 'pending') return `${price} to start`;
  if (status === 'processing') return `${price} reserved`;
  const charged = held.charged ?? 0;
  const back = held.refunded ?? 0;
  if (charged === 0) return 'nothing charged';
  return back === 0
    ? creditsInWords(charged, locale)
    : `${credits(charged, locale)} of ${price}, ${credits(back, locale)} returned`;
}

/** What was charged and returned, from the ledger; empty until it is settled. */
export function moneyWords(
  { charged, refunded, price, settlement }: OptimizationSummary['credits'],
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
