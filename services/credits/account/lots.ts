import type { CreditFact, LotShare, LotSource, RevocationCause } from './events.ts';

/**
 * The credits that a bank or a refund takes back from a lot. `wanted` is kept even if the lot has fewer
 * now: credits that return to it later are taken then.
 */
export type Clawback = {
  /** A dispute `dp_…`, a charge `ch_…`, or our own refund `ref_…`. */
  ref: string;
  cause: RevocationCause;
  wanted: number;
  /** Revoked because of it, and owed because of it, settled or not. */
  taken: number;
  /** Consumed credits become debt. An inquiry, before any money is withdrawn, only freezes. */
  owes: boolean;
};

/** granted = available + held + consumed + cashPending + cashRefunded + revoked, each ≥ 0. */
export type Lot = {
  lotId: string;
  source: LotSource;
  grantedAt: string;
  paymentKey: string | null;
  purchaseId: string | null;
  /** Null for credits that were not bought, like their currency. */
  paidMinor: number | null;
  currency: string | null;
  granted: number;
  available: number;
  held: number;
  consumed: number;
  /** Credits of a cash refund in progress. */
  cashPending: number;
  cashRefunded: number;
  revoked: number;
  /** A refund that failed extends the time in which another can be asked for. */
  refundableUntil: string | null;
  /**
   * Oldest first. Together they have taken what is revoked and what this lot owes. After a whole command
   * nothing is available in a lot whose clawbacks want more.
   */
  clawbacks: readonly Clawback[];
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

/** As much of `credits` as the lots have, from the first on. */
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
    purchaseId: data.purchaseId ?? null,
    paidMinor: data.paidMinor,
    currency: data.currency,
    granted: data.credits,
    available: data.credits,
    held: 0,
    consumed: 0,
    cashPending: 0,
    cashRefunded: 0,
    revoked: 0,
    refundableUntil: null,
    clawbacks: [],
    debts: 0,
  };
}

/** Sets a clawback's amount; creates it when there is none with this `ref`. */
export function withClawback(lot: Lot, asked: Omit<Clawback, 'taken'>): Lot {
  const known = lot.clawbacks.some(({ ref }) => ref === asked.ref)
    ? lot.clawbacks
    : [...lot.clawbacks, { ...asked, taken: 0 }];
  return withClawbacks(
    lot,
    known.map((clawback) => (clawback.ref === asked.ref ? { ...clawback, ...asked } : clawback)),
  );
}

/** Adds to the credits that a clawback has taken; may be negative. */
export function taking(lot: Lot, ref: string, credits: number): Lot {
  return withClawbacks(
    lot,
    lot.clawbacks.map((clawback) =>
      clawback.ref === ref ? { ...clawback, taken: clawback.taken + credits } : clawback,
    ),
  );
}

/** A clawback that wants nothing and has nothing is over. */
function withClawbacks(lot: Lot, clawbacks: readonly Clawback[]): Lot {
  return { ...lot, clawbacks: clawbacks.filter(({ wanted, taken }) => wanted > 0 || taken > 0) };
}

/** The credits that a clawback still has to take; negative if it must give some back. */
export function gapOf({ wanted, taken }: Clawback): number {
  return wanted - taken;
}

type LotPart = 'available' | 'held' | 'consumed' | 'cashPending' | 'cashRefunded' | 'revoked';

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
      cashPending: lot.cashPending + credits * (signs.cashPending ?? 0),
      cashRefunded: lot.cashRefunded + credits * (signs.cashRefunded ?? 0),
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

/** By code units: for our ids and times, the order of time. */
function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
