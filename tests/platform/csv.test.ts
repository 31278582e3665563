import { expect, test } from 'vitest';
import { csvLine } from '#services/platform/csv.ts';

test.each([
  ['b;=1+1;c', `"b;'=1+1;c"`],
  [';=1', `";'=1"`],
  ['b; @SUM(A1)', `"b; '@SUM(A1)"`],
  ['b\n\n-1+1', `"b\n\n'-1+1"`],
  ['b\r+A1', `"b\r'+A1"`],
  ['b\t=1', `"b\t'=1"`],
  ['\n=1', `"'\n'=1"`],
  ["b;- cmd|' /C calc'!A0", `"b;'- cmd|' /C calc'!A0"`],
  ['b;"=1', `"b;""'=1"`],
  ['b\n"=1', `"b\n""'=1"`],
  ['"=1', `"'""=1"`],
  ['b;\u200B=1', `"b;\u200B'=1"`],
  ['\u200B=1', "'\u200B=1"],
  ['\u2060\u00AD @SUM(A1)', "'\u2060\u00AD @SUM(A1)"],
])('%j that would be a formula once it is split, or unseen, is a text', (value, cell) => {
  expect(csvLine([value])).toBe(`${cell}\r\n`);
});

test.each(['Two ways; - or three', 'Why:\n- the price\n- the time\n', 'a;b = c', 'x\u200By'])(
  '%j stays as it was written',
  (value) => {
    expect(csvLine([value]).replaceAll('"', '')).toBe(`${value}\r\n`);
  },
);

test('a long run of blanks and separators takes no longer than other texts of its length', () => {
  const before = process.threadCpuUsage();
  for (const unit of ['\n', '"', ' ', ';', '\u200B', '\uFEFF', '- ', '-;'])
    csvLine([`x;${unit.repeat(200_000)}x`]);
  expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(1_000);
});
