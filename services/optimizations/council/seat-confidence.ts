import type { Ledger, Scores } from '#services/optimizations/run/events.ts';
import type { Metric } from './metric.ts';
import type { Review } from './ranking.ts';

/**
 * How sure the council may be of one seat, 0–100, from three sources that are stored beside it: its
 * peers' rankings (q), the share of its claims that they support, and its own confidence. The last is
 * drawn towards ½, because models state far more confidence than they earn (Guo et al. 2017);
 * once a model has enough resolved outcomes, calibration on those takes its place (Platt 1999;
 * Zadrozny & Elkan 2002).
 *
 * Null when nothing is known of one of the parts: a confidence from fewer parts would not be
 * comparable.
 */
export function seatConfidence(
  parts: { q: number | null; support: number | null; statedPercent: number },
  { confidence }: Metric,
): Scores['confidence'][string] | null {
  const { q, support, statedPercent } = parts;
  if (q === null || support === null) return null;
  const stated = 0.5 + confidence.shrinkage * (statedPercent / 100 - 0.5);
  const value =
    100 * (confidence.q * q + confidence.support * support + confidence.stated * stated);
  return { value, q, support, stated };
}

/**
 * Share of a seat's claims that its peers support: more than half of the weight of those who took a
 * stance agrees. The seat's own vote is not counted; claims without a peer's vote are left out; null
 * when no claim is left.
 */
export function peerSupport(
  seat: string,
  claims: Ledger['claims'],
  reviews: readonly Review[],
  weights: Readonly<Record<string, number>>,
): number | null {
  const peers = reviews.filter(({ reviewer }) => reviewer !== seat);
  const verdicts = claims
    .filter(({ authors }) => authors.includes(seat))
    .flatMap(({ id }) => {
      const weightOf = (stance: 'agree' | 'disagree') =>
        peers
          .filter(({ ballot }) => ballot.votes[id]?.stance === stance)
          .reduce((sum, { reviewer }) => sum + weights[reviewer]!, 0);
      const [agree, disagree] = [weightOf('agree'), weightOf('disagree')];
      return agree + disagree === 0 ? [] : [agree - disagree > 1e-9];
    });
  return verdicts.length === 0
    ? null
    : verdicts.filter((supported) => supported).length / verdicts.length;
}
