import { randomUUID } from 'node:crypto';
import type { Queryable } from '#db/connect.ts';
import type { StreamEvents } from '#db/streams.ts';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { refundOffer } from '#services/credits/account/cash-refunds.ts';
import { isConsistent } from '#services/credits/account/clawbacks.ts';
import { creditStream } from '#services/credits/account/events.ts';
import type {
  AccountBalance,
  ClosingReason,
  CreditEvent,
  RefundReason,
  RevocationCause,
} from '#services/credits/account/events.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import { recordedCreditEvents } from '#services/credits/audit/replay.ts';
import {
  closeCommandId,
  endRefundCommandId,
  freezeCommandId,
  grantCommandId,
  refundCommandId,
  reserveCommandId,
  settleCommandId,
} from '#services/credits/command-ids.ts';
import type { Charge } from '#services/optimizations/run/events.ts';
import { AppendError, readState } from '#services/platform/command.ts';
import type { CommandBus, CommandOutcome, Patience } from '#services/platform/command.ts';
import { notFound } from '#services/platform/http/http.ts';
import { derivedId, newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { closedAccount } from './closed-account.ts';
import type { ClosedAccount } from './closed-account.ts';

/**
 * What other slices ask of a user's credits. Every call may be repeated: its key or its command id
 * makes the repeat a no-op, and a clawback names where it should stand, not by how much it moves.
 */
export type Ledger = {
  // --- runs ---

  /**
   * Holds the price of a run.
   * @throws Problem 402 `insufficient-credits`, 402 `debt`, 403 `monthly-limit`,
   * 403 `monthly-cap-reached`, 403 `spending-frozen`, 409 `account-closed`
   */
  reserve(hold: Price & { runId: string; actor: string }): Promise<void>;
  /** What `reserve` would be refused with now, decided by the same function; null for nothing. */
  refusal(price: Price): Promise<Problem | null>;
  /** Credits that are available now, and how many of them are bonus, which the monthly limit bounds. */
  available(userId: string): Promise<{ credits: number; bonus: number }>;
  /** By API key, the credits that its runs of the current UTC month hold or have used. */
  usedByApiKeys(userId: string): Promise<Readonly<Record<string, number>>>;
  /** Ends a hold. A repeat gets the first figures; without a hold nothing is written, and all are 0. */
  settle(settled: {
    userId: string;
    runId: string;
    settlement: Charge;
    actor: string;
  }): Promise<{ captured: number; refunded: number; creditsVersion: number }>;

  // --- other services, and gifts ---

  /** @throws Problem 402 `insufficient-credits` or `debt`, 404 and 409 `account-closed` */
  consume(consumption: Consumption): Promise<{ balance: AccountBalance; repeated: boolean }>;
  /** Credits that were not bought. */
  give(gift: Gift): Promise<AccountBalance>;

  // --- payments ---

  /**
   * Grants a purchase, once for each payment key, and settles debts from it. In a closed account it is
   * granted and refunded in the same commit.
   * @throws Problem 409 when the key was granted with other figures
   */
  grantPurchase(purchase: {
    userId: string;
    purchaseId: string;
    /** `pi:<id>` or `invoice:<id>`. */
    paymentKey: string;
    packageId: string;
    credits: number;
    paidMinor: number;
    currency: string;
    /** ISO 8601: when it was paid. */
    paidAt: string;
    actor: string;
  }): Promise<{ lotId: string; isNew: boolean; state: AccountState }>;
  /**
   * Sets a clawback to `wanted` credits of the lot: available ones are revoked, held ones are taken when
   * they return, and, if it `owes`, consumed ones become debt. A smaller `wanted` gives back, newest first:
   * debts, settled debts, revoked credits.
   */
  setClawback(clawback: {
    userId: string;
    lotId: string;
    /** The dispute (`dp_…`) or, for refunds made by the bank, the charge (`ch_…`). */
    ref: string;
    cause: RevocationCause;
    wanted: number;
    owes: boolean;
    actor: string;
  }): Promise<AccountState>;
  /**
   * Moves the unreserved rest of a paid lot to `cash_pending` and enqueues `send-refund` in the same
   * commit.
   * @throws Problem 409 `refund-not-possible` with a reason in `members.reason`, 409 `refund-changed`
   * with the present number in `members.credits`
   */
  requestRefund(refund: {
    userId: string;
    lotId: string;
    refundId: string;
    /** ISO 8601; the age of the lot is tested against it. */
    requestedAt: string;
    /** `customer` within 30 days, of an open account; the others at any age, also of a closed one. */
    reason: RefundReason;
    /** How many credits the caller was shown. */
    credits?: number;
    actor: string;
  }): Promise<RequestedRefund>;
  /**
   * The money was paid (`confirmed`), or it was not (`failed`), which gives the credits back and 30 more
   * days. A confirmed refund may still fail.
   */
  endRefund(ended: {
    userId: string;
    refundId: string;
    outcome: 'confirmed' | 'failed';
    providerRefundId: string | null;
    at: string;
    actor: string;
  }): Promise<AccountState>;
  /** Freezes all spending because more of a payment went back than was paid; once for each dispute. */
  freezeSpending(freeze: {
    userId: string;
    /** The lost dispute, `dp_…`. */
    ref: string;
    lotId: string;
    overpaidMinor: number;
    currency: string;
    actor: string;
  }): Promise<void>;
  /** Lifts every freeze; returns their number. */
  unfreezeSpending(lift: { userId: string; actor: string }): Promise<number>;
  /** The possible refund of a lot at a moment, or why there is none. */
  refundOffer: typeof refundOffer;

  // --- accounts ---

  /** Closes an account for good. `held` are the credits of open runs; they settle as they would have. */
  close(closing: {
    userId: string;
    reason: ClosingReason;
    actor: string;
  }): Promise<{ held: number }>;
  /** The account as its stream says now; lots, clawbacks, refunds and debts. */
  readAccount(userId: string): Promise<AccountState>;
  /** A closed account with the money that is owed of it; null for an open one. */
  readClosedAccount(userId: string): Promise<ClosedAccount | null>;
};

export type Price = {
  userId: string;
  credits: number;
  /** UTC month, `2026-11`. */
  month: string;
  /** Runs a month that bonus credits may pay for; −1 is unlimited. */
  limit: number;
  /** The API key that starts the run, and the credits that its runs may use per UTC month. */
  apiKey?: { id: string; cap: number };
};

export type Consumption = {
  consumptionId: string;
  userId: string;
  credits: number;
  /** In the service's words; sealed under the account's key. */
  reason: string;
  /** The service's id. */
  actor: string;
  commandId: string;
  fingerprint: string;
};

export type Gift = {
  userId: string;
  credits: number;
  source: 'bonus' | 'other';
  reason: 'demo' | 'onboarding' | 'operator';
  actor: string;
  commandId: string;
  /** Sealed under the account's key, field `note`. */
  note?: string;
};

export type RequestedRefund = {
  refundId: string;
  lotId: string;
  credits: number;
  amountMinor: number;
  currency: string;
};

export type LedgerDependencies = {
  bus: CommandBus;
  pool: Queryable;
  sealer: Sealer;
  readStream: (streamId: string) => Promise<StreamEvents>;
  /** Milliseconds since 1970. */
  clock: () => number;
};

type Sent = {
  userId: string;
  actor: string;
  command: CreditCommand;
  commandId: string;
  correlationId?: string;
  fingerprint?: string;
};

type Outcome = CommandOutcome<AccountState, CreditEvent>;

export function createLedger({ bus, pool, sealer, readStream, clock }: LedgerDependencies): Ledger {
  const now = () => new Date(clock()).toISOString();
  const readAccount = async (userId: string) =>
    readState(pool, creditAccount, creditStream(userId));

  async function send({ userId, ...sent }: Sent, patience: Patience): Promise<Outcome> {
    return bus.execute(
      creditAccount,
      {
        fingerprint: fingerprintOf(sent.command),
        correlationId: sent.commandId,
        ...sent,
        streamId: creditStream(userId),
      },
      patience,
    );
  }

  async function setClawback({
    userId,
    actor,
    ...clawback
  }: Parameters<Ledger['setClawback']>[0]): Promise<AccountState> {
    const { lotId, ref: correlationId } = clawback;
    const command: CreditCommand = { type: 'SetClawback', ...clawback };
    for (let turns = 0; turns < mostTurns; turns += 1) {
      // Where it should stand may be said many times, and be another each time.
      const commandId = randomUUID();
      const sent = { userId, actor, command, commandId, correlationId };
      const { state, events } = await send(sent, 'job');
      if (isConsistent(state, lotId, clawback.ref)) return state;
      if (events.length === 0) break;
    }
    throw new Error(`The clawback ${clawback.ref} cannot be brought to where it should stand`);
  }

  return {
    async reserve({ userId, actor, ...hold }) {
      const { runId } = hold;
      const command: CreditCommand = { type: 'Reserve', ...hold };
      const commandId = reserveCommandId(runId);
      await send({ userId, actor, command, commandId, correlationId: runId }, 'http');
    },
    async refusal({ userId, ...price }) {
      const state = await readAccount(userId);
      try {
        creditAccount.decide({ type: 'Reserve', runId: '', ...price }, state);
        return null;
      } catch (error) {
        if (error instanceof Problem) return error;
        throw error;
      }
    },
    async available(userId) {
      const { balance, lots } = await readAccount(userId);
      const bonus = lots.filter(({ source }) => source === 'bonus');
      return {
        credits: balance.available,
        bonus: bonus.reduce((sum, { available }) => sum + available, 0),
      };
    },
    async usedByApiKeys(userId) {
      const { keySpending } = await readAccount(userId);
      return keySpending.month < now().slice(0, 7) ? {} : keySpending.credits;
    },
    async settle({ userId, actor, ...settled }) {
      const { runId } = settled;
      const command: CreditCommand = { type: 'Settle', ...settled };
      const commandId = settleCommandId(runId);
      const sent = { userId, actor, command, commandId, correlationId: runId };
      const { events, version } = await send(sent, 'job');
      return {
        captured: creditsIn(events, 'CreditsCaptured'),
        refunded: creditsIn(events, 'CreditsReturned'),
        creditsVersion: version,
      };
    },
    async consume({ consumptionId, credits, reason, ...sent }) {
      const note = await sealNote(sealer, sent.userId, reason);
      const command: CreditCommand = { type: 'Consume', consumptionId, credits, sealed: { note } };
      const { events, state, repeated } = await send(
        { ...sent, command, correlationId: consumptionId },
        'http',
      );
      // Of a repeat: as it was after the first time.
      return { balance: events[0]?.data.balance ?? state.balance, repeated };
    },
    async give({ userId, actor, commandId, note, ...gift }) {
      const command: CreditCommand = {
        type: 'Grant',
        lotId: newId('lot', clock()),
        ...gift,
        paidMinor: null,
        currency: null,
        paymentKey: null,
        grantedAt: now(),
        ...(note === undefined ? {} : { sealed: { note } }),
      };
      const { state } = await send({ userId, actor, command, commandId }, 'http');
      return state.balance;
    },
    async grantPurchase({ userId, actor, packageId, paidAt, ...paid }) {
      const lotId = derivedId('lot', paid.paymentKey);
      const command: CreditCommand = {
        type: 'Grant',
        lotId,
        source: 'purchase',
        ...paid,
        grantedAt: paidAt,
        reason: packageId,
        ifClosed: { refundId: derivedId('ref', lotId), requestedAt: now() },
      };
      const commandId = grantCommandId(paid.paymentKey);
      const sent = { userId, actor, command, commandId, correlationId: paid.purchaseId };
      const { state, events, repeated } = await send(sent, 'job').catch(refuseSecondLot);
      const lot = state.lots.find(({ paymentKey }) => paymentKey === paid.paymentKey);
      return { lotId: lot?.lotId ?? lotId, isNew: !repeated && events.length > 0, state };
    },
    setClawback,
    async requestRefund({ userId, actor, ...refund }) {
      const { refundId } = refund;
      const command: CreditCommand = { type: 'RequestRefund', ...refund };
      const commandId = refundCommandId(refundId);
      const sent = { userId, actor, command, commandId, correlationId: refundId };
      const { state } = await send(sent, 'http');
      return requestedIn(state, refundId);
    },
    async endRefund({ userId, actor, ...ended }) {
      const { refundId, outcome } = ended;
      const { refunds } = await readAccount(userId);
      const command: CreditCommand = { type: 'EndRefund', ...ended };
      const commandId = endRefundCommandId(refundId, outcome, refunds[refundId]?.ends ?? 0);
      const sent = { userId, actor, command, commandId, correlationId: refundId };
      const { state } = await send(sent, 'job');
      const { lotId } = requestedIn(state, refundId);
      if (isConsistent(state, lotId, refundId)) return state;
      // One command gives back only so much; a clawback of the refund may have more.
      const end = { ref: refundId, cause: 'cash_refund', wanted: 0, owes: true } as const;
      return setClawback({ userId, actor, lotId, ...end });
    },
    async freezeSpending({ userId, actor, ...freeze }) {
      const { ref } = freeze;
      const command: CreditCommand = { type: 'FreezeSpending', ...freeze };
      const commandId = freezeCommandId(ref);
      await send({ userId, actor, command, commandId, correlationId: ref }, 'job');
    },
    async unfreezeSpending({ userId, actor }) {
      const command: CreditCommand = { type: 'UnfreezeSpending' };
      const { events } = await send({ userId, actor, command, commandId: randomUUID() }, 'job');
      const [lifted] = events;
      return lifted?.type === 'SpendingUnfrozen' ? lifted.data.freezes : 0;
    },
    refundOffer,
    async close({ userId, reason, actor }) {
      const command: CreditCommand = { type: 'CloseAccount', reason };
      const commandId = closeCommandId(userId);
      const { state } = await send({ userId, actor, command, commandId }, 'job');
      return { held: state.balance.held };
    },
    readAccount,
    readClosedAccount: async (userId) =>
      closedAccount(recordedCreditEvents((await readStream(creditStream(userId))).events)),
  };
}

/** Each turn gives back part of a clawback's excess. */
const mostTurns = 1_000;

function creditsIn(
  events: readonly CreditEvent[],
  type: 'CreditsCaptured' | 'CreditsReturned',
): number {
  return events.reduce((sum, event) => (event.type === type ? sum + event.data.credits : sum), 0);
}

/** An account without a key is being erased, which the service may not know yet. */
async function sealNote(sealer: Sealer, userId: string, reason: string): Promise<string> {
  try {
    await sealer.createDataKey('account', userId, userId);
    return await sealer.seal(userId, { stream: creditStream(userId), field: 'note' }, reason);
  } catch (error) {
    if (error instanceof ErasedKeyError) throw notFound('User not found.');
    throw error;
  }
}

/** A lot is named after its payment, so either of the two may be found first. */
const oneLotAPayment: ReadonlySet<string> = new Set(['paid_lot_pkey', 'paid_lot_payment_key_key']);

/** The database knows of all accounts' payments, a decision only of those of its own. */
function refuseSecondLot(error: unknown): never {
  if (error instanceof AppendError && oneLotAPayment.has(error.constraint))
    throw new Problem('lot-exists', 'This payment was granted to another account.');
  throw error;
}

function requestedIn(state: AccountState, refundId: string): RequestedRefund {
  const refund = state.refunds[refundId];
  if (!refund) throw new Error(`The refund ${refundId} was not recorded`);
  const { lotId, credits, amountMinor, currency } = refund;
  return { refundId, lotId, credits, amountMinor, currency };
}
