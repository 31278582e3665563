import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refinableOf, refinementPrice } from '#services/optimizations/refinement/offer.ts';
import type { Refinement, RefinementFacts } from '#services/optimizations/refinement/offer.ts';

const ended = (status: Refinement['status'], parts: Partial<Refinement> = {}): Refinement => ({
  run_id: 'opt_1',
  status,
  price: 0,
  started_at: '2026-11-20T12:00:00.000Z',
  ...parts,
});

describe('the price of the next refinement', () => {
  test.each([
    ['nothing before the first', 14, [], 0],
    ['nothing after a try that failed', 14, [ended('failed')], 0],
    ['nothing after two tries', 14, [ended('failed'), ended('cancelled')], 0],
    ['a fifth after three tries', 15, [ended('failed'), ended('failed'), ended('cancelled')], 3],
    ['a fifth, rounded up, after one that completed', 14, [ended('completed')], 3],
    ['at least 2', 2, [ended('completed')], 2],
    [
      'nothing while tries were only cancelled before their start',
      14,
      Array.from({ length: 4 }, () => ended('cancelled', { started_at: null })),
      0,
    ],
    [
      'the same after paid ones',
      14,
      [ended('completed'), ended('completed', { price: 3 }), ended('failed', { price: 3 })],
      3,
    ],
  ])('the next refinement costs %s', (_, rootPrice, refinements, price) => {
    expect(refinementPrice(rootPrice, refinements)).toBe(price);
  });

  test('at most three tries and one completed refinement of a run are included, in every history', () => {
    const end = fc.record({
      status: fc.constantFrom<Refinement['status'][]>('completed', 'failed', 'cancelled'),
      begun: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.array(end, { maxLength: 20 }),
        (price, ends) => {
          const history = ends.reduce<Refinement[]>((done, { status, begun }) => {
            const started = begun || status === 'completed' ? '2026-11-20T12:00:00.000Z' : null;
            return [
              ...done,
              ended(status, { price: refinementPrice(price, done), started_at: started }),
            ];
          }, []);
          const tries = history.filter((one) => one.price === 0 && one.started_at !== null);
          expect(tries.length).toBeLessThanOrEqual(3);
          expect(tries.filter(({ status }) => status === 'completed').length).toBeLessThanOrEqual(
            1,
          );
          for (const one of history.filter((each) => each.price > 0)) {
            expect(one.price).toBeGreaterThanOrEqual(2);
            expect(one.price * 5).toBeGreaterThanOrEqual(price);
            expect(one.price).toBeLessThanOrEqual(Math.max(2, price / 5 + 1));
          }
          // Once used up, the offer never comes back.
          const lastFree = history.findLastIndex((one) => one.price === 0);
          expect(history.slice(0, lastFree + 1).every((one) => one.price === 0)).toBe(true);
        },
      ),
    );
  });
});

describe('what keeps a run from being refined', () => {
  const facts: RefinementFacts = {
    rootPrice: 14,
    refinements: [],
    from: { runId: 'opt_0', isRefinement: false, completed: true, erased: false, scored: true },
    seats: 7,
    offered: 7,
    writers: true,
    debt: 0,
  };
  const { from } = facts;
  const newer = [ended('completed'), ended('completed', { run_id: 'opt_2', price: 3 })];

  test.each<[string, Partial<RefinementFacts>, string | null]>([
    ['nothing', {}, null],
    ['that it has not completed', { from: { ...from, completed: false } }, 'completed'],
    ['that its texts were erased', { from: { ...from, erased: true } }, 'erased'],
    ['unmerged claims', { from: { ...from, scored: false } }, 'could not be merged'],
    ['a refinement that waits', { refinements: [ended('pending')] }, 'in progress'],
    ['a refinement that runs', { refinements: [ended('processing')] }, 'in progress'],
    [
      'a newer refinement',
      { refinements: newer, from: { ...from, runId: 'opt_1', isRefinement: true } },
      'newer refinement',
    ],
    [
      'nothing, when it is the newest completed refinement',
      {
        refinements: [...newer, ended('failed', { run_id: 'opt_3' })],
        from: { ...from, runId: 'opt_2', isRefinement: true },
      },
      null,
    ],
    ['nothing, when it is the root of a refinement', { refinements: newer }, null],
    ['twenty refinements', { refinements: Array(20).fill(ended('completed')) }, '20 times'],
    [
      'nothing, after twenty that never started',
      { refinements: Array(20).fill(ended('cancelled', { started_at: null })) },
      null,
    ],
    ['nothing, with enough models', { offered: 5 }, null],
    ['too few models', { offered: 4 }, 'Only 4 of its 7 models'],
    ['a writer that is gone', { writers: false }, 'writes or checks'],
    ['debt', { debt: 1 }, 'You owe credits'],
  ])('%s keeps a run from being refined, or does not', (_, parts, reason) => {
    const { allowed, reason: said } = refinableOf({ ...facts, ...parts });
    expect(allowed).toBe(reason === null);
    expect(said ?? '').toMatch(reason === null ? /^$/ : new RegExp(reason));
  });
});
