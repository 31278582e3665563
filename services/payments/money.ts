import { formatNumber } from '#services/platform/numbers.ts';

/** An amount in minor units as people write it, such as `$10.00`. */
export function moneyText(minor: number, currency: string): string {
  const style = { style: 'currency', currency: currency.toUpperCase() } as const;
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat(
    'en-US',
    style,
  ).resolvedOptions();
  return formatNumber(minor / 10 ** digits, style, 'en-US');
}
