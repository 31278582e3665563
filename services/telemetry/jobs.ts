import type { Task, TaskList } from 'graphile-worker';
import type { Metrics } from '#services/platform/telemetry/registry.ts';
import type { Tracing } from '#services/platform/telemetry/tracing.ts';

export type JobMetrics = ReturnType<typeof jobMetrics>;

export function jobMetrics(metrics: Metrics) {
  return {
    jobs: metrics.counter({
      name: 'sevenfold_job_runs_total',
      help: 'Attempts of jobs by task and outcome: done or failed',
      labels: ['task', 'outcome'],
    }),
    seconds: metrics.histogram({
      name: 'sevenfold_job_seconds',
      help: 'Seconds of one attempt of a job, by task',
      labels: ['task'],
      buckets: [0.01, 0.05, 0.25, 1, 5, 20, 80, 320],
    }),
  };
}

/** The same tasks, with each attempt counted and in a span. */
export function observedTasks(
  tasks: Readonly<TaskList>,
  metrics: JobMetrics | null,
  tracing: Tracing,
): Readonly<TaskList> {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [
      name,
      task === undefined ? task : observedTask(name, task, metrics, tracing),
    ]),
  );
}

function observedTask(
  name: string,
  task: Task,
  metrics: JobMetrics | null,
  tracing: Tracing,
): Task {
  return async (payload, helpers) => {
    const started = performance.now();
    const note = (outcome: 'done' | 'failed') => {
      metrics?.jobs.inc({ task: name, outcome });
      metrics?.seconds.observe({ task: name }, (performance.now() - started) / 1_000);
    };
    const correlationId = correlationOf(payload);
    const attributes = {
      'sevenfold.task': name,
      'sevenfold.attempt': helpers.job.attempts,
      ...(correlationId === undefined ? {} : { 'sevenfold.correlation_id': correlationId }),
    };
    const span = { name: `job ${name}`, kind: 'CONSUMER', correlationId, attributes } as const;
    return tracing.inSpan(span, async () => {
      try {
        const result = await task(payload, helpers);
        note('done');
        return result;
      } catch (error) {
        note('failed');
        throw error;
      }
    });
  };
}

/** The id under which the commands of these jobs are correlated, too. */
function correlationOf(payload: unknown): string | undefined {
  const { runId, refundId } = payload as { runId?: unknown; refundId?: unknown };
  const id = runId ?? refundId;
  return typeof id === 'string' ? id : undefined;
}
