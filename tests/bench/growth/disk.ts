import type pg from 'pg';
import { printTable } from '#tests/bench/report.ts';

/** Bytes of each table, with what is stored beside it, and of each index. */
export type Disk = ReadonlyMap<string, number>;

export async function diskOf(pool: pg.Pool): Promise<Disk> {
  const { rows } = await pool.query<{ name: string; bytes: number }>(
    `select relname as name,
       (case relkind when 'i' then pg_relation_size(oid) else pg_table_size(oid) end)::float8 as bytes
     from pg_class
     where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

/** What a run takes, by table and index, where it is more than a hundredth of the whole. */
export function printDisk(columns: readonly { title: string; disk: Disk; runs: number }[]): void {
  const perRun = columns.map(
    ({ disk, runs }) => new Map([...disk].map(([name, bytes]) => [name, bytes / runs])),
  );
  const totals = perRun.map((one) => [...one.values()].reduce((sum, bytes) => sum + bytes, 0));
  const names = [...new Set(perRun.flatMap((one) => [...one.keys()]))]
    .filter((name) => perRun.some((one, index) => (one.get(name) ?? 0) > totals[index]! / 100))
    .toSorted((one, other) => (perRun[0]?.get(other) ?? 0) - (perRun[0]?.get(one) ?? 0));
  const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1);
  printTable('Disk per run, kB, of what is more than a hundredth', [
    ['', ...columns.map(({ title }) => title)],
    ...names.map((name) => [name, ...perRun.map((one) => kilobytes(one.get(name) ?? 0))]),
    ['everything', ...totals.map(kilobytes)],
  ]);
}
