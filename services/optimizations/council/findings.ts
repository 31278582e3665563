import { minorityOf, minorityShare } from './agreement.ts';
import type { ClaimPoll, Poll } from './agreement.ts';
import type { Ledger, Scores, Seat, Verdict } from '#services/optimizations/run/events.ts';
import { reaches } from './metric.ts';
import type { Metric } from './metric.ts';
import type { Review } from './ranking.ts';

/** The lists that a person reads: what is agreed, what is not, who objects, and what is unknown. */

/** The source of the lists: the accepted seats that were not left out, and their ballots. */
export type Evidence = {
  seats: readonly Seat[];
  reviews: readonly Review[];
  claims: readonly ClaimPoll[];
  decision: Poll;
  /** Null in a metric where the draft chose. */
  verdict: Verdict | null;
  options: Ledger['options'];
  /** Best first. */
  order: readonly string[];
  q: ReadonlyMap<string, number | null>;
};

/**
 * Ids of the claims that the council agrees on, the weightiest first. A consensus needs a large
 * majority of enough voters from several families, and no firm objection.
 */
export function consensusPoints(evidence: Evidence, minFamilies: number, metric: Metric): string[] {
  const rules = metric.consensus;
  const families = Math.min(rules.families, minFamilies);
  const voters = Math.ceil(evidence.seats.length * rules.voterShare - 1e-9);
  const agreed = evidence.claims.filter(
    (claim) =>
      claim.agreeShare !== null &&
      reaches(claim.agreeShare, rules.agreeShare) &&
      claim.votes >= voters &&
      familiesOf(claim.stances.agree, evidence.seats) >= families &&
      !holdsFirmly(claim, claim.stances.disagree, evidence.reviews, rules.firmDissent) &&
      !(metric.decides && isDisputed(claim, evidence, metric)),
  );
  return byLargest(agreed, pull).map(({ claim }) => claim.id);
}

/**
 * Where the council disagrees, the weightiest first: how important the question is, how evenly the
 * votes fall, and how good the answers of those in the minority are. The decision itself is one of
 * the questions.
 */
export function disagreementAreas(evidence: Evidence, metric: Metric): Scores['disagreements'] {
  const rules = metric.disagreement;
  const claims = evidence.claims
    .filter((poll) => isDisputed(poll, evidence, metric))
    .map((poll) => ({
      ...area(poll.claim.id, poll, poll.claim.importance, evidence),
      ...firmPart(poll, evidence, metric),
    }));
  const decision = isContested(evidence.decision, evidence.seats, metric)
    ? [area('decision', evidence.decision, rules.decisionImportance, evidence)]
    : [];
  return byLargest([...decision, ...claims], ({ weight }) => weight);
}

/**
 * The best answer for an option that was voted for and did not win, and the reviewers who raised a
 * fatal flaw against the winner's answer. Null when all voted alike.
 */
export function minorityReport(evidence: Evidence): Scores['minority'] {
  const { verdict, order, reviews, q } = evidence;
  const dissent = evidence.decision.camps
    .filter(({ choice }, place) => (verdict ? choice !== verdict.optionId : place > 0))
    .flatMap(({ choice, seats }) => seats.map((seat) => ({ seat, optionId: choice })));
  const placed = dissent.toSorted(
    (one, other) => order.indexOf(one.seat) - order.indexOf(other.seat),
  );
  const ranked = byLargest(placed, ({ seat }) => q.get(seat) ?? -1);
  const proposes = ({ seat, optionId }: (typeof dissent)[number]) =>
    evidence.options.some(({ id, seats }) => id === optionId && seats.includes(seat));
  // An answer that argues for another option than its author votes for speaks for no minority.
  const best = (verdict ? ranked.find(proposes) : undefined) ?? ranked[0];
  if (!best || verdict?.heading === 'no_majority') return null;
  const winner = verdict ? verdict.bestSeat : order[0];
  const against = reviews
    .filter(({ ballot }) => (ballot.fatalFlaws[winner ?? ''] ?? 0) > 0)
    .map(({ reviewer }) => reviewer);
  return { ...best, against };
}

/**
 * Uncertainties in the order (a) to (e) of the metric's definition, then by how many seats name them.
 */
export function uncertaintyFactors(
  evidence: Evidence,
  notes: Ledger['notes'],
  process: readonly string[],
  metric: Metric,
): Scores['uncertainty'] {
  const { unsureShare, seats: enough } = metric.uncertainty;
  const present = new Set(evidence.seats.map(({ seat }) => seat));
  const count = (seats: readonly string[]) => seats.filter((seat) => present.has(seat)).length;
  const shared = (kind: 'assumption' | 'missing_info') =>
    notes
      .filter((note) => note.kind === kind)
      .map((note) => ({ kind, ref: note.id, count: count(note.seats) }))
      .filter((factor) => factor.count >= enough);
  const unsure = evidence.claims
    .filter(({ participation }) => reaches(1 - participation, unsureShare))
    .map(({ claim, votes }) => ({
      kind: 'unsure_claim' as const,
      ref: claim.id,
      count: evidence.reviews.length - votes,
    }));
  const flips = evidence.claims
    .map(({ claim }) => ({ kind: 'flips' as const, ref: claim.id, count: count(claim.flips) }))
    .filter((factor) => factor.count >= enough);
  const facts = process.map((ref) => ({ kind: 'process' as const, ref, count: 1 }));
  const kinds: Scores['uncertainty'][number][][] = [
    unsure,
    shared('assumption'),
    flips,
    shared('missing_info'),
    facts,
  ];
  return kinds.flatMap((factors) => byLargest(factors, ({ count: named }) => named));
}

/**
 * Seat → sideways place in the braid, −1 to 1; 0 is with the majority.
 *
 * Its size is the importance-weighted share, of the claims on which the seat took a stance, of those
 * where it is in a minority; in a tie, where both sides are equal, ½. Its sign is
 * the seat's camp in the decision vote: + with the modal decision, − against it. So two camps read as
 * two ropes: of a 4–3 council the four run near 0 and the three near −1; of a 4–4 one, four at +½ and
 * four at −½. A seat that did not vote runs straight.
 */
export function placements(evidence: Evidence): Record<string, number> {
  const mode = evidence.decision.camps[0]?.seats ?? [];
  const polls = evidence.claims.filter(({ counts }) => counts);
  return Object.fromEntries(
    evidence.seats.map(({ seat }) => {
      const taken = polls.filter(({ camps }) => camps.some((camp) => camp.seats.includes(seat)));
      const total = taken.reduce((sum, { claim }) => sum + claim.importance, 0);
      const apart = taken.reduce(
        (sum, poll) => sum + poll.claim.importance * apartness(poll, seat),
        0,
      );
      const sign = mode.includes(seat) ? 1 : -1;
      const voted = evidence.decision.camps.some((camp) => camp.seats.includes(seat));
      return [seat, total === 0 || !voted ? 0 : (sign * apart) / total];
    }),
  );
}

function apartness(poll: Poll, seat: string): number {
  if (poll.tied) return 1 / 2;
  return poll.camps[0]?.seats.includes(seat) ? 0 : 1;
}

function isDisputed(poll: ClaimPoll, evidence: Evidence, metric: Metric): boolean {
  return isContested(poll, evidence.seats, metric) || isFirm(poll, evidence, metric);
}

function isContested(poll: Poll, seats: readonly Seat[], metric: Metric): boolean {
  if (poll.agreement === null) return false;
  const { minorityShare: limit, dissenters, families } = metric.disagreement;
  const minority = minorityOf(poll);
  const seated = familiesOf(
    seats.map(({ seat }) => seat),
    seats,
  );
  return (
    reaches(minorityShare(poll), limit) ||
    (minority.length >= dissenters && familiesOf(minority, seats) >= Math.min(families, seated))
  );
}

/** One seat that firmly opposes the others on a most important question. */
function isFirm(poll: ClaimPoll, { reviews }: Evidence, metric: Metric): boolean {
  const { firmDissent, firmImportance } = metric.disagreement;
  return (
    poll.agreement !== null &&
    poll.claim.importance >= firmImportance &&
    holdsFirmly(poll, minorityOf(poll), reviews, firmDissent)
  );
}

/** Who alone makes a claim disputed, where the votes do not. */
function firmPart(
  poll: ClaimPoll,
  { seats, reviews }: Evidence,
  metric: Metric,
): Pick<Scores['disagreements'][number], 'firm'> {
  if (!metric.decides || isContested(poll, seats, metric)) return {};
  const { firmDissent } = metric.disagreement;
  return {
    firm: minorityOf(poll).filter((seat) => holdsFirmly(poll, [seat], reviews, firmDissent)),
  };
}

function holdsFirmly(
  { claim }: ClaimPoll,
  seats: readonly string[],
  reviews: readonly Review[],
  confidence: number,
): boolean {
  return reviews.some(
    ({ reviewer, ballot }) =>
      seats.includes(reviewer) && (ballot.votes[claim.id]?.confidence ?? 0) >= confidence,
  );
}

function area(
  about: string,
  poll: Poll,
  importance: number,
  { q }: Evidence,
): Scores['disagreements'][number] {
  const known = minorityOf(poll)
    .map((seat) => q.get(seat) ?? null)
    .filter((rate) => rate !== null);
  // ½ is the mean of all rates: without any comparison nothing speaks for or against the minority.
  const quality =
    known.length === 0 ? 1 / 2 : known.reduce((sum, rate) => sum + rate, 0) / known.length;
  return {
    about,
    sides: poll.camps.map(({ choice, seats }) => ({ stance: choice, seats })),
    weight: importance * (1 - (poll.agreement ?? 0)) * quality,
  };
}

function pull({ claim, agreeShare }: ClaimPoll): number {
  return claim.importance * (agreeShare ?? 0);
}

function familiesOf(members: readonly string[], seats: readonly Seat[]): number {
  return new Set(seats.filter(({ seat }) => members.includes(seat)).map(({ family }) => family))
    .size;
}

/** Largest first, to nine decimals; what is equal keeps its order. */
function byLargest<Item>(items: readonly Item[], figure: (item: Item) => number): Item[] {
  return items
    .map((item) => ({ item, size: Math.round(figure(item) * 1e9) }))
    .toSorted((one, other) => other.size - one.size)
    .map(({ item }) => item);
}
