import { isDeepStrictEqual } from 'node:util';
import type {
  OptimizationEvent,
  Schedule,
  Seat,
  Settlement,
} from '#services/optimizations/run/events.ts';
import { settlement } from '#services/optimizations/council/settlement.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import { createBooks, Fault } from '#tests/credits/ledger-oracle.ts';
import type { Books } from '#tests/credits/ledger-oracle.ts';

/**
 * Reads both streams as they grow, without the deciders, and names the first fault: a stage opened
 * or a slot answered twice, an outcome without its call, a second conclusion, or a charge that
 * differs from the settlement.
 */
export type Auditor = {
  runEvent(runId: string, event: OptimizationEvent): void;
  /** The events of one command. */
  creditEvents(userId: string, events: readonly CreditEvent[]): void;
  /** When nothing can happen any more. */
  atEnd(): void;
  readonly runs: ReadonlyMap<string, RunAudit>;
};

/** The class of each failure, and how many attempts may fail in that class. */
const endings: Readonly<Record<string, string>> = {
  connection: 'transient',
  unavailable: 'transient',
  rate_limited: 'transient',
  conflict: 'transient',
  timeout: 'timeout',
  malformed: 'unusable',
  truncated: 'unusable',
  silent: 'unusable',
  lost: 'lost',
};
const mostEndings: Readonly<Record<string, number>> = {
  transient: Infinity,
  timeout: 2,
  unusable: 2,
  lost: 3,
};

type SlotAudit = {
  attempts: number;
  ends: Map<string, number>;
  /** The attempt without an outcome. */
  open: number | null;
  answered: boolean;
  dead: boolean;
  refused: boolean;
  priced: Set<number>;
};

type OpenStage = 'draft' | 'opinions' | 'claims' | 'reviews' | 'synthesis' | 'settling' | 'closed';

export type RunAudit = {
  stage: OpenStage;
  isRefinement: boolean;
  price: number;
  seats: readonly Seat[];
  schedule: Schedule;
  slots: Map<string, SlotAudit>;
  accepted: readonly string[] | null;
  reviewsClosed: boolean;
  rounds: number;
  /** A draft was accepted. */
  isWritten: boolean;
  checked: Set<number>;
  outcome: 'completed' | 'failed' | 'cancelled' | 'not_started' | null;
  heading: string | null;
  settlement: Settlement | null;
  /** Text was streamed and paid for, but could not be parsed. */
  answeredUnusable: boolean;
  closings: number;
  figures: { captured: number; refunded: number } | null;
  /** On the credits stream. */
  reserved: number | null;
  captured: number | null;
  returned: number | null;
  released: number | null;
};

export function createAuditor(): Auditor {
  const runs = new Map<string, RunAudit>();
  const accounts = new Map<string, Books>();

  const requireThat: (holds: boolean, what: string, of: string) => asserts holds = (
    holds,
    what,
    of,
  ) => {
    if (!holds) throw new Fault(`${what}: ${of}`);
  };

  function known(runId: string): RunAudit {
    const run = runs.get(runId) ?? emptyRun();
    runs.set(runId, run);
    return run;
  }

  function open(run: RunAudit, from: OpenStage, to: OpenStage, runId: string): void {
    requireThat(run.stage === from, `stage ${to} opened from ${run.stage}`, runId);
    run.stage = to;
  }

  function slotOf(run: RunAudit, slot: string): SlotAudit {
    const audit = run.slots.get(slot) ?? {
      attempts: 0,
      ends: new Map<string, number>(),
      open: null,
      answered: false,
      dead: false,
      refused: false,
      priced: new Set<number>(),
    };
    run.slots.set(slot, audit);
    return audit;
  }

  function begun(run: RunAudit, { slot, attempt }: CallAt, of: string): SlotAudit {
    const audit = slotOf(run, slot);
    requireThat(attempt >= 1 && attempt <= audit.attempts, 'an outcome without its call', of);
    return audit;
  }

  function price(audit: SlotAudit, { attempt }: CallAt, of: string): void {
    requireThat(!audit.priced.has(attempt), 'a call priced twice', of);
    audit.priced.add(attempt);
  }

  function endAttempt(audit: SlotAudit, how: string, final: boolean, of: string): void {
    const kind = endings[how] ?? 'for good';
    const ends = (audit.ends.get(kind) ?? 0) + 1;
    audit.ends.set(kind, ends);
    requireThat(final || ends < (mostEndings[kind] ?? 1), 'an attempt too many', of);
    requireThat(kind !== 'lost' || final === (ends === 3), 'a lost call miscounted', of);
  }

  function requireOpen(run: RunAudit, { slot }: CallAt, audit: SlotAudit, of: string): void {
    requireThat(run.stage === stageOfSlot(slot), `a call ended in the stage ${run.stage}`, of);
    requireThat(!audit.answered, 'a slot answered twice', of);
    requireThat(!audit.dead, 'a dead slot answered', of);
  }

  function runEvent(runId: string, event: OptimizationEvent): void {
    const run = known(runId);
    const of = `${runId} ${event.type} ${JSON.stringify('slot' in event.data ? [event.data.slot, event.data.attempt] : [])}`;
    requireThat(
      isDeepStrictEqual(JSON.parse(JSON.stringify(event.data)), event.data),
      'an event that JSON changes',
      of,
    );
    switch (event.type) {
      case 'OptimizationCreated':
        requireThat(run.seats.length === 0, 'a run created twice', of);
        run.price = event.data.price;
        run.seats = event.data.seats;
        run.schedule = event.data.schedule;
        run.isRefinement = event.data.refines !== undefined;
        return;
      case 'ProcessingStarted':
        requireThat(
          (run.reserved !== null) === run.price > 0,
          'a run started without a hold, or with one of nothing',
          of,
        );
        return open(run, 'draft', run.isRefinement ? 'reviews' : 'opinions', of);
      case 'CallStarted': {
        const audit = slotOf(run, event.data.slot);
        requireOpen(run, event.data, audit, of);
        requireThat(event.data.attempt === audit.attempts + 1, 'an attempt out of order', of);
        requireThat(audit.open === null, 'two open attempts of one slot', of);
        audit.attempts = event.data.attempt;
        audit.open = event.data.attempt;
        return;
      }
      case 'CallLost': {
        const audit = begun(run, event.data, of);
        requireOpen(run, event.data, audit, of);
        requireThat(audit.open === event.data.attempt, 'a call lost that was not open', of);
        endAttempt(audit, 'lost', event.data.final, of);
        audit.open = null;
        audit.dead = event.data.final;
        return;
      }
      case 'CallSucceeded': {
        const audit = begun(run, event.data, of);
        requireOpen(run, event.data, audit, of);
        price(audit, event.data, of);
        audit.answered = true;
        audit.open = null;
        return;
      }
      case 'CallFailed': {
        const audit = begun(run, event.data, of);
        requireOpen(run, event.data, audit, of);
        requireThat(audit.open === event.data.attempt, 'a call failed that was not open', of);
        requireThat(event.data.final === (event.data.retryAt === null), 'a retry of nothing', of);
        price(audit, event.data, of);
        endAttempt(audit, event.data.failure, event.data.final, of);
        audit.open = null;
        audit.dead = event.data.final;
        run.answeredUnusable ||=
          ['malformed', 'truncated'].includes(event.data.failure) &&
          event.data.usage.source !== 'unknown';
        audit.refused = event.data.final && event.data.failure === 'refusal';
        return;
      }
      case 'CallCostRecorded':
        return price(begun(run, event.data, of), event.data, of);
      case 'SoftPassed':
        requireThat(run.stage === event.data.stage, `soft deadline in ${run.stage}`, of);
        return;
      case 'OpinionsClosed': {
        open(run, 'opinions', 'claims', of);
        const { accepted, missing } = event.data;
        requireThat(
          isDeepStrictEqual(accepted, answeredSeats(run, 'opinion')),
          'accepted seats that are not those that answered',
          of,
        );
        requireThat(accepted.length + missing.length === run.seats.length, 'a seat forgotten', of);
        requireThat(accepted.length >= 3, 'a council below its quorum', of);
        run.accepted = accepted;
        return;
      }
      case 'ClaimsFixed':
        return open(run, 'claims', 'reviews', of);
      case 'ReviewsClosed':
        requireThat(run.stage === 'reviews' && !run.reviewsClosed, 'reviews closed twice', of);
        requireThat(
          isDeepStrictEqual(event.data.reviewers, answeredSeats(run, 'review')),
          'reviewers that are not those that answered',
          of,
        );
        run.reviewsClosed = true;
        return;
      case 'ScoresComputed':
        requireThat(run.reviewsClosed, 'scores before the reviews closed', of);
        return open(run, 'reviews', 'synthesis', of);
      case 'DraftChecked':
        requireThat(run.stage === 'synthesis', 'a draft checked elsewhere', of);
        requireThat(!run.checked.has(event.data.round), 'a draft checked twice', of);
        run.checked.add(event.data.round);
        return;
      case 'SynthesisJudged':
        requireThat(run.stage === 'synthesis', 'a draft judged elsewhere', of);
        requireThat(event.data.round === run.rounds + 1, 'a round judged out of order', of);
        requireThat(event.data.round <= 3, 'a round too many', of);
        run.rounds = event.data.round;
        run.isWritten = event.data.verdict === 'accept';
        return;
      case 'RunConcluded':
        return concluded(run, event, of);
      case 'OptimizationCompleted':
      case 'OptimizationFailed':
      case 'OptimizationCancelled':
        return closed(run, event, of);
      case 'OptimizationHidden':
      case 'OptimizationRestored':
        requireThat(run.stage === 'closed' || run.stage === 'settling', 'hidden while open', of);
        return;
      case 'OptimizationRenamed':
        return;
    }
  }

  function concluded(run: RunAudit, event: EventOf<'RunConcluded'>, of: string): void {
    requireThat(run.outcome === null, 'two conclusions', of);
    const { outcome, heading, price: credits, seats } = event.data;
    const calls = [...run.slots.values()].reduce((sum, slot) => sum + slot.attempts, 0);
    const asked = run.isRefinement ? 'review' : 'opinion';
    const opinions = run.seats.map(({ seat }) => run.slots.get(`${asked}.${seat}`));
    const answered = run.accepted?.length ?? opinions.filter((one) => one?.answered).length;
    const refused =
      outcome === 'completed' ? opinions.filter((one) => one?.refused && !one.answered).length : 0;
    const expected = settlement({
      price: run.price,
      outcome,
      draftFailed: outcome === 'completed' && !run.isWritten,
      callsStarted: calls,
      missing: run.seats.length - answered - refused,
      seats: run.seats.length,
      answeredUnusable: run.answeredUnusable,
    });
    requireThat(isDeepStrictEqual(event.data.settlement, expected), 'a wrong settlement', of);
    requireThat(event.data.callsStarted === calls, 'calls miscounted', of);
    requireThat(credits === run.price && seats === run.seats.length, 'another price', of);
    requireThat((outcome === 'completed') === (run.stage === 'synthesis'), 'a wrong outcome', of);
    requireThat(outcome !== 'not_started' || run.stage === 'draft', 'not started, but begun', of);
    run.outcome = outcome;
    run.heading = heading;
    run.settlement = expected;
    run.stage = 'settling';
  }

  function closed(
    run: RunAudit,
    event: EventOf<'OptimizationCompleted' | 'OptimizationFailed' | 'OptimizationCancelled'>,
    of: string,
  ): void {
    run.closings += 1;
    requireThat(run.closings === 1, 'closed twice', of);
    open(run, 'settling', 'closed', of);
    const types = {
      completed: 'OptimizationCompleted',
      failed: 'OptimizationFailed',
      not_started: 'OptimizationFailed',
      cancelled: 'OptimizationCancelled',
    } as const;
    requireThat(run.outcome !== null && types[run.outcome] === event.type, 'another outcome', of);
    const { captured, refunded } = event.data;
    const ledger = { captured: run.captured ?? 0, refunded: run.returned ?? 0 };
    requireThat(
      captured === ledger.captured && refunded === ledger.refunded,
      "other figures than the ledger's",
      of,
    );
    run.figures = { captured, refunded };
  }

  function creditEvents(userId: string, events: readonly CreditEvent[]): void {
    const books = accounts.get(userId) ?? createBooks();
    accounts.set(userId, books);
    for (const event of events) {
      books.take(event);
      if ('runId' in event.data) charged(event.data.runId, event);
    }
    books.requireRest();
  }

  /** L4 and L5: the price is held once, and settled as the run's conclusion says. */
  function charged(runId: string, { type, data }: CreditEvent): void {
    const of = `${runId} ${type}`;
    const run = known(runId);
    const credits = 'credits' in data ? data.credits : 0;
    const { settlement: agreed } = run;
    if (type === 'CreditsReserved') {
      requireThat(run.reserved === null, 'a run reserved twice', of);
      requireThat(credits === run.price, 'another price reserved', of);
      run.reserved = credits;
    } else if (type === 'CreditsReleased') {
      requireThat(agreed?.kind === 'release', 'released what was captured', of);
      run.released = credits;
    } else {
      const figure = type === 'CreditsCaptured' ? 'capture' : 'refund';
      requireThat(
        agreed?.kind === 'capture' && agreed[figure] === credits,
        'charged what was not settled',
        of,
      );
      run[type === 'CreditsCaptured' ? 'captured' : 'returned'] = credits;
    }
  }

  function atEnd(): void {
    for (const [runId, run] of runs) {
      const reserved = run.reserved !== null;
      requireThat(
        run.stage === 'closed' || (run.stage === 'draft' && !reserved),
        `a run that never closes, ${run.stage}`,
        runId,
      );
      const settled = run.captured !== null || run.released !== null;
      requireThat(settled === reserved, 'a hold left', runId);
      const refund = run.settlement?.kind === 'capture' ? run.settlement.refund : 0;
      if (reserved) requireThat((run.returned ?? 0) === refund, 'a refund left out', runId);
    }
    for (const [userId, { holds }] of accounts)
      requireThat(holds.size === 0, 'credits still held', userId);
  }

  return { runs, runEvent, creditEvents, atEnd };
}

type CallAt = { slot: string; attempt: number };
type EventOf<Type extends OptimizationEvent['type']> = Extract<OptimizationEvent, { type: Type }>;

function stageOfSlot(slot: string): OpenStage {
  const stages = {
    opinion: 'opinions',
    claims: 'claims',
    review: 'reviews',
    draft: 'synthesis',
    verify: 'synthesis',
  } as const;
  return stages[parseSlot(slot).kind];
}

function answeredSeats(run: RunAudit, kind: 'opinion' | 'review'): string[] {
  return run.seats
    .map(({ seat }) => seat)
    .filter((seat) => run.slots.get(`${kind}.${seat}`)?.answered === true);
}

function emptyRun(): RunAudit {
  return {
    stage: 'draft',
    isRefinement: false,
    price: 0,
    seats: [],
    schedule: {
      reviewsPerSeat: 0,
      extractors: [],
      synthesizers: [],
      verifiers: [],
      minFamilies: 0,
      typicalSeconds: 0,
      strongest: '',
      deadlinesMs: {
        opinionsSoft: 0,
        opinionsHard: 0,
        claims: 0,
        reviewsSoft: 0,
        reviewsHard: 0,
        synthesis: 0,
        run: 0,
      },
    },
    slots: new Map(),
    accepted: null,
    reviewsClosed: false,
    rounds: 0,
    isWritten: false,
    checked: new Set(),
    outcome: null,
    heading: null,
    settlement: null,
    answeredUnusable: false,
    closings: 0,
    figures: null,
    reserved: null,
    captured: null,
    returned: null,
    released: null,
  };
}
