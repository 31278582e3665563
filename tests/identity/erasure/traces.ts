import type pg from 'pg';

/** Where in a database something can still be read: every row of every table, whatever its columns. */
export type Trace = { table: string; row: string };

/** Rows that hold one of these texts, in clear, as hexadecimal bytes or in base64. */
export async function tracesOf(pool: pg.Pool, texts: readonly string[]): Promise<Trace[]> {
  const wanted = texts.flatMap(writtenAs);
  const found: Trace[] = [];
  for (const table of await tablesOf(pool)) {
    const { rows } = await pool.query<{ row: string }>(
      // Without "offset 0" each row would be written out again for every text.
      `select row from (
         select row, lower(row) as lowered from (select to_jsonb(t)::text as row from ${table} t) each
         offset 0) written
       where exists (select from unnest($1::text[]) wanted where strpos(lowered, wanted) > 0)`,
      [wanted],
    );
    found.push(...rows.map(({ row }) => ({ table, row })));
  }
  return found;
}

/** The tables that hold something of this id, with how many rows: the shape of what is left. */
export async function shapeOf(pool: pg.Pool, id: string): Promise<Record<string, number>> {
  const shape: Record<string, number> = {};
  for (const { table } of await tracesOf(pool, [id])) shape[table] = (shape[table] ?? 0) + 1;
  return shape;
}

async function tablesOf(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm') and not c.relispartition
       and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
     order by name`,
  );
  return rows.map(({ name }) => name);
}

/** Base64 without its ends, which depend on what stands beside the text. */
function writtenAs(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  const shifted = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(4, -4),
  );
  return [text, JSON.stringify(text).slice(1, -1), bytes.toString('hex'), ...shifted]
    .filter((each) => each.length >= 8)
    .map((each) => each.toLowerCase());
}
