import { chosenLocale } from './locale.ts';

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
  return new Intl.NumberFormat(locale ?? chosenLocale(), { signDisplay: 'negative', ...options })
    .format(value)
    .replace('-', '−');
}

/** A number with its separators: "4,847", "12.5". */
export function figure(value: number, locale?: string): string {
  return formatNumber(value, {}, locale);
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
  return amount === null ? `${unknownFigure} credits` : counted(amount, 'credit', locale);
}

/** US dollars with at least and at most so many decimals. */
export function usd(
  dollars: number,
  [least, most]: readonly [least: number, most: number],
  locale?: string,
): string {
  return formatNumber(
    dollars,
    {
      style: 'currency',
      currency: 'USD',
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: least,
      maximumFractionDigits: most,
    },
    locale,
  );
}

/** Model costs in US dollars to three decimals; "<$0.001" below that. */
export function modelCost(dollars: number | null, locale?: string): string {
  if (dollars === null) return unknownFigure;
  if (dollars > 0 && dollars < 0.001) return `<${modelCost(0.001, locale)}`;
  return usd(dollars, [3, 3], locale);
}

/** Milliseconds below a second, seconds above: "840ms", "2.4s". */
export function latency(milliseconds: number | null): string {
  if (milliseconds === null) return unknownFigure;
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`;
  return `${(milliseconds / 1000).toFixed(1)}s`;
}

/** For tables and timers: "32s", "2m 05s". */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, '0')}s`;
}

/** For sentences: "32 seconds", "2 minutes 5 seconds". */
export function timeInWords(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  return [
    ...(minutes === 0 ? [] : [counted(minutes, 'minute')]),
    ...(rest === 0 && minutes > 0 ? [] : [counted(rest, 'second')]),
  ].join(' ');
}

/** A share of 0 to 1 as a whole percent, a half rounded up: the same in pages, files and emails. */
export function wholePercent(share: number): number {
  // 0.145 × 100 is 14.499999999999998.
  return Math.round(Number((share * 100).toPrecision(12)));
}

/** "1 model", "1,200 models". */
export function counted(count: number, one: string, locale?: string): string {
  const amount = formatNumber(count, { maximumFractionDigits: 0 }, locale);
  return `${amount} ${one}${count === 1 ? '' : 's'}`;
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

/** Minutes of the eight-hour working day that a run is compared with. */
export const workdayMinutes = 480;

/** Minutes as people read them: to one decimal, and at least 0.1. */
export function shownMinutes(minutes: number): number {
  return Math.max(0.1, Math.round(minutes * 10) / 10);
}
