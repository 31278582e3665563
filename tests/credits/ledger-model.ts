import fc from 'fast-check';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { creditStream } from '#services/credits/account/events.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import { initialState } from '#services/credits/account/state.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import { endRefundCommandId, refundCommandId } from '#services/credits/command-ids.ts';
import { derivedId, uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { createQueue, createStore, execute } from '#tests/platform/memory-bus.ts';
import type { Memory, Steps } from '#tests/platform/memory-bus.ts';
import { createBooks } from './ledger-oracle.ts';

/** A result of the command bus, with refusals as data. */
export type Answer =
  | { kind: 'done'; events: readonly CreditEvent[]; repeated: boolean }
  | { kind: 'nothing' }
  | { kind: 'refused'; status: number; code: string };

export type Bus = {
  state: () => AccountState;
  readonly log: CreditEvent[];
  send: (commandId: string, command: CreditCommand) => Answer;
  /** A new process has only the snapshot, read back from JSON. */
  restart: () => void;
};

const streamId = creditStream('usr_1');
const nothingYet = initialState();
const network = { losesReply: () => false, count: () => {} };

/** One account in memory. The oracle reads every event, and compares the state after each command. */
export function createBus(): Bus {
  const books = createBooks();
  const log: CreditEvent[] = [];
  let memory: Memory = new Map();
  const store = createStore(
    { versions: ['credits'] },
    createQueue(Date.now),
    (_, events, state) => {
      log.push(...(events as CreditEvent[]));
      for (const event of events as CreditEvent[]) books.take(event);
      books.requireRest();
      books.requireState(state as AccountState);
    },
  );
  return {
    log,
    state: () => (store.headOf(streamId)?.state ?? nothingYet) as AccountState,
    send(commandId, command) {
      const fingerprint = fingerprintOf(command);
      const request = { streamId, command, commandId, fingerprint };
      try {
        const { events, repeated } = toEnd(execute(store, memory, creditAccount, request, network));
        return events.length === 0 ? { kind: 'nothing' } : { kind: 'done', events, repeated };
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        return { kind: 'refused', status: error.status, code: error.code };
      }
    },
    restart() {
      memory = new Map();
      const head = store.headOf(streamId);
      if (head) head.state = roundTrip(head.state);
    },
  };
}

function toEnd<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
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
  | { do: 'reserve'; run: number; credits: number; key?: number | undefined }
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
  /** A payment went back twice; `ref` says by which dispute. */
  | { do: 'freeze'; lot: number; known?: boolean; ref: number }
  | { do: 'unfreeze' }
  /** Rarely, because little can happen afterwards. */
  | { do: 'close'; really: boolean }
  | { do: 'repeat'; back: number }
  | { do: 'tamper'; back: number }
  | { do: 'wait'; days: number }
  | { do: 'restart' };

/** Some ledgers reach it within a month. */
export const keyCap = 40;
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
      key: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
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
      do: fc.constant('freeze' as const),
      lot: anyLot,
      known: mostly,
      ref: fc.integer({ min: 0, max: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('unfreeze' as const) }) },
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
    const before = bus.state();
    asked += 1;
    const sent = commandOf(step, { state: before, now, limit, sentBefore, asked, person });
    const answer = sent ? bus.send(sent.commandId, sent.command) : null;
    if (sent && step.do !== 'tamper') sentBefore.push(sent);
    return { step, sent, answer, before, after: bus.state(), now };
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
          ...(step.key === undefined ? {} : { apiKey: { id: `key_${step.key}`, cap: keyCap } }),
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
    case 'freeze': {
      const ref = `dp_${step.ref}`;
      const lot = lotOf(step, at);
      return {
        commandId: uuidV5('freeze', at.asked),
        command: { type: 'FreezeSpending', ref, lotId: lot, overpaidMinor: 1, currency: 'usd' },
      };
    }
    case 'unfreeze':
      return { commandId: uuidV5('unfreeze', at.asked), command: { type: 'UnfreezeSpending' } };
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
