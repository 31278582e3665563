import type pg from 'pg';
import type { Copy } from './copy.ts';

/**
 * Remembers which rows of a copy its later events touch. Verify compares two tables that are not at
 * the same event, and a row may be equal by accident just because an event that is missing in one
 * has not reached the other yet; a row that was touched since is compared again. Statement triggers
 * know the rows of any statement, deleted ones included, without the projection having to say which
 * events belong to which row.
 */
export async function watchTouched(client: pg.ClientBase, copy: Copy): Promise<void> {
  const { table, projection } = copy;
  const keys = keysOf(client, copy);
  const kind = copy.temporary ? 'temporary' : 'unlogged';
  // A function in the temporary schema is found by its full name only.
  const touch = `${copy.temporary ? 'pg_temp.' : ''}${table}_touch()`;
  const trigger = (on: string, rows: string) =>
    `create trigger ${on}_touches after ${on} on ${table} referencing ${rows} table as changed
     for each statement execute function ${touch}`;
  await client.query(
    [
      `create ${kind} table ${table}_touched as select ${keys} from ${projection.name} with no data`,
      `create or replace function ${touch} returns trigger language plpgsql as $touch$
       begin
         insert into ${table}_touched select ${keys} from changed;
         return null;
       end $touch$`,
      trigger('insert', 'new'),
      trigger('update', 'new'),
      trigger('delete', 'old'),
    ].join(';\n'),
  );
}

/** The keys that were touched since this was last asked. */
export async function takeTouched(client: pg.ClientBase, copy: Copy): Promise<string[][]> {
  const keys = copy.projection.key.map((column) => `${client.escapeIdentifier(column)}::text`);
  const { rows } = await client.query<{ key: string[] }>(
    `with taken as (delete from ${copy.table}_touched returning *)
     select distinct array[${keys.join(', ')}] as key from taken`,
  );
  return rows.map(({ key }) => key);
}

/** Drops what `watchTouched` made; the copy itself must be gone, and its triggers with it. */
export async function dropTouched(client: pg.ClientBase, { table }: Copy): Promise<void> {
  await client.query(
    `drop table if exists ${table}_touched; drop function if exists ${table}_touch()`,
  );
}

function keysOf(client: pg.ClientBase, { projection }: Copy): string {
  return projection.key.map((column) => client.escapeIdentifier(column)).join(', ');
}
