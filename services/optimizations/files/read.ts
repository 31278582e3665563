import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { visibleText } from '#services/platform/visible-text.ts';
import { decodeText } from './decode.ts';
import { readDocx } from './docx.ts';
import type { FileKind } from './kind.ts';
import type { Outcome } from './outcome.ts';
import { readPdf } from './pdf.ts';

/** From the bytes of a file to its text. Runs in a process of its own (`reader-process.ts`). */

const mostPages = 200;

export async function readFile(kind: FileKind, bytes: Uint8Array): Promise<Outcome> {
  switch (kind) {
    case 'text':
    case 'csv': {
      const decoded = decodeText(bytes);
      if (decoded === null) return { unreadable: 'not_text' };
      const hasFormulas = kind === 'csv' && formula.test(decoded.text);
      return kept(decoded.text, null, [
        ...(decoded.isGuess
          ? ["The encoding wasn't clear. Check accents and special characters."]
          : []),
        ...(hasFormulas ? ["Formulas are kept as text and aren't calculated."] : []),
      ]);
    }
    case 'docx': {
      const read = readDocx(bytes);
      if ('unreadable' in read) return read;
      return kept(read.text, null, read.hasMacros ? ['Macros were left out.'] : []);
    }
    case 'pdf': {
      const read = await readPdf(bytes, { mostPages, enough: optimizationLimits.filesText });
      if ('unreadable' in read) return read;
      const { text, pagesRead, pages } = read;
      return kept(text, pagesRead, pagesRead < pages ? [pagesWarning(pagesRead, pages)] : []);
    }
  }
}

/** A cell that a spreadsheet would calculate. */
const formula = /(?:^|[,;\t])"?[=@]/m;

function kept(whole: string, pagesRead: number | null, warnings: readonly string[]): Outcome {
  const visible = visibleText(whole).trim();
  const most = optimizationLimits.filesText;
  // Half a pair of surrogates is no character.
  const text = visible.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');
  return {
    text,
    pagesRead,
    warnings: [
      ...warnings,
      ...(text === '' ? ["We found no text. If it's a scan, type or paste what matters."] : []),
      ...(visible.length > most ? [`Only the first ${count(most)} characters were kept.`] : []),
    ],
  };
}

function pagesWarning(read: number, all: number): string {
  return `Only the first ${count(read)} of ${count(all)} pages were read.`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
