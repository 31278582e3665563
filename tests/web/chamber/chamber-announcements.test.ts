import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Announcement,
  announcementsBetween,
  createAnnouncer,
  announcedOf,
} from '#web/features/chamber/announcements.ts';
import { closed, opinionsOf, started } from '#tests/optimizations/run/run-script.ts';
import { storyOf } from '#tests/web/support/run-story.ts';

describe('what the chamber says of a run', () => {
  it('the start, the phases, the quarters and the end of a run are announced once each', () => {
    const story = storyOf(closed());
    const said = story.facts.slice(1).flatMap((_fact, index) => {
      const before = story.view(index + 1);
      return announcementsBetween(announcedOf(before), story.view(index + 2));
    });
    expect(said.map((one) => one.text)).toEqual([
      'Started: 7 models are answering.',
      '25 percent.',
      'Phase: Cross-Evaluation.',
      '50 percent.',
      '75 percent.',
      'Phase: Bias Detection.',
      'Phase: Synthesis.',
      'Done. Your result is ready.',
    ]);
  });

  it('each model that drops out is announced', () => {
    const before = storyOf(started());
    const after = storyOf(started().died(opinionsOf(['S2', 'R1'])));
    expect(
      announcementsBetween(announcedOf(before.view()), after.view()).map((one) => one.text),
    ).toContain('S2 anthropic-s2 and R1 mistral-r1 dropped out of the run.');
  });

  it('nothing is announced without a change or after the end', () => {
    const view = storyOf(closed()).view();
    expect(announcementsBetween(announcedOf(view), view)).toEqual([]);
  });
});

describe('the announcer', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  const message = (kind: Announcement['kind'], text: string): Announcement => ({ kind, text });

  it('the announcer speaks at once after a pause and combines messages that come too soon', () => {
    const said: string[] = [];
    const announcer = createAnnouncer((sentence) => said.push(sentence));
    announcer.announce([message('start', 'Started.')]);
    expect(said).toEqual(['Started.']);
    announcer.announce([message('progress', '25 percent.')]);
    announcer.announce([
      message('phase', 'Phase: Cross-Evaluation.'),
      message('progress', '50 percent.'),
    ]);
    vi.advanceTimersByTime(4_999);
    expect(said).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(said).toEqual(['Started.', 'Phase: Cross-Evaluation. 50 percent.']);
  });

  it('the end of a run replaces waiting messages', () => {
    const said: string[] = [];
    const announcer = createAnnouncer((sentence) => said.push(sentence));
    announcer.announce([message('start', 'Started.')]);
    announcer.announce([message('progress', '75 percent.')]);
    announcer.announce([message('end', 'Done.')]);
    vi.advanceTimersByTime(5_000);
    expect(said).toEqual(['Started.', 'Done.']);
  });

  it('the announcer never speaks twice within five seconds, and loses only outdated figures', () => {
    const steps = fc.array(
      fc.record({ waitMs: fc.nat(7_000), kind: fc.constantFrom('phase' as const, 'out' as const) }),
      { minLength: 1, maxLength: 40 },
    );
    fc.assert(
      fc.property(steps, (chosen) => {
        const said: { at: number; sentence: string }[] = [];
        const announcer = createAnnouncer((sentence) => said.push({ at: Date.now(), sentence }));
        chosen.forEach(({ waitMs, kind }, index) => {
          vi.advanceTimersByTime(waitMs);
          announcer.announce([message(kind, `<${index}>`)]);
        });
        vi.advanceTimersByTime(5_000);
        const gaps = said.slice(1).map(({ at }, index) => at - (said[index]?.at ?? 0));
        expect(gaps.filter((gap) => gap < 5_000)).toEqual([]);
        const unexpected = said.map((one) => one.sentence).join(' ');
        chosen.forEach((_step, index) => expect(unexpected).toContain(`<${index}>`));
      }),
    );
  });
});
