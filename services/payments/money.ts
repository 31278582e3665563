import { formatNumber, majorUnits } from '#services/platform/numbers.ts';

/** An amount in minor units as people write it, such as `$10.00`. */
export function moneyText(minor: number, currency: string): string {
  return formatNumber(majorUnits(minor, currency), { style: 'currency', currency }, 'en-US');
}
