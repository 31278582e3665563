import fc from 'fast-check';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { decide, fingerprintOf } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import { derivedId, uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { CreditEvent, LotShare } from '#services/credits/account/events.ts';
import { endRefundCommandId, refundCommandId } from '#services/credits/command-ids.ts';

/**
 * A small command bus in memory that keeps the promises of the real one: message ids are unique in
 * the stream and derived from the command's, the first one carries a fingerprint of the body, and
 * before a refusal or a no-op is answered the earlier result is looked up.
 */
export type Answer =
  | { kind: 'done'; events: readonly CreditEvent[]; repeated: boolean }
  | { kind: 'nothing' }
  | { kind: 'refused'; status: number; code: string };

export type Bus = {
  state: AccountState;
  readonly log: CreditEvent[];
  send: (commandId: string, command: CreditCommand) => Answer;
  /** A new process has only the snapshot, read back from JSON. */
  restart: () => void;
};

export function createBus(): Bus {
  const appended = new Map<string, { fingerprint: string; events: readonly CreditEvent[] }>();
  const bus: Bus = {
    state: initialState(),
    log: [],
    send(commandId, command) {
      const messageId = uuidV5(commandId, 0);
      const fingerprint = fingerprintOf(command);
      const decided = attempt(command, bus.state);
      const earlier = appended.get(messageId);
      if (earlier)
        return earlier.fingerprint === fingerprint
          ? { kind: 'done', events: earlier.events, repeated: true }
          : { kind: 'refused', status: 409, code: 'idempotency-mismatch' };
      if ('refused' in decided)
        return { kind: 'refused', status: decided.refused.status, code: decided.refused.code };
      if (decided.events.length === 0) return { kind: 'nothing' };
      appended.set(messageId, { fingerprint, events: decided.events });
      bus.log.push(...decided.events);
      bus.state = decided.events.reduce<AccountState>(evolve, bus.state);
      return { kind: 'done', events: decided.events, repeated: false };
    },
    restart() {
      bus.state = roundTrip(bus.state);
    },
  };
  return bus;
}

function attempt(
  command: CreditCommand,
  state: AccountState,
): { events: CreditEvent[] } | { refused: Problem } {
  try {
    return { events: decide(command, state) };
  } catch (error) {
    if (error instanceof Problem) return { refused: error };
    throw error;
  }
}

export function roundTrip<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

/**
 * What a person or the outside does; small ranges, so that lots and runs meet each other often. With
 * `open` or `known` the number counts the runs that are held or the lots that exist.
 */
export type Step =
  | { do: 'grant'; lot: number; credits: number }
  | { do: 'reserve'; run: number; credits: number }
  | { do: 'release'; run: number; open?: boolean }
  | { do: 'capture'; run: number; open?: boolean; refundShare: number }
  /** A bank takes back this share of a lot, or gives back down to it; `ref` says which dispute. */
  | {
      do: 'clawback';
      lot: number;
      known?: boolean;
      ref: number;
      share: number;
      cause: 'dispute' | 'cash_refund' | 'correction';
      owes: boolean;
    }
  /** A user requests a refund of the unused part of a lot. */
  | { do: 'ask-back'; lot: number; known?: boolean; reason: 'customer' | 'operator' | 'erasure' }
  /** The outcome of one of the refunds. */
  | { do: 'end-refund'; refund: number; outcome: 'confirmed' | 'failed' }
  | { do: 'consume'; credits: number }
  /** Rarely, because little can happen afterwards. */
  | { do: 'close'; really: boolean }
  | { do: 'repeat'; back: number }
  | { do: 'tamper'; back: number }
  | { do: 'wait'; days: number }
  | { do: 'restart' };

const lotCount = 12;
const runCount = 20;

const anyLot = fc.integer({ min: 0, max: lotCount - 1 });
const anyRun = fc.integer({ min: 0, max: runCount - 1 });
const share = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constant(100));
const mostly = fc.integer({ min: 0, max: 9 }).map((drawn) => drawn > 0);

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      lot: anyLot,
      credits: fc.integer({ min: 1, max: 40 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('reserve' as const),
      run: anyRun,
      credits: fc.integer({ min: 1, max: 25 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('release' as const), run: anyRun, open: mostly }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('capture' as const),
      run: anyRun,
      open: mostly,
      refundShare: share,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('clawback' as const),
      lot: anyLot,
      known: mostly,
      ref: fc.integer({ min: 0, max: 2 }),
      share: fc.oneof(share, fc.constant(0)),
      cause: fc.constantFrom('dispute' as const, 'cash_refund' as const, 'correction' as const),
      owes: mostly,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('ask-back' as const),
      lot: anyLot,
      known: mostly,
      reason: fc.constantFrom('customer' as const, 'operator' as const, 'erasure' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('end-refund' as const),
      refund: fc.nat({ max: 9 }),
      outcome: fc.constantFrom('confirmed' as const, 'failed' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('consume' as const),
      credits: fc.integer({ min: 1, max: 25 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('close' as const),
      really: fc.integer({ min: 0, max: 9 }).map((drawn) => drawn === 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('repeat' as const),
      back: fc.integer({ min: 0, max: 9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('tamper' as const),
      back: fc.integer({ min: 0, max: 9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      days: fc.integer({ min: 1, max: 20 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
);

export const anySteps = fc.array(anyStep, { maxLength: 60, size: 'max' });

/** −1 is unlimited; the small ones are reached. */
export const anyLimit = fc.constantFrom(-1, 0, 1, 3);

export type Sent = { commandId: string; command: CreditCommand };

/** The effect of one step, with the account before it. */
export type Played = {
  step: Step;
  sent: Sent | null;
  answer: Answer | null;
  before: AccountState;
  after: AccountState;
  now: string;
};

export const lotId = (lot: number, person = 0) =>
  `lot_${person * 1000 + lot}`.replace(/\d+/, (number) => number.padStart(26, '0'));
export const runId = (run: number) => `opt_${String(run).padStart(26, '0')}`;

/** Sends the steps one after the other, and returns the outcome of each. */
export function play(
  steps: readonly Step[],
  limit: number,
  bus: Bus = createBus(),
  /** Different people have different lots and payments. */
  person = 0,
): Played[] {
  const sentBefore: Sent[] = [];
  let nowMs = Date.UTC(2026, 10, 20);
  let asked = 0;
  return steps.map((step) => {
    nowMs += 1000;
    if (step.do === 'wait') nowMs += step.days * 86_400_000;
    if (step.do === 'restart') bus.restart();
    const now = new Date(nowMs).toISOString();
    const before = bus.state;
    asked += 1;
    const sent = commandOf(step, { state: before, now, limit, sentBefore, asked, person });
    const answer = sent ? bus.send(sent.commandId, sent.command) : null;
    if (sent && step.do !== 'tamper') sentBefore.push(sent);
    return { step, sent, answer, before, after: bus.state, now };
  });
}

type Circumstances = {
  state: AccountState;
  now: string;
  limit: number;
  sentBefore: readonly Sent[];
  asked: number;
  person: number;
};

function commandOf(step: Step, at: Circumstances): Sent | null {
  switch (step.do) {
    case 'grant':
      return grantOf(step, at);
    case 'reserve':
      return {
        commandId: uuidV5(runId(step.run), 'reserve'),
        command: {
          type: 'Reserve',
          runId: runId(step.run),
          credits: step.credits,
          month: at.now.slice(0, 7),
          limit: at.limit,
        },
      };
    case 'release':
      return settleOf(runOf(step, at.state), { kind: 'release' });
    case 'capture': {
      const run = runOf(step, at.state);
      const capture = at.state.holds[run]?.credits ?? 5;
      const refund = Math.ceil((capture * step.refundShare) / 100);
      return settleOf(run, { kind: 'capture', capture, refund });
    }
    case 'clawback': {
      const { cause, owes } = step;
      const lot = lotOf(step, at);
      const granted = at.state.lots.find((known) => known.lotId === lot)?.granted ?? 10;
      const wanted = Math.ceil((granted * step.share) / 100);
      return {
        commandId: uuidV5('clawback', at.asked),
        command: { type: 'SetClawback', lotId: lot, ref: `dp_${step.ref}`, cause, wanted, owes },
      };
    }
    case 'ask-back': {
      const lot = lotOf(step, at);
      const refundId = derivedId('ref', lot, String(at.asked));
      const { reason } = step;
      return {
        commandId: refundCommandId(refundId),
        command: { type: 'RequestRefund', refundId, lotId: lot, requestedAt: at.now, reason },
      };
    }
    case 'end-refund': {
      const refunds = Object.entries(at.state.refunds);
      const [refundId, refund] = refunds[step.refund % refunds.length] ?? ['ref_unknown', null];
      const { outcome } = step;
      return {
        commandId: endRefundCommandId(refundId, outcome, refund?.ends ?? 0),
        command: { type: 'EndRefund', refundId, outcome, providerRefundId: 're_1', at: at.now },
      };
    }
    case 'consume':
      return {
        commandId: uuidV5('consume', at.asked),
        command: {
          type: 'Consume',
          consumptionId: `con_${at.asked}`,
          credits: step.credits,
          sealed: { note: 'v1.key.nonce.text' },
        },
      };
    case 'close':
      return step.really
        ? {
            commandId: uuidV5('close-account'),
            command: { type: 'CloseAccount', reason: 'erasure' },
          }
        : null;
    case 'repeat':
      return at.sentBefore.at(-1 - step.back) ?? null;
    case 'tamper': {
      const sent = at.sentBefore.at(-1 - step.back);
      return sent ? { ...sent, command: tampered(sent.command) } : null;
    }
    case 'wait':
    case 'restart':
      return null;
  }
}

/** A lot's source follows from its number, so that an account has several of each. */
function grantOf(step: Extract<Step, { do: 'grant' }>, { now, person }: Circumstances): Sent {
  const lot = lotId(step.lot, person);
  const source = (['purchase', 'bonus', 'other', 'purchase'] as const)[step.lot % 4] ?? 'other';
  const paid = source === 'purchase';
  return {
    commandId: uuidV5(lot, 'grant'),
    command: {
      type: 'Grant',
      lotId: lot,
      credits: step.credits,
      source,
      // An odd price, so that parts of it have to be rounded.
      paidMinor: paid ? step.credits * 50 - 1 : null,
      currency: paid ? 'usd' : null,
      paymentKey: paid ? `pi:${lot}` : null,
      grantedAt: now,
      reason: paid ? 'boost-20' : 'operator',
      ...(paid
        ? {
            purchaseId: `pur_${lot}`,
            ifClosed: { refundId: derivedId('ref', lot), requestedAt: now },
          }
        : {}),
    },
  };
}

function lotOf(
  step: { lot: number; known?: boolean },
  { state: { lots }, person }: Circumstances,
): string {
  return (step.known && lots[step.lot % lots.length]?.lotId) || lotId(step.lot, person);
}

function runOf(step: { run: number; open?: boolean }, { holds }: AccountState): string {
  const held = Object.keys(holds);
  return (step.open && held[step.run % held.length]) || runId(step.run);
}

function settleOf(
  run: string,
  settlement: Extract<CreditCommand, { type: 'Settle' }>['settlement'],
): Sent {
  return {
    commandId: uuidV5(run, 'settle'),
    command: { type: 'Settle', runId: run, settlement },
  };
}

function tampered(command: CreditCommand): CreditCommand {
  switch (command.type) {
    case 'Grant':
    case 'Reserve':
    case 'Consume':
      return { ...command, credits: command.credits + 1 };
    case 'SetClawback':
      return { ...command, wanted: command.wanted + 1 };
    case 'RequestRefund':
      return { ...command, reason: command.reason === 'operator' ? 'customer' : 'operator' };
    case 'EndRefund':
      return { ...command, outcome: command.outcome === 'failed' ? 'confirmed' : 'failed' };
    case 'FreezeSpending':
      return { ...command, lotId: `${command.lotId}x` };
    // These commands have no field to vary.
    case 'UnfreezeSpending':
    case 'CloseAccount':
      return command;
    case 'Settle':
      return {
        ...command,
        settlement:
          command.settlement.kind === 'release'
            ? { kind: 'capture', capture: 1, refund: 0 }
            : { kind: 'release' },
      };
  }
}

/**
 * What a reservation should draw, one credit at a time: an oracle that shares no code with the
 * decider. Null when the lots do not have that much.
 */
export function drawnOneByOne(lots: readonly Lot[], credits: number): LotShare[] | null {
  const left = new Map(lots.map((lot) => [lot.lotId, lot.available]));
  const drawn: LotShare[] = [];
  for (let credit = 0; credit < credits; credit += 1) {
    let best: Lot | null = null;
    for (const lot of lots)
      if ((left.get(lot.lotId) ?? 0) > 0 && (best === null || comesBefore(lot, best))) best = lot;
    if (best === null) return null;
    left.set(best.lotId, (left.get(best.lotId) ?? 0) - 1);
    addOne(drawn, best.lotId);
  }
  return drawn;
}

/** The last credits of these shares, one credit at a time, last first. */
export function returnedOneByOne(allocations: readonly LotShare[], credits: number): LotShare[] {
  const single = allocations.flatMap((drawn) =>
    Array.from({ length: drawn.credits }, () => drawn.lotId),
  );
  const returned: LotShare[] = [];
  for (let credit = 0; credit < credits; credit += 1) addOne(returned, single.pop() ?? 'none');
  return returned;
}

function comesBefore(left: Lot, right: Lot): boolean {
  const order = ['bonus', 'other', 'purchase'];
  const rank = order.indexOf(left.source) - order.indexOf(right.source);
  if (rank !== 0) return rank < 0;
  if (left.grantedAt !== right.grantedAt) return left.grantedAt < right.grantedAt;
  return left.lotId < right.lotId;
}

function addOne(shares: LotShare[], lot: string): void {
  const last = shares.at(-1);
  if (last?.lotId === lot) shares[shares.length - 1] = { lotId: lot, credits: last.credits + 1 };
  else shares.push({ lotId: lot, credits: 1 });
}

/** The log of a random account: what projections and replay are tested with. */
export const anyLog: fc.Arbitrary<readonly CreditEvent[]> = fc
  .tuple(anySteps, anyLimit)
  .map(([steps, limit]) => logOf(steps, limit));

/** Those of several people. */
export const anyLogs: fc.Arbitrary<readonly (readonly CreditEvent[])[]> = fc
  .array(fc.tuple(anySteps, anyLimit), { minLength: 1, maxLength: 3 })
  .map((people) => people.map(([steps, limit], person) => logOf(steps, limit, person)));

export function logOf(steps: readonly Step[], limit: number, person = 0): readonly CreditEvent[] {
  const bus = createBus();
  play(steps, limit, bus, person);
  return bus.log;
}
