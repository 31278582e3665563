import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '#db/recorded-event.ts';
import { foldRun, runEventOf } from '#services/optimizations/reading/read-run.ts';
import { evolve, initialState } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import type { FailureClass } from '#services/models/model.ts';
import { councilBefore } from '#services/optimizations/refinement/before.ts';
import type {
  CallOutcome,
  ClaimFixed,
  OptimizationEvent,
  Stance,
} from '#services/optimizations/run/events.ts';
import { owedSlots } from '#services/optimizations/run/owed.ts';
import { claimsToVoteOn } from '#services/optimizations/run/second-round.ts';
import {
  after,
  allSeats,
  cancel,
  closed,
  created,
  deadline,
  draft,
  failedChecks,
  inReviews,
  jobsOf,
  keysOf,
  only,
  reviewBy,
  reviewsOf,
  runDeadline,
  runId,
  schedule,
  start,
  typesOf,
} from '#tests/optimizations/run/run-script.ts';
import type { Script } from '#tests/optimizations/run/run-script.ts';
import { refinementOf, voting } from './refinement-script.ts';

const written = ['draft.1', 'verify.1.1', 'verify.1.2'];
const votes = reviewsOf(allSeats);
const scoresOf = ({ events }: Script) => only(events, 'ScoresComputed').data;
const conclusionOf = ({ events }: Script) => only(events, 'RunConcluded').data;

function vote(stance: Stance, optionId: string): () => CallOutcome {
  return () => ({
    kind: 'second_vote',
    votes: { c1: { stance, confidence: 90 } },
    optionId,
  });
}

describe('the stages of a refinement', () => {
  test('a refinement begins with votes and needs no opinions and no ledger', () => {
    const begun = voting();
    expect(begun.state.stage).toBe('reviews');
    expect(owedSlots(begun.state)).toEqual(votes);
    expect(only(begun.events, 'ProcessingStarted').data).toMatchObject({
      reviewsSoftAt: after(schedule.deadlinesMs.reviewsSoft),
      reviewsHardAt: after(schedule.deadlinesMs.reviewsHard),
    });
    expect(typesOf(begun.answered(votes).answered(written).events)).not.toContain('ClaimsFixed');
  });

  test('the start of a refinement enqueues its votes and the deadlines of its first stage', () => {
    expect(keysOf(jobsOf(refinementOf(closed()), start())).toSorted()).toEqual(
      [...votes, 'reviews:soft', 'reviews:hard', 'deadline'].toSorted(),
    );
  });

  test('a refinement completes with votes, a draft and its checks', () => {
    const { state } = voting().answered(votes).answered(written);
    expect(state).toMatchObject({ stage: 'settling', outcome: 'completed' });
  });

  test('a start without the models of a refinement concludes it', () => {
    const { state } = refinementOf(closed()).given({ ...start(), seatable: false } as never);
    expect(state).toMatchObject({ stage: 'settling', outcome: 'not_started' });
  });

  test('a refinement can be cancelled while its seats vote, and not once it is written', () => {
    expect(voting().given(cancel).state).toMatchObject({ outcome: 'cancelled' });
    expect(() => voting().answered(votes).when(cancel)).toThrow("can't be canceled anymore");
  });

  test('a refinement with too few votes fails, at once when no more can come', () => {
    const lost: FailureClass = 'refusal';
    expect(voting().died(votes.slice(0, 3), lost).state).toMatchObject({ outcome: 'failed' });
    expect(voting().died(votes.slice(0, 2), lost).state.stage).toBe('reviews');
  });

  test.each([
    ['soft', 5, 'synthesis'],
    ['soft', 4, 'reviews'],
    ['hard', 5, 'synthesis'],
    ['hard', 4, 'settling'],
  ] as const)('at the %s deadline %i votes lead to the stage %s', (kind, count, stage) => {
    const done = voting().answered(votes.slice(0, count)).given(deadline('reviews', kind));
    expect(done.state.stage).toBe(stage);
  });

  test('the deadline of a refinement ends its votes', () => {
    expect(voting().given(runDeadline).state).toMatchObject({ outcome: 'failed' });
  });

  test('seats whose model is gone are not called and are named as missing', () => {
    const begun = voting({ notOffered: ['S1', 'R1'] });
    expect(owedSlots(begun.state)).toEqual(votes.filter((slot) => !/S1|R1/.test(slot)));
    const done = begun.answered(owedSlots(begun.state));
    expect(only(done.events, 'ReviewsClosed').data.missing).toEqual([
      { seat: 'S1', why: 'not_offered' },
      { seat: 'R1', why: 'not_offered' },
    ]);
    expect(scoresOf(done).uncertainty).toContainEqual(
      expect.objectContaining({ kind: 'process', ref: 'votes_missing' }),
    );
  });
});

test('an outcome is recorded with the run that is no refinement', () => {
  const done = voting().answered(votes).answered(written);
  const refined = done.given({ type: 'Close', captured: 0, refunded: 0, creditsVersion: 0 });
  const outcome = {
    type: 'RecordOutcome',
    now: '2027-11-20T12:00:00.000Z',
    asked: 30,
    happened: 'better',
    did: 'sealed',
    same: false,
    result: { runId, endedAt: '2026-11-20T12:00:00.000Z' },
  } as const;
  expect(() => refined.when(outcome)).toThrow(expect.objectContaining({ code: 'part-of-run' }));
  expect(typesOf(closed().when(outcome))).toEqual(['OutcomeRecorded']);
});

describe('the price of a refinement', () => {
  test.each([
    ['completed', (begun: Script) => begun.answered(votes).answered(written)],
    ['failed', (begun: Script) => begun.died(votes.slice(0, 3))],
    ['cancelled', (begun: Script) => begun.answered(votes.slice(0, 1)).given(cancel)],
  ])('an included refinement that is %s settles nothing', (outcome, end) => {
    const done = end(voting());
    expect(conclusionOf(done)).toMatchObject({ outcome, settlement: { kind: 'nothing' } });
    const close = { type: 'Close', captured: 0, refunded: 0, creditsVersion: 0 } as const;
    expect(done.given(close).state).toMatchObject({ stage: 'closed', captured: 0, refunded: 0 });
  });

  test.each([
    [
      'returns the share of the seats that did not vote',
      (begun: Script) =>
        begun.died(votes.slice(0, 1), 'timeout').answered(votes.slice(1)).answered(written),
      { kind: 'capture', capture: 10, refund: 2 },
    ],
    [
      'returns a quarter when no draft passed',
      (begun: Script) =>
        begun
          .answered(votes)
          .answered(['draft.1', 'draft.2', 'draft.3'], () => draft(failedChecks)),
      { kind: 'capture', capture: 10, refund: 3 },
    ],
    [
      'returns half when it is cancelled after the first call',
      (begun: Script) => begun.answered(votes.slice(0, 1)).given(cancel),
      { kind: 'capture', capture: 10, refund: 5 },
    ],
    [
      'is released when it is cancelled before the first call',
      (begun: Script) => begun.given(cancel),
      { kind: 'release' },
    ],
    [
      'is released when no seat voted',
      (begun: Script) => begun.died(votes.slice(0, 3)),
      { kind: 'release' },
    ],
  ])('a paid refinement %s', (_, end, settlement) => {
    const done = end(voting({}, { price: 10 }));
    expect(conclusionOf(done).settlement).toEqual(settlement);
  });
});

describe('the scores of a refinement', () => {
  const root = closed();
  const rootScores = scoresOf(root);

  test('votes that repeat the first ones give the scores of the root', () => {
    const { inputs, synthesisHardAt: _hardAt, ...scores } = scoresOf(voting().answered(votes));
    const { inputs: before, synthesisHardAt: _before, ...expected } = rootScores;
    expect(scores).toEqual(expected);
    expect(inputs).toEqual([...before.map((slot) => `${runId}/${slot}`), ...votes]);
  });

  test('a second vote replaces the votes that it gives and leaves all others', () => {
    const done = voting()
      .answered(votes.slice(0, 2), vote('disagree', 'o2'))
      .answered(votes.slice(2));
    const { claims, decision } = scoresOf(done);
    expect(claims['c1']?.disagree).toEqual(['S1', 'S2']);
    expect(claims['c2']).toEqual(rootScores.claims['c2']);
    expect(decision.votes['o2']).toEqual(['S1', 'S2']);
  });

  test('a vote that comes after the stage has closed changes nothing', () => {
    const closedVotes = voting().answered(votes.slice(0, 6)).given(deadline('reviews', 'soft'));
    const late = closedVotes.answered(['review.I2'], vote('disagree', 'o2'));
    expect(scoresOf(late)).toEqual(scoresOf(closedVotes));
  });

  test('the answers keep the order of the root, and their seats vote, whatever is voted', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            stance: fc.constantFrom<Stance[]>('agree', 'disagree', 'unsure'),
            optionId: fc.constantFrom('o1', 'o2'),
          }),
          { minLength: allSeats.length, maxLength: allSeats.length },
        ),
        (given) => {
          const done = given.reduce<Script>(
            (begun, { stance, optionId }, index) =>
              begun.answered([votes[index]!], vote(stance, optionId)),
            voting(),
          );
          const { order, q, rubricMeans, decision } = scoresOf(done);
          expect({ order, q, rubricMeans }).toEqual({
            order: rootScores.order,
            q: rootScores.q,
            rubricMeans: rootScores.rubricMeans,
          });
          expect(Object.values(decision.votes).flat().toSorted()).toEqual(allSeats.toSorted());
        },
      ),
      { numRuns: 50 },
    );
  });

  test('a seat that was left out of the vote has no place in a refinement', () => {
    const reviewed = inReviews();
    const suspected = reviewed.answered(owedSlots(reviewed.state), (slot, state) =>
      'order' in state
        ? reviewBy(state, slot.slice('review.'.length), { suspects: ['R1'] })
        : reviewBy(state as never, slot),
    );
    const { before, seats } = councilBefore(runId, suspected.events);
    expect(seats.map(({ seat }) => seat)).toEqual(allSeats.filter((seat) => seat !== 'R1'));
    expect(before.ballots).not.toHaveProperty('R1');
    expect(before.ballots['S1']?.ranking.flat()).not.toContain('R1');
    expect(before.process).toContain('seat_excluded');
  });

  test('a refinement of a refinement starts from the votes of both', () => {
    const first = voting()
      .answered(votes.slice(0, 1), vote('disagree', 'o2'))
      .answered(votes.slice(1));
    const { before } = councilBefore('opt_first', first.events);
    expect(before.ballots['S1']?.decision.optionId).toBe('o2');
    expect(before.ballots['S1']?.ranking).toEqual(
      councilBefore(runId, root.events).before.ballots['S1']?.ranking,
    );
    expect(before.inputs).toEqual([
      ...votes.map((slot) => `${runId}/${slot}`),
      ...votes.map((slot) => `opt_first/${slot}`),
    ]);
  });

  test('a run of v0.1 can be refined, and its votes count as they are', () => {
    const golden = join(import.meta.dirname, '../../golden/run-completed-1.jsonl');
    const events = readFileSync(golden, 'utf8')
      .trim()
      .split('\n')
      .map((line) => runEventOf(JSON.parse(line) as RecordedEvent));
    const of = { state: events.reduce<RunState>(evolve, initialState()), events };
    const begun = refinementOf({ ...closed(), ...of }).given(start());
    const done = begun.answered(owedSlots(begun.state));
    const { order, decision, verdict } = scoresOf(done);
    const recorded = only(events, 'ScoresComputed').data;
    expect({ order, decision }).toEqual({ order: recorded.order, decision: recorded.decision });
    expect(recorded.verdict).toBeUndefined();
    expect(Object.keys(decision.votes)).toContain(verdict?.optionId ?? verdict?.tieBreak);
    // It had no such option; its refinement shows one, which the prompt names.
    const read = (all: readonly OptimizationEvent[]) =>
      all.map((event, index) => ({ event, position: index + 1, at: after(0), texts: {} }));
    const { view } = foldRun('opt_refined', read(begun.events), foldRun(runId, read(events)))!;
    expect(Object.keys(view.ledger?.options ?? {})).toContain('undecidable');
    const undecided = begun.answered(owedSlots(begun.state), vote('agree', 'undecidable'));
    expect(
      only(undecided.events, 'OptimizationCreated').data.refines?.before.ledger.options,
    ).toContainEqual({ id: 'undecidable', seats: [] });
    expect(scoresOf(undecided).verdict).toMatchObject({ heading: 'undecidable' });
  });

  test('a run without scores is no ground for a refinement', () => {
    expect(() => councilBefore(runId, created().events)).toThrow('no scores');
  });
});

describe('the claims that a refinement votes on', () => {
  const claim = (id: string, parts: Partial<ClaimFixed> = {}): ClaimFixed => ({
    id,
    importance: 1,
    authors: ['S1'],
    flips: [],
    ...parts,
  });
  const claims = [
    claim('plain'),
    claim('flips', { flips: ['S1'] }),
    claim('contested', { importance: 2 }),
    claim('decisive', { importance: 3 }),
    claim('both', { importance: 3 }),
  ];

  test.each([
    [undefined, ['both', 'decisive', 'contested', 'flips']],
    ['plain', ['plain', 'both', 'decisive', 'contested', 'flips']],
    ['flips', ['flips', 'both', 'decisive', 'contested']],
  ])('with the changed claim %s the order is %j', (changed, expected) => {
    expect(claimsToVoteOn({ claims }, ['both', 'contested'], changed)).toEqual(expected);
  });

  test('at most ten claims are voted on, each once', () => {
    const many = Array.from({ length: 24 }, (_, index) => claim(`c${index}`, { importance: 3 }));
    const chosen = claimsToVoteOn({ claims: many }, ['c3', 'c20'], 'c7');
    expect(chosen.slice(0, 3)).toEqual(['c7', 'c3', 'c20']);
    expect(new Set(chosen).size).toBe(10);
    expect(chosen).toHaveLength(10);
  });
});
