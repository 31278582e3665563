/** A line without its break, or why it is none. */
export type SplitLine = { text: string } | { problem: string; isLast: boolean };

/** No event is so long; a file without line breaks is not read into memory. */
export const longestLine = 16_000_000;

/** Splits what is read at its line breaks, holding one line at a time. */
export async function* linesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SplitLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(10, from);
      const part = chunk.subarray(from, end < 0 ? chunk.length : end);
      parts.push(part);
      length += part.length;
      if (length > longestLine) {
        yield { problem: `it is longer than ${longestLine} bytes`, isLast: true };
        return;
      }
      if (end < 0) break;
      yield lineOf(decoder, parts);
      parts = [];
      length = 0;
      from = end + 1;
    }
  }
  if (length > 0) yield { problem: 'it does not end with a line break', isLast: true };
}

function lineOf(
  decoder: InstanceType<typeof TextDecoder>,
  parts: readonly Uint8Array[],
): SplitLine {
  const [only] = parts;
  try {
    const text = decoder.decode(parts.length === 1 ? only : Buffer.concat(parts));
    return text.endsWith('\r')
      ? { problem: 'line ends were changed to CRLF', isLast: false }
      : { text };
  } catch {
    return { problem: 'it is not UTF-8', isLast: false };
  }
}
