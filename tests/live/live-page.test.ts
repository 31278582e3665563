import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Bye } from '#services/live/contract.ts';
import { clientEvents, serverEvents } from '#services/live/socket/contract.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/live.md'), 'utf8');

/** The names in backticks that begin the rows of the table with this heading. */
function rowsUnder(heading: string): string[] {
  const table = page.slice(page.indexOf(`| ${heading} |`)).split('\n\n')[0] ?? '';
  return [...table.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1] ?? '');
}

function namesAfter(words: string, ending: string): string[] {
  const begun = page.slice(page.indexOf(words) + words.length);
  const part = begun.slice(0, begun.indexOf(ending));
  return [...part.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

test('the page about live clients lists exactly the messages of the socket', () => {
  expect(rowsUnder('a client sends')).toEqual(Object.keys(clientEvents));
  expect(rowsUnder('a client receives')).toEqual(serverEvents);
});

test('the page about live clients lists the reasons of the stream to end', () => {
  expect(
    namesAfter('**Ends.** `bye` says', 'or more').filter((name) =>
      Bye.entries.reason.options.some((one) => one === name),
    ),
  ).toEqual(expect.arrayContaining(Bye.entries.reason.options));
});

test('the page about live clients lists every message that the stream sends', () => {
  const sent = globSync('services/live/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/encode\('(\w+)'/g)].map(([, name = '']) => name),
  );
  expect(rowsUnder('event').toSorted()).toEqual([...new Set(sent)].toSorted());
});
