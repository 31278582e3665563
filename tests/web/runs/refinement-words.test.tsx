import { describe, expect, it } from 'vitest';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { describeSeat, overallProgress } from '#services/optimizations/reading/describe.ts';
import { announcedOf, announcementsBetween } from '#web/features/chamber/announcements.ts';
import { Findings } from '#web/features/result/completed.tsx';
import { runQuery } from '#web/features/runs/queries.ts';
import { refinementsWords } from '#web/features/runs/words.ts';
import { attemptsOf } from '#web/run/marks.ts';
import { braidOf } from '#web/run/braid-view.ts';
import { moneyWords, runCredits } from '#services/optimizations/reading/words/money.ts';
import { priceWords } from '#web/run/words.ts';
import { stepWords } from '#web/run/seat-words.ts';
import {
  changed,
  given,
  included,
  inChain,
  movedStory,
  refinedId,
  refinedStory,
  refinedWithoutDraft,
  rootStory,
  untilVoted,
  untilVoting,
} from '#tests/web/support/refinement-stories.ts';
import { resultStories } from '#tests/web/support/result-stories.ts';
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
  let place = 0;
  for (const sentence of sentences) {
    const found = words.indexOf(sentence, place);
    expect(found, `${sentence} after ${place} in ${words}`).toBeGreaterThanOrEqual(place);
    place = found;
  }
}

describe('the words of a refinement', () => {
  it.each([
    ['page', pageOf(inTwo(refinedStory))],
    ['file', runMarkdown(inTwo(refinedStory).copy()).replaceAll(/\\(?=[\W_])|\*/g, '')],
  ])('the %s of a refinement begins with what changed and what was given', (_where, words) => {
    expectOrder(words, [
      'What changed',
      changed,
      'Votes',
      '7 for “The option o1”, as before. No model changed its vote.',
      'No vote changed on the claim that was voted on again.',
      'No reason in the second vote uses words from the changed fact.',
      'The changed fact',
      given,
      'About c1',
      'The claim c1 holds.',
      'The result before',
      'Recommended by 7 of 7 models: Begin with one fixed offer',
      'Recommended by 7 of 7 models',
      'What would change this',
      `You said this is different: “${given}”`,
      'S1 and S2 kept their vote on the decision.',
    ]);
    expect(words).not.toContain('2 models would change their advice');
    expect(words).not.toContain('This is different for me');
  });

  it.each([
    ['page', pageOf(inTwo(movedStory))],
    ['file', runMarkdown(inTwo(movedStory).copy()).replaceAll(/\\(?=[\W_])|\*/g, '')],
  ])(
    'the %s of a refinement says who changed their vote, and dates what is older',
    (_where, words) => {
      const option = (id: string) => `“The option ${id}”`;
      expectOrder(words.replaceAll(/ ?: /g, ': '), [
        `Votes before: 7 for ${option('o1')}.`,
        `Votes now: 4 for ${option('o2')} and 3 for ${option('o1')}.`,
        `Changed: openai-s1 (S1), anthropic-s2 (S2), google-s3 (S3) and mistral-r1 (R1), from ${option('o1')} to ${option('o2')}.`,
        'No second vote: openai-i2 (I2). Its earlier vote still counts.',
        'Votes changed on the claim that was voted on again.',
        'Before: 7 agree. Now: 4 agree, 3 disagree. Changed: anthropic-s2 (S2), google-s3 (S3) and mistral-r1 (R1).',
        'What would change this',
        'The claims are as the models made them in the first round.',
        'S1 and S2 changed their vote on the decision.',
        'Consensus points',
        'The claims are as the models made them in the first round.',
        'The claim c2 holds. The votes on this are from before Refinement 1.',
        'Divergences',
        'From the first answer of openai-s1 (S1): “Words for c1”',
      ]);
      expect(words).toMatch(
        /Clients stay\. (Claims: c1 \(|\(c1: )You said this is different\)?,? c2/,
      );
      expect(words).toContain(
        'with the claim that the panel agrees on and with what you said about c1, and found',
      );
      expect(words).toContain('These are from the first round.');
      expect(words).toContain('2 models assumed in the first round: Prices hold.');
    },
  );

  it('a refinement whose text failed its checks says what was given, not that anything changed', () => {
    const words = pageOf(inTwo(refinedWithoutDraft));
    expect(words).toContain('Refinement 2');
    expect(words).not.toContain('2 of 2');
    expect(words).toContain('Nothing new. The models voted again on what they contested.');
    expect(words).not.toContain('What changed');
  });

  it.each([
    [false, 'This answer is out of date: Refinement 1 changed it', 'Earlier answer: '],
    [true, 'Refinement 1 comes to the same answer', ''],
  ])(
    'page and file of a refined result begin with the newer answer; the same option: %s',
    (isSame, title, before) => {
      const newer = {
        id: refinedId,
        number: 1,
        outcome: 'Recommended by 4 of 7 models',
        decision: 'Wait for the spring.',
        changed,
        same_option: isSame,
        ended_at: null,
      };
      const run = { ...inTwo(rootStory).copy(), newer };
      const page = wordsOf(<Findings run={run} />, [[runQuery(run.id).queryKey, run]]);
      const file = runMarkdown(run).replaceAll(/\\(?=[\W_])|\*/g, '');
      for (const words of [page, file])
        expectOrder(words, [
          title,
          newer.outcome,
          newer.decision,
          changed,
          `${before}Recommended by 7 of 7 models`,
          run.result!.decision,
        ]);
    },
  );

  it('the page of a first result lists its refinements, and offers a refinement of each claim', () => {
    const words = pageOf(inTwo(rootStory));
    expectOrder(words, ['Refinements', 'Refinement 1', 'included', 'Refinement 2', 'How this was']);
    expect(words).toContain('This is different for me : claim c1');
    expect(pageOf(inChain(rootStory, {}))).not.toContain('Refinements');
  });

  it('the page of an undecided result has a button for each missing fact, while it can be refined', () => {
    const open = resultStories.undecidable;
    expect(pageOf(inTwo(open))).toMatch(/need to know Prices hold\.|need to know The number/);
    expect(pageOf(inTwo(open)).match(/Add this fact :/g)).toHaveLength(
      open.copy().result?.missing_facts.length ?? 0,
    );
    const spent = { ...included, allowed: false, reason: 'You owe credits.' };
    expect(pageOf(inChain(open, { refinable: spent }))).not.toContain('Add this fact');
  });

  it('the chamber of a refinement speaks of votes from 0 percent on, and of no answers', () => {
    const stepsAt = (events: number): string[] => {
      const view = refinedStory.view(events);
      return view.seats.map((seat) => stepWords(view, describeSeat(view, seat)));
    };
    const voting = refinedStory.view(untilVoting + 3);
    expect(overallProgress(refinedStory.view(untilVoting))).toBe(0);
    expect(stepsAt(untilVoting + 3)).toEqual([
      'Done, voted again',
      'Voting again',
      ...Array.from({ length: 5 }, () => 'Waiting...'),
    ]);
    expect(stepsAt(refinedStory.facts.length)).toEqual(
      Array.from({ length: 7 }, () => 'Done, voted again'),
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
