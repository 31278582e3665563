import { expect, it } from 'vitest';
import { claimsCsv } from '#services/optimizations/reading/claims-csv.ts';
import { claimRows } from '#services/optimizations/reading/words/claims.ts';
import { closed } from '#tests/optimizations/run/run-script.ts';
import { resultStories } from '#tests/web/support/result-stories.ts';
import { plainWords, storyOf } from '#tests/web/support/run-story.ts';

it('claims as CSV quote what would end a cell, and contain no formulas', () => {
  const story = storyOf(closed(), {
    ledger: (claims, options) => {
      const plain = plainWords.ledger(claims, options);
      const quotes = [{ seat: 'S1', quote: '+SUM(A1)' }];
      return { ...plain, claims: { ...plain.claims, c1: { text: '=1+1, "sure"', quotes } } };
    },
  });
  const [row] = claimRows(story.view());
  const hostile = { ...row!, changed_fact: '@cmd|x' };
  const votes = hostile.votes.map((vote) => ({ ...vote, simulated: vote.seat === 'S1' }));
  const [head, cells] = claimsCsv([{ ...hostile, votes }]).split('\r\n');
  expect(head?.match(/,S1 [^,]* \(simulated\),/)).not.toBeNull();
  expect(head?.match(/\(simulated\)/g)).toHaveLength(1);
  expect(cells).toMatch(/^c1,"'=1\+1, ""sure""",3,agreed,100,/);
  expect(cells).toMatch(/S1: \+SUM\(A1\),'@cmd\|x$/);
});

it('each claim is in the list of the result that its outcome names', () => {
  for (const { copy, view } of Object.values(resultStories)) {
    const { bias } = copy().evolution;
    const ids = (outcome: string) =>
      claimRows(view())
        .filter((row) => row.outcome === outcome)
        .map(({ id }) => id)
        .toSorted();
    if (bias === null) continue;
    const listed = (all: readonly { claim_id: string }[]) =>
      all.map(({ claim_id: id }) => id).toSorted();
    const disputed = bias.disagreement_areas.flatMap(({ about }) =>
      about === 'decision' ? [] : [about],
    );
    expect(ids('agreed')).toEqual(listed(bias.consensus_points));
    expect(ids('rejected')).toEqual(listed(bias.rejected_claims));
    expect(ids('disputed')).toEqual(disputed.toSorted());
  }
});
