import { expect, test } from 'vitest';
import { briefMarkdown } from '#services/optimizations/reading/markdown/brief-markdown.ts';
import { isCompetitive } from '#services/optimizations/dashboard/competitive.ts';
import {
  percentileRank,
  decilesOf,
  impossibilityIndex,
  roundDownTo,
  middleMean,
  speedOf,
} from '#services/optimizations/dashboard/formulas.ts';
import { figuresOf, weekOf } from '#services/optimizations/dashboard/community.ts';
import { daysInWords } from '#services/platform/locale.ts';
import type { Contributor } from '#services/optimizations/dashboard/community.ts';

test.each([
  [5, 2, null],
  [5, 3, 96],
  [0.5, 3, 960],
  [null, 0, null],
  [0, 3, null],
])('the speed of runs of %s minutes, %i of them timed, is %s', (minutes, timed, speed) => {
  expect(speedOf({ average_minutes: minutes, timed_optimizations: timed })).toBe(speed);
});

test.each([
  [null, 12, null],
  [0, 0, 0],
  [0.5, 7, 64],
  [0.86, 7, 100],
  [1, 12, 100],
])('the impossibility index of a success rate of %s and %i models is %s', (rate, models, index) => {
  expect(impossibilityIndex({ success_rate: rate, models_total: models })).toBe(index);
});

test('a group is counted in whole steps', () => {
  expect([19, 20, 29, 30].map((count) => roundDownTo(count, 10))).toEqual([10, 20, 20, 30]);
});

test('the mean of the middle half leaves out a quarter at each end', () => {
  expect([
    middleMean([900, 3, 1, 2]),
    middleMean([100, 1, 2, 3, 4, 5, 6, 0]),
    middleMean([4, 7]),
    middleMean([]),
  ]).toEqual([2.5, 3.5, 5.5, null]);
});

test('a value is above the tenths of a group that lie below it', () => {
  const deciles = decilesOf(Array.from({ length: 100 }, (_, index) => index + 1));
  expect(deciles).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90]);
  expect([1, 10, 11, 55, 100].map((value) => percentileRank(value, deciles))).toEqual([
    0, 0, 10, 50, 90,
  ]);
  expect(decilesOf([])).toEqual([]);
});

test.each([
  ['How should we answer a competitor who halved the price?', true],
  ['What gives us a COMPETITIVE advantage?', true],
  ['Our biggest rival opened next door.', true],
  ['How do we win market share from the incumbents?', true],
  ['How do we position ourselves against larger agencies?', true],
  ['Should we hire a salesperson now or later?', false],
  ['Which complete package should we sell?', false],
  ['Is the competence of the team enough?', false],
])('whether "%s" is about competitors: %s', (question, is) => {
  expect(isCompetitive(question)).toBe(is);
});

test('the week of a moment begins on its Monday, 00:00 UTC', () => {
  for (const at of ['2026-11-23T00:00:00.000Z', '2026-11-29T23:59:59.999Z'])
    expect(weekOf(Date.parse(at)).toISOString()).toBe('2026-11-23T00:00:00.000Z');
});

const contributor = (
  number: number,
  change: Partial<Contributor['of'][number]> = {},
): Contributor => ({
  userId: `usr_${number}`,
  models: 7,
  of: [
    {
      userId: `usr_${number}`,
      challengeType: 'marketing',
      completed: 2,
      failed: 0,
      agreement: 2 * (number % 100),
      scored: 2,
      ...change,
    },
  ],
});
const contributors = (count: number) =>
  Array.from({ length: count }, (_, index) => contributor(index));

test('a group has no figures below 20 contributors, and changes only with ten more', () => {
  expect(figuresOf(contributors(19))).toEqual({ everyone: null, groups: [], deciles: [] });
  const twenty = figuresOf(contributors(20));
  expect(twenty.groups).toEqual([
    { challenge_type: 'marketing', contributors: 20, agreement: 10, success_rate: 1 },
  ]);
  expect(figuresOf(contributors(29))).toEqual(twenty);
  expect(figuresOf(contributors(30)).everyone).toMatchObject({ contributors: 30, agreement: 15 });
});

test('a contributor counts once, however many runs they have', () => {
  const many = contributor(0, { completed: 900, failed: 100, agreement: 90_000, scored: 900 });
  const others = Array.from({ length: 19 }, (_, index) =>
    contributor(index + 1, { completed: 1, agreement: 40, scored: 1 }),
  );
  expect(figuresOf([many, ...others]).everyone).toEqual({
    contributors: 20,
    agreement: 40,
    success_rate: 1,
  });
});

test.each([
  [22, 50],
  [41, 55],
  [63, 55],
  [78, 60],
  [97, 60],
])('a score of %i among 19 made-up contributors is seen as %i', (score, seen) => {
  const made = Array.from({ length: 19 }, (_, index) =>
    contributor(index, { agreement: index < 9 ? 0 : 200 }),
  );
  const figures = figuresOf([...made, contributor(19, { agreement: 2 * score })]);
  expect(figures.everyone?.agreement).toBe(seen);
});

test('people without a completed run are no contributors', () => {
  const none = Array.from({ length: 30 }, (_, index) => contributor(index, { completed: 0 }));
  expect(figuresOf([...none, ...contributors(19)]).everyone).toBeNull();
});

test('a standing needs a hundred contributors', () => {
  expect(figuresOf(contributors(99)).deciles).toEqual([]);
  expect(figuresOf(contributors(100)).deciles).toHaveLength(9);
});

test('a brief as Markdown says what its page says, and nothing in it becomes a link', () => {
  const brief = {
    from: '2026-10-25T12:00:00.000Z',
    to: '2026-11-24T12:00:00.000Z',
    runs: [
      {
        id: 'opt_1',
        title: 'A [link](https://evil.example)',
        ended_at: '2026-11-20T08:00:00.000Z',
        outcome: 'Recommended by 5 of 7 models',
        decision: 'Sell the package.',
        agreement_score: 82,
        agreement_band: 'strong' as const,
        simulated: false,
        consensus: ['The price is too low.'],
        consensus_total: 4,
        open: [{ text: 'Whether to hire.', settled_by: 'A trial month.' }],
        open_total: 1,
        next_steps: [{ action: 'Call ten customers.', facts: [{ label: 'By', text: 'Monday' }] }],
        credits: 14,
      },
    ],
    left_out: 2,
    completed: 3,
    failed: 1,
    cancelled: 0,
    credits: 49,
  };
  expect(daysInWords(brief)).toBe('October 25 to November 24, 2026');
  const text = briefMarkdown(brief);
  expect(text).not.toContain('[link](');
  for (const part of [
    '3 completed, 1 failed, refinements and deleted runs included. 49 credits used.',
    "2 decisions aren't listed: too old or unreadable.",
    'Recommended by 5 of 7 models · Agreement 82 of 100, strong · November 20, 2026 · 14 credits',
    '**Sell the package.**',
    '- The price is too low.\n- and 3 more',
    '- Whether to hire. Both sides, and what would settle the question: A trial month.',
    '- [ ] Call ten customers. · By: Monday',
  ])
    expect(text).toContain(part);
});
