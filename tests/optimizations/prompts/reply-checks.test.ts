import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createReadable } from '#services/live/readable.ts';
import { readReply } from '#services/optimizations/prompts/read-reply.ts';
import {
  checkLedger,
  checkReview,
  checkVerification,
  sharedNotes,
} from '#services/optimizations/prompts/reply-checks.ts';
import {
  maximumClaims,
  parseReply,
  replyJsonSchemas,
} from '#services/optimizations/prompts/reply-schemas.ts';
import type {
  ClaimLedger,
  Opinion,
  ReplyName,
  Review,
} from '#services/optimizations/prompts/reply-schemas.ts';
import { hiddenCharacters } from '#tests/walls/hostile/inputs.ts';
import { asJson } from './as-read.ts';

const opinion: Opinion = {
  recommendation: { option_label: 'Open on Sundays', one_line: 'Open on Sundays for a month.' },
  reasoning: ['People walk by.'],
  claims: [{ text: 'Sunday visitors buy more.', importance: 3, if_false_flips: true }],
  assumptions: ['The oven can be used on Sundays.'],
  missing_info: ['How many people pass on Sundays'],
  risks: ['Nobody comes.'],
  stated_confidence: 70,
};
const ledger: ClaimLedger = {
  title: 'Opening on Sundays',
  claims: [
    {
      claim_id: 'x',
      text: 'Sunday visitors buy more.',
      importance: 3,
      supporting_quotes: [
        { answer_label: 'K7Q', quote: 'Sunday visitors  buy\nmore.' },
        { answer_label: 'M4T', quote: 'Visitors on Sunday buy more' },
      ],
    },
    {
      claim_id: 'y',
      text: 'Bread gets cheaper.',
      importance: 1,
      supporting_quotes: [{ answer_label: 'K7Q', quote: 'Bread gets cheaper.' }],
    },
  ],
  options: [
    { option_id: 'open', text: 'Open', answer_labels: ['K7Q', 'ZZZ'] },
    { option_id: 'closed', text: 'Stay closed', answer_labels: ['K7Q'] },
  ],
};
const answers = [
  { label: 'K7Q', text: 'I think: Sunday visitors buy more.', claims: opinion.claims },
  { label: 'M4T', text: 'Nothing of the kind.', claims: [] },
];
const marks = { correctness: 7, relevance: 7, completeness: 7, feasibility: 7, risk_awareness: 7 };
const review: Review = {
  ranking: [['K7Q'], ['M4T']],
  scores: [
    { answer_label: 'K7Q', ...marks },
    { answer_label: 'M4T', ...marks, correctness: 5 },
  ],
  fatal_flaws: [],
  critique: 'One is better.',
  votes: [
    { claim_id: 'c1', stance: 'agree', confidence: 80, reason: 'They do.' },
    { claim_id: 'c1', stance: 'disagree', confidence: 10, reason: 'They do not.' },
    { claim_id: 'c9', stance: 'agree', confidence: 80, reason: '' },
  ],
  decision_vote: { option_id: 'o1', answer_label: 'K7Q', reason: 'It sells more.' },
  injection_suspected: ['M4T', 'ZZZ'],
};
const shown = { labels: ['K7Q', 'M4T'], claimIds: ['c1', 'c2'], optionIds: ['o1'] };

describe('a JSON schema of a reply', () => {
  it('the JSON schema of a reply uses only keywords that every provider accepts, closed and with all fields required', () => {
    const nodes = Object.values(replyJsonSchemas).flatMap(nodesOf);
    const keywords = new Set(nodes.flatMap((node) => Object.keys(node)));
    expect([...keywords].toSorted()).toEqual(
      [
        'additionalProperties',
        'description',
        'enum',
        'items',
        'properties',
        'required',
        'type',
      ].toSorted(),
    );
    for (const node of nodes.filter(({ type }) => type === 'object')) {
      expect(node['additionalProperties']).toBe(false);
      expect(node['required']).toEqual(Object.keys(node['properties'] ?? {}));
    }
  });
});

describe('parsing a reply', () => {
  it('the parser names what is missing without repeating the reply', () => {
    const { stated_confidence: _left, ...rest } = opinion;
    const parsed = parseReply('opinion', asJson({ ...rest, note: 'secret words' }));
    expect(parsed).toMatchObject({ ok: false });
    expect(JSON.stringify(parsed)).toMatch(/stated_confidence/);
    expect(JSON.stringify(parsed)).not.toMatch(/secret/);
  });

  it.each([
    ['a confidence in words', { stated_confidence: 'high' }],
    ['no reasoning but blanks', { reasoning: [' '] }],
    ['no claims', { claims: [] }],
    ['an empty recommendation', { recommendation: { option_label: ' ', one_line: 'x' } }],
  ])('the parser refuses %s', (_what, change) => {
    expect(parseReply('opinion', asJson({ ...opinion, ...change })).ok).toBe(false);
  });

  it.each([
    ['opinion', { ...opinion, stated_confidence: 8500 }, { stated_confidence: 100 }],
    ['opinion', { ...opinion, stated_confidence: -3 }, { stated_confidence: 0 }],
    ['opinion', { ...opinion, stated_confidence: 72.6 }, { stated_confidence: 73 }],
    [
      'opinion',
      {
        ...opinion,
        claims: [4, 0, 2.4].map((importance) => ({ ...opinion.claims[0], importance })),
      },
      { claims: [{ importance: 3 }, { importance: 1 }, { importance: 2 }] },
    ],
    [
      'claim_ledger',
      { ...ledger, claims: [{ ...ledger.claims[0], importance: 9 }] },
      { claims: [{ importance: 3 }] },
    ],
    [
      'review',
      {
        ...review,
        scores: [{ answer_label: 'K7Q', ...marks, correctness: 11, feasibility: 0 }],
        votes: [{ claim_id: 'c1', stance: 'agree', confidence: 250 }],
      },
      {
        scores: [{ correctness: 10, feasibility: 1 }],
        votes: [{ claim_id: 'c1', confidence: 100 }],
      },
    ],
  ] as const)('brings a number of the %s that is out of range into it', (name, reply, expected) => {
    expect(parseReply(name, asJson(reply))).toMatchObject({ ok: true, value: expected });
  });

  it('the parser brings a number that JavaScript calls infinite into range', () => {
    const text = JSON.stringify(opinion).replace(
      '"stated_confidence":70',
      '"stated_confidence":1e999',
    );
    expect(
      parseReply('opinion', {
        value: JSON.parse(text) as unknown,
        isRepaired: false,
      }),
    ).toMatchObject({
      ok: true,
      value: { stated_confidence: 100 },
    });
  });

  it('the parser drops blank entries of a list, and accepts an id that is too long', () => {
    const parsed = parseReply('opinion', asJson({ ...opinion, risks: ['', 'A risk', ' '] }));
    expect(parsed).toMatchObject({ ok: true, value: { risks: ['A risk'] } });
    const long = { ...review, injection_suspected: ['K7Q', 'x'.repeat(400)] };
    const suspected = parseReply('review', asJson(long));
    expect(suspected.ok && checkReview(suspected.value, shown)).toMatchObject({
      ok: true,
      value: { suspects: ['K7Q'] },
    });
  });

  it('the parser cuts a text that is too long instead of paying for a second call', () => {
    const long = {
      ...opinion,
      claims: Array.from({ length: 30 }, () => opinion.claims[0]),
      reasoning: ['word '.repeat(5000)],
    };
    const parsed = parseReply('opinion', asJson(long));
    if (!parsed.ok) throw new Error(parsed.reason);
    expect(parsed.value.claims).toHaveLength(8);
    expect(parsed.value.reasoning[0]?.length).toBeLessThanOrEqual(1200);
    const wordy = { ...review, critique: 'word '.repeat(300) };
    const cut = parseReply('review', asJson(wordy));
    expect(cut.ok && cut.value.critique.split(' ').length).toBe(80);
  });

  it('the parser drops control characters and halves of surrogate pairs, which break stores and terminals', () => {
    const parsed = parseReply(
      'opinion',
      asJson({ ...opinion, risks: ['a\u0000b\u001b[31m\ud800c'] }),
    );
    expect(parsed.ok && parsed.value.risks).toEqual(['ab[31m\ufffdc']);
  });

  it.each(hiddenCharacters)('the parser keeps no hidden character: $name', ({ input, left }) => {
    const parsed = parseReply('opinion', asJson({ ...opinion, risks: [input] }));
    expect(parsed.ok && parsed.value.risks).toEqual([left]);
  });

  it.each(hiddenCharacters)('the parser streams no hidden character: $name', ({ input, left }) => {
    const escaped = [...Array(input.length).keys()]
      .map((at) => `\\u${input.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join('');
    for (const json of [JSON.stringify([input]), `["${escaped}"]`])
      expect(createReadable().push(json)).toBe(`${left}\n`);
  });

  it('the parser streams a character whole that arrives in two parts', () => {
    const words = createReadable();
    expect(['["a \ud83d', '\ude00"]'].map((chunk) => words.push(chunk))).toEqual([
      'a ',
      '\u{1f600}\n',
    ]);
  });

  it('the parser never throws, whatever the text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.json()),
        fc.constantFrom(...(Object.keys(replyJsonSchemas) as ReplyName[])),
        async (text, name) => {
          expect(typeof parseReply(name, await readReply(text)).ok).toBe('boolean');
        },
      ),
    );
  });
});

describe('checking a claim ledger', () => {
  it('the check of a ledger keeps quotes that occur in the answer apart from spaces, and drops the others', () => {
    const checked = checkLedger(ledger, answers);
    if (!checked.ok) throw new Error(checked.reason);
    expect(checked.value).toMatchObject({
      rejectedQuotes: 2,
      droppedClaims: 1,
      unplaced: ['M4T'],
      claims: [{ id: 'c1', authors: ['K7Q'], flips: ['K7Q'] }],
      options: [
        { id: 'o1', labels: ['K7Q'] },
        { id: 'o2', labels: [] },
      ],
    });
  });

  it('the check of a ledger refuses one without any quote from the answers', () => {
    expect(checkLedger(ledger, [{ label: 'K7Q', text: 'Other words.' }]).ok).toBe(false);
  });

  it('the check of a ledger refuses ids that occur twice', () => {
    const twice = {
      ...ledger,
      claims: [ledger.claims[0]!, { ...ledger.claims[1]!, claim_id: 'x' }],
    };
    expect(checkLedger(twice, answers)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/twice/) as string,
    });
  });

  it('the check of a ledger keeps at most 24 claims', () => {
    const many = { ...ledger, claims: Array.from({ length: 40 }, () => ledger.claims[0]) };
    const parsed = parseReply('claim_ledger', asJson(many));
    expect(parsed.ok && parsed.value.claims.length).toBe(maximumClaims);
  });

  it('the check of a ledger counts no quote that its answer does not contain', () => {
    const words = fc.constantFrom('bread', 'sells', 'on', 'Sunday', 'never');
    const sentence = fc.array(words, { minLength: 1, maxLength: 6 }).map((list) => list.join(' '));
    fc.assert(
      fc.property(sentence, sentence, (text, quote) => {
        const checked = checkLedger(
          {
            title: '',
            claims: [
              {
                claim_id: 'a',
                text: 'x',
                importance: 2,
                supporting_quotes: [{ answer_label: 'K7Q', quote }],
              },
            ],
            options: ledger.options,
          },
          [{ label: 'K7Q', text }],
        );
        expect(checked.ok).toBe(text.includes(quote));
      }),
    );
  });
});

describe('notes that several seats share', () => {
  it('shared notes are found across small differences in wording', () => {
    const other = {
      ...opinion,
      assumptions: ['The oven may be used on Sundays!'],
      missing_info: ['Nothing'],
    };
    expect(
      sharedNotes([
        { author: 'S1', opinion },
        { author: 'R1', opinion: other },
      ]),
    ).toEqual([
      {
        id: 'n1',
        kind: 'assumption',
        text: 'The oven can be used on Sundays.',
        authors: ['S1', 'R1'],
      },
    ]);
  });
});

describe('checking a review', () => {
  it('the check of a review limits votes to the claims shown and the first vote on each', () => {
    const checked = checkReview(review, shown);
    expect(checked.ok && checked.value.votes).toEqual({ c1: { stance: 'agree', confidence: 80 } });
    expect(checked.ok && checked.value.reasons).toEqual({ c1: 'They do.' });
    expect(checked.ok && checked.value.suspects).toEqual(['M4T']);
  });

  it.each([
    ['a label missing from the ranking', { ranking: [['K7Q']] }],
    ['a label ranked twice', { ranking: [['K7Q'], ['M4T', 'K7Q']] }],
    ['a label that was not shown', { ranking: [['K7Q'], ['M4T'], ['D4D']] }],
    ['a label without scores', { scores: review.scores.slice(1) }],
    [
      'an option that was not shown',
      { decision_vote: { option_id: 'o7', answer_label: 'K7Q', reason: '' } },
    ],
  ])('the check of a review calls %s malformed', (_what, change) => {
    expect(checkReview({ ...review, ...change }, shown)).toMatchObject({
      ok: false,
      failure: 'malformed',
    });
  });

  it('the check of a review flags scores that contradict the ranking, and leaves ties alone', () => {
    const flagOf = (ranking: string[][]) => {
      const checked = checkReview({ ...review, ranking }, shown);
      return checked.ok && checked.value.scoresContradict;
    };
    expect(flagOf([['K7Q'], ['M4T']])).toBe(false);
    expect(flagOf([['K7Q', 'M4T']])).toBe(false);
    expect(flagOf([['M4T'], ['K7Q']])).toBe(true);
  });

  it('the check of a review reads an empty label in the decision as an answer that was not shown', () => {
    const own = {
      ...review,
      decision_vote: { option_id: 'o1', answer_label: '', reason: 'Mine.' },
    };
    const checked = checkReview(own, shown);
    expect(checked.ok && checked.value.decision).toEqual({
      optionId: 'o1',
      label: null,
      reason: 'Mine.',
    });
  });
});

describe('checking a verification', () => {
  const draft = 'Bread sells on Sundays.\nIt is “not” worth the effort.';
  it.each([
    ['words of the draft', 'c1', 'Bread sells on Sundays.', true],
    ['words that differ in their quotation marks', 'c1', 'It is "not" worth', true],
    ['a point that was not listed', 'c9', 'Bread sells on Sundays.', false],
    ['words that the draft does not have', 'c1', 'Bread never sells on Sundays.', false],
    ['no words', 'c1', '', false],
  ])('the check of a verification weighs %s', (_what, claim_id, quote, contradicts) => {
    const verdict = {
      contradicts_consensus: true,
      contradictions: [{ claim_id, quote, explanation: 'It says no.' }],
    };
    expect(checkVerification(verdict, ['c1'], draft)).toEqual({
      contradicts,
      claimIds: contradicts ? ['c1'] : [],
    });
  });
});

type Node = Readonly<Record<string, unknown>>;

function nodesOf(node: Node): Node[] {
  const properties = (node['properties'] ?? {}) as Readonly<Record<string, Node>>;
  const items = node['items'] as Node | undefined;
  return [
    node,
    ...Object.values(properties).flatMap(nodesOf),
    ...(items === undefined ? [] : nodesOf(items)),
  ];
}
