import { describe, expect, test } from 'vitest';
import { reactions as creditReactions } from '#services/credits/account/reactions.ts';
import { noCredits } from '#services/credits/account/movements.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import { owedJobs, reactions, settleJob } from '#services/optimizations/run/reactions.ts';
import {
  after,
  allSeats,
  answers,
  begin,
  cancel,
  closed,
  concluded,
  created,
  deadline,
  draft,
  failedChecks,
  fails,
  inClaims,
  inReviews,
  inSynthesis,
  jobsOf,
  keysOf,
  ledgerOf,
  noon,
  only,
  opinion,
  opinionsOf,
  reviewsOf,
  runDeadline,
  runId,
  start,
  started,
  usualAnswer,
  verdict,
} from './run-script.ts';
import type { Script } from './run-script.ts';
import { runIdOf, streamOf } from '#services/optimizations/run/events.ts';

/** The keys of the jobs that a command enqueues, without the run's id. */
const keys = (run: Script, command: OptimizationCommand) => keysOf(jobsOf(run, command));

const histories = { created, started, inClaims, inReviews, inSynthesis, concluded, closed };

describe('the jobs that a decision enqueues', () => {
  test('a start enqueues all first calls and all three deadlines', () => {
    expect(jobsOf(created(), start())).toEqual([
      ...allSeats.map((seat) => ({
        task: 'call-model',
        payload: { runId, slot: `opinion.${seat}` },
        key: `${runId}:opinion.${seat}`,
      })),
      {
        task: 'stage-deadline',
        payload: {
          runId,
          stage: 'opinions',
          kind: 'soft',
          dueAt: after(60_000),
          rearmed: false,
        },
        key: `${runId}:opinions:soft`,
        runAt: after(60_000),
      },
      {
        task: 'stage-deadline',
        payload: {
          runId,
          stage: 'opinions',
          kind: 'hard',
          dueAt: after(180_000),
          rearmed: false,
        },
        key: `${runId}:opinions:hard`,
        runAt: after(180_000),
      },
      {
        task: 'run-deadline',
        payload: { runId, dueAt: after(720_000), rearmed: false },
        key: `${runId}:deadline`,
        runAt: after(720_000),
      },
    ]);
  });

  test('beginning a call enqueues no job: the job that began it makes the call', () => {
    expect(keys(started(), begin('opinion.S1'))).toEqual([]);
    expect(keys(started().given(begin('opinion.S1')), begin('opinion.S1', 2))).toEqual([]);
  });

  test('a failure that is tried again enqueues the same call, later', () => {
    const run = started().given(begin('opinion.S1'));
    const { retryAt } = only(run.when(fails('opinion.S1', 'timeout')), 'CallFailed').data;
    expect(retryAt).not.toBeNull();
    expect(jobsOf(run, fails('opinion.S1', 'timeout'))).toEqual([
      {
        task: 'call-model',
        payload: { runId, slot: 'opinion.S1' },
        key: `${runId}:opinion.S1`,
        runAt: retryAt,
      },
    ]);
    expect(keys(run, fails('opinion.S1', 'refusal'))).toEqual([]);
  });

  test('the last opinion enqueues the extractor and its deadline', () => {
    const run = started()
      .answered(opinionsOf(allSeats.slice(0, 6)))
      .given(begin('opinion.I2'));
    expect(keys(run, answers('opinion.I2', opinion()))).toEqual(['claims.1', 'claims:hard']);
  });

  test('an opinion between others enqueues no job', () => {
    const run = started().given(begin('opinion.S1'));
    expect(keys(run, answers('opinion.S1', opinion()))).toEqual([]);
  });

  test('a soft deadline without a quorum enqueues no job', () => {
    expect(keys(started(), deadline('opinions', 'soft'))).toEqual([]);
  });

  test('the ledger enqueues all reviews and their deadlines', () => {
    const run = inClaims().given(begin('claims.1'));
    const expected = [...reviewsOf(allSeats), 'reviews:soft', 'reviews:hard'];
    expect(keys(run, answers('claims.1', ledgerOf(allSeats)))).toEqual(expected);
    expect(keys(run, deadline('claims', 'hard'))).toEqual(expected);
  });

  test('a dead first extractor enqueues the second, and a dead second the reviews', () => {
    const first = inClaims().given(begin('claims.1'));
    expect(keys(first, fails('claims.1', 'refusal'))).toEqual(['claims.2']);
    const lost = first.given(begin('claims.1', 2), begin('claims.1', 3));
    expect(keys(lost, begin('claims.1', 4))).toEqual(['claims.2']);
    const second = inClaims().died(['claims.1']).given(begin('claims.2'));
    expect(keys(second, fails('claims.2', 'refusal'))).toEqual([
      ...reviewsOf(allSeats),
      'reviews:soft',
      'reviews:hard',
    ]);
  });

  test('the last review enqueues the draft and its deadline', () => {
    const run = inReviews()
      .answered(reviewsOf(allSeats.slice(0, 6)))
      .given(begin('review.I2'));
    expect(keys(run, answers('review.I2', usualAnswer(run.state, 'review.I2')))).toEqual([
      'draft.1',
      'synthesis:hard',
    ]);
  });

  test('a draft enqueues its verifiers, or the next draft when code found a fault', () => {
    const run = inSynthesis().given(begin('draft.1'));
    expect(keys(run, answers('draft.1', draft()))).toEqual(['verify.1.1', 'verify.1.2']);
    expect(keys(run, answers('draft.1', draft(failedChecks)))).toEqual(['draft.2']);
    expect(keys(run, fails('draft.1', 'refusal'))).toEqual(['draft.2']);
  });

  test('the last verifier enqueues the settlement, or the next draft', () => {
    const run = inSynthesis().answered(['draft.1', 'verify.1.1']).given(begin('verify.1.2'));
    expect(keys(run, answers('verify.1.2', verdict()))).toEqual(['settle']);
    expect(keys(run, answers('verify.1.2', verdict(true)))).toEqual(['draft.2']);
  });

  test('any conclusion enqueues the settlement and nothing else', () => {
    const third = inSynthesis()
      .answered(['draft.1', 'draft.2'], () => draft(failedChecks))
      .given(begin('draft.3'));
    expect(keys(third, answers('draft.3', draft(failedChecks)))).toEqual(['settle']);
    expect(keys(inSynthesis(), deadline('synthesis', 'hard'))).toEqual(['settle']);
    expect(keys(inSynthesis(), runDeadline)).toEqual(['settle']);
    expect(keys(inReviews(), runDeadline)).toEqual(['settle']);
    expect(keys(inReviews(), deadline('reviews', 'hard'))).toEqual(['settle']);
    expect(keys(started(), deadline('opinions', 'hard'))).toEqual(['settle']);
    expect(keys(created(), cancel)).toEqual(['settle', 'notify']);
    expect(keys(created(), { type: 'Hide', now: noon })).toEqual(['settle', 'notify', 'forget']);
    expect(keys(created(), { type: 'Start', now: noon, seatable: false })).toEqual(['settle']);
  });

  test('an ended run enqueues the email to its user and nothing else, even for late answers', () => {
    const run = started().given(begin('opinion.S1'), cancel);
    expect(keys(run, answers('opinion.S1', opinion()))).toEqual([]);
    const close = { type: 'Close', captured: 14, refunded: 7, creditsVersion: 3 } as const;
    expect(keys(run, close)).toEqual(['notify']);
    expect(keys(run.given(close), close)).toEqual([]);
    expect(keys(closed(), { type: 'Hide', now: noon })).toEqual(['forget']);
    expect(
      keys(closed().given({ type: 'Hide', now: noon }), { type: 'Restore', now: noon }),
    ).toEqual([]);
  });

  test('hiding a run enqueues one job that runs 30 days later', () => {
    const [job] = reactions(
      { type: 'OptimizationHidden', data: { at: '2026-02-10T12:00:00.000Z' } },
      streamOf(runId),
      closed().state,
    );
    expect(job).toMatchObject({
      task: 'forget-run',
      payload: { runId },
      runAt: '2026-03-12T12:00:00.000Z',
    });
  });

  test('the jobs that a decision enqueues have one key each', () => {
    for (const run of Object.values(histories)) {
      const all = owedJobs(runId, run().state).map(({ key }) => key);
      expect(new Set(all).size).toBe(all.length);
    }
  });
});

describe('what a run owes', () => {
  test.each(Object.entries(histories))(
    'the jobs that a run owes are those that its decisions enqueued and that have not run: %s',
    (_name, history) => {
      const run = history();
      const owed = keysOf(owedJobs(runId, run.state));
      expect(owed).toEqual(
        {
          none: [],
          draft: [],
          opinions: [...opinionsOf(allSeats), 'opinions:soft', 'opinions:hard', 'deadline'],
          claims: ['claims.1', 'claims:hard', 'deadline'],
          reviews: [...reviewsOf(allSeats), 'reviews:soft', 'reviews:hard', 'deadline'],
          synthesis: ['draft.1', 'synthesis:hard', 'deadline'],
          settling: ['settle'],
          closed: [],
        }[run.state.stage],
      );
    },
  );

  test('the jobs that a run owes have the times that the run fixed', () => {
    const retrying = started().given(begin('opinion.S1'), fails('opinion.S1', 'timeout'));
    const times = Object.fromEntries(
      owedJobs(runId, retrying.state).map(({ key, runAt }) => [key.slice(runId.length + 1), runAt]),
    );
    expect(times).toMatchObject({
      'opinion.S1': only(retrying.events, 'CallFailed').data.retryAt,
      'opinion.S2': undefined,
      'opinions:soft': after(60_000),
      'opinions:hard': after(180_000),
      deadline: after(720_000),
    });
  });

  test('the jobs that a run owes leave out a soft deadline that has passed', () => {
    const run = started().given(deadline('opinions', 'soft'));
    expect(keysOf(owedJobs(runId, run.state))).not.toContain('opinions:soft');
  });

  test('a run with an open call owes that call again: its job may be missing', () => {
    const run = started().given(begin('opinion.S1'));
    expect(keysOf(owedJobs(runId, run.state))).toContain('opinion.S1');
  });
});

describe('the two streams of a run', () => {
  test('a start for each reservation joins the two streams of a run, under one key', () => {
    const reserved = {
      type: 'CreditsReserved',
      data: { runId, credits: 14, allocations: [], bonusMonth: null, balance: noCredits },
    } as const;
    expect(creditReactions(reserved, 'credits-usr_1')).toEqual([
      { task: 'start-run', payload: { runId }, key: `${runId}:start` },
    ]);
  });

  test('a settlement joins the two streams of a run, under one key', () => {
    expect(settleJob(runId)).toEqual({
      task: 'settle-run',
      payload: { runId },
      key: `${runId}:settle`,
    });
    const settled = { runId, credits: 14, byLot: [], balance: noCredits };
    for (const type of ['CreditsReleased', 'CreditsCaptured'] as const)
      expect(creditReactions({ type, data: settled }, 'credits-usr_1')).toEqual([]);
  });

  test('the two streams of a run name it and can be read back to its id', () => {
    expect(streamOf(runId)).toBe(`optimization-${runId}`);
    expect(runIdOf(streamOf(runId))).toBe(runId);
  });
});
