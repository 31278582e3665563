import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';

/** `npm run check`: folders stay small enough to read, and retired words do not return. */

const mostFiles = 15;

/** Lists of like things. */
const lists = [
  'db/migrations',
  'docs/decisions',
  'services/evaluation/cases',
  'web/src/routes',
  'web/src/routes/_signed-in',
];

/** Texts with a vocabulary of their own: people's questions, word lists, licences, recorded events. */
const unread =
  /^(services\/sandbox\/models\/cases\/|services\/evaluation\/cases\/|web\/content\/|services\/recipes\/shipped\/|tests\/check-tree\.ts$|docs\/voice\.md$|tests\/golden\/|.*(common-passwords|LICENSE)\.txt$|package-lock\.json$|.*\.(png|woff2|ico|svg)$)/;

/** Each with the word to use instead. */
const retired: readonly (readonly [RegExp, string])[] = [
  [/\bwhoever\b/i, 'the caller, the process, the user'],
  [/\banew\b/i, 'again'],
  [/\b(un)?told\b/i, 'notified, reported, given'],
  [/\btells?\b(?! (you|us|your|them)\b)/i, 'says, shows, reports'],
  [/\bmend(s|ed|ing)?\b/i, 'repair'],
  [/\bpatiently\b/i, 'retry while unavailable'],
  [/\bgo(es)? on\b/i, 'continue'],
  [/\bby (it|them)sel(f|ves)\b/i, 'automatically'],
  [/\bcomes? to nothing\b/i, 'fails'],
  [/\bnone of ours\b/i, 'not ours'],
  [/\bis away\b/i, 'is unavailable'],
  [/\b(looks?|looked|looking) after\b|\ba look\b(?!-)|\blooked at\b/i, 'check, poll, sweep'],
  [/\bnews\b/i, 'webhook event, notice'],
  [/\bdeliver(y|ies)\b/i, 'webhook event'],
  [/\bnobody’s|nobody's weather\b/i, 'no one’s'],
  [/\w+Letter\b/, 'email'],
];

/** Where people read: pages, emails, refusals, the command line, the documents. */
const read = /^((services|projections|web\/src)\/.*\.tsx?|docs\/[^/]+\.md|README\.md)$/;

/** Spellings and words of docs/voice.md. Comments and values of the API are not sentences. */
const respelled: readonly (readonly [RegExp, string])[] = [
  [/\be-mail(s|ed)?\b/i, 'email'],
  [/\bfavour/i, 'favor'],
  [/\bsceptic/i, 'skeptic'],
  [/\blabell(ed|ing)\b/i, 'labeled, labeling'],
  [/\b(this|an|your) installation\b/i, 'server'],
  [
    /\b[a-z]+,? cancel(led|ling)\b(?! [=}&|?:])|(?<=\b)cancel(led|ling) (by|before|after|run|plan)\b/i,
    'canceled',
  ],
  [/\d %(?=[\s.,;)'"`])/, '45%, closed up'],
];

/** Without comments, and of code only the lines that hold a sentence. */
function sentencesOf(file: string, line: string): string {
  if (file.endsWith('.md')) return line.replaceAll(/`[^`]*`/g, '');
  if (/^\s*(\/\/|\/?\*)/.test(line)) return '';
  const code = line.replace(/\s\/\/ .*$/, '').replaceAll(/\$\{[^}]*\}/g, '0');
  const quoted = code.match(/(['"`])(?:\\.|(?!\1).)* (?:\\.|(?!\1).)*\1/g) ?? [];
  return /['"`<>={}();]/.test(code) ? quoted.join(' ') : code;
}

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '');

const counts = Map.groupBy(
  files.filter((file) => file.includes('/')),
  (file) => dirname(file),
);
const crowded = [...counts].flatMap(([folder, held]) =>
  held.length > mostFiles && !lists.includes(folder)
    ? [`${folder} holds ${held.length} files; ${mostFiles} are the most: cut it by noun`]
    : [],
);

/** The lines in which a pattern of the list is found, each with the word to use instead. */
function saying(
  list: typeof retired,
  among: readonly string[],
  textOf: (file: string, line: string) => string,
): string[] {
  return among.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        list.flatMap(([pattern, instead]) => {
          const found = pattern.exec(textOf(file, line))?.[0];
          return found === undefined ? [] : [`${file}:${index + 1} says "${found}": ${instead}`];
        }),
      ),
  );
}

const ours = files.filter((file) => !unread.test(file));
const spoken = saying(retired, ours, (_, line) => line);
const misspelled = saying(
  respelled,
  ours.filter((file) => read.test(file)),
  sentencesOf,
);

const problems = [...crowded, ...spoken, ...misspelled];
for (const problem of problems) process.stdout.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
