import type { RunFile } from '#services/optimizations/reading/view.ts';

/** Characters that a reviewer reads of all files together. */
const mostCharacters = 4_000;

/** So many words in a row are no accident; in quotation marks fewer will do. */
const wordsOfQuote = 5;
const fewestMarkedWords = 2;

/** A figure of at least so many digits is copied, too, unless it can be a year. */
const figure = /^(?!(?:19|20)\d\d$)\d{4,}$/;

type Word = Range & { text: string };
type Range = { from: number; to: number };

/**
 * What a reviewer reads of the files: the text around what the answers quote or which figures they
 * name, at most 4,000 characters together, shared evenly by the places. A file that no answer quotes
 * is empty. Quotes are compared by words, so white space, case and punctuation do not matter.
 */
export function passagesOf(
  files: readonly RunFile[],
  answers: readonly { text: string }[],
): readonly RunFile[] {
  const sought = soughtIn(answers);
  const quoted = files.map(({ text }) => joined(quotedRanges(text, sought)));
  const places = quoted.flat();
  const share = Math.floor(mostCharacters / Math.max(1, Math.min(places.length, mostPlaces)));
  let left = mostPlaces;
  return files.map(({ name, text }, index) => {
    const kept = (quoted[index] ?? []).slice(0, left);
    left -= kept.length;
    const windows = joined(kept.map((range) => windowAround(range, share, text.length)));
    return { name, text: windows.map((range) => excerpt(text, range)).join('\n') };
  });
}

/** Shorter windows would say too little about where a quote stands. */
const mostPlaces = 20;

/** Runs of words to look for, each as one text. */
function soughtIn(answers: readonly { text: string }[]): ReadonlySet<string> {
  const sought = new Set<string>();
  for (const { text: answer } of answers) {
    const words = wordsOf(answer);
    for (const { text } of runsOf(words, wordsOfQuote)) sought.add(text);
    for (const { text } of words) if (figure.test(text)) sought.add(text);
    for (const [, quote = ''] of answer.matchAll(marked)) {
      const few = wordsOf(quote);
      if (few.length >= fewestMarkedWords && few.length < wordsOfQuote)
        sought.add(few.map(({ text }) => text).join(' '));
    }
  }
  return sought;
}

const marked =
  /["\u00AB\u201C\u201E]([^"\u00AB\u00BB\u201C-\u201F\n]{1,200})["\u00BB\u201C\u201D]/g;

function quotedRanges(text: string, sought: ReadonlySet<string>): Range[] {
  const words = wordsOf(text);
  const found: Range[] = [];
  for (let count = 1; count <= wordsOfQuote; count += 1)
    for (const run of runsOf(words, count)) if (sought.has(run.text)) found.push(run);
  return found.toSorted((one, other) => one.from - other.from);
}

function runsOf(words: readonly Word[], count: number): Word[] {
  return words.slice(count - 1).map(({ to }, index) => ({
    text: words
      .slice(index, index + count)
      .map(({ text }) => text)
      .join(' '),
    from: words[index]?.from ?? 0,
    to,
  }));
}

/** Figures without the separators of thousands, so that 2,250 and 2250 are one. */
const word = /\d{1,3}(?:[.,'\u00A0\u202F]\d{3})+(?!\d)|\p{N}+|[\p{L}\p{M}]+/gu;

function wordsOf(text: string): Word[] {
  return [...text.matchAll(word)].map(({ 0: found, index }) => ({
    text: /^\d/.test(found) ? found.replace(/\D/g, '') : found.normalize('NFKC').toLowerCase(),
    from: index,
    to: index + found.length,
  }));
}

/** Sorted ranges, with those that touch as one. */
function joined(ranges: readonly Range[]): Range[] {
  const all: Range[] = [];
  for (const range of ranges) {
    const last = all.at(-1);
    if (last && range.from <= last.to) last.to = Math.max(last.to, range.to);
    else all.push({ ...range });
  }
  return all;
}

/** `size` characters with the range in their middle; a longer range loses its end. */
function windowAround({ from, to }: Range, size: number, length: number): Range {
  const start = Math.max(0, from - Math.max(0, Math.floor((size - (to - from)) / 2)));
  return { from: start, to: Math.min(start + size, length) };
}

function excerpt(text: string, { from, to }: Range): string {
  const words = text.slice(from, to).toWellFormed().trim();
  return `${from > 0 ? '[…] ' : ''}${words}${to < text.length ? ' […]' : ''}`;
}
