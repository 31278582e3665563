/**
 * One person's credits, stream `credits-usr_…`: lots, holds and debt. All amounts are safe integers
 * of credits; money that was paid is in minor units of its currency.
 *
 * Every event carries `balance`, the account after it, so that a reader of one event knows the
 * absolute figures; replay and the projections compute the same figures from the amounts alone and
 * compare.
 */
export type LotSource = 'purchase' | 'bonus' | 'other';

export type LotShare = { lotId: string; credits: number };

export type AccountBalance = {
  available: number;
  held: number;
  debt: number;
  purchased: number;
  bonus: number;
  other: number;
  /** Net of what was returned for runs. */
  consumed: number;
  revoked: number;
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
        /** Null for what was not bought. */
        paidMinor: number | null;
        currency: string | null;
        /** `pi:<id>` or `invoice:<id>`; null for what was not bought. */
        paymentKey: string | null;
        grantedAt: string;
        /** Why, in one of our own words: `demo`, `trial`, `operator`, `onboarding`, a package id. */
        reason: string;
        /** What an operator wrote, sealed under the account's key. */
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
      }
    >
  | Event<'CreditsCaptured', { runId: string; credits: number; byLot: readonly LotShare[] }>
  | Event<
      'CreditsReturned',
      { runId: string; credits: number; byLot: readonly LotShare[]; cause: string }
    >
  | Event<'CreditsReleased', { runId: string; credits: number; byLot: readonly LotShare[] }>
  | Event<
      'LotRevoked',
      { lotId: string; credits: number; cause: 'dispute' | 'cash_refund' | 'correction' }
    >
  | Event<'DebtIncurred', { lotId: string; credits: number; cause: string }>
  | Event<'DebtSettled', { debt: string; lotId: string; credits: number }>;

export type CreditEventType = CreditEvent['type'];
