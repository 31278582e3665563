import { EventEmitter } from 'node:events';
import { hostname } from 'node:os';
import { Logger, run } from 'graphile-worker';
import type { Runner, WorkerEvents } from 'graphile-worker';
import type pg from 'pg';
import { startListening } from '#db/listen.ts';
import { projections } from '#projections/index.ts';
import { startProjectionRunner } from '#projections/run.ts';
import { createLiveTextWriter } from '#services/live/live-text.ts';
import { createOpenCalls } from '#services/optimizations/open-calls.ts';
import { sweepRuns } from '#services/optimizations/sweep.ts';
import { optimizationTasks } from '#services/optimizations/tasks.ts';
import type { TaskList } from '#services/optimizations/tasks.ts';
import { startJobLocks } from '#services/platform/job-locks.ts';
import { runProcess } from '#services/platform/lifecycle.ts';
import { healthLimits, workerLimits } from '#services/platform/limits.ts';
import type { Log } from '#services/platform/log.ts';
import { queuePool } from '#services/platform/queue-pool.ts';
import { openCore } from '#services/wiring.ts';

const processId = `worker ${hostname()} ${process.pid}`;

/** The background process: jobs, asynchronous read models, and looking after what was left behind. */
await runProcess('worker', async (context) => {
  const { env, log, resources } = context;
  const core = await openCore('worker', context, 20);
  const { pool, bus, clock, sealer } = core;

  const liveText = createLiveTextWriter({ pool, sealer, log });
  resources.defer(async () => liveText.close());
  const openCalls = createOpenCalls();
  const tasks = optimizationTasks({
    ...core,
    liveText,
    openCalls,
    log,
    callsPerProvider: Math.max(1, Math.floor(workerLimits.callsPerProvider / env.workerProcesses)),
  });

  const listener = startListening({ url: core.url });
  resources.defer(async () => listener.close());
  const stopUnwanted = () =>
    openCalls
      .stopUnwanted(pool)
      .catch((error: unknown) => log.warn({ err: error }, 'Open calls could not be looked after'));
  listener.onWake(() => void stopUnwanted());

  const readModels = startProjectionRunner({
    url: core.url,
    pool,
    projections,
    wake: listener.onWake,
    onFailed: (projection, reason) =>
      log.error({ projection, reason }, 'A read model has stopped; resume it when it is mended'),
    onError: (error) => log.warn({ err: error }, 'A read model tries again'),
  });
  resources.defer(async () => readModels.close());

  const locks = startJobLocks({ url: core.url, log });
  resources.defer(async () => locks.close());
  const events: WorkerEvents = new EventEmitter();
  events.on('pool:create', ({ workerPool }) => locks.hold(workerPool.id));
  events.on('pool:release', ({ workerPool }) => locks.release(workerPool.id));
  events.on('job:start', ({ job }) => locks.began(job.id));
  events.on('job:complete', ({ job }) => locks.ended(job.id));
  const work = async (
    taskList: TaskList,
    concurrency: number,
    pollInterval: number,
  ): Promise<Runner> =>
    run({
      pgPool: queuePool(pool),
      taskList,
      concurrency,
      pollInterval,
      events,
      noHandleSignals: true,
      logger: queueLogger(log),
    });
  const control = await work(tasks.control, workerLimits.controlSlots, workerLimits.controlPollMs);
  resources.defer(async () => control.stop());
  const calls = await work(tasks.calls, env.callSlots, workerLimits.callsPollMs);
  resources.defer(async () => {
    openCalls.stopAll();
    await calls.stop();
  });

  const beat = () => writeHeartbeat(pool, log);
  await beat();
  const timers = [
    setInterval(() => void beat(), healthLimits.heartbeatEveryMs),
    setInterval(() => void sweep(), workerLimits.nudgeEveryMs),
    setInterval(() => void stopUnwanted(), 1000),
  ];
  const sweep = () =>
    sweepRuns({ pool, bus, clock, log }).catch((error: unknown) =>
      log.warn({ err: error }, 'Runs could not be looked after'),
    );
  resources.defer(async () => {
    for (const timer of timers) clearInterval(timer);
    await pool.query('delete from process_heartbeat where process_id = $1', [processId]);
  });
  log.info('Working');
  return {};
});

/** The queue's own words; a failed job's error is logged without its message. */
function queueLogger(log: Log): Logger {
  return new Logger(() => (level, message, meta) => {
    if (level === 'error') log.error({ err: meta?.['error'] }, 'A job failed');
    // More slots than connections is meant: a slot that waits for a model holds none.
    else if (level === 'warning' && meta?.['concurrency'] === undefined)
      log.warn({ reason: message }, 'The job queue warns');
  });
}

/** For readiness and the command line; a crashed worker's row goes with the next one's first beat. */
async function writeHeartbeat(pool: pg.Pool, log: Log): Promise<void> {
  try {
    await pool.query(
      `with gone as (
         delete from process_heartbeat where beat_at < now() - interval '10 minutes')
       insert into process_heartbeat (process_id, kind, host, pid)
       values ($1, 'worker', $2, $3)
       on conflict (process_id) do update set beat_at = now()`,
      [processId, hostname(), process.pid],
    );
  } catch (error) {
    log.warn({ err: error }, 'The heartbeat could not be written');
  }
}
