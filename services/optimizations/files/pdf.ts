import { getResolvedPDFJS } from 'unpdf';
import type { PDFPageProxy } from 'unpdf/pdfjs';
import type { Unreadable } from './outcome.ts';

export type ReadPdf = { text: string; pagesRead: number; pages: number };

/**
 * The text of a PDF, page by page, until it has `enough` characters. Scripts, pictures, forms and
 * attached files are left out.
 */
export async function readPdf(
  bytes: Uint8Array,
  { mostPages, enough }: { mostPages: number; enough: number },
): Promise<ReadPdf | { unreadable: Unreadable }> {
  const { getDocument } = await getResolvedPDFJS();
  try {
    const document = await getDocument({
      data: bytes,
      disableFontFace: true,
      isImageDecoderSupported: false,
      isOffscreenCanvasSupported: false,
      maxImageSize: 1,
      useSystemFonts: false,
      useWasm: false,
      useWorkerFetch: false,
      verbosity: 0,
    }).promise;
    const { numPages: pages } = document;
    let text = '';
    let pagesRead = 0;
    while (pagesRead < Math.min(pages, mostPages) && text.length <= enough) {
      pagesRead += 1;
      const page = await document.getPage(pagesRead);
      text = `${text}\n\n${await textOf(page, enough)}`.trim();
      page.cleanup();
    }
    return { text, pagesRead, pages };
  } catch (error) {
    const isProtected = error instanceof Error && error.name === 'PasswordException';
    return { unreadable: isProtected ? 'protected' : 'damaged' };
  }
}

type Content = Awaited<ReturnType<PDFPageProxy['getTextContent']>>;

/** One page can hold a million words, so it is left when there is enough. */
async function textOf(page: PDFPageProxy, enough: number): Promise<string> {
  let text = '';
  const chunks = page.streamTextContent() as ReadableStream<Content>;
  for await (const { items } of chunks) {
    for (const item of items) if ('str' in item) text += item.str + (item.hasEOL ? '\n' : '');
    if (text.length > enough) break;
  }
  return text;
}
