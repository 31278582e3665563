import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examine } from '#services/cli/doctor/doctor.ts';
import { readEnv } from '#services/platform/process/env.ts';
import type { Env } from '#services/platform/process/env.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { roleOf } from '#tests/support/postgres.ts';
import { commandLine, temporaryFolder } from '#tests/support/processes/processes.ts';
import { give } from '#tests/support/processes/service.ts';

let app: TestApp;
let env: Env;
let holder: string;
const folder = temporaryFolder();

beforeAll(async () => {
  app = await createTestApp();
  const { appUrl, ownerUrl, auditorUrl } = app.database;
  ({ userId: holder } = await app.signUp());
  await give(app, holder, 50);
  env = {
    ...readEnv({ DATABASE_URL: appUrl, MIGRATE_DATABASE_URL: ownerUrl }),
    auditorRole: roleOf(auditorUrl),
    dataDir: folder.path,
    dataKeys: app.context.env.dataKeys,
    jwtKeys: app.context.env.jwtKeys,
  };
});
afterAll(async () => {
  folder.remove();
  await app.close();
});

/** What is not well, as check and sentence. */
async function complaints(changed: Partial<Env> = {}): Promise<string[]> {
  await using resources = new AsyncDisposableStack();
  const found = await examine({ ...env, ...changed }, resources);
  return found
    .filter(({ state }) => state !== 'ok')
    .map(({ check, state, what }) => `${state} ${check}: ${what}`);
}

const noWorker = 'warning workers: no worker is running, so jobs and sweeps wait';
const ownerRuns = async (...statements: string[]) => {
  for (const statement of statements) await app.database.ownerPool.query(statement);
};

test('a healthy installation has no problem, and says that no worker runs', async () => {
  expect(await complaints()).toEqual([noWorker]);
});

test('every fault of the database is named, each by its own check', async () => {
  const { ownerPool, appUrl, auditorUrl, functionName } = app.database;
  const [role, auditor] = [roleOf(appUrl), roleOf(auditorUrl)];
  const { rows } = await ownerPool.query<{ name: string; hash: string }>(
    'select name, hash from migration order by name desc limit 1',
  );
  const newest = rows[0]!;
  const { rows: models } = await ownerPool.query<{ definition: string }>(
    `select definition from read_model where name = 'run_outcome'`,
  );
  const definition = models[0]?.definition ?? '';
  await ownerRuns(
    `delete from migration where name = '${newest.name}'`,
    `insert into migration values ('9999-later.sql', 'x')`,
    `update read_model set definition = 'old' where name = 'run_outcome'`,
    `insert into projection_set_aside (name, stream_id, stream_position, message_id, message_type,
       sqlstate, error) values ('run_usage', 'optimization-opt_bad', 3, 'm', 'CallSucceeded', '22P02', 'x')`,
    `revoke execute on function ${functionName} from ${role}`,
    `grant delete on chain_anchor to ${role}`,
    `grant insert on audit_log to ${auditor}`,
    `select graphile_worker.add_job('send-refund', '{}', max_attempts := 1)`,
    `update graphile_worker._private_jobs set attempts = 1`,
    `select graphile_worker.add_job('send-mail', '{}', run_at := now() - interval '1 hour')`,
    `insert into stripe_event (id, type, created_at, received_at)
       values ('evt_1', 'invoice.paid', now(), now() - interval '20 minutes')`,
  );
  const found = await complaints();
  await ownerRuns(
    `insert into migration values ('${newest.name}', '${newest.hash}')`,
    `delete from migration where name = '9999-later.sql'`,
    'delete from projection_set_aside',
    `grant execute on function ${functionName} to ${role}`,
    `revoke delete on chain_anchor from ${role}`,
    `revoke insert on audit_log from ${auditor}`,
    'delete from graphile_worker._private_jobs',
    'delete from stripe_event',
  );
  await ownerRuns(`update read_model set definition = '${definition}' where name = 'run_outcome'`);
  expect(found.toSorted()).toEqual(
    [
      noWorker,
      `wrong migrations: not applied: ${newest.name}`,
      'warning migrations: of a newer version: 9999-later.sql',
      `wrong migrations: the app may not execute the append function ${functionName}`,
      'wrong read models: run_outcome is not complete',
      'wrong read models: run_usage has set aside optimization-opt_bad since CallSucceeded at 3 (22P02)',
      `wrong rights of the app: ${role} may change rows of chain_anchor`,
      `wrong rights of the auditor: ${auditor} may write audit_log`,
      'wrong jobs: 1 job of send-refund failed for good',
      'warning jobs: a job of send-mail has waited for 60 min',
      'wrong emails and webhooks: 1 webhook event not processed, the oldest for 20 min',
    ].toSorted(),
  );
});

test('a hold that is older than a run lasts is named, and a younger one is not', async () => {
  const runId = 'opt_stuck';
  const [month, limit] = ['2026-11', -1];
  await app.core.ledger.reserve({ userId: holder, runId, credits: 5, month, limit, actor: holder });
  expect(await complaints()).toEqual([noWorker]);
  const at = new Date(Date.now() - 7 * 3_600_000).toISOString();
  await app.database.ownerPool.query(
    `update emt_messages set message_metadata = message_metadata || jsonb_build_object('occurredAt', $1::text)
     where message_type = 'CreditsReserved'`,
    [at],
  );
  expect(await complaints()).toContain(
    `wrong holds: ${runId} has held credits since ${at}, longer than a run lasts`,
  );
});

test('a DATA_KEY that does not open the data keys is named', async () => {
  const found = await complaints({ dataKeys: [randomBytes(32)] });
  expect(found).toContainEqual(
    expect.stringMatching(/^wrong DATA_KEY: 1 key set; only 0 of the [1-9]\d* data keys/),
  );
});

test('an unreachable database, mail server and Stripe are problems, and no secret is printed', async () => {
  const settings = {
    DATABASE_URL: 'postgres://app:canary-one@127.0.0.1:1/none',
    SMTP_URL: 'smtp://user:canary-two@127.0.0.1:1',
    DATA_KEY: randomBytes(32).toString('base64'),
    JWT_KEYS: randomBytes(32).toString('base64'),
    DATA_DIR: folder.path,
  };
  const { code, stdout, stderr } = await commandLine(settings, 'doctor');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^NOT {2}database: no connection to 127\.0\.0\.1:1 \(ECONNREFUSED\); /m);
  expect(stdout).toMatch(/^NOT {2}mail server: 127\.0\.0\.1:1 .*ECONN/m);
  expect(stdout).toMatch(/^ok {3}disk: /m);
  expect(stderr).toContain('Not checked without the database: database, migrations');
  expect(stdout + stderr).not.toMatch(/canary/);
});

test('doctor neither creates a database nor migrates one', async () => {
  const found = await complaints({ databaseUrl: null, migrateDatabaseUrl: null });
  expect(found).toContain(`warning database: there is no database in ${folder.path} yet`);
});
