import type pg from 'pg';

/**
 * Puts a copy in the place of a table, inside a transaction that holds the table's ACCESS EXCLUSIVE
 * lock. Statements refer to it by name and continue: cached plans notice. What belongs to the table
 * moves with it: its rights, the views over it, and the names of its constraints and indexes, which
 * identify errors.
 */
export async function takeOver(client: pg.ClientBase, table: string, copy: string): Promise<void> {
  const statements = [
    ...(await sameRights(client, table, copy)),
    // Read before the renaming: a view's text follows the table that it was made over.
    ...(await renamed(client, table, copy)),
  ];
  for (const statement of statements) await client.query(statement);
}

async function sameRights(client: pg.ClientBase, table: string, copy: string): Promise<string[]> {
  return statementsOf(
    client,
    `select format('revoke all on %I from %s', $2::text, grantee) as statement
     from (${granteesOf('$2')}) g
     union all
     select format('grant %s on %I to %s', string_agg(privilege_type, ', '), $2::text, grantee)
     from (${granteesOf('$1')}) g group by grantee`,
    [table, copy],
  );
}

function granteesOf(table: string): string {
  return `select privilege_type,
      case when acl.grantee = 0 then 'public' else acl.grantee::regrole::text end as grantee
    from pg_class c, aclexplode(c.relacl) acl
    where c.oid = ${table}::text::regclass and acl.grantee <> c.relowner`;
}

async function renamed(client: pg.ClientBase, table: string, copy: string): Promise<string[]> {
  const views = await statementsOf(
    client,
    `select format('create or replace view %s %s as %s', v.oid::regclass,
        case when v.reloptions is null then '' else
          'with (' || array_to_string(v.reloptions, ', ') || ')' end,
        pg_get_viewdef(v.oid)) as statement
     from pg_class v
     where v.relkind = 'v' and v.oid in (
       select r.ev_class from pg_depend d join pg_rewrite r on r.oid = d.objid
       where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
         and d.refobjid = $1::text::regclass)`,
    [table],
  );
  const constraints = await statementsOf(
    client,
    `select format('alter table %I rename constraint %I to %I', $1::text, conname,
        ${own('conname::text')}) as statement
     from pg_constraint where conrelid = $2::text::regclass and starts_with(conname, $2::text || '_')`,
    [table, copy],
  );
  const indexes = await statementsOf(
    client,
    `select format('alter index %I rename to %I', c.relname, ${own('c.relname::text')}) as statement
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = $2::text::regclass and starts_with(c.relname, $2::text || '_')
       and not exists (select from pg_constraint where conindid = c.oid)`,
    [table, copy],
  );
  return [
    `alter table ${table} rename to ${table}_old`,
    `alter table ${copy} rename to ${table}`,
    ...views,
    `drop table ${table}_old`,
    ...constraints,
    ...indexes,
  ];
}

/** A name that begins with the copy's, $2, as it would begin with the table's, $1. */
function own(name: string): string {
  return `$1::text || substr(${name}, length($2::text) + 1)`;
}

async function statementsOf(
  client: pg.ClientBase,
  query: string,
  values: string[],
): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(query, values);
  return rows.map(({ statement }) => statement);
}
