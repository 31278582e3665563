type Cell = string | number | null | undefined;

/**
 * Rows as a table for spreadsheets (RFC 4180), with the mark by which they know UTF-8. A text that
 * would be taken for a formula begins with an apostrophe, by which it is taken for a text.
 */
export function csv(rows: readonly (readonly Cell[])[]): string {
  return `\uFEFF${rows.map((row) => `${row.map(written).join(',')}\r\n`).join('')}`;
}

function written(value: Cell): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = startsFormula.test(value) ? `'${value}` : value;
  return /[",;\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const startsFormula = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/u;
