import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { checkLedger } from '#services/optimizations/prompts/reply-checks.ts';
import { readReply } from '#services/optimizations/prompts/read-reply.ts';
import { parseReply } from '#services/optimizations/prompts/reply-schemas.ts';
import type { Opinion } from '#services/optimizations/prompts/reply-schemas.ts';
import { filled } from '#tests/walls/hostile/inputs.ts';
import { asJson } from './as-read.ts';
import { repairLimitMs, withoutRepairLimit } from './repair-limit.ts';

withoutRepairLimit();

const opinion: Opinion = {
  recommendation: { option_label: 'Open on Sundays', one_line: 'Open on Sundays for a month.' },
  reasoning: ['People walk by: "many" of them {every hour}.'],
  claims: [{ text: 'Sunday visitors buy more.', importance: 3, if_false_flips: true }],
  assumptions: ['The oven can be used on Sundays.'],
  missing_info: ['How many people pass on Sundays'],
  risks: ['Nobody comes.'],
  stated_confidence: 70,
};
const json = JSON.stringify(opinion);
const pretty = JSON.stringify(opinion, null, 2);
const parsed = async (reply: string) => parseReply('opinion', await readReply(reply));

describe('a reply in a careless form', () => {
  test.each([
    ['in a fence', '```json\n' + pretty + '\n```'],
    ['in a fence that never ends', '```json\n' + pretty],
    ['behind prose', `Here is {my} answer:\n${json}`],
    ['before prose', `${json}\n\nI hope that {this} helps!`],
    ['behind its thoughts', `<think>{"reasoning": maybe}</think>\n${json}`],
    ['with trailing commas', pretty.replaceAll('\n  ]', ',\n  ]').replace(/\n\}$/, ',\n}')],
    ['with comments', pretty.replace('{', '{ // the answer')],
    ['with bare keys', json.replace(/"([a-z_]+)":/g, '$1:')],
    ['with Python’s words', json.replace('true', 'True')],
    ['with line breaks in its texts', json.replace('Nobody comes.', 'Nobody\ncomes.')],
    ['without a comma', json.replace('],"risks"', '] "risks"')],
  ])('a reply %s is read, and says that its JSON was repaired', async (_form, reply) => {
    const value = reply.includes('Nobody\n') ? { ...opinion, risks: ['Nobody\ncomes.'] } : opinion;
    expect(await parsed(reply)).toEqual({ ok: true, value, repaired: ['json'] });
  });

  test('a reply in its proper form says that nothing was repaired', async () => {
    for (const reply of [json, `\n${pretty}\n`])
      expect(await parsed(reply)).toEqual({ ok: true, value: opinion, repaired: [] });
  });

  test(
    'a reply that was cut off is malformed wherever the cut is, in any form',
    { tags: ['long'] },
    async () => {
      const forms = [
        json,
        pretty,
        '```json\n' + pretty,
        `Here it is: ${json}`,
        json.replace('],"', '],,"'),
      ];
      for (const form of forms)
        for (let end = 0; end < form.length; end += 1) {
          const cut = form.slice(0, end);
          expect([cut, (await parsed(cut)).ok]).toEqual([cut, false]);
        }
    },
  );

  test.each([
    ['nothing', ''],
    ['prose', 'I would open on Sundays.'],
    ['an array', '[]'],
    ['two empty objects', '{} {}'],
    ['braces in prose', 'Open {on Sundays} or {never}.'],
  ])('a reply of %s is malformed', async (_what, reply) => {
    expect(await parsed(reply)).toMatchObject({ ok: false, failure: 'malformed' });
  });

  test.each([
    ['{', 500_000],
    ['"', 500_000],
    ["'a", 8000],
    ['"a\n', 8000],
  ])(
    'a reply of %j over %i characters is given up at the limit, and the next one is repaired',
    async (unit, length) => {
      const limit = new AbortController();
      const limitOf = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(limit.signal);
      limitOf.mockClear();
      const reading = readReply(`{"a":${filled(unit, length)}}`);
      // Another thread repairs, so this one is free to end it.
      await vi.waitFor(() => expect(limitOf).toHaveBeenCalledExactlyOnceWith(repairLimitMs), {
        timeout: 60_000,
      });
      limit.abort();
      expect(await reading).toBeUndefined();
      expect(await parsed(json.replace('],"risks"', '] "risks"'))).toMatchObject({ ok: true });
    },
  );
});

describe('the values of a reply', () => {
  const withValue = (change: object) => parseReply('opinion', asJson({ ...opinion, ...change }));
  const claim = (change: object) => ({ claims: [{ ...opinion.claims[0], ...change }] });

  test.each([
    ['a number as text', { stated_confidence: '70' }],
    ['a number with a percent sign', { stated_confidence: '70 %' }],
    ['a share of a hundred', { stated_confidence: '70/100' }],
    ['yes', claim({ if_false_flips: 'Yes' })],
    ['true as text', claim({ if_false_flips: 'true' })],
    ['an importance as text', claim({ importance: '3' })],
    ['an importance that is too high', claim({ importance: 9 })],
  ])('%s is read as the value that is meant', (_what, change) => {
    expect(withValue(change)).toEqual({ ok: true, value: opinion, repaired: ['clamped'] });
  });

  test.each([
    ['a number that is too high', 170, 100],
    ['a number that is too low', -5, 0],
    ['half a point', 69.6, 70],
  ])('%s is brought into its range', (_what, given, read) => {
    expect(withValue({ stated_confidence: given })).toMatchObject({
      value: { stated_confidence: read },
      repaired: ['clamped'],
    });
  });

  test.each([
    ['a number in words', { stated_confidence: 'high' }],
    ['a number that is missing', { stated_confidence: undefined }],
    ['a word for maybe', claim({ if_false_flips: 'maybe' })],
    ['reasons that are missing', { reasoning: undefined }],
  ])('%s is malformed', (_what, change) => {
    expect(withValue(change)).toMatchObject({ ok: false, failure: 'malformed' });
  });

  test('a stance in other letters is read as the stance that is meant', () => {
    const review = {
      ranking: [['K7Q']],
      scores: [],
      votes: [{ claim_id: 'c1', stance: 'Agree', confidence: '80' }],
      decision_vote: { option_id: 'o1', answer_label: '' },
    };
    expect(parseReply('review', asJson(review))).toMatchObject({
      value: {
        votes: [{ stance: 'agree', confidence: 80 }],
        critique: '',
        fatal_flaws: [],
        injection_suspected: [],
      },
      repaired: ['defaults', 'clamped'],
    });
  });

  test('a missing list that may be empty is empty, whether it is left out or null', () => {
    for (const missing of [undefined, null])
      expect(withValue({ assumptions: missing, risks: missing, missing_info: missing })).toEqual({
        ok: true,
        value: { ...opinion, assumptions: [], risks: [], missing_info: [] },
        repaired: ['defaults'],
      });
  });
});

describe('a quote', () => {
  const text = 'I think:\nSunday visitors — “the regulars” — won’t  buy more.';
  const check = (quote: string, answer = text) =>
    checkLedger(
      {
        title: '',
        claims: [
          {
            claim_id: 'a',
            text: 'x',
            importance: 2,
            supporting_quotes: [{ answer_label: 'K7Q', quote }],
          },
        ],
        options: [{ option_id: 'o', text: 'Open', answer_labels: ['K7Q'] }],
      },
      [{ label: 'K7Q', text: answer }],
    );
  const words = 'Sunday visitors — “the regulars” — won’t buy more.';

  test.each([
    ['to the letter', words, false],
    ['apart from white space', 'Sunday visitors — “the regulars” —\nwon’t buy more.', false],
    ['apart from quotation marks', "Sunday visitors — 'the regulars' — won't buy more.", true],
    ['apart from dashes', 'Sunday visitors - “the regulars” -- won’t buy more.', true],
    ['apart from case', 'sunday visitors — “the regulars” — won’t buy more.', true],
    ['in quotation marks of its own', `"${words}"`, true],
  ])('a quote that is copied %s counts, in the words of its answer', (_how, quote, repaired) => {
    const checked = check(quote);
    expect(checked).toMatchObject({
      ok: true,
      value: { claims: [{ quotes: [{ label: 'K7Q', quote: words }] }], quotesRepaired: repaired },
    });
  });

  test.each([
    ['paraphrased', 'Visitors on Sunday buy more.'],
    ['empty', ''],
    ['only quotation marks', '“”'],
    ['longer than its answer', `${words} They do.`],
  ])('a quote that is %s does not count', (_what, quote) => {
    expect(check(quote)).toMatchObject({
      ok: false,
      reason: 'claims: no quote stands in the answers',
    });
  });

  test('a quote is found wherever a part of an answer is copied, and is that part', () => {
    const answers = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(answers, fc.nat(40), fc.nat(40), (answer, from, length) => {
        const normal = answer.normalize('NFC');
        const part = normal.slice(from, from + length).toWellFormed();
        const checked = check(part.toUpperCase().toLowerCase(), normal);
        if (!checked.ok) return;
        const quote = checked.value.claims[0]?.quotes[0]?.quote ?? '';
        expect(normal.replace(/\s+/g, ' ')).toContain(quote);
      }),
      { numRuns: 300 },
    );
  });
});
