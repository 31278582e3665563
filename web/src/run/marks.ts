import { costOf } from '#services/optimizations/reading/describe.ts';
import { type AttemptView, ballotOf, type RunView } from '#services/optimizations/reading/view.ts';

type Ballot = NonNullable<ReturnType<typeof ballotOf>>;

/** What the reviewers gave each other, from the counted ballots. */
export type Mark = {
  readonly reviewer: string;
  readonly answer: string;
  readonly mean: number;
  /** Place in the reviewer's order, 1 is best; ties share one. */
  readonly place: number;
  readonly of: number;
};

export function marksOf(view: RunView): Mark[] {
  return view.seats.flatMap(({ seat: reviewer }) => {
    const ballot = ballotOf(view, reviewer);
    if (!ballot) return [];
    return Object.entries(ballot.scores).map(([answer, rubric]) => ({
      reviewer,
      answer,
      mean: meanOf(rubric),
      place: placeOf(ballot, answer),
      of: ballot.ranking.flat().length,
    }));
  });
}

function meanOf(rubric: Ballot['scores'][string]): number {
  const marks = Object.values(rubric);
  return marks.reduce((sum, mark) => sum + mark, 0) / marks.length;
}

function placeOf(ballot: Ballot, answer: string): number {
  const group = ballot.ranking.findIndex((tied) => tied.includes(answer));
  return 1 + ballot.ranking.slice(0, Math.max(0, group)).flat().length;
}

/** A seat's attempts at its two calls, in order. */
export function attemptsOf(
  view: RunView,
  seat: string,
): { call: 'Answer' | 'Review' | 'Vote'; number: number; attempt: AttemptView }[] {
  return (['opinion', 'review'] as const).flatMap((kind) =>
    Object.entries(view.calls[`${kind}.${seat}`]?.attempts ?? {}).map(([number, attempt]) => ({
      call:
        kind === 'opinion'
          ? ('Answer' as const)
          : view.refines === null
            ? ('Review' as const)
            : ('Vote' as const),
      number: Number(number),
      attempt,
    })),
  );
}

/** What a seat's calls cost in dollars; null before any was priced. */
export function seatDollars(view: RunView, seat: string): number | null {
  const { micros } = costOf(view, [`opinion.${seat}`, `review.${seat}`]);
  return micros === null ? null : micros / 1_000_000;
}
