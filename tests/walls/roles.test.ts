import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPool } from '#db/connect.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { roleOf } from '#tests/support/postgres.ts';

let database: TestDatabase;
let role: string;
beforeAll(async () => {
  database = await createTestDatabase();
  role = roleOf(database.appUrl);
});
afterAll(async () => database.drop());

const reads = 'select';
const adds = 'select, insert';
const changes = 'select, insert, update, delete';

/** The application's rights on each table. A new table must be added here. */
const rights: Readonly<Record<string, string>> = {
  // Written by the append function alone, which runs as the owner.
  append_function: reads,
  emt_messages: reads,
  emt_streams: reads,
  stream_snapshot: reads,
  credit_account: reads,
  credit_history: reads,
  credit_ledger: reads,
  optimization_list: reads,
  run_outcome: reads,
  cash_ledger: reads,
  cash_refund: reads,
  paid_lot: reads,
  read_model: reads,
  // Written by migrations.
  database_mode: reads,
  epoch: reads,
  migration: reads,
  dmb_migrations: '',
  emt_processors: '',
  emt_projections: '',
  // Kept for ever.
  audit_log: adds,
  balance_transaction: adds,
  chain_anchor: adds,
  chain_anchor_head: adds,
  erasure: adds,
  platform_call: adds,
  onboarding_bonus: 'select, insert, update (granted_at)',
  // Announced and withdrawn by the owner.
  policy_change: 'select, update (mailed_to), update (mailed_at)',
  // Rows that are created and deleted.
  api_key: changes,
  asked_run: changes,
  auth_link: changes,
  avatar: changes,
  bank_refund: changes,
  closed_account_check: changes,
  community_figures: changes,
  contact_message: changes,
  credit_analytics: changes,
  customer_introduction: changes,
  data_key: changes,
  webhook_poll: changes,
  dispute: changes,
  fraud_warning: changes,
  idempotency_key: changes,
  live_text: changes,
  mail: changes,
  model_costs: changes,
  next_step_done: changes,
  onboarding: changes,
  outcome_question: changes,
  plan: changes,
  process_heartbeat: changes,
  projection_checkpoint: changes,
  projection_set_aside: changes,
  purchase: changes,
  rate_limit: changes,
  recipe: changes,
  recipe_use: changes,
  reconciliation: changes,
  refresh_token: changes,
  run_usage: changes,
  service_token: changes,
  service_token_claim: changes,
  service_token_day: changes,
  sessions: changes,
  share_link: changes,
  stripe_customer: changes,
  stripe_event: changes,
  users: changes,
};

/**
 * All that an auditor does not read. Whole tables, and columns of tables whose other columns are read. A new
 * table with a secret, or with what says who a person is, must be added here.
 */
const hiddenFromAuditors: Readonly<Record<string, 'all' | readonly string[]>> = {
  data_key: 'all',
  auth_link: 'all',
  refresh_token: 'all',
  asked_run: 'all',
  idempotency_key: 'all',
  purchase: ['checkout_url', 'receipt_url'],
  rate_limit: 'all',
  avatar: 'all',
  api_key: ['key_hash', 'name'],
  onboarding_bonus: ['address_hash'],
  service_token: ['token_hash'],
  sessions: ['address', 'device'],
  share_link: ['sealed_token', 'token_hash'],
  users: ['avatar', 'email', 'name', 'password_hash', 'signup_browser'],
  // Tables of unused parts of emmett.
  dmb_migrations: 'all',
  emt_processors: 'all',
  emt_projections: 'all',
};

test('the application has these rights, and none to truncate a table or add a trigger', async () => {
  expect(await rightsOf(role)).toEqual(rights);
});

describe('an auditor', () => {
  let auditor: pg.Pool;
  beforeAll(() => {
    auditor = createPool(database.auditorUrl, {
      max: 1,
      applicationName: 'auditor',
      onError: () => undefined,
    });
  });
  afterAll(async () => auditor.end());

  test('an auditor reads every table but the secrets and the identities', async () => {
    const { rows } = await database.ownerPool.query<{ name: string; columns: string[] }>(
      `select relname as name, array_agg(attname::text order by attname) as columns
       from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
         and not relispartition
       group by relname`,
    );
    const hidden: Record<string, 'all' | string[]> = {};
    for (const { name, columns } of rows) {
      const refused: string[] = [];
      for (const column of columns)
        if ((await codeOf(auditor, `select ${column} from ${name} limit 0`)) !== 'done')
          refused.push(column);
      if (refused.length > 0) hidden[name] = refused.length === columns.length ? 'all' : refused;
    }
    expect(hidden).toEqual(hiddenFromAuditors);
  });

  test('an auditor writes no table, whether by a right or by a function', async () => {
    const held = await rightsOf(roleOf(database.auditorUrl));
    for (const [table, each] of Object.entries(held)) {
      expect([table, each.replaceAll(/select(?: \(\w+\))?(?:, )?/g, '')]).toEqual([table, '']);
      for (const statement of [
        `insert into ${table} default values`,
        `delete from ${table}`,
        `truncate ${table}`,
        `lock table ${table} in share mode`,
      ])
        expect([statement, await codeOf(auditor, statement)]).toEqual([
          statement,
          expect.stringMatching(/^(?:42501|55000|42809)$/),
        ]);
    }
  });

  test('an auditor can execute no function that writes', async () => {
    const { rows } = await database.ownerPool.query<{
      name: string;
      definer: boolean;
      may: boolean;
    }>(
      `select format('%s.%s', nspname, proname) as name, prosecdef as definer,
         has_function_privilege($1, p.oid, 'execute')
           and has_schema_privilege($1, n.oid, 'usage') as may
       from pg_proc p join pg_namespace n on n.oid = pronamespace
       where nspname in ('public', 'graphile_worker')`,
      [roleOf(database.auditorUrl)],
    );
    const executable = rows.filter(({ may }) => may);
    // The others run with the auditor's own rights, which write nothing.
    expect(executable.filter(({ definer }) => definer)).toEqual([]);
    expect(executable.filter(({ name }) => name.startsWith('graphile_worker.'))).toEqual([]);
    const append = rows.find(({ name }) => name === `public.${database.functionName}`);
    expect(append).toMatchObject({ definer: true, may: false });
    const emmett = `select emt_append_to_stream(array['m'], array['{}'::jsonb],
      array['{}'::jsonb], array['1'], array['T'], array['E'], 's-1', 's', 0, 'emt:default')`;
    expect(await codeOf(auditor, emmett)).toBe('42501');
  });

  test('an auditor owns nothing, creates nothing that lasts, and takes no other role', async () => {
    expect(await standingOf(roleOf(database.auditorUrl))).toEqual(powerless);
  });
});

/** The rights of a role on each table and view. */
async function rightsOf(name: string): Promise<Record<string, string>> {
  const { rows } = await database.ownerPool.query<{ name: string; rights: string }>(
    `select relname as name, concat_ws(', ', (
       select string_agg(lower(privilege), ', ' order by n)
       from unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES',
         'TRIGGER', 'MAINTAIN']) with ordinality as p (privilege, n)
       where has_table_privilege($1, c.oid, privilege)), (
       select string_agg(format('%s (%s)', lower(privilege), attname), ', ' order by n, attnum)
       from pg_attribute, unnest(array['SELECT', 'INSERT', 'UPDATE', 'REFERENCES'])
         with ordinality as p (privilege, n)
       where attrelid = c.oid and attnum > 0 and not attisdropped
         and has_column_privilege($1, c.oid, attnum, privilege)
         and not has_table_privilege($1, c.oid, privilege))) as rights
     from pg_class c
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
       and not relispartition`,
    [name],
  );
  return Object.fromEntries(rows.map((row) => [row.name, row.rights]));
}

/** What a role may do beside reading and writing tables. */
async function standingOf(name: string): Promise<unknown> {
  const { rows } = await database.ownerPool.query<Record<string, unknown>>(
    `select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication,
       has_schema_privilege(oid, 'public', 'create') as creates,
       has_database_privilege(oid, current_database(), 'create') as creates_schemas,
       (select count(*)::integer from pg_class where relowner = r.oid) as owns,
       (select count(*)::integer from pg_auth_members where member = r.oid) as is_member_of
     from pg_roles r where rolname = $1`,
    [name],
  );
  return rows[0];
}

const powerless = {
  rolsuper: false,
  rolcreaterole: false,
  rolcreatedb: false,
  rolbypassrls: false,
  rolreplication: false,
  creates: false,
  creates_schemas: false,
  owns: 0,
  is_member_of: 0,
};

test('the application owns nothing, creates nothing, and takes no other role', async () => {
  expect(await standingOf(role)).toEqual(powerless);
});

describe('the rights of the application', () => {
  const kept = Object.keys(rights).filter((table) => rights[table] !== changes);
  test.each(kept)('the application cannot change the history in %s', async (table) => {
    const { rows } = await database.ownerPool.query<{ name: string }>(
      `select attname as name from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and attidentity = '' and not attisdropped limit 1`,
      [table],
    );
    const column = rows[0]?.name ?? '';
    const statements = [
      `update ${table} set ${column} = ${column}`,
      `delete from ${table}`,
      `truncate ${table}`,
      `truncate ${table} cascade`,
      `merge into ${table} using (select 1) as s on true when matched then delete`,
      `drop table ${table}`,
      `alter table ${table} disable trigger all`,
      `lock table ${table} in access exclusive mode`,
      `create rule r as on insert to ${table} do instead nothing`,
    ];
    // No role can write a view over several tables.
    for (const statement of statements)
      expect([statement, await codeOf(database.pool, statement)]).toEqual([
        statement,
        expect.stringMatching(/^(?:42501|42809|55000)$/),
      ]);
  });

  test.each([
    'set role postgres',
    "set session_replication_role = 'replica'",
    'create table more (a text)',
    'create schema more',
    "copy (select 1) to program 'true'",
    "select pg_read_file('/etc/passwd')",
    'select * from pg_authid',
    "select lo_import('/etc/passwd')",
    'create function f() returns int language sql as $$ select 1 $$',
  ])('the application may not run: %s', async (statement) => {
    expect(await codeOf(database.pool, statement)).toMatch(/^42501$/);
  });
});

/** In a transaction that is rolled back, in case the statement was allowed. */
async function codeOf(pool: pg.Pool, statement: string): Promise<string> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(statement);
    return 'done';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'no code';
  } finally {
    await client.query('rollback');
    client.release();
  }
}
