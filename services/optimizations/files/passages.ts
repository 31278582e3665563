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
/** @param isFigure nothing but a figure */
type Place = Range & { isFigure: boolean };

/**
 * What a reviewer reads of the files: the text around what the answers quote or which figures they
 * name, at most 4,000 characters together, shared evenly by at most 20 places. The files give places
 * in turn, so that none hides another: quotes before figures, and longer ones first. A file that no
 * answer quotes is empty. Quotes are compared by words, so white space, case and punctuation do not
 * matter.
 */
export function passagesOf(
  files: readonly RunFile[],
  answers: readonly { text: string }[],
): readonly RunFile[] {
  if (files.length === 0) return [];
  const sought = soughtIn(answers);
  const places = files
    .flatMap(({ text }, file) =>
      joined(quotedPlaces(text, sought))
        .toSorted(bestFirst)
        .map((place, turn) => ({ ...place, file, turn })),
    )
    .toSorted((one, other) => one.turn - other.turn)
    .slice(0, mostPlaces);
  const share = Math.floor(mostCharacters / Math.max(1, places.length));
  return files.map(({ name, text }, index) => {
    const windows = places
      .filter(({ file }) => file === index)
      .map((place) => ({ ...place, ...windowAround(place, share, text.length) }))
      .toSorted(inOrder);
    return {
      name,
      text: joined(windows)
        .map((range) => excerpt(text, range))
        .join('\n'),
    };
  });
}

/** Shorter windows would say too little about where a quote stands. */
const mostPlaces = 20;

/** A table may hold one figure in each of its rows. */
const mostOfOne = 3;

const inOrder = (one: Range, other: Range) => one.from - other.from;

function bestFirst(one: Place, other: Place): number {
  const length = ({ from, to }: Range) => to - from;
  return Number(one.isFigure) - Number(other.isFigure) || length(other) - length(one);
}

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

/** In the order of the text, the first three of each run. */
function quotedPlaces(text: string, sought: ReadonlySet<string>): Place[] {
  const words = wordsOf(text);
  const counts = new Map<string, number>();
  const found: Place[] = [];
  for (let count = 1; count <= wordsOfQuote; count += 1)
    for (const { text: run, from, to } of runsOf(words, count)) {
      const before = counts.get(run) ?? 0;
      if (!sought.has(run) || before === mostOfOne) continue;
      counts.set(run, before + 1);
      found.push({ from, to, isFigure: count === 1 });
    }
  return found.toSorted(inOrder);
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
function joined(ranges: readonly Place[]): Place[] {
  const all: Place[] = [];
  for (const range of ranges) {
    const last = all.at(-1);
    if (last && range.from <= last.to) {
      last.to = Math.max(last.to, range.to);
      last.isFigure &&= range.isFigure;
    } else all.push({ ...range });
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
