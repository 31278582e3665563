import { comparePairs } from '#services/optimizations/council/ranking.ts';
import { formatNumber } from '#services/platform/numbers.ts';
import { seatName } from './names.ts';
import { ballotOf } from '#services/optimizations/reading/view.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';

/** The order of the answers and the comparisons behind it, as the page and the file list them. */

export const orderTitle = 'The order of the answers';

/** The comparisons, for a reader who computes the order by hand. */
export const comparisonsTitle = 'The comparisons behind the order';

export const comparisonsNote =
  'A row says how many reviewers preferred its answer, of those who ranked both. A tie is half.';

/** `over`: by seat in the same order, "4 of 6"; "–" for the answer itself. */
export type OrderRow = {
  seat: string;
  name: string;
  place: number;
  winRate: string;
  over: readonly string[];
};

/** The answers, best placed first; empty before the reviews are counted. */
export function orderRows(view: RunView, locale?: string): OrderRow[] {
  const { order = [], q = {} } = view.scores ?? {};
  const reviews = order.flatMap((reviewer) => {
    const ballot = ballotOf(view, reviewer);
    return ballot === null ? [] : [{ reviewer, ballot }];
  });
  const { wins, compared } = comparePairs(order, reviews);
  return order.map((seat, a) => ({
    seat,
    name: seatName(view.seats, seat),
    place: a + 1,
    winRate: rate(q[seat] ?? null, locale),
    over: order.map((_, b) => (a === b ? none : `${wins[a]![b]!} of ${compared[a]![b]!}`)),
  }));
}

const none = '–';

function rate(share: number | null, locale: string | undefined): string {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return share === null ? none : formatNumber(share, digits, locale);
}
