/** A day as a person writes it: "20 December 2026". The browser's language and time zone decide. */
export function day(at: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'long' }).format(new Date(at));
}
