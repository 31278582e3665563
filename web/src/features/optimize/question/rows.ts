/**
 * Objectives and constraints: lists of free text that always keep one row. Every function returns a
 * new list; ids identify a row while it moves.
 */
export type Row = { readonly id: number; readonly text: string };
export type Rows = readonly Row[];

/** A list with a row for each text, or one empty row. */
export function rowsOf(texts: readonly string[]): Rows {
  return (texts.length === 0 ? [''] : texts).map((text, id) => ({ id, text }));
}

/** The texts of rows that are not empty. */
export function textsOf(rows: Rows): string[] {
  return rows.map(({ text }) => text.trim()).filter((text) => text !== '');
}

export function editRow(rows: Rows, id: number, text: string): Rows {
  return rows.map((row) => (row.id === id ? { ...row, text } : row));
}

/** Inserts a row with `text` after row `id` and returns its id, too. */
export function addRow(rows: Rows, id: number | null, text: string = ''): [Rows, number] {
  const added: Row = { id: nextId(rows), text };
  const found = rows.findIndex((row) => row.id === id);
  return [rows.toSpliced(found === -1 ? rows.length : found + 1, 0, added), added.id];
}

/** Removes row `id`; the last one is emptied instead, because one row always stays. */
export function removeRow(rows: Rows, id: number): Rows {
  if (rows.length <= 1) return rowsOf([]);
  return rows.filter((row) => row.id !== id);
}

/** Inserts `text` at `index`, to undo a removal. */
export function restoreRow(rows: Rows, index: number, text: string): Rows {
  return rows.toSpliced(index, 0, { id: nextId(rows), text });
}

/** Moves row `id` one place up (−1) or down (1); at the edge nothing changes. */
export function moveRow(rows: Rows, id: number, by: -1 | 1): Rows {
  const from = rows.findIndex((row) => row.id === id);
  const to = from + by;
  const row = rows[from];
  if (!row || to < 0 || to >= rows.length) return rows;
  return rows.toSpliced(from, 1).toSpliced(to, 0, row);
}

/**
 * Inserts several pasted lines into row `id`: the first replaces the selection, the others become
 * rows. Returns the id of the last row. Null for a single line, which is no list.
 */
export function pasteRows(
  rows: Rows,
  id: number,
  pasted: string,
  selection: { start: number; end: number },
): [Rows, number] | null {
  const lines = linesOf(pasted);
  const row = rows.find((one) => one.id === id);
  const [first, ...others] = lines;
  if (!row || first === undefined || others.length === 0) return null;
  const before = row.text.slice(0, selection.start);
  const after = row.text.slice(selection.end);
  const last = others.at(-1) ?? '';
  const start: [Rows, number] = [editRow(rows, id, before + first), id];
  return [...others.slice(0, -1), last + after].reduce<[Rows, number]>(
    ([all, previous], text) => addRow(all, previous, text),
    start,
  );
}

/** The lines of a text that are not blank, without list markers. */
function linesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(/^\s*(?:[-*•–]|\d{1,2}[.)])\s+/, '').trim())
    .filter((line) => line !== '');
}

function nextId(rows: Rows): number {
  return Math.max(-1, ...rows.map(({ id }) => id)) + 1;
}
