/** The cells of a CSV file, read by the grammar of RFC 4180 alone. @throws Error where it is broken */
export function readCsv(file: string): string[][] {
  const text = file.replace(/^\uFEFF/, '');
  const rows: string[][] = [];
  const row: string[] = [];
  let at = 0;
  while (at < text.length) {
    cell.lastIndex = at;
    const found = cell.exec(text);
    if (!found) throw new Error(`No cell begins at ${JSON.stringify(text.slice(at, at + 40))}`);
    const [whole, value = '', end] = found;
    row.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value);
    if (end === '\r\n') rows.push(row.splice(0));
    at += whole.length;
  }
  if (row.length > 0) throw new Error('The last line does not end');
  return rows;
}

const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/y;
