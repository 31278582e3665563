// cspell:ignoreRegExp /'[abcu]{7}'/g
import { describe, expect, test } from 'vitest';
import { flawsOf, verdictOf } from '#services/optimizations/council/verdict.ts';
import type { Election } from '#services/optimizations/council/verdict.ts';
import type { Ballot } from '#services/optimizations/run/events.ts';

const seats = ['S1', 'S2', 'S3', 'R1', 'R2', 'I1', 'I2'];

/** Seats in panel order vote as the letters say: a for o1, b for o2, c for o3, u that it is undecidable. */
function election(
  letters: string,
  {
    weights = {},
    flaws = {},
    ...parts
  }: Partial<Omit<Election, 'weights'>> & {
    weights?: Record<string, number>;
    /** Reviewer → the answers in which it sees a fatal flaw. */
    flaws?: Record<string, readonly string[]>;
  } = {},
): Election {
  const ids: Record<string, string> = { a: 'o1', b: 'o2', c: 'o3', u: 'undecidable' };
  const votes = letters.split('').map((letter, at) => ({ seat: seats[at]!, option: ids[letter]! }));
  const weightOf = (seat: string) => weights[seat] ?? 1;
  const camps = Object.values(ids).flatMap((choice) => {
    const own = votes.filter(({ option }) => option === choice).map(({ seat }) => seat);
    const weight = own.reduce((sum, seat) => sum + weightOf(seat), 0);
    return own.length === 0 ? [] : [{ choice, seats: own, weight }];
  });
  const total = camps.reduce((sum, { weight }) => sum + weight, 0);
  const sorted = camps.toSorted((one, other) => other.weight - one.weight);
  return {
    decision: {
      camps: sorted,
      votes: votes.length,
      share: (sorted[0]?.weight ?? 0) / total,
      agreement: null,
      tied: false,
    },
    weights: Object.fromEntries(seats.map((seat) => [seat, weightOf(seat)])),
    reviews: votes.map(({ seat, option }) => ({
      reviewer: seat,
      ballot: {
        ...emptyBallot,
        decision: { optionId: option, seat: null },
        fatalFlaws: Object.fromEntries((flaws[seat] ?? []).map((answer) => [answer, 1])),
      },
    })),
    options: [
      { id: 'o1', seats: ['S1', 'S2', 'S3'] },
      { id: 'o2', seats: ['R1', 'R2'] },
      { id: 'o3', seats: ['I1', 'I2'] },
      { id: 'undecidable', seats: [] },
    ],
    order: ['R1', 'S2', 'I1', 'S1', 'S3', 'R2', 'I2'],
    camps: [],
    scored: true,
    ...parts,
  };
}

const emptyBallot: Ballot = {
  ranking: [],
  scores: {},
  votes: {},
  decision: { optionId: '', seat: null },
  suspects: [],
  scoresContradict: false,
  fatalFlaws: {},
};
const opposed = [
  [
    ['S1', 'S2', 'S3', 'R1'],
    ['R2', 'I1', 'I2'],
  ],
] as const;

describe('the verdict of a vote', () => {
  test.each<[string, Election, string, string | null, string | null]>([
    ['all for one option', election('aaaaaaa'), 'recommendation', 'o1', null],
    ['five of seven', election('aaaaabb'), 'recommendation', 'o1', null],
    ['four to three', election('aaaabbb'), 'recommendation', 'o1', null],
    ['most, though not half', election('aaabbcc'), 'recommendation', 'o1', null],
    ['as many heads for each of two', election('aaabbbc'), 'no_majority', null, 'o2'],
    [
      'first by heads, another by the weight of makers',
      election('aaaabbb', { weights: { S1: 0.4, S2: 0.4, S3: 0.4, R1: 0.4 } }),
      'no_majority',
      null,
      'o2',
    ],
    [
      'first by heads, tied by weight',
      election('aaaabbb', { weights: { S1: 0.75, S2: 0.75, S3: 0.75, R1: 0.75 } }),
      'no_majority',
      null,
      'o2',
    ],
    [
      'two camps of reviewers that want different options',
      election('aaaabbb', { camps: opposed }),
      'no_majority',
      null,
      'o1',
    ],
    [
      'two camps of reviewers that want the same',
      election('aabaaba', { camps: opposed }),
      'recommendation',
      'o1',
      null,
    ],
    [
      'two camps of reviewers, one of them split over three options',
      election('aaaabca', { camps: opposed }),
      'recommendation',
      'o1',
      null,
    ],
    [
      'two camps of reviewers that want the same, one of them by heads and not by weight',
      election('aaabaaa', { weights: { S1: 0.3, S2: 0.3, S3: 0.3 }, camps: opposed }),
      'recommendation',
      'o1',
      null,
    ],
    ['most say that it is undecidable', election('uuuuabb'), 'undecidable', 'undecidable', null],
    [
      'as many for an option as that it is undecidable',
      election('uuucaaa'),
      'no_majority',
      null,
      'o1',
    ],
    [
      'most undecidable, in two camps of which one wants an option',
      election('uuuuabb', { camps: opposed }),
      'no_majority',
      null,
      'o2',
    ],
    ['unmerged claims', election('aabbccu', { scored: false }), 'best_single_answer', 'o2', null],
    [
      'unmerged claims, most undecidable',
      election('uuuuabb', { scored: false }),
      'undecidable',
      'undecidable',
      null,
    ],
  ])('the verdict of a vote: %s', (_, given, heading, optionId, tieBreak) => {
    expect(verdictOf(given)).toMatchObject({ heading, optionId, tieBreak });
  });

  test('the verdict of a vote names all options to compare where it chooses none', () => {
    expect(verdictOf(election('aaaaabb')).contenders).toEqual([]);
    expect(verdictOf(election('aaabbbc')).contenders).toEqual(['o1', 'o2', 'o3']);
  });

  test('the verdict of a vote names the camps only where they alone deny the first option', () => {
    expect(verdictOf(election('aaaabbb', { camps: opposed })).camps).toEqual(opposed[0]);
    expect(verdictOf(election('aabaaba', { camps: opposed })).camps).toEqual([]);
    expect(verdictOf(election('aaabbbc', { camps: opposed })).camps).toEqual([]);
  });

  test('the verdict of a vote takes the best placed answer of its option, else the best that its voters name', () => {
    expect(verdictOf(election('aaaaabb')).bestSeat).toBe('S2');
    const given = election('cccccab');
    const reviews = given.reviews.map(({ reviewer, ballot }) => ({
      reviewer,
      ballot: {
        ...ballot,
        decision: { ...ballot.decision, seat: reviewer === 'S1' ? 'I2' : 'R2' },
      },
    }));
    const proposing = (...options: [string, string[]][]) =>
      verdictOf({ ...given, reviews, options: options.map(([id, by]) => ({ id, seats: by })) });
    // An answer that proposes another option is named in vain.
    expect(proposing(['o1', ['S1']], ['o3', []])).toMatchObject({ optionId: 'o3', bestSeat: 'R2' });
    expect(proposing(['o1', ['S1', 'R2']], ['o3', []]).bestSeat).toBe('I2');
    expect(proposing(['o1', ['R2', 'I2']], ['o3', []])).toMatchObject({
      optionId: 'o3',
      bestSeat: null,
    });
  });
});

describe('the flaws of a verdict', () => {
  const flaws = {
    S1: ['S2', 'R1'],
    R2: ['S2', 'R1'],
    I1: ['S3', 'R1'],
    S2: ['S2'],
  };

  test.each([
    ['a recommendation: those of its answers', 'aaaaabb', ['S2']],
    ['another recommendation, whatever the vote', 'bbbbbbb', ['R1']],
    ['no majority: those of every contender', 'aaabbbc', ['R1', 'S2']],
  ])('the flaws of %s, from two reviewers or more', (_, letters, expected) => {
    const given = election(letters, { flaws });
    const found = flawsOf(verdictOf(given), given);
    expect(found.map(({ aboutSeat }) => aboutSeat)).toEqual(expected);
    // Nobody reviews its own answer.
    for (const { reviewers, aboutSeat } of found) expect(reviewers).not.toContain(aboutSeat);
    expect(found.map(({ id }) => id)).toEqual(found.map((_flaw, index) => `f${index + 1}`));
  });
});
