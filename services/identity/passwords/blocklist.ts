import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Passwords that an attacker tries first: some 49,000 common ones, the product's words and the user's
 * own. Additions that only satisfy a rule (a capital, a digit at the end, a zero for an o) are removed
 * before the comparison, so "P4ssword1!" is as common as "password".
 */
export function isTooCommon(password: string, own: readonly string[]): boolean {
  const words = [...productWords, ...own.flatMap(wordsOf)];
  return readingsOf(password).some(
    (reading) => isListed(reading) || isRepetition(reading) || isMostly(words, reading),
  );
}

/** Letters that a password must have beside words that anyone would guess for this user. */
const lettersOfOnesOwn = 6;
const shortestWord = 3;
const shortestListed = 4;

const productWords = [
  'sevenfold',
  'seven',
  'optimization',
  'optimisation',
  'opportunity',
  'opportunities',
  'evolution',
  'chamber',
  'council',
  'consensus',
  'superintelligence',
  'solopreneur',
  'entrepreneur',
];

let listed: ReadonlySet<string> | null = null;

/** The file has one a line, after lines that begin with a number sign and an empty line. */
function isListed(word: string): boolean {
  if (listed === null) {
    const text = readFileSync(join(import.meta.dirname, 'common-passwords.txt'), 'utf8');
    listed = new Set(text.slice(text.indexOf('\n\n') + 2).split('\n'));
  }
  return word.length > 0 && listed.has(word);
}

/** The ways to read a password as the word that it was made of. */
function readingsOf(password: string): string[] {
  const plain = password.normalize('NFKC').toLowerCase();
  const shapes = [plain, ...edges.map((edge) => plain.replace(edge, '')), plain.slice(0, -1)];
  return [
    ...new Set(shapes.flatMap((shape) => [shape, lettersIn(shape, 'i'), lettersIn(shape, 'l')])),
  ];
}

/** Additions to a word: signs at the end; digits and signs at the end, at the start, on both sides. */
const edges = [/[^\p{L}\p{N}]+$/u, /[^\p{L}]+$/u, /^[^\p{L}]+/u, /^[^\p{L}]+|[^\p{L}]+$/gu];

const substitutes: Readonly<Record<string, string>> = {
  '0': 'o',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '8': 'b',
  '9': 'g',
  '@': 'a',
  $: 's',
  '!': 'i',
  '+': 't',
};

function lettersIn(shape: string, one: 'i' | 'l'): string {
  return shape.replace(/[0-9@$!+]/g, (sign) => (sign === '1' ? one : (substitutes[sign] ?? sign)));
}

/** "abcabcabc" is as good as "abc". */
function isRepetition(reading: string): boolean {
  const unit = /^(.+?)\1+$/u.exec(reading)?.[1];
  return unit !== undefined && (unit.length < shortestListed || isListed(unit));
}

/** Whether it has too few letters beside words that anyone would guess. */
function isMostly(words: readonly string[], reading: string): boolean {
  const found = words.filter((word) => reading.includes(word));
  if (found.length === 0) return false;
  let rest = reading;
  for (const word of found.toSorted((one, other) => other.length - one.length))
    rest = rest.replaceAll(word, ' ');
  const letters = rest.replace(/[^\p{L}]/gu, '');
  return letters.length < lettersOfOnesOwn || isListed(letters);
}

/** The parts of a name or an address, and all of them joined; without a domain's last part. */
function wordsOf(text: string): string[] {
  const [head = '', domain = ''] = text.normalize('NFKC').toLowerCase().split('@');
  const parts = [...head.split(/[^\p{L}\p{N}]+/u), ...domain.split('.').slice(0, -1)];
  return [...parts, head.replace(/[^\p{L}\p{N}]/gu, '')].filter(
    (word) => word.length >= shortestWord,
  );
}
