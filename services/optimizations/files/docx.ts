import { unzipSync } from 'fflate';
import { decodeText } from './decode.ts';
import type { Unreadable } from './outcome.ts';

/**
 * The text of a Word file: paragraphs, lists, tables and notes. Nothing in it is run or fetched, no
 * entity is expanded, and pictures, comments, headers and deleted words are left out.
 */
export function readDocx(
  bytes: Uint8Array,
): { text: string; hasMacros: boolean } | { unreadable: Unreadable } {
  const types = parts(bytes, ['[Content_Types].xml']);
  if ('unreadable' in types) return types;
  const listed = types.xml['[Content_Types].xml'] ?? '';
  if (/macroEnabled/i.test(listed)) return { unreadable: 'macros' };
  const main = mainPart(listed);
  if (main === null) return { unreadable: 'not_word' };
  const folder = main.slice(0, main.lastIndexOf('/') + 1);
  const names = [main, `${folder}footnotes.xml`, `${folder}endnotes.xml`];
  const found = parts(bytes, names);
  if ('unreadable' in found) return found;
  if (found.xml[main] === undefined) return { unreadable: 'damaged' };
  const xml = names.flatMap((name) => found.xml[name] ?? []);
  // Word writes no document type; one that declares entities could grow without end.
  if (xml.some((part) => /<!DOCTYPE/i.test(part))) return { unreadable: 'damaged' };
  const texts = xml.map(textOf);
  if (!texts.every((text) => text !== null)) return { unreadable: 'damaged' };
  const lines = texts.join('\n\n').split('\n');
  return {
    text: lines
      .map((line) => line.trimEnd())
      .join('\n')
      .replace(/\n{3,}/g, '\n\n'),
    hasMacros: found.hasMacros,
  };
}

/** Of all parts that are read, unpacked. */
const mostBytes = 20_000_000;

type Parts = { xml: Readonly<Record<string, string>>; hasMacros: boolean };

/** The named parts of the archive, each once. */
function parts(bytes: Uint8Array, names: readonly string[]): Parts | { unreadable: Unreadable } {
  const wanted = new Set(names);
  let left = mostBytes;
  let hasMacros = false;
  try {
    const unpacked = unzipSync(bytes, {
      filter({ name, originalSize }) {
        hasMacros ||= /vbaProject\.bin$/i.test(name);
        if (!wanted.delete(name)) return false;
        left -= originalSize;
        return left >= 0;
      },
    });
    if (left < 0) return { unreadable: 'too_much' };
    const xml = Object.entries(unpacked).map(([name, part]) => [
      name,
      decodeText(part)?.text ?? '',
    ]);
    return { xml: Object.fromEntries(xml) as Record<string, string>, hasMacros };
  } catch {
    // The library has no error class; any error means an archive that cannot be read.
    return { unreadable: 'damaged' };
  }
}

/** The part that is the document; its name is not always `word/document.xml`. */
function mainPart(types: string): string | null {
  for (const [override] of types.matchAll(/<(?:\w+:)?Override\b[^<>]*>/g)) {
    if (!/wordprocessingml\.(?:document|template)\.main\+xml/.test(override)) continue;
    const name = /\bPartName\s*=\s*["']\/?([^"']+)["']/.exec(override)?.[1];
    if (name !== undefined) return name;
  }
  return null;
}

/**
 * Comments, instructions and literal text first; then tags, without their prefix; then text. Whatever
 * else begins with `<` is an error, so that nothing is searched twice for an end that it lacks.
 */
const token =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[(?<literal>[\s\S]*?)\]\]>|<(?<end>\/?)(?:[^\s<>"'/:!?]+:)?(?<name>[^\s<>"'/:!?]+)(?=[\s/>])(?:[^<>"'/]|"[^"<]*"|'[^'<]*'|\/(?!>))*(?<empty>\/?)>|(?<text>[^<]+)|(?<error><)/g;

/** Null for XML that is broken. */
function textOf(xml: string): string | null {
  let text = '';
  let isSaid = false;
  let inProperties = 0;
  let inFallback = 0;
  let cells = 0;
  for (const { groups } of xml.matchAll(token)) {
    const { name, literal, end, empty, error } = groups ?? {};
    if (error !== undefined) return null;
    if (name === undefined) {
      const said = literal ?? unescaped(groups?.['text'] ?? '');
      if (isSaid && inFallback === 0) text += said;
      continue;
    }
    const isEnd = end === '/';
    const step = empty === '/' ? 0 : isEnd ? -1 : 1;
    // The same once more, for programs that do not know the newer form.
    if (name === 'Fallback') inFallback += step;
    if (inFallback > 0) continue;
    if (name === 'pPr') inProperties += step;
    if (name === 't') isSaid = step === 1;
    if (name === 'tc') cells += step;
    if (name === 'numPr' && isEnd) text += '- ';
    if (inProperties > 0) continue;
    if (name === 'tab' && !isEnd) text += '\t';
    if (name === 'noBreakHyphen') text += '-';
    if ((name === 'br' || name === 'cr') && !isEnd) text += '\n';
    if (name === 'p' && (isEnd || empty === '/')) text += cells > 0 ? ' ' : '\n';
    if (name === 'tc' && isEnd) text += '| ';
    if (name === 'tr' && isEnd) text += '\n';
  }
  return text.trim();
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

function unescaped(text: string): string {
  return text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (typeof name === 'string') return entities[name] ?? whole;
    const code = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10_ffff ? String.fromCodePoint(code) : '\uFFFD';
  });
}
