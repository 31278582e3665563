/**
 * One user's credits, stream `credits-usr_…`: lots, holds and debt. Amounts are safe integers of
 * credits; money is in minor units of its currency.
 *
 * Every event carries `balance`, the account after it. Replay and the projections compute the same
 * figures from the amounts alone and compare.
 */

export function creditStream(userId: string): string {
  return `credits-${userId}`;
}

export function userOf(streamId: string): string {
  return streamId.slice('credits-'.length);
}

export type LotSource = 'purchase' | 'bonus' | 'other';

export type LotShare = { lotId: string; credits: number };

/** An API key, `key_…`, and a UTC month, `2026-11`. */
export type KeyMonth = { id: string; month: string };

export type ClosingReason = 'erasure';

export type RevocationCause = 'dispute' | 'cash_refund' | 'correction';

/**
 * purchased + bonus + other = available + held + consumed + refundPending + refunded + revoked,
 * always. Debt is beside this: it was taken back after it had been consumed, and becomes `revoked` when
 * a purchase settles it.
 */
export type AccountBalance = {
  available: number;
  held: number;
  debt: number;
  purchased: number;
  bonus: number;
  other: number;
  /** Net of what was returned for runs. */
  consumed: number;
  /** Credits of cash refunds in progress. */
  refundPending: number;
  /** Given back in money. */
  refunded: number;
  revoked: number;
  /** Payments that went back twice and freeze all spending. */
  freezes: number;
};

type Event<Type extends string, Data extends Record<string, unknown>> = Readonly<{
  type: Type;
  data: Readonly<Data & { balance: AccountBalance }>;
}>;

export type CreditEvent =
  | Event<
      'CreditsGranted',
      {
        lotId: string;
        credits: number;
        source: LotSource;
        /** Null for credits that were not bought. */
        paidMinor: number | null;
        currency: string | null;
        /** `pi:<id>` or `invoice:<id>`; null for credits that were not bought. */
        paymentKey: string | null;
        /** Our own record of the purchase, `pur_…`. */
        purchaseId?: string;
        grantedAt: string;
        /** Why, as a code: `demo`, `trial`, `operator`, `onboarding`, a package id. */
        reason: string;
        /** The operator's note, sealed under the account's key. */
        sealed?: { note: string };
      }
    >
  | Event<
      'CreditsReserved',
      {
        runId: string;
        credits: number;
        allocations: readonly LotShare[];
        /** The UTC month (`2026-11`) whose bonus-paid count this run raised, or null. */
        bonusMonth: string | null;
        /** Present if an API key started the run: the UTC month whose cap it counts against. */
        apiKey?: KeyMonth;
      }
    >
  | Event<'CreditsCaptured', { runId: string; credits: number; byLot: readonly LotShare[] }>
  | Event<
      'CreditsReturned',
      {
        runId: string;
        credits: number;
        byLot: readonly LotShare[];
        cause: string;
        apiKey?: KeyMonth;
      }
    >
  | Event<
      'CreditsReleased',
      { runId: string; credits: number; byLot: readonly LotShare[]; apiKey?: KeyMonth }
    >
  /** Sets a clawback's amount; moves nothing. The events that take or give back credits follow. */
  | Event<
      'ClawbackSet',
      {
        lotId: string;
        ref: string;
        cause: RevocationCause;
        /** In all; 0 ends the clawback. */
        credits: number;
        owes: boolean;
      }
    >
  /** A clawback, named by `ref`, takes available credits. */
  | Event<'LotRevoked', { lotId: string; credits: number; cause: RevocationCause; ref: string }>
  /** Credits to be taken back were consumed. A debt that is named again grows. */
  | Event<
      'DebtIncurred',
      { debt: string; lotId: string; credits: number; cause: RevocationCause; ref: string }
    >
  | Event<'DebtSettled', { debt: string; lotId: string; credits: number }>
  /** A clawback has shrunk, and this part of its debt is no longer owed. */
  | Event<'DebtCancelled', { debt: string; lotId: string; credits: number; ref: string }>
  /** The same for a settled part: available again in the lot that had settled it, `lotId`. */
  | Event<'DebtSettlementReversed', { debt: string; lotId: string; credits: number; ref: string }>
  /** The same for a revoked part: available again. */
  | Event<'LotReinstated', { lotId: string; credits: number; cause: RevocationCause; ref: string }>
  /** The provider is asked to refund these credits once this is stored, not before. */
  | Event<
      'CashRefundRequested',
      {
        refundId: string;
        lotId: string;
        credits: number;
        amountMinor: number;
        currency: string;
        requestedAt: string;
        reason: RefundReason;
      }
    >
  /**
   * The money was paid. From `failed` the credits had been given back before that was known: then it
   * moves nothing, and a clawback under the refund's id takes them.
   */
  | Event<
      'CashRefundConfirmed',
      {
        refundId: string;
        lotId: string;
        credits: number;
        from: 'pending' | 'failed';
        providerRefundId: string | null;
        at: string;
      }
    >
  /**
   * The money was not paid, or came back, and the credits are available again. From `clawed_back`, see
   * above, the clawback ends and gives them back; then this moves nothing.
   */
  | Event<
      'CashRefundFailed',
      {
        refundId: string;
        lotId: string;
        credits: number;
        from: 'pending' | 'confirmed' | 'clawed_back';
        providerRefundId: string | null;
        refundableUntil: string;
        at: string;
      }
    >
  /** Another service used credits of this person; no run, and nothing is held for it first. */
  | Event<
      'CreditsConsumed',
      {
        consumptionId: string;
        credits: number;
        byLot: readonly LotShare[];
        /** The service's words for what it used them for, sealed under the account's key. */
        sealed: { note: string };
      }
    >
  /**
   * A payment was refunded and then also taken back by the bank, so more went back than was paid. Moves
   * nothing; while a freeze stands, nothing is reserved or consumed. `ref` is the lost dispute.
   */
  | Event<'SpendingFrozen', { ref: string; lotId: string; overpaidMinor: number; currency: string }>
  /** An operator ended all freezes that stood. */
  | Event<'SpendingUnfrozen', { freezes: number }>
  /** Moves nothing. Credits stay in place, and held ones settle as usual. */
  | Event<'AccountClosed', { reason: ClosingReason }>;

export type CreditEventType = CreditEvent['type'];

/** A customer has some days to ask for money back; the others may ask at any age of the lot. */
export type RefundReason = 'customer' | 'erasure' | 'operator' | 'fraud_warning';

/** A fact is an event before `balance` is put on it. */
type FactOf<Recorded> = Recorded extends { type: infer Type; data: infer Data }
  ? { readonly type: Type; readonly data: Omit<Data, 'balance'> }
  : never;

export type CreditFact = FactOf<CreditEvent>;
