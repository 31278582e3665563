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

/** An amount in minor units, in the units that people name: 1250 cents are 12.5. */
export function majorUnits(minor: number, currency: string): number {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  return minor / 10 ** digits;
}

/** An amount in minor units as people write it, such as `$10.00`. */
export function moneyText(minor: number, currency: string): string {
  return formatNumber(majorUnits(minor, currency), { style: 'currency', currency }, 'en-US');
}
