import type pg from 'pg';

/** What the benchmarks share: percentiles, tables, and counting what Postgres flushed to disk. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function printTable(title: string, rows: readonly (readonly (string | number)[])[]): void {
  const cells = rows.map((row) => row.map(String));
  const widths: number[] = [];
  for (const row of cells)
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
  console.log(`\n${title}`);
  for (const row of cells)
    console.log(row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '));
}

export function milliseconds(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

export function ratio(value: number, peer: number): string {
  return `${(value / peer).toFixed(2)}×`;
}

/** WAL flushes so far. An idle backend reports its share after ten seconds, so this waits for it. */
export async function walFlushes(pool: pg.Pool): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 11_000));
  const { rows } = await pool.query<{ flushes: string }>(
    `select coalesce(sum(fsyncs), 0)::text as flushes from pg_stat_io where object = 'wal'`,
  );
  return Number(rows[0]?.flushes ?? 0);
}

/** Runs `work` over and over in `writers` loops until the time is up; milliseconds of each. */
export async function loopFor(
  durationMs: number,
  writers: number,
  work: (writer: number, round: number) => Promise<unknown>,
): Promise<{ latencies: number[]; seconds: number }> {
  const latencies: number[] = [];
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let round = 0; performance.now() - begun < durationMs; round += 1) {
        const before = performance.now();
        await work(writer, round);
        latencies.push(performance.now() - before);
      }
    }),
  );
  return { latencies, seconds: (performance.now() - begun) / 1000 };
}

type Loop = Awaited<ReturnType<typeof loopFor>>;
export type InTurns = { name: string; rates: readonly number[]; latencies: readonly number[] };

/** Odd, so that a median is one of them. */
const turns = 9;

/**
 * Variants that run for parts of `durationMs`, one after the other, again and again: a slower minute of the
 * machine slows all of them. Each is warmed up first, because the first one is as cold as the process.
 */
export async function inTurns(
  variants: readonly { name: string; run: (ms: number) => Promise<Loop> }[],
  durationMs: number,
): Promise<InTurns[]> {
  const measured = variants.map(({ name, run }) => ({
    name,
    run,
    rates: [] as number[],
    latencies: [] as number[],
  }));
  for (const { run } of measured) await run(durationMs / 4);
  for (let turn = 0; turn < turns; turn += 1)
    for (const { run, rates, latencies } of measured) {
      const { latencies: taken, seconds } = await run(durationMs / turns);
      rates.push(taken.length / seconds);
      latencies.push(...taken);
    }
  return measured;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The median over the turns, in each of which both are compared. */
export function ratioByTurns(one: InTurns, peer: InTurns | undefined): string {
  return ratio(median(one.rates.map((rate, turn) => rate / (peer?.rates[turn] ?? Number.NaN))), 1);
}
