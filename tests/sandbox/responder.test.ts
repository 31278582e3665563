import { describe, expect, it } from 'vitest';
import { findsInjection } from '#services/optimizations/prompts/scrub.ts';
import { draftTexts } from '#services/optimizations/prompts/draft.ts';
import { opinionPrompt } from '#services/optimizations/prompts/prompts.ts';
import { understand } from '#services/sandbox/models/responder/question.ts';
import { respond } from '#services/sandbox/models/responder/respond.ts';
import { balancedPanel, challenge, questions, simulate } from './simulated-run.ts';
import type { Panel, SimulatedRun } from './simulated-run.ts';

const nothingElse = { context: '', objectives: [], constraints: [] };

const runs = questions.map((asked) => simulate(asked));
const named = questions.map((asked, index): [string, SimulatedRun] => [
  asked.challenge,
  runs[index] ?? simulate(asked),
]);

describe('a simulated run', () => {
  it.each(named)('a simulated run passes all our checks at every stage: %s', (_question, run) => {
    expect(run.ledger.rejectedQuotes).toBe(0);
    expect(run.ledger.unplaced).toEqual([]);
    expect(run.ledger.claims.length).toBeGreaterThanOrEqual(12);
    expect(run.checks.failed).toEqual([]);
    expect(run.contradicts).toBe(false);
    expect(run.reviews.map((review) => review.scoresContradict)).not.toContain(true);
  });

  it('a simulated run merges what several seats say into one claim', () => {
    for (const run of runs)
      expect(run.ledger.claims.filter(({ authors }) => authors.length >= 2).length).toBeGreaterThan(
        6,
      );
  });

  it.each(named)(
    'a simulated run says no sentence twice in its seven answers: %s',
    (_question, run) => {
      const sentences = run.opinions.flatMap((opinion) => [
        opinion.recommendation.one_line,
        ...opinion.reasoning.flatMap(sentencesOf),
        ...opinion.claims.map(({ text }) => text),
        ...opinion.assumptions,
        ...opinion.risks.flatMap(sentencesOf),
      ]);
      expect(sentences.filter((each, at) => sentences.indexOf(each) !== at)).toEqual([]);
    },
  );

  it('a simulated run uses the words of the question in every answer', () => {
    const run = simulate(challenge('Should I breed alpacas or plant saffron on my farm?'));
    for (const text of run.texts) expect(text).toMatch(/alpaca|saffron/);
  });

  it('a simulated run leaves no slot of a wording unfilled and no verb unmarked', () => {
    for (const run of runs)
      for (const text of [
        ...run.texts,
        ...draftTexts(run.draft),
        ...run.reviews.map((r) => r.critique),
      ])
        expect(text).not.toMatch(/[{}]|undefined|\[\w+\]|[ ]{2}|\.\./);
  });

  it('a simulated run covers every contested claim with both sides and something that would settle it', () => {
    const contested = runs.filter((run) => run.contestedIds.length > 0);
    expect(contested.length).toBeGreaterThan(10);
    for (const run of contested)
      expect(run.draft.dissent.map((entry) => entry.claim_id).toSorted()).toEqual(
        run.contestedIds.toSorted(),
      );
  });

  it('a simulated run writes answers that the checks do not mistake for attempts to instruct reviewers', () => {
    for (const run of runs) for (const text of run.texts) expect(findsInjection(text)).toBe(false);
  });

  it('a simulated run respects what the person ruled out when it proposes options of its own', () => {
    const labels = simulate(
      challenge('How do I sell more of my candles?', {
        type: 'marketing',
        constraints: ['No paid advertising'],
      }),
    ).ledger.options.map(({ text }) => text);
    expect(labels.join(' ')).not.toMatch(/campaign|advert/i);
  });
});

describe('different questions', () => {
  it('different questions are answered in different words: of their five-word runs two share under 7 % on average', () => {
    const grams = runs.map((run) =>
      fiveWordRuns([...run.texts, ...draftTexts(run.draft)].join('\n')),
    );
    const shares = grams.flatMap((one, index) =>
      grams.slice(index + 1).map((other) => sharedShare(one, other)),
    );
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    expect(mean).toBeLessThan(0.07);
    expect(Math.max(...shares)).toBeLessThan(0.25);
  });

  it('different questions get different recommendations', () => {
    expect(new Set(runs.map((run) => run.draft.decision)).size).toBe(questions.length);
  });
});

describe('the options that a question names', () => {
  const optionsOf = (text: string) =>
    understand({ challenge: text, type: 'business_strategy', ...nothingElse }).options.map(
      ({ act, thing }) => [act, thing],
    );

  it('the options that a question names do not end where an aside in brackets begins', () => {
    expect(
      optionsOf(
        'Should I turn my practice (12 clients at $900) into a fixed-price package, or keep billing hourly?',
      ),
    ).toEqual([
      ['turn your practice into a fixed-price package', 'the fixed-price package'],
      ['keep billing hourly', 'billing hourly'],
    ]);
  });

  it('the options that a question names are about a whole thing', () => {
    expect(
      optionsOf('Should we hire a first salesperson now, or keep selling on our own?')[0],
    ).toEqual(['hire a first salesperson', 'the first salesperson']);
  });
});

describe('known seeds', () => {
  const asked = questions[1] ?? challenge('');

  it.each([
    ['agree:7-0:x', [7]],
    ['agree:6-1:x', [6, 1]],
    ['agree:5-2:x', [5, 2]],
    ['agree:4-3:x', [4, 3]],
    ['agree:4-2-1:x', [4, 2, 1]],
  ])('the seed %s splits every vote of a panel of seven as %j', (seed, sizes) => {
    const run = simulate(asked, { seed });
    const votes = run.ledger.options.map(
      ({ id }) => run.reviews.filter((review) => review.decision.optionId === id).length,
    );
    expect(votes.toSorted((one, other) => other - one)).toEqual(sizes);
    const minority = 7 - (sizes[0] ?? 0);
    const dissenters = new Set(run.claims.map((claim) => Math.min(claim.agree, claim.disagree)));
    expect(run.claims.every((claim) => claim.unsure === 0)).toBe(true);
    expect([...dissenters].every((count) => sizes.includes(count) || count === minority)).toBe(
      true,
    );
    expect(run.checks.failed).toEqual([]);
  });

  it.each([
    ['agree:7-0:x', 100, 'strong'],
    ['agree:6-1:x', 68, 'majority'],
    ['agree:5-2:x', 40, 'contested'],
    ['agree:4-3:x', 16, 'split'],
  ])('the seed %s leads to an agreement score of %i, which reads %s', (seed, score, band) => {
    const { agreement } = simulate(asked, { seed }).scores;
    expect([agreement.score, agreement.band]).toEqual([score, band]);
  });

  it('known seeds make a unanimous council rank alike', () => {
    const { rankings } = simulate(asked, { seed: 'agree:7-0:x' });
    for (const [one, first] of Object.entries(rankings))
      for (const [other, second] of Object.entries(rankings))
        expect(without(first, one, other)).toEqual(without(second, one, other));
  });

  it('known seeds make the minority rank the other way round, so that two camps show', () => {
    const { scores } = simulate(asked, { seed: 'agree:4-3:x' });
    expect(scores.agreement.rank).toBe(0);
    expect(scores.twoCamps).toBe(true);
  });

  it('known seeds hold for every panel of seven that the strategies seat', () => {
    for (const models of sevens) {
      const panel: Panel = balancedPanel.map((seat, index) => ({
        ...seat,
        model: models[index] ?? '',
      }));
      const run = simulate(asked, { seed: 'agree:5-2:x', panel });
      const votes = run.ledger.options.map(
        ({ id }) => run.reviews.filter((review) => review.decision.optionId === id).length,
      );
      expect(votes.toSorted((one, other) => other - one)).toEqual([5, 2]);
    }
  });
});

describe('the same call', () => {
  it('the same call gets the same answer, and another seed another one', () => {
    const asked = questions[0] ?? challenge('');
    expect(simulate(asked)).toEqual(simulate(asked));
    expect(simulate(asked).texts).not.toEqual(simulate(asked, { seed: 'other' }).texts);
  });

  it('the same call is answered alike under other labels and another order', () => {
    const asked = questions[2] ?? challenge('');
    const one = simulate(asked, { labelSeed: 'one' });
    const other = simulate(asked, { labelSeed: 'other' });
    expect(other.claims).toEqual(one.claims);
    expect(other.draft).toEqual(one.draft);
    expect(other.reviews.map((review) => review.votes)).toEqual(
      one.reviews.map((review) => review.votes),
    );
  });
});

describe('a call from elsewhere', () => {
  it('a call without a schema is answered in prose about its question', () => {
    const { text, thinkingTokens } = respond({
      provider: 'openai',
      model: 'unheard-of',
      system: '',
      prompt: 'Should I lease a tractor or buy one?',
      schemaName: null,
      seed: 's',
    });
    expect(text).toMatch(/tractor/);
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(thinkingTokens).toBeGreaterThan(0);
  });

  it('a call is answered whatever the question looks like', () => {
    for (const text of [
      '',
      '?',
      'x',
      'おすすめは？',
      'A'.repeat(4000),
      'should should or or ?? $$$ 12 %',
    ])
      for (const type of ['business_strategy', 'unknown'] as const) {
        const asked = { ...challenge(text), type: type === 'unknown' ? ('other' as const) : type };
        const { system, prompt } = opinionPrompt(asked, 'risk', { delimiter: 'abcdef0123456789' });
        const reply = respond({
          provider: 'x',
          model: 'y',
          system,
          prompt,
          schemaName: 'opinion',
          seed: 's',
        });
        expect(() => JSON.parse(reply.text) as unknown).not.toThrow();
      }
  });
});

const sevens = [
  [
    'gpt-6-luna',
    'gemini-3.5-flash-lite',
    'claude-haiku-5-5',
    'mistral-small-2603',
    'gpt-5.6-luna',
    'gemini-3.1-flash-lite',
    'ministral-8b-2512',
  ],
  [
    'gpt-6.1-terra',
    'gemini-3.8-flash',
    'claude-haiku-5-5',
    'mistral-large-2512',
    'gpt-6-luna',
    'gemini-3.5-flash-lite',
    'mistral-small-2603',
  ],
  [
    'gpt-6.1-sol',
    'gemini-4-carbon',
    'claude-opus-5-5',
    'mistral-large-4',
    'claude-sonnet-5-5',
    'gpt-6.1-terra',
    'gemini-4-hydrogen',
  ],
  [
    'gpt-6.1-sol',
    'claude-opus-5-5',
    'gemini-4-argon',
    'mistral-large-4',
    'claude-sonnet-5-5',
    'gpt-6.1-terra',
    'gemini-4-hydrogen',
  ],
  [
    'gpt-6.1-terra',
    'mistral-medium-2604',
    'claude-haiku-5-5',
    'gemini-3.5-flash-lite',
    'gpt-6-luna',
    'gemini-3.8-flash',
    'mistral-small-2603',
  ],
];

function without(ranking: readonly (readonly string[])[], ...seats: string[]): string[] {
  return ranking.flat().filter((seat) => !seats.includes(seat));
}

function sentencesOf(text: string): string[] {
  return (text.match(/[^.!?]+[.!?]/g) ?? [text]).map((each) => each.trim());
}

function fiveWordRuns(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}’'$€%-]+/gu) ?? [];
  return new Set(words.slice(4).map((_word, at) => words.slice(at, at + 5).join(' ')));
}

function sharedShare(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const shared = [...one].filter((gram) => other.has(gram)).length;
  return shared / (one.size + other.size - shared);
}
