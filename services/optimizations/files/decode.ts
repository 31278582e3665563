/**
 * The characters of a text file. `isGuess` when they are no Unicode, and were read as Windows-1252.
 * Null for what is no text.
 */
export function decodeText(bytes: Uint8Array): { text: string; isGuess: boolean } | null {
  const mark = marks.find(({ start }) => start.every((byte, index) => bytes[index] === byte));
  if (mark) return { text: new TextDecoder(mark.encoding).decode(bytes), isGuess: false };
  if (bytes.includes(0)) return null;
  const utf8 = utf8Of(bytes);
  if (utf8 !== null) return { text: utf8, isGuess: false };
  const text = new TextDecoder('windows-1252').decode(bytes);
  const controls = text.match(/[^\P{Cc}\s]/gu)?.length ?? 0;
  return controls > text.length * mostControls ? null : { text, isGuess: true };
}

/** A byte order mark says which; the decoders remove it. */
const marks = [
  { encoding: 'utf-16le', start: [0xff, 0xfe] },
  { encoding: 'utf-16be', start: [0xfe, 0xff] },
];

/** Any bytes are Windows-1252, but in a text few of them are control characters. */
const mostControls = 0.01;

function utf8Of(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
