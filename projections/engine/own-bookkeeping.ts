import type pg from 'pg';
import { schema } from '#db/append-function.ts';
import type { Projection } from './define.ts';

const tables = ['projection_checkpoint', 'projection_set_aside'] as const;

/**
 * Temporary tables under the names of those in which a copy notes how far it is. They stand first in
 * this session's search path, as everything that it creates from here on.
 */
export async function createOwnBookkeeping(client: pg.ClientBase): Promise<void> {
  for (const table of tables)
    await client.query(
      `create temporary table ${table} (like ${schema}.${table} including defaults including indexes)`,
    );
  await client.query(`set search_path = pg_temp, ${schema}`);
}

/** Brings what the database says about the table in use into the temporary tables. */
export async function mirror(client: pg.ClientBase, { name }: Projection): Promise<void> {
  for (const table of tables) {
    await client.query(`delete from pg_temp.${table} where name = $1`, [name]);
    await client.query(
      `insert into pg_temp.${table} select * from ${schema}.${table} where name = $1`,
      [name],
    );
  }
}
