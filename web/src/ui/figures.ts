/** How figures are written. Null means unknown, which is never shown as nought. */
const unknownFigure = '--';

/** Whole credits: "1,250". */
export function credits(amount: number | null, locale?: string): string {
  if (amount === null) return unknownFigure;
  return new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }).format(amount);
}

/** "14 credits", "1 credit". */
export function creditsInWords(amount: number | null, locale?: string): string {
  return `${credits(amount, locale)} ${amount === 1 ? 'credit' : 'credits'}`;
}

/** A change of a balance, its sign always written: "+50", "−14". */
export function signedCredits(amount: number, locale?: string): string {
  const sign = amount < 0 ? '−' : '+';
  return `${sign}${credits(Math.abs(amount), locale)}`;
}

/** What models cost, in US dollars to three decimals; "<$0.001" below the last of them. */
export function modelCost(dollars: number | null, locale?: string): string {
  if (dollars === null) return unknownFigure;
  if (dollars > 0 && dollars < 0.001) return `<${dollarAmount(0.001, 3, locale)}`;
  return dollarAmount(dollars, 3, locale);
}

/** A price in whole US cents: "$5", "$7.50". */
export function price(cents: number, locale?: string): string {
  return dollarAmount(cents / 100, cents % 100 === 0 ? 0 : 2, locale);
}

function dollarAmount(dollars: number, decimals: number, locale: string | undefined): string {
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(dollars);
}

/** Whole percent of 0 to 100, rounded down so that 100 means all: "62 %". */
export function percent(value: number | null): string {
  return value === null ? unknownFigure : `${Math.floor(value)} %`;
}

/** Milliseconds below a second, seconds from there: "840 ms", "2.4 s". */
export function latency(milliseconds: number | null): string {
  if (milliseconds === null) return unknownFigure;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
