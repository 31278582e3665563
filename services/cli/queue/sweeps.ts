import type { Sweep } from '#services/platform/jobs/sweeps.ts';
import { sweepsOf } from '#services/sweeps.ts';
import { operatorName, print, printResult, say, table, UsageError } from '#services/cli/command.ts';
import type { CliCall, CliCommand } from '#services/cli/command.ts';
import type { Database } from '#services/cli/database.ts';

const list: CliCommand = {
  noun: 'sweeps',
  verb: 'list',
  arguments: '',
  summary: 'Lists the periodic sweeps and when a worker last began each.',
  options: {},
  async run(call) {
    const { database } = call;
    const begun = await lastBegun(database);
    const rows = [...everySweep(database)].map(([name, { every = 'minute', daily }]) => ({
      name,
      every: daily ? 'day' : every,
      last_begun_at: begun.get(name)?.toISOString() ?? null,
    }));
    printResult(
      call,
      rows,
      table([
        ['name', 'every', 'last begun'],
        ...rows.map((row) => [row.name, row.every, row.last_begun_at ?? 'never']),
      ]),
    );
    return 0;
  },
};

const runCommand: CliCommand = {
  noun: 'sweeps',
  verb: 'run',
  arguments: '<name>|--all',
  summary: 'Runs a sweep now, in this process, also while no worker runs.',
  options: { all: { type: 'boolean', help: 'Every sweep, one after the other' } },
  async run(call) {
    const results = [];
    for (const [name, sweep] of chosen(call)) {
      say(`Running ${name}…`);
      const result = await runOne(call.database, name, sweep);
      results.push(result);
      if (call.options['json'] !== true) print(lineOf(result));
    }
    printResult(call, results, []);
    return results.every(({ error }) => error === null) ? 0 : 1;
  },
};

/** `count`: how many rows it changed, added or found, of the sweeps that say so. */
type Swept = { name: string; count: number | null; seconds: number; error: string | null };

/** A failure does not keep the others from running. */
async function runOne({ audit }: Database, name: string, { sweep }: Sweep): Promise<Swept> {
  const begun = performance.now();
  const outcome = await sweep().then(
    (result) => ({ count: typeof result === 'number' ? result : null, error: null }),
    (error: unknown) => ({ count: null, error: String(error) }),
  );
  const seconds = (performance.now() - begun) / 1000;
  await audit({
    actor: operatorName(),
    action: 'sweep.ran',
    subject: name,
    detail: { count: outcome.count, failed: outcome.error !== null },
  });
  return { name, seconds, ...outcome };
}

function lineOf({ name, count, seconds, error }: Swept): string {
  const took = `${seconds.toFixed(2)} s`;
  if (error !== null) return `NOT  ${name} (${took}): ${error}`;
  return `ok   ${name} (${took})${count === null ? '' : `: ${count === 0 ? 'nothing to do' : `${count} handled`}`}`;
}

/** By the names of a worker's cron. */
export function everySweep(database: Database): ReadonlyMap<string, Sweep> {
  const { control, money } = sweepsOf(database, database.env);
  return new Map(Object.entries({ ...control, ...money }));
}

async function lastBegun({ pool }: Database): Promise<Map<string, Date>> {
  const { rows } = await pool.query<{ name: string; at: Date }>(
    `select identifier as name, last_execution as at
     from graphile_worker._private_known_crontabs where last_execution is not null`,
  );
  return new Map(rows.map(({ name, at }) => [name, at]));
}

function chosen(call: CliCall): readonly (readonly [string, Sweep])[] {
  const sweeps = everySweep(call.database);
  const [name] = call.positionals;
  const all = call.options['all'] === true;
  if (all === (name !== undefined)) throw new UsageError('Name a sweep, or give --all');
  if (name === undefined) return [...sweeps];
  const sweep = sweeps.get(name);
  if (!sweep)
    throw new UsageError(`There is no sweep ${name}. The sweeps: ${[...sweeps.keys()].join(', ')}`);
  return [[name, sweep]];
}

export const sweepCommands: readonly CliCommand[] = [list, runCommand];
