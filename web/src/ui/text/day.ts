import { dateFormat } from '#services/platform/locale.ts';

/** A moment in the user's locale, the browser's by default, and in the browser's time zone. */
export function moment(
  at: string | Date,
  style: Intl.DateTimeFormatOptions,
  locale?: string,
): string {
  return dateFormat(style, locale).format(new Date(at));
}

/** "December 20, 2026". */
export function day(at: string, locale?: string): string {
  return moment(at, { dateStyle: 'long' }, locale);
}

/** "Sunday, December 20, 2026 at 5:04 PM", for titles. */
export function fullMoment(at: string | Date): string {
  return moment(at, { dateStyle: 'full', timeStyle: 'short' });
}
