import type pg from 'pg';
import { createPool } from '#db/connect.ts';
import { projections } from '#projections/index.ts';
import type { ProcessContext } from '#services/platform/process/lifecycle.ts';
import { createReadings, readingLimits } from '#services/platform/telemetry/readings.ts';
import type { Reading } from '#services/platform/telemetry/readings.ts';
import type { Metrics } from '#services/platform/telemetry/registry.ts';
import { serveMetrics } from '#services/platform/telemetry/server.ts';
import { databaseReadings } from './database.ts';
import type { Telemetry } from './open.ts';
import { logReading, poolReading, readerReading } from './process.ts';

/** The page of an API process. */
export async function showApiMetrics(
  context: ProcessContext,
  { metrics }: Telemetry,
  { pool, readerLagMs }: { pool: pg.Pool; readerLagMs: () => Promise<number> },
): Promise<void> {
  if (metrics === null) return;
  await show(context, metrics, [
    logReading(metrics),
    poolReading(metrics, pool),
    readerReading(metrics, readerLagMs),
  ]);
}

/** The page of a worker, with the figures of the whole database. */
export async function showWorkerMetrics(
  context: ProcessContext,
  { metrics }: Telemetry,
  { pool, url }: { pool: pg.Pool; url: string },
): Promise<void> {
  if (metrics === null) return;
  // Jobs must not wait for a connection that reads figures.
  const readings = createPool(url, {
    max: 2,
    applicationName: 'sevenfold metrics',
    statementMs: readingLimits.withinMs,
    onError: (error) => context.log.warn({ err: error }, 'A database connection was lost'),
  });
  context.resources.defer(async () => readings.end());
  await show(context, metrics, [
    logReading(metrics),
    poolReading(metrics, pool),
    ...databaseReadings(metrics, readings, projections),
  ]);
}

/** Under a supervisor only on loopback, where it asks; else on HOST, for a server of metrics elsewhere. */
async function show(
  { env, log, resources }: ProcessContext,
  metrics: Metrics,
  readings: readonly Reading[],
): Promise<void> {
  if (env.metricsPort === null) return;
  const refresh = createReadings(metrics, readings, log);
  const { registry } = metrics;
  const page = {
    contentType: registry.contentType,
    text: async () => refresh().then(async () => registry.metrics()),
    json: async () => refresh().then(async () => registry.getMetricsAsJSON()),
  };
  const host = process.send === undefined ? env.host : '127.0.0.1';
  const server = await serveMetrics(page, { host, port: env.metricsPort }, log);
  resources.defer(async () => server.close());
  log.info({ address: server.address }, 'Metrics are shown');
}
