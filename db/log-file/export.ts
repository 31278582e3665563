import type pg from 'pg';
import type { AnchorProof } from '#db/anchor-root.ts';
import { recordedEvent } from '#db/recorded-event.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import { beginReading, inTransaction, limitTo, wholeLogLimit } from '#db/transaction.ts';
import { formatVersion, signedLine } from './format.ts';
import { storedEventLine } from './lines.ts';
import type { LineOf, Selection } from './format.ts';
import { anchorsOf, openEvents, proofsOf, readBases, readHeads, streamNames } from './queries.ts';
import type { HeadRow } from './queries.ts';

export type Making = Pick<LineOf<'header'>, 'product' | 'software' | 'exportedAt'>;

export type ExportOptions = {
  selection: Selection;
  making: Making;
  /** Takes some lines, each with its line break; the next ones are read when it has resolved. */
  write: (text: string) => Promise<void>;
  onProgress?: (events: number) => void;
};

export type Exported = Pick<LineOf<'end'>, 'streams' | 'events' | 'lines' | 'root'>;

/** The reader of a pipe may pause. */
const pauseTimeout = '10min';

/**
 * Writes the log as it is at one moment, in a transaction that only reads and in the memory of some
 * pages. Texts stay sealed.
 */
export async function exportEvents(pool: pg.Pool, options: ExportOptions): Promise<Exported> {
  return inTransaction(
    pool,
    async (client) => {
      await limitTo(client, wholeLogLimit);
      await client.query(`set local idle_in_transaction_session_timeout = '${pauseTimeout}'`);
      return exportFrom(client, options);
    },
    beginReading,
  );
}

type Counted = { streams: number; events: number; heads: number; lines: number };

async function exportFrom(
  client: pg.ClientBase,
  { selection, making, write, onProgress }: ExportOptions,
): Promise<Exported> {
  const { streams: chosen, scope, of, since, until } = selection;
  const proofs = chosen === null ? null : await proofsOf(client, { ...selection, streams: chosen });
  const anchors = await anchorsOf(client, selection, proofs);
  const counted: Counted = { streams: 0, events: 0, heads: 0, lines: 0 };
  const writeLines = async (lines: readonly string[]) => {
    counted.lines += lines.length;
    if (lines.length > 0) await write(`${lines.join('\n')}\n`);
  };
  const range = { scope, of, since, until };
  await writeLines([
    signedLine({
      kind: 'header',
      format: 'events',
      formatVersion,
      ...making,
      ...range,
      anchors: anchors.length,
    }),
    ...anchors.map((anchor) => signedLine({ kind: 'anchor', ...anchor })),
  ]);
  const proved = proofs === null ? null : Map.groupBy(proofs.map(headOf), (head) => head.streamId);
  const numbers = new Set(anchors.map(({ number }) => number));
  for await (const names of streamNames(client, chosen)) {
    const bases = await readBases(client, names, selection);
    const heads =
      proved === null
        ? await readHeads(client, names, numbers)
        : names.flatMap((name) => proved.get(name) ?? []);
    const merge = mergeStreams(names, bases, heads, counted);
    for await (const rows of openEvents(client, names, selection)) {
      await writeLines(merge.with(rows.map(recordedEvent)));
      onProgress?.(counted.events);
    }
    await writeLines(merge.end());
  }
  const root = anchors.at(-1)?.root ?? null;
  const { streams, events, heads, lines } = counted;
  await writeLines([signedLine({ kind: 'end', streams, events, heads, lines: lines + 1, root })]);
  return { streams, events, lines: counted.lines, root };
}

type Head = HeadRow & { path: LineOf<'head'>['path'] };

function headOf({ number, head, path }: AnchorProof): Head {
  return { ...head, anchor: number, path: [...path] };
}

type Base = { streamId: string; version: number; hash: string };

/**
 * Puts the events of some streams between their bases and their heads. A head stands behind the event
 * that it names, or at the end of its stream when that event is not exported.
 */
function mergeStreams(
  names: readonly string[],
  bases: readonly Base[],
  heads: readonly Head[],
  counted: Counted,
) {
  const baseOf = new Map(bases.map((base) => [base.streamId, base]));
  const headsOf = Map.groupBy(heads, ({ streamId }) => streamId);
  const left = [...names];
  let current: { name: string; heads: Head[] } | null = null;

  function begin(name: string): void {
    current = { name, heads: [...(headsOf.get(name) ?? [])] };
  }

  function baseOfStream(name: string): string[] {
    const base = baseOf.get(name);
    if (base === undefined) return [];
    const { streamId: stream, version, hash } = base;
    const line = signedLine({ kind: 'base', stream, version, hash });
    return [...upTo(version - 1), line, ...upTo(version)];
  }

  /** The heads that stand on events up to this one. */
  function upTo(version: number): string[] {
    const own = current?.heads ?? [];
    const after = own.findIndex((head) => head.version > version);
    const taken = own.splice(0, after < 0 ? own.length : after);
    counted.heads += taken.length;
    return taken.map(({ streamId: stream, anchor, version: at, hash, path }) =>
      signedLine({ kind: 'head', anchor, stream, version: at, hash, path }),
    );
  }

  /** Ends the streams before this one; those without events have only their heads. */
  function advanceTo(name: string | null): string[] {
    if (current !== null && current.name === name) return [];
    const lines = current === null ? [] : upTo(Infinity);
    current = null;
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      if (next === name) {
        counted.streams += 1;
        begin(next);
        return [...lines, ...baseOfStream(next)];
      }
      begin(next);
      lines.push(...upTo(Infinity));
      current = null;
    }
    return lines;
  }

  return {
    with(events: readonly RecordedEvent[]): string[] {
      return events.flatMap((event) => {
        const before = advanceTo(event.streamId);
        counted.events += 1;
        return [...before, lineOf(event), ...upTo(event.streamPosition)];
      });
    },
    end: () => advanceTo(null),
  };
}

function lineOf({ streamId, streamPosition, ...event }: RecordedEvent): string {
  const { messageId, type, data, metadata } = event;
  const place = { stream: streamId, version: streamPosition };
  return storedEventLine({ ...place, messageId, type, data, metadata });
}
