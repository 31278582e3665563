/** CSV (RFC 4180). */

/** A whole file, with the mark by which spreadsheets know UTF-8. */
export function csvFile(rows: readonly (readonly unknown[])[]): string {
  return `\uFEFF${rows.map(csvLine).join('')}`;
}

export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * A text that a spreadsheet would run as a formula gets an apostrophe in front, and so does what could
 * become a cell of its own: some split at semicolons, whatever the quotes. Numbers are ours and stay.
 */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const inside = text.replaceAll(formulaInside, "$<before>'");
  return quoted(startsFormula.test(text) ? `'${inside}` : inside);
}

const startsFormula = /^[\s"\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;

/** A line of a list, such as `- Sell it`, is none: without a call or a reference it does nothing. */
const formulaInside =
  /(?<before>(?:[;\r\n]|(?<!^)\t)(?:(?![\t\r\n])[\s"\p{Cf}])*)(?=[=@＝＠]|[+\-＋－](?! [^(|!;\t\r\n]*(?:[;\t\r\n]|$)))/gu;

function quoted(text: string): string {
  return /[",;\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
