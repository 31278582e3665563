import { projectionStatus } from '#projections/engine/checkpoint.ts';
import type { Projection } from '#projections/engine/define.ts';
import { projections } from '#projections/index.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { retrySetAside } from '#projections/engine/retry.ts';
import { readSetAside } from '#projections/engine/set-aside.ts';
import type { SetAsideList } from '#projections/engine/set-aside.ts';
import { verify, verifyAsAuditor } from '#projections/engine/verify.ts';
import { printResult, say, table, UsageError } from './command.ts';
import type { CliCall, CliCommand } from './command.ts';

const all = { all: { type: 'boolean', help: 'Every read model' } } as const;

const list: CliCommand = {
  noun: 'projections',
  verb: 'list',
  arguments: '',
  summary: 'Lists the read models and what they read.',
  options: {},
  reads: true,
  async run(call) {
    const rows = projections.map(({ name, kind, events }) => ({
      name,
      kind,
      events: Object.entries(events).flatMap(([type, use]) => (use === 'used' ? [type] : [])),
    }));
    printResult(
      call,
      rows,
      table([
        ['name', 'kind', 'event types'],
        ...rows.map((row) => [row.name, row.kind, row.events.length]),
      ]),
    );
    return 0;
  },
};

const status: CliCommand = {
  noun: 'projections',
  verb: 'status',
  arguments: '',
  summary: 'Shows how far each read model is behind the log.',
  options: {},
  reads: true,
  async run(call) {
    const rows = await projectionStatus(call.database.pool, projections);
    printResult(call, rows, [
      ...table([
        ['name', 'kind', 'pending', 'lag s', 'set aside'],
        ...rows.map((row) => [
          row.name,
          row.kind,
          row.pending,
          Math.round(row.lagSeconds),
          row.setAside.total,
        ]),
      ]),
      ...rows.flatMap(setAsideLines),
    ]);
    return rows.some(isIncomplete) ? 1 : 0;
  },
};

const rebuildCommand: CliCommand = {
  noun: 'projections',
  verb: 'rebuild',
  arguments: '<name>|--all',
  summary: 'Rebuilds a read model from the first event and swaps it in.',
  options: all,
  async run(call) {
    const results = [];
    for (const projection of chosen(call)) {
      say(`Rebuilding ${projection.name}…`);
      results.push(
        await rebuild(call.database.ownerPool, projection, {
          onProgress: (events) => say(`  ${events} events`),
        }),
      );
    }
    printResult(call, results, [
      ...table([
        ['name', 'events', 'seconds', 'swap ms', 'set aside'],
        ...results.map((one) => [
          one.name,
          one.events,
          Number(one.seconds.toFixed(2)),
          Math.round(one.swapMs),
          one.setAside.total,
        ]),
      ]),
      ...results.flatMap(setAsideLines),
    ]);
    return results.some(isIncomplete) ? 1 : 0;
  },
};

const verifyCommand: CliCommand = {
  noun: 'projections',
  verb: 'verify',
  arguments: '<name>|--all',
  summary: 'Compares a read model with its events, row by row.',
  options: all,
  reads: true,
  async run(call) {
    const { ownerPool, pool } = call.database;
    const results = [];
    for (const projection of chosen(call)) {
      say(`Verifying ${projection.name}…`);
      results.push(
        ownerPool === null
          ? await verifyAsAuditor(pool, projection)
          : await verify(ownerPool, projection),
      );
    }
    printResult(call, results, [
      ...table([
        ['name', 'events', 'differences', 'seconds'],
        ...results.map((one) => [
          one.name,
          one.events,
          one.differences.length + one.setAside.total,
          Number(one.seconds.toFixed(2)),
        ]),
      ]),
      ...results.flatMap(setAsideLines),
    ]);
    for (const { name, differences } of results)
      for (const difference of differences) say(`${name}: ${JSON.stringify(difference)}`);
    return results.some((one) => one.differences.length > 0 || isIncomplete(one)) ? 1 : 0;
  },
};

const retryCommand: CliCommand = {
  noun: 'projections',
  verb: 'retry',
  arguments: '<name>|--all',
  summary: 'Applies the waiting events of streams a read model has set aside.',
  options: all,
  async run(call) {
    const { pool } = call.database;
    const retried = [];
    const lines = [];
    for (const projection of chosen(call)) {
      const { name } = projection;
      const outcomes = await retrySetAside(pool, projection);
      retried.push(...outcomes);
      for (const { streamId, error } of outcomes)
        if (error === null) lines.push(`${name}: ${streamId} is complete again`);
      const setAside = await readSetAside(pool, [{ projection, table: name }]);
      lines.push(...setAsideLines({ name, setAside }));
    }
    printResult(call, retried, lines.length === 0 ? ['Nothing is set aside.'] : lines);
    return retried.some(({ error }) => error !== null) ? 1 : 0;
  },
};

type Incomplete = { name: string; setAside: SetAsideList };

function isIncomplete({ setAside }: Incomplete): boolean {
  return setAside.total > 0;
}

function setAsideLines({ name, setAside: { total, streams } }: Incomplete): string[] {
  const lines = streams.map(
    ({ streamId, event, sqlstate, error }) =>
      `${name}: ${streamId} is set aside since ${event.type} ${event.id} (position ${event.position}): ${sqlstate} ${error}`,
  );
  const more = total - streams.length;
  return more > 0 ? [...lines, `${name}: ${more} more streams are set aside`] : lines;
}

function chosen(call: Pick<CliCall, 'options' | 'positionals'>): readonly Projection[] {
  if (call.options['all'] === true) return projections;
  const name = call.positionals[0];
  const found = projections.find((projection) => projection.name === name);
  if (!found)
    throw new UsageError(
      `Name a read model (${projections.map((one) => one.name).join(', ')}) or --all`,
    );
  return [found];
}

export const projectionCommands: readonly CliCommand[] = [
  list,
  status,
  rebuildCommand,
  verifyCommand,
  retryCommand,
];
