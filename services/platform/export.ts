import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { csvLine } from './csv.ts';

/**
 * Everything stored about one user, as tables, each as JSON and as CSV. Each slice names its tables and
 * yields their rows. The result is kept compressed and sent in pieces: the text of a thousand questions
 * exceeds the longest string, and would fill the memory of a process that serves others.
 */
export type ExportRow = Readonly<Record<string, unknown>>;

export type ExportPart = {
  /** Table → its columns, in order. */
  tables: Readonly<Record<string, readonly string[]>>;
  /** Tables in any order, the rows of each in theirs. */
  rows: (userId: string) => AsyncIterable<readonly [table: string, row: ExportRow]>;
};

type Table = {
  columns: readonly string[];
  /** Rows as JSON, joined by commas and compressed. */
  packs: Buffer[];
  /** The rows of the next pack. */
  waiting: string[];
  waitingLength: number;
};

/** Characters of JSON. */
const packLength = 500_000;
const compress = promisify(deflateRaw);
const decompress = promisify(inflateRaw);

export type Collected = ReadonlyMap<string, Table>;

export async function collectExport(
  parts: readonly ExportPart[],
  userId: string,
): Promise<Collected> {
  const collected = new Map<string, Table>();
  for (const { tables } of parts)
    for (const [name, columns] of Object.entries(tables))
      collected.set(name, { columns, packs: [], waiting: [], waitingLength: 0 });
  for (const part of parts)
    for await (const [name, row] of part.rows(userId)) {
      const table = collected.get(name);
      if (!table) throw new Error(`The export has no table ${name}`);
      addRow(table, row);
      if (table.waitingLength >= packLength) await pack(table);
    }
  for (const table of collected.values()) if (table.waiting.length > 0) await pack(table);
  return collected;
}

function addRow(table: Table, row: ExportRow): void {
  const entries = table.columns.map((column) => [column, plain(row[column]) ?? null] as const);
  const text = JSON.stringify(Object.fromEntries(entries));
  table.waiting.push(text);
  table.waitingLength += text.length;
}

async function pack(table: Table): Promise<void> {
  const rows = table.waiting.join(',');
  table.waiting = [];
  table.waitingLength = 0;
  table.packs.push(await compress(rows, { level: 1 }));
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return Buffer.isBuffer(value) ? value.toString('base64') : value;
}

/** `{"exported_at", "tables": {name: rows}, "csv": {file: content}}`, piece by piece. */
export async function* exportDocument(
  collected: Collected,
  exportedAt: Date,
): AsyncGenerator<Buffer> {
  yield Buffer.from(`{"exported_at":${JSON.stringify(exportedAt.toISOString())},"tables":{`);
  for (const [index, [name, { packs }]] of [...collected].entries()) {
    yield Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(name)}:[`);
    for (const [at, packed] of packs.entries()) {
      if (at > 0) yield Buffer.from(',');
      yield await decompress(packed);
    }
    yield Buffer.from(']');
  }
  yield Buffer.from('},"csv":{');
  for (const [index, [name, { columns, packs }]] of [...collected].entries()) {
    yield Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(`${name}.csv`)}:"\uFEFF`);
    yield insideString(csvLine(columns));
    for (const packed of packs) {
      const rows = JSON.parse(`[${(await decompress(packed)).toString()}]`) as ExportRow[];
      yield insideString(rows.map((row) => csvLine(columns.map((column) => row[column]))).join(''));
    }
    yield Buffer.from('"');
  }
  yield Buffer.from('}}');
}

function insideString(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}
