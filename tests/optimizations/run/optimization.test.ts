import { describe, expect, test } from 'vitest';
import type { FailureClass } from '#services/models/model.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { nextAttempt, owedSlots, retryTime } from '#services/optimizations/run/owed.ts';
import { Problem } from '#services/platform/problem.ts';
import {
  after,
  allSeats,
  answers,
  begin,
  cancel,
  closed,
  concluded,
  create,
  created,
  deadline,
  draft,
  fails,
  failedChecks,
  inClaims,
  inReviews,
  inSynthesis,
  ledgerOf,
  noon,
  nudge,
  only,
  opinion,
  opinionsOf,
  passedChecks,
  schedule,
  price,
  reviewBy,
  reviewsOf,
  runDeadline,
  script,
  sevenSeats,
  start,
  started,
  typesOf,
  usage,
  usualAnswer,
  verdict,
} from './run-script.ts';
import type { Script } from './run-script.ts';

function refusal(run: Script, command: OptimizationCommand): Problem {
  try {
    run.when(command);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('The command was not refused');
}

function stageOf(run: Script): RunState['stage'] {
  return run.state.stage;
}

/** The outcome of a concluded run, with its cost. */
function ending(events: readonly OptimizationEvent[]) {
  const { outcome, heading, reason, bestSeat, callsStarted, missing, settlement } = only(
    events,
    'RunConcluded',
  ).data;
  return { outcome, heading, reason, bestSeat, callsStarted, missing, settlement };
}

const half = { kind: 'capture', capture: price, refund: price / 2 };

describe('creating', () => {
  test('creating a run begins a draft', () => {
    const run = created();
    expect(typesOf(run.events)).toEqual(['OptimizationCreated']);
    expect(stageOf(run)).toBe('draft');
  });

  test('creating a run that exists changes nothing', () => {
    expect(created().when(create({ price: 99 }))).toEqual([]);
  });

  test('creating a run has to come first', () => {
    expect(refusal(script(), start()).status).toBe(404);
  });
});

describe('a draft', () => {
  test('a draft starts with the deadlines of its schedule', () => {
    expect(created().when(start())).toEqual([
      {
        type: 'ProcessingStarted',
        data: {
          startedAt: noon,
          opinionsSoftAt: after(60_000),
          opinionsHardAt: after(180_000),
          runDeadlineAt: after(720_000),
        },
      },
    ]);
    expect(owedSlots(started().state)).toEqual(opinionsOf(allSeats));
  });

  test('a draft ends unstarted and free of charge when its panel cannot be seated', () => {
    const events = created().when({ type: 'Start', now: noon, seatable: false });
    expect(typesOf(events)).toEqual(['RunConcluded']);
    expect(ending(events)).toMatchObject({
      outcome: 'not_started',
      reason: 'not_seatable',
      callsStarted: 0,
      settlement: { kind: 'release' },
    });
  });

  test('a draft is cancelled and closed at once, because it holds nothing to settle', () => {
    const events = created().when(cancel);
    expect(typesOf(events)).toEqual(['RunConcluded', 'OptimizationCancelled']);
    expect(only(events, 'OptimizationCancelled').data).toEqual({
      captured: 0,
      refunded: 0,
      creditsVersion: 0,
    });
    expect(ending(events)).toMatchObject({
      outcome: 'cancelled',
      reason: 'person',
      callsStarted: 0,
      settlement: { kind: 'release' },
    });
  });

  test('a draft that is deleted is cancelled first', () => {
    const run = created().given({ type: 'Hide', now: noon });
    expect(typesOf(run.events)).toEqual([
      'OptimizationCreated',
      'RunConcluded',
      'OptimizationCancelled',
      'OptimizationHidden',
    ]);
    expect(run.when({ type: 'Close', captured: 0, refunded: 0, creditsVersion: 0 })).toEqual([]);
    expect(run.state).toMatchObject({ stage: 'closed', hiddenAt: noon, outcome: 'cancelled' });
    expect(run.when({ type: 'Hide', now: noon })).toEqual([]);
  });

  test('a draft accepts no call, deadline or closing', () => {
    for (const command of [
      begin('opinion.S1'),
      answers('opinion.S1', opinion()),
      deadline('opinions', 'hard'),
      runDeadline,
      nudge,
      { type: 'Close', captured: 0, refunded: 0, creditsVersion: 0 },
    ] satisfies OptimizationCommand[])
      expect(created().when(command)).toEqual([]);
  });
});

describe('starting again', () => {
  const stages = { started, inClaims, inReviews, inSynthesis, concluded, closed };
  test.each(Object.entries(stages))('starting a run again changes nothing: %s', (_name, run) => {
    expect(run().when(start())).toEqual([]);
    expect(run().when({ type: 'Start', now: noon, seatable: false })).toEqual([]);
  });
});

describe('beginning a call', () => {
  test('beginning a call names the model, before the model is asked anything', () => {
    expect(started().when(begin('opinion.S2'))).toEqual([
      {
        type: 'CallStarted',
        data: {
          slot: 'opinion.S2',
          attempt: 1,
          model: 'anthropic-s2',
          provider: 'anthropic',
          effort: null,
          simulated: true,
          startedAt: noon,
        },
      },
    ]);
  });

  test('beginning a call again while the last attempt is open gives that attempt up', () => {
    const events = started().given(begin('opinion.S1')).when(begin('opinion.S1', 2));
    expect(typesOf(events)).toEqual(['CallLost', 'CallStarted']);
    expect(only(events, 'CallLost').data).toEqual({
      slot: 'opinion.S1',
      attempt: 1,
      final: false,
    });
    expect(only(events, 'CallStarted').data.attempt).toBe(2);
  });

  test('beginning a call after its third attempt was lost gives the slot up, and may close the stage', () => {
    const run = started().given(
      begin('opinion.S1'),
      begin('opinion.S1', 2),
      begin('opinion.S1', 3),
    );
    expect(run.when(begin('opinion.S1', 4))).toEqual([
      { type: 'CallLost', data: { slot: 'opinion.S1', attempt: 3, final: true } },
    ]);
    const last = run.answered(opinionsOf(allSeats.slice(1))).when(begin('opinion.S1', 4));
    expect(typesOf(last)).toEqual(['CallLost', 'OpinionsClosed']);
    expect(only(last, 'OpinionsClosed').data.missing).toEqual([{ seat: 'S1', why: 'lost' }]);
  });

  test('beginning a call changes nothing unless it is the next attempt of an open slot', () => {
    const run = started().answered(['opinion.S1']).died(['opinion.S2']).given(begin('opinion.S3'));
    const nothing: Record<string, OptimizationCommand> = {
      'answered slot': begin('opinion.S1', 2),
      'dead slot': begin('opinion.S2', 2),
      'the same attempt': begin('opinion.S3', 1),
      'an attempt left out': begin('opinion.S3', 3),
      'a stage to come': begin('claims.1'),
      'a seat that is not at the table': begin('opinion.X9'),
    };
    for (const [name, command] of Object.entries(nothing))
      expect({ [name]: run.when(command) }).toEqual({ [name]: [] });
    expect(inClaims().when(begin('opinion.S1', 2))).toEqual([]);
    expect(inClaims().when(begin('claims.2'))).toEqual([]);
    expect(inSynthesis().when(begin('verify.1.1'))).toEqual([]);
    expect(inSynthesis().when(begin('draft.2'))).toEqual([]);
    expect(concluded().when(begin('draft.1', 2))).toEqual([]);
    expect(closed().when(begin('opinion.S1', 2))).toEqual([]);
  });

  test.each([
    ['before the hard deadline', 179_999, ['CallStarted']],
    ['once the hard deadline is due', 180_000, []],
    ['until the stage is given more time', 210_000, []],
    ['when the stage was given more time', 210_001, ['CallStarted']],
  ] as const)('beginning a call %s, after %i ms, records %j', (_when, milliseconds, types) => {
    expect(typesOf(started().when(begin('opinion.S1', 1, after(milliseconds))))).toEqual(types);
  });
});

describe('an answer', () => {
  test('an answer is recorded with its usage, cost and time', () => {
    const run = started().given(begin('opinion.S1'));
    expect(run.when(answers('opinion.S1', opinion()))).toEqual([
      {
        type: 'CallSucceeded',
        data: {
          slot: 'opinion.S1',
          attempt: 1,
          usage,
          costMicros: 1500,
          costSource: 'priced',
          latencyMs: 4200,
          answeredBy: 'model-as-answered',
          outcome: opinion(),
          sealed: { reply: 'sealed reply', shown: 'sealed shown' },
        },
      },
    ]);
  });

  test('an answer of an attempt that was given up counts as long as its slot is open', () => {
    const run = started().given(begin('opinion.S1'), begin('opinion.S1', 2));
    const won = run.given(answers('opinion.S1', opinion(), { attempt: 1 }));
    expect(typesOf(won.events).at(-1)).toBe('CallSucceeded');
    const late = won.when(answers('opinion.S1', opinion({ confidence: 1 }), { attempt: 2 }));
    expect(late).toEqual([
      {
        type: 'CallCostRecorded',
        data: {
          slot: 'opinion.S1',
          attempt: 2,
          usage,
          costMicros: 1500,
          costSource: 'priced',
          latencyMs: 4200,
        },
      },
    ]);
  });

  test('an answer that arrives twice is recorded once', () => {
    const run = started().answered(['opinion.S1']);
    expect(run.when(answers('opinion.S1', opinion()))).toEqual([]);
  });

  test('an answer after its slot, stage or run was closed records its cost, once', () => {
    const open = started().given(begin('opinion.S1'), begin('opinion.S2'), begin('opinion.S3'));
    const late = answers('opinion.S1', opinion());
    const dead = open.given(fails('opinion.S1', 'auth'), begin('opinion.S1', 2));
    expect(dead.when(answers('opinion.S1', opinion()))).toEqual([]);
    const closedStage = open
      .answered(opinionsOf(['R1', 'R2', 'I1', 'I2', 'S2', 'S3']))
      .given(deadline('opinions', 'hard'));
    for (const run of [
      closedStage,
      closedStage.answered(['claims.1']),
      open.given(cancel),
      open.given(cancel, { type: 'Close', captured: 14, refunded: 7, creditsVersion: 3 }),
    ]) {
      expect(typesOf(run.when(late))).toEqual(['CallCostRecorded']);
      expect(run.given(late).when(late)).toEqual([]);
      expect(typesOf(run.when(fails('opinion.S1', 'aborted')))).toEqual(['CallCostRecorded']);
    }
  });

  test('an answer of a call that was given up for good records its cost', () => {
    const run = started().given(...[1, 2, 3, 4].map((attempt) => begin('opinion.S1', attempt)));
    const events = run.when(answers('opinion.S1', opinion(), { attempt: 3 }));
    expect(typesOf(events)).toEqual(['CallCostRecorded']);
    expect(only(events, 'CallCostRecorded').data).toMatchObject({ attempt: 3 });
  });

  test('an answer to a call that was never begun is ignored', () => {
    expect(started().when(answers('opinion.S1', opinion()))).toEqual([]);
    expect(
      started()
        .given(begin('opinion.S1'))
        .when(answers('opinion.S1', opinion(), { attempt: 2 })),
    ).toEqual([]);
    expect(created().when(answers('opinion.S1', opinion()))).toEqual([]);
  });
});

describe('a failure', () => {
  const run = started().given(begin('opinion.S1'));
  const failedIn = (events: readonly OptimizationEvent[]) => only(events, 'CallFailed').data;

  /**
   * Begins and fails a slot, each time at the retry time of the last failure, until it is given up.
   */
  function failures(slot: string, failure: FailureClass, from: Script, now = noon): string[] {
    const tries: string[] = [];
    let at: string | null = now;
    let here = from;
    for (let attempt = nextAttempt(here.state, slot); at !== null && tries.length < 500;) {
      here = here.given(begin(slot, attempt, at), fails(slot, failure, { attempt, now: at }));
      tries.push(at);
      at = retryTime(here.state, slot);
      attempt += 1;
    }
    expect(here.events.at(-1)).not.toMatchObject({ type: 'CallStarted' });
    return tries;
  }
  const waits = (tries: readonly string[]) =>
    tries.slice(1).map((at, index) => Date.parse(at) - Date.parse(tries[index]!));

  test.each(['rate_limited', 'conflict', 'unavailable', 'connection'] as const)(
    'a transient failure is retried, with backoff, as long as the stage is open: %s',
    (failure) => {
      const tries = failures('opinion.S1', failure, started());
      // Hard deadline after 180 s; at most 15 s between two tries, at least one.
      expect(Date.parse(tries.at(-1)!)).toBeGreaterThan(Date.parse(after(165_000)));
      expect(Date.parse(tries.at(-1)!)).toBeLessThan(Date.parse(after(180_000)));
      expect(waits(tries)[0]).toBeLessThanOrEqual(2000);
      for (const wait of waits(tries)) {
        expect(wait).toBeGreaterThanOrEqual(1000);
        expect(wait).toBeLessThanOrEqual(15_000);
      }
    },
  );

  test('a failure is not tried again at the same moment as that of another seat', () => {
    const [one, other] = ['opinion.S1', 'opinion.S2'].map((slot) =>
      failures(slot, 'unavailable', started()),
    );
    expect(one).not.toEqual(other);
    expect(failures('opinion.S1', 'unavailable', started())).toEqual(one);
  });

  test.each([
    ['timeout', 2],
    ['malformed', 2],
    ['truncated', 2],
    ['silent', 2],
    ['auth', 1],
    ['billing', 1],
    ['unknown_model', 1],
    ['bad_request', 1],
    ['refusal', 1],
    ['aborted', 1],
  ] as const)('%s ends the slot after %d attempts', (failure, most) => {
    expect(failures('opinion.S1', failure, started())).toHaveLength(most);
  });

  test.each([
    ['high', ['low', 'medium', 'high'], 'medium'],
    ['high', ['none', 'high'], 'none'],
    ['low', ['low', 'high'], 'low'],
    [null, ['low', 'high'], 'low'],
    [null, [], null],
    ['high', undefined, 'high'],
  ] as const)(
    'an answer of effort %s that was cut off is asked for again at the next lower of %j: %s',
    (effort, efforts, lower) => {
      const seats = sevenSeats.map((seat) => ({
        ...seat,
        effort,
        ...(efforts === undefined ? {} : { efforts }),
      }));
      const cut = started({ seats }).given(
        begin('opinion.S1'),
        fails('opinion.S1', 'truncated'),
        begin('opinion.S2'),
        fails('opinion.S2', 'malformed'),
      );
      const effortOf = (slot: string) =>
        only(cut.when(begin(slot, 2, after(10_000))), 'CallStarted').data.effort;
      expect(effortOf('opinion.S1')).toBe(lower);
      expect(effortOf('opinion.S2')).toBe(effort);
    },
  );

  test.each([
    [{ effort: 'high', reviewEffort: 'low', efforts: ['none', 'low', 'high'] }, ['low', 'none']],
    [{ effort: 'high', reviewEffort: null, efforts: [] }, [null, null]],
    [{ effort: 'high', efforts: ['low', 'high'] }, ['high', 'low']],
  ] as const)(
    'a review of a seat with %j and its next attempt have the efforts %j',
    (own, wanted) => {
      const reviews = inReviews({ seats: sevenSeats.map((seat) => ({ ...seat, ...own })) }).given(
        begin('review.S1'),
        fails('review.S1', 'truncated'),
        begin('review.S1', 2, after(20_000)),
      );
      const efforts = reviews.events.flatMap((event) =>
        event.type === 'CallStarted' && event.data.slot === 'review.S1' ? [event.data.effort] : [],
      );
      expect(efforts).toEqual(wanted);
      expect(
        only(
          started({ seats: sevenSeats.map((seat) => ({ ...seat, ...own })) }).when(
            begin('opinion.S1'),
          ),
          'CallStarted',
        ).data.effort,
      ).toBe('high');
    },
  );

  test('a failure of one class does not use up the attempts of another', () => {
    const mixed = started().given(
      begin('opinion.S1'),
      fails('opinion.S1', 'timeout'),
      begin('opinion.S1', 2),
      fails('opinion.S1', 'malformed', { attempt: 2 }),
      begin('opinion.S1', 3),
      fails('opinion.S1', 'connection', { attempt: 3 }),
      begin('opinion.S1', 4),
      begin('opinion.S1', 5),
      begin('opinion.S1', 6),
    );
    expect(typesOf(mixed.events).filter((type) => type === 'CallLost')).toHaveLength(2);
    expect(owedSlots(mixed.state)).toContain('opinion.S1');
    expect(failedIn(mixed.when(fails('opinion.S1', 'truncated', { attempt: 6 }))).final).toBe(true);
    expect(mixed.when(begin('opinion.S1', 7))).toEqual([
      { type: 'CallLost', data: { slot: 'opinion.S1', attempt: 6, final: true } },
    ]);
  });

  test('a failure waits at least as long as the provider asks, and ends when that is beyond the deadline', () => {
    const limited = (retryAfterMs: number) =>
      failedIn(run.when(fails('opinion.S1', 'rate_limited', { retryAfterMs })));
    expect(limited(20_000).retryAt).toBe(after(20_000));
    expect(Date.parse(limited(0).retryAt!)).toBeGreaterThanOrEqual(Date.parse(after(1000)));
    expect(limited(180_000)).toMatchObject({ final: true, retryAt: null });
    // Far outside the range of a date.
    expect(limited(1e18)).toMatchObject({ final: true, retryAt: null });
  });

  test('a failure is final when the next try would come after the hard deadline', () => {
    const late = { now: after(179_500) };
    expect(failedIn(run.when(fails('opinion.S1', 'connection', late))).final).toBe(true);
  });

  test.each([
    ['extractor', inClaims(), 'claims.1', 'claims.2'],
    ['writer', inSynthesis(), 'draft.1', 'draft.2'],
  ] as const)(
    'a failure of the first %s leaves the second half of its stage to the other one',
    (_role, from, first, second) => {
      const length = first === 'claims.1' ? 60_000 : 120_000;
      const tries = failures(first, 'unavailable', from);
      expect(Date.parse(tries.at(-1)!)).toBeLessThan(Date.parse(after(length / 2)));
      expect(tries.length).toBeGreaterThanOrEqual(5);
      const given = from.given(
        begin(first),
        fails(first, 'rate_limited', { retryAfterMs: length * 0.8 }),
      );
      expect(owedSlots(given.state)).toEqual([second]);
      const others = failures(second, 'unavailable', given);
      expect(Date.parse(others.at(-1)!)).toBeGreaterThan(Date.parse(after(length - 15_000)));
    },
  );

  test('a failure of both verifiers is accepted without them before the stage ends', () => {
    const drafted = inSynthesis().answered(['draft.1', 'verify.1.1']);
    const tries = failures('verify.1.2', 'unavailable', drafted);
    expect(Date.parse(tries.at(-1)!)).toBeLessThan(Date.parse(after(60_000)));
    expect(tries.length).toBeGreaterThanOrEqual(5);
  });

  test('a failure is tried again after the planned deadline when the stage was given more time', () => {
    const failed = (now: string) => failedIn(run.when(fails('opinion.S1', 'timeout', { now })));
    expect(failed(after(210_000))).toMatchObject({ final: true });
    expect(failed(after(210_001))).toMatchObject({ final: false });
  });

  test('a failure of an attempt that was given up records only its cost', () => {
    const second = run.given(begin('opinion.S1', 2));
    const events = second.when(fails('opinion.S1', 'unavailable', { attempt: 1 }));
    expect(typesOf(events)).toEqual(['CallCostRecorded']);
    expect(only(events, 'CallCostRecorded').data).toMatchObject({ attempt: 1 });
  });

  test('a failure that is reported twice is recorded once', () => {
    const failed = run.given(fails('opinion.S1', 'unavailable'));
    expect(failed.when(fails('opinion.S1', 'timeout'))).toEqual([]);
  });
});

describe('the opinions', () => {
  test('the opinions stage closes when the last seat has answered', () => {
    const run = started().answered(opinionsOf(allSeats.slice(0, 6)));
    expect(stageOf(run)).toBe('opinions');
    const events = run
      .given(begin('opinion.I2'))
      .when(answers('opinion.I2', opinion(), { now: after(30_000) }));
    expect(typesOf(events)).toEqual(['CallSucceeded', 'OpinionsClosed']);
    const { reason, accepted, missing, order, offsets, labels, claimsHardAt } = only(
      events,
      'OpinionsClosed',
    ).data;
    expect({ reason, accepted, missing }).toEqual({
      reason: 'all',
      accepted: allSeats,
      missing: [],
    });
    expect(order.toSorted()).toEqual(allSeats.toSorted());
    expect(offsets).toEqual([1, 2, 5, 4, 6, 3]);
    expect(claimsHardAt).toBe(after(90_000));
    for (const reviewer of allSeats) {
      expect(Object.keys(labels[reviewer] ?? {})).not.toContain(reviewer);
      expect(new Set(Object.values(labels[reviewer] ?? {})).size).toBe(6);
    }
  });

  test('the opinions stage closes without the seats that died, and names them', () => {
    const run = started()
      .died(['opinion.S1'], 'refusal')
      .died(['opinion.R1'], 'billing')
      .answered(opinionsOf(['S2', 'S3', 'R2', 'I1', 'I2']));
    expect(only(run.events, 'OpinionsClosed').data).toMatchObject({
      reason: 'all',
      accepted: ['S2', 'S3', 'R2', 'I1', 'I2'],
      missing: [
        { seat: 'S1', why: 'refusal' },
        { seat: 'R1', why: 'billing' },
      ],
    });
  });

  test('the opinions stage stays open at the quorum alone, so that slow seats are heard', () => {
    expect(stageOf(started().answered(opinionsOf(allSeats.slice(0, 6))))).toBe('opinions');
  });

  test('the opinions stage closes at the soft deadline with a quorum; seats that had not answered are late', () => {
    const events = started()
      .answered(opinionsOf(['S1', 'S2', 'S3', 'R1', 'I2']))
      .when(deadline('opinions', 'soft'));
    expect(typesOf(events)).toEqual(['SoftPassed', 'OpinionsClosed']);
    expect(only(events, 'OpinionsClosed').data).toMatchObject({
      reason: 'soft',
      missing: [
        { seat: 'R2', why: 'late' },
        { seat: 'I1', why: 'late' },
      ],
    });
  });

  test('the opinions stage without a quorum at the soft deadline closes as soon as there is one', () => {
    const run = started()
      .answered(opinionsOf(['S1', 'S2', 'S3', 'R1']))
      .given(deadline('opinions', 'soft'));
    expect(typesOf(run.events).at(-1)).toBe('SoftPassed');
    expect(run.when(deadline('opinions', 'soft'))).toEqual([]);
    const closing = run.answered(['opinion.R2']);
    expect(typesOf(closing.events).slice(-2)).toEqual(['CallSucceeded', 'OpinionsClosed']);
    expect(only(closing.events, 'OpinionsClosed').data.reason).toBe('quorum');
  });

  test('the opinions stage needs families as well as seats', () => {
    const four = ['S1', 'S2', 'R2', 'I2'];
    const twoFamilies = started({
      seats: sevenSeats.map((one) =>
        one.family === 'google' ? { ...one, family: 'openai' } : one,
      ),
    });
    const five = twoFamilies.answered(opinionsOf([...four, 'S3']));
    expect(typesOf(five.when(deadline('opinions', 'soft')))).toEqual(['SoftPassed']);
    expect(ending(five.when(deadline('opinions', 'hard')))).toMatchObject({
      outcome: 'failed',
      reason: 'quorum',
    });
    const third = five.given(deadline('opinions', 'soft')).answered(['opinion.R1']);
    expect(stageOf(third)).toBe('claims');
    const dual = started({ schedule: { ...schedule, minFamilies: 2 } })
      .answered(opinionsOf(['S1', 'S2', 'R2', 'I2']))
      .died(opinionsOf(['S3', 'I1']))
      .answered(['opinion.R1']);
    expect(stageOf(dual)).toBe('claims');
  });

  test('the opinions stage closes at the hard deadline with a quorum, and fails without one', () => {
    const four = started().answered(opinionsOf(['S1', 'S2', 'S3', 'R1']));
    const events = four.when(deadline('opinions', 'hard'));
    expect(typesOf(events)).toEqual(['RunConcluded']);
    expect(ending(events)).toEqual({
      outcome: 'failed',
      heading: null,
      reason: 'quorum',
      bestSeat: null,
      callsStarted: 4,
      missing: 3,
      settlement: half,
    });
    const five = four.answered(['opinion.I1']).when(deadline('opinions', 'hard'));
    expect(typesOf(five)).toEqual(['OpinionsClosed']);
    expect(only(five, 'OpinionsClosed').data.reason).toBe('hard');
  });

  test('the opinions stage fails at once when no quorum can be reached any more, by count', () => {
    const two = started().died(opinionsOf(['S1', 'R2']));
    expect(stageOf(two)).toBe('opinions');
    const three = two.died(['opinion.I1']);
    expect(typesOf(three.events).slice(-2)).toEqual(['CallFailed', 'RunConcluded']);
    expect(ending(three.events)).toMatchObject({ outcome: 'failed', reason: 'quorum' });
  });

  test('the opinions stage fails at once when no quorum can be reached any more, by families', () => {
    // Three of five would be enough, but they come from two families.
    const run = started({ seats: sevenSeats.slice(0, 5) }).died(opinionsOf(['S3', 'R1']));
    expect(ending(run.events)).toMatchObject({ outcome: 'failed', reason: 'quorum' });
  });

  test('the opinions stage without a single answer releases the whole hold', () => {
    const dead = started().died(opinionsOf(['S1', 'S2', 'S3']), 'auth');
    expect(ending(dead.events)).toMatchObject({
      outcome: 'failed',
      callsStarted: 3,
      missing: 7,
      settlement: { kind: 'release' },
    });
  });

  test('the opinions stage ignores deadlines of other stages and repeated deadlines', () => {
    expect(started().when(deadline('reviews', 'hard'))).toEqual([]);
    expect(inClaims().when(deadline('opinions', 'soft'))).toEqual([]);
    expect(inClaims().when(deadline('opinions', 'hard'))).toEqual([]);
  });
});

describe('the claims', () => {
  test('the claims are fixed by the first extractor', () => {
    const run = inClaims().given(begin('claims.1'));
    const events = run.when(answers('claims.1', ledgerOf(allSeats), { now: after(5000) }));
    expect(typesOf(events)).toEqual(['CallSucceeded', 'ClaimsFixed']);
    expect(only(events, 'ClaimsFixed').data).toMatchObject({
      source: 'extractor',
      scored: true,
      reviewsSoftAt: after(65_000),
      reviewsHardAt: after(185_000),
      sealed: { ledger: 'sealed ledger' },
    });
    expect(only(run.events, 'OpinionsClosed').data.accepted).toEqual(allSeats);
    expect(only(events, 'CallSucceeded').data.outcome).toEqual(ledgerOf(allSeats));
  });

  test('the claims are requested from the second extractor when the first gives up', () => {
    const run = inClaims().died(['claims.1'], 'malformed');
    expect(typesOf(run.events).at(-1)).toBe('CallFailed');
    expect(owedSlots(run.state)).toEqual(['claims.2']);
    const second = run.given(begin('claims.2'));
    expect(only(second.events.slice(-1), 'CallStarted').data.model).toBe('extractor-two');
    expect(only(second.answered(['claims.2']).events, 'ClaimsFixed').data).toMatchObject({
      source: 'second_extractor',
      scored: true,
    });
  });

  test('the claims enter the reviews unmerged and unscored when the second extractor gives up, too', () => {
    const run = inClaims().died(['claims.1', 'claims.2'], 'malformed');
    expect(typesOf(run.events).slice(-2)).toEqual(['CallFailed', 'ClaimsFixed']);
    const { source, scored, claims, options, notes, sealed } = only(run.events, 'ClaimsFixed').data;
    expect({ source, scored, notes, sealed }).toEqual({
      source: 'fallback',
      scored: false,
      notes: [],
      sealed: undefined,
    });
    expect(claims.map(({ importance }) => importance)).toEqual([
      ...Array<number>(7).fill(3),
      ...Array<number>(7).fill(2),
    ]);
    expect(claims[0]).toMatchObject({
      id: 'c1',
      authors: [claims[0]?.from?.seat],
      flips: [claims[0]?.from?.seat],
      from: { index: 0 },
    });
    expect(options.flatMap(({ seats }) => seats).toSorted()).toEqual(allSeats.toSorted());
    expect(stageOf(run)).toBe('reviews');
    const scored1 = run.answered(owedSlots(run.state));
    expect(only(scored1.events, 'ScoresComputed').data.agreement).toMatchObject({
      score: null,
      whyNull: 'no_ledger',
    });
    expect(only(scored1.events, 'ScoresComputed').data.uncertainty).toContainEqual({
      kind: 'process',
      ref: 'no_claim_ledger',
      count: expect.any(Number),
    });
  });

  test('the claims of a fallback are at most 24, taken evenly from all answers', () => {
    const eight = Array.from({ length: 8 }, () => ({ importance: 3, flips: false }) as const);
    const many = opinion({ claims: eight });
    const begun = started();
    const run = begun
      .answered(owedSlots(begun.state), () => many)
      .given(deadline('claims', 'hard'));
    const { claims } = only(run.events, 'ClaimsFixed').data;
    expect(claims).toHaveLength(24);
    const perSeat = Map.groupBy(claims, (claim) => claim.from?.seat);
    for (const own of perSeat.values()) expect([3, 4]).toContain(own.length);
    expect(perSeat.size).toBe(7);
  });

  test('the claims are the fallback at the hard deadline, even while a call is open', () => {
    const run = inClaims().given(begin('claims.1'));
    expect(typesOf(run.when(deadline('claims', 'hard')))).toEqual(['ClaimsFixed']);
    const late = run.given(deadline('claims', 'hard'));
    expect(typesOf(late.when(answers('claims.1', ledgerOf(allSeats))))).toEqual([
      'CallCostRecorded',
    ]);
    expect(late.when(deadline('claims', 'hard'))).toEqual([]);
  });

  test('the claims have no soft deadline', () => {
    expect(inClaims().when(deadline('claims', 'soft'))).toEqual([]);
  });

  test('the claims survive lost extractors: the third lost attempt asks the second', () => {
    const run = inClaims().given(
      begin('claims.1'),
      begin('claims.1', 2),
      begin('claims.1', 3),
      begin('claims.1', 4),
    );
    expect(typesOf(run.events).at(-1)).toBe('CallLost');
    expect(owedSlots(run.state)).toEqual(['claims.2']);
  });
});

describe('the reviews', () => {
  test('the reviews are owed by the accepted seats only', () => {
    const run = started()
      .died(['opinion.S1'])
      .answered(opinionsOf(allSeats.slice(1)))
      .answered(['claims.1']);
    expect(owedSlots(run.state)).toEqual(reviewsOf(allSeats.slice(1)));
    expect(run.when(begin('review.S1'))).toEqual([]);
  });

  test('the reviews close with the last one, and the scores stand in the same append', () => {
    const run = inReviews().answered(reviewsOf(allSeats.slice(0, 6)));
    const events = run
      .given(begin('review.I2'))
      .when(answers('review.I2', usualAnswer(run.state, 'review.I2'), { now: after(40_000) }));
    expect(typesOf(events)).toEqual(['CallSucceeded', 'ReviewsClosed', 'ScoresComputed']);
    expect(only(events, 'ReviewsClosed').data).toEqual({
      reason: 'all',
      reviewers: allSeats,
      missing: [],
      excluded: null,
    });
    const scores = only(events, 'ScoresComputed').data;
    expect(scores.inputs).toEqual(reviewsOf(allSeats));
    expect(scores.synthesisHardAt).toBe(after(160_000));
    expect(scores.order).toEqual(allSeats.toSorted());
    expect(scores.agreement).toMatchObject({ score: 100, band: 'strong' });
    expect(scores.consensus).toEqual(['c1', 'c2']);
    expect(scores.uncertainty.filter(({ kind }) => kind === 'process')).toEqual([]);
  });

  test('the reviews close at the soft deadline with enough reviewers, and otherwise as soon as there are enough', () => {
    const five = inReviews().answered(reviewsOf(allSeats.slice(0, 5)));
    const soft = five.when(deadline('reviews', 'soft'));
    expect(typesOf(soft)).toEqual(['SoftPassed', 'ReviewsClosed', 'ScoresComputed']);
    expect(only(soft, 'ReviewsClosed').data).toMatchObject({
      reason: 'soft',
      missing: [
        { seat: 'I1', why: 'late' },
        { seat: 'I2', why: 'late' },
      ],
    });
    const four = inReviews()
      .answered(reviewsOf(allSeats.slice(0, 4)))
      .given(deadline('reviews', 'soft'));
    expect(stageOf(four)).toBe('reviews');
    expect(only(four.answered(['review.R2']).events, 'ReviewsClosed').data.reason).toBe('quorum');
  });

  test('the reviews close at the hard deadline with enough reviewers, and fail without', () => {
    const four = inReviews().answered(reviewsOf(allSeats.slice(0, 4)));
    expect(ending(four.when(deadline('reviews', 'hard')))).toMatchObject({
      outcome: 'failed',
      reason: 'reviews',
      missing: 0,
      settlement: half,
    });
    const five = four.answered(['review.I1']);
    expect(only(five.when(deadline('reviews', 'hard')), 'ReviewsClosed').data.reason).toBe('hard');
  });

  test('the quorum of reviewers is counted from the accepted answers', () => {
    // Five answered, so three reviewers are enough.
    const run = started()
      .died(opinionsOf(['S1', 'R2']))
      .answered(opinionsOf(['S2', 'S3', 'R1', 'I1', 'I2']))
      .answered(['claims.1'])
      .answered(reviewsOf(['S2', 'S3', 'R1']));
    expect(typesOf(run.when(deadline('reviews', 'hard')))).toEqual([
      'ReviewsClosed',
      'ScoresComputed',
    ]);
  });

  test('the reviews need at least one reader of every answer', () => {
    // One review each: three reviewers are enough in number, but read three answers only.
    const run = started({
      schedule: { ...schedule, reviewsPerSeat: 1 },
      seats: sevenSeats.slice(0, 5),
    });
    const reviewing = run
      .answered(opinionsOf(['S1', 'S2', 'S3', 'R1', 'R2']))
      .answered(['claims.1'])
      .answered(reviewsOf(['S1', 'S2', 'S3', 'R1']));
    expect(stageOf(reviewing)).toBe('reviews');
    expect(ending(reviewing.when(deadline('reviews', 'hard')))).toMatchObject({
      outcome: 'failed',
      reason: 'reviews',
    });
    expect(stageOf(reviewing.answered(['review.R2']))).toBe('synthesis');
  });

  test('the reviews fail at once when too few can still arrive', () => {
    const two = inReviews().died(reviewsOf(['S1', 'S2']));
    expect(stageOf(two)).toBe('reviews');
    const three = two.died(['review.S3']);
    expect(typesOf(three.events).slice(-2)).toEqual(['CallFailed', 'RunConcluded']);
    expect(ending(three.events)).toMatchObject({ outcome: 'failed', reason: 'reviews' });
  });

  test('the reviews fail at once when an answer has lost all its readers', () => {
    const run = started({ schedule: { ...schedule, reviewsPerSeat: 1 } });
    const reviewing = run.answered(owedSlots(run.state)).answered(['claims.1']);
    expect(ending(reviewing.died(['review.S1']).events)).toMatchObject({
      outcome: 'failed',
      reason: 'reviews',
    });
  });

  test('the reviews continue without reviewers that died', () => {
    const run = inReviews()
      .died(reviewsOf(['S1', 'S2']), 'malformed')
      .answered(reviewsOf(['S3', 'R1', 'R2', 'I1', 'I2']));
    const { reason, missing } = only(run.events, 'ReviewsClosed').data;
    expect({ reason, missing }).toEqual({
      reason: 'all',
      missing: [
        { seat: 'S1', why: 'malformed' },
        { seat: 'S2', why: 'malformed' },
      ],
    });
    const scores = only(run.events, 'ScoresComputed').data;
    expect(scores.order).toHaveLength(7);
    expect(scores.uncertainty.map(({ ref }) => ref)).toContain('reviews_missing');
  });
});

describe('an answer that instructs its reviewers', () => {
  /** All seats review; `flaggedBy` of them suspect S1, in whose text code found something or not. */
  function reviewed(flaggedBy: number, found: boolean, seats: readonly string[] = allSeats) {
    const missing = allSeats.filter((code) => !seats.includes(code));
    const run = started()
      .died(opinionsOf(missing))
      .answered(opinionsOf(seats), (slot) =>
        opinion({ injectionFound: found && slot === 'opinion.S1' }),
      )
      .answered(['claims.1']);
    const flagging = new Set(seats.filter((code) => code !== 'S1').slice(0, flaggedBy));
    return run.answered(reviewsOf(seats), (slot, state) => {
      const reviewer = slot.slice('review.'.length);
      if (!('order' in state)) throw new Error('not in the reviews');
      return reviewBy(state, reviewer, { suspects: flagging.has(reviewer) ? ['S1'] : [] });
    });
  }
  const excluded = (run: Script) => only(run.events, 'ReviewsClosed').data.excluded;

  test('an answer that instructs its reviewers is left out when code found it and two reviewers flagged it', () => {
    const run = reviewed(2, true);
    expect(excluded(run)).toEqual({ seat: 'S1', why: 'injection', flags: 2 });
    const scores = only(run.events, 'ScoresComputed').data;
    expect(scores.order).not.toContain('S1');
    expect(scores.inputs).not.toContain('review.S1');
    expect(scores.uncertainty.map(({ ref }) => ref)).toContain('seat_excluded');
  });

  test('an answer that instructs its reviewers stays when only code, code and one reviewer, or half of its reviewers object', () => {
    expect(excluded(reviewed(0, true))).toBeNull();
    expect(excluded(reviewed(1, true))).toBeNull();
    expect(excluded(reviewed(3, false))).toBeNull();
  });

  test('an answer that instructs its reviewers is left out when more than half of its reviewers flag it', () => {
    expect(excluded(reviewed(4, false))).toEqual({ seat: 'S1', why: 'injection', flags: 4 });
  });

  test('an answer that instructs its reviewers stays when the council would lose its quorum', () => {
    expect(excluded(reviewed(4, true, ['S1', 'S2', 'S3', 'R1', 'I1']))).toBeNull();
  });

  test('an answer that instructs its reviewers is left out, not missing: nothing is returned for it', () => {
    const run = reviewed(2, true).answered(['draft.1', 'verify.1.1', 'verify.1.2']);
    expect(ending(run.events)).toMatchObject({
      outcome: 'completed',
      missing: 0,
      settlement: { kind: 'capture', capture: price, refund: 0 },
    });
  });

  test('an answer that instructs its reviewers takes no other answer with it', () => {
    const begun = started();
    const run = begun
      .answered(owedSlots(begun.state), () => opinion({ injectionFound: true }))
      .answered(['claims.1']);
    const all = run.answered(reviewsOf(allSeats), (slot, state) => {
      if (!('order' in state)) throw new Error('not in the reviews');
      const suspects = slot === 'review.I2' ? ['S1', 'S2'] : ['S2'];
      return reviewBy(state, slot.slice('review.'.length), { suspects });
    });
    expect(excluded(all)).toEqual({ seat: 'S2', why: 'injection', flags: 6 });
    expect(only(all.events, 'ScoresComputed').data.order).toHaveLength(6);
  });
});

describe('the synthesis', () => {
  test('the synthesis checks a draft in the append that records it, and then owes two verifiers', () => {
    const run = inSynthesis().given(begin('draft.1'));
    expect(only(run.events.slice(-1), 'CallStarted').data.model).toBe('writer-one');
    const events = run.when(answers('draft.1', draft()));
    expect(typesOf(events)).toEqual(['CallSucceeded', 'DraftChecked']);
    expect(only(events, 'DraftChecked').data).toEqual({ round: 1, checks: passedChecks });
    const verifying = run.given(answers('draft.1', draft()));
    expect(owedSlots(verifying.state)).toEqual(['verify.1.1', 'verify.1.2']);
    const models = verifying.given(begin('verify.1.1'), begin('verify.1.2')).events.slice(-2);
    expect(models.map((event) => event.type === 'CallStarted' && event.data.model)).toEqual([
      'reader-one',
      'reader-two',
    ]);
  });

  test('the synthesis completes the run when both verifiers see no contradiction', () => {
    const run = inSynthesis().answered(['draft.1', 'verify.1.1']).given(begin('verify.1.2'));
    const events = run.when(answers('verify.1.2', verdict()));
    expect(typesOf(events)).toEqual(['CallSucceeded', 'SynthesisJudged', 'RunConcluded']);
    expect(only(events, 'SynthesisJudged').data).toEqual({
      round: 1,
      verdict: 'accept',
      verified: 'two',
      failed: [],
    });
    expect(ending(events)).toEqual({
      outcome: 'completed',
      heading: 'recommendation',
      reason: null,
      bestSeat: only(run.events, 'ScoresComputed').data.verdict?.bestSeat,
      // Seven opinions, the ledger, seven reviews, the draft and its two readers.
      callsStarted: 18,
      missing: 0,
      settlement: { kind: 'capture', capture: price, refund: 0 },
    });
  });

  test.each([
    { dead: ['verify.1.1'], verified: 'one' },
    { dead: ['verify.1.1', 'verify.1.2'], verified: 'none' },
  ])(
    'the synthesis judges by the code checks when verifiers are dead: $verified',
    ({ dead, verified }) => {
      const run = inSynthesis().answered(['draft.1']).died(dead, 'unknown_model');
      const all = run.answered(owedSlots(run.state));
      expect(only(all.events, 'SynthesisJudged').data).toMatchObject({
        verdict: 'accept',
        verified,
      });
      expect(ending(all.events)).toMatchObject({ outcome: 'completed', heading: 'recommendation' });
    },
  );

  test('the synthesis asks for a repair when code finds a fault, without asking any verifier', () => {
    const run = inSynthesis().answered(['draft.1'], () => draft(failedChecks));
    expect(typesOf(run.events).slice(-3)).toEqual([
      'CallSucceeded',
      'DraftChecked',
      'SynthesisJudged',
    ]);
    expect(only(run.events, 'SynthesisJudged').data).toEqual({
      round: 1,
      verdict: 'repair',
      verified: 'none',
      failed: ['consensus_coverage'],
    });
    expect(owedSlots(run.state)).toEqual(['draft.2']);
    expect(only(run.given(begin('draft.2')).events.slice(-1), 'CallStarted').data.model).toBe(
      'writer-one',
    );
  });

  test('the synthesis asks for a repair when one verifier sees a contradiction', () => {
    const run = inSynthesis()
      .answered(['draft.1'])
      .answered(['verify.1.1'], () => verdict(true));
    expect(typesOf(run.events).at(-1)).toBe('CallSucceeded');
    const judged = run.answered(['verify.1.2']);
    expect(only(judged.events, 'SynthesisJudged').data).toEqual({
      round: 1,
      verdict: 'repair',
      verified: 'two',
      failed: ['contradicts_consensus'],
    });
    const alone = run.died(['verify.1.2']);
    expect(only(alone.events, 'SynthesisJudged').data).toMatchObject({
      verdict: 'repair',
      verified: 'one',
    });
  });

  test('the synthesis passes to the other synthesiser when the repair fails, with its own verifiers', () => {
    const run = inSynthesis().answered(['draft.1', 'draft.2'], () => draft(failedChecks));
    expect(run.events.at(-1)).toMatchObject({
      type: 'SynthesisJudged',
      data: { round: 2, verdict: 'other_synthesizer' },
    });
    const third = run.given(begin('draft.3'));
    expect(only(third.events.slice(-1), 'CallStarted').data.model).toBe('writer-two');
    const verifying = third.given(answers('draft.3', draft()));
    const models = verifying.given(begin('verify.3.1'), begin('verify.3.2')).events.slice(-2);
    expect(models.map((event) => event.type === 'CallStarted' && event.data.model)).toEqual([
      'reader-two',
      'writer-one',
    ]);
    const accepted = verifying.answered(['verify.3.1', 'verify.3.2']);
    expect(ending(accepted.events)).toMatchObject({ heading: 'recommendation' });
  });

  test('the synthesis passes to the other synthesiser at once when the first is dead, and lets it repair', () => {
    const run = inSynthesis().died(['draft.1'], 'refusal');
    expect(run.events.at(-1)).toMatchObject({
      data: { round: 1, verdict: 'other_synthesizer', verified: 'none', failed: ['draft_refusal'] },
    });
    const second = run.answered(['draft.2'], () => draft(failedChecks));
    expect(second.events.at(-1)).toMatchObject({ data: { round: 2, verdict: 'repair' } });
    expect(only(second.given(begin('draft.3')).events.slice(-1), 'CallStarted').data.model).toBe(
      'writer-two',
    );
  });

  test('the synthesis publishes the best single answer when the third draft fails', () => {
    const run = inSynthesis().answered(['draft.1', 'draft.2', 'draft.3'], () =>
      draft(failedChecks),
    );
    expect(typesOf(run.events).slice(-3)).toEqual([
      'DraftChecked',
      'SynthesisJudged',
      'RunConcluded',
    ]);
    expect(run.events.at(-2)).toMatchObject({ data: { round: 3, verdict: 'fallback' } });
    expect(ending(run.events)).toMatchObject({
      outcome: 'completed',
      heading: 'best_single_answer',
      reason: 'drafts_failed',
      bestSeat: 'R1',
      settlement: { kind: 'capture', capture: price, refund: 4 },
    });
  });

  test('the synthesis publishes the best single answer when both synthesisers are dead', () => {
    const both = inSynthesis().died(['draft.1', 'draft.2']);
    expect(ending(both.events)).toMatchObject({ heading: 'best_single_answer' });
    const later = inSynthesis()
      .answered(['draft.1'], () => draft(failedChecks))
      .died(['draft.2']);
    expect(later.events.at(-1)).toMatchObject({ data: { verdict: 'other_synthesizer' } });
    expect(ending(later.died(['draft.3']).events)).toMatchObject({
      heading: 'best_single_answer',
    });
  });

  test('the synthesis publishes the best single answer at its deadline, whatever is under way', () => {
    const waiting = [
      inSynthesis(),
      inSynthesis().given(begin('draft.1')),
      inSynthesis().answered(['draft.1']).given(begin('verify.1.1')),
      inSynthesis().answered(['draft.1'], () => draft(failedChecks)),
    ];
    for (const run of waiting)
      for (const command of [deadline('synthesis', 'hard'), runDeadline]) {
        const events = run.when(command);
        expect(typesOf(events)).toEqual(['SynthesisJudged', 'RunConcluded']);
        expect(ending(events)).toMatchObject({
          outcome: 'completed',
          heading: 'best_single_answer',
        });
      }
    expect(concluded().when(deadline('synthesis', 'hard'))).toEqual([]);
    expect(inSynthesis().when(deadline('synthesis', 'soft'))).toEqual([]);
  });

  test('the synthesis returns credits for missing seats, but not for one that refused the content', () => {
    const two = started()
      .died(['opinion.S1'], 'refusal')
      .died(['opinion.R2'], 'billing')
      .answered(opinionsOf(['S2', 'S3', 'R1', 'I1', 'I2']))
      .answered(['claims.1']);
    const all = two
      .answered(owedSlots(two.state))
      .answered(['draft.1', 'verify.1.1', 'verify.1.2']);
    expect(ending(all.events)).toMatchObject({
      missing: 1,
      settlement: { kind: 'capture', capture: price, refund: 2 },
    });
  });
});

describe('cancelling', () => {
  test.each([
    { stage: 'opinions', run: started().given(begin('opinion.S1')), calls: 1 },
    { stage: 'claims', run: inClaims(), calls: 7 },
    { stage: 'reviews', run: inReviews(), calls: 8 },
  ])('cancelling in the $stage returns half', ({ run, calls }) => {
    const events = run.when(cancel);
    expect(typesOf(events)).toEqual(['RunConcluded']);
    expect(ending(events)).toMatchObject({
      outcome: 'cancelled',
      reason: 'person',
      callsStarted: calls,
      settlement: half,
    });
  });

  test('cancelling before the first call returns all', () => {
    expect(ending(started().when(cancel)).settlement).toEqual({ kind: 'release' });
  });

  test('cancelling is too late once the recommendation is being written', () => {
    for (const run of [inSynthesis(), inSynthesis().answered(['draft.1'])]) {
      const problem = refusal(run, cancel);
      expect([problem.status, problem.code]).toEqual([409, 'finishing']);
    }
  });

  test('cancelling an ended run names the outcome that won', () => {
    const failed = started().given(deadline('opinions', 'hard'));
    for (const [run, outcome] of [
      [concluded(), 'completed'],
      [closed(), 'completed'],
      [failed, 'failed'],
    ] as const) {
      const problem = refusal(run, cancel);
      expect([problem.status, problem.code]).toEqual([409, 'concluded']);
      expect(problem.extras.members).toMatchObject({ outcome });
    }
  });

  test('cancelling twice is the same as cancelling once', () => {
    expect(inClaims().given(cancel).when(cancel)).toEqual([]);
  });

  test('cancelling ends everything: no call begins, no stage closes, no draft is judged', () => {
    const run = inReviews().given(begin('review.S1'), cancel);
    expect(owedSlots(run.state)).toEqual([]);
    for (const command of [
      begin('review.S2'),
      begin('review.S1', 2),
      deadline('reviews', 'soft'),
      deadline('reviews', 'hard'),
      runDeadline,
      nudge,
    ])
      expect(run.when(command)).toEqual([]);
  });
});

describe("the run's own deadline", () => {
  test.each([
    ['opinions', started().given(begin('opinion.S1'))],
    ['claims', inClaims()],
    ['reviews', inReviews()],
  ])("the run's own deadline fails the run before the reviews have closed: %s", (_stage, run) => {
    const events = run.when(runDeadline);
    expect(typesOf(events)).toEqual(['RunConcluded']);
    expect(ending(events)).toMatchObject({ outcome: 'failed', reason: 'timeout' });
  });

  test("the run's own deadline changes nothing in a draft or an ended run", () => {
    for (const run of [created(), concluded(), closed()]) expect(run.when(runDeadline)).toEqual([]);
  });
});

describe('settling', () => {
  const figures = { captured: 14, refunded: 7, creditsVersion: 9 };
  const close: OptimizationCommand = { type: 'Close', ...figures };

  test.each([
    ['OptimizationCompleted', concluded()],
    ['OptimizationCancelled', inClaims().given(cancel)],
    ['OptimizationFailed', started().given(deadline('opinions', 'hard'))],
    ['OptimizationFailed', created().given({ type: 'Start', now: noon, seatable: false })],
  ])("settling closes the run with the ledger's figures: %s", (type, run) => {
    expect(stageOf(run)).toBe('settling');
    expect(run.when(close)).toEqual([{ type, data: figures }]);
    expect(run.given(close).when(close)).toEqual([]);
  });

  test('settling does not come before the conclusion', () => {
    for (const run of [created(), started(), inSynthesis()]) expect(run.when(close)).toEqual([]);
  });
});

describe('hiding', () => {
  const hide: OptimizationCommand = { type: 'Hide', now: noon };
  const restore: OptimizationCommand = { type: 'Restore', now: noon };

  test('hiding takes a closed run out of sight, and restoring brings it back', () => {
    const hidden = closed().given(hide);
    expect(hidden.events.at(-1)).toEqual({ type: 'OptimizationHidden', data: { at: noon } });
    expect(hidden.when(hide)).toEqual([]);
    expect(hidden.when(restore)).toEqual([{ type: 'OptimizationRestored', data: { at: noon } }]);
    expect(hidden.given(restore).when(restore)).toEqual([]);
    expect(typesOf(hidden.given(restore).when(hide))).toEqual(['OptimizationHidden']);
  });

  test('hiding can be undone for 30 days, to the millisecond, and after that the run counts as gone', () => {
    const hidden = closed().given(hide);
    const days = 30 * 86_400_000;
    const at = (ms: number) => new Date(Date.parse(noon) + ms).toISOString();
    expect(typesOf(hidden.when({ type: 'Restore', now: at(days - 1) }))).toEqual([
      'OptimizationRestored',
    ]);
    const problem = refusal(hidden, { type: 'Restore', now: at(days) });
    expect([problem.status, problem.code]).toEqual([404, 'not-found']);
    // The days are counted from the last hiding.
    const again = hidden.given(restore, { type: 'Hide', now: at(days / 2) });
    expect(typesOf(again.when({ type: 'Restore', now: at(days) }))).toEqual([
      'OptimizationRestored',
    ]);
  });

  test('a draft that was deleted comes back as a cancelled run', () => {
    const deleted = created().given(hide);
    expect(typesOf(deleted.when(restore))).toEqual(['OptimizationRestored']);
    expect(deleted.given(restore).state).toMatchObject({ outcome: 'cancelled', hiddenAt: null });
  });

  test('a run can be hidden at any time, and restored 25 times', () => {
    let run = closed();
    for (let times = 0; times < 25; times += 1) run = run.given(hide, restore);
    const hidden = run.given(hide);
    expect(typesOf(run.when(hide))).toEqual(['OptimizationHidden']);
    const problem = refusal(hidden, restore);
    expect([problem.status, problem.code]).toEqual([409, 'too-many-restores']);
    expect(hidden.when(hide)).toEqual([]);
  });

  test('hiding has to wait until a run has closed', () => {
    for (const run of [started(), inClaims(), inReviews(), inSynthesis(), concluded()]) {
      const problem = refusal(run, hide);
      expect([problem.status, problem.code]).toEqual([409, 'running']);
      expect(run.when(restore)).toEqual([]);
    }
  });

  test('a hidden run still records late costs', () => {
    const run = started()
      .given(begin('opinion.S1'), cancel)
      .given({ type: 'Close', captured: 14, refunded: 7, creditsVersion: 3 }, hide);
    expect(typesOf(run.when(answers('opinion.S1', opinion())))).toEqual(['CallCostRecorded']);
  });
});

describe('renaming', () => {
  test.each(Object.entries({ created, started, inReviews, concluded, closed }))(
    'renaming is possible at any time: %s',
    (_name, run) => {
      const before = run();
      expect(before.when({ type: 'Rename', title: 'sealed again', same: false })).toEqual([
        { type: 'OptimizationRenamed', data: { sealed: { title: 'sealed again' } } },
      ]);
      expect(before.when({ type: 'Rename', title: 'sealed again', same: true })).toEqual([]);
    },
  );
});

describe('an outcome', () => {
  const days = (count: number, ms = 0) =>
    new Date(Date.parse(noon) + count * 86_400_000 + ms).toISOString();
  const said = (
    change: Partial<Extract<OptimizationCommand, { type: 'RecordOutcome' }>> = {},
  ): OptimizationCommand => ({
    type: 'RecordOutcome',
    now: days(30),
    asked: 30,
    happened: 'better',
    did: 'sealed',
    same: false,
    result: { runId: 'opt_1', endedAt: noon },
    ...change,
  });

  test('an outcome is recorded from its day on, to the millisecond', () => {
    for (const [asked, before] of [
      [30, days(30, -1)],
      [90, days(90, -1)],
    ] as const) {
      const problem = refusal(closed(), said({ asked, now: before }));
      expect([problem.status, problem.code, problem.extras.members]).toEqual([
        409,
        'too-soon',
        { asked_from: days(asked) },
      ]);
      expect(closed().when(said({ asked, now: days(asked) }))).toEqual([
        {
          type: 'OutcomeRecorded',
          data: {
            asked,
            happened: 'better',
            at: days(asked),
            result: 'opt_1',
            sealed: { did: 'sealed' },
          },
        },
      ]);
    }
  });

  test('only a completed run that is not hidden has an outcome', () => {
    const failed = started().given(deadline('opinions', 'hard'), {
      type: 'Close',
      captured: 0,
      refunded: 0,
      creditsVersion: 3,
    });
    for (const run of [created(), inReviews(), concluded(), failed])
      expect(refusal(run, said()).code).toBe('no-result');
    const hidden = closed().given({ type: 'Hide', now: noon });
    expect(refusal(hidden, said()).code).toBe('not-found');
    expect(typesOf(hidden.given({ type: 'Restore', now: noon }).when(said()))).toEqual([
      'OutcomeRecorded',
    ]);
  });

  test('the same answer again changes nothing, and another one corrects it', () => {
    const answered = closed().given(said());
    expect(answered.when(said({ same: true, now: days(31) }))).toEqual([]);
    expect(typesOf(answered.when(said({ same: false })))).toEqual(['OutcomeRecorded']);
    expect(typesOf(answered.when(said({ happened: 'worse', same: true })))).toEqual([
      'OutcomeRecorded',
    ]);
    expect(answered.given(said({ happened: 'worse' })).state).toMatchObject({
      outcomes: { 30: { happened: 'worse', corrections: 1 } },
    });
  });

  test('an answer for one day leaves the other day open', () => {
    for (const happened of ['better', 'too_early'] as const)
      expect(
        typesOf(
          closed()
            .given(said({ happened }))
            .when(said({ asked: 90, now: days(90) })),
        ),
      ).toEqual(['OutcomeRecorded']);
  });

  test('a correction stays about the result that was answered for, however new another one is', () => {
    const later = { runId: 'opt_2', endedAt: days(40) };
    const [corrected] = closed()
      .given(said())
      .when(said({ now: days(45), happened: 'worse', result: later }));
    expect(corrected?.data).toMatchObject({ happened: 'worse', result: 'opt_1' });
    const first = said({ asked: 90, now: days(129), result: later });
    expect(refusal(closed().given(said()), first).code).toBe('too-soon');
  });

  test('an answer can be corrected 20 times', () => {
    let run = closed().given(said());
    for (let times = 0; times < 20; times += 1) run = run.given(said());
    expect(refusal(run, said()).code).toBe('too-many-corrections');
    expect(run.when(said({ same: true }))).toEqual([]);
    expect(typesOf(run.when(said({ asked: 90, now: days(90) })))).toEqual(['OutcomeRecorded']);
  });
});

describe('a nudge', () => {
  test.each(
    Object.entries({ created, started, inClaims, inReviews, inSynthesis, concluded, closed }),
  )('a nudge finds nothing that a decision has left undone: %s', (_name, run) => {
    expect(run().when(nudge)).toEqual([]);
  });
});

describe('any decision', () => {
  test('any decision is made on a state that has been through JSON, as a snapshot has', () => {
    const run = inSynthesis().answered(['draft.1']);
    const stored = script(JSON.parse(JSON.stringify(run.state)) as RunState);
    for (const command of [begin('verify.1.1'), deadline('synthesis', 'hard'), nudge])
      expect(stored.when(command)).toEqual(run.when(command));
  });
});
