import type pg from 'pg';
import { appendFunction } from '#db/append-function.ts';
import { isWithheld } from '#db/rights/auditor.ts';
import { projections } from '#projections/index.ts';
import { elseOk, ok, wrong } from './finding.ts';
import type { Check } from './finding.ts';

const again = 'run as the owner: node services/migrate.ts';

/** The history that the application may only add to, if at all. */
const history = ['emt_messages', 'emt_streams', 'audit_log', 'chain_anchor', 'chain_anchor_head'];

const application: Check = {
  name: 'rights of the app',
  async runOnDatabase({ database: { pool, urls } }) {
    const role = roleOf(urls.appUrl);
    // One role for everything is a warning of its own.
    if (urls.ownerUrl === urls.appUrl) return [ok(`${role} is the owner`)];
    const { rows: changeable } = await pool.query<{ name: string }>(
      `select name from unnest($1::text[]) as name
       where has_table_privilege(to_regclass(name), 'update, delete, truncate')`,
      [history],
    );
    const { rows } = await pool.query<{ works: boolean }>(
      `select has_schema_privilege('graphile_worker', 'usage') and exists (
         select from pg_policy where polname = 'app'
           and polroles = array[current_user::regrole::oid]) as works`,
    );
    return elseOk(
      [
        ...changeable.map(({ name }) => wrong(`${role} may change rows of ${name}`, again)),
        ...(rows[0]?.works === true ? [] : [wrong(`${role} sees no jobs of the queue`, again)]),
      ],
      `${role} changes no history`,
    );
  },
};

const auditor: Check = {
  name: 'rights of the auditor',
  async runOnDatabase({ database: { ownerPool, urls } }) {
    const { auditorRole: role } = urls;
    if (role === null) return [ok('AUDITOR_ROLE is not set')];
    const { rowCount } = await ownerPool.query('select from pg_roles where rolname = $1', [role]);
    if (rowCount === 0)
      return [wrong(`the role ${role} does not exist`, 'create it, or unset AUDITOR_ROLE')];
    const writable = await writableBy(ownerPool, role);
    const revealed = await revealedTo(ownerPool, role);
    const { rows } = await ownerPool.query<{ reads: boolean; calls: boolean }>(
      `select has_table_privilege($1, to_regclass('emt_messages'), 'select') as reads,
         coalesce((select has_function_privilege($1, oid, 'execute')
           from pg_proc where proname = $2), false) as calls`,
      [role, appendFunction(projections).name],
    );
    const { reads, calls } = rows[0]!;
    return elseOk(
      [
        ...(reads ? [] : [wrong(`${role} does not read the events`, again)]),
        ...(calls ? [wrong(`${role} may execute the append function`, again)] : []),
        ...writable.map((name) => wrong(`${role} may write ${name}`, again)),
        ...revealed.map((name) => wrong(`${role} may read ${name}`, again)),
      ],
      `${role} can read the events, and write nothing`,
    );
  },
};

async function writableBy(pool: pg.Pool, role: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace in (to_regnamespace('public'), to_regnamespace('graphile_worker'))
       and relkind in ('r', 'p', 'v')
       and (has_table_privilege($1, oid, 'delete, truncate')
         or has_any_column_privilege($1, oid, 'insert, update'))
     order by relname`,
    [role],
  );
  return rows.map(({ name }) => name);
}

/** Columns that an auditor should not read and does. */
async function revealedTo(pool: pg.Pool, role: string): Promise<string[]> {
  const { rows } = await pool.query<{ table: string; column: string }>(
    `select relname as table, attname as column
     from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = to_regnamespace('public') and relkind in ('r', 'p', 'v')
       and attnum > 0 and not attisdropped
       and has_column_privilege($1, attrelid, attnum, 'select')
     order by relname, attnum`,
    [role],
  );
  return rows
    .filter(({ table, column }) => isWithheld(table, column))
    .map(({ table, column }) => `${table}.${column}`);
}

function roleOf(url: string): string {
  return decodeURIComponent(new URL(url).username);
}

export const rightChecks: readonly Check[] = [application, auditor];
