import type { Settlement } from '#services/optimizations/events.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Decider } from '#services/platform/command.ts';
import { insufficientCreditsSentence } from './contract.ts';
import {
  changeLot,
  draw,
  drawOrder,
  freshLot,
  moveShares,
  sumOf,
  takeFrom,
  withClaim,
  without,
} from './lots.ts';
import type { Lot } from './lots.ts';
import { reactions } from './reactions.ts';
import { unsoundness } from './soundness.ts';

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

export type RevocationCause = 'dispute' | 'cash_refund' | 'correction';

/**
 * purchased + bonus + other = available + held + consumed + revoked, always. Debt stands beside
 * this: it is what was taken back but had already been consumed, and turns into `revoked` when a
 * purchase settles it.
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
        /** Our own record of the purchase, `pur_…`. */
        purchaseId?: string;
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
  | Event<'LotRevoked', { lotId: string; credits: number; cause: RevocationCause }>
  /** These credits of the lot are held by runs; they are taken or owed when the runs settle. */
  | Event<'RevocationDeferred', { lotId: string; credits: number; cause: RevocationCause }>
  | Event<'DebtIncurred', { lotId: string; credits: number; cause: string }>
  | Event<'DebtSettled', { debt: string; lotId: string; credits: number }>;

export type CreditEventType = CreditEvent['type'];

export type CreditCommand =
  | {
      type: 'Grant';
      lotId: string;
      credits: number;
      source: LotSource;
      paidMinor: number | null;
      currency: string | null;
      paymentKey: string | null;
      purchaseId?: string;
      /** ISO 8601 UTC with milliseconds; decides a lot's age in the draw order. */
      grantedAt: string;
      reason: string;
      sealed?: { note: string };
    }
  | {
      type: 'Reserve';
      runId: string;
      /** The price. */
      credits: number;
      /** The current UTC month, `2026-11`. */
      month: string;
      /** Runs a month that bonus credits may pay for; −1 is unlimited. */
      limit: number;
    }
  | { type: 'Settle'; runId: string; settlement: Settlement }
  | { type: 'Revoke'; lotId: string; credits: number; cause: RevocationCause };

type Command<Type extends CreditCommand['type']> = Extract<CreditCommand, { type: Type }>;

export type Hold = {
  credits: number;
  /** In draw order. */
  allocations: readonly LotShare[];
  bonusMonth: string | null;
};

/** Oldest first in the account; `credits` is what is still owed. */
export type Debt = { debt: string; lotId: string; credits: number; cause: string };

/**
 * Plain JSON. It grows with grants, which are payments and gifts, and keeps every lot for ever: a
 * card dispute can arrive more than a year after the last credit of a lot was consumed, and must
 * still find how much that was. What grows with use leaves no mark: a run is in `holds` until it
 * settles, and repeats of what was settled are recognised by their message ids.
 */
export type AccountState = {
  /** In the order of their grants. */
  lots: readonly Lot[];
  holds: Readonly<Record<string, Hold>>;
  debts: readonly Debt[];
  /** Runs of the latest month that bonus credits paid for, wholly or partly. */
  month: { month: string; count: number };
  balance: AccountBalance;
};

/** Gifts that one account can hold. Purchases are never refused: they are paid for. */
const maxLots = 1_000;

/** One command appends a bounded number of events; what is left of the debts waits its turn. */
const maxDebtsPerPurchase = 50;

/** For the same reason: each waiting lot is up to four events when one run that held them settles. */
const maxWaitingLots = 12;

/** A fact is an event before `balance` is put on it. */
type FactOf<Recorded> = Recorded extends { type: infer Type; data: infer Data }
  ? { readonly type: Type; readonly data: Omit<Data, 'balance'> }
  : never;
export type CreditFact = FactOf<CreditEvent>;

export const initialState = (): AccountState => ({
  lots: [],
  holds: {},
  debts: [],
  month: { month: '', count: 0 },
  balance: noCredits,
});

export const noCredits: AccountBalance = {
  available: 0,
  held: 0,
  debt: 0,
  purchased: 0,
  bonus: 0,
  other: 0,
  consumed: 0,
  revoked: 0,
};

/**
 * Throws a `Problem` when the command is refused: 402 `insufficient-credits` or `debt`, 403
 * `monthly-limit`, 404 `unknown-lot`, 409 for what contradicts the account, 400 `invalid-amount`.
 * No events: the same was done before.
 */
export function decide(command: CreditCommand, state: AccountState): CreditEvent[] {
  return withBalances(state, factsOf(command, state));
}

function factsOf(command: CreditCommand, state: AccountState): CreditFact[] {
  switch (command.type) {
    case 'Grant':
      return grant(command, state);
    case 'Reserve':
      return reserve(command, state);
    case 'Settle':
      return settle(command, state);
    case 'Revoke':
      return revoke(command, state);
  }
}

function grant(command: Command<'Grant'>, state: AccountState): CreditFact[] {
  const { type: _, ...granted } = command;
  requireAmount(granted.credits);
  if (granted.paidMinor !== null && !isAmount(granted.paidMinor, 0))
    throw new Problem(400, 'invalid-amount', 'What was paid must be a whole number, 0 or more.');
  if ((granted.source === 'purchase') !== (granted.paymentKey !== null))
    throw new Problem(400, 'payment-key', 'A purchase, and nothing else, carries a payment key.');
  const known = state.lots.find(
    (lot) =>
      lot.lotId === granted.lotId ||
      (lot.paymentKey !== null && lot.paymentKey === granted.paymentKey),
  );
  if (known) return requireSameGrant(known, granted);
  if (!Number.isSafeInteger(grantedIn(state.balance) + granted.credits))
    throw new Problem(400, 'invalid-amount', 'That is more than an account can hold.');
  if (granted.source !== 'purchase' && state.lots.length >= maxLots)
    throw new Problem(409, 'too-many-lots', 'This account has received as many grants as it can.');
  return [
    { type: 'CreditsGranted', data: granted },
    ...(granted.source === 'purchase' ? debtsSettledBy(granted, state.debts) : []),
  ];
}

/** A payment is granted once, whoever reports it and however often. */
function requireSameGrant(known: Lot, granted: Omit<Command<'Grant'>, 'type'>): [] {
  if (
    known.granted === granted.credits &&
    known.source === granted.source &&
    known.paymentKey === granted.paymentKey
  )
    return [];
  throw new Problem(409, 'lot-exists', 'This lot or payment was granted with other figures.');
}

function debtsSettledBy(lot: LotShare, debts: readonly Debt[]): CreditFact[] {
  let left = lot.credits;
  return debts.slice(0, maxDebtsPerPurchase).flatMap((debt): CreditFact[] => {
    const credits = Math.min(left, debt.credits);
    left -= credits;
    return credits === 0
      ? []
      : [{ type: 'DebtSettled', data: { debt: debt.debt, lotId: lot.lotId, credits } }];
  });
}

function reserve(command: Command<'Reserve'>, state: AccountState): CreditFact[] {
  const { runId, credits } = command;
  requireAmount(credits);
  if (state.holds[runId]) return [];
  const { available, debt } = state.balance;
  if (debt > 0) throw indebted(debt, credits, available);
  if (available < credits) throw insufficientCredits(credits, available);
  // A clock that runs behind another process's must not open last month's count again.
  const month = later(command.month, state.month.month);
  const used = month === state.month.month ? state.month.count : 0;
  const atLimit = command.limit >= 0 && used >= command.limit;
  const lots = drawOrder(state.lots).filter((lot) => !atLimit || lot.source !== 'bonus');
  const allocations = draw(lots, credits);
  if (sumOf(allocations) < credits) throw monthlyLimit(command.limit, used, month);
  const paidByBonus = lots.some(
    (lot) => lot.source === 'bonus' && allocations.some((share) => share.lotId === lot.lotId),
  );
  return [
    {
      type: 'CreditsReserved',
      data: { runId, credits, allocations, bonusMonth: paidByBonus ? month : null },
    },
  ];
}

function settle(command: Command<'Settle'>, state: AccountState): CreditFact[] {
  const hold = state.holds[command.runId];
  if (!hold) return [];
  const settled = settlementOf(command, hold);
  return [...settled, ...claimsDue(settled.reduce(evolve, state))];
}

function settlementOf({ runId, settlement }: Command<'Settle'>, hold: Hold): CreditFact[] {
  // What was drawn last flows back first, into the lots that it came from.
  const backwards = hold.allocations.toReversed();
  if (settlement.kind === 'release')
    return [{ type: 'CreditsReleased', data: { runId, credits: hold.credits, byLot: backwards } }];
  const { capture, refund } = settlement;
  requireAmount(capture);
  if (refund !== 0) requireAmount(refund);
  // A run is priced once, and its hold ends in one event: there is no capture of a part.
  if (capture !== hold.credits || refund > capture)
    throw new Problem(409, 'settlement-mismatch', 'The settlement does not fit what is held.');
  const captured: CreditFact = {
    type: 'CreditsCaptured',
    data: { runId, credits: capture, byLot: hold.allocations },
  };
  if (refund === 0) return [captured];
  return [
    captured,
    {
      type: 'CreditsReturned',
      data: { runId, credits: refund, byLot: takeFrom(backwards, refund), cause: runId },
    },
  ];
}

/**
 * What waiting revocations take once runs have settled: first what came back, then as debt. Nothing
 * is due between two commands.
 */
function claimsDue(state: AccountState): CreditFact[] {
  return state.lots.flatMap(({ lotId, waiting, available, held }) => {
    const taken = takeFrom(waiting, available);
    const left = without(waiting, sumOf(taken));
    const owed = takeFrom(left, Math.max(0, sumOf(left) - held));
    return [
      ...taken.map((claim): CreditFact => ({ type: 'LotRevoked', data: { lotId, ...claim } })),
      ...owed.map((claim): CreditFact => ({ type: 'DebtIncurred', data: { lotId, ...claim } })),
    ];
  });
}

/**
 * Takes what is available in the lot, waits for what is held, and turns into debt what was
 * consumed. Other lots are left alone: they are other purchases.
 */
function revoke(command: Command<'Revoke'>, state: AccountState): CreditFact[] {
  const { lotId, credits, cause } = command;
  requireAmount(credits);
  const lot = state.lots.find((candidate) => candidate.lotId === lotId);
  if (!lot) throw new Problem(404, 'unknown-lot', 'There is no such lot in this account.');
  const owed = sumOf(state.debts.filter((debt) => debt.lotId === lotId));
  const now = Math.min(credits, lot.available);
  const deferred = Math.min(credits - now, lot.held - sumOf(lot.waiting));
  const debt = credits - now - deferred;
  if (debt > lot.consumed - owed)
    throw new Problem(409, 'revocation-too-large', 'More than this lot still has to give.');
  const waiting = state.lots.filter((other) => other !== lot && other.waiting.length > 0);
  if (deferred > 0 && waiting.length >= maxWaitingLots)
    throw new Problem(409, 'revocations-waiting', 'Ask again when the open runs have settled.');
  const fact = <Type extends 'LotRevoked' | 'RevocationDeferred' | 'DebtIncurred'>(
    type: Type,
    part: number,
  ) => (part > 0 ? [{ type, data: { lotId, credits: part, cause } }] : []);
  return [
    ...fact('LotRevoked', now),
    ...fact('RevocationDeferred', deferred),
    ...fact('DebtIncurred', debt),
  ];
}

/** Ignores the event's own `balance`: replay compares the two. */
export function evolve(state: AccountState, event: CreditFact): AccountState {
  const moved = { ...state, balance: addBalances(state.balance, balanceChange(event)) };
  switch (event.type) {
    case 'CreditsGranted':
      return { ...moved, lots: [...state.lots, freshLot(event.data)] };
    case 'CreditsReserved': {
      const { runId, credits, allocations, bonusMonth } = event.data;
      return {
        ...moved,
        lots: moveShares(state.lots, allocations, { available: -1, held: 1 }),
        holds: { ...state.holds, [runId]: { credits, allocations, bonusMonth } },
        month: bonusMonth === null ? state.month : countedIn(state.month, bonusMonth),
      };
    }
    case 'CreditsCaptured':
      return {
        ...moved,
        lots: moveShares(state.lots, event.data.byLot, { held: -1, consumed: 1 }),
        holds: withoutKey(state.holds, event.data.runId),
      };
    case 'CreditsReturned':
      return {
        ...moved,
        lots: moveShares(state.lots, event.data.byLot, { consumed: -1, available: 1 }),
      };
    case 'CreditsReleased': {
      const counted = state.holds[event.data.runId]?.bonusMonth === state.month.month;
      return {
        ...moved,
        lots: moveShares(state.lots, event.data.byLot, { held: -1, available: 1 }),
        holds: withoutKey(state.holds, event.data.runId),
        month: counted ? { ...state.month, count: state.month.count - 1 } : state.month,
      };
    }
    case 'LotRevoked':
      return {
        ...moved,
        lots: moveShares(state.lots, [event.data], { available: -1, revoked: 1 }).map((lot) =>
          lot.lotId === event.data.lotId
            ? { ...lot, waiting: without(lot.waiting, event.data.credits) }
            : lot,
        ),
      };
    case 'RevocationDeferred': {
      const { lotId, credits, cause } = event.data;
      return {
        ...moved,
        lots: changeLot(state.lots, lotId, (lot) => ({
          ...lot,
          waiting: withClaim(lot.waiting, { cause, credits }),
        })),
      };
    }
    case 'DebtIncurred': {
      const { lotId, credits, cause } = event.data;
      const number = (state.lots.find((lot) => lot.lotId === lotId)?.debts ?? 0) + 1;
      return {
        ...moved,
        lots: changeLot(state.lots, lotId, (lot) => ({
          ...lot,
          debts: number,
          // Nothing stops waiting when the debt is for what had been consumed before.
          waiting: without(
            lot.waiting,
            Math.min(credits, Math.max(0, sumOf(lot.waiting) - lot.held)),
          ),
        })),
        debts: [...state.debts, { debt: `${lotId}:${number}`, lotId, credits, cause }],
      };
    }
    case 'DebtSettled': {
      const { debt: name, lotId, credits } = event.data;
      const debt = state.debts.find((candidate) => candidate.debt === name);
      // What the indebted lot consumed is now paid for by the lot that settles; its own credits
      // count as taken back.
      const paid = moveShares(state.lots, [{ lotId, credits }], { available: -1, consumed: 1 });
      return {
        ...moved,
        lots: debt
          ? moveShares(paid, [{ lotId: debt.lotId, credits }], { consumed: -1, revoked: 1 })
          : paid,
        debts: state.debts.flatMap((owed) =>
          owed.debt !== name
            ? [owed]
            : owed.credits > credits
              ? [{ ...owed, credits: owed.credits - credits }]
              : [],
        ),
      };
    }
  }
}

/** What one event adds to each figure of the account, from its amounts alone. */
export function balanceChange(event: CreditFact): AccountBalance {
  switch (event.type) {
    case 'CreditsGranted': {
      const { credits, source } = event.data;
      const issued = source === 'purchase' ? 'purchased' : source;
      return { ...noCredits, available: credits, [issued]: credits };
    }
    case 'CreditsReserved':
      return { ...noCredits, available: -event.data.credits, held: event.data.credits };
    case 'CreditsCaptured':
      return { ...noCredits, held: -event.data.credits, consumed: event.data.credits };
    case 'CreditsReturned':
      return { ...noCredits, consumed: -event.data.credits, available: event.data.credits };
    case 'CreditsReleased':
      return { ...noCredits, held: -event.data.credits, available: event.data.credits };
    case 'LotRevoked':
      return { ...noCredits, available: -event.data.credits, revoked: event.data.credits };
    case 'RevocationDeferred':
      return noCredits;
    case 'DebtIncurred':
      return { ...noCredits, debt: event.data.credits };
    case 'DebtSettled': {
      const { credits } = event.data;
      return { ...noCredits, available: -credits, debt: -credits, revoked: credits };
    }
  }
}

/** Everything that was ever granted. */
function grantedIn(balance: AccountBalance): number {
  return balance.purchased + balance.bonus + balance.other;
}

/** Puts on each fact the balance after it. Throws when the outcome would not be a sound account. */
function withBalances(state: AccountState, facts: readonly CreditFact[]): CreditEvent[] {
  let current = state;
  const events = facts.map((fact) => {
    current = evolve(current, fact);
    return { type: fact.type, data: { ...fact.data, balance: current.balance } } as CreditEvent;
  });
  const faults = facts.length === 0 ? [] : [...unsoundness(current), ...unpaidClaims(current)];
  if (faults.length > 0) throw new Error(`Unsound credit account: ${faults.join('; ')}`);
  return events;
}

/** What a revocation could take or call a debt and has not; nothing after a whole command. */
export function unpaidClaims(state: AccountState): string[] {
  return claimsDue(state).map((fact) => `${fact.type} is due`);
}

/** The refusal for want of credits, in the words that the start screen shows. */
function insufficientCredits(required: number, balance: number): Problem {
  const shortfall = required - balance;
  return new Problem(
    402,
    'insufficient-credits',
    insufficientCreditsSentence({ required, balance, shortfall }),
    { members: { required_credits: required, current_balance: balance, shortfall } },
  );
}

function indebted(debt: number, required: number, balance: number): Problem {
  return new Problem(
    402,
    'debt',
    `Your account owes ${debt} credits that were taken back after they had been used. Your next purchase settles them first; after that you can run optimizations again.`,
    { members: { debt_credits: debt, required_credits: required, current_balance: balance } },
  );
}

function monthlyLimit(limit: number, used: number, month: string): Problem {
  return new Problem(
    403,
    'monthly-limit',
    `Bonus credits can pay for ${limit} optimizations a month, and this month they have. Purchased credits have no monthly limit.`,
    { members: { limit, current_month: used, month } },
  );
}

function requireAmount(credits: number): void {
  if (!isAmount(credits, 1))
    throw new Problem(400, 'invalid-amount', 'An amount must be a whole number of at least 1.');
}

function isAmount(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}

function countedIn(
  current: AccountState['month'],
  month: string,
): { month: string; count: number } {
  return month > current.month
    ? { month, count: 1 }
    : { month: current.month, count: current.count + 1 };
}

function addBalances(left: AccountBalance, right: AccountBalance): AccountBalance {
  return {
    available: left.available + right.available,
    held: left.held + right.held,
    debt: left.debt + right.debt,
    purchased: left.purchased + right.purchased,
    bonus: left.bonus + right.bonus,
    other: left.other + right.other,
    consumed: left.consumed + right.consumed,
    revoked: left.revoked + right.revoked,
  };
}

function withoutKey<Value>(
  record: Readonly<Record<string, Value>>,
  key: string,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));
}

function later(left: string, right: string): string {
  return left > right ? left : right;
}

/** `version` changes whenever the shape of the state does; snapshots of another are not read. */
export const creditAccount: Decider<AccountState, CreditCommand, CreditEvent> = {
  name: 'credits',
  version: 1,
  initialState,
  decide,
  evolve,
  reactions,
};
