import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { Optimization, ProgressStep } from '#services/optimizations/contract/run.ts';
import type { LedgerTexts, OptimizationEvent, Scores } from '#services/optimizations/run/events.ts';
import type { Draft, Opinion } from '#services/optimizations/prompts/reply-schemas.ts';
import { foldRun } from '#services/optimizations/reading/read-run.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import {
  costOf,
  describeRun,
  describeSeat,
  overallProgress,
} from '#services/optimizations/reading/describe.ts';
import { erased, undecidableText } from '#services/optimizations/reading/texts.ts';
import {
  applyPatch,
  beginView,
  patchOf,
  withStreamed,
} from '#services/optimizations/reading/view.ts';
import type { EventTexts, RunView } from '#services/optimizations/reading/view.ts';
import type { ReviewNotes } from '#services/optimizations/run/events.ts';
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
  noon,
  opinion,
  opinionsOf,
  reviewBy,
  reviewsOf,
  runId,
  started,
} from '#tests/optimizations/run/run-script.ts';
import type { Script } from '#tests/optimizations/run/run-script.ts';
import { oneIn } from '#tests/support/properties.ts';
import { live } from '#tests/optimizations/run/world.ts';

const later = Date.parse(after(45_000));

// ── the texts of a run ──────────────────────────────────────────────────────────────────────────

function opinionBy(seat: string): Opinion {
  return {
    recommendation: {
      option_label: `Option of ${seat}`,
      one_line: `${seat} would raise the price once.`,
    },
    reasoning: [`${seat} reasons.`],
    claims: [
      { text: `${seat} claims first.`, importance: 3, if_false_flips: true },
      { text: `${seat} claims second.`, importance: 2, if_false_flips: false },
      { text: `${seat} claims third.`, importance: 1, if_false_flips: false },
    ],
    assumptions: [`${seat} assumes.`],
    missing_info: [`${seat} would want to know.`],
    risks: [`${seat} sees a risk.`],
    stated_confidence: 70,
  };
}

const recommendation: Draft = {
  decision: 'Raise the price once.',
  option_id: 'o1',
  sections: [{ heading: 'Why', blocks: [{ text: 'It pays.', claim_ids: ['c1'] }] }],
  next_steps: [
    {
      action: 'Announce it.',
      owner: 'you',
      by_days: 7,
      measure: 'Clients answer.',
      stop_if: 'Two give notice.',
      claim_ids: ['c1'],
    },
  ],
  flaw_replies: [],
  dissent: [{ claim_id: 'c2', text: 'Some would wait; a test settles it.' }],
  uncertainties: ['What competitors do.'],
};

function textsOf(event: OptimizationEvent): EventTexts {
  switch (event.type) {
    case 'OptimizationCreated':
      return {
        title: 'Should I raise my prices?',
        challenge: 'Should I raise my prices? I have 40 clients.',
        context: 'A studio of one.',
        objectives: '["Keep the best clients"]',
        constraints: '["No new staff"]',
      };
    case 'CallSucceeded': {
      const { outcome, slot } = event.data;
      const parts = parseSlot(slot);
      if (parts.kind === 'opinion')
        return { reply: JSON.stringify(opinionBy(parts.seat)), shown: `Shown of ${parts.seat}` };
      if (outcome.kind === 'review') {
        const notes: ReviewNotes = {
          critique: 'The best one measures.',
          flaws: [{ seat: outcome.ballot.ranking.at(-1)?.[0] ?? '', text: 'Too slow.' }],
        };
        return { reply: '{}', notes: JSON.stringify(notes) };
      }
      return { reply: outcome.kind === 'draft' ? JSON.stringify(recommendation) : '{}' };
    }
    case 'ClaimsFixed': {
      if (event.data.sealed === undefined) return {};
      const { claims, options, notes } = event.data;
      const words: LedgerTexts = {
        claims: Object.fromEntries(
          claims.map(({ id, authors }) => [
            id,
            {
              text: `Claim ${id}`,
              quotes: authors.slice(0, 2).map((seat) => ({ seat, quote: `${seat} on ${id}` })),
            },
          ]),
        ),
        options: Object.fromEntries(options.map(({ id }) => [id, `Option ${id}`])),
        notes: Object.fromEntries(notes.map(({ id }) => [id, `Note ${id}`])),
      };
      return { ledger: JSON.stringify(words) };
    }
    case 'OptimizationRenamed':
      return { title: 'Renamed' };
    case 'OutcomeRecorded':
      return { did: 'Raised the price' };
    default:
      return {};
  }
}

/** As the reader opens an event whose key is gone. */
function erasedTexts(event: OptimizationEvent): EventTexts {
  return Object.fromEntries(Object.keys(textsOf(event)).map((field) => [field, null]));
}

type Texts = (event: OptimizationEvent) => EventTexts;

/** The views after each event of a stream. */
function viewsOf(events: readonly OptimizationEvent[], texts: Texts = textsOf): RunView[] {
  const patches = patchesOf(events, texts);
  const first = patches[0];
  if (!first) return [];
  const views = [beginView(first.patch)];
  for (const { patch, version } of patches.slice(1))
    views.push(applyPatch(views.at(-1)!, patch, version));
  return views;
}

function patchesOf(events: readonly OptimizationEvent[], texts: Texts = textsOf) {
  return events.map((event, index) => ({
    patch: patchOf(runId, event, texts(event), after(index * 1000)),
    version: index + 1,
  }));
}

const viewOf = (script: Script, texts: Texts = textsOf): RunView =>
  viewsOf(script.events, texts).at(-1)!;
const described = (script: Script, texts: Texts = textsOf) =>
  describeRun(viewOf(script, texts), later);

/** Every stream of some worlds in which much goes wrong. */
const streams = Array.from({ length: 12 }, (_, seed) => [...live({ seed }).runs.values()]).flat();
const calmStreams = [1, 2, 3].flatMap((seed) => [...live({ seed, calm: true }).runs.values()]);
const allStreams = [...streams, ...calmStreams];
const anyStream = fc.constantFrom(...allStreams);
const folded = new Map(allStreams.map((events) => [events, viewsOf(events)]));

const throughJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

describe('a view of any run', () => {
  test('a view of any run can be described after each of its events, and matches the contract', () => {
    for (const views of folded.values())
      for (const view of oneIn(3, views)) {
        const answer = throughJson(describeRun(view, later));
        expect(v.safeParse(Optimization, answer).issues).toBeUndefined();
      }
  });

  test('a view of any run passes every step in its order, including that in which bias is detected', () => {
    const order: readonly string[] = ProgressStep.options;
    for (const events of calmStreams.filter(({ length }) => length > 1)) {
      const all = folded.get(events)!.map((view) => describeRun(view, later));
      const steps = all.map((run) => run.evolution.current_step);
      const isRefinement = events.some(({ data }) => 'refines' in data);
      // Nobody is asked for an answer again.
      const expected = order.filter((step) => !isRefinement || step !== 'querying_models');
      expect([...new Set(steps)]).toEqual(expected);
      const progress = all.map((run) => run.progress);
      expect(progress).toEqual(progress.toSorted((one, other) => one - other));
    }
  });

  test('a view joined at any event ends like the full fold, even with late or repeated events', () => {
    fc.assert(
      fc.property(
        anyStream,
        fc.nat(),
        fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 12 }),
        (events, cut, strays) => {
          const patches = patchesOf(events).map(throughJson);
          const joined = cut % events.length;
          let view = throughJson(folded.get(events)![joined]!);
          for (const [place, fact] of patches.entries()) {
            if (place > joined) view = applyPatch(view, fact.patch, fact.version);
            for (const [which, where] of strays) {
              // An event that was sent before, or is already in the snapshot, is sent once more.
              const again = patches[which % (Math.max(place, joined) + 1)]!;
              if (where % events.length === place)
                view = applyPatch(view, again.patch, again.version);
            }
          }
          expect(view).toEqual(throughJson(folded.get(events)!.at(-1)));
        },
      ),
      { seed: 1, numRuns: 300 },
    );
  });

  test('a view of any run equals the run as read from the store', () => {
    for (const events of streams.slice(0, 40)) {
      const run = foldRun(
        runId,
        events.map((event, index) => ({
          event,
          position: index + 1,
          at: after(index * 1000),
          texts: textsOf(event),
        })),
      );
      expect(run?.view).toEqual(folded.get(events)!.at(-1));
      expect(run?.version).toBe(events.length);
    }
  });

  test('a view of any run costs what its events cost, to the micro-dollar, late usage included', () => {
    for (const [events, views] of folded) {
      let micros = 0;
      for (const [index, event] of events.entries()) {
        const view = views[index]!;
        const priced = 'costMicros' in event.data ? event.data.costMicros : null;
        micros += priced ?? 0;
        expect(costOf(view, Object.keys(view.calls)).micros ?? 0).toBe(micros);
      }
      const run = describeRun(views.at(-1)!, later);
      expect(Math.round((run.cost ?? 0) * 1e6)).toBe(micros);
      const begun = events.filter(({ type }) => type === 'CallStarted').length;
      const known = events.filter(
        ({ data }) => 'costMicros' in data && data.costMicros !== null,
      ).length;
      const over = run.status !== 'pending' && run.status !== 'processing';
      expect(over && run.cost_is_minimum).toBe(over && known < begun);
    }
  });

  test('the progress of any run reaches 100 when it has ended, and not before', () => {
    for (const views of folded.values())
      for (const view of views) expect(overallProgress(view) === 100).toBe(view.stage === 'closed');
  });

  test('the progress of any run only moves forward as long as nothing fails', () => {
    for (const events of calmStreams) {
      const progress = folded.get(events)!.map((view) => overallProgress(view));
      expect(progress).toEqual(progress.toSorted((one, other) => one - other));
      expect(new Set(progress).size).toBeGreaterThan(8);
    }
  });
});

describe('a run whose texts are erased', () => {
  test(
    'a run whose texts are erased can be described at every event, and reads Erased',
    { tags: ['long'] },
    () => {
      for (const events of allStreams)
        for (const view of viewsOf(events, erasedTexts)) {
          const run = describeRun(view, later);
          expect(run).toMatchObject({
            title: erased,
            description: erased,
            challenge: erased,
            context: erased,
            objectives: [],
            constraints: [],
          });
          // Not a text of the run, but the name of an option that every run has.
          expect([erased, undecidableText]).toContain(run.result?.decision ?? erased);
        }
    },
  );

  test('a run whose texts are erased keeps its figures', () => {
    const [whole, gone] = [described(closed()), described(closed(), erasedTexts)];
    for (const key of ['status', 'progress', 'agreement_score', 'cost', 'credits'] as const)
      expect(gone[key]).toEqual(whole[key]);
    expect(gone.evolution.bias?.model_confidence_scores).toEqual(
      whole.evolution.bias?.model_confidence_scores,
    );
    expect(gone.evolution.bias?.consensus_points.map(({ text }) => text)).toEqual([erased, erased]);
  });
});

describe('the steps that people see', () => {
  test.each([
    ['pending', 'initializing', 'Getting ready', created()],
    ['processing', 'querying_models', '0 of 7 models have answered', started()],
    [
      'processing',
      'querying_models',
      '2 of 7 models have answered',
      started().answered(opinionsOf(['S1', 'S2'])),
    ],
    ['processing', 'analyzing_responses', 'Collecting claims from every answer', inClaims()],
    [
      'processing',
      'analyzing_responses',
      '1 of 7 blind reviews are in',
      inReviews().answered(['review.S1']),
    ],
    ['processing', 'synthesizing', 'One model is writing the recommendation', inSynthesis()],
    [
      'processing',
      'synthesizing',
      'Two other models are checking the recommendation',
      inSynthesis().answered(['draft.1']),
    ],
    [
      'processing',
      'synthesizing',
      'One model is writing the recommendation',
      inSynthesis().answered(['draft.1'], () => draft(failedChecks)),
    ],
    ['processing', 'synthesizing', 'Finishing', concluded()],
    ['completed', 'completed', 'Completed', closed()],
  ])('the steps that people see: %s, %s: %s', (status, step, words, script) => {
    const run = described(script);
    expect(run.status).toBe(status);
    expect(run.evolution).toMatchObject({ current_step: step, step_details: words });
  });

  test('a run can be cancelled until the recommendation is being written', () => {
    const cancellable = [created(), started(), inClaims(), inReviews()];
    const late = [inSynthesis(), concluded(), closed(), inClaims().given(cancel)];
    for (const script of cancellable) expect(described(script).evolution.can_cancel).toBe(true);
    for (const script of late) expect(described(script).evolution.can_cancel).toBe(false);
  });

  test('a run estimates its time left from what such runs usually take', () => {
    const view = viewOf(started());
    const left = (now: number) => describeRun(view, now).evolution.estimated_completion;
    expect(left(Date.parse(noon))).toBe(30);
    expect(left(Date.parse(after(12_000)))).toBe(18);
    expect(left(Date.parse(after(31_000)))).toBeNull();
    expect(described(created()).evolution.estimated_completion).toBeNull();
    expect(described(closed()).evolution.estimated_completion).toBeNull();
  });
});

describe('the progress of a seat', () => {
  const seat = (script: Script, code = 'S1') =>
    described(script).models.find((one) => one.seat === code)!;

  const seatsOf = (view: RunView) => view.seats.map((one) => describeSeat(view, one));

  test.each([
    ['0% at no step before its call', 0, null, 'waiting', started()],
    ['0% at its answer', 0, 'querying_models', 'processing', started().given(begin('opinion.S1'))],
    ['50% once it has answered', 50, 'querying_models', 'waiting', inClaims()],
    [
      '50% at its review',
      50,
      'analyzing_responses',
      'processing',
      inReviews().given(begin('review.S1')),
    ],
    [
      '100% once it has reviewed',
      100,
      'completed',
      'completed',
      inReviews().answered(['review.S1']),
    ],
    ['100% while another model writes', 100, 'completed', 'completed', inSynthesis()],
    [
      '50% in a run that was canceled after its answer',
      50,
      'querying_models',
      'completed',
      inClaims().given(cancel),
    ],
  ] as const)('a seat is %s', (_when, progress, currentStep, status, script) => {
    expect(seat(script)).toMatchObject({ progress, currentStep, status });
  });

  test('a seat of a running run is at 100% exactly when nothing is left for its model to do', () => {
    const open = ['waiting', 'processing', 'retrying'];
    for (const views of folded.values())
      for (const view of views.filter(({ conclusion }) => conclusion === null))
        for (const { progress, status } of seatsOf(view))
          expect(progress === 100).toBe(!open.includes(status));
  });

  test('the progress, the cost and the latency of a seat never fall in any run', () => {
    const falling = (figures: readonly (number | null)[]) =>
      figures.some((one, index) => index > 0 && (one ?? 0) < (figures[index - 1] ?? 0));
    for (const [events, views] of folded) {
      const rows = views.map(seatsOf);
      for (const [place] of views[0]!.seats.entries()) {
        const of = (field: 'costCents' | 'latencyMs' | 'progress') =>
          rows.map((row) => row[place]![field]);
        expect(falling(of('costCents'))).toBe(false);
        expect(falling(of('latencyMs'))).toBe(false);
        expect(calmStreams.includes(events) && falling(of('progress'))).toBe(false);
      }
    }
  });

  test('the latency of a seat is that of all its calls, the failed ones included', () => {
    const retried = started()
      .given(begin('opinion.S1'), fails('opinion.S1', 'rate_limited'))
      .given(begin('opinion.S1', 2), answers('opinion.S1', opinion(), { attempt: 2 }));
    expect(seat(retried).latencyMs).toBe(8400);
  });

  test('follows the text that streams in, up to what only the whole answer gives', () => {
    const view = viewOf(started().given(begin('opinion.S1')));
    const at = (progress: number) =>
      describeRun(withStreamed(view, [{ slot: 'opinion.S1', progress }]), later).models[0]
        ?.progress;
    expect([at(0), at(50), at(94), at(100), at(400)]).toEqual([0, 24, 46, 49, 49]);
  });

  test('is never moved back by an older report, or by one of an answered call', () => {
    const begun = viewOf(started().given(begin('opinion.S1')));
    const half = withStreamed(begun, [{ slot: 'opinion.S1', progress: 50 }]);
    expect(withStreamed(half, [{ slot: 'opinion.S1', progress: 20 }])).toBe(half);
    const answered = viewOf(started().answered(['opinion.S1']));
    expect(withStreamed(answered, [{ slot: 'opinion.S1', progress: 50 }])).toBe(answered);
    expect(withStreamed(begun, [{ slot: 'opinion.S9', progress: 50 }])).toBe(begun);
  });

  test('is done for a seat that dropped out', () => {
    const script = started().died(['opinion.S1'], 'billing');
    expect(seat(script)).toMatchObject({
      status: 'failed',
      progress: 100,
      reason: 'The provider account has a billing issue',
    });
  });

  test.each([
    ['waiting', null, started()],
    ['processing', null, started().given(begin('opinion.S1'))],
    [
      'retrying',
      'Retrying: The provider is rate limiting us',
      started().given(begin('opinion.S1'), fails('opinion.S1', 'rate_limited')),
    ],
    ['refused', 'The model declined to answer this question', started().died(['opinion.S1'])],
    [
      'timed_out',
      'No answer in time',
      started()
        .given(begin('opinion.S1'))
        .answered(opinionsOf(allSeats.slice(1)))
        .given(deadline('opinions', 'hard')),
    ],
    [
      'failed',
      'The provider is unavailable',
      started()
        .given(begin('opinion.S1'), fails('opinion.S1', 'unavailable'))
        .answered(opinionsOf(allSeats.slice(1)))
        .given(deadline('opinions', 'soft')),
    ],
    [
      'failed',
      'The call was lost',
      started().given(...[1, 2, 3, 4].map((attempt) => begin('opinion.S1', attempt))),
    ],
    ['failed', "Hadn't answered when the run ended", started().given(begin('opinion.S1'), cancel)],
    ['completed', null, inReviews().answered(['review.S1'])],
    [
      'completed',
      "No review: The answer wasn't in the required format",
      inReviews()
        .died(['review.S1'], 'malformed')
        .answered(reviewsOf(allSeats.slice(1))),
    ],
    ['completed', null, closed()],
  ] as const)('has the status %s and the reason %s', (status, reason, script) => {
    expect(seat(script)).toMatchObject({ status, reason });
  });

  test('says once what was repaired in the form of its answers', () => {
    const script = started().given(
      begin('opinion.S1'),
      answers('opinion.S1', opinion(), { repaired: ['json', 'defaults'] }),
      begin('opinion.S2'),
      answers('opinion.S2', opinion()),
    );
    expect(seat(script).repaired).toEqual([
      'The JSON of the answer was repaired',
      'A missing field was taken as empty',
    ]);
    expect(described(script).models[1]?.repaired).toEqual([]);
  });

  test('names a seat that was left out of the vote', () => {
    const script = started()
      .answered(opinionsOf(allSeats), (slot) => opinion({ injectionFound: slot === 'opinion.S1' }))
      .answered(['claims.1'])
      .answered(reviewsOf(allSeats), (slot, state) => {
        if (!('order' in state)) throw new Error('not in the reviews');
        return reviewBy(state, slot.slice('review.'.length), { suspects: ['S1'] });
      });
    expect(seat(script)).toMatchObject({
      status: 'excluded',
      reason: 'Excluded from the vote: its answer tried to instruct the reviewers (flagged by 6)',
    });
    expect(described(script).evolution.bias?.uncertainty_factors).toContainEqual({
      kind: 'process',
      text: 'One answer was excluded from the vote.',
    });
  });
});

describe('what a run has cost so far', () => {
  test('what a run has cost so far is unknown before a call was priced, and a minimum when one could not be', () => {
    const open = started().given(begin('opinion.S1'));
    expect(described(open)).toMatchObject({ cost: null, cost_is_minimum: false });
    const answered = open.given(answers('opinion.S1', opinion()));
    expect(described(answered)).toMatchObject({ cost: 0.0015, cost_is_minimum: false });
    const lost = answered.given(begin('opinion.S2'), begin('opinion.S2', 2));
    expect(described(lost)).toMatchObject({ cost: 0.0015, cost_is_minimum: true });
    const late = lost.given(answers('opinion.S2', opinion(), { attempt: 1 }));
    expect(described(late)).toMatchObject({ cost: 0.003, cost_is_minimum: false });
  });

  test('what a run has cost so far is a minimum when the run ends with open calls, until they report their cost', () => {
    const script = started().given(begin('opinion.S1'), cancel);
    expect(described(script).cost_is_minimum).toBe(true);
    const stopped = script.given(fails('opinion.S1', 'aborted'));
    expect(described(stopped).cost_is_minimum).toBe(true);
    const priced = script.given(answers('opinion.S1', opinion()));
    expect(described(priced)).toMatchObject({ cost: 0.0015, cost_is_minimum: false });
  });
});

describe('the credits of a run', () => {
  test.each([
    [{ reserved: 0, charged: null, refunded: null, settlement: 'none' }, created()],
    [{ reserved: 14, charged: null, refunded: null, settlement: 'held' }, started()],
    [{ reserved: 14, charged: null, refunded: null, settlement: 'pending' }, concluded()],
    [
      { reserved: 0, charged: 7, refunded: 7, settlement: 'settled' },
      inClaims().given(cancel, {
        type: 'Close',
        captured: 14,
        refunded: 7,
        creditsVersion: 3,
      }),
    ],
  ] as const)('%o', (credits, script) => {
    expect(described(script).credits).toEqual({ price: 14, ...credits });
  });
});

describe('the result of a run', () => {
  test('the result of a run is the accepted draft, once the run has closed', () => {
    expect(described(concluded()).result).toBeNull();
    expect(described(closed()).result).toEqual({
      heading: 'recommendation',
      changed: null,
      option_id: 'o1',
      votes_for: 7,
      votes_total: 7,
      tie_break: null,
      decision: 'Raise the price once.',
      decision_option: 'Option o1',
      objection: {
        seat: 'S3',
        text: 'Too slow.',
        claim_id: null,
        voted_for: true,
        voted_for_since: false,
      },
      missing_facts: [],
      flaws: [],
      options: [],
      sections: recommendation.sections,
      next_steps: recommendation.next_steps.map((step) => ({ ...step, done: false })),
      dissent: recommendation.dissent,
      uncertainties: recommendation.uncertainties,
      verified: 'two',
      seat: null,
    });
  });

  test('the result of a run says when no verifier checked it', () => {
    const script = inSynthesis()
      .answered(['draft.1'])
      .died(['verify.1.1', 'verify.1.2'])
      .given({ type: 'Close', captured: 14, refunded: 0, creditsVersion: 3 });
    expect(described(script).result).toMatchObject({ heading: 'recommendation', verified: 'none' });
  });

  test('the result of a run is the best single answer under that heading when no draft passed', () => {
    const script = inSynthesis()
      .given(deadline('synthesis', 'hard'))
      .given({ type: 'Close', captured: 14, refunded: 4, creditsVersion: 3 });
    const best = viewOf(script).scores?.verdict?.bestSeat ?? '';
    const run = described(script);
    expect(run.result).toMatchObject({
      heading: 'best_single_answer',
      decision: `${best} would raise the price once.`,
      sections: [
        { heading: 'Why', blocks: [{ text: `${best} reasons.`, claim_ids: [] }] },
        { heading: 'Based on' },
        { heading: 'Risks' },
      ],
      verified: 'none',
      seat: best,
    });
    expect(run.ended_because).toBe(
      'No recommendation passed its checks, so the best single answer is shown instead.',
    );
  });

  test.each([
    ['You canceled this run.', inClaims().given(cancel)],
    ['No model gave an answer that could be used.', started().given(deadline('opinions', 'hard'))],
    ['Too few models reviewed the answers.', inReviews().given(deadline('reviews', 'hard'))],
    [
      'Optimization timeout: the run took longer than it may.',
      inReviews().given({ type: 'RunDeadline', now: noon }),
    ],
    [
      "This strategy's models aren't available.",
      created().given({ type: 'Start', now: noon, seatable: false }),
    ],
  ])('the result of a run is empty, and the reason is given: %s', (words, script) => {
    const run = described(
      script.given({ type: 'Close', captured: 14, refunded: 7, creditsVersion: 3 }),
    );
    expect(run).toMatchObject({ ended_because: words, result: null });
  });

  test('the result of a run keeps the words of a fallback ledger, which stand in the answers', () => {
    const begun = inClaims().given(deadline('claims', 'hard'));
    const script = begun.answered(reviewsOf(allSeats));
    const claims = viewOf(script).ledger?.claims ?? {};
    const bias = described(script).evolution.bias;
    expect(bias?.agreement_note).toBe("No score: the claims couldn't be collected");
    for (const { claim_id: id, text } of bias?.consensus_points ?? [])
      expect(text).toBe(
        `${claims[id]?.authors[0]} claims ${claims[id]?.importance === 3 ? 'first' : 'second'}.`,
      );
  });
});

type Agreement = Scores['agreement'];
test.each<[Agreement['capped'], number, Scores['clearWinnerReason'], string | null, RegExp]>([
  [true, 60, 'clear', 'contested', /^Capped at 60: a third or more of the models contest/],
  [false, 80, 'clear', null, /^null$/],
  ['contested', 59, 'clear', 'contested', /^Capped at 59: a third or more of the models contest/],
  ['copies', 79, 'copies', 'copies', /^Copies of one model tend to agree.*Capped at 79\.$/],
  [null, 40, 'copies', null, /^Copies of one model tend to agree; agreement says little here\.$/],
  ['contested', 59, 'copies', 'contested', /^Capped at 59.*Copies of one model/],
])(
  'a score that stores the cap %s reads as it was counted, at %i and a winner by %s',
  (capped, score, clearWinnerReason, agreement_capped, note) => {
    const view = viewOf(closed());
    const { scores } = view;
    if (scores === null) throw new Error('A completed run has scores');
    const agreement: Agreement = { ...scores.agreement, capped, score, rank: 1 };
    const { evolution } = describeRun(
      { ...view, scores: { ...scores, clearWinnerReason, agreement } },
      later,
    );
    expect(evolution.bias).toMatchObject({
      agreement_capped,
      clear_winner_reason: clearWinnerReason,
    });
    expect(String(evolution.bias?.agreement_note)).toMatch(note);
  },
);

test('a run of v0.1 names the Kemeny order, and no age of prices', () => {
  const view = viewOf(closed());
  const { ordering: _later, ...scores } = view.scores!;
  const uncertainty = ['price_table_stale', 'reviews_missing'].map((ref) => ({
    kind: 'process' as const,
    ref,
    count: 1,
  }));
  const { evolution } = describeRun({ ...view, scores: { ...scores, uncertainty } }, later);
  expect(evolution.bias).toMatchObject({
    ordering: 'kemeny',
    uncertainty_factors: [{ kind: 'process', text: 'Not every model reviewed the others.' }],
  });
});

test('no bias indicator says plus or minus zero', () => {
  const view = viewOf(closed());
  const { scores } = view;
  if (scores === null) throw new Error('A completed run has scores');
  fc.assert(
    fc.property(fc.double({ min: -0.05, max: 0.05, noNaN: true }), (small) => {
      const bias = { ...scores.bias, positionSlope: small, verbosityTau: small };
      const { evolution } = describeRun({ ...view, scores: { ...scores, bias } }, later);
      const values = evolution.bias?.indicators.flatMap(({ value }) => value ?? []) ?? [];
      expect(values.length).toBeGreaterThan(1);
      for (const value of values) expect(value).not.toMatch(/[-−+]0(?:\.0+)?(?![.\d])/);
    }),
    { examples: [[-0.0032], [0.0032], [-0]] },
  );
});
