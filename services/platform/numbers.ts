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

/** Null means unknown and is never shown as 0. */
export const unknownFigure = '--';

export function credits(amount: number | null, locale?: string): string {
  if (amount === null) return unknownFigure;
  return formatNumber(amount, { maximumFractionDigits: 0 }, locale);
}

/** "14 credits", "1 credit". */
export function creditsInWords(amount: number | null, locale?: string): string {
  return `${credits(amount, locale)} ${amount === 1 ? 'credit' : 'credits'}`;
}

/** Model costs in US dollars to three decimals; "<$0.001" below that. */
export function modelCost(dollars: number | null, locale?: string): string {
  if (dollars === null) return unknownFigure;
  if (dollars > 0 && dollars < 0.001) return `<${modelCost(0.001, locale)}`;
  return formatNumber(
    dollars,
    {
      style: 'currency',
      currency: 'USD',
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: 3,
      maximumFractionDigits: 3,
    },
    locale,
  );
}

/** Milliseconds below a second, seconds above: "840 ms", "2.4 s". */
export function latency(milliseconds: number | null): string {
  if (milliseconds === null) return unknownFigure;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/**
 * Parts of a sum as whole numbers, by largest remainder, so that they add up to the rounded sum.
 *
 * @param exact not negative
 */
export function roundedParts(exact: readonly number[], sum: number): number[] {
  const whole = exact.map(Math.floor);
  const missing = Math.round(sum) - whole.reduce((all, one) => all + one, 0);
  const byRemainder = exact
    .map((part, index) => ({ index, remainder: part - Math.floor(part) }))
    .toSorted((one, other) => other.remainder - one.remainder);
  for (const { index } of byRemainder.slice(0, Math.max(0, missing)))
    whole[index] = (whole[index] ?? 0) + 1;
  return whole;
}
