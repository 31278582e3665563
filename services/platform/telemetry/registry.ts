import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * The metrics of a process. Labels are few and bounded: names of code, routes and the catalogue, never an id
 * and never a text of people.
 */
export type Metrics = {
  registry: Registry;
  counter<Label extends string = never>(definition: Definition<Label>): Counter<Label>;
  histogram<Label extends string = never>(
    definition: Definition<Label> & { buckets: readonly number[] },
  ): Histogram<Label>;
  gauge<Label extends string = never>(definition: Definition<Label>): Gauge<Label>;
};

export type Definition<Label extends string> = {
  name: `sevenfold_${string}`;
  help: string;
  labels?: readonly Label[];
};

/** With the figures of Node itself: memory, event loop, garbage collection. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const common = <Label extends string>({ name, help, labels = [] }: Definition<Label>) => ({
    name,
    help,
    labelNames: labels,
    registers: [registry],
  });
  return {
    registry,
    counter: (definition) => new Counter(common(definition)),
    histogram: ({ buckets, ...definition }) =>
      new Histogram({ ...common(definition), buckets: [...buckets] }),
    gauge: (definition) => new Gauge(common(definition)),
  };
}
