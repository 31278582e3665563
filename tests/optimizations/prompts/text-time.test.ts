import { expect, test } from 'vitest';
import { createReadable } from '#services/live/readable.ts';
import { checkLedger } from '#services/optimizations/prompts/reply-checks.ts';
import { filled, textUnits } from '#tests/walls/hostile/inputs.ts';
import { stepsOver } from './text-steps.ts';

/** As long as an opinion can be after its fields were cut. */
const characters = 20_000;
/** Far above what a slow machine needs, and far below the seconds of anything quadratic. */
const mostMs = 500;

/** Processor time of this thread, so that a busy machine makes no difference. */
function timeOf(work: () => unknown): number {
  const begun = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1000;
}

test.each(textUnits)('20,000 characters of $name take no step long', ({ input }) => {
  const slow = stepsOver(input, characters).flatMap(([name, step]) => {
    const ms = timeOf(step);
    return ms > mostMs ? [[name, ms]] : [];
  });
  expect(slow).toEqual([]);
});

test('a word of 50,000 characters streams in time that grows with its length', () => {
  const json = `{"a":"${filled('a', 50_000)}"}`;
  expect(timeOf(() => createReadable().push(json))).toBeLessThan(mostMs);
});

test('a full ledger of quotes that almost stand in an answer is checked at once', () => {
  const quote = `bb${filled('ab', 1198)}`;
  const ledger = {
    title: '',
    claims: Array.from({ length: 24 }, (_, at) => ({
      claim_id: `c${at}`,
      text: 'A claim.',
      importance: 3 as const,
      supporting_quotes: Array.from({ length: 14 }, () => ({ answer_label: 'K7Q', quote })),
    })),
    options: [{ option_id: 'o1', text: 'Open', answer_labels: ['K7Q'] }],
  };
  const answers = [{ label: 'K7Q', text: filled('ab', characters) }];
  expect(timeOf(() => checkLedger(ledger, answers))).toBeLessThan(mostMs);
  expect(checkLedger(ledger, answers).ok).toBe(false);
});
