import type { JobHelpers, Task } from 'graphile-worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import { createLiveTextWriter } from '#services/live/live-text.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { createOpenCalls } from '#services/optimizations/open-calls.ts';
import { sweepRuns } from '#services/optimizations/sweep.ts';
import { optimizationTasks } from '#services/optimizations/tasks.ts';
import { createLog } from '#services/platform/process/log.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { give } from '#tests/support/processes/service.ts';

/** Tasks one at a time, without a queue: their effect on the streams and the jobs. */
let app: TestApp;
let tasks: Readonly<Record<string, Task>>;
const log = createLog({ level: 'silent', process: 'test', destination: { write: () => {} } });

beforeAll(async () => {
  app = await createTestApp();
  const liveText = createLiveTextWriter({ pool: app.core.pool, sealer: app.core.sealer, log });
  const lists = optimizationTasks({
    ...app.core,
    liveText,
    openCalls: createOpenCalls(),
    log,
    callsPerProvider: 4,
  });
  tasks = { ...lists.control, ...lists.calls };
});
afterAll(async () => app.close());

async function work(task: string, payload: object): Promise<void> {
  const found = tasks[task];
  if (!found) throw new Error(`There is no task ${task}`);
  await found(payload, {} as JobHelpers);
}

async function jobsOf(runId: string): Promise<{ key: string; payload: Record<string, unknown> }[]> {
  const { rows } = await app.database.ownerPool.query<{
    key: string;
    payload: Record<string, unknown>;
  }>(`select key, payload from graphile_worker._private_jobs where key like $1 order by key`, [
    `${runId}:%`,
  ]);
  return rows;
}

async function withRun(): Promise<{ person: Person; runId: string }> {
  const person = await app.signUp();
  await give(app, person.userId, 50);
  const { id } = await app.data<Optimization>('/optimizations', {
    token: person.token,
    body: { challenge: 'Lease or buy the van?', strategy: 'balanced' },
  });
  return { person, runId: id };
}

async function started(): Promise<{ person: Person; runId: string }> {
  const made = await withRun();
  await app.data(`/optimizations/${made.runId}/process`, {
    method: 'POST',
    token: made.person.token,
  });
  return made;
}

async function balanceOf(person: Person): Promise<Balance> {
  return app.data<Balance>('/credits/balance', { token: person.token });
}

describe('start and settlement', () => {
  test('credits that are held after the run was cancelled are given back', async () => {
    const { person, runId } = await withRun();
    await app.data(`/optimizations/${runId}/cancel`, { method: 'POST', token: person.token });
    await work('settle-run', { runId });
    await app.core.ledger.reserve({
      userId: person.userId,
      runId,
      credits: 14,
      month: '2026-11',
      limit: 5,
      actor: 'test',
    });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 36, reserved_credits: 14 });
    await work('start-run', { runId });
    expect((await jobsOf(runId)).map((job) => job.key)).toContain(`${runId}:settle`);
    await work('settle-run', { runId });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 50, reserved_credits: 0 });
  });

  test('a settlement that runs again writes nothing', async () => {
    const { person, runId } = await started();
    await app.data(`/optimizations/${runId}/cancel`, { method: 'POST', token: person.token });
    await work('settle-run', { runId });
    const once = await app.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
    await Promise.all([work('settle-run', { runId }), work('settle-run', { runId })]);
    const again = await app.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
    expect(again).toEqual(once);
    expect(once).toMatchObject({ status: 'cancelled', credits: { charged: 0, refunded: 0 } });
  });

  test('a start that is repeated by its job changes nothing', async () => {
    const { person, runId } = await started();
    const before = await app.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
    await work('start-run', { runId });
    const after = await app.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
    expect(after.council).toEqual(before.council);
  });
});

describe('a run whose texts cannot be opened', () => {
  test('a run whose texts cannot be opened still ends at its deadline and gives back what it held', async () => {
    const { person, runId } = await started();
    await app.database.ownerPool.query(
      `update emt_messages
       set message_data = jsonb_set(message_data, '{sealed,challenge}', '"damaged"')
       where stream_id = $1 and stream_position = 1`,
      [`optimization-${runId}`],
    );
    await expect(app.core.readRun(runId)).rejects.toThrow(IntegrityError);
    const late = new Date(Date.now() - 60_000).toISOString();
    await work('run-deadline', { runId, dueAt: late, rearmed: false });
    await work('run-deadline', { runId, dueAt: late, rearmed: true });
    await work('settle-run', { runId });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 50, reserved_credits: 0 });
  });
});

describe('deadlines', () => {
  test('a deadline that is noticed long after it was due is set once more, for its full length', async () => {
    const { runId } = await started();
    const dueAt = new Date(Date.now() - 60_000).toISOString();
    const payload = { runId, stage: 'opinions', kind: 'hard', dueAt, rearmed: false };
    await work('stage-deadline', payload);
    const job = (await jobsOf(runId)).find(({ key }) => key === `${runId}:opinions:hard`);
    expect(job?.payload).toMatchObject({ rearmed: true });
    const againInMs = Date.parse(String(job?.payload['dueAt'])) - Date.now();
    expect(againInMs).toBeGreaterThan(230_000);
    // The second time it closes: no seat has answered, so the run has failed.
    await work('stage-deadline', { ...payload, rearmed: true });
    expect((await app.core.readRun(runId))?.state).toMatchObject({
      stage: 'settling',
      outcome: 'failed',
    });
  });

  test.each([
    ['opinion.S1', 'soft', 2, 'waits'],
    ['opinion.S1', 'soft', 11, 'passes'],
    ['review.S1', 'soft', 2, 'passes'],
    ['opinion.S1', 'hard', 2, 'passes'],
  ] as const)(
    'with text of %s the %s deadline of the opinions, %i s after its last word, %s',
    async (slot, kind, secondsAgo, then) => {
      const { person, runId } = await started();
      await app.core.pool.query(
        `insert into live_text (run_id, slot, attempt, user_id, chars, progress, tail, changed)
         values ($1, $2, 1, $3, 900, 80, 'sealed', now() - make_interval(secs => $4))`,
        [runId, slot, person.userId, secondsAgo],
      );
      const key = `${runId}:opinions:${kind}`;
      const before = (await app.core.readRun(runId))?.view.version;
      const dueAt = new Date().toISOString();
      const payload = { runId, stage: 'opinions', kind, dueAt, rearmed: false };
      const dueOf = async () =>
        Date.parse(String((await jobsOf(runId)).find((job) => job.key === key)?.payload['dueAt']));
      const asDesigned = await dueOf();
      await work('stage-deadline', payload);
      const dueMs = await dueOf();
      const isLater = dueMs >= Date.parse(dueAt) + 10_000 && dueMs < Date.parse(dueAt) + 20_000;
      const version = (await app.core.readRun(runId))?.view.version;
      expect(version === before).toBe(then === 'waits');
      expect(then === 'waits' ? isLater : dueMs === asDesigned).toBe(true);
    },
  );

  test('a deadline that is due now closes the stage at once', async () => {
    const { runId } = await started();
    await work('run-deadline', { runId, dueAt: new Date().toISOString(), rearmed: false });
    expect((await app.core.readRun(runId))?.state).toMatchObject({
      stage: 'settling',
      conclusion: { reason: 'timeout', settlement: { kind: 'release' } },
    });
  });
});

describe('calls', () => {
  test('a provider that cannot be reached is tried again and again, each attempt recorded', async () => {
    const { runId } = await started();
    for (let attempt = 1; attempt <= 4; attempt += 1)
      await work('call-model', { runId, slot: 'opinion.S1' });
    const attempts = (await app.core.readRun(runId))?.view.calls['opinion.S1']?.attempts;
    expect(Object.values(attempts ?? {})).toMatchObject(
      [1, 2, 3, 4].map(() => ({ failure: 'connection', final: false, costMicros: null })),
    );
    const job = (await jobsOf(runId)).find(({ key }) => key === `${runId}:opinion.S1`);
    expect(job).toBeDefined();
  });

  test('text of a failed attempt counts for no progress', async () => {
    const { person, runId } = await started();
    await work('call-model', { runId, slot: 'opinion.S1' });
    await app.core.pool.query(
      `insert into live_text (run_id, slot, attempt, user_id, chars, progress, tail, changed)
       values ($1, 'opinion.S1', 1, $2, 900, 80, 'sealed', now())`,
      [runId, person.userId],
    );
    const run = await app.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
    expect(run.models.find(({ seat }) => seat === 'S1')).toMatchObject({
      status: 'retrying',
      progress: 0,
    });
  });

  test('a run whose text was erased asks nothing more and ends', async () => {
    const { person, runId } = await started();
    await app.core.sealer.eraseKey(runId);
    for (const seat of ['S1', 'S2', 'S3', 'R1', 'R2', 'I1', 'I2'])
      await work('call-model', { runId, slot: `opinion.${seat}` });
    await work('settle-run', { runId });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 50, reserved_credits: 0 });
  });
});

test('the sweeper adds jobs again that have gone missing, and only those, also after an upgrade', async () => {
  const { runId } = await started();
  const before = await jobsOf(runId);
  await app.database.ownerPool.query(
    'delete from graphile_worker._private_jobs where key = any($1)',
    [[`${runId}:opinion.S1`, `${runId}:opinions:hard`, `${runId}:deadline`]],
  );
  // Of an earlier version, which owed no jobs.
  await app.database.ownerPool.query(
    `update stream_snapshot set decider_version = 0, state = '{"stage":"none"}' where stream_id = $1`,
    [`optimization-${runId}`],
  );
  const inAMinute = () => Date.now() + 60_000;
  await sweepRuns({ ...app.core, clock: inAMinute, log });
  expect((await jobsOf(runId)).map((job) => job.key)).toEqual(before.map((job) => job.key));
  expect(await sweepRuns({ ...app.core, clock: inAMinute, log })).toBe(0);
});

test('the sweeper reads no draft, however many have never been started', async () => {
  const { runId: draft } = await withRun();
  const { runId } = await started();
  const read: string[] = [];
  await sweepRuns({
    ...app.core,
    readState: async (id) => {
      read.push(id);
      return app.core.readState(id);
    },
    clock: () => Date.now() + 60_000,
    log,
  });
  expect(read).toContain(runId);
  expect(read).not.toContain(draft);
});
