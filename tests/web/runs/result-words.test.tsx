import { describe, expect, it } from 'vitest';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import {
  changingClaims,
  changingWords,
  minorityVotes,
  restingTitle,
} from '#services/optimizations/reading/words/doubts.ts';
import { summarize } from '#services/optimizations/reading/describe.ts';
import { headingWords, tieBreakNote } from '#services/optimizations/reading/words/result.ts';
import { RunList } from '#web/features/runs/run-list.tsx';
import { inSynthesis } from '#tests/optimizations/run/run-script.ts';
import { storyOf } from '#tests/web/support/run-story.ts';
import { Findings } from '#web/features/result/completed.tsx';
import { runQuery } from '#web/features/runs/queries.ts';
import { wordsOf } from '#tests/web/support/rendered.tsx';
import { resultStories } from '#tests/web/support/result-stories.ts';

type Name = keyof typeof resultStories;

const pageOf = (name: Name): string => {
  const run = resultStories[name].copy();
  return wordsOf(<Findings run={run} />, [[runQuery(run.id).queryKey, run]]);
};

/** The file without its marks and escapes, as one line. */
const fileOf = (name: Name): string =>
  runMarkdown(resultStories[name].copy())
    .replaceAll(/^ *(?:- |\d+\. |> |#+ )/gm, '')
    .replaceAll(/\\(?=[\W_])|\*|\[[ x]\] /g, '')
    .replaceAll(/\s+/g, ' ');

const decision = 'Begin with one fixed offer for one kind of client.';
const single = /so this page shows the answer of [-\w]+ \(\w+\), unchanged\./;
const putTogether =
  'No text about this vote passed its checks, so this page is put together from the votes and the answers.';

/** What the page and the file both say, in this order, and what neither says. */
const said: Record<Name, { says: (string | RegExp)[]; not: (string | RegExp)[] }> = {
  recommended: {
    says: [
      'Recommended by 5 of 7 models',
      decision,
      'They voted for “The option o1”.',
      'Two other models compared the recommendation with the claim that the panel agrees on and found no contradiction.',
      'Objection to a claim behind the recommendation, by anthropic-r2 (R2): On “The claim c2 holds”: Fixed offers lower the margin of a small agency.',
      'Agreement is not correctness.',
      'The answers are in the order that contradicts the fewest comparisons of the reviewers.',
      'Next steps',
      'Write the offer down.',
      'By: November 27, 2026',
      'Measure: A client asks for it.',
      'Stop if: Nobody reads it.',
      'What would change this',
      'openai-s1 (S1) and anthropic-s2 (S2) would change their advice if this is wrong.',
      'Reasons',
      'Consensus points',
      'The claim c1 holds.',
      'Divergences',
      'google-i1 (I1) wrote with its vote: “Fixed offers lower the margin of a small agency.”',
      'Minority report',
      '2 models voted otherwise:',
      '2 for “The option o2”: anthropic-r2 (R2) and google-i1 (I1)',
      'google-i1 (I1) argues: I1 would begin small.',
      "What's uncertain",
    ],
    not: [
      'no option has more than half',
      'call a mistake',
      'side by side',
      'must decide today',
      /It breaks when the largest client leaves.*It breaks when the largest client leaves/,
      '% sure',
    ],
  },
  narrow: {
    says: [
      'Recommended by 3 of 7 models; no option has more than half',
      decision,
      'Minority report',
      '4 models voted otherwise:',
      '2 for “The option o2”: mistral-r1 (R1) and anthropic-r2 (R2)',
      'anthropic-r2 (R2) argues: R2 would begin small.',
      '2 for “The option o3”: google-i1 (I1) and openai-i2 (I2)',
      'google-i1 (I1) argues: The option o3: The fixed offer can be taken back within a month.',
    ],
    not: ['No majority'],
  },
  flawed: {
    says: [
      'Recommended by 7 of 7 models',
      'What two or more models call a mistake',
      'About the answer of openai-s1 (S1)',
      'anthropic-s2 (S2): It breaks when the largest client leaves, as S2 reads it.',
      'mistral-r1 (R1): It breaks when the largest client leaves, as R1 reads it.',
      'The answer: The offer is limited to new clients until the largest has renewed.',
      'Clients stay.',
    ],
    not: ['No answer was written.', 'Objection to', /as R1 reads it.*as R1 reads it/],
  },
  'flawed, unanswered': {
    says: [
      'Best single answer',
      '7 of 7 models voted for “The option o1”.',
      single,
      'What two or more models call a mistake',
      'No answer was written.',
    ],
    not: ['The answer:', 'Not independently checked', 'Next steps'],
  },
  split: {
    says: [
      'No majority',
      '2 options have 3 votes each, so none of them is recommended.',
      'The options side by side',
      'The option o2',
      '3 votes',
      'anthropic-s2 (S2), mistral-r1 (R1) and anthropic-r2 (R2)',
      'Best case for it, by google-i1 (I1)',
      'Objection',
      'No reviewer wrote one.',
      'What would settle it',
      'The option o1',
      'This cannot be decided from what was given',
      '1 vote',
      'If you must decide today',
      decision,
      'The option: The option o2',
      'This is a tie-break: 2 options have 3 votes each, and the order in which the reviewers placed the answers chooses between them.',
      'Next steps',
    ],
    not: ['Recommended by', 'voted for “'],
  },
  'two camps': {
    says: [
      'No majority',
      '4 of 7 models voted for “The option o2”. It is not recommended, because the models form two camps:',
      'One camp is openai-s1 (S1), anthropic-s2 (S2) and anthropic-r2 (R2): 3 votes for “The option o1”.',
      'The other is google-s3 (S3), mistral-r1 (R1), google-i1 (I1) and openai-i2 (I2): 4 votes for “The option o2”.',
      'Two other models compared the text below with',
      'If you must decide today',
      'This is the option with most votes, 4 of 7. It is no recommendation, because one camp prefers another one.',
      'openai-s1 (S1) and anthropic-s2 (S2) would change their advice if this is wrong.',
    ],
    not: ['Recommended by', 'votes each', 'tie-break', 'The reviewers form two camps'],
  },
  'two camps, open': {
    says: [
      'No majority',
      '4 of 7 models voted for “This cannot be decided from what was given”. It is not recommended, because the models form two camps:',
      'If you must decide today',
      '4 of 7 say it cannot be decided; of the others, 3 chose this. It is no recommendation.',
      'Next steps',
    ],
    not: ['tie-break', 'by makers', 'placed the answer', 'With the majority'],
  },
  'split, flawed': {
    says: [
      'No majority',
      'Objection, by anthropic-s2 (S2)',
      'It is under “What two or more models call a mistake”.',
      'What two or more models call a mistake',
      'It breaks when the largest client leaves, as S2 reads it.',
    ],
    not: [/as S2 reads it.*as S2 reads it/, 'Objection to'],
  },
  'split, unwritten': {
    says: ['No majority', single, 'The options side by side', 'If you must decide today'],
    not: [decision, 'Next steps'],
  },
  rejected: {
    says: [
      'Recommended by 7 of 7 models',
      'How much longer answers ranked higher (τ).',
      'Consensus points',
      'The claim c1 holds.',
      'Rejected claims',
      'The claim c2 holds.',
      '6 of 7 models disagree, 1 agrees.',
      'wrote with its vote: “Fixed offers lower the margin of a small agency.”',
      'Divergences',
      "The models didn't split on anything.",
    ],
    not: ['You said this is different', 'from before Refinement'],
  },
  undecidable: {
    says: [
      'Cannot be decided from what was given',
      '5 of 7 models say so.',
      'What the models would need to know',
      'The number of leads.',
      decision,
      'Next steps',
      'Consensus points',
      'The claim c1 holds.',
    ],
    not: ['Objection', 'Recommended by', 'Clear winner', 'Also agreed'],
  },
  'undecidable, unwritten': {
    says: [
      'Cannot be decided from what was given',
      '5 of 7 models say so.',
      putTogether,
      'What the models would need to know',
      'The number of leads.',
    ],
    not: [decision, 'Next steps'],
  },
  'best single answer': {
    says: ['Best single answer', 'R1 would begin small.', '5 of 7 models voted for', single],
    not: ['Recommended by', 'Not independently checked'],
  },
  firm: {
    says: [
      'Recommended by 6 of 7 models',
      'Divergences',
      'The claim c1 holds.',
      'Disputed although one side is small: anthropic-r2 (R2) is 85% sure.',
      '1 model voted otherwise:',
    ],
    not: [],
  },
  'proposed by no answer': {
    says: [
      'The option with most votes',
      'The option o3',
      '7 of 7 models voted for it.',
      putTogether,
      'Why they voted for it',
      'openai-s1 (S1): The fixed offer can be taken back within a month.',
    ],
    // No answer argues for it, so none may speak for it.
    not: ['Best single answer', 'shows the answer of', 'Next steps', 'Minority report'],
  },
  'no ledger': {
    says: [
      'Best single answer',
      "The claims couldn't be merged, so this page shows the answer of",
      'No score',
    ],
    not: ['No score: too few models answered', 'Recommended by'],
  },
  released: {
    says: ['Recommended by 6 of 6 models', decision, 'Next steps', 'Write the offer down.'],
    not: ['By:', 'Measure:', 'Stop if:', 'must decide today', 'Objection'],
  },
};

describe.each([
  ['page', pageOf],
  ['file', fileOf],
])('the %s of a result', (_where, wordsIn) => {
  it.each(Object.keys(said) as Name[])('says what was voted and why: %s', (name) => {
    const words = wordsIn(name);
    let rest = words;
    for (const sentence of said[name].says) {
      const found = rest.match(typeof sentence === 'string' ? literal(sentence) : sentence);
      expect(found, `${String(sentence)} in ${rest}`).not.toBeNull();
      rest = rest.slice((found?.index ?? 0) + 1);
    }
    // A result speaks of its own run alone.
    const own = words.slice(0, words.indexOf('How this was reached') >>> 0);
    for (const sentence of said[name].not) expect(own).not.toMatch(sentence);
    expect(words).not.toMatch(/undefined|null|NaN|calibrated/);
  });
});

function literal(sentence: string): RegExp {
  return new RegExp(RegExp.escape(sentence));
}

it('a list says of each result what its page says', () => {
  for (const [name, story] of Object.entries(resultStories)) {
    const { result, outcome } = story.copy();
    // Which option a draft of v0.1 chose is in no list.
    const words = name === 'released' ? 'Recommended (votes on its page)' : headingWords(result!);
    expect([name, outcome]).toEqual([name, words]);
    const run = {
      ...story.copy(),
      refinements: 0,
      newest_outcome: null,
      running_refinement_id: null,
    };
    expect(wordsOf(<RunList runs={[run]} />, [])).toContain(`Completed ${words}`);
  }
  expect(summarize(storyOf(inSynthesis()).view()).outcome).toBeNull();
});

it.each([
  [
    'o1',
    [4, 3, 0],
    [],
    'no option is alone in first place both by models and by makers. Of the options that lead by models or by makers, the reviewers placed the answer of this one first.',
  ],
  [
    'o2',
    [2, 2, 3],
    ['S1'],
    '3 of 7 say it cannot be decided; of the others, 2 chose this. It is no recommendation. Of the options that lead in a camp, the reviewers placed the answer of this one first.',
  ],
  [
    'o1',
    [3, 1, 3],
    [],
    '3 of 7 say it cannot be decided; of the others, 3 chose this. It is no recommendation.',
  ],
] as const)(
  'the note of a tie-break for %s with %j votes gives its reason',
  (chosen, votes, camp, note) => {
    const { council, result } = resultStories.split.copy();
    const options = ['o1', 'o2', 'undecidable'].map((id, index) => ({
      ...result!.options[0]!,
      option_id: id,
      voters: Array.from({ length: votes[index]! }, (_, seat) => `${id}.${seat}`),
    }));
    const verdict = { ...council.scores!.verdict!, camps: camp.map((seat) => [seat]) };
    const view = { ...council, scores: { ...council.scores!, verdict } } as typeof council;
    const words = tieBreakNote(view, { ...result!, options, tie_break: chosen, votes_total: 7 });
    expect(words.slice(-note.length)).toBe(note);
  },
);

it('a minority report leaves out the words that a divergence quotes', () => {
  const { models, evolution } = resultStories.recommended.copy();
  const { minority_report: report, disagreement_areas: areas } = evolution.bias!;
  const argued = (text: string) => {
    const votes = report!.votes.map((vote) => ({ ...vote, argument: { seat: 'I1', text } }));
    return minorityVotes(models, { ...report!, votes }, areas)[0]?.argument;
  };
  expect(argued('I1 would begin small.')).toBe('google-i1 (I1) argues: I1 would begin small.');
  const quote = areas.flatMap(({ sides }) => sides.flatMap((side) => side.quote?.text ?? []))[0]!;
  expect(argued(quote)).toBe('Their case is quoted with the divergences.');
});

it('a claim rests under the recommendation only where voters for it would change their advice', () => {
  const { council } = resultStories.recommended.copy();
  const { flips } = council.ledger!.claims['c1']!;
  const titleWith = (seats: readonly string[]) => {
    const claims = { c1: { ...council.ledger!.claims['c1']!, flips: seats } };
    const view = { ...council, ledger: { ...council.ledger!, claims } };
    return [
      restingTitle(view, 'c1'),
      ...changingClaims(view).map((each) => changingWords(view.seats, each)),
    ];
  };
  expect(flips).toEqual(['S1', 'S2']);
  expect(titleWith(['R2', 'I1', 'S1'])).toEqual([
    'The recommendation rests on this:',
    'openai-s1 (S1) would change its advice if this is wrong. So would anthropic-r2 (R2) and google-i1 (I1), which voted otherwise.',
  ]);
  expect(titleWith(['R2', 'I1'])).toEqual([
    'Models that voted otherwise rest on this:',
    'anthropic-r2 (R2) and google-i1 (I1) voted otherwise, and would change their advice if this is wrong.',
  ]);
});
