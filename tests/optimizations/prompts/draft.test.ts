import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { describe, expect, it } from 'vitest';
import { checkDraft } from '#services/optimizations/prompts/draft.ts';
import { escapeMarkdown } from '#services/optimizations/prompts/plain-text.ts';
import type { Draft } from '#services/optimizations/prompts/reply-schemas.ts';

const draft: Draft = {
  decision: 'Raise the price to $79 for new buyers.',
  option_id: 'o1',
  sections: [{ heading: 'Why', blocks: [{ text: 'It costs no hours.', claim_ids: ['c1', 'c2'] }] }],
  next_steps: [
    {
      action: 'Show the price to 20 people.',
      owner: 'you',
      by_days: 14,
      measure: '2 of them buy.',
      stop_if: 'Nobody buys.',
      claim_ids: ['c2'],
    },
  ],
  flaw_replies: [{ flaw_id: 'f1', text: 'The first 20 buyers show whether it is.' }],
  dissent: [{ claim_id: 'c3', text: 'Some expect fewer buyers.' }],
  uncertainties: ['Nobody knows the refund rate.'],
};
const sources = {
  claimIds: ['c1', 'c2', 'c3', 'c4'],
  optionId: 'o1',
  flawIds: ['f1'],
  consensusIds: ['c1', 'c2'],
  disagreementIds: ['c3'],
  minorityIds: [],
  question: ['Should I charge $79?'],
  corpus: ['Ask 20 people.'],
};

describe('the gate of a draft', () => {
  it('the gate of a draft passes a draft that covers everything, cites everything and invents no number', () => {
    expect(checkDraft(draft, sources)).toMatchObject({
      passed: true,
      failed: [],
      unknownNumbers: [],
    });
  });

  it.each([
    ['another option than the vote chose', { option_id: 'o2' }, 'decision_not_voted'],
    ['a flaw without an answer', { flaw_replies: [] }, 'flaw_unanswered'],
    [
      'a flaw with two answers',
      { flaw_replies: [...draft.flaw_replies, ...draft.flaw_replies] },
      'flaw_unanswered',
    ],
    ['too short an answer', { flaw_replies: [{ flaw_id: 'f1', text: 'No.' }] }, 'flaw_unanswered'],
    [
      'too long an answer',
      { flaw_replies: [{ flaw_id: 'f1', text: 'x'.repeat(401) }] },
      'flaw_unanswered',
    ],
    ['an unknown claim', { dissent: [...draft.dissent, { claim_id: 'c99', text: 'x' }] }, 'schema'],
    [
      'a consensus claim left out',
      { sections: [{ heading: 'Why', blocks: [{ text: 'Yes.', claim_ids: ['c2'] }] }] },
      'consensus_coverage',
    ],
    ['a disagreement left out', { dissent: [] }, 'disagreement_coverage'],
    [
      'a statement without a claim',
      { next_steps: [{ ...draft.next_steps[0]!, claim_ids: [] }] },
      'citations',
    ],
    ['a number from nowhere', { uncertainties: ['About 37% might leave.'] }, 'numbers'],
  ])('the gate of a draft fails %s and names the fault', (_what, change, failed) => {
    const result = checkDraft({ ...draft, ...change }, sources);
    expect(result.passed).toBe(false);
    expect(result.failed).toEqual([failed]);
    expect(result.complaints).toHaveLength(1);
  });

  it('the gate of a draft requires the minority to be covered', () => {
    expect(checkDraft(draft, { ...sources, minorityIds: ['c4'] }).disagreementCoverage).toBe(0.5);
  });

  it('the gate of a draft requires no coverage where there is nothing to cover', () => {
    const bare = checkDraft(draft, { ...sources, consensusIds: [], disagreementIds: [] });
    expect([bare.consensusCoverage, bare.disagreementCoverage]).toEqual([1, 1]);
  });
});

describe('escaped Markdown', () => {
  it.each([
    'https://evil.example',
    '_https://evil.example',
    '1https://evil.example',
    'HTTP://evil.example',
    'https&colon;//evil.example',
    'www.evil.example',
    '_www.evil.example',
    'WWW.evil.example',
    'www&#46;evil.example',
    'me@evil.example',
    'me&#x40;evil.example',
    'mailto:me@evil.example',
    '<https://evil.example>',
    '[x]: https://evil.example',
    '**www.evil.example**',
  ])('escaped text as GitHub shows it has no link of %s', (hostile) => {
    const markdown = `**${escapeMarkdown(`See ${hostile} (${hostile})`)}**\n\n- ${escapeMarkdown(hostile)}`;
    const html = renderToStaticMarkup(
      createElement(Markdown, { remarkPlugins: [remarkGfm] }, markdown),
    );
    expect(html).toContain('<li>');
    expect(html).not.toContain('<a');
  });

  it.each(['Do ~not~ sell.', '~~Do~ not sell.', 'Costs: ~5 now, ~9 later'])(
    'escaped text as GitHub shows it strikes nothing out of %s',
    (text) => {
      const html = renderToStaticMarkup(
        createElement(Markdown, { remarkPlugins: [remarkGfm] }, escapeMarkdown(text)),
      );
      expect(html).toBe(`<p>${text}</p>`);
    },
  );
});
