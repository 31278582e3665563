import type { Charge } from '#services/optimizations/run/events.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Decider } from '#services/platform/command.ts';
import { evolve, initialState } from './state.ts';
import type { AccountState, Debt, Hold } from './state.ts';
import { refundDaysAfter, refundOffer, refundRefusals } from './cash-refunds.ts';
import type { RefundRefusal } from './cash-refunds.ts';
import { clawbacksDue, eventsWaiting, nextGivenBack, unpaidClawbacks } from './clawbacks.ts';
import { insufficientCreditsSentence, spendingFrozenSentence } from '#services/credits/contract.ts';
import { draw, drawOrder, sumOf, takeFrom } from './lots.ts';
import type { Lot } from './lots.ts';
import { reactions } from './reactions.ts';
import { unsoundness } from './soundness.ts';
import type {
  AccountBalance,
  ClosingReason,
  CreditEvent,
  CreditFact,
  KeyMonth,
  LotShare,
  LotSource,
  RevocationCause,
  RefundReason,
} from './events.ts';

/**
 * The decider of one user's credits: commands to events. `state.ts` folds the events.
 */
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
      /** For a purchase: the refund that is requested in the same commit if the account is closed. */
      ifClosed?: { refundId: string; requestedAt: string };
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
      /** The API key that starts the run, and the credits that its runs may use per UTC month. */
      apiKey?: { id: string; cap: number };
    }
  | { type: 'Settle'; runId: string; settlement: Charge }
  | {
      type: 'SetClawback';
      lotId: string;
      ref: string;
      cause: RevocationCause;
      /** Credits of the lot that should be taken in all; 0 ends the clawback. */
      wanted: number;
      owes: boolean;
    }
  | {
      type: 'RequestRefund';
      refundId: string;
      lotId: string;
      /** ISO 8601; the age of the lot is tested against it. */
      requestedAt: string;
      reason: RefundReason;
      /** How many credits the caller was shown; another number by now is refused. */
      credits?: number;
    }
  | {
      type: 'EndRefund';
      refundId: string;
      outcome: 'confirmed' | 'failed';
      providerRefundId: string | null;
      /** ISO 8601 */
      at: string;
    }
  | { type: 'Consume'; consumptionId: string; credits: number; sealed: { note: string } }
  | {
      type: 'FreezeSpending';
      /** The lost dispute; each freezes once. */
      ref: string;
      lotId: string;
      /** What went back beyond what was paid. */
      overpaidMinor: number;
      currency: string;
    }
  | { type: 'UnfreezeSpending' }
  | { type: 'CloseAccount'; reason: ClosingReason };

type Command<Type extends CreditCommand['type']> = Extract<CreditCommand, { type: Type }>;

/** Lots that one account can hold. Purchases are paid for, so they are granted beyond it, too. */
const maxLots = 1_000;

/** One command appends a bounded number of events; the remaining debts wait for the next purchase. */
const maxDebtsPerPurchase = 50;

/** Clawbacks may wait for open runs only while settling them causes at most so many events. */
const maxEventsWaiting = 60;

/** Events of one command that give back clawed back credits; the next command continues. */
const maxGivenBack = 20;

const maxClawbacks = 20;

/**
 * Throws a `Problem` when the command is refused: 402 `insufficient-credits` or `debt`, 403
 * `monthly-limit`, `monthly-cap-reached` or `spending-frozen`, 404 `unknown-lot` or `unknown-refund`, 409 `account-closed`, `refund-not-possible`,
 * `refund-changed` and for what contradicts the account, 400 `invalid-amount`.
 * Returns no events when the same was done before.
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
    case 'SetClawback':
      return setClawback(command, state);
    case 'RequestRefund':
      return requestRefund(command, state);
    case 'EndRefund':
      return endRefund(command, state);
    case 'Consume':
      return consume(command, state);
    case 'FreezeSpending':
      return freeze(command, state);
    case 'UnfreezeSpending': {
      const { freezes } = state.balance;
      return freezes === 0 ? [] : [{ type: 'SpendingUnfrozen', data: { freezes } }];
    }
    case 'CloseAccount':
      return state.closed ? [] : [{ type: 'AccountClosed', data: { reason: command.reason } }];
  }
}

/**
 * A closed account receives nothing and spends nothing. Open runs still settle, and payments are still
 * granted, clawed back and refunded.
 */
function requireOpenAccount({ closed }: AccountState): void {
  if (closed) throw new Problem('account-closed', 'This account is closed.');
}

function grant(command: Command<'Grant'>, state: AccountState): CreditFact[] {
  const { type: _, ifClosed, ...granted } = command;
  requireAmount(granted.credits);
  if (granted.paidMinor !== null && !isAmount(granted.paidMinor, 0))
    throw new Problem('invalid-amount', 'What was paid must be a whole number, 0 or more.');
  if ((granted.source === 'purchase') !== (granted.paymentKey !== null))
    throw new Problem('payment-key', 'A purchase, and nothing else, carries a payment key.');
  if (granted.source === 'purchase' && !isPaidFor(granted))
    throw new Problem(
      'purchase',
      'A purchase needs its id, the amount that was paid, and the currency.',
    );
  const known = state.lots.find(
    (lot) =>
      lot.lotId === granted.lotId ||
      (lot.paymentKey !== null && lot.paymentKey === granted.paymentKey),
  );
  if (known) return requireSameGrant(known, granted);
  if (granted.source !== 'purchase' || ifClosed === undefined) requireOpenAccount(state);
  if (!Number.isSafeInteger(grantedIn(state.balance) + granted.credits))
    throw new Problem('invalid-amount', "That's more than an account can hold.");
  if (granted.source !== 'purchase' && state.lots.length >= maxLots)
    throw new Problem('too-many-lots', 'This account has reached its limit of grants.');
  const fact: CreditFact = { type: 'CreditsGranted', data: granted };
  if (granted.source !== 'purchase') return [fact];
  const facts = [fact, ...debtsSettledBy(granted, state.debts)];
  return state.closed && ifClosed
    ? [...facts, ...refundedAtOnce(facts.reduce(evolve, state), granted.lotId, ifClosed)]
    : facts;
}

/** A purchase that was paid after the account was closed is refunded at once. */
function refundedAtOnce(
  state: AccountState,
  lotId: string,
  asked: NonNullable<Command<'Grant'>['ifClosed']>,
): CreditFact[] {
  const lot = state.lots.find((candidate) => candidate.lotId === lotId);
  if (!lot) return [];
  const offer = refundOffer(state, lot, Date.parse(asked.requestedAt), 'erasure');
  // Debts may have used up the whole lot.
  if ('refusal' in offer) return [];
  return [refundRequested({ ...asked, reason: 'erasure' }, lot, offer)];
}

function isPaidFor({ purchaseId, paidMinor, currency }: Omit<Command<'Grant'>, 'type'>): boolean {
  return purchaseId !== undefined && paidMinor !== null && currency !== null;
}

/** A payment is granted once, however often it is reported. */
function requireSameGrant(known: Lot, granted: Omit<Command<'Grant'>, 'type'>): [] {
  if (
    known.granted === granted.credits &&
    known.source === granted.source &&
    known.paymentKey === granted.paymentKey
  )
    return [];
  throw new Problem(
    'lot-exists',
    'This lot or payment was already granted with different amounts.',
  );
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
  requireOpenAccount(state);
  requireSpendable(credits, state.balance);
  const apiKey = command.apiKey && withinCap(command.month, credits, command.apiKey, state);
  // A process whose clock is behind must not reopen last month's count.
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
      data: {
        runId,
        credits,
        allocations,
        bonusMonth: paidByBonus ? month : null,
        ...(apiKey ? { apiKey } : {}),
      },
    },
  ];
}

/** The month that a hold of an API key counts in. @throws Problem 403 `monthly-cap-reached` */
function withinCap(
  currentMonth: string,
  credits: number,
  { id, cap }: NonNullable<Command<'Reserve'>['apiKey']>,
  { keySpending }: AccountState,
): KeyMonth {
  const month = later(currentMonth, keySpending.month);
  const used = month === keySpending.month ? (keySpending.credits[id] ?? 0) : 0;
  if (used + credits > cap) throw monthlyCap({ cap, used, credits, month });
  return { id, month };
}

/** A closed account is frozen, too, so that the operator is notified. */
function freeze(command: Command<'FreezeSpending'>, state: AccountState): CreditFact[] {
  const { type: _, ...frozen } = command;
  if (!state.lots.some(({ lotId }) => lotId === frozen.lotId))
    throw new Problem('unknown-lot', 'This account has no such lot.');
  if (state.frozenBy.includes(frozen.ref)) return [];
  return [{ type: 'SpendingFrozen', data: frozen }];
}

function requireSpendable(credits: number, { available, debt, freezes }: AccountBalance): void {
  if (freezes > 0) throw new Problem('spending-frozen', spendingFrozenSentence);
  if (debt > 0) throw indebted(debt, credits, available);
  if (available < credits) throw insufficientCredits(credits, available);
}

/**
 * Draws in the same order as a run. The monthly limit is for runs only. A repeat is recognised by its
 * message ids.
 */
function consume(command: Command<'Consume'>, state: AccountState): CreditFact[] {
  const { consumptionId, credits, sealed } = command;
  requireAmount(credits);
  requireOpenAccount(state);
  requireSpendable(credits, state.balance);
  const byLot = draw(drawOrder(state.lots), credits);
  return [{ type: 'CreditsConsumed', data: { consumptionId, credits, byLot, sealed } }];
}

function settle(command: Command<'Settle'>, state: AccountState): CreditFact[] {
  const hold = state.holds[command.runId];
  if (!hold) return [];
  return withWhatIsDue(state, settlementOf(command, hold));
}

/** Clawbacks on a lot take what flows back into it before anything else can use it. */
function withWhatIsDue(state: AccountState, facts: readonly CreditFact[]): CreditFact[] {
  return [...facts, ...clawbacksDue(facts.reduce(evolve, state))];
}

function settlementOf({ runId, settlement }: Command<'Settle'>, hold: Hold): CreditFact[] {
  const key = hold.apiKey ? { apiKey: hold.apiKey } : {};
  // The credits that were drawn last return first, each to its lot.
  const backwards = hold.allocations.toReversed();
  if (settlement.kind === 'release')
    return [
      {
        type: 'CreditsReleased',
        data: { runId, credits: hold.credits, byLot: backwards, ...key },
      },
    ];
  const { capture, refund } = settlement;
  requireAmount(capture);
  if (refund !== 0) requireAmount(refund);
  // A hold is captured whole.
  if (capture !== hold.credits || refund > capture)
    throw new Problem('settlement-mismatch', "The settlement doesn't match what was reserved.");
  const captured: CreditFact = {
    type: 'CreditsCaptured',
    data: { runId, credits: capture, byLot: hold.allocations },
  };
  if (refund === 0) return [captured];
  return [
    captured,
    {
      type: 'CreditsReturned',
      data: { runId, credits: refund, byLot: takeFrom(backwards, refund), cause: runId, ...key },
    },
  ];
}

/**
 * Sets what a clawback takes. If it has more to give back than fits into one command, the caller repeats
 * the command. Other lots change only if they had settled a debt of this clawback.
 */
function setClawback(command: Command<'SetClawback'>, state: AccountState): CreditFact[] {
  const { lotId, ref, cause, owes } = command;
  if (!isAmount(command.wanted, 0))
    throw new Problem('invalid-amount', 'A clawback is a whole number of credits, 0 or more.');
  const lot = state.lots.find((candidate) => candidate.lotId === lotId);
  if (!lot) throw new Problem('unknown-lot', 'This account has no such lot.');
  const wanted = Math.min(command.wanted, lot.granted);
  const known = lot.clawbacks.find((clawback) => clawback.ref === ref);
  if (!known && wanted === 0) return [];
  if (!known && lot.clawbacks.length >= maxClawbacks)
    throw new Problem('too-many-clawbacks', 'This lot has reached its limit of clawbacks.');
  const stands = known && known.wanted === wanted && known.owes === owes && known.cause === cause;
  return withGivenBack(
    state,
    stands ? [] : [{ type: 'ClawbackSet', data: { lotId, ref, cause, credits: wanted, owes } }],
    { lotId, ref },
  );
}

/** The facts, then what this clawback gives back, then what all clawbacks take of that. */
function withGivenBack(
  state: AccountState,
  facts: readonly CreditFact[],
  { lotId, ref }: { lotId: string; ref: string },
): CreditFact[] {
  const all = withWhatIsDue(state, facts);
  let current = all.reduce(evolve, state);
  while (all.length < maxGivenBack) {
    const next = nextGivenBack(current, lotId, ref);
    if (next.length === 0) break;
    const more = withWhatIsDue(current, next);
    current = more.reduce(evolve, current);
    all.push(...more);
  }
  const waiting = eventsWaiting(current);
  if (waiting > maxEventsWaiting && waiting > eventsWaiting(state))
    throw new Problem(
      'clawbacks-waiting',
      'Try again once your running optimizations have finished.',
    );
  return all;
}

function requestRefund(command: Command<'RequestRefund'>, state: AccountState): CreditFact[] {
  const { refundId, lotId, requestedAt, reason, credits: agreed } = command;
  const known = state.refunds[refundId];
  if (known?.lotId === lotId) return [];
  if (known) throw new Problem('refund-exists', 'This refund belongs to a different lot.');
  const lot = state.lots.find((candidate) => candidate.lotId === lotId);
  if (!lot) throw new Problem('unknown-lot', 'This account has no such lot.');
  if (reason === 'customer') requireOpenAccount(state);
  const offer = refundOffer(state, lot, Date.parse(requestedAt), reason);
  if ('refusal' in offer) throw refundNotPossible(offer.refusal);
  if (agreed !== undefined && offer.credits !== agreed) throw refundChanged(offer.credits);
  return [refundRequested(command, lot, offer)];
}

function refundRequested(
  { refundId, requestedAt, reason }: Omit<Command<'RequestRefund'>, 'type' | 'lotId' | 'credits'>,
  { lotId, currency: paidIn }: Lot,
  { credits, amountMinor }: { credits: number; amountMinor: number },
): CreditFact {
  const currency = paidIn ?? '';
  return {
    type: 'CashRefundRequested',
    data: { refundId, lotId, credits, amountMinor, currency, requestedAt, reason },
  };
}

function refundNotPossible(reason: RefundRefusal): Problem {
  return new Problem('refund-not-possible', refundRefusals[reason], { members: { reason } });
}

function refundChanged(credits: number): Problem {
  return new Problem(
    'refund-changed',
    `You now have ${credits === 1 ? '1 unused credit' : `${credits} unused credits`} here. Check the new amount and ask again.`,
    { members: { credits } },
  );
}

function endRefund(command: Command<'EndRefund'>, state: AccountState): CreditFact[] {
  const { refundId, outcome, providerRefundId, at } = command;
  const refund = state.refunds[refundId];
  if (!refund) throw new Problem('unknown-refund', 'This account has no such refund.');
  if (refund.status === outcome) return [];
  const { lotId, credits, status } = refund;
  const ended = { refundId, lotId, credits, providerRefundId, at };
  const clawback = (wanted: number): CreditFact => ({
    type: 'ClawbackSet',
    data: { lotId, ref: refundId, cause: 'cash_refund', credits: wanted, owes: true },
  });
  if (outcome === 'confirmed') {
    if (status !== 'failed')
      return [{ type: 'CashRefundConfirmed', data: { ...ended, from: 'pending' } }];
    const late: CreditFact = { type: 'CashRefundConfirmed', data: { ...ended, from: 'failed' } };
    return withGivenBack(state, [late, clawback(credits)], { lotId, ref: refundId });
  }
  const from = status === 'pending' ? 'pending' : refund.clawedBack ? 'clawed_back' : 'confirmed';
  const failed: CreditFact = {
    type: 'CashRefundFailed',
    data: { ...ended, from, refundableUntil: refundDaysAfter(at) },
  };
  return from === 'clawed_back'
    ? withGivenBack(state, [failed, clawback(0)], { lotId, ref: refundId })
    : withWhatIsDue(state, [failed]);
}

function grantedIn(balance: AccountBalance): number {
  return balance.purchased + balance.bonus + balance.other;
}

/** Adds to each fact the balance after it. Throws when the account would be unsound. */
function withBalances(state: AccountState, facts: readonly CreditFact[]): CreditEvent[] {
  let current = state;
  const events = facts.map((fact) => {
    current = evolve(current, fact);
    return { type: fact.type, data: { ...fact.data, balance: current.balance } } as CreditEvent;
  });
  const faults = facts.length === 0 ? [] : [...unsoundness(current), ...unpaidClawbacks(current)];
  if (faults.length > 0) throw new Error(`Unsound credit account: ${faults.join('; ')}`);
  return events;
}

function insufficientCredits(required: number, balance: number): Problem {
  const shortfall = required - balance;
  return new Problem(
    'insufficient-credits',
    insufficientCreditsSentence({ required, balance, shortfall }),
    { members: { required_credits: required, current_balance: balance, shortfall } },
  );
}

function indebted(debt: number, required: number, balance: number): Problem {
  return new Problem(
    'debt',
    `You owe ${debt} credits you used before their payment was reversed. Your next purchase settles them first. Then you can run optimizations again.`,
    { members: { debt_credits: debt, required_credits: required, current_balance: balance } },
  );
}

function monthlyLimit(limit: number, used: number, month: string): Problem {
  return new Problem(
    'monthly-limit',
    `Bonus credits can pay for ${limit} optimizations a month, and you've reached that. Purchased credits have no monthly limit.`,
    { members: { limit, current_month: used, month } },
  );
}

function monthlyCap({
  cap,
  used,
  credits,
  month,
}: Record<'cap' | 'used' | 'credits', number> & { month: string }): Problem {
  const remaining = Math.max(0, cap - used);
  return new Problem(
    'monthly-cap-reached',
    `This API key's monthly cap in credits is ${cap}, of which ${remaining} are left this month (UTC). The run needs ${credits}.`,
    {
      members: {
        monthly_cap: cap,
        remaining_credits: remaining,
        required_credits: credits,
        month,
      },
    },
  );
}

function requireAmount(credits: number): void {
  if (!isAmount(credits, 1))
    throw new Problem('invalid-amount', 'An amount must be a whole number of at least 1.');
}

function isAmount(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}

function later(left: string, right: string): string {
  return left > right ? left : right;
}

/** `version` changes whenever the shape of the state does; snapshots of another version are ignored. */
export const creditAccount: Decider<AccountState, CreditCommand, CreditEvent> = {
  name: 'credits',
  version: 5,
  initialState,
  decide,
  evolve,
  reactions,
};

/**
 * What the caller asked for, without what the server adds: clock, month and limit may differ in a
 * repeat.
 */
export function fingerprintOf(command: CreditCommand): string {
  switch (command.type) {
    case 'Grant':
      return `grant ${command.source} ${command.credits} ${command.paidMinor ?? '-'} ${command.currency ?? '-'} ${command.paymentKey ?? '-'}`;
    case 'Reserve':
      return `reserve ${command.runId} ${command.credits}`;
    case 'Settle':
      return command.settlement.kind === 'release'
        ? `release ${command.runId}`
        : `capture ${command.runId} ${command.settlement.capture} ${command.settlement.refund}`;
    case 'SetClawback':
      return `clawback ${command.lotId} ${command.ref} ${command.cause} ${command.wanted} ${command.owes}`;
    case 'RequestRefund':
      return `refund ${command.refundId} ${command.lotId} ${command.reason}${command.credits === undefined ? '' : ` ${command.credits}`}`;
    case 'EndRefund':
      return `end-refund ${command.refundId} ${command.outcome}`;
    case 'Consume':
      return `consume ${command.credits}`;
    case 'FreezeSpending':
      return `freeze ${command.ref} ${command.lotId}`;
    case 'UnfreezeSpending':
      return 'unfreeze';
    case 'CloseAccount':
      return `close ${command.reason}`;
  }
}
