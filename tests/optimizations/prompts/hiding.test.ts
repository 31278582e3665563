import type { JobHelpers } from 'graphile-worker';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { verifyEvents } from '#db/verify-events.ts';
import { optimizationList } from '#projections/optimization-list.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { verify } from '#projections/engine/verify.ts';
import type { ExportReply } from '#services/identity/contract.ts';
import { createLiveTextWriter } from '#services/live/live-text.ts';
import type { Optimization, OptimizationList } from '#services/optimizations/contract/run.ts';
import { createOpenCalls } from '#services/optimizations/open-calls.ts';
import { dismiss } from '#services/optimizations/outcomes/questions.ts';
import { tick } from '#services/optimizations/reading/next-steps.ts';
import { sweepHidden } from '#services/optimizations/sweep.ts';
import { optimizationTasks } from '#services/optimizations/tasks.ts';
import { createLog } from '#services/platform/process/log.ts';
import { nowListeningTo } from '#tests/live/client.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { give } from '#tests/support/processes/service.ts';
import { newShare } from '#tests/walls/calls.ts';

const dayMs = 86_400_000;

let app: TestApp;
/** How far the application's clock is ahead, in milliseconds. */
let aheadMs = 0;
let work: (task: string, runId: string) => Promise<void>;

beforeAll(async () => {
  app = await createTestApp({ clock: () => Date.now() + aheadMs });
  const { pool, sealer } = app.core;
  const log = createLog({ level: 'silent', process: 'test', destination: { write: () => {} } });
  const { control } = optimizationTasks({
    ...app.core,
    liveText: createLiveTextWriter({ pool, sealer, log }),
    openCalls: createOpenCalls(),
    log,
    callsPerProvider: 4,
  });
  work = async (task, runId) => {
    const found = control[task];
    if (!found) throw new Error(`There is no task ${task}`);
    await found({ runId }, {} as JobHelpers);
  };
});
afterAll(async () => app.close());

async function createRun(
  { token }: Pick<Person, 'token'>,
  body: Record<string, string> = {},
): Promise<string> {
  const run = await app.data<Optimization>('/optimizations', {
    token,
    body: { challenge: 'Lease or buy the van?', strategy: 'balanced', ...body },
  });
  return run.id;
}

async function endedRun(person: Pick<Person, 'token'>): Promise<string> {
  const runId = await createRun(person);
  await app.data(`/optimizations/${runId}/cancel`, { method: 'POST', token: person.token });
  await work('settle-run', runId);
  return runId;
}

const remove = async ({ token }: Pick<Person, 'token'>, runId: string) =>
  app.call(`/optimizations/${runId}`, { method: 'DELETE', token });
const restore = async ({ token }: Pick<Person, 'token'>, runId: string) =>
  app.call(`/optimizations/${runId}/restore`, { method: 'POST', token });
const detail = async ({ token }: Pick<Person, 'token'>, runId: string) =>
  app.call(`/optimizations/${runId}`, { token });

async function listed({ token }: Pick<Person, 'token'>, query = ''): Promise<string[]> {
  const response = await app.call(`/optimizations${query}`, { token });
  return ((await response.json()) as OptimizationList).data.map(({ id }) => id);
}

async function eventsOf(runId: string, type: string): Promise<number> {
  const { events } = await app.core.readStream(`optimization-${runId}`);
  return events.filter((event) => event.type === type).length;
}

describe('a run that is deleted', () => {
  test('a deleted run leaves the list and its page, comes back, and can be deleted again', async () => {
    const person = await app.signUp();
    const runId = await endedRun(person);
    for (const times of [1, 2]) {
      for (const _ of ['at once', 'and as a repeat']) {
        const response = await remove(person, runId);
        expect(response.status).toBe(200);
        expect(await response.json()).toEqual({ data: { id: runId, deleted: true } });
      }
      expect(await listed(person)).toEqual([]);
      expect((await detail(person, runId)).status).toBe(404);
      expect(await eventsOf(runId, 'OptimizationHidden')).toBe(times);

      for (const _ of ['at once', 'and as a repeat']) {
        const response = await restore(person, runId);
        expect(response.status).toBe(200);
        expect(await response.json()).toMatchObject({ data: { id: runId, status: 'cancelled' } });
      }
      expect(await listed(person)).toEqual([runId]);
      expect((await detail(person, runId)).status).toBe(200);
      expect(await eventsOf(runId, 'OptimizationRestored')).toBe(times);
    }
  });

  test('a run that is under way cannot be deleted', async () => {
    const person = await app.signUp();
    await give(app, person.userId, 50);
    const runId = await createRun(person);
    await app.data(`/optimizations/${runId}/process`, { method: 'POST', token: person.token });
    const response = await remove(person, runId);
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: 'running' });
    expect(await listed(person)).toEqual([runId]);
  });

  test('a draft that is deleted is cancelled', async () => {
    const person = await app.signUp();
    const runId = await createRun(person);
    expect((await remove(person, runId)).status).toBe(200);
    expect(await listed(person)).toEqual([]);
    await work('settle-run', runId);
    expect(await (await restore(person, runId)).json()).toMatchObject({
      data: { status: 'cancelled' },
    });
  });

  test('deleting and restoring a run reach the lists of other tabs', async () => {
    const person = await app.signUp();
    const runId = await endedRun(person);
    const rows: unknown[] = [];
    // An earlier event may arrive once more when the reader had not reached it yet.
    const changes = new Set(['OptimizationHidden', 'OptimizationRestored']);
    const { hearing } = await nowListeningTo(app, {
      token: person.token,
      timeoutMs: 60_000,
      enough({ event, data }) {
        const type = String(data['type']);
        if (event === 'fact' && changes.has(type)) rows.push([type, data['entity'], data['patch']]);
        return rows.length === 2;
      },
    });
    await remove(person, runId);
    await restore(person, runId);
    await hearing;
    const entity = { kind: 'run_row', id: runId };
    expect(rows).toEqual([
      ['OptimizationHidden', entity, { hidden: true }],
      ['OptimizationRestored', entity, { hidden: false }],
    ]);
  });
});

describe('thirty days after it was deleted', () => {
  const later = async (days: number, { email }: Person): Promise<{ token: string }> => {
    aheadMs += days * dayMs;
    return app.data<{ token: string }>('/auth/login', {
      body: { email, password: testPassword },
    });
  };

  test("thirty days after deletion a run's texts are erased for good, and everything else still adds up", async () => {
    const person = await app.signUp();
    const runId = await endedRun(person);
    const kept = await createRun(person, { challenge: 'Paint the shop?' });
    for (const run of [runId, kept]) {
      const of = { runId: run, userId: person.userId, now: app.core.clock() };
      await tick(app.core.pool, { ...of, step: 0, done: true });
      await dismiss(app.core.pool, { ...of, asked: 30 });
      await newShare(app, person, run);
    }
    await remove(person, runId);
    const { rows: jobs } = await app.database.ownerPool.query<{ days: number }>(
      `select round(extract(epoch from run_at - now()) / 86400)::integer as days
       from graphile_worker._private_jobs where key = $1`,
      [`${runId}:forget`],
    );
    expect(jobs).toEqual([{ days: 30 }]);

    await work('forget-run', runId);
    expect(await keyExists(runId)).toBe(true);

    const ann = await later(31, person);
    expect((await restore(ann, runId)).status).toBe(404);
    await work('forget-run', runId);
    await work('forget-run', runId);
    expect(await keyExists(runId)).toBe(false);
    expect(await keyExists(kept)).toBe(true);

    expect((await detail(ann, runId)).status).toBe(404);
    expect((await remove(ann, runId)).status).toBe(200);
    expect(await listed(ann)).toEqual([kept]);
    const { rows: audit } = await app.core.pool.query(
      `select actor, user_id from audit_log where action = 'run.forgotten' and subject = $1`,
      [runId],
    );
    expect(audit).toEqual([{ actor: 'system:worker', user_id: person.userId }]);

    const { tables } = await app.data<ExportReply>('/users/me/export', { token: ann.token });
    expect(tables['next_steps_done']).toMatchObject([{ run_id: kept, step: 0 }]);
    expect(tables['share_links']).toMatchObject([{ run_id: kept }]);
    expect(tables['outcome_questions']).toMatchObject([{ run_id: kept, asked: 30 }]);
    const exported = Object.fromEntries(
      (tables['runs'] ?? []).map((row) => [row['id'], [row['title'], row['challenge']]]),
    );
    expect(exported).toEqual({
      [runId]: [null, null],
      [kept]: ['Paint the shop?', 'Paint the shop?'],
    });
    expect(JSON.stringify(tables)).not.toContain('the van');

    expect((await verifyEvents(app.database.ownerPool)).faults).toEqual([]);
    await rebuild(app.database.ownerPool, optimizationList);
    const { differences } = await verify(app.database.ownerPool, optimizationList);
    expect(differences).toEqual([]);
    expect(await listed(ann)).toEqual([kept]);
  });

  test('a restored run keeps its texts, and one that was deleted again has thirty days more', async () => {
    const person = await app.signUp();
    const runId = await endedRun(person);
    const twice = await endedRun(person);
    for (const one of [runId, twice]) {
      await remove(person, one);
      await restore(person, one);
    }
    const inFortnight = await later(14, person);
    await remove(inFortnight, twice);

    const inMonth = await later(17, person);
    await work('forget-run', runId);
    await work('forget-run', twice);
    expect([await keyExists(runId), await keyExists(twice)]).toEqual([true, true]);
    expect((await detail(inMonth, runId)).status).toBe(200);
    expect((await restore(inMonth, twice)).status).toBe(200);
    await remove(inMonth, twice);

    await later(30, person);
    await work('forget-run', twice);
    expect([await keyExists(runId), await keyExists(twice)]).toEqual([true, false]);
  });

  test('a job that runs too early is scheduled again', async () => {
    const person = await app.signUp();
    const runId = await endedRun(person);
    await remove(person, runId);
    const job = `${runId}:forget`;
    await app.database.ownerPool.query('select graphile_worker.remove_job($1)', [job]);
    await work('forget-run', runId);
    const { rowCount } = await app.database.ownerPool.query(
      `select from graphile_worker._private_jobs where key = $1 and run_at > now()`,
      [job],
    );
    expect(rowCount).toBe(1);
  });

  const sweep = async () => sweepHidden({ ...app.core, log: app.context.log });
  const forgetJobOf = async (runId: string) => {
    const { rows } = await app.database.ownerPool.query<{ run_at: Date; attempts: number }>(
      `select run_at, attempts from graphile_worker._private_jobs where key = $1`,
      [`${runId}:forget`],
    );
    return rows;
  };
  const loseJobOf = async (runId: string) =>
    app.database.ownerPool.query('select graphile_worker.remove_job($1)', [`${runId}:forget`]);

  test('a job that was lost or gave up is added again for the same time, and erases', async () => {
    const person = await app.signUp();
    const [lost, spent] = [await endedRun(person), await endedRun(person)];
    for (const runId of [lost, spent]) await remove(person, runId);
    const before = [await forgetJobOf(lost), await forgetJobOf(spent)];
    await loseJobOf(lost);
    await app.database.ownerPool.query(
      'update graphile_worker._private_jobs set attempts = max_attempts where key = $1',
      [`${spent}:forget`],
    );
    expect(await sweep()).toBe(2);
    expect([await forgetJobOf(lost), await forgetJobOf(spent)]).toEqual(before);
    expect(await sweep()).toBe(0);

    await loseJobOf(lost);
    await later(30, person);
    // The sweep also adds the job when it is overdue.
    expect(await sweep()).toBe(1);
    await work('forget-run', lost);
    expect(await keyExists(lost)).toBe(false);
  });

  test('no job is added for a run that is kept or already erased', async () => {
    const person = await app.signUp();
    const [kept, restored, erased] = [
      await endedRun(person),
      await endedRun(person),
      await endedRun(person),
    ];
    for (const runId of [restored, erased]) await remove(person, runId);
    await restore(person, restored);
    for (const runId of [restored, erased]) await loseJobOf(runId);
    await app.core.sealer.eraseKey(erased);
    expect(await sweep()).toBe(0);
    for (const runId of [kept, restored, erased]) expect(await forgetJobOf(runId)).toEqual([]);
  });

  async function keyExists(runId: string): Promise<boolean> {
    const { rowCount } = await app.core.pool.query('select from data_key where key_id = $1', [
      runId,
    ]);
    return rowCount === 1;
  }
});

describe('renaming a run', () => {
  const rename = async ({ token }: Pick<Person, 'token'>, runId: string, title: unknown) =>
    app.call(`/optimizations/${runId}`, { method: 'PATCH', token, body: { title } });

  test('renaming a run changes its title everywhere and keeps it sealed; the same title changes nothing', async () => {
    const person = await app.signUp();
    const runId = await createRun(person);
    for (const title of ['  The quokka question ', 'The quokka question']) {
      const response = await rename(person, runId, title);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ data: { title: 'The quokka question' } });
    }
    expect(await eventsOf(runId, 'OptimizationRenamed')).toBe(1);
    const list = await app.call('/optimizations', { token: person.token });
    expect(await list.json()).toMatchObject({ data: [{ title: 'The quokka question' }] });
    const { rows } = await app.database.ownerPool.query<{ found: number }>(
      `select (select count(*) from emt_messages where message_data::text like '%quokka%')
         + (select count(*) from optimization_list where title like '%quokka%')
         + (select count(*) from stream_snapshot where state::text like '%quokka%') as found`,
    );
    expect(rows).toEqual([{ found: '0' }]);
  });

  test('a run can be renamed 50 times, and reading it opens only its last title', async () => {
    const person = await app.signUp();
    const runId = await createRun(person);
    const titles = Array.from({ length: 50 }, (_, index) => `Title ${index + 1}`);
    for (const title of titles) expect((await rename(person, runId, title)).status).toBe(200);
    // What is already there is no change, so it is not refused.
    expect((await rename(person, runId, 'Title 50')).status).toBe(200);
    const refused = await rename(person, runId, 'Title 51');
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({
      code: 'too-many-renames',
      message: 'A run can be renamed 50 times at most. It keeps its present title.',
    });
    expect(await eventsOf(runId, 'OptimizationRenamed')).toBe(50);

    const open = vi.spyOn(app.core.sealer, 'open');
    const run = await app.core.readRun(runId);
    expect(run?.view.title).toBe('Title 50');
    const opened = open.mock.calls.filter(([, { field }]) => field === 'title');
    open.mockRestore();
    expect(opened).toHaveLength(1);
  });

  test.each([
    ['', 'Enter a title'],
    ['   ', 'Enter a title'],
    [7, 'Enter a title'],
    ['x'.repeat(121), 'The title can have up to 120 characters'],
  ])('renaming a run refuses %j', async (title, message) => {
    const person = await app.signUp();
    const response = await rename(person, await createRun(person), title);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ field: 'title', message }] });
  });

  test('renaming a run accepts the longest title, and refuses a deleted run', async () => {
    const person = await app.signUp();
    const runId = await createRun(person);
    expect((await rename(person, runId, 'x'.repeat(120))).status).toBe(200);
    await remove(person, runId);
    expect((await rename(person, runId, 'Another')).status).toBe(404);
  });
});
