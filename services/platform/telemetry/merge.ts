import { AggregatorRegistry, Gauge, Registry } from 'prom-client';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { MetricsPage } from './server.ts';

/**
 * One page with the metrics of all processes that a supervisor keeps, each under its name in the label
 * `process`. A process that does not answer shows as down, and its figures are left out.
 */
export type MergedProcess = { name: string; port: number };

type MetricObject = MetricObjectWithValues<MetricValue<string>>;

const answerWithinMs = 5_000;

export function mergedMetrics(processes: readonly MergedProcess[]): MetricsPage {
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    json: null,
    async text() {
      const all = await Promise.all(processes.map(async (one) => metricsOf(one)));
      const merged = AggregatorRegistry.aggregate(all.filter((one) => one !== null));
      const isUp = new Gauge({
        name: 'sevenfold_process_up',
        help: 'Whether a process of this supervisor shows its metrics (1) or not (0)',
        labelNames: ['process'],
        registers: [merged],
      });
      for (const [index, { name }] of processes.entries())
        isUp.set({ process: name }, all[index] === null ? 0 : 1);
      return merged.metrics();
    },
  };
}

/** Null while the process does not answer. */
async function metricsOf({ name, port }: MergedProcess): Promise<MetricObject[] | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`, {
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(answerWithinMs),
    });
    if (!response.ok) return null;
    const metrics = (await response.json()) as MetricObject[];
    return metrics.map((metric) => ({
      ...metric,
      // What was not a number is null in JSON, and no 0.
      values: metric.values
        .filter(({ value }) => typeof value === 'number')
        .map((value) => ({ ...value, labels: { ...value.labels, process: name } })),
    }));
  } catch {
    // It is starting or has ended: the gauge says so.
    return null;
  }
}
