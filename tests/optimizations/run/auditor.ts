import { isDeepStrictEqual } from 'node:util';
import type {
  Heading,
  OptimizationEvent,
  Refines,
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
 * or a slot answered twice, an outcome without its call, a second conclusion, a charge that differs
 * from the settlement, or a refinement that has another price or changes another run.
 */
export type Auditor = {
  /** @param by the run whose request or job appended it */
  runEvent(runId: string, event: OptimizationEvent, by: string | null): void;
  /** The events of one command. */
  creditEvents(userId: string, events: readonly CreditEvent[], by: string | null): void;
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

/** A call that waits for its lane, or a clock that jumps, is late by less than this. */
const lateMs = 30_000;

type OpenStage = 'draft' | 'opinions' | 'claims' | 'reviews' | 'synthesis' | 'settling' | 'closed';

export type RunAudit = {
  stage: OpenStage;
  price: number;
  seats: readonly Seat[];
  schedule: Schedule;
  slots: Map<string, SlotAudit>;
  /** Of a refinement. */
  refines: Refines | null;
  /** Of a root, the first one first. */
  refinements: RunAudit[];
  started: boolean;
  waitMs: number;
  /** When the open stage closes at the latest. */
  hardAt: string;
  /** The seats that may review, or vote again. */
  accepted: readonly string[] | null;
  excluded: string | null;
  claims: readonly string[];
  scored: boolean;
  reviewsClosed: boolean;
  scores: EventOf<'ScoresComputed'>['data'] | null;
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

/** @param now milliseconds since the epoch */
export function createAuditor(now: () => number): Auditor {
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

  /**
   * No call begins, and none is put off, beyond its stage. A stage that nobody closed in time gets its
   * full length once more.
   */
  function requireInTime(run: RunAudit, at: string, what: string, of: string): void {
    const hardAt = Date.parse(run.hardAt);
    const length = run.waitMs + lengthOf(run);
    const closesAt = now() - hardAt > lateMs ? now() + length : hardAt;
    requireThat(Date.parse(at) < closesAt, what, of);
  }

  function runEvent(runId: string, event: OptimizationEvent, by: string | null): void {
    const run = known(runId);
    const of = `${runId} ${event.type} ${JSON.stringify('slot' in event.data ? [event.data.slot, event.data.attempt] : [])}`;
    requireThat(
      isDeepStrictEqual(JSON.parse(JSON.stringify(event.data)), event.data),
      'an event that JSON changes',
      of,
    );
    requireThat(by === runId, `a run changed by the work of ${by}`, of);
    switch (event.type) {
      case 'OptimizationCreated':
        return created(run, event, of);
      case 'ProcessingStarted': {
        requireThat((run.reserved ?? 0) === run.price, 'a run started without its hold', of);
        const isRefinement = run.refines !== null;
        requireThat(isRefinement === 'reviewsHardAt' in event.data, 'a start of another kind', of);
        run.waitMs = event.data.waitMs ?? 0;
        run.hardAt =
          'reviewsHardAt' in event.data ? event.data.reviewsHardAt : event.data.opinionsHardAt;
        run.started = true;
        return open(run, 'draft', isRefinement ? 'reviews' : 'opinions', of);
      }
      case 'CallStarted': {
        const audit = slotOf(run, event.data.slot);
        requireOpen(run, event.data, audit, of);
        requireAsked(run, event.data.slot, of);
        requireInTime(run, event.data.startedAt, 'a call after its stage', of);
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
        if (event.data.retryAt !== null)
          requireInTime(run, event.data.retryAt, 'a retry after its stage', of);
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
        run.hardAt = event.data.claimsHardAt;
        return;
      }
      case 'ClaimsFixed':
        run.claims = event.data.claims.map(({ id }) => id);
        run.scored = event.data.scored;
        run.hardAt = event.data.reviewsHardAt;
        return open(run, 'claims', 'reviews', of);
      case 'ReviewsClosed':
        requireThat(run.stage === 'reviews' && !run.reviewsClosed, 'reviews closed twice', of);
        requireThat(
          isDeepStrictEqual(event.data.reviewers, answeredSeats(run, 'review')),
          'reviewers that are not those that answered',
          of,
        );
        run.reviewsClosed = true;
        run.excluded = event.data.excluded?.seat ?? null;
        return;
      case 'ScoresComputed':
        requireThat(run.reviewsClosed, 'scores before the reviews closed', of);
        scored(run, event.data, of);
        run.hardAt = event.data.synthesisHardAt;
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
      case 'OutcomeRecorded':
        requireThat(
          run.stage === 'closed' && run.outcome === 'completed' && run.refines === null,
          'an outcome of no result',
          of,
        );
        return;
    }
  }

  function created(run: RunAudit, { data }: EventOf<'OptimizationCreated'>, of: string): void {
    requireThat(run.seats.length === 0, 'a run created twice', of);
    const { price: credits, seats, schedule, refines } = data;
    Object.assign(run, { price: credits, seats, schedule });
    if (refines === undefined) return requireThat(credits > 0, 'a run without a price', of);
    const root = runs.get(refines.root);
    requireThat(
      root?.stage === 'closed' && root.outcome === 'completed' && root.refines === null,
      'a refinement without a result',
      of,
    );
    const earlier = root.refinements;
    requireThat(
      earlier.every(({ stage }) => stage === 'closed'),
      'two refinements of a run in work',
      of,
    );
    requireThat(refines.number === earlier.length + 1, 'a refinement out of order', of);
    const done = earlier.filter(({ outcome }) => outcome === 'completed');
    const newest = [...runs].find(([, one]) => one === done.at(-1))?.[0];
    requireThat(
      [refines.root, newest].includes(refines.previous),
      'a refinement of a result that is not the newest',
      of,
    );
    const tries = earlier.filter((one) => one.price === 0 && one.started);
    const included = tries.length < 3 && !tries.some((one) => done.includes(one));
    const costs = included ? 0 : Math.max(2, Math.ceil(root.price / 5));
    requireThat(credits === costs, 'another price than a refinement has', of);
    const voters = root.accepted?.filter((seat) => seat !== root.excluded) ?? [];
    requireThat(
      isDeepStrictEqual(
        seats.map(({ seat }) => seat),
        voters,
      ),
      'a refinement with other seats than its root',
      of,
    );
    requireThat(
      refines.claims.length <= 10 && refines.claims.every((id) => root.claims.includes(id)),
      'other claims than those of the root',
      of,
    );
    root.refinements.push(run);
    run.refines = refines;
    run.scored = root.scored;
    run.accepted = voters.filter((seat) => !refines.notOffered.includes(seat));
  }

  /** Who reviews or votes again has answered; who verifies has a consensus to compare with. */
  function requireAsked(run: RunAudit, slot: string, of: string): void {
    const parts = parseSlot(slot);
    if (parts.kind === 'review')
      requireThat(run.accepted?.includes(parts.seat) === true, 'a seat that is not asked', of);
    if (parts.kind === 'verify')
      requireThat(run.scores?.consensus.length !== 0, 'verified without a consensus', of);
  }

  /** The vote decides, by heads at least; a refinement keeps the order of its root. */
  function scored(run: RunAudit, scores: EventOf<'ScoresComputed'>['data'], of: string): void {
    const { verdict, decision, order, inputs } = scores;
    run.scores = scores;
    requireThat(verdict !== undefined, 'scores without a verdict', of);
    const heads = Object.entries(decision.votes).map(([id, seats]) => [id, seats.length] as const);
    const isFirst = heads.every(
      ([id, count]) =>
        id === verdict.optionId || count < (decision.votes[verdict.optionId ?? '']?.length ?? 0),
    );
    const isVoted = verdict.heading === 'recommendation' || verdict.heading === 'undecidable';
    requireThat(!isVoted || isFirst, 'an option that was not voted for', of);
    requireThat(run.scored || verdict.heading !== 'recommendation', 'a vote on nothing', of);
    requireThat(run.scored || verdict.heading !== 'no_majority', 'a vote on nothing', of);
    if (run.refines === null) return;
    const { root } = run.refines;
    requireThat(isDeepStrictEqual(order, runs.get(root)?.scores?.order), 'another order', of);
    for (const input of inputs) {
      const [first = '', slot] = input.split('/');
      const source = slot === undefined ? run : runs.get(first);
      const isOurs = source === run || first === root || source?.refines?.root === root;
      const isCounted = source?.slots.get(slot ?? first)?.answered === true;
      requireThat(isOurs && isCounted, 'a ballot from elsewhere was counted', of);
    }
  }

  /** What the vote says, unless nothing was written about it. */
  function headingOf({ scores, isWritten }: RunAudit): Heading | null {
    const voted = scores?.verdict?.heading ?? null;
    if (isWritten || voted === 'no_majority' || voted === 'undecidable') return voted;
    return 'best_single_answer';
  }

  function concluded(run: RunAudit, event: EventOf<'RunConcluded'>, of: string): void {
    requireThat(run.outcome === null, 'two conclusions', of);
    const { outcome, heading, price: credits, seats } = event.data;
    const calls = [...run.slots.values()].reduce((sum, slot) => sum + slot.attempts, 0);
    const first = run.refines === null ? 'opinion' : 'review';
    const answers = run.seats.map(({ seat }) => run.slots.get(`${first}.${seat}`));
    const answered = answers.filter((one) => one?.answered).length;
    const refused =
      outcome === 'completed' ? answers.filter((one) => one?.refused && !one.answered).length : 0;
    const draftFailed = outcome === 'completed' && !run.isWritten;
    requireThat(event.data.draftFailed === draftFailed, 'a draft that was not written', of);
    requireThat(
      heading === (outcome === 'completed' ? headingOf(run) : null),
      'another heading than the vote has',
      of,
    );
    const expected = settlement({
      price: run.price,
      outcome,
      draftFailed,
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

  function creditEvents(userId: string, events: readonly CreditEvent[], by: string | null): void {
    const books = accounts.get(userId) ?? createBooks();
    accounts.set(userId, books);
    for (const event of events) {
      books.take(event);
      if (!('runId' in event.data)) continue;
      const { runId } = event.data;
      requireThat(by === runId, `a run charged by the work of ${by}`, `${runId} ${event.type}`);
      charged(runId, event);
    }
    books.requireRest();
  }

  /** L4 and L5: the price is held once, and settled as the run's conclusion says. */
  function charged(runId: string, { type, data }: CreditEvent): void {
    const of = `${runId} ${type}`;
    const run = known(runId);
    const credits = 'credits' in data ? data.credits : 0;
    const { settlement: agreed } = run;
    requireThat(run.price > 0, 'a run without a price on the credits stream', of);
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

/** Milliseconds of the open stage at the longest. */
function lengthOf({ stage, schedule: { deadlinesMs } }: RunAudit): number {
  const lengths: Partial<Record<OpenStage, number>> = {
    opinions: deadlinesMs.opinionsHard,
    claims: deadlinesMs.claims,
    reviews: deadlinesMs.reviewsHard,
    synthesis: deadlinesMs.synthesis,
  };
  return lengths[stage] ?? 0;
}

function answeredSeats(run: RunAudit, kind: 'opinion' | 'review'): string[] {
  return run.seats
    .map(({ seat }) => seat)
    .filter((seat) => run.slots.get(`${kind}.${seat}`)?.answered === true);
}

function emptyRun(): RunAudit {
  return {
    stage: 'draft',
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
    refines: null,
    refinements: [],
    started: false,
    waitMs: 0,
    hardAt: '',
    accepted: null,
    excluded: null,
    claims: [],
    scored: true,
    reviewsClosed: false,
    scores: null,
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
