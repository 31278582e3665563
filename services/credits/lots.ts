import type { CreditFact, LotShare, LotSource, RevocationCause } from './account.ts';

/**
 * The lots of one account and what is done with their credits. Everything here is arithmetic on
 * shares; when a lot is drawn from, and what is taken back from it, is decided in `account.ts`.
 */
/** A part of a revocation. */
export type Claim = { cause: RevocationCause; credits: number };

/** granted = available + held + consumed + revoked, each ≥ 0. */
export type Lot = {
  lotId: string;
  source: LotSource;
  grantedAt: string;
  paymentKey: string | null;
  granted: number;
  available: number;
  held: number;
  consumed: number;
  revoked: number;
  /**
   * Revocations that wait for what is held, one for each cause, oldest first, together at most
   * `held`. Nothing is available in a lot while one waits.
   */
  waiting: readonly Claim[];
  /** Debts that this lot has caused so far; the next is named `<lotId>:<debts + 1>`. */
  debts: number;
};

/** Bonus, then other, then paid; within each the oldest, then by id. */
export function drawOrder(lots: readonly Lot[]): Lot[] {
  return lots.toSorted(
    (left, right) =>
      drawRank[left.source] - drawRank[right.source] ||
      compareText(left.grantedAt, right.grantedAt) ||
      compareText(left.lotId, right.lotId),
  );
}

const drawRank = { bonus: 0, other: 1, purchase: 2 } as const satisfies Record<LotSource, number>;

/** As much of `credits` as the lots have, from the first ones on. */
export function draw(lots: readonly Lot[], credits: number): LotShare[] {
  return takeFrom(
    lots.map((lot) => ({ lotId: lot.lotId, credits: lot.available })),
    credits,
  );
}

export function freshLot(data: Extract<CreditFact, { type: 'CreditsGranted' }>['data']): Lot {
  return {
    lotId: data.lotId,
    source: data.source,
    grantedAt: data.grantedAt,
    paymentKey: data.paymentKey,
    granted: data.credits,
    available: data.credits,
    held: 0,
    consumed: 0,
    revoked: 0,
    waiting: [],
    debts: 0,
  };
}

/** One claim for each cause, so that there are never more than there are causes. */
export function withClaim(waiting: readonly Claim[], claim: Claim): Claim[] {
  if (!waiting.some(({ cause }) => cause === claim.cause)) return [...waiting, claim];
  return waiting.map((known) =>
    known.cause === claim.cause ? { ...known, credits: known.credits + claim.credits } : known,
  );
}

type LotPart = 'available' | 'held' | 'consumed' | 'revoked';

/** Moves each share's credits between the parts of its lot: −1 takes them from one, 1 adds to one. */
export function moveShares(
  lots: readonly Lot[],
  shares: readonly LotShare[],
  signs: Readonly<Partial<Record<LotPart, 1 | -1>>>,
): Lot[] {
  return lots.map((lot) => {
    const credits = sumOf(shares.filter((share) => share.lotId === lot.lotId));
    if (credits === 0) return lot;
    return {
      ...lot,
      available: lot.available + credits * (signs.available ?? 0),
      held: lot.held + credits * (signs.held ?? 0),
      consumed: lot.consumed + credits * (signs.consumed ?? 0),
      revoked: lot.revoked + credits * (signs.revoked ?? 0),
    };
  });
}

export function changeLot(lots: readonly Lot[], lotId: string, change: (lot: Lot) => Lot): Lot[] {
  return lots.map((lot) => (lot.lotId === lotId ? change(lot) : lot));
}

type Portion = { readonly credits: number };

/** The first portions that together hold `credits`, the last of them cut to fit. */
export function takeFrom<Item extends Portion>(portions: readonly Item[], credits: number): Item[] {
  let left = credits;
  return portions.flatMap((portion) => {
    const taken = Math.min(left, portion.credits);
    left -= taken;
    return taken > 0 ? [{ ...portion, credits: taken }] : [];
  });
}

/** What remains of the portions when the first `credits` of them are gone. */
export function without<Item extends Portion>(portions: readonly Item[], credits: number): Item[] {
  let gone = credits;
  return portions.flatMap((portion) => {
    const taken = Math.min(gone, portion.credits);
    gone -= taken;
    return portion.credits > taken ? [{ ...portion, credits: portion.credits - taken }] : [];
  });
}

export function sumOf(portions: readonly Portion[]): number {
  return portions.reduce((sum, portion) => sum + portion.credits, 0);
}

/** By code units, which for our ids and times is the order of time. */
function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
