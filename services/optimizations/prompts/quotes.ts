/**
 * Quotes are literal, except for what copying changes: white space, quotation marks, dashes and case.
 * What is kept is always the quoted text's own words.
 */
export type Quotable = {
  text: string;
  folded: string;
  /** For each character of `folded` its place in `text`. */
  places: readonly number[];
};

export function quotable(original: string): Quotable {
  const text = original.normalize('NFC');
  const folded: string[] = [];
  const places: number[] = [];
  let at = 0;
  for (const character of text) {
    for (const unit of fold(character)) {
      const isRepeat = (unit === ' ' || unit === '-') && folded.at(-1) === unit;
      if (!isRepeat) {
        folded.push(unit);
        places.push(at);
      }
    }
    at += character.length;
  }
  return { text, folded: folded.join(''), places };
}

/** The quoted text's own words, white space as single spaces; null when it does not hold the quote. */
export function quotedWords({ text, folded, places }: Quotable, quote: string): string | null {
  const sought = quotable(quote).folded.replace(/^[' ]+|[' ]+$/g, '');
  if (sought === '') return null;
  const from = indexOf(folded, sought);
  if (from === null) return null;
  const words = text.slice(places[from], places[from + sought.length]);
  return words.replace(/\s+/g, ' ').trim();
}

export function contains(searched: string, part: string): boolean {
  return indexOf(searched, part) !== null;
}

/** `indexOf` by borders: the built-in search takes the product of both lengths where texts repeat. */
function indexOf(searched: string, part: string): number | null {
  if (part === '') return null;
  // No reply keeps this character, so no border is longer than the part.
  const joined = `${part}\u0000${searched}`;
  const borders = new Uint32Array(joined.length);
  for (let at = 1, length = 0; at < joined.length; at += 1) {
    const unit = joined.charCodeAt(at);
    while (length > 0 && unit !== joined.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (unit === joined.charCodeAt(length)) length += 1;
    if (length === part.length) return at - 2 * part.length;
    borders[at] = length;
  }
  return null;
}

/** UTF-16 units, so that each has a place. */
function fold(character: string): string[] {
  if (/\s/.test(character)) return [' '];
  if (dashes.test(character)) return ['-'];
  if (marks.test(character)) return ["'"];
  return character.normalize('NFKC').toLowerCase().split('');
}

const dashes = /[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D-]/;
const marks = /["'`\u00AB\u00BB\u00B4\u2018-\u201F\u2032\u2033\u2039\u203A\uFF02\uFF07]/;
