import { Problem } from '#services/platform/problem.ts';
import type { ProblemCode } from '#services/platform/problems.ts';

/** How a file is read. */
export type FileKind = 'text' | 'csv' | 'pdf' | 'docx';

const kinds: ReadonlyMap<string, FileKind> = new Map([
  ['txt', 'text'],
  ['md', 'text'],
  ['markdown', 'text'],
  ['csv', 'csv'],
  ['pdf', 'pdf'],
  ['docx', 'docx'],
]);

export const macrosRefused =
  'Word files with macros are not accepted. Save it as .docx and add it again.';

/**
 * The kind that both the name and the content say; the media type that a browser sends is a guess.
 *
 * @throws Problem 415 `file-not-accepted`
 */
export function kindOf(name: string, bytes: Buffer): FileKind {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  if (/^do[ct]m$/.test(ending)) throw notAccepted(macrosRefused);
  if (ending === 'doc')
    throw notAccepted('Old Word files are not accepted. Save it as .docx and add it again.');
  const kind = kinds.get(ending);
  if (kind === undefined)
    throw notAccepted('Choose a text, Markdown, CSV, PDF or Word (.docx) file.');
  const content = contentOf(bytes);
  const isText = kind === 'text' || kind === 'csv';
  if (content === (isText ? null : kind)) return kind;
  if (kind === 'docx' && content === 'protected')
    throw notAccepted(
      'This Word file has a password or an old format. Save it as .docx without a password and add it again.',
    );
  throw notAccepted(`This file is named .${ending}, but its content is ${words(content)}.`);
}

type Content = 'pdf' | 'docx' | 'protected' | null;

/** By its first bytes. Word files are archives; those with a password are in a container of their own. */
function contentOf(bytes: Buffer): Content {
  if (bytes.subarray(0, 4).equals(zip)) return 'docx';
  if (bytes.subarray(0, 8).equals(compound)) return 'protected';
  // The format allows for other bytes in front.
  return bytes.subarray(0, 1024).includes('%PDF-') ? 'pdf' : null;
}

const zip = Buffer.from('PK\u0003\u0004', 'latin1');
const compound = Buffer.from('d0cf11e0a1b11ae1', 'hex');

function words(content: Content): string {
  return {
    pdf: 'that of a PDF',
    docx: 'that of a Word file or an archive',
    protected: 'that of an old Office file',
    none: 'something else',
  }[content ?? 'none'];
}

function notAccepted(message: string): Problem {
  return fileProblem('file-not-accepted', message);
}

/** A sentence about the one file of the request. */
export function fileProblem(code: ProblemCode, message: string): Problem {
  return new Problem(code, message, { errors: [{ field: 'file', message }] });
}
