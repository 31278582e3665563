/**
 * A number as people read it, with a real minus sign. What rounds to zero has no sign: "−0.00" would
 * claim a direction that the figure does not show.
 */
export function formatNumber(
  value: number,
  options: Intl.NumberFormatOptions & {
    /** A change writes its plus, too; any other figure only a minus. */
    signDisplay?: 'negative' | 'exceptZero';
  },
  locale: string | undefined,
): string {
  return new Intl.NumberFormat(locale, { signDisplay: 'negative', ...options })
    .format(value)
    .replace('-', '−');
}
