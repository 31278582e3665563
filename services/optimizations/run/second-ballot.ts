import type { Ballot, Before, SecondVote } from './events.ts';

/** The ballot of a seat with its second vote; one that had not reviewed ranks nothing. */
export function mergedBallot(before: Ballot | undefined, vote: SecondVote | undefined): Ballot {
  const first = before ?? emptyBallot;
  if (vote === undefined) return first;
  const { optionId, votes } = vote;
  // The best argument for another option is not known.
  const seat = optionId === first.decision.optionId ? first.decision.seat : null;
  return { ...first, votes: { ...first.votes, ...votes }, decision: { optionId, seat } };
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

/** All ballots as they stand after this refinement. */
export function mergedBallots(
  { ballots }: Pick<Before, 'ballots'>,
  votes: Readonly<Record<string, SecondVote>>,
): Record<string, Ballot> {
  const seats = [...new Set([...Object.keys(ballots), ...Object.keys(votes)])];
  return Object.fromEntries(seats.map((seat) => [seat, mergedBallot(ballots[seat], votes[seat])]));
}
