/** CSV (RFC 4180). */

/** A whole file, with the mark by which spreadsheets know UTF-8. */
export function csvFile(rows: readonly (readonly unknown[])[]): string {
  return `\uFEFF${rows.map(csvLine).join('')}`;
}

export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * A text that a spreadsheet would run as a formula gets an apostrophe in front. Numbers are ours and stay.
 */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return quoted(startsFormula.test(text) ? `'${text}` : text);
}

const startsFormula = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/u;

function quoted(text: string): string {
  return /[",;\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
