import { describe, expect, test } from 'vitest';
import { loadCases } from '#services/evaluation/cases.ts';
import { judgePair } from '#services/evaluation/judging/judge.ts';
import { chooseJudges } from '#services/evaluation/judging/judges.ts';
import { judgmentPrompt, readJudgment } from '#services/evaluation/judging/prompt.ts';
import type { AnswerLine } from '#services/evaluation/records/records.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { Offer } from '#services/models/offer.ts';
import { everyModel } from '#services/optimizations/run/slots.ts';
import { planHere } from './evaluations.ts';

const [evaluated] = loadCases();
if (evaluated === undefined) throw new Error('There are no cases');
const sandboxed = await planHere(['--sandbox', '--out', 'unused', '--cases', evaluated.id]);
const councils = sandboxed.cases.map(({ council }) => council);
const [judge] = sandboxed.judges;
if (judge === undefined) throw new Error('There is no judge');

const reply = {
  criteria: evaluated.rubric.map(({ id }) => ({ criterion_id: id, first: 'yes', second: 'no' })),
  traps: evaluated.traps.map(({ id }) => ({ trap_id: id, first: false, second: true })),
  better: 'first',
  reason: ' It  decides. ',
};
const read = (change: object) =>
  readJudgment(evaluated, { value: { ...reply, ...change }, isRepaired: false });

describe('judges', () => {
  const offer = (model: string, family: string, more: Partial<Offer> = {}): Offer => ({
    ...judge.offer,
    model,
    remoteId: model,
    name: model,
    family,
    tier: 'strong',
    ...more,
  });

  test('take no part in any answer, and come from two makers', () => {
    const takingPart = councils.flatMap(everyModel).map(({ model }) => model);
    expect(sandboxed.judges).toHaveLength(2);
    for (const { offer: own } of sandboxed.judges) expect(takingPart).not.toContain(own.model);
    expect(new Set(sandboxed.judges.map(({ offer: own }) => own.family)).size).toBe(2);
  });

  test('come from makers without a seat where there are any', () => {
    const offers = [...sandboxed.offers, offer('x-1', 'x'), offer('y-1', 'y'), offer('x-2', 'x')];
    const chosen = chooseJudges(offers, councils, null);
    expect(chosen.map(({ offer: { family } }) => family).toSorted()).toEqual(['x', 'y']);
    expect(chosen.every(({ siblings }) => siblings === 0)).toBe(true);
  });

  test('whose maker has a seat are counted as related', () => {
    expect(sandboxed.judges.every(({ siblings }) => siblings > 0)).toBe(true);
  });

  test('are refused when every model takes part, or when a named one does', () => {
    const takingPart = sandboxed.offers.filter(({ model }) =>
      councils.flatMap(everyModel).some((one) => one.model === model),
    );
    expect(() => chooseJudges(takingPart, councils, null)).toThrow('none is left to judge');
    const [one] = takingPart;
    expect(() => chooseJudges(sandboxed.offers, councils, [one?.model ?? ''])).toThrow(
      'takes part in the answers',
    );
    expect(() => chooseJudges(sandboxed.offers, councils, ['nobody'])).toThrow('nobody');
  });

  test('without a known price are not chosen, because no budget could be kept', () => {
    const offers = [...sandboxed.offers, offer('x-1', 'x', { price: null })];
    expect(chooseJudges(offers, councils, null).map(({ offer: own }) => own.model)).not.toContain(
      'x-1',
    );
    expect(() => chooseJudges(offers, councils, ['x-1'])).toThrow('no known price');
  });
});

describe('a judgment', () => {
  test('is asked for with the rubric and both answers, and without what readers know', () => {
    const { prompt, system } = judgmentPrompt(
      evaluated,
      { first: 'FIRST TEXT', second: 'SECOND TEXT' },
      { delimiter: 'code' },
    );
    expect(prompt).toContain(evaluated.rubric[0]?.criterion);
    expect(prompt).toContain(evaluated.traps[0]?.description);
    expect(prompt.indexOf('FIRST TEXT')).toBeLessThan(prompt.indexOf('SECOND TEXT'));
    expect(prompt).not.toContain(evaluated.note);
    expect(`${system}${prompt}`).not.toMatch(/council|strongest|fused|no-reviews|\bvotes?\b/i);
  });

  test('holds a pair of marks for each criterion and of findings for each trap', () => {
    const found = read({});
    expect(found).toMatchObject({ ok: true, value: { better: 'first', reason: 'It decides.' } });
    if (!found.ok) throw new Error(found.reason);
    expect(Object.values(found.value.marks)).toEqual(evaluated.rubric.map(() => ['yes', 'no']));
    expect(Object.values(found.value.traps)).toEqual(evaluated.traps.map(() => [false, true]));
  });

  test.each([
    ['a criterion is missing', { criteria: reply.criteria.slice(1) }],
    ['a criterion occurs twice', { criteria: [...reply.criteria, reply.criteria[0]] }],
    ['a trap is missing', { traps: [] }],
    ['a mark is none of the three', { criteria: [{ ...reply.criteria[0], first: 'maybe' }] }],
    ['it names no answer', { better: 'both' }],
  ])('does not count when %s', (_, change) => {
    expect(read(change).ok).toBe(false);
  });

  const answer = (condition: AnswerLine['condition']): AnswerLine => ({
    key: condition,
    caseId: evaluated.id,
    at: '',
    seconds: 1,
    cost: { micros: 0, isLeast: false },
    tokens: { input: 0, output: 0 },
    calls: 1,
    simulated: true,
    condition,
    failure: null,
    text: condition,
    heading: null,
    revealing: [],
  });
  const judged = async (replies: (string | ModelFailure)[]) => {
    const left = [...replies];
    const registry: Parameters<typeof judgePair>[1]['registry'] = {
      provider: (name) => ({
        name,
        isFree: false,
        async *call() {
          const next = left.shift();
          if (next === undefined) throw new Error('One call too many');
          if (typeof next !== 'string') throw next;
          yield {
            type: 'reply',
            reply: {
              text: next,
              usage: unknownUsage,
              billedCost: null,
              finish: 'stop',
              answeredBy: 'x',
            },
          };
        },
      }),
    };
    const line = await judgePair(
      {
        key: 'k',
        evaluated,
        judge,
        first: answer('council'),
        second: answer('strongest'),
        seed: 's',
      },
      {
        registry,
        clock: Date.now,
        retryMs: [0, 0],
        signal: new AbortController().signal,
      },
    );
    return { line, left: left.length };
  };

  test('that is malformed is asked for again, until it is whole', async () => {
    const whole = JSON.stringify(reply);
    const { line, left } = await judged(['no JSON', whole, whole]);
    expect(line).toMatchObject({ failure: null, better: 'first', first: 'council' });
    expect(left).toBe(1);
  });

  test('that fails to the end is recorded as failed', async () => {
    const away = new ModelFailure('unavailable', 'away');
    const { line, left } = await judged([away, away, away, away]);
    expect(line).toMatchObject({ failure: 'unavailable', better: null });
    expect(left).toBe(1);
  });

  test('that a model refuses is not asked for again', async () => {
    const { line, left } = await judged([new ModelFailure('refusal', 'no'), JSON.stringify(reply)]);
    expect(line.failure).toBe('refusal');
    expect(left).toBe(1);
  });
});
