import type { Charge, Settlement } from '#services/optimizations/run/events.ts';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { unpaidClawbacks } from '#services/credits/account/clawbacks.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import {
  balanceChange,
  balanceParts,
  movements,
  postings,
  trialBalance,
} from '#services/credits/account/movements.ts';
import type { LedgerAccount, TrialBalance } from '#services/credits/account/movements.ts';
import { unsoundness } from '#services/credits/account/soundness.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import type {
  AccountBalance,
  CreditEvent,
  CreditEventType,
  CreditFact,
} from '#services/credits/account/events.ts';

/**
 * Recomputes an account from its events and compares: each event's own `balance` with the one that the
 * amounts give, and the lots with the account. Differences are returned; a wrong ledger throws nothing.
 */
export type RecordedCreditEvent = {
  /** Position in the whole log. */
  position: number;
  /** ISO 8601 UTC. */
  at: string;
  event: CreditEvent;
};

/** Replays up to and including a position in the log or a moment. */
export type Cut = { position: number } | { at: string };

/** What an event moved in one lot; all together add up to what was granted into it, or to 0. */
export type LotChange = {
  lot_id: string;
  available: number;
  held: number;
  consumed: number;
  cash_pending: number;
  cash_refunded: number;
  revoked: number;
};

export type ReplayEntry = {
  position: number;
  at: string;
  type: CreditEventType;
  /**
   * Signed: what the event adds to the user's credits (available and held, less debt). 0 where credits
   * only change their place, as in a reservation; `lot_changes` says how.
   */
  amount: number;
  available: number;
  held: number;
  debt: number;
  lot_changes: LotChange[];
  /**
   * A run id, the reason of a grant or a closing, the cause of a revocation, the name of a debt, the
   * id of a refund.
   */
  cause: string;
};

export type Difference = {
  /** The event it was found at; null for the account as a whole. */
  position: number | null;
  what: string;
  recorded: number | string;
  recomputed: number | string;
};

/** The output of `credits replay --json`. */
export type Replay = {
  user_id: string;
  /** Time of the last event that was replayed; null when there is none. */
  as_of: string | null;
  entries: ReplayEntry[];
  /** As recomputed from the amounts. */
  balance: AccountBalance;
  /** There are no differences. */
  verified: boolean;
  differences: Difference[];
  trial_balance: TrialBalance;
};

/** `recorded` is one account's stream in its order. Without a cut it is replayed to its end. */
export function replay(
  userId: string,
  recorded: readonly RecordedCreditEvent[],
  cut?: Cut,
): Replay {
  const included = cut ? recorded.filter((item) => isWithin(item, cut)) : recorded;
  const sums = new Map<LedgerAccount, number>();
  const entries: ReplayEntry[] = [];
  const differences: Difference[] = [];
  let state = initialState();
  for (const item of included) {
    const next = evolve(state, item.event);
    entries.push(entryOf(item, state, next));
    differences.push(
      ...balanceDifferences(item.position, item.event.data.balance, next.balance),
      ...faults(item.position, unsoundness(next)),
    );
    for (const { account, credits } of postings(item.event))
      sums.set(account, (sums.get(account) ?? 0) + credits);
    state = next;
  }
  // A cut may fall between the events of one command, where a clawback still has to take its part.
  if (included.length === recorded.length)
    differences.push(...faults(null, unpaidClawbacks(state)));
  return {
    user_id: userId,
    as_of: included.at(-1)?.at ?? null,
    entries,
    balance: state.balance,
    verified: differences.length === 0,
    differences,
    trial_balance: trialBalance(sums),
  };
}

/** The state that a stream's events lead to, to compare with its snapshot. */
export function stateOf(recorded: readonly RecordedCreditEvent[]): AccountState {
  return recorded.reduce((state, { event }) => evolve(state, event), initialState());
}

/**
 * The figures in which a stored balance, of an event or of the account row, differs from the
 * recomputed one.
 */
export function balanceDifferences(
  position: number | null,
  recorded: AccountBalance,
  recomputed: AccountBalance,
): Difference[] {
  return balanceParts
    .filter((part) => recorded[part] !== recomputed[part])
    .map((part) => ({
      position,
      what: `balance.${part}`,
      recorded: recorded[part],
      recomputed: recomputed[part],
    }));
}

/**
 * Compares what each run was charged with the settlement that its conclusion carries: every
 * reservation ends once, in exactly these figures. `settlements` is by run id and holds the concluded
 * runs; a hold of any other run may still be open.
 */
export function settlementDifferences(
  recorded: readonly RecordedCreditEvent[],
  settlements: ReadonlyMap<string, Settlement>,
): Difference[] {
  const seen = new Map<string, string>();
  const differences: Difference[] = [];
  const settledAs = (run: string) => {
    const settlement = settlements.get(run);
    return settlement ? figures(settlement) : 'not concluded';
  };
  for (const [index, { position, event }] of recorded.entries()) {
    if (event.type !== 'CreditsCaptured' && event.type !== 'CreditsReleased') continue;
    const { runId } = event.data;
    const found = figures(settlementAt(recorded, index));
    const earlier = seen.get(runId);
    if (earlier !== undefined)
      differences.push({
        position,
        what: `second settlement of ${runId}`,
        recorded: found,
        recomputed: earlier,
      });
    else if (found !== settledAs(runId))
      differences.push({
        position,
        what: `settlement of ${runId}`,
        recorded: found,
        recomputed: settledAs(runId),
      });
    seen.set(runId, found);
  }
  return differences;
}

/** The settlement that one capture or release records, with what was returned for the same run. */
function settlementAt(recorded: readonly RecordedCreditEvent[], index: number): Charge {
  const event = recorded[index]?.event;
  if (event?.type !== 'CreditsCaptured') return { kind: 'release' };
  const { runId, credits } = event.data;
  const refund = recorded.reduce(
    (sum, { event: other }) =>
      other.type === 'CreditsReturned' && other.data.runId === runId
        ? sum + other.data.credits
        : sum,
    0,
  );
  return { kind: 'capture', capture: credits, refund };
}

function figures(settlement: Settlement): string {
  switch (settlement.kind) {
    case 'nothing':
      return 'no hold';
    case 'release':
      return 'release';
    case 'capture':
      return `capture ${settlement.capture}, refund ${settlement.refund}`;
  }
}

/** Throws when the log holds a type that this version does not know. */
export function recordedCreditEvents(events: readonly RecordedEvent[]): RecordedCreditEvent[] {
  return events.map(({ globalPosition, type, data, metadata }) => {
    if (!isCreditEventType(type)) throw new Error(`Unknown credit event ${type}`);
    const at = metadata['occurredAt'];
    return {
      position: Number(globalPosition),
      at: typeof at === 'string' ? at : '',
      event: { type, data } as CreditEvent,
    };
  });
}

function isCreditEventType(type: string): type is CreditEventType {
  return Object.hasOwn(movements, type);
}

function isWithin({ position, at }: RecordedCreditEvent, cut: Cut): boolean {
  return 'position' in cut ? position <= cut.position : Date.parse(at) <= Date.parse(cut.at);
}

function entryOf(
  { position, at, event }: RecordedCreditEvent,
  before: AccountState,
  after: AccountState,
): ReplayEntry {
  const change = balanceChange(event);
  const { available, held, debt } = after.balance;
  return {
    position,
    at,
    type: event.type,
    amount: change.available + change.held - change.debt,
    available,
    held,
    debt,
    lot_changes: lotChanges(before, after),
    cause: causeOf(event),
  };
}

function lotChanges(before: AccountState, after: AccountState): LotChange[] {
  const earlier = new Map(before.lots.map((lot) => [lot.lotId, lot]));
  return after.lots.flatMap((lot) => {
    const old = earlier.get(lot.lotId);
    if (old === lot) return [];
    const change = {
      lot_id: lot.lotId,
      available: lot.available - (old?.available ?? 0),
      held: lot.held - (old?.held ?? 0),
      consumed: lot.consumed - (old?.consumed ?? 0),
      cash_pending: lot.cashPending - (old?.cashPending ?? 0),
      cash_refunded: lot.cashRefunded - (old?.cashRefunded ?? 0),
      revoked: lot.revoked - (old?.revoked ?? 0),
    };
    return Object.values(change).some((moved) => typeof moved === 'number' && moved !== 0)
      ? [change]
      : [];
  });
}

/** The first of these fields that an event has is its cause. */
const causes = ['runId', 'refundId', 'consumptionId', 'cause', 'debt', 'reason', 'ref'];

function causeOf({ data }: CreditFact): string {
  const fields: Readonly<Record<string, unknown>> = data;
  const named = causes.find((field) => typeof fields[field] === 'string');
  return named === undefined ? 'operator' : String(fields[named]);
}

function faults(position: number | null, sentences: readonly string[]): Difference[] {
  return sentences.map((sentence) => ({
    position,
    what: 'account',
    recorded: sentence,
    recomputed: 'sound',
  }));
}
