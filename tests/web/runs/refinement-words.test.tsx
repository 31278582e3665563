import { describe, expect, it } from 'vitest';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { describeSeat, overallProgress } from '#services/optimizations/reading/describe.ts';
import { announcedOf, announcementsBetween } from '#web/features/chamber/announcements.ts';
import { Findings } from '#web/features/result/completed.tsx';
import { runQuery } from '#web/features/runs/queries.ts';
import { refinementsWords, runCredits } from '#web/features/runs/words.ts';
import { attemptsOf } from '#web/run/marks.ts';
import { braidOf } from '#web/run/braid-view.ts';
import { moneyWords, priceWords } from '#web/run/money.ts';
import { stepWords } from '#web/run/words.ts';
import {
  changed,
  given,
  inChain,
  refinedStory,
  refinedWithoutDraft,
  rootStory,
  untilVoted,
  untilVoting,
} from '#tests/web/support/refinement-stories.ts';
import { wordsOf } from '#tests/web/support/rendered.tsx';
import type { Story } from '#tests/web/support/run-story.ts';

const pageOf = (story: Story): string => {
  const run = story.copy();
  return wordsOf(<Findings run={run} />, [[runQuery(run.id).queryKey, run]]);
};
const inTwo = (story: Story): Story =>
  inChain(story, { refinements: [refinedStory.view(), refinedWithoutDraft.view()] });

/** How far the words come in this order. */
function expectOrder(words: string, sentences: readonly string[]): void {
  const places = sentences.map((sentence) => words.indexOf(sentence));
  expect(places.includes(-1), `${sentences[places.indexOf(-1)]} in ${words}`).toBe(false);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
}

describe('the words of a refinement', () => {
  it.each([
    ['page', pageOf(inTwo(refinedStory))],
    ['file', runMarkdown(inTwo(refinedStory).copy()).replaceAll(/\\(?=[\W_])|\*/g, '')],
  ])('the %s of a refinement begins with what changed and what was given', (_where, words) => {
    expectOrder(words, [
      'What changed',
      changed,
      'The changed fact',
      given,
      'About',
      'The claim c1 holds.',
      'The decision before',
      'Recommended by 7 of 7 models',
      'What would change this',
      'S1 and S2 would change their advice if this were false.',
    ]);
    expect(words).not.toContain('2 models would change their advice');
  });

  it('a refinement whose text failed its checks says what was given, not that anything changed', () => {
    const words = pageOf(inTwo(refinedWithoutDraft));
    expect(words).toContain('Refinement 2 of 2');
    expect(words).toContain('Nothing new. The models voted again on what they contested.');
    expect(words).not.toContain('What changed');
  });

  it('the page of a first result lists its refinements, and offers a refinement of each claim', () => {
    const words = pageOf(inTwo(rootStory));
    expectOrder(words, ['Refinements', 'Refinement 1', 'included', 'Refinement 2', 'How this was']);
    expect(words).toContain('This is different for me : claim c1');
    expect(pageOf(inChain(rootStory, {}))).not.toContain('Refinements');
  });

  it('the chamber of a refinement speaks of votes from 0 percent on, and of no answers', () => {
    const stepsAt = (events: number): string[] => {
      const view = refinedStory.view(events);
      return view.seats.map((seat) => stepWords(view, describeSeat(view, seat)));
    };
    const voting = refinedStory.view(untilVoting + 3);
    expect(overallProgress(refinedStory.view(untilVoting))).toBe(0);
    expect(stepsAt(untilVoting + 3)).toEqual([
      'Its vote is in',
      'Voting again',
      ...Array.from({ length: 5 }, () => 'Waiting...'),
    ]);
    expect(stepsAt(refinedStory.facts.length)).toEqual(
      Array.from({ length: 7 }, () => 'Its vote is in'),
    );
    expect(braidOf(voting).seats.map(({ progress }) => progress)).toEqual([
      75, 40, 40, 40, 40, 40, 40,
    ]);
    expect(braidOf(refinedStory.view(untilVoting)).isGettingReady).toBe(true);
    expect(attemptsOf(voting, 'S1').map(({ call }) => call)).toEqual(['Vote']);
    const before = announcedOf(refinedStory.view(1));
    expect(announcementsBetween(before, voting)[0]?.text).toBe(
      'Started: 7 models are voting again.',
    );
    expect(announcementsBetween(announcedOf(voting), refinedStory.view(untilVoted))).toContainEqual(
      {
        kind: 'phase',
        text: 'Phase: Synthesis.',
      },
    );
  });

  it('an included refinement says that nothing was charged', () => {
    const { credits, status } = refinedStory.copy();
    expect(moneyWords(credits)).toBe('It was included, so nothing was charged.');
    expect(runCredits({ status, credits })).toBe('included');
    expect([0, 3].map(priceWords)).toEqual(['Included', '3 credits']);
    expect([0, 1, 4].map(refinementsWords)).toEqual([null, '1 refinement', '4 refinements']);
  });
});
