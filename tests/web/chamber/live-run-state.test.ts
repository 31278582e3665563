import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Delta } from '#services/live/contract.ts';
import {
  closed,
  inReviews,
  opinionsOf,
  runId,
  started,
} from '#tests/optimizations/run/run-script.ts';
import { isTorn, type RunState, withCopy, withDelta, withFact } from '#web/live/run-state.ts';
import { storyOf } from '#tests/web/support/run-story.ts';

const story = storyOf(closed());
const begin = (events = 1): RunState => withCopy(null, story.view(events));

function delta(parts: Partial<Delta> = {}): Delta {
  return {
    run: runId,
    seat: 'S1',
    slot: 'opinion.S1',
    attempt: 1,
    offset: 0,
    text: 'Begin small',
    progress: 20,
    ...parts,
  };
}

/** Every opinion has begun and none has ended. */
const writing = (): RunState => {
  const script = started().given({
    type: 'BeginCall',
    slot: 'opinion.S1',
    attempt: 1,
    now: '2026-11-20T12:00:01.000Z',
  });
  return withCopy(null, storyOf(script).view());
};

describe('the facts of a run', () => {
  it('facts fold to the same view as on the server', () => {
    expect(story.facts.reduce(withFact, begin()).view).toEqual(story.view());
  });

  it('facts that arrive twice or late change nothing', () => {
    const all = story.facts.reduce(withFact, begin());
    expect(story.facts.reduce(withFact, all)).toBe(all);
  });

  it('facts of other runs and other kinds are ignored', () => {
    const state = begin();
    const [, second] = story.facts;
    if (!second) throw new Error('The story has two facts at least');
    expect(withFact(state, { ...second, entity: { kind: 'run', id: 'opt_other' } })).toBe(state);
    expect(withFact(state, { ...second, entity: { kind: 'run_row', id: runId } })).toBe(state);
  });

  it('facts wait for a missing predecessor and apply when it arrives', () => {
    const [, second, third, fourth] = story.facts;
    if (!second || !third || !fourth) throw new Error('The story has four facts at least');
    const waiting = withFact(withFact(begin(), fourth), third);
    expect(waiting.view.version).toBe(1);
    expect(isTorn(waiting)).toBe(true);
    const whole = withFact(waiting, second);
    expect(whole.view).toEqual(story.view(4));
    expect(isTorn(whole)).toBe(false);
  });

  it('waiting facts apply on top of a fresh copy', () => {
    const torn = story.facts.slice(5).reduce(withFact, begin());
    expect(torn.view.version).toBe(1);
    expect(withCopy(torn, story.view(8)).view).toEqual(story.view());
  });

  it('facts are not undone by an older copy', () => {
    const all = story.facts.reduce(withFact, begin());
    expect(withCopy(all, story.view(3))).toBe(all);
  });

  it('facts end in the same view in any order, with any repeats and any copies', () => {
    const steps = fc.array(
      fc.oneof(
        { arbitrary: fc.record({ fact: fc.nat(story.facts.length - 1) }), weight: 8 },
        {
          arbitrary: fc.record({ copy: fc.integer({ min: 1, max: story.facts.length }) }),
          weight: 1,
        },
      ),
      { maxLength: 120 },
    );
    fc.assert(
      fc.property(steps, (chosen) => {
        const wild = chosen.reduce((state, step) => {
          if ('copy' in step) return withCopy(state, story.view(step.copy));
          const fact = story.facts[step.fact];
          return fact ? withFact(state, fact) : state;
        }, begin());
        // However it got there, the state shown is one that the run was in.
        expect(wild.view).toEqual(story.view(wild.view.version));
        expect(story.facts.reduce(withFact, wild).view).toEqual(story.view());
      }),
      { numRuns: 200 },
    );
  });
});

describe('words as they stream', () => {
  it('streamed words add up and move the progress of their seat', () => {
    const first = withDelta(writing(), delta());
    const second = withDelta(first, delta({ offset: 11, text: ' and learn', progress: 40 }));
    expect(second.texts['opinion.S1']?.text).toBe('Begin small and learn');
    expect(second.view.calls['opinion.S1']?.streamed).toBe(0.4);
  });

  it('streamed words are applied once, however they repeat or overlap', () => {
    const first = withDelta(writing(), delta());
    expect(withDelta(first, delta())).toBe(first);
    const overlapping = withDelta(first, delta({ offset: 6, text: 'small now' }));
    expect(overlapping.texts['opinion.S1']?.text).toBe('Begin small now');
  });

  it('missing words are marked as a gap', () => {
    const late = withDelta(writing(), delta({ offset: 300, text: 'so it is.' }));
    expect(late.texts['opinion.S1']?.text).toBe('… so it is.');
    const gap = withDelta(late, delta({ offset: 400, text: 'Then' }));
    expect(gap.texts['opinion.S1']?.text).toBe('… so it is. … Then');
  });

  it('streamed words restart with a new attempt, and an older attempt adds nothing', () => {
    const first = withDelta(writing(), delta());
    const second = withDelta(first, delta({ attempt: 2, text: 'Again' }));
    expect(second.texts['opinion.S1']?.text).toBe('Again');
    expect(withDelta(second, delta({ offset: 11, text: ' more' }))).toBe(second);
  });

  it('streamed words disappear when the call ends, and no delta restores them', () => {
    const answered = storyOf(started().answered(opinionsOf(['S1'])));
    const after = answered.facts.reduce(withFact, withDelta(writing(), delta()));
    expect(after.texts).toEqual({});
    expect(withDelta(after, delta({ offset: 900 }))).toBe(after);
  });

  it('neither streamed words nor a copy without progress moves the progress back', () => {
    const far = withDelta(writing(), delta({ progress: 60 }));
    const back = withDelta(far, delta({ offset: 11, text: ' x', progress: 10 }));
    expect(back.view.calls['opinion.S1']?.streamed).toBe(0.6);
    const copied = withCopy(back, {
      ...back.view,
      version: back.view.version + 1,
      calls: writing().view.calls,
    });
    expect(copied.view.calls['opinion.S1']?.streamed).toBe(0.6);
  });

  it('streamed words of another run are ignored', () => {
    const state = withCopy(null, storyOf(inReviews()).view());
    expect(withDelta(state, delta({ run: 'opt_other' }))).toBe(state);
  });
});
