import type { Queryable } from '#db/connect.ts';

/** The jobs of one task that the queue holds. */
export type TaskBacklog = {
  task: string;
  /** Could begin now. */
  due: number;
  /** Due, and wait for the job before them in their queue, such as a lane of calls. */
  queued: number;
  running: number;
  /** Begin later. */
  scheduled: number;
  /** Have used all attempts, and stay until they are retried or forgotten. */
  failed: number;
  /** Of the oldest that could begin now; 0 without one. */
  oldestDueSeconds: number;
};

/** Jobs counted at most. */
const mostJobs = 100_000;

/**
 * Reads the whole table, without an index: it holds open and failed jobs only, since a job that has ended is
 * deleted.
 */
export async function readJobBacklog(client: Queryable): Promise<TaskBacklog[]> {
  const { rows } = await client.query<TaskBacklog>(
    `select task.identifier as task,
       count(*) filter (where job.state = 'due')::float8 as due,
       count(*) filter (where job.state = 'queued')::float8 as queued,
       count(*) filter (where job.state = 'running')::float8 as running,
       count(*) filter (where job.state = 'scheduled')::float8 as scheduled,
       count(*) filter (where job.state = 'failed')::float8 as failed,
       coalesce(extract(epoch from now() - min(job.run_at) filter (where job.state = 'due')), 0)::float8
         as "oldestDueSeconds"
     from (
       select task_id, run_at, case
           when locked_at is not null then 'running'
           when attempts >= max_attempts then 'failed'
           when run_at > now() then 'scheduled'
           when job_queue_id is not null then 'queued'
           else 'due' end as state
       from graphile_worker._private_jobs limit $1
     ) job
     join graphile_worker._private_tasks task on task.id = job.task_id
     group by task.identifier order by task.identifier`,
    [mostJobs],
  );
  return rows;
}
