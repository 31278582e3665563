/** "20 December 2026", in the browser's language and time zone. */
export function day(at: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'long' }).format(new Date(at));
}
