import type { HttpContext } from './http.ts';

/**
 * A response that is saved as a file, with its length, because a short one is not worth compressing.
 *
 * @param name in ASCII, without quotes
 */
export function answerFile(
  context: HttpContext,
  mediaType: keyof typeof parameters,
  name: string,
  content: string,
): Response {
  return context.body(content, 200, {
    'Content-Type': `${mediaType}; ${parameters[mediaType]}`,
    'Content-Length': String(Buffer.byteLength(content)),
    'Content-Disposition': `attachment; filename="${name}"`,
    'Cache-Control': 'no-store',
  });
}

/** `header=present`: the first line names the columns (RFC 4180). */
const parameters = {
  'text/csv': 'charset=utf-8; header=present',
  'text/markdown': 'charset=utf-8',
} as const;
