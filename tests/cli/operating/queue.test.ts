import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { jobCommands } from '#services/cli/queue/jobs.ts';
import { sweepCommands } from '#services/cli/queue/sweeps.ts';
import { cronOf } from '#services/platform/jobs/sweeps.ts';
import { sweepsOf } from '#services/sweeps.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { runHere } from '#tests/cli/in-process.ts';

let app: TestApp;

beforeAll(async () => {
  vi.stubEnv('SUDO_USER', 'olga');
  app = await createTestApp();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await app.close();
});
beforeEach(async () => {
  await app.database.pool.query('delete from graphile_worker._private_jobs');
});

const jobs = async (...words: string[]) => runHere(app, jobCommands, ['jobs', ...words]);
const sweeps = async (...words: string[]) => runHere(app, sweepCommands, ['sweeps', ...words]);

type State = 'waiting' | 'failed' | 'running';

/** Returns its id. */
async function addJob(
  task: string,
  state: State,
  error = 'Gone\nastray \u001b[31m',
): Promise<string> {
  const { rows } = await app.database.pool.query<{ id: string }>(
    `select id::text from graphile_worker.add_job($1, '{}', max_attempts := 3)`,
    [task],
  );
  const { id = '' } = rows[0] ?? {};
  await app.database.pool.query(
    `update graphile_worker._private_jobs set attempts = $2, last_error = $3, locked_at = $4
     where id = $1::bigint`,
    [id, state === 'failed' ? 3 : 0, error, state === 'running' ? new Date() : null],
  );
  return id;
}

async function stateOf(id: string): Promise<unknown> {
  const { rows } = await app.database.pool.query<Record<string, unknown>>(
    `select attempts, run_at <= now() as due from graphile_worker.jobs where id = $1::bigint`,
    [id],
  );
  return rows[0] ?? null;
}

async function audited(subject: string): Promise<unknown[]> {
  const { rows } = await app.database.pool.query<{ action: string; detail: unknown }>(
    `select action, detail from audit_log
     where actor = 'operator:olga' and subject = $1 order by entry_id`,
    [subject],
  );
  return rows.map(({ action, detail }) => [action, detail]);
}

test('jobs list names failed jobs first and lets no error act on the terminal', async () => {
  const waiting = await addJob('send-mail', 'waiting');
  const failed = await addJob('send-refund', 'failed');
  const { code, out } = await jobs('list');
  expect(code).toBe(0);
  const [, first = '', second = ''] = out.split('\n');
  expect(first).toMatch(new RegExp(`^ *${failed}  send-refund  failed .* 3/3 .*Gone astray`));
  expect(second).toMatch(new RegExp(`^ *${waiting}  send-mail +waiting`));
  expect(out).not.toContain('\u001b');
  expect(out).toContain('2 of 2 jobs');
});

test('jobs list --failed and --task choose, and --failed exits with 1 while there are any', async () => {
  const failed = await addJob('send-refund', 'failed', 'Refused');
  await addJob('send-mail', 'waiting');
  const { code, out } = await jobs('list', '--failed', '--json');
  expect(JSON.parse(out)).toMatchObject([{ id: failed, state: 'failed', last_error: 'Refused' }]);
  expect(code).toBe(1);
  expect((await jobs('list', '--failed', '--task', 'send-mail')).code).toBe(0);
  await expect(jobs('list', '--limit', '0')).rejects.toThrow(UsageError);
  for (const verb of ['list', 'retry'])
    await expect(jobs(verb, '--task', 'nonsense')).rejects.toThrow('There is no task nonsense. ');
});

test('jobs retry begins one job, the failed ones of a task, or all failed ones again', async () => {
  const [one, two, other, waiting] = [
    await addJob('send-refund', 'failed'),
    await addJob('send-refund', 'failed'),
    await addJob('send-mail', 'failed'),
    await addJob('send-refund', 'waiting'),
  ];
  await app.database.pool.query(
    `update graphile_worker._private_jobs set attempts = 1 where id = $1::bigint`,
    [waiting],
  );
  expect((await jobs('retry', one)).code).toBe(0);
  expect(await stateOf(one)).toEqual({ attempts: 0, due: true });
  expect(JSON.parse((await jobs('retry', '--task', 'send-refund', '--json')).out)).toEqual({
    retried: [{ id: two, task: 'send-refund' }],
  });
  expect(await stateOf(other)).toMatchObject({ attempts: 3 });
  await jobs('retry', '--all-failed');
  expect(await stateOf(other)).toMatchObject({ attempts: 0 });
  expect(await stateOf(waiting)).toMatchObject({ attempts: 1 });
  expect(await audited(`job ${two}`)).toEqual([['job.retried', { task: 'send-refund' }]]);
});

test('jobs retry and jobs forget leave a running job alone and say so', async () => {
  const id = await addJob('call-model', 'running');
  for (const words of [
    ['retry', id],
    ['forget', id, '--yes'],
  ]) {
    const { code, said } = await jobs(...words);
    expect([code, said]).toEqual([1, 'The job is running. Try again later\n']);
  }
  expect(await stateOf(id)).not.toBeNull();
  expect(await jobs('retry', '999999')).toEqual({
    code: 1,
    out: '',
    said: 'Job not found; it may have ended\n',
  });
});

test('jobs forget says what restores the job, and removes it once that is confirmed', async () => {
  const id = await addJob('call-model', 'failed');
  await expect(jobs('forget', id)).rejects.toThrow('Add --yes to continue');
  const { code, said } = await jobs('forget', id, '--yes');
  expect([code, said]).toEqual([
    0,
    'call-model: sweep-runs adds it again as long as its object needs it.\n',
  ]);
  expect(await stateOf(id)).toBeNull();
  expect(await audited(`job ${id}`)).toEqual([['job.forgotten', { task: 'call-model' }]]);
  const mail = await addJob('send-mail', 'failed');
  expect((await jobs('forget', mail, '--yes')).said).toContain('nothing adds this job again');
  const sweep = await addJob('sweep-runs', 'failed');
  expect((await jobs('forget', sweep, '--yes')).said).toContain('in its next period');
});

test.each([[[]], [['7', '--all-failed']], [['x']]])(
  'jobs retry %j is wrong usage',
  async (words) => {
    await expect(jobs('retry', ...words)).rejects.toThrow(UsageError);
  },
);

test("sweeps list has every sweep of a worker's cron, and when it last began", async () => {
  await app.database.pool.query(
    `insert into graphile_worker._private_known_crontabs (identifier, known_since, last_execution)
     values ('sweep-runs', now(), '2026-12-01T10:00:00Z')`,
  );
  const { control, money } = sweepsOf(app.core, { requireEmailConfirmation: true, stripe: null });
  const { out } = await sweeps('list', '--json');
  const rows = JSON.parse(out) as { name: string; every: string; last_begun_at: string | null }[];
  expect(rows.map(({ name }) => name)).toEqual(
    cronOf({ ...control, ...money }).map(({ task }) => task),
  );
  expect(rows.find(({ name }) => name === 'sweep-runs')?.last_begun_at).toBe(
    '2026-12-01T10:00:00.000Z',
  );
  expect(rows.find(({ name }) => name === 'anchor-chains')?.every).toBe('day');
});

test('sweeps run --all runs every sweep without a worker and records each', async () => {
  await app.database.pool.query(
    `insert into users (id, email, name, erasing_at)
     values ('usr_00000000000000000000000erase', 'gone@example.com', 'Gone', now())`,
  );
  const { code, out } = await sweeps('run', '--all');
  expect(code).toBe(0);
  expect(out).toMatch(/^ok {3}sweep-erasures \(\d+\.\d\d s\): 1 handled$/m);
  expect(out).toMatch(/^ok {3}purge-links \(\d+\.\d\d s\): nothing to do$/m);
  expect(await audited('sweep-erasures')).toEqual([['sweep.ran', { count: 1, failed: false }]]);
  const { rows } = await app.database.pool.query(
    `select from graphile_worker.jobs where task_identifier = 'erase-account'`,
  );
  expect(rows).toHaveLength(1);
});

test('a sweep that fails is named, and the exit code is 1', async () => {
  await app.database.ownerPool.query('alter table contact_message rename to moved');
  const { code, out } = await sweeps('run', 'purge-messages');
  await app.database.ownerPool.query('alter table moved rename to contact_message');
  expect(out).toMatch(/^NOT {2}purge-messages .*contact_message/);
  expect(code).toBe(1);
  await expect(sweeps('run', 'nonsense')).rejects.toThrow('There is no sweep nonsense. ');
  await expect(sweeps('run', 'purge-messages', '--all')).rejects.toThrow('or give --all');
});
