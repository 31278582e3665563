import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import type { Zippable } from 'fflate';

/** Files as programs write them, and as nobody should. */

const main = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
export const macroEnabled = 'application/vnd.ms-word.document.macroEnabled.main+xml';

/** A Word file with this body. */
export function docx(
  body: string,
  { type = main, parts = {} }: { type?: string; parts?: Zippable } = {},
): Buffer {
  return archive({
    '[Content_Types].xml': strToU8(
      `<Types><Override PartName="/word/document.xml" ContentType="${type}"/></Types>`,
    ),
    'word/document.xml': strToU8(`<w:document><w:body>${body}</w:body></w:document>`),
    ...parts,
  });
}

export function archive(parts: Zippable): Buffer {
  return Buffer.from(zipSync(parts));
}

export function paragraph(text: string): string {
  return `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

/** A PDF with a line of text on each page; `trailer` holds more entries of the trailer. */
export function pdf(pages: readonly string[], trailer = ''): Buffer {
  const first = 4;
  const kids = pages.map((_, index) => `${first + 2 * index} 0 R`).join(' ');
  const objects = pages.flatMap((text, index) => {
    const content = text === '' ? '' : `BT /F1 12 Tf 20 200 Td (${text}) Tj ET`;
    return [
      `${first + 2 * index} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents ${first + 2 * index + 1} 0 R/Resources<</Font<</F1 3 0 R>>>>>>endobj`,
      `${first + 2 * index + 1} 0 obj<</Length ${content.length}>>stream\n${content}\nendstream endobj`,
    ];
  });
  return Buffer.from(
    [
      '%PDF-1.4',
      '1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj',
      `2 0 obj<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>endobj`,
      '3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj',
      ...objects,
      `trailer<</Root 1 0 R${trailer}>>`,
    ].join('\n'),
    'latin1',
  );
}

// cspell:ignore Flate
/** A PDF of few bytes that takes minutes: 200 pages share a million commands that write nothing. */
export function endlessPdf(): Buffer {
  return sharedPdf(200, '/FlateDecode', deflateSync(Buffer.alloc(4_000_000, 'q Q ')));
}

/** A PDF of few bytes whose page takes 640 MB of memory: each two bytes are 128 spaces. */
export function hugePdf(): Buffer {
  const spaces = Buffer.alloc(10_000_000, Buffer.from([129, 32]));
  return sharedPdf(1, '[/FlateDecode/RunLengthDecode]', deflateSync(spaces));
}

/** A PDF whose pages share their content. */
function sharedPdf(count: number, filter: string, content: Uint8Array): Buffer {
  const pages = Array.from({ length: count }, (_, index) => index + 4);
  return Buffer.concat([
    Buffer.from(
      [
        '%PDF-1.4',
        '1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj',
        `2 0 obj<</Type/Pages/Kids[${pages.map((page) => `${page} 0 R`).join(' ')}]/Count ${count}>>endobj`,
        ...pages.map(
          (page) =>
            `${page} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 3 0 R/Resources<<>>>>endobj`,
        ),
        `3 0 obj<</Length ${content.length}/Filter${filter}>>stream\n`,
      ].join('\n'),
      'latin1',
    ),
    content,
    Buffer.from('\nendstream endobj\ntrailer<</Root 1 0 R>>', 'latin1'),
  ]);
}

/** What a PDF with a password says in its trailer. */
export const withPassword = `/ID[<${'00'.repeat(16)}><${'00'.repeat(16)}>]/Encrypt<</Filter/Standard/V 1/R 2/Length 40/P -44/O<${randomBytes(32).toString('hex')}>/U<${randomBytes(32).toString('hex')}>>>`;

/** The body of a form with one file, and its type. */
export async function form(
  name: string,
  bytes: Uint8Array,
  field = 'file',
): Promise<{ raw: Uint8Array<ArrayBuffer>; headers: Record<string, string> }> {
  const data = new FormData();
  data.append(field, new File([Uint8Array.from(bytes)], name));
  const sent = new Response(data);
  const type = sent.headers.get('content-type') ?? '';
  return {
    raw: new Uint8Array(await sent.arrayBuffer()),
    headers: { 'content-type': type },
  };
}
