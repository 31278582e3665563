/** Months and bars of the consumption chart; months are UTC, written `2026-11`. */
export type MonthOfCredits = { readonly month: string; readonly credits: number };

function firstDay(month: string): Date {
  return new Date(`${month}-01T00:00:00Z`);
}

/** "Nov". */
export function shortMonth(month: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { month: 'short', timeZone: 'UTC' }).format(
    firstDay(month),
  );
}

/** The day in UTC, as in statements: "Nov 3". */
export function shortDay(at: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  }).format(new Date(at));
}

/** "November 2026". */
export function longMonth(month: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(firstDay(month));
}

/**
 * The height of each bar as a share of the tallest, 0 to 1. A month with more returned than used is
 * 0.
 */
export function barShares(months: readonly MonthOfCredits[]): number[] {
  const most = Math.max(1, ...months.map(({ credits }) => credits));
  return months.map(({ credits }) => Math.max(0, credits) / most);
}

/** The chart in one sentence. */
export function consumptionSentence(months: readonly MonthOfCredits[], locale?: string): string {
  const first = months[0];
  const last = months.at(-1);
  if (!first || !last) return 'No usage yet.';
  const most = months.reduce((top, month) => (month.credits > top.credits ? month : top), first);
  const span = `Credits used, ${longMonth(first.month, locale)} to ${longMonth(last.month, locale)}.`;
  return `${span} ${last.credits} this month. Highest: ${most.credits} in ${longMonth(most.month, locale)}.`;
}

/** A share of all credits used, 0 to 1. */
export function shareOf(amount: number, all: number): number {
  return all <= 0 ? 0 : Math.min(1, Math.max(0, amount / all));
}
