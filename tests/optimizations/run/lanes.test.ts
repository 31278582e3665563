import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { waitBehind } from '#services/optimizations/lanes.ts';
import { deadlineLength, timeLeft } from '#services/optimizations/run/deadlines.ts';
import type { Schedule, Seat } from '#services/optimizations/run/events.ts';
import { callsLeft, placeOf } from '#services/optimizations/run/lanes.ts';
import { owedSlots } from '#services/optimizations/run/owed.ts';
import { owedJobs } from '#services/optimizations/run/reactions.ts';
import { isOpen } from '#services/optimizations/run/state.ts';
import type { OpenState } from '#services/optimizations/run/state.ts';
import {
  after,
  allSeats,
  answers,
  begin,
  concluded,
  created,
  fails,
  inClaims,
  inReviews,
  inSynthesis,
  jobsOf,
  noon,
  only,
  opinion,
  runId,
  schedule,
  sevenSeats,
  started,
  usualAnswer,
} from './run-script.ts';
import type { Script } from './run-script.ts';

/** The usual panel at one provider with three models, which takes so many calls at a time. */
function atOllama(concurrency: number): { seats: readonly Seat[]; schedule: Schedule } {
  const there = <Model extends { provider: string }>(model: Model) => ({
    ...model,
    provider: 'ollama',
  });
  return {
    seats: sevenSeats.map((seat, index) => ({ ...there(seat), model: `model-${index % 3}` })),
    schedule: {
      ...schedule,
      extractors: schedule.extractors.map(there),
      synthesizers: schedule.synthesizers.map(there),
      verifiers: schedule.verifiers.map((pair) => pair.map(there)),
      lanes: { ollama: { concurrency, secondsPerCall: 120 } },
    },
  };
}

function opened({ state }: Script): OpenState {
  if (!isOpen(state)) throw new Error(`The run is not open but ${state.stage}`);
  return state;
}

const histories = [started, inClaims, inReviews, inSynthesis];

describe('the place of a call', () => {
  test('calls with one lane follow each other in the order of their models', () => {
    const state = opened(started(atOllama(1)));
    const places = allSeats
      .map((code) => ({ code, place: placeOf(state, `opinion.${code}`, null)! }))
      .toSorted((one, other) => (one.place.runAt < other.place.runAt ? -1 : 1));
    expect(new Set(places.map(({ place }) => place.queue))).toEqual(new Set(['calls ollama 0']));
    const models = places.map(
      ({ code }) => state.seats.find(({ seat }) => seat === code)?.model ?? '',
    );
    expect(models).toEqual(models.toSorted());
    expect(places[0]?.place).toMatchObject({ queue: 'calls ollama 0', runAt: noon });
  });

  test('the calls of a stage are dealt evenly over the lanes, and a retry keeps its lane', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.constantFrom(...histories),
        fc.stringMatching(/^[0-9a-f]{32}$/),
        (concurrency, history, seed) => {
          const state = opened(history({ ...atOllama(concurrency), seed }));
          const slots = owedSlots(state);
          const queues = slots.map((slot) => placeOf(state, slot, null)!.queue);
          const counts = Array.from(
            { length: concurrency },
            (_, lane) => `calls ollama ${lane}`,
          ).map((name) => queues.filter((queue) => queue === name).length);
          expect(counts.reduce((sum, count) => sum + count, 0)).toBe(slots.length);
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
          for (const [index, slot] of slots.entries())
            expect(placeOf(state, slot, after(5000))).toEqual({
              queue: queues[index],
              runAt: after(5000),
              priority: placeOf(state, slot, null)?.priority,
            });
        },
      ),
    );
  });

  test('calls of different runs that are alone in their stage do not all have the first lane', () => {
    const lanes = Array.from({ length: 40 }, (_, number) => {
      const seed = number.toString(16).padStart(32, '0');
      return placeOf(opened(inClaims({ ...atOllama(4), seed })), 'claims.1', null)?.queue;
    });
    expect(new Set(lanes).size).toBe(4);
  });

  test('calls to a provider without lanes have no place', () => {
    const one = sevenSeats[6]!;
    const seats = [...sevenSeats.slice(0, 6), { ...one, provider: 'ollama' }];
    const lanes = { ollama: { concurrency: 1, secondsPerCall: 120 } };
    const jobs = owedJobs(runId, started({ seats, schedule: { ...schedule, lanes } }).state);
    const queues = Object.fromEntries(jobs.map(({ key, queue }) => [key, queue]));
    expect(queues).toMatchObject({
      [`${runId}:opinion.S1`]: undefined,
      [`${runId}:opinion.${one.seat}`]: 'calls ollama 0',
      [`${runId}:opinions:hard`]: undefined,
    });
  });

  test('later stages have the time of the start, too, so that a run goes before later ones', () => {
    for (const history of histories) {
      const jobs = owedJobs(runId, history(atOllama(1)).state);
      const calls = jobs.filter(({ task }) => task === 'call-model');
      expect(calls.length).toBeGreaterThan(0);
      for (const { runAt } of calls) expect(Date.parse(runAt!) - Date.parse(noon)).toBeLessThan(7);
    }
  });

  test('every call of a run, also one that is tried again, goes before the calls of later runs', () => {
    const priorities = [0, 11, 22].map((minutes) => {
      const state = opened(started(atOllama(1)));
      const startedAt = new Date(Date.parse(noon) + minutes * 60_000).toISOString();
      const places = [null, after(5000)].map((retryAt) =>
        placeOf({ ...state, startedAt }, 'opinion.S1', retryAt),
      );
      expect(places[1]?.priority).toBe(places[0]?.priority);
      return places[0]?.priority ?? 0;
    });
    expect(priorities).toEqual(priorities.toSorted((one, other) => one - other));
    expect(new Set(priorities).size).toBe(3);
    for (const priority of priorities) expect(Math.abs(priority)).toBeLessThanOrEqual(2 ** 15);
  });

  test('a failure that is tried again keeps its place in the order of runs', () => {
    const run = started(atOllama(1)).given(begin('opinion.S1'));
    const { retryAt } = only(run.when(fails('opinion.S1', 'timeout')), 'CallFailed').data;
    expect(jobsOf(run, fails('opinion.S1', 'timeout'))).toMatchObject([
      { key: `${runId}:opinion.S1`, queue: 'calls ollama 0', runAt: retryAt },
    ]);
  });
});

describe('the runs that began before', () => {
  test('every answer leaves a run one call less, from eighteen to none', () => {
    let run = started(atOllama(1));
    for (let left = 18; left > 0; left -= 1) {
      expect(callsLeft(run.state)).toEqual({ ollama: left });
      const slot = owedSlots(run.state)[0]!;
      run = run.given(begin(slot), answers(slot, usualAnswer(run.state, slot)));
    }
    expect(callsLeft(run.state)).toEqual({});
  });

  test('only runs under way with calls to the same provider are waited for', () => {
    const lanes = { ollama: { concurrency: 2, secondsPerCall: 60 } };
    const [busy, elsewhere] = [started(atOllama(1)).state, started().state];
    expect(waitBehind(lanes, [])).toBe(0);
    expect(waitBehind(lanes, [created(atOllama(1)).state, concluded().state, elsewhere])).toBe(0);
    expect(waitBehind(lanes, [busy])).toBe(9 * 90_000);
    expect(waitBehind(lanes, [busy, busy])).toBe(18 * 90_000);
    expect(waitBehind({ lab: { concurrency: 4, secondsPerCall: 60 } }, [busy])).toBe(0);
  });

  test('their time is part of the deadlines of the opinions and of the run, and of no other', () => {
    const waitMs = 600_000;
    const run = created(atOllama(1)).given({ type: 'Start', now: noon, seatable: true, waitMs });
    expect(only(run.events, 'ProcessingStarted').data).toEqual({
      startedAt: noon,
      opinionsSoftAt: after(660_000),
      opinionsHardAt: after(780_000),
      runDeadlineAt: after(1_320_000),
      waitMs,
    });
    const lengths = (state: OpenState) =>
      [{ stage: 'opinions', kind: 'hard' }, { stage: 'reviews', kind: 'hard' }, {}].map((of) =>
        deadlineLength(state, of),
      );
    expect(lengths(opened(run))).toEqual([780_000, 180_000, 1_320_000]);
    expect(lengths(opened(run.answered(owedSlots(run.state))))).toEqual(lengths(opened(run)));
    expect(only(started().events, 'ProcessingStarted').data).not.toHaveProperty('waitMs');
  });
});

describe('how long a call may take', () => {
  const at = (milliseconds: number) => Date.parse(after(milliseconds));

  test.each([
    ['one of seven calls with one lane: two of seven parts', 1, 0, Math.ceil((2 * 180_000) / 7)],
    ['one of seven calls with four lanes: the whole stage', 4, 0, 180_000],
    ['the last call: what is left of the stage', 1, 170_000, 10_000],
    ['a call after the end of its stage: a second', 1, 180_000, 1000],
  ])('a call may take its share of the stage: %s', (_words, concurrency, now, expected) => {
    const { state } = started(atOllama(concurrency));
    expect(timeLeft(state, 'opinion.S1', at(now))).toBe(expected);
  });

  test('a call behind an earlier run may take its share of the stage, not of the waiting', () => {
    const start = { type: 'Start', now: noon, seatable: true, waitMs: 600_000 } as const;
    const { state } = created(atOllama(1)).given(start);
    expect(timeLeft(state, 'opinion.S1', at(0))).toBe(Math.ceil((2 * 180_000) / 7));
    const free = created({ schedule: { ...schedule, lanes: {} } }).given(start);
    expect(timeLeft(free.state, 'opinion.S1', at(0))).toBe(780_000);
  });

  test('a call that waits in no lane may take what is left of its stage', () => {
    const run = started().given(begin('opinion.S1'), answers('opinion.S1', opinion()));
    expect(timeLeft(run.state, 'opinion.S2', at(20_000))).toBe(160_000);
  });
});
