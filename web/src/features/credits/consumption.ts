import { moment } from '#web/ui/text/day.ts';

/** Periods and bars of the consumption chart; months are UTC, written `2026-11`, and so are days. */
export type CreditsOfPeriod = { readonly period: string; readonly credits: number };

/** The ranges that the chart can show. */
export const ranges = {
  '12 months': '12 months',
  '30 days': '30 days',
  '90 days': '90 days',
} as const;
export type Range = keyof typeof ranges;

function firstDay(month: string): Date {
  return new Date(`${month}-01T00:00:00Z`);
}

/** "Nov". */
export function shortMonth(month: string, locale?: string): string {
  return moment(firstDay(month), { month: 'short', timeZone: 'UTC' }, locale);
}

/** The day in UTC, as in statements: "Nov 3". */
export function shortDay(at: string, locale?: string): string {
  return moment(new Date(at), { day: 'numeric', month: 'short', timeZone: 'UTC' }, locale);
}

/** "November 2026". */
export function longMonth(month: string, locale?: string): string {
  return moment(firstDay(month), { month: 'long', year: 'numeric', timeZone: 'UTC' }, locale);
}

/** "November 3, 2026", of a day like `2026-11-03`. */
export function longDay(day: string, locale?: string): string {
  return moment(new Date(day), { dateStyle: 'long', timeZone: 'UTC' }, locale);
}

/**
 * The height of each bar as a share of the tallest, 0 to 1. A period with more returned than used is
 * 0.
 */
export function barShares(periods: readonly CreditsOfPeriod[]): number[] {
  const most = Math.max(1, ...periods.map(({ credits }) => credits));
  return periods.map(({ credits }) => Math.max(0, credits) / most);
}

/** The chart in one sentence. */
export function consumptionSentence(
  periods: readonly CreditsOfPeriod[],
  unit: 'month' | 'day',
  locale?: string,
): string {
  const first = periods[0];
  const last = periods.at(-1);
  if (!first || !last) return 'No usage yet.';
  const [name, now, within] =
    unit === 'month'
      ? ([longMonth, 'this month', 'in'] as const)
      : ([longDay, 'today', 'on'] as const);
  const most = periods.reduce((top, one) => (one.credits > top.credits ? one : top), first);
  const span = `Credits used, ${name(first.period, locale)} to ${name(last.period, locale)}.`;
  return `${span} ${last.credits} ${now}. Highest: ${most.credits} ${within} ${name(most.period, locale)}.`;
}

/** A share of all credits used, 0 to 1. */
export function shareOf(amount: number, all: number): number {
  return all <= 0 ? 0 : Math.min(1, Math.max(0, amount / all));
}
