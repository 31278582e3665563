/** Text with whitespace runs as one space and typographic quotes and dashes as plain ones. */
export function normalizeSpace(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\u2018\u2019\u201b]/g, "'")
    .replace(/[\u201c\u201d\u201f]/g, '"')
    .replace(/[\u2010-\u2015]/g, '-')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * Markdown and HTML taken away, the words kept; lists become one line per item. A parser would take
 * seconds over hostile text (`docs/decisions/0032-flattening-without-a-parser.md`); every expression
 * here takes time that grows with the length, as `text-time.test.ts` measures.
 */
export function flattenMarkdown(text: string): string {
  return withoutPairs(
    withoutComments(text.replace(/\r\n?/g, '\n'))
      .replace(/^[ \t]*(?:```|~~~)[^\n]*$/gm, '')
      .replace(/<\/?[A-Za-z][^<>\n]{0,300}>/g, '')
      .replace(/!?\[([^[\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)/g, '$1')
      // Runs of spaces go first: two neighbouring expressions would share one run in every way.
      .replace(/[^\S\n]{2,}/g, ' ')
      .replace(/^[^\S\n]|[^\S\n]$/gm, '')
      .replace(/^(?:(?:#{1,6}|[-*+•]|\d{1,2}[.)])[ \t]|>[ \t]?)+/gm, '')
      .replace(/^(?:-{3,}|\*{3,}|_{3,}|={3,})$/gm, '')
      .replace(/^(?:\| ?)?:?-{2,}:?(?: ?\| ?:?-{2,}:?)+(?: ?\|)?(?:\n|$)/gm, '')
      .replace(/^\|(.*)\|$/gm, (_row, cells: string) =>
        cells
          .split('|')
          .map((cell) => cell.trim())
          .join(', '),
      ),
  )
    .replace(/(^|[\s(])[*_](?=\S)([^*_\n]*\S)[*_](?=[\s).,;:!?]|$)/gm, '$1$2')
    .replace(/`([^`\n]*)`/g, '$1')
    .replace(/^[^\S\n]|[^\S\n]$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function withoutComments(text: string): string {
  let kept = '';
  for (let from = 0; ;) {
    const start = text.indexOf('<!--', from);
    const end = start === -1 ? -1 : text.indexOf('-->', start + 4);
    if (end === -1) return kept + text.slice(from);
    kept += text.slice(from, start);
    from = end + 3;
  }
}

/**
 * Without the marks of bold and struck words: of each kind the first opening and the next closing
 * one.
 */
function withoutPairs(text: string): string {
  const opened = new Map<string, number>();
  const dropped = new Set<number>();
  for (const { 0: mark, index } of text.matchAll(pairedMark)) {
    const open = opened.get(mark);
    const end = index + mark.length;
    if (open !== undefined && index > open + mark.length && /\S/.test(text[index - 1] ?? '')) {
      dropped.add(open).add(index);
      opened.delete(mark);
    } else if (open === undefined && /\S/.test(text[end] ?? '')) opened.set(mark, index);
  }
  return text.replace(pairedMark, (mark, index: number) => (dropped.has(index) ? '' : mark));
}

const pairedMark = /\*\*|__|~~/g;

/** Model text without anything that a reader of Markdown would obey. */
export function escapeMarkdown(text: string): string {
  return (
    flattenMarkdown(text)
      .replace(/\n+/g, ' ')
      // A terminal obeys control characters, and an override of the direction hides what is written.
      .replace(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, '')
      .replace(/[\\`*_~[\]<>|]/g, '\\$&')
      .replace(/^([#+-]|\d+[.)])(?=\s)/, '\\$1')
      .replace(/&(?=#?[a-z\d]{1,32};)/gi, '\\&')
      // GFM makes links of bare addresses, also of escaped ones; an invisible word joiner prevents it.
      .replace(/:(?=\/\/)|www(?=\.)|@/gi, '$&\u2060')
  );
}
