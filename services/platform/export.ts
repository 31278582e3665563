import { csvLine } from './csv.ts';

/**
 * Everything stored about one user, as tables, each as JSON and as CSV. Each slice names its tables and
 * yields their rows. The result is kept as bytes and sent in pieces, because the text of a thousand
 * questions exceeds the longest string.
 */
export type ExportRow = Readonly<Record<string, unknown>>;

export type ExportPart = {
  /** Table → its columns, in order. */
  tables: Readonly<Record<string, readonly string[]>>;
  /** Tables in any order, the rows of each in theirs. */
  rows: (userId: string) => AsyncIterable<readonly [table: string, row: ExportRow]>;
};

type Table = { columns: readonly string[]; json: Buffer[]; csv: Buffer[] };

export type Collected = ReadonlyMap<string, Table>;

export async function collectExport(
  parts: readonly ExportPart[],
  userId: string,
): Promise<Collected> {
  const collected = new Map<string, Table>();
  for (const { tables } of parts)
    for (const [name, columns] of Object.entries(tables))
      collected.set(name, { columns, json: [], csv: [Buffer.from(csvLine(columns))] });
  for (const part of parts)
    for await (const [name, row] of part.rows(userId)) {
      const table = collected.get(name);
      if (!table) throw new Error(`The export has no table ${name}`);
      addRow(table, row);
    }
  return collected;
}

function addRow({ columns, json, csv }: Table, row: ExportRow): void {
  const values = columns.map((column) => plain(row[column]));
  const entries = columns.map((column, index) => [column, values[index] ?? null] as const);
  json.push(Buffer.from(JSON.stringify(Object.fromEntries(entries))));
  csv.push(Buffer.from(csvLine(values)));
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return Buffer.isBuffer(value) ? value.toString('base64') : value;
}

/** `{"exported_at", "tables": {name: rows}, "csv": {file: content}}`, piece by piece. */
export function* exportDocument(collected: Collected, exportedAt: Date): Generator<Buffer> {
  yield Buffer.from(`{"exported_at":${JSON.stringify(exportedAt.toISOString())},"tables":{`);
  for (const [index, [name, { json }]] of [...collected].entries()) {
    yield Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(name)}:[`);
    for (const [at, row] of json.entries()) {
      if (at > 0) yield Buffer.from(',');
      yield row;
    }
    yield Buffer.from(']');
  }
  yield Buffer.from('},"csv":{');
  for (const [index, [name, { csv }]] of [...collected].entries()) {
    yield Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(`${name}.csv`)}:"\uFEFF`);
    for (const line of csv) yield Buffer.from(JSON.stringify(line.toString('utf8')).slice(1, -1));
    yield Buffer.from('"');
  }
  yield Buffer.from('}}');
}
