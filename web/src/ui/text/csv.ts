type Cell = string | number | null | undefined;

/**
 * Rows as CSV (RFC 4180), with a byte order mark for spreadsheets. A text that looks like a formula
 * is prefixed with an apostrophe, so that it stays text.
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
