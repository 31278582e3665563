import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectionStatus } from '#projections/engine/checkpoint.ts';
import { projections } from '#projections/index.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import {
  applyErasures,
  askForErasure,
  eraseAccount,
  erasureSteps,
  erasureTasks,
  sweepErasures,
} from '#services/identity/erasure/erasure.ts';
import type { ErasureDependencies } from '#services/identity/erasure/erasure.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { prepareDatabase } from '#services/migrate.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/process/log.ts';
import { erasureOf } from '#services/core.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { testPassword } from '#tests/support/password.ts';
import { operate } from '#tests/support/processes/operator.ts';
import { eventually } from '#tests/support/processes/processes.ts';
import { mailsTo } from '#tests/identity/browser.ts';
import { png } from '#tests/identity/accounts/pictures.ts';
import { shapeOf, tracesOf } from './traces.ts';
import { creditStream } from '#services/credits/account/events.ts';

const canaries = {
  name: 'Zephyrine Quillfeather',
  email: 'zephyrine.quillfeather@example.com',
  challenge: 'Should the marmalade observatory charge an entrance fee?',
  context: 'The lighthouse keeper Thaddeus owns a third of it.',
  objective: 'Eleven hundred visitors by Candlemas',
  constraint: 'No brass bands within the rotunda',
  file: 'Takings of the observatory in Michaelmas',
  note: 'A gesture for the spilled marmalade',
  picture: 'Portrait by Wilhelmina Osgood',
};

async function leave(app: TestApp, person: Person, more: object = {}): Promise<Response> {
  return app.call('/users/me', {
    method: 'DELETE',
    token: person.token,
    body: { password: testPassword, ...more },
  });
}

async function give(app: TestApp, person: Person, credits = 200): Promise<void> {
  const { sealer } = app.core;
  await sealer.createDataKey('account', person.userId, person.userId);
  const stream = creditStream(person.userId);
  const note = await sealer.seal(person.userId, { stream, field: 'note' }, canaries.note);
  await app.core.ledger.give({
    userId: person.userId,
    credits,
    source: 'other',
    reason: 'operator',
    actor: 'operator:test',
    commandId: uuidV5(person.userId, 'given'),
    note,
  });
}

async function signUpAs(app: TestApp, name: string, email: string): Promise<Person> {
  const { token, user } = await app.data<{ token: string; user: { id: string } }>('/auth/signup', {
    body: { name, email, password: testPassword },
  });
  return { token, userId: user.id, email };
}

async function drafted(app: TestApp, { token }: Person): Promise<Optimization> {
  return app.data<Optimization>('/optimizations', {
    token,
    key: newId('opt'),
    body: {
      challenge: canaries.challenge,
      context: canaries.context,
      objectives: [canaries.objective],
      constraints: [canaries.constraint],
      files: [{ name: 'takings.csv', text: canaries.file }],
      challenge_type: 'other',
      strategy: 'fast',
    },
  });
}

/** Encoding again would drop the canary, so it goes straight into the row. */
async function withPicture(app: TestApp, { userId, token }: Person): Promise<void> {
  const stored = await app.call('/users/me/avatar', {
    method: 'PUT',
    token,
    headers: { 'content-type': 'image/png' },
    raw: Uint8Array.from(png),
  });
  expect(stored.status).toBe(200);
  await app.database.pool.query('update avatar set bytes = bytes || $2 where user_id = $1', [
    userId,
    Buffer.from(canaries.picture),
  ]);
}

async function mailed(app: TestApp, { userId, email }: Person): Promise<void> {
  await app.core.queueMail({
    userId,
    to: email,
    kind: 'test',
    content: { subject: canaries.challenge, paragraphs: [canaries.context] },
  });
}

/** As if a worker had sent the queued emails. */
async function mailsLeave(app: TestApp, userId: string): Promise<void> {
  await app.database.pool.query(
    `update mail set status = 'sent', sealed = null, ended_at = now()
     where user_id = $1 and status = 'queued'`,
    [userId],
  );
}

async function isGone(app: TestApp, userId: string): Promise<boolean> {
  const { rowCount } = await app.database.pool.query('select from users where id = $1', [userId]);
  return rowCount === 0;
}

describe('the erasure of a user with data everywhere', () => {
  let council: TestCouncil;
  let person: Person;
  let other: Person;
  let texts: string[];
  let beforeOther: unknown;
  let settings: Record<string, string>;

  beforeAll(async () => {
    council = await createTestCouncil();
    settings = {
      DATABASE_URL: council.database.appUrl,
      MIGRATE_DATABASE_URL: council.database.ownerUrl,
      DATA_KEY: Buffer.alloc(32, 7).toString('base64'),
      JWT_KEYS: Buffer.alloc(32, 8).toString('base64'),
    };
    person = await signUpAs(council, canaries.name, canaries.email);
    other = await council.signUp();
    for (const one of [person, other]) {
      await give(council, one);
      const { id } = await drafted(council, one);
      await council.call(`/optimizations/${id}/process`, { method: 'POST', token: one.token });
      const run = await council.ended(one, id);
      expect(run.status).toBe('completed');
      texts = [...textsOf(run), ...Object.values(canaries)];
      await drafted(council, one);
      await withPicture(council, one);
      await mailed(council, one);
    }
    await readModelsAreCurrent(council);
    beforeOther = await everythingOf(council, other);
  });
  afterAll(async () => council.close());

  test('before an erasure, a user is readable only in the account and the picture', async () => {
    const { ownerPool } = council.database;
    const own = [canaries.name, canaries.email];
    const found = await tracesOf(ownerPool, own);
    expect(new Set(found.map(({ table }) => table))).toEqual(new Set(['public.users']));
    const pictures = await tracesOf(ownerPool, [canaries.picture]);
    expect(new Set(pictures.map(({ table }) => table))).toEqual(new Set(['public.avatar']));
    expect(
      await tracesOf(
        ownerPool,
        texts.filter((text) => !Object.values(canaries).includes(text)),
      ),
    ).toEqual([]);
  });

  test('an erasure signs the user out at once and then completes', async () => {
    const response = await leave(council, person);
    await mailsLeave(council, person.userId);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { id: person.userId, deleted: true } });
    expect(response.headers.get('set-cookie')).toMatch(/sf_refresh=;.*Max-Age=0/);
    expect((await council.call('/users/me', { token: person.token })).status).toBe(401);
    await eventually('the erasure', async () => isGone(council, person.userId));
  });

  test('an erased user can be read in no table and in no encoding', async () => {
    // The other user asked the same question and keeps their own picture and name.
    const found = await tracesOf(council.database.ownerPool, texts);
    expect(found.filter(({ row }) => !row.includes(other.userId))).toEqual([]);
    expect(found.map(({ table }) => table)).toEqual(['public.avatar']);
    expect(await tracesOf(council.database.ownerPool, [canaries.name, canaries.email])).toEqual([]);
  });

  test('an erased user can be read in no line of the log', () => {
    const lines = council.logged.join('\n');
    for (const text of texts) expect(lines).not.toContain(text);
  });

  test('an erasure leaves a ledger, a chain and read models that verify', async () => {
    for (const args of [
      ['events', 'verify'],
      ['credits', 'verify'],
      ['projections', 'verify', '--all'],
    ]) {
      const { code, stdout, stderr } = await operate(settings, ...args);
      expect([args.join(' '), code, code === 0 ? '' : stdout + stderr]).toEqual([
        args.join(' '),
        0,
        '',
      ]);
    }
  });

  test('an erased user does not come back when every read model is rebuilt', async () => {
    const { ownerPool } = council.database;
    for (const projection of projections) await rebuild(ownerPool, projection);
    const found = await tracesOf(ownerPool, texts);
    expect(found.map(({ table }) => table)).toEqual(['public.avatar']);
    const { rows } = await ownerPool.query<{ hidden: boolean; status: string }>(
      'select distinct hidden, status from optimization_list where user_id = $1 order by status',
      [person.userId],
    );
    expect(rows).toEqual([
      { hidden: true, status: 'cancelled' },
      { hidden: true, status: 'completed' },
    ]);
  });

  test('an erasure leaves only an id in the ledger, the audit log and the list of erasures', async () => {
    expect(Object.keys(await shapeOf(council.database.ownerPool, person.userId))).toEqual([
      'public.audit_log',
      'public.credit_account',
      'public.credit_analytics',
      'public.credit_history',
      'public.emt_messages',
      'public.emt_streams',
      'public.erasure',
      'public.optimization_list',
      'public.run_usage',
      'public.stream_snapshot',
    ]);
    const { rows } = await council.database.pool.query<{ action: string; actor: string }>(
      `select actor, action from audit_log where subject = $1 and action like 'account.eras%'
       order by entry_id`,
      [person.userId],
    );
    expect(rows).toEqual([
      { actor: person.userId, action: 'account.erasure-asked' },
      { actor: 'system:erasure', action: 'account.erased' },
    ]);
  });

  test('the account of an erased user refuses every command', async () => {
    await expect(
      council.core.ledger.give({
        userId: person.userId,
        credits: 5,
        source: 'bonus',
        reason: 'operator',
        actor: 'operator:test',
        commandId: uuidV5(person.userId, 'too late'),
      }),
    ).rejects.toMatchObject({ status: 409, code: 'account-closed' });
    await expect(
      council.core.sealer.createDataKey('run', newId('opt'), person.userId),
    ).rejects.toThrow('erased');
  });

  test('an erasure does not touch the data of another user', async () => {
    await readModelsAreCurrent(council);
    expect(await everythingOf(council, other)).toEqual(beforeOther);
    expect((await council.call('/users/me', { token: other.token })).status).toBe(200);
  });

  test('an erased user can sign up again as a new user', async () => {
    const again = await signUpAs(council, canaries.name, canaries.email);
    expect(again.userId).not.toBe(person.userId);
    expect(await council.data('/credits/balance', { token: again.token })).toMatchObject({
      available_credits: 0,
      total_credits: 0,
    });
    const list = await council.call('/optimizations', { token: again.token });
    expect(await list.json()).toMatchObject({ data: [], pagination: { total: 0 } });
  });
});

/** Whole sentences of a run, also from the models' answers. */
function textsOf(run: Optimization): string[] {
  // The addresses of prices and the words of prepared cases are not the user's.
  const opened = JSON.stringify({ ...run.council, schedule: null, standIn: null });
  const sentences = [...opened.matchAll(/"((?:[^"\\]|\\.){40,})"/g)].map((match) => match[1] ?? '');
  expect(sentences.length).toBeGreaterThan(10);
  return [...new Set([run.title, run.result?.decision ?? '', ...sentences.slice(0, 40)])];
}

/** Analytics lag behind the events, so the comparison waits until they are current. */
async function readModelsAreCurrent({ database }: TestApp): Promise<void> {
  await eventually('the read models', async () =>
    (await projectionStatus(database.pool, projections)).every(({ pending }) => pending === 0),
  );
}

/** Every row that names a user, without the time at which their session was last used. */
async function everythingOf(app: TestApp, { userId }: Person): Promise<unknown> {
  const rows = await tracesOf(app.database.ownerPool, [userId]);
  return rows.map(({ table, row }) => `${table} ${row}`).toSorted();
}

describe('the request for an erasure', () => {
  let app: TestApp;
  let erasure: ErasureDependencies;
  beforeAll(async () => {
    app = await createTestApp();
    erasure = erasureOf(app.core);
  });
  afterAll(async () => app.close());

  async function provedLongAgo({ userId }: Person): Promise<void> {
    await app.database.pool.query(
      `update sessions set authenticated_at = now() - interval '5 minutes 1 second'
       where user_id = $1`,
      [userId],
    );
  }

  test('a request for an erasure takes the password, whenever the session began', async () => {
    const person = await app.signUp();
    await provedLongAgo(person);
    const wrong = await leave(app, person, { password: 'Not-The-Right-1' });
    expect([wrong.status, await wrong.json()]).toMatchObject([403, { code: 'wrong-password' }]);
    expect((await leave(app, person)).status).toBe(200);
  });

  test('a request for an erasure without a password needs a session that was proved in the last five minutes', async () => {
    const person = await app.signUp();
    const ask = async () => app.call('/users/me', { method: 'DELETE', token: person.token });
    await provedLongAgo(person);
    const late = await ask();
    expect([late.status, await late.json()]).toMatchObject([
      403,
      { code: 'reauthentication-required', message: 'Enter your password to continue.' },
    ]);
    await app.data('/auth/reauthenticate', {
      token: person.token,
      body: { password: testPassword },
    });
    expect((await ask()).status).toBe(200);
  });

  test('a request for an erasure ends every session and link at once and refuses every sign-in', async () => {
    const person = await app.signUp();
    const login = { email: person.email, password: testPassword };
    const elsewhere = await app.data<{ token: string }>('/auth/login', { body: login });
    await app.database.pool.query(
      `insert into auth_link (id, user_id, kind, token_hash, email, expires_at)
       values ('lnk_1', $1, 'undo', '\\x01', 'old@example.com', now() + interval '7 days')`,
      [person.userId],
    );
    await leave(app, person);
    for (const token of [person.token, elsewhere.token])
      expect((await app.call('/users/me', { token })).status).toBe(401);
    const again = await app.call('/auth/login', { body: login });
    expect([401, 409]).toContain(again.status);
    const { rows } = await app.database.pool.query(
      `select voided_at is not null as voided from auth_link where user_id = $1`,
      [person.userId],
    );
    expect(rows).toEqual([{ voided: true }]);
  });

  test('two concurrent requests for an erasure count as one', async () => {
    const person = await app.signUp();
    const answers = await Promise.all([1, 2, 3].map(async () => leave(app, person)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toContain(200);
    expect(statuses.every((status) => status === 200 || status === 401)).toBe(true);
    const { rows } = await app.database.pool.query(
      `select (select count(*)::int from audit_log
               where subject = $1 and action = 'account.erasure-asked') as asked,
              (select count(*)::int from graphile_worker.jobs where key = 'erase:' || $1) as jobs`,
      [person.userId],
    );
    expect(rows).toEqual([{ asked: 1, jobs: 1 }]);
    expect((await leave(app, person)).status).toBe(401);
  });

  test('a job alone erases no user who has not asked', async () => {
    const person = await app.signUp();
    await expect(eraseAccount(erasure, person.userId)).rejects.toThrow('was not requested');
    expect((await app.call('/users/me', { token: person.token })).status).toBe(200);
    expect(await askForErasure(erasure, { userId: newId('usr'), actor: 'test' })).toBe(false);
  });
});

describe('a killed erasure job', () => {
  let app: TestApp;
  let erasure: ErasureDependencies;
  let wholeShape: Record<string, number>;
  beforeAll(async () => {
    app = await createTestApp();
    erasure = erasureOf(app.core);
    wholeShape = await erasedAfter(async () => undefined);
  });
  afterAll(async () => app.close());

  /** A user with a little of everything asks to be erased; `first` is what the killed job did. */
  async function erasedAfter(
    first: (userId: string) => Promise<void>,
  ): Promise<Record<string, number>> {
    const person = await app.signUp();
    await give(app, person);
    const runs = [await drafted(app, person), await drafted(app, person)];
    await app.core.ledger.reserve({
      userId: person.userId,
      runId: runs[0]?.id ?? '',
      credits: 4,
      month: '2026-11',
      limit: -1,
      actor: person.userId,
    });
    await withPicture(app, person);
    await mailed(app, person);
    await leave(app, person);
    await mailsLeave(app, person.userId);
    await first(person.userId);
    expect(await eraseAccount(erasure, person.userId)).toBe('erased');
    expect(await isGone(app, person.userId)).toBe(true);
    expect(await tracesOf(app.database.ownerPool, [person.email])).toEqual([]);
    const { rows } = await app.database.pool.query<{ held: number }>(
      'select held::int from credit_account where user_id = $1',
      [person.userId],
    );
    expect(rows).toEqual([{ held: 0 }]);
    const { 'graphile_worker._private_jobs': _, ...shape } = await shapeOf(
      app.database.ownerPool,
      person.userId,
    );
    return shape;
  }

  test.each(erasureSteps.map(({ name }, index) => [name, index + 1] as const))(
    'a job that is killed after %s starts again with the same result',
    async (_name, count) => {
      const shape = await erasedAfter(async (userId) => {
        for (const { run } of erasureSteps.slice(0, count)) await run(erasure, userId);
      });
      expect(shape).toEqual(wholeShape);
    },
  );

  test('a job that is killed after every step ends with the same result', async () => {
    const shape = await erasedAfter(async (userId) => {
      for (const [index] of erasureSteps.entries())
        for (const { run } of erasureSteps.slice(0, index + 1)) await run(erasure, userId);
    });
    expect(shape).toEqual(wholeShape);
  });

  test('two concurrent jobs of one user end with the same result', async () => {
    const shape = await erasedAfter(async (userId) => {
      await Promise.all([1, 2, 3].map(async () => eraseAccount(erasure, userId)));
    });
    expect(shape).toEqual(wholeShape);
  });

  test('the sweep of erasures finds a job that never runs again, and no other user', async () => {
    const { pool } = app.database;
    const person = await app.signUp();
    await leave(app, person);
    await pool.query(`select graphile_worker.remove_job('erase:' || $1)`, [person.userId]);
    expect(await sweepErasures(pool)).toBe(1);
    expect(await sweepErasures(pool)).toBe(0);
    await eraseAccount(erasure, person.userId);
    await pool.query(`select graphile_worker.remove_job('erase:' || $1)`, [person.userId]);
    expect(await sweepErasures(pool)).toBe(0);
  });
});

describe('an erasure that has to wait', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => app.close());

  test('a step that has to wait postpones the job, and no later step runs', async () => {
    const person = await app.signUp();
    await leave(app, person);
    const { pool } = app.database;
    const log = createLog({ level: 'silent', process: 'test' });
    const waiting = { ...erasureOf(app.core), endRuns: async () => false, log };
    expect(await eraseAccount(waiting, person.userId)).toEqual({ waitsFor: 'end-runs' });
    await pool.query(`select graphile_worker.remove_job('erase:' || $1)`, [person.userId]);
    const task = erasureTasks(waiting)['erase-account'];
    await Promise.resolve(Reflect.apply(task!, null, [{ userId: person.userId }, {}]));
    const { rows } = await pool.query(
      `select run_at > now() as later from graphile_worker.jobs where key = 'erase:' || $1`,
      [person.userId],
    );
    expect(rows).toEqual([{ later: true }]);
    expect(await isGone(app, person.userId)).toBe(false);
    const { rowCount } = await pool.query('select from erasure where user_id = $1', [
      person.userId,
    ]);
    expect(rowCount).toBe(0);
  });

  test('an erasure waits for its own email, for ten minutes at most', async () => {
    const person = await app.signUp();
    const { pool } = app.database;
    await pool.query('update users set email_confirmed_at = now() where id = $1', [person.userId]);
    await leave(app, person);
    await askForErasure(erasureOf(app.core), { userId: person.userId, actor: 'test' });
    const mails = await mailsTo(app, person.email);
    expect(mails).toMatchObject([
      { kind: 'account-erasing', subject: 'Your account is being deleted' },
    ]);
    expect(mails[0]?.notAfter?.getTime()).toBeLessThanOrEqual(Date.now() + 600_000);
    const erasure = erasureOf(app.core);
    expect(await eraseAccount(erasure, person.userId)).toEqual({ waitsFor: 'notify' });
    expect(await isGone(app, person.userId)).toBe(false);
    const later = { ...erasure, clock: () => Date.now() + 601_000 };
    expect(await eraseAccount(later, person.userId)).toBe('erased');
  });

  test('an erasure sends no email to an unconfirmed address', async () => {
    const person = await app.signUp();
    await leave(app, person);
    expect(await mailsTo(app, person.email)).toEqual([]);
    expect(await eraseAccount(erasureOf(app.core), person.userId)).toBe('erased');
  });

  test('an erasure completes once its email is sent', async () => {
    const person = await app.signUp();
    const { pool } = app.database;
    await pool.query('update users set email_confirmed_at = now() where id = $1', [person.userId]);
    await leave(app, person);
    await mailsLeave(app, person.userId);
    expect(await eraseAccount(erasureOf(app.core), person.userId)).toBe('erased');
  });

  test('an erasure waits for a hold whose run has not settled yet', async () => {
    const person = await app.signUp();
    await give(app, person, 20);
    await leave(app, person);
    const runId = newId('opt');
    const hold = { userId: person.userId, runId, credits: 4, month: '2026-11', limit: -1 };
    await app.core.ledger.reserve({ ...hold, actor: person.userId });
    const erasure = erasureOf(app.core);
    expect(await eraseAccount(erasure, person.userId)).toEqual({ waitsFor: 'close-account' });
    await app.core.ledger.settle({
      userId: person.userId,
      runId,
      settlement: { kind: 'release' },
      actor: 'test',
    });
    expect(await eraseAccount(erasure, person.userId)).toBe('erased');
  });
});

test('a run that is under way when its user leaves ends, settles and is erased', async () => {
  const council = await createTestCouncil();
  try {
    const person = await council.signUp();
    await give(council, person, 100);
    const { id } = await council.start(person, {
      challenge: canaries.challenge,
      context: canaries.context,
      challenge_type: 'other',
      strategy: 'balanced',
    });
    expect((await leave(council, person)).status).toBe(200);
    await eventually('the erasure', async () => isGone(council, person.userId));
    const { rows } = await council.database.pool.query<Record<string, unknown>>(
      `select r.status, r.hidden, a.held::int,
         (a.available + a.consumed)::int as accounted
       from optimization_list r join credit_account a using (user_id) where r.run_id = $1`,
      [id],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ hidden: true, held: 0, accounted: 100 });
    expect(['cancelled', 'completed']).toContain(rows[0]?.['status']);
    const found = await tracesOf(council.database.ownerPool, [canaries.challenge, person.email]);
    expect(found).toEqual([]);
  } finally {
    await council.close();
  }
});

describe('a restored backup from before an erasure', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => app.close());

  const log = createLog({ level: 'silent', process: 'test' });
  const urls = () => ({
    ownerUrl: app.database.ownerUrl,
    appUrl: app.database.appUrl,
    auditorRole: null,
  });

  test('a restored user is erased again before any request is answered, whether or not a job runs', async () => {
    const { ownerPool } = app.database;
    const person = await app.signUp();
    const other = await app.signUp();
    for (const one of [person, other]) {
      await give(app, one);
      await drafted(app, one);
      await withPicture(app, one);
      await mailed(app, one);
    }
    const othersKeys = await ownerPool.query('select * from data_key where user_id = $1', [
      other.userId,
    ]);
    // The restored database: the user exists, and the list of erasures was copied to it.
    await ownerPool.query(
      `insert into erasure (key_id, kind, user_id) values ($1, 'account', $1)`,
      [person.userId],
    );
    await prepareDatabase(urls(), 'local', log);
    expect(await tracesOf(ownerPool, [person.email])).toEqual([]);
    const { rows } = await ownerPool.query(
      `select (select count(*)::int from data_key where user_id = $1) as keys,
              (select count(*)::int from erasure where user_id = $1 and kind = 'run') as runs,
              (select count(*)::int from graphile_worker.jobs where key = 'erase:' || $1) as jobs`,
      [person.userId],
    );
    expect(rows).toEqual([{ keys: 0, runs: 1, jobs: 1 }]);
    expect(await eraseAccount(erasureOf(app.core), person.userId)).toBe('erased');
    expect(await applyErasures(ownerPool)).toEqual([]);
    const after = await ownerPool.query('select * from data_key where user_id = $1', [
      other.userId,
    ]);
    expect(after.rows).toEqual(othersKeys.rows);
    expect((await app.call('/users/me', { token: other.token })).status).toBe(200);
  });

  test('a restored backup loses the text of an erased run and nothing else of its user', async () => {
    const { ownerPool } = app.database;
    const person = await app.signUp();
    const [gone, kept] = [await drafted(app, person), await drafted(app, person)];
    await ownerPool.query(`insert into erasure (key_id, kind, user_id) values ($1, 'run', $2)`, [
      gone.id,
      person.userId,
    ]);
    await prepareDatabase(urls(), 'local', log);
    const { rows } = await ownerPool.query<{ key_id: string }>(
      `select key_id from data_key where user_id = $1 and kind = 'run'`,
      [person.userId],
    );
    expect(rows).toEqual([{ key_id: kept.id }]);
    expect((await app.call('/users/me', { token: person.token })).status).toBe(200);
  });
});
