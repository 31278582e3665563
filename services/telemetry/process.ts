import type pg from 'pg';
import type { Reading } from '#services/platform/telemetry/readings.ts';
import type { Metrics } from '#services/platform/telemetry/registry.ts';
import { countLoggedErrors } from '#services/platform/process/log.ts';
import { softwareVersion } from '#services/platform/process/software.ts';

/** Names the process, so that an alert notices when none of a kind is left. */
export function showProcess(metrics: Metrics, kind: ProcessKind): void {
  const info = metrics.gauge({
    name: 'sevenfold_process_info',
    help: 'Always 1; the labels are the kind of the process and its version',
    labels: ['kind', 'version'],
  });
  info.set({ kind, version: softwareVersion }, 1);
}

export type ProcessKind = 'api' | 'worker';

/** What an operator should read. */
export function logReading(metrics: Metrics): Reading {
  const lines = metrics.counter({
    name: 'sevenfold_logged_errors_total',
    help: 'Lines that this process has logged as error or fatal',
  });
  let counted = 0;
  return {
    name: 'log',
    gauges: [],
    read: async () => () => {
      const errors = countLoggedErrors();
      lines.inc(errors - counted);
      counted = errors;
    },
  };
}

/** Connections of the pool, counted without asking the database. */
export function poolReading(metrics: Metrics, pool: pg.Pool): Reading {
  const connections = metrics.gauge({
    name: 'sevenfold_database_connections',
    help: 'Connections of the pool of this process, used or idle, and callers that wait for one',
    labels: ['state'],
  });
  return {
    name: 'pool',
    gauges: [connections],
    read: async () => () => {
      connections.set({ state: 'used' }, pool.totalCount - pool.idleCount);
      connections.set({ state: 'idle' }, pool.idleCount);
      connections.set({ state: 'waiting' }, pool.waitingCount);
    },
  };
}

/** One query by the index on (transaction_id, global_position). */
export function readerReading(metrics: Metrics, lagMs: () => Promise<number>): Reading {
  const seconds = metrics.gauge({
    name: 'sevenfold_reader_lag_seconds',
    help: 'Age of the oldest event that the live reader of this process has not read yet; 0 without one',
  });
  return {
    name: 'reader',
    gauges: [seconds],
    async read() {
      const lag = await lagMs();
      return () => seconds.set(lag / 1_000);
    },
  };
}
