import type { TaskList } from 'graphile-worker';
import type { Catalogue } from '#services/models/catalogue.ts';
import { unobserved } from '#services/models/transport/observed-call.ts';
import type { BeginCall } from '#services/models/transport/observed-call.ts';
import type { CommandBus, CommandBusOptions } from '#services/platform/command.ts';
import type { ProcessContext } from '#services/platform/process/lifecycle.ts';
import { softwareVersion } from '#services/platform/process/software.ts';
import { createMetrics } from '#services/platform/telemetry/registry.ts';
import type { Metrics } from '#services/platform/telemetry/registry.ts';
import { noTracing } from '#services/platform/telemetry/tracing.ts';
import type { Tracing } from '#services/platform/telemetry/tracing.ts';
import { callMetrics, observedCalls } from './calls.ts';
import { batchObserver, commandMetrics, observedBus } from './commands.ts';
import { jobMetrics, observedTasks } from './jobs.ts';
import { showProcess } from './process.ts';
import type { ProcessKind } from './process.ts';
import { requestMetrics } from './requests.ts';
import type { RequestMetrics } from './requests.ts';

/** Metrics and traces of one process, each of which may be off. */
export type Telemetry = {
  metrics: Metrics | null;
  tracing: Tracing;
  requests: RequestMetrics | null;
  observeBatches: CommandBusOptions['observe'];
  observeBus(bus: CommandBus): CommandBus;
  observeTasks(tasks: Readonly<TaskList>): Readonly<TaskList>;
  observeCalls(catalogue: Pick<Catalogue, 'modelOf'>): BeginCall;
};

export const noTelemetry: Telemetry = {
  metrics: null,
  tracing: noTracing,
  requests: null,
  observeBatches: undefined,
  observeBus: (bus) => bus,
  observeTasks: (tasks) => tasks,
  observeCalls: () => unobserved,
};

/** By METRICS_PORT and OTEL_EXPORTER_OTLP_ENDPOINT. */
export async function openTelemetry(
  kind: ProcessKind,
  { env, log, resources }: ProcessContext,
): Promise<Telemetry> {
  if (env.metricsPort === null && env.traces === null) return noTelemetry;
  const tracing = await openTracing(kind, { env, log });
  resources.defer(async () => tracing.close());
  const metrics = env.metricsPort === null ? null : createMetrics();
  if (metrics !== null) showProcess(metrics, kind);
  const commands = metrics && commandMetrics(metrics);
  const calls = metrics && callMetrics(metrics);
  const jobs = kind === 'worker' ? metrics && jobMetrics(metrics) : null;
  return {
    metrics,
    tracing,
    requests: kind === 'api' ? metrics && requestMetrics(metrics) : null,
    observeBatches: commands === null ? undefined : batchObserver(commands),
    observeBus: (bus) => observedBus(bus, commands, tracing),
    observeTasks: (tasks) => observedTasks(tasks, jobs, tracing),
    observeCalls: (catalogue) => observedCalls(calls, tracing, catalogue),
  };
}

/** The SDK is loaded only here, and only where traces are sent. */
async function openTracing(
  kind: ProcessKind,
  { env, log }: Pick<ProcessContext, 'env' | 'log'>,
): Promise<Tracing> {
  if (env.traces === null) return noTracing;
  const { startOtlpTracing } = await import('#services/platform/telemetry/otlp.ts');
  return startOtlpTracing({ ...env.traces, process: kind, version: softwareVersion, log });
}
