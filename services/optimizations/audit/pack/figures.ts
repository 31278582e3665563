import { isCallEnd, closingOf, storedPrices } from '#services/optimizations/audit/money-checks.ts';
import type { StoredEvent } from '#services/optimizations/audit/evidence.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';

/** What a run came to, as its events say it: for the first line of a pack. */
export type Figures = {
  seed: string;
  strategy: string;
  price: number;
  pricesStored: boolean;
  metricVersion: string | null;
  order: readonly string[] | null;
  agreement: number | null;
  outcome: string | null;
  heading: string | null;
  /** The option that the vote chose. */
  option: string | null;
  calls: number;
  costMicros: number;
  captured: number | null;
  refunded: number | null;
};

/** @throws RangeError for events that do not begin with the creation of a run */
export function figuresOf(events: readonly StoredEvent[]): Figures {
  const all = events.map(runEventOf);
  const [created] = all;
  if (created?.type !== 'OptimizationCreated') throw new RangeError('The run was not created');
  const scored = all.find((event) => event.type === 'ScoresComputed')?.data;
  const concluded = all.find((event) => event.type === 'RunConcluded')?.data;
  const { closed } = closingOf(events);
  return {
    seed: created.data.seed,
    strategy: created.data.strategy,
    price: created.data.price,
    pricesStored: storedPrices(events) !== undefined,
    metricVersion: scored?.metricVersion ?? null,
    order: scored?.order ?? null,
    agreement: scored?.agreement.score ?? null,
    outcome: concluded?.outcome ?? null,
    heading: concluded?.heading ?? null,
    option: scored?.verdict?.optionId ?? null,
    calls: all.filter(({ type }) => type === 'CallStarted').length,
    costMicros: all
      .filter(isCallEnd)
      .reduce((sum, { data: { costMicros } }) => sum + (costMicros ?? 0), 0),
    captured: closed?.captured ?? null,
    refunded: closed?.refunded ?? null,
  };
}
