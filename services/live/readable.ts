import { visibleText } from '#services/platform/visible-text.ts';

/**
 * The text values of a JSON reply as it streams in, one per line, without keys and punctuation. A value
 * is shown once it has a space, so that labels and ids never are.
 */
export function createReadable(): { push: (chunk: string) => string } {
  let inText = false;
  let escaped = '';
  let isKey = true;
  let held = '';
  let shown = false;
  let half = '';
  const depth: ('object' | 'array')[] = [];

  const open = (character: string): string => {
    if (inText) return inside(character);
    if (character === '"') {
      inText = true;
      held = '';
      shown = false;
    } else if (character === '{') {
      depth.push('object');
      isKey = true;
    } else if (character === '[') {
      depth.push('array');
      isKey = false;
    } else if (character === '}' || character === ']') {
      depth.pop();
      isKey = false;
    } else if (character === ':') isKey = false;
    else if (character === ',') isKey = depth.at(-1) === 'object';
    return '';
  };

  const inside = (character: string): string => {
    if (escaped !== '') {
      escaped += character;
      if (escaped[1] === 'u' && escaped.length < 6) return '';
      const text = unescaped(escaped);
      escaped = '';
      return emit(text);
    }
    if (character === '\\') {
      escaped = '\\';
      return '';
    }
    if (character !== '"') return emit(character);
    inText = false;
    return shown ? '\n' : '';
  };

  const emit = (text: string): string => {
    if (isKey) return '';
    if (shown) return text;
    held += text;
    if (!text.includes(' ')) return '';
    shown = true;
    return held;
  };

  return {
    push(chunk) {
      let words = half;
      for (const character of chunk) words += open(character);
      // A chunk may end inside a pair of surrogates.
      half = /[\ud800-\udbff]$/.test(words) ? words.slice(-1) : '';
      return visibleText(words.slice(0, words.length - half.length));
    },
  };
}

function unescaped(sequence: string): string {
  const simple: Record<string, string> = { n: '\n', t: ' ', r: '', b: '', f: '' };
  const kind = sequence[1] ?? '';
  if (kind === 'u') return String.fromCharCode(Number.parseInt(sequence.slice(2), 16));
  return simple[kind] ?? kind;
}
