import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import {
  counted,
  numberOf,
  operatorName,
  printResult,
  required,
  say,
  table,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCall, CliCommand } from '#services/cli/command.ts';
import { everySweep } from './sweeps.ts';

/** The most jobs that one call lists. */
const listed = { usual: 50, most: 10_000 } as const;
/** Characters of an error in a table; `--json` has all of it. */
const errorLength = 120;

type Job = {
  id: string;
  task: string;
  key: string | null;
  /** `failed`: it has used up its attempts, and no worker will try it again. */
  state: 'failed' | 'running' | 'waiting' | 'planned';
  created_at: Date;
  run_at: Date;
  attempts: number;
  max_attempts: number;
  last_error: string | null;
};

const columns = `id::text, task_identifier as task, key, created_at, run_at, attempts, max_attempts,
  last_error, case when locked_at is not null then 'running'
    when attempts >= max_attempts then 'failed'
    when run_at > now() then 'planned' else 'waiting' end as state`;
const hasFailed = 'attempts >= max_attempts and locked_at is null';

const list: CliCommand = {
  noun: 'jobs',
  verb: 'list',
  arguments: '',
  summary: 'Lists the jobs of the queue, those that failed for good first.',
  options: {
    task: { type: 'string', help: 'Only jobs of this task' },
    failed: { type: 'boolean', help: 'Only jobs that failed for good. Exits with 1 if any.' },
    limit: { type: 'string', help: `How many (default ${listed.usual})` },
  },
  async run(call) {
    const { pool } = call.database;
    const failed = call.options['failed'] === true;
    const task = await taskNamed(call);
    const { rows } = await pool.query<Job & { total: string }>(
      `select ${columns}, count(*) over () as total from graphile_worker.jobs
       where ($1::text is null or task_identifier = $1) and (not $2 or ${hasFailed})
       order by (${hasFailed}) desc, run_at, id limit $3`,
      [task, failed, numberOf(call, 'limit', listed)],
    );
    const total = Number(rows[0]?.total ?? 0);
    printResult(call, rows.map(documentOf), [
      ...table([
        ['id', 'task', 'state', 'age', 'attempts', 'key', 'last error'],
        ...rows.map(rowOf),
      ]),
      `${rows.length} of ${total} jobs`,
    ]);
    return failed && total > 0 ? 1 : 0;
  },
};

function documentOf(job: Job): object {
  const { id, task, state, key, created_at, run_at, attempts, max_attempts, last_error } = job;
  return { id, task, state, key, created_at, run_at, attempts, max_attempts, last_error };
}

function rowOf(job: Job): (string | number)[] {
  const { id, task, state, key, attempts, max_attempts: most, last_error: error } = job;
  return [
    Number(id),
    task,
    state,
    ageOf(job.created_at),
    `${attempts}/${most}`,
    key ?? '--',
    inOneLine(error ?? ''),
  ];
}

function ageOf(since: Date): string {
  const minutes = Math.floor((Date.now() - since.getTime()) / 60_000);
  if (minutes < 60) return `${Math.max(0, minutes)} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}

/** An error may repeat a value, and a terminal interprets some characters. */
function inOneLine(error: string): string {
  return error.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, errorLength);
}

const retry: CliCommand = {
  noun: 'jobs',
  verb: 'retry',
  arguments: '[<id>]',
  summary: 'Lets a job begin again now, or all that failed for good.',
  options: {
    task: { type: 'string', help: 'All jobs of this task that failed for good' },
    'all-failed': { type: 'boolean', help: 'All jobs that failed for good' },
  },
  async run(call) {
    const { pool } = call.database;
    const which = chosen(call, await taskNamed(call));
    const retried = await inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ id: string; task: string }>(
        `with again as (
           select id, task_id from graphile_worker.reschedule_jobs(array(
             select id from graphile_worker.jobs where locked_at is null and ${which.where}),
             run_at := now(), attempts := 0))
         select again.id::text, task.identifier as task
         from again join graphile_worker._private_tasks task on task.id = again.task_id
         order by again.id`,
        which.values,
      );
      await audited(call, client, 'job.retried', rows);
      return rows;
    });
    printResult(
      call,
      { retried },
      which.id !== null && retried.length === 0
        ? []
        : [
            ...retried.map(({ id, task }) => `${id} ${task}`),
            counted(retried.length, 'job begins again.', 'jobs begin again.'),
          ],
    );
    if (which.id === null || retried.length > 0) return 0;
    say(await whyNot(pool, which.id));
    return 1;
  },
};

type Chosen = { id: string | null; where: string; values: string[] };

function chosen(call: CliCall, task: string | null): Chosen {
  const [id] = call.positionals;
  const all = call.options['all-failed'] === true;
  if ([id !== undefined, task !== null, all].filter(Boolean).length !== 1)
    throw new UsageError('Name a job by its id, or choose --task or --all-failed');
  if (id !== undefined) return { id: idOf(id), where: 'id = $1::bigint', values: [idOf(id)] };
  return task === null
    ? { id: null, where: hasFailed, values: [] }
    : { id: null, where: `${hasFailed} and task_identifier = $1`, values: [task] };
}

/** The queue knows every task of a worker that has run here. @throws UsageError for another name */
async function taskNamed(call: CliCall): Promise<string | null> {
  const task = text(call, 'task');
  if (task === undefined) return null;
  const { rows } = await call.database.pool.query<{ name: string }>(
    'select identifier as name from graphile_worker._private_tasks order by identifier',
  );
  const names = rows.map(({ name }) => name);
  if (names.includes(task)) return task;
  throw new UsageError(`There is no task ${task}. The tasks: ${names.join(', ')}`);
}

function idOf(given: string): string {
  if (!/^[1-9]\d{0,17}$/.test(given)) throw new UsageError('A job is named by its id, a number');
  return given;
}

async function whyNot(pool: pg.Pool, id: string): Promise<string> {
  const { rowCount } = await pool.query('select from graphile_worker.jobs where id = $1::bigint', [
    id,
  ]);
  return rowCount === 0
    ? 'Job not found; it may have ended'
    : 'The job is running. Try again later';
}

const forget: CliCommand = {
  noun: 'jobs',
  verb: 'forget',
  arguments: '<id>',
  summary: 'Removes a job that is not running, without doing it.',
  options: { yes: { type: 'boolean', help: 'Confirms that the job is removed' } },
  async run(call) {
    const { pool } = call.database;
    const id = idOf(required(call, 0, 'job id'));
    const { rows } = await pool.query<Job>(
      `select ${columns} from graphile_worker.jobs where id = $1::bigint`,
      [id],
    );
    const [job] = rows;
    if (job === undefined || job.state === 'running') {
      say(await whyNot(pool, id));
      return 1;
    }
    say(`${job.task}: ${consequence(call, job.task)}`);
    if (call.options['yes'] !== true) throw new UsageError('Add --yes to continue');
    const forgotten = await inTransaction(pool, async (client) => {
      const { rowCount } = await client.query(
        `select from graphile_worker.complete_jobs(array(
           select id from graphile_worker.jobs where locked_at is null and id = $1::bigint))`,
        [id],
      );
      if (rowCount === 1) await audited(call, client, 'job.forgotten', [job]);
      return rowCount === 1;
    });
    printResult(call, { id, task: job.task, forgotten }, forgotten ? ['Forgotten.'] : []);
    if (!forgotten) say(await whyNot(pool, id));
    return forgotten ? 0 : 1;
  },
};

/** The sweep that finds that a job of this task is missing. */
const restoredBy: Readonly<Record<string, string>> = {
  'call-model': 'sweep-runs',
  'stage-deadline': 'sweep-runs',
  'run-deadline': 'sweep-runs',
  'settle-run': 'sweep-runs',
  'forget-run': 'sweep-hidden-runs',
  'erase-account': 'sweep-erasures',
  'process-webhook-event': 'sweep-payments',
};

function consequence({ database }: CliCall, task: string): string {
  if (everySweep(database).has(task)) return 'a worker adds it again in its next period.';
  const sweep = restoredBy[task];
  return sweep === undefined
    ? 'nothing adds this job again. What it should do is never done.'
    : `${sweep} adds it again as long as its object needs it.`;
}

async function audited(
  { database }: CliCall,
  client: pg.ClientBase,
  action: string,
  jobs: readonly { id: string; task: string }[],
): Promise<void> {
  for (const { id, task } of jobs)
    await database.audit(
      { actor: operatorName(), action, subject: `job ${id}`, detail: { task } },
      client,
    );
}

export const jobCommands: readonly CliCommand[] = [list, retry, forget];
