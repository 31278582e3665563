import { EventEmitter } from 'node:events';
import { Logger, run } from 'graphile-worker';
import type { WorkerEvents } from 'graphile-worker';
import { createPool } from '#db/connect.ts';
import { startJobLocks } from '#services/platform/jobs/job-locks.ts';
import { createLog } from '#services/platform/process/log.ts';

/** A worker process that takes one call and never ends it. Says when it has it. */
const url = process.argv[2];
if (!url) throw new Error('A database URL is needed');
const onError = () => undefined;
const locks = startJobLocks({ url, log: createLog({ level: 'silent', process: 'holder' }) });
const events: WorkerEvents = new EventEmitter();
events.on('pool:create', ({ workerPool }) => locks.hold(workerPool.id));
events.on('job:start', ({ job }) => locks.began(job.id, job.job_queue_id));
await run({
  pgPool: createPool(url, { max: 3, applicationName: 'lane holder', onError }),
  taskList: {
    'call-model': async () => {
      process.send?.('holding');
      return new Promise<void>(() => {});
    },
  },
  concurrency: 1,
  pollInterval: 20,
  events,
  noHandleSignals: true,
  logger: new Logger(() => () => undefined),
});
