import {
  formatNumber,
  majorUnits,
  roundedParts,
  unknownFigure,
} from '#services/platform/numbers.ts';

/** How figures are written. */

/** A signed change: "+50", "−14", "0". */
export function signedCredits(amount: number, locale?: string): string {
  return formatNumber(amount, { maximumFractionDigits: 0, signDisplay: 'exceptZero' }, locale);
}

/** A price in whole US cents: "$5", "$7.50". */
export function price(cents: number, locale?: string): string {
  return dollarAmount(cents / 100, cents % 100 === 0 ? 0 : 2, locale);
}

/** An amount in its smallest unit: "$7.50", "−$3.00". */
export function money(minor: number, currency: string, locale?: string): string {
  const style = { style: 'currency', currency, currencyDisplay: 'narrowSymbol' } as const;
  return formatNumber(majorUnits(minor, currency), style, locale);
}

function dollarAmount(dollars: number, decimals: number, locale: string | undefined): string {
  return formatNumber(
    dollars,
    {
      style: 'currency',
      currency: 'USD',
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    },
    locale,
  );
}

/** Rounded down, so that 100 means all: "62%". */
export function percent(value: number | null): string {
  return value === null ? unknownFigure : `${Math.floor(value)}%`;
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
