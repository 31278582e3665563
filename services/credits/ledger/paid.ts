import { randomUUID } from 'node:crypto';
import type { Queryable } from '#db/connect.ts';
import type { StreamEvents } from '#db/streams.ts';
import { AppendError, readState } from '#services/platform/command.ts';
import type { CommandBus, CommandOutcome, Patience } from '#services/platform/command.ts';
import { derivedId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { refundOffer } from '#services/credits/account/cash-refunds.ts';
import type { RefundOffer } from '#services/credits/account/cash-refunds.ts';
import { isConsistent } from '#services/credits/account/clawbacks.ts';
import { closedAccount } from './closed-account.ts';
import type { ClosedAccount } from './closed-account.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import { recordedCreditEvents } from '#services/credits/audit/replay.ts';
import type { CreditEvent, RefundReason } from '#services/credits/account/events.ts';
import { creditStream } from '#services/credits/account/events.ts';
import {
  endRefundCommandId,
  freezeCommandId,
  grantCommandId,
  refundCommandId,
} from '#services/credits/command-ids.ts';

/**
 * What payments ask of a person's ledger. Every call may be repeated: by its key for grants and
 * refunds, and because a clawback names where it should stand and not by how much it moves.
 */
export type PaidCredits = {
  /**
   * Grants what was paid for, once for each payment key, and settles debts from it. Into an account
   * that was closed it is granted and asked back in the same commit.
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
   * Brings a clawback on a lot to where it should stand: of `wanted` credits of the lot, what is available
   * is revoked, what is held is taken when it comes back, and, if it `owes`, what is consumed becomes
   * debt. A smaller `wanted` gives back, newest first: debts, what settled them, what was revoked.
   * `ref` is the dispute (`dp_…`) or the charge (`ch_…`, for refunds made by the bank).
   */
  setClawback(clawback: {
    userId: string;
    lotId: string;
    ref: string;
    cause: 'dispute' | 'cash_refund' | 'correction';
    wanted: number;
    owes: boolean;
    actor: string;
  }): Promise<AccountState>;
  /**
   * Moves the unreserved rest of a paid lot to `cash_pending` and enqueues `send-refund` in the same
   * commit. `refundId` makes a repeat the same refund.
   * @throws Problem 409 `refund-not-possible` with a reason in `members.reason`, 409 `refund-changed`
   * with the number that it is by now in `members.credits`
   */
  requestRefund(refund: {
    userId: string;
    lotId: string;
    refundId: string;
    /** ISO 8601; the age of the lot is tested against it. */
    requestedAt: string;
    /** `customer` within 30 days, of an open account; the others at any age, also of a closed one. */
    reason: RefundReason;
    /** Of how many credits whoever asks was told. */
    credits?: number;
    actor: string;
  }): Promise<RequestedRefund>;
  /**
   * What became of the money: `confirmed`, or `failed`, which gives the credits back and 30 more days;
   * a confirmed one may still fail. Again the same: nothing.
   */
  endRefund(ended: {
    userId: string;
    refundId: string;
    outcome: 'confirmed' | 'failed';
    providerRefundId: string | null;
    at: string;
    actor: string;
  }): Promise<AccountState>;
  /**
   * Freezes all spending because more of a payment went back than was paid. A dispute does so once,
   * also when an operator has lifted it since.
   */
  freezeSpending(freeze: {
    userId: string;
    /** The lost dispute, `dp_…`. */
    ref: string;
    lotId: string;
    overpaidMinor: number;
    currency: string;
    actor: string;
  }): Promise<void>;
  /** Lifts every freeze that stands; how many there were. */
  unfreezeSpending(lift: { userId: string; actor: string }): Promise<number>;
  /** The account as its stream says now; lots, clawbacks, refunds and debts. */
  readAccount(userId: string): Promise<AccountState>;
  /** A closed one, with what is owed of it in money; null for one that is open. */
  readClosedAccount(userId: string): Promise<ClosedAccount | null>;
  /** What could be asked back of a lot of this account at a moment, or why nothing could; asks nobody. */
  refundOffer(state: AccountState, lot: Lot, nowMs: number, reason?: RefundReason): RefundOffer;
};

export type RequestedRefund = {
  refundId: string;
  lotId: string;
  credits: number;
  amountMinor: number;
  currency: string;
};

export type PaidCreditsDependencies = {
  bus: CommandBus;
  pool: Queryable;
  readStream: (streamId: string) => Promise<StreamEvents>;
  /** Milliseconds since 1970. */
  clock: () => number;
};

export function createPaidCredits(dependencies: PaidCreditsDependencies): PaidCredits {
  const { clock, pool, readStream } = dependencies;
  const readAccount = async (userId: string) =>
    readState(pool, creditAccount, creditStream(userId));
  return {
    async grantPurchase({ userId, paymentKey, packageId, paidAt, actor, ...paid }) {
      const lotId = derivedId('lot', paymentKey);
      const command: CreditCommand = {
        type: 'Grant',
        lotId,
        source: 'purchase',
        credits: paid.credits,
        paidMinor: paid.paidMinor,
        currency: paid.currency,
        paymentKey,
        purchaseId: paid.purchaseId,
        grantedAt: paidAt,
        reason: packageId,
        ifClosed: {
          refundId: derivedId('ref', lotId),
          requestedAt: new Date(clock()).toISOString(),
        },
      };
      const { state, events, repeated } = await grant(dependencies, {
        userId,
        actor,
        command,
        commandId: grantCommandId(paymentKey),
        correlationId: paid.purchaseId,
      });
      const lot = state.lots.find((candidate) => candidate.paymentKey === paymentKey);
      return {
        lotId: lot?.lotId ?? lotId,
        isNew: !repeated && events.length > 0,
        state,
      };
    },
    setClawback: async (clawback) => setClawback(dependencies, clawback),
    async requestRefund({ userId, actor, ...refund }) {
      const { state } = await send(
        dependencies,
        {
          userId,
          actor,
          command: { type: 'RequestRefund', ...refund },
          commandId: refundCommandId(refund.refundId),
          correlationId: refund.refundId,
        },
        'http',
      );
      return requestedIn(state, refund.refundId);
    },
    async endRefund({ userId, actor, ...ended }) {
      const { refunds } = await readAccount(userId);
      const { refundId, outcome } = ended;
      const { state } = await send(dependencies, {
        userId,
        actor,
        command: { type: 'EndRefund', ...ended },
        commandId: endRefundCommandId(refundId, outcome, refunds[refundId]?.ends ?? 0),
        correlationId: refundId,
      });
      const { lotId } = requestedIn(state, refundId);
      // One command gives back so much; a clawback of the refund may have more.
      return isConsistent(state, lotId, refundId)
        ? state
        : setClawback(dependencies, {
            userId,
            actor,
            lotId,
            ref: refundId,
            cause: 'cash_refund',
            wanted: 0,
            owes: true,
          });
    },
    async freezeSpending({ userId, actor, ...freeze }) {
      await send(dependencies, {
        userId,
        actor,
        command: { type: 'FreezeSpending', ...freeze },
        commandId: freezeCommandId(freeze.ref),
        correlationId: freeze.ref,
      });
    },
    async unfreezeSpending({ userId, actor }) {
      const commandId = randomUUID();
      const { events } = await send(dependencies, {
        userId,
        actor,
        command: { type: 'UnfreezeSpending' },
        commandId,
        correlationId: commandId,
      });
      const [lifted] = events;
      return lifted?.type === 'SpendingUnfrozen' ? lifted.data.freezes : 0;
    },
    readAccount,
    readClosedAccount: async (userId) =>
      closedAccount(recordedCreditEvents((await readStream(creditStream(userId))).events)),
    refundOffer,
  };
}

async function setClawback(
  dependencies: PaidCreditsDependencies,
  { userId, actor, ...clawback }: Parameters<PaidCredits['setClawback']>[0],
): Promise<AccountState> {
  for (let turns = 0; turns < mostTurns; turns += 1) {
    const { state, events } = await send(dependencies, {
      userId,
      actor,
      command: { type: 'SetClawback', ...clawback },
      // Where it should stand may be told many times, and be another each time.
      commandId: randomUUID(),
      correlationId: clawback.ref,
    });
    if (isConsistent(state, clawback.lotId, clawback.ref)) return state;
    if (events.length === 0) break;
  }
  throw new Error(`The clawback ${clawback.ref} cannot be brought to where it should stand`);
}

/** Each turn gives back some of what a clawback has beyond what it wants. */
const mostTurns = 1_000;

type Sent = {
  userId: string;
  actor: string;
  command: CreditCommand;
  commandId: string;
  correlationId: string;
};

type Outcome = CommandOutcome<AccountState, CreditEvent>;

async function send(
  { bus }: PaidCreditsDependencies,
  { userId, ...sent }: Sent,
  patience: Patience = 'job',
): Promise<Outcome> {
  return bus.execute(
    creditAccount,
    {
      ...sent,
      streamId: creditStream(userId),
      fingerprint: fingerprintOf(sent.command),
    },
    patience,
  );
}

/** A lot is named after its payment, so either of the two may be found first. */
const oneLotAPayment: ReadonlySet<string> = new Set(['paid_lot_pkey', 'paid_lot_payment_key_key']);

/** The database knows of all accounts' payments, a decision only of those of its own. */
async function grant(dependencies: PaidCreditsDependencies, sent: Sent): Promise<Outcome> {
  try {
    return await send(dependencies, sent);
  } catch (error) {
    if (error instanceof AppendError && oneLotAPayment.has(error.constraint))
      throw new Problem('lot-exists', 'This payment was granted to another account.');
    throw error;
  }
}

function requestedIn(state: AccountState, refundId: string): RequestedRefund {
  const refund = state.refunds[refundId];
  if (!refund) throw new Error(`The refund ${refundId} was not recorded`);
  const { lotId, credits, amountMinor, currency } = refund;
  return { refundId, lotId, credits, amountMinor, currency };
}
