import type { Package } from '#services/payments/contract.ts';
import { credits, creditsInWords, price } from '#web/ui/text/figures.ts';

/** What the page needs to know of a strategy: its name, and what one run of it costs. */
export type RunPrice = {
  readonly id: string;
  readonly name: string;
  readonly credits: number;
  readonly recommended: boolean;
};

/** What a package is worth in runs of one strategy. */
export type Worth = {
  /** Whole runs, of this package's credits alone. */
  readonly runs: number;
  /** Credits beyond them. */
  readonly left: number;
  /** What the credits of one run cost at this package's price, in whole cents. */
  readonly centsPerRun: number;
};

export function worthOf(
  { credits: amount, price_cents: cents }: Pick<Package, 'credits' | 'price_cents'>,
  perRun: number,
): Worth {
  return {
    runs: Math.floor(amount / perRun),
    left: amount % perRun,
    centsPerRun: Math.round((cents * perRun) / amount),
  };
}

/**
 * "3 runs, $7 per run", and what remains of the package besides. One that does not pay a run of this
 * strategy says what it lacks, and which of the others it pays: the dearest.
 */
export function worthInWords(
  item: Pick<Package, 'credits' | 'price_cents'>,
  { name, credits: perRun }: Pick<RunPrice, 'name' | 'credits'>,
  others: readonly RunPrice[],
  locale?: string,
): { main: string; rest: string | null } {
  const { runs, left, centsPerRun } = worthOf(item, perRun);
  if (runs === 0) {
    const short = `${creditsInWords(perRun - left, locale)} short of a ${name} run`;
    const paid = dearestPaid(item, others);
    return paid === null
      ? { main: short, rest: null }
      : { main: `Pays ${runsOf(item, paid, locale)}`, rest: short };
  }
  const each = price(centsPerRun, locale);
  return {
    main: `${credits(runs, locale)} ${runs === 1 ? 'run' : 'runs'}, ${each} per run`,
    rest: left === 0 ? null : `and ${creditsInWords(left, locale)} left`,
  };
}

function dearestPaid(
  { credits: amount }: Pick<Package, 'credits'>,
  strategies: readonly RunPrice[],
): RunPrice | null {
  const paid = strategies.filter((one) => one.credits <= amount);
  return paid.toSorted((left, right) => right.credits - left.credits)[0] ?? null;
}

/** "2 Fast runs". */
function runsOf(
  item: Pick<Package, 'credits' | 'price_cents'>,
  { name, credits: perRun }: RunPrice,
  locale: string | undefined,
): string {
  const { runs } = worthOf(item, perRun);
  return `${credits(runs, locale)} ${name} ${runs === 1 ? 'run' : 'runs'}`;
}

/** The strategy to begin with: the recommended one, else the first. */
export function firstStrategy(prices: readonly RunPrice[]): RunPrice | null {
  return prices.find(({ recommended }) => recommended) ?? prices[0] ?? null;
}
