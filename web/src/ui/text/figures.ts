import {
  formatNumber,
  majorUnits,
  roundedParts,
  unknownFigure,
  usd,
  wholePercent,
} from '#services/platform/numbers.ts';

/** How figures are written. */

/** A signed change: "+50", "−14", "0". */
export function signedCredits(amount: number, locale?: string): string {
  return formatNumber(amount, { maximumFractionDigits: 0, signDisplay: 'exceptZero' }, locale);
}

/** A price in whole US cents: "$5", "$7.50". */
export function price(cents: number, locale?: string): string {
  const decimals = cents % 100 === 0 ? 0 : 2;
  return usd(cents / 100, [decimals, decimals], locale);
}

/** An amount in its smallest unit: "$7.50", "−$3.00". */
export function money(minor: number, currency: string, locale?: string): string {
  const style = { style: 'currency', currency, currencyDisplay: 'narrowSymbol' } as const;
  return formatNumber(majorUnits(minor, currency), style, locale);
}

/** Of 0 to 100: "96%", a half rounded up. */
export function percent(value: number | null): string {
  return value === null ? unknownFigure : `${wholePercent(value / 100)}%`;
}

/**
 * Parts of a whole as whole percents, by largest remainder, so that they add up to the whole's
 * percent. `parts` are not negative; of a whole of 0 all are 0.
 */
export function percentParts(parts: readonly number[], whole: number): number[] {
  if (whole <= 0) return parts.map(() => 0);
  const sum = parts.reduce((all, one) => all + one, 0);
  return roundedParts(
    parts.map((part) => (part / whole) * 100),
    (sum / whole) * 100,
  );
}
