import type { Gauge } from 'prom-client';
import type { Log } from '#services/platform/process/log.ts';
import type { Metrics } from './registry.ts';

/**
 * Gauges that are read from the database when they are asked for. A reading that fails removes its gauges,
 * because an old figure or a zero would be a lie, and says so in metrics of its own.
 */
export type Reading = {
  name: string;
  gauges: readonly Gauge[];
  /** Resolves with what sets the gauges, which are empty by then. */
  read: () => Promise<() => void>;
};

export const readingLimits = {
  /** Scrapes by several servers within this time share one reading. */
  keptMs: 5_000,
  /** Less than a server waits for the page. */
  withinMs: 4_000,
} as const;

type ReadingLimits = { readonly [Name in keyof typeof readingLimits]: number };

/** Returns what brings all gauges up to date; it never rejects. */
export function createReadings(
  metrics: Metrics,
  readings: readonly Reading[],
  log: Pick<Log, 'warn'>,
  { keptMs, withinMs }: ReadingLimits = readingLimits,
): () => Promise<void> {
  const isUp = metrics.gauge({
    name: 'sevenfold_scrape_up',
    help: 'Whether these figures could be read from the database (1) or not (0)',
    labels: ['reading'],
  });
  const errors = metrics.counter({
    name: 'sevenfold_scrape_errors_total',
    help: 'Readings of these figures from the database that failed',
    labels: ['reading'],
  });
  for (const { name, gauges } of readings) {
    empty(gauges);
    errors.inc({ reading: name }, 0);
  }

  const readOne = async ({ name, gauges, read }: Reading): Promise<void> => {
    try {
      const set = await within(withinMs, read());
      empty(gauges);
      set();
      isUp.set({ reading: name }, 1);
    } catch (error) {
      empty(gauges);
      isUp.set({ reading: name }, 0);
      errors.inc({ reading: name });
      log.warn({ err: error, reason: name }, 'Figures for the metrics could not be read');
    }
  };

  let last: Promise<unknown> = Promise.resolve();
  let lastAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - lastAt >= keptMs) {
      lastAt = performance.now();
      last = Promise.all(readings.map(readOne));
    }
    await last;
  };
}

/** A gauge without labels would show 0 after a reset alone. */
function empty(gauges: readonly Gauge[]): void {
  for (const gauge of gauges) {
    gauge.reset();
    gauge.remove({});
  }
}

async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('It took too long')), milliseconds);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
