import type { Package } from '#services/payments/contract.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { price } from '#web/ui/text/figures.ts';

export type RunPrice = {
  readonly id: string;
  readonly name: string;
  readonly credits: number;
  readonly recommended: boolean;
};

/** The worth of a package in runs of one strategy. */
export type Worth = {
  /** Whole runs, of this package's credits alone. */
  readonly runs: number;
  readonly left: number;
  /** The price of one run's credits in this package, in whole cents. */
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
 * "3 runs, $7 per run", and what is left over. A package that pays no run of this strategy says
 * what it lacks, and names the dearest run it does pay.
 */
export function worthInWords(
  item: Pick<Package, 'credits' | 'price_cents'>,
  { name, credits: perRun }: Pick<RunPrice, 'name' | 'credits'>,
  others: readonly RunPrice[],
  locale?: string,
): { main: string; rest: string | null } {
  const { runs, left, centsPerRun } = worthOf(item, perRun);
  if (runs === 0) {
    const short = `${creditsInWords(perRun - left, locale)} short of one ${name} run`;
    const paid = dearestPaid(item, others);
    return paid === null
      ? { main: short, rest: null }
      : { main: `Pays for ${runsOf(item, paid, locale)}`, rest: short };
  }
  const each = price(centsPerRun, locale);
  return {
    main: `${credits(runs, locale)} ${runs === 1 ? 'run' : 'runs'}, ${each} per run`,
    rest: left === 0 ? null : `with ${creditsInWords(left, locale)} left over`,
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

/** The initial strategy: the recommended one, else the first. */
export function firstStrategy(prices: readonly RunPrice[]): RunPrice | null {
  return prices.find(({ recommended }) => recommended) ?? prices[0] ?? null;
}
