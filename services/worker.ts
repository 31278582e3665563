import { EventEmitter } from 'node:events';
import { hostname } from 'node:os';
import { Logger, run } from 'graphile-worker';
import type { Job, Runner, RunnerOptions, WorkerEvents } from 'graphile-worker';
import type pg from 'pg';
import { logNewestAnchor } from '#db/anchors.ts';
import { startListening } from '#db/listen.ts';
import { follow, pause } from '#db/tail.ts';
import { projections } from '#projections/index.ts';
import { startProjectionRunner } from '#projections/engine/run.ts';
import { completeErasureLog, erasureTasks } from './identity/erasure/erasure.ts';
import { createLiveTextWriter } from '#services/live/live-text.ts';
import { createOpenCalls } from '#services/optimizations/open-calls.ts';
import { optimizationTasks } from '#services/optimizations/tasks.ts';
import type { TaskList } from '#services/optimizations/tasks.ts';
import { paymentTasks } from '#services/payments/tasks.ts';
import { openErasureLog, readErasureLog } from './platform/process/erasure-log.ts';
import { startJobLocks } from './platform/jobs/job-locks.ts';
import { cronOf, tasksOf } from './platform/jobs/sweeps.ts';
import { runProcess } from './platform/process/lifecycle.ts';
import { loadSdks } from '#services/models/provider-list.ts';
import { usualConcurrency } from '#services/models/waiting.ts';
import type { Log } from './platform/process/log.ts';
import { createMailTransport, transportLimits } from './platform/mail/transport.ts';
import { mailTasks } from './platform/mail/mail.ts';
import { queuePool } from './platform/jobs/queue-pool.ts';
import { erasureOf, openCore, paymentsOf } from './core.ts';
import { sweepsOf } from './sweeps.ts';
import { openTelemetry } from './telemetry/open.ts';
import { showWorkerMetrics } from './telemetry/show.ts';

const processId = `worker ${hostname()} ${process.pid}`;

const workerLimits = {
  /** Start, deadlines, settlements: they never wait for a model. */
  controlSlots: 8,
  /**
   * Jobs that one statement takes for all free slots. With fewer, they spread more evenly over the worker
   * processes.
   */
  fetchedJobs: 16,
  /** A job that no slot takes in time goes back. Less than `settleMs` of `job-locks.ts`. */
  fetchedJobMs: 1_000,
  /** The queue's poll beside its notifications, for jobs that become due. */
  controlPollMs: 500,
  callsPollMs: 2_000,
  mailPollMs: 2_000,
  /** Concurrent payment jobs; each may wait for the provider. */
  paymentSlots: 4,
  paymentsPollMs: 1_000,
  heartbeatEveryMs: 10_000,
  /** Between two checks for calls that are no longer wanted. */
  unwantedRestMs: 100,
} as const;

/** The background process: jobs, periodic sweeps and asynchronous read models. */
await runProcess('worker', async (context) => {
  const { env, log, resources } = context;
  const telemetry = await openTelemetry('worker', context);
  await openErasureLog(env.erasureLog);
  const core = await openCore('worker', { ...context, telemetry }, 20);
  await completeErasureLog(core, await readErasureLog(env.erasureLog));
  await logNewestAnchor(core);
  await loadSdks();
  const { pool, bus, clock, sealer } = core;
  const stale = core.catalogue.staleModels(new Date(clock()).toISOString());
  if (core.registry.hasRealModels && stale.length > 0)
    log.warn(
      { count: stale.length },
      'Prices were read more than 30 days ago or have ended: `models list` names them',
    );

  const liveText = createLiveTextWriter({ pool, sealer, log });
  resources.defer(async () => liveText.close());
  const openCalls = createOpenCalls();
  const tasks = optimizationTasks({
    pool,
    bus,
    clock,
    sealer,
    log,
    liveText,
    openCalls,
    ledger: core.ledger,
    readRun: core.readRun,
    readState: core.readState,
    audit: core.audit,
    registry: core.registry,
    catalogue: core.catalogue,
    beginCall: core.beginCall,
    queueMail: core.queueMail,
    finishedRunAddress: core.finishedRunAddress,
    publicUrl: core.publicUrl,
    callsPerProvider: Math.max(1, Math.floor(usualConcurrency / env.workerProcesses)),
  });

  const { smtpUrl, mailFrom, publicUrl } = env;
  if (smtpUrl === null && env.mode === 'production')
    log.warn('No mail server: emails wait until SMTP_URL is set');
  const transport = createMailTransport({ smtpUrl, from: mailFrom, publicUrl });
  const mail = mailTasks({ pool, sealer, clock, transport, log });

  const listener = startListening({ url: core.url });
  resources.defer(async () => listener.close());
  const closing = new AbortController();
  const stopUnwanted = async () => {
    await openCalls
      .stopUnwanted(pool)
      .catch((error: unknown) => log.warn({ err: error }, 'Open calls could not be checked'));
    await pause(workerLimits.unwantedRestMs, closing.signal);
    return { caughtUp: true, unsafeInSight: false };
  };
  const watching = follow(stopUnwanted, { wake: listener.onWake, signal: closing.signal });
  resources.defer(async () => {
    closing.abort();
    await watching;
  });

  const readModels = startProjectionRunner({
    url: core.url,
    pool,
    projections,
    wake: listener.onWake,
    // Without the error's text, which may quote the event.
    onSetAside: ({ projection, streamId, event, sqlstate }) =>
      log.error(
        {
          projection,
          stream: streamId,
          event_id: event.id,
          event_type: event.type,
          position: event.position,
          code: sqlstate,
        },
        'A read model failed at an event; the rest of its stream waits (see `projections status`)',
      ),
    onError: (error) => log.warn({ err: error }, 'A read model could not advance; it retries'),
  });
  resources.defer(async () => readModels.close());

  const locks = startJobLocks({ url: core.url, log });
  resources.defer(async () => locks.close());
  const events: WorkerEvents = new EventEmitter();
  events.on('pool:create', ({ workerPool }) => locks.hold(workerPool.id));
  events.on('pool:release', ({ workerPool }) => locks.release(workerPool.id));
  events.on('job:start', ({ job }) => locks.began(job.id, job.job_queue_id));
  events.on('job:complete', ({ job }) => locks.ended(job.id));
  const work = async (
    taskList: TaskList,
    concurrency: number,
    pollInterval: number,
    more: RunnerOptions = {},
  ): Promise<Runner> =>
    run({
      pgPool: queuePool(pool),
      taskList: telemetry.observeTasks(taskList),
      concurrency,
      pollInterval,
      events,
      preset: {
        worker: {
          localQueue: {
            size: Math.min(concurrency, workerLimits.fetchedJobs),
            ttl: workerLimits.fetchedJobMs,
          },
        },
      },
      noHandleSignals: true,
      logger: queueLogger(log),
      ...more,
    });

  const payments = paymentsOf(core);
  const sweeps = sweepsOf(core, env);
  const control = await work(
    {
      ...tasks.control,
      ...erasureTasks({ ...erasureOf(core), log }),
      ...tasksOf(sweeps.control),
    },
    workerLimits.controlSlots,
    workerLimits.controlPollMs,
    { parsedCronItems: cronOf({ ...sweeps.control, ...sweeps.money }) },
  );
  resources.defer(async () => control.stop());
  // Slots of its own: a mail server that hangs must not hold up a settlement.
  const mails = await work(mail, transportLimits.connections, workerLimits.mailPollMs);
  resources.defer(async () => {
    await transport.close();
    await mails.stop();
  });
  // A payment provider that hangs must not hold up either. One slot is for the sweeps, which share a queue.
  const money = await work(
    { ...paymentTasks(payments), ...tasksOf(sweeps.money) },
    workerLimits.paymentSlots + 1,
    workerLimits.paymentsPollMs,
  );
  resources.defer(async () => money.stop());
  const calls = await work(tasks.calls, env.callSlots, workerLimits.callsPollMs);
  resources.defer(async () => {
    openCalls.stopAll();
    await calls.stop();
  });

  const beat = () => writeHeartbeat(pool, log);
  await beat();
  const timer = setInterval(() => void beat(), workerLimits.heartbeatEveryMs);
  resources.defer(async () => {
    clearInterval(timer);
    await pool.query('delete from process_heartbeat where process_id = $1', [processId]);
  });
  await showWorkerMetrics(context, telemetry, core);
  log.info('Working');
  return {};
});

/** A failed job's error is logged without its message. */
function queueLogger(log: Log): Logger {
  return new Logger(() => (level, message, meta) => {
    const job = meta?.['job'] as Partial<Job> | undefined;
    if (level === 'error' && job !== undefined)
      log.error({ err: meta?.['error'], task: job.task_identifier ?? null }, 'A job failed');
    else if (level === 'error')
      log.error({ err: meta?.['error'] }, 'The job queue lost its database; it retries');
    // More slots than connections are intended, because a slot that waits for a model holds none. So is
    // taking fewer jobs than there are slots.
    else if (
      level === 'warning' &&
      meta?.['concurrency'] === undefined &&
      !/batch size/.test(message)
    )
      log.warn({ reason: message }, 'A warning of the job queue');
  });
}

/** For readiness and the command line. It also deletes the row of a crashed worker. */
async function writeHeartbeat(pool: pg.Pool, log: Log): Promise<void> {
  try {
    await pool.query(
      `with crashed as (
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
