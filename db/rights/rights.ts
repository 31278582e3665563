import type pg from 'pg';
import type { Projection } from '#projections/engine/define.ts';
import { schema } from '#db/append-function.ts';
import { withShortLocks } from '#db/transaction.ts';
import { readable } from './auditor.ts';

export type RightsOptions = {
  appRole: string | null;
  auditorRole: string | null;
  projections: readonly Projection[];
};

/**
 * The application's rights on tables of which it may not change everything. On the others it reads, inserts,
 * updates and deletes. Columns that it may update are named in the order of the table.
 */
const guarded: Readonly<Record<string, string>> = {
  emt_messages: 'select',
  emt_streams: 'select',
  stream_snapshot: 'select',
  epoch: 'select',
  database_mode: 'select',
  migration: 'select',
  read_model: 'select',
  append_function: 'select',
  audit_log: 'select, insert',
  balance_transaction: 'select, insert',
  chain_anchor: 'select, insert',
  chain_anchor_head: 'select, insert',
  erasure: 'select, insert',
  platform_call: 'select, insert',
  // A claim that could be deleted or given to another account would pay the bonus again.
  onboarding_bonus: 'select, insert, update (granted_at)',
  // The operator announces and withdraws as the owner; a worker notes whom it has emailed.
  policy_change: 'select, update (mailed_to), update (mailed_at)',
};

/** Tables of unused parts of emmett. */
const closed = ['dmb_migrations', 'emt_processors', 'emt_projections'];

/**
 * In one transaction, so that no session sees half of it. Only differences are written: a grant takes locks
 * for which a running application would have to wait.
 */
export async function grantRights(client: pg.PoolClient, options: RightsOptions): Promise<void> {
  const owner = await ownName(client);
  const app = separateRole(options.appRole, owner);
  const auditor = separateRole(options.auditorRole, owner);
  const { projections } = options;
  const relations = await ownRelations(client, projections);
  const grantsTo = async (role: string, rightsOn: (relation: Relation) => string) =>
    tableGrants(client, role, new Map(relations.map((one) => [one.name, rightsOn(one)])));
  const statements: string[] = [];
  if (app !== null)
    statements.push(
      ...(await grantsTo(app, (relation) => appRights(relation, projections))),
      ...(await workerRights(client, app)),
    );
  if (auditor !== null)
    statements.push(...(await grantsTo(auditor, ({ name, columns }) => readable(name, columns))));
  if (statements.length === 0) return;
  await withShortLocks(client, async () => {
    await client.query(statements.join(';\n'));
  });
}

/**
 * Copies of a read model during a rebuild or a check (`projections/engine/copy.ts`). A copy belongs to the
 * owner until it replaces the table or is dropped, and a grant would collide with the session that creates it.
 */
const copyEndings = ['_next', '_check', '_check_touched'];

function appRights({ name, isView }: Relation, projections: readonly Projection[]): string {
  const model = projections.find((each) => name === each.name);
  if (isView || model?.kind === 'inline') return 'select';
  return guarded[name] ?? 'select, insert, update, delete';
}

type Relation = { name: string; isView: boolean; columns: string[] };

/** Our tables and views and emmett's tables, partitions under the name of their root, without copies. */
async function ownRelations(
  client: pg.PoolClient,
  projections: readonly Projection[],
): Promise<Relation[]> {
  const copies = projections.flatMap(({ name }) => copyEndings.map((ending) => `${name}${ending}`));
  const { rows } = await client.query<Relation>(
    `select relname as name, relkind = 'v' as "isView", array(
         select attname::text from pg_attribute
         where attrelid = pg_class.oid and attnum > 0 and not attisdropped order by attnum) as columns
       from pg_class
       where relnamespace = $1::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
       order by relname`,
    [schema],
  );
  return rows.filter(({ name }) => !closed.includes(name) && !copies.includes(name));
}

const everyRight = ['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger'];

/** The statements that give a role exactly these rights on the tables of the schema. */
async function tableGrants(
  client: pg.PoolClient,
  role: string,
  wanted: ReadonlyMap<string, string>,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string; rights: string[] }>(
    `select relname as name, array(
         select right_name from unnest($2::text[]) with ordinality as rights (right_name, n)
         where has_table_privilege($1, pg_class.oid, right_name) order by n) || array(
         select format('update (%I)', attname) from pg_attribute
         where attrelid = pg_class.oid and attnum > 0 and not attisdropped
           and has_column_privilege($1, attrelid, attnum, 'update')
           and not has_table_privilege($1, attrelid, 'update') order by attnum) || array(
         select format('select (%s)', string_agg(quote_ident(attname), ', ' order by attnum))
         from pg_attribute
         where attrelid = pg_class.oid and attnum > 0 and not attisdropped
           and has_column_privilege($1, attrelid, attnum, 'select')
           and not has_table_privilege($1, attrelid, 'select') having count(*) > 0) as rights
       from pg_class
       where relnamespace = $3::regnamespace and relkind in ('r', 'p', 'v')`,
    [role, everyRight, schema],
  );
  const name = client.escapeIdentifier(role);
  return rows.flatMap((row) => {
    const rights = wanted.get(row.name) ?? '';
    if (row.rights.join(', ') === rights) return [];
    const table = `${schema}.${client.escapeIdentifier(row.name)}`;
    const revoke = `revoke all on ${table} from ${name}`;
    return rights === '' ? [revoke] : [revoke, `grant ${rights} on ${table} to ${name}`];
  });
}

/**
 * The worker's tables have row-level security without a policy, which excludes all roles but the owner: a
 * worker under another role would silently find no jobs.
 */
async function workerRights(client: pg.PoolClient, role: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string; has_policy: boolean; granted: boolean }>(
    `select relname as name,
            exists (select from pg_policy where polrelid = pg_class.oid and polname = 'app'
                      and polroles = array[$1::regrole::oid]) as has_policy,
            has_schema_privilege($1, 'graphile_worker', 'usage')
              and has_table_privilege($1, pg_class.oid, 'delete') as granted
       from pg_class
       where relnamespace = 'graphile_worker'::regnamespace and relkind in ('r', 'p')
       order by relname`,
    [client.escapeIdentifier(role)],
  );
  const name = client.escapeIdentifier(role);
  const policies = rows
    .filter((row) => !row.has_policy)
    .flatMap((row) => {
      const table = `graphile_worker.${client.escapeIdentifier(row.name)}`;
      return [
        `drop policy if exists app on ${table}`,
        `create policy app on ${table} to ${name} using (true) with check (true)`,
      ];
    });
  const grants = rows.every((row) => row.granted)
    ? []
    : [
        `grant usage on schema graphile_worker to ${name}`,
        `grant select, insert, update, delete on all tables in schema graphile_worker to ${name}`,
        `grant usage, select on all sequences in schema graphile_worker to ${name}`,
        `grant execute on all functions in schema graphile_worker to ${name}`,
      ];
  return [...policies, ...grants];
}

export async function ownName(client: pg.PoolClient): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select current_user as name');
  return rows[0]!.name;
}

export function separateRole(role: string | null, owner: string): string | null {
  return role === owner ? null : role;
}

/** Why AUDITOR_ROLE cannot be used; null when it can, or is not set. */
export async function auditorProblem(
  client: pg.PoolClient,
  { appRole, auditorRole }: Pick<RightsOptions, 'appRole' | 'auditorRole'>,
): Promise<string | null> {
  if (auditorRole === null) return null;
  if (auditorRole === appRole || auditorRole === (await ownName(client)))
    return 'AUDITOR_ROLE must not be the role of DATABASE_URL or of MIGRATE_DATABASE_URL';
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [auditorRole]);
  return rowCount === 1
    ? null
    : `AUDITOR_ROLE: this role does not exist. Create it first: create role ${client.escapeIdentifier(auditorRole)} with login password '…'`;
}
