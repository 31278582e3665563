import pg from 'pg';
import { projections } from '#projections/index.ts';
import { mergedMetrics } from '#services/platform/telemetry/merge.ts';
import { createReadings } from '#services/platform/telemetry/readings.ts';
import { createMetrics } from '#services/platform/telemetry/registry.ts';
import { callMetrics } from '#services/telemetry/calls.ts';
import { commandMetrics } from '#services/telemetry/commands.ts';
import { databaseReadings } from '#services/telemetry/database.ts';
import { jobMetrics } from '#services/telemetry/jobs.ts';
import {
  logReading,
  poolReading,
  readerReading,
  showProcess,
} from '#services/telemetry/process.ts';
import { requestMetrics } from '#services/telemetry/requests.ts';
import { parsePage } from './page.ts';

/** Every series that the processes can show, each with its labels. */
export async function knownMetrics(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const metrics = createMetrics();
  showProcess(metrics, 'api');
  requestMetrics(metrics);
  commandMetrics(metrics);
  callMetrics(metrics);
  jobMetrics(metrics);
  const pool = new pg.Pool();
  createReadings(
    metrics,
    [
      logReading(metrics),
      poolReading(metrics, pool),
      readerReading(metrics, async () => 0),
      ...databaseReadings(metrics, pool, projections),
    ],
    { warn: () => undefined },
  );
  const own = metrics.registry.getMetricsAsArray().flatMap((metric) => {
    const labels = new Set((metric as unknown as { labelNames: string[] }).labelNames);
    const isHistogram = String(metric.type) === 'histogram';
    return isHistogram
      ? ['bucket', 'sum', 'count'].map((part) => [`${metric.name}_${part}`, labels] as const)
      : [[metric.name, labels] as const];
  });
  const supervisor = parsePage(await mergedMetrics([{ name: 'api 1', port: 1 }]).text());
  return new Map([
    ...own,
    ...[...supervisor.names].map((name) => [name, new Set<string>()] as const),
  ]);
}
