import { describe, expect, test } from 'vitest';
import { checkDraft } from '#services/optimizations/prompts/draft.ts';
import type { Draft } from '#services/optimizations/prompts/reply-schemas.ts';
import { parseReply } from '#services/optimizations/prompts/reply-schemas.ts';
import { checkSecondVote } from '#services/optimizations/prompts/second-vote.ts';
import { objectionTitle } from '#services/optimizations/reading/words/doubts.ts';
import { votedForSince } from '#services/optimizations/reading/texts.ts';
import { ballotOf, notesOf } from '#services/optimizations/reading/view.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { ballot } from '#tests/optimizations/council/ballots.ts';

describe('what a seat says in a refinement', () => {
  const before = {
    ballot: ballot({
      ranking: [['S2']],
      votes: {
        c1: { stance: 'agree', confidence: 60, reason: 'The old reason.' },
        c2: { stance: 'unsure', confidence: 50, reason: 'A missing fact.' },
      },
      decision: { optionId: 'o1', seat: 'S2', reason: 'The old choice.' },
    }),
    notes: { critique: 'A critique.', flaws: [{ seat: 'S2', text: 'A flaw.' }] },
  };
  const viewWith = (calls: object, firstOption = 'o1') =>
    ({
      before: {
        reviews: { S1: { ...before, firstOption } },
        given: [],
        decision: null,
        heading: null,
      },
      ledger: { options: { o1: { seats: ['S2'] } } },
      calls,
    }) as unknown as RunView;
  const second = {
    outcome: {
      kind: 'second_vote',
      votes: { c1: { stance: 'disagree', confidence: 90 } },
      optionId: 'o2',
    },
    notes: { critique: '', flaws: [], reasons: { c1: 'The new reason.' }, decisionReason: 'Why.' },
  };

  test('a vote that is given again has its own reason, and every other vote keeps its reason', () => {
    const view = viewWith({ 'review.S1': second });
    expect(ballotOf(view, 'S1')).toEqual({
      ...before.ballot,
      votes: {
        c1: { stance: 'disagree', confidence: 90, reason: 'The new reason.' },
        c2: before.ballot.votes['c2'],
      },
      decision: { optionId: 'o2', seat: null, reason: 'Why.' },
    });
    expect(notesOf(view, 'S1')).toEqual(before.notes);
  });

  test('the reason of an earlier vote never stands for a new one', () => {
    const silent = {
      ...second,
      notes: { critique: '', flaws: [], reasons: {}, decisionReason: '' },
    };
    const found = ballotOf(viewWith({ 'review.S1': silent }), 'S1');
    expect(found?.votes['c1']).toEqual({ stance: 'disagree', confidence: 90 });
    expect(found?.decision).toEqual({ optionId: 'o2', seat: null });
  });

  test.each([
    ['came round to it in this refinement', 'o2', 'o1', ['S1']],
    ['came round to it in an earlier refinement', 'o2', null, ['S1']],
    ['has chosen it again', 'o1', 'o1', []],
    ['chose it before any refinement', 'o1', null, []],
    ['has left it', 'o1', 'o2', []],
  ])('a flaw is marked, or is not, when a seat that raised it %s', (_, first, again, marked) => {
    const vote = { ...second, outcome: { ...second.outcome, optionId: again } };
    const view = viewWith(again === null ? {} : { 'review.S1': vote }, first);
    const flaw = { id: 'f1', aboutSeat: 'S2', reviewers: ['S1', 'S3'] };
    expect(votedForSince(view, flaw)).toEqual(marked);
    const objection = { seat: 'S1', voted_for: true, voted_for_since: marked.length > 0 };
    expect(objectionTitle([], 'recommendation', objection)).toBe(
      marked.length > 0
        ? 'Objection to the recommendation from before the second vote, by S1, who then voted for it'
        : 'Objection to the recommendation, by S1, who voted for it all the same',
    );
  });

  test('a seat that has not voted again says what it said before', () => {
    expect(ballotOf(viewWith({}), 'S1')).toEqual(before.ballot);
    expect(ballotOf(viewWith({}), 'S2')).toBeNull();
  });
});

describe('a second vote as a model writes it', () => {
  const shown = { claimIds: ['c1', 'c2'], optionIds: ['o1', 'undecidable'] };
  const vote = (claim: string, stance: string, reason = '') => ({
    claim_id: claim,
    stance,
    confidence: 140,
    reason,
  });
  const checked = (votes: object[], option: string) => {
    const value = { votes, decision_vote: { option_id: option, reason: 'Because.' } };
    const parsed = parseReply('second_vote', { value, isRepaired: false });
    return parsed.ok ? checkSecondVote(parsed.value, shown) : parsed;
  };

  test('known claims count, each by its first vote, and those left out keep their earlier one', () => {
    const votes = [
      vote('c1', 'disagree', 'The street is closed.'),
      vote('c1', 'agree'),
      vote('c9', 'agree'),
    ];
    expect(checked(votes, 'undecidable')).toEqual({
      ok: true,
      value: {
        votes: { c1: { stance: 'disagree', confidence: 100 } },
        optionId: 'undecidable',
        reasons: { c1: 'The street is closed.' },
        decisionReason: 'Because.',
      },
    });
  });

  test('an option that was not shown makes it malformed', () => {
    expect(checked([], 'o7')).toMatchObject({ ok: false, failure: 'malformed' });
  });
});

describe('the draft of a refinement', () => {
  const draft: Draft = {
    decision: 'Open on Sundays.',
    option_id: 'o1',
    sections: [{ heading: 'Why', blocks: [{ text: 'People walk by.', claim_ids: ['c1'] }] }],
    next_steps: [],
    flaw_replies: [],
    dissent: [],
    uncertainties: [],
  };
  const sources = {
    claimIds: ['c1'],
    consensusIds: ['c1'],
    disagreementIds: [],
    minorityIds: [],
    optionId: 'o1',
    flawIds: [],
    question: [],
    corpus: [],
  };
  const changed = 'The decision is the same, because the street stays open.';

  test.each([
    ['a refinement whose draft says what changed', { ...draft, changed }, true, []],
    ['a refinement whose draft says nothing of it', draft, true, ['changed']],
    [
      'a refinement whose draft says too little',
      { ...draft, changed: 'Nothing.' },
      true,
      ['changed'],
    ],
    ['any other run', draft, false, []],
    [
      'a refinement that names an invented number',
      { ...draft, changed: `${changed} It costs $4,711.` },
      true,
      ['numbers'],
    ],
  ] as const)('the checks of %s fail as expected', (_, written, refines, failed) => {
    expect(checkDraft(written, { ...sources, refines }).failed).toEqual(failed);
  });
});
