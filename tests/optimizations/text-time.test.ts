import { expect, test } from 'vitest';
import { createReadable } from '#services/live/readable.ts';
import {
  findsInjection,
  flattenMarkdown,
  normalizeSpace,
  opinionText,
  scrub,
} from '#services/optimizations/answer-text.ts';
import { escapeMarkdown, numbersNotIn } from '#services/optimizations/draft.ts';
import { checkLedger, parseReply, sharedNotes } from '#services/optimizations/replies.ts';
import { filled, textUnits } from '#tests/walls/hostile-inputs.ts';

/** As long as an opinion can be after its fields were cut. */
const characters = 20_000;
/** Far above what a busy machine needs, and far below the seconds of anything quadratic. */
const mostMs = 500;

const opinionOf = (text: string) => ({
  recommendation: { option_label: text, one_line: text },
  reasoning: Array.from({ length: 8 }, () => text),
  claims: Array.from({ length: 8 }, () => ({ text, importance: 3, if_false_flips: true })),
  assumptions: Array.from({ length: 6 }, () => text),
  missing_info: Array.from({ length: 6 }, () => text),
  risks: Array.from({ length: 6 }, () => text),
  stated_confidence: 50,
});

/** Everything between a reply and what is stored or shown of it. */
function written(text: string): string {
  const parsed = parseReply('opinion', JSON.stringify(opinionOf(`a ${text}`)));
  if (!parsed.ok) throw new Error(parsed.reason);
  sharedNotes([
    { author: 'S1', opinion: parsed.value },
    { author: 'S2', opinion: parsed.value },
  ]);
  return opinionText(parsed.value);
}

/** Each is given the raw text, too: a question is not cut into fields. */
const flattening = { flattenMarkdown, scrub, escapeMarkdown };
const comparing = {
  findsInjection,
  normalizeSpace,
  numbersNotIn: (text: string) => numbersNotIn([text], [text]),
};

test.each(textUnits)('20,000 characters of $name take no step long', ({ input }) => {
  const raw = filled(input, characters);
  const slow: [string, number][] = [];
  const timed = <Result>(name: string, step: () => Result): Result => {
    const begun = performance.now();
    const result = step();
    const ms = performance.now() - begun;
    if (ms > mostMs) slow.push([name, ms]);
    return result;
  };
  const shown = timed('parsing', () => written(raw));
  timed('streaming', () => createReadable().push(`{"a":${JSON.stringify(raw)}}`));
  for (const [name, step] of Object.entries({ ...flattening, ...comparing }))
    timed(name, () => step(shown));
  for (const [name, step] of Object.entries(flattening)) timed(`${name}, raw`, () => step(raw));
  expect(slow).toEqual([]);
});

test('a word of 50,000 characters streams in time that grows with its length', () => {
  const begun = performance.now();
  createReadable().push(`{"a":"${filled('a', 50_000)}"}`);
  expect(performance.now() - begun).toBeLessThan(mostMs);
});

test('a full ledger of quotes that almost stand in an answer is checked at once', () => {
  const quote = `bb${filled('ab', 1198)}`;
  const ledger = {
    claims: Array.from({ length: 24 }, (_, at) => ({
      claim_id: `c${at}`,
      text: 'A claim.',
      importance: 3 as const,
      supporting_quotes: Array.from({ length: 14 }, () => ({ answer_label: 'K7Q', quote })),
    })),
    options: [{ option_id: 'o1', text: 'Open', answer_labels: ['K7Q'] }],
  };
  const begun = performance.now();
  const checked = checkLedger(ledger, [{ label: 'K7Q', text: filled('ab', characters) }]);
  expect(performance.now() - begun).toBeLessThan(mostMs);
  expect(checked.ok).toBe(false);
});
