import fc from 'fast-check';
import { expect, test } from 'vitest';
import { passagesOf } from '#services/optimizations/files/passages.ts';

const filler = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `word${from + index}`).join(' ');
const before = filler(0, 3000);
const after = filler(3000, 3000);
const fact = 'The lease of the shop in Lyon ends on the last day of May';
const files = [
  { name: 'lease.txt', text: `${before} ${fact}. Rent: 2,250 € ${after}` },
  { name: 'other.txt', text: filler(9000, 100) },
];
const passage = (answer: string) => passagesOf(files, [{ text: answer }])[0]?.text ?? '';

test.each([
  ['five of its words', 'Note that the lease of the shop in Lyon ends soon.', true],
  ['its words with other case and spaces', 'THE  LEASE\nof the shop!', true],
  ['a few words in quotation marks', 'It says “last day” there.', true],
  ['a figure, written in another way', 'You pay 2250 each month.', true],
  ['a few words without marks', 'The last day is near.', false],
  ['a year', 'In 2026 you will see.', false],
  ['nothing', 'I would wait.', false],
])(
  'a reviewer of an answer that quotes %s reads around it, or nothing',
  (_what, answer, isShown) => {
    const text = passage(answer);
    expect(text.includes('Lyon ends on the last')).toBe(isShown);
    expect(text === '').toBe(!isShown);
    expect(/^\[…\] [^]*\[…\]$/.test(text)).toBe(isShown);
  },
);

test('a file that no answer quotes keeps its name alone', () => {
  expect(passagesOf(files, [{ text: fact }]).map(({ name, text }) => [name, text === ''])).toEqual([
    ['lease.txt', false],
    ['other.txt', true],
  ]);
  expect(passagesOf([], [{ text: fact }])).toEqual([]);
});

test.each([
  ['one figure in each row', () => 1200],
  ['another figure in each row', (row: number) => 5000 + row],
])('a table with %s hides no quote of another file, nor of its own end', (_what, figureOf) => {
  const figures = Array.from({ length: 40 }, (_, row) => figureOf(row));
  const rows = figures.map((figure, row) => `Order ${row} is of ${figure} pieces for the north.`);
  const sentence = 'Either side may end this contract within ninety days';
  const orders = { name: 'orders.csv', text: `${rows.join('\n')}\nFrom May on we deliver to Lyon` };
  const contract = { name: 'contract.txt', text: `${before} ${sentence}. ${after}` };
  const answers = [{ text: `Orders: ${figures.join(', ')}` }, { text: sentence }];
  answers.push({ text: 'They wrote “deliver to Lyon”.' });
  for (const attached of [
    [orders, contract],
    [contract, orders],
  ]) {
    const texts = new Map(passagesOf(attached, answers).map(({ name, text }) => [name, text]));
    expect(texts.get('contract.txt')).toContain(sentence);
    expect(texts.get('orders.csv')).toContain('deliver to Lyon');
  }
});

test('passages are parts of their files, and have hardly more than 4,000 characters together', () => {
  const quoted = fc.record({
    at: fc.integer({ min: 0, max: 990 }),
    words: fc.integer({ min: 5, max: 400 }),
  });
  fc.assert(
    fc.property(fc.array(quoted, { minLength: 1, maxLength: 40 }), (quotes) => {
      const words = filler(0, 1000).split(' ');
      const whole = [
        { name: 'a', text: words.join(' ') },
        { name: 'b', text: words.toReversed().join('\n') },
      ];
      const answers = quotes.map(({ at, words: count }) => ({
        text: words.slice(at, at + count).join(' '),
      }));
      const passages = passagesOf(whole, answers);
      for (const [index, { text }] of passages.entries())
        for (const part of text.split(/\s*\[…\]\s*/)) expect(whole[index]?.text).toContain(part);
      const characters = passages.reduce((sum, { text }) => sum + text.length, 0);
      expect(characters).toBeGreaterThan(0);
      // Twenty places, each with marks at both of its ends.
      expect(characters).toBeLessThanOrEqual(4000 + 20 * 9);
    }),
  );
});

test('passages of the most text that repeats itself are found at once', () => {
  const text = 'a '.repeat(20_000);
  const started = performance.now();
  passagesOf(
    [{ name: 'a', text }],
    Array.from({ length: 11 }, () => ({ text: text.slice(0, 6000) })),
  );
  expect(performance.now() - started).toBeLessThan(2000);
});
