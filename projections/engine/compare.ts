import type pg from 'pg';
import type { Projection } from './define.ts';

/** A row that is not what the events say. Values are the table's own, sealed text included. */
export type Difference = {
  /** The values of the projection's key, as text, in its order. */
  readonly key: readonly string[];
  /** `missing` in the table in use, `unexpected` there, or `different`. */
  readonly kind: 'missing' | 'unexpected' | 'different';
  readonly columns: readonly { column: string; stored: unknown; rebuilt: unknown }[];
};

/** Compares two tables of one projection, in both directions. */
export type Comparison = {
  /** Every row; at most `limit` differences. */
  all: (limit: number) => Promise<Difference[]>;
  /** Only the rows of these keys. */
  of: (keys: readonly (readonly string[])[]) => Promise<Difference[]>;
};

/** Rejects when the two tables do not have the same columns: then the rows need no comparing. */
export async function comparisonOf(
  client: pg.ClientBase,
  { name, key }: Projection,
  copy: string,
): Promise<Comparison> {
  const columns = await columnsOf(client, copy);
  const stored = await columnsOf(client, name);
  if (signature(columns) !== signature(stored))
    throw new Error(
      `${name} has the columns ${signature(stored)} and its definition ${signature(columns)}: rebuild it`,
    );

  const quoted = key.map((column) => client.escapeIdentifier(column));
  const select = `select array[${quoted.map((column) => `coalesce(t.${column}, c.${column})::text`).join(', ')}] as key,
      to_jsonb(t) as stored, to_jsonb(c) as rebuilt`;
  const sameKey = quoted.map((column) => `t.${column} = c.${column}`).join(' and ');
  const row = (alias: string) =>
    `row(${columns.map(({ column }) => `${alias}.${client.escapeIdentifier(column)}`).join(', ')})`;
  const differs = `${row('t')} is distinct from ${row('c')}`;

  const types = new Map(columns.map(({ column, type }) => [column, type]));
  const keys = `unnest(${key.map((column, index) => `$${index + 1}::${types.get(column)}[]`).join(', ')})
      as k(${quoted.join(', ')})`;
  const atKey = (alias: string) =>
    quoted.map((column) => `${alias}.${column} = k.${column}`).join(' and ');

  return {
    all: (limit) =>
      differencesOf(
        client,
        `${select} from ${name} t full join ${copy} c on ${sameKey} where ${differs} limit $1`,
        [limit],
      ),
    of: (wanted) =>
      differencesOf(
        client,
        `${select} from ${keys} left join ${name} t on ${atKey('t')} left join ${copy} c on ${atKey('c')}
         where ${differs}`,
        key.map((_, index) => wanted.map((values) => values[index])),
      ),
  };
}

type Column = { column: string; type: string };

async function columnsOf(client: pg.ClientBase, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select attname as column, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attname`,
    [table],
  );
  return rows;
}

function signature(columns: readonly Column[]): string {
  return columns.map(({ column, type }) => `${column} ${type}`).join(', ');
}

type Row = Record<string, unknown>;
type PairRow = { key: string[]; stored: Row | null; rebuilt: Row | null };

async function differencesOf(
  client: pg.ClientBase,
  query: string,
  values: unknown[],
): Promise<Difference[]> {
  const { rows } = await client.query<PairRow>(query, values);
  return rows.map(differenceOf);
}

function differenceOf({ key, stored, rebuilt }: PairRow): Difference {
  const kind = stored === null ? 'missing' : rebuilt === null ? 'unexpected' : 'different';
  const columns = Object.keys(stored ?? rebuilt ?? {})
    .map((column) => ({
      column,
      stored: stored?.[column] ?? null,
      rebuilt: rebuilt?.[column] ?? null,
    }))
    .filter((pair) => JSON.stringify(pair.stored) !== JSON.stringify(pair.rebuilt));
  return { key, kind, columns };
}
