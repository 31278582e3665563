import { isDeepStrictEqual } from 'node:util';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { waitBehind } from '#services/optimizations/lanes.ts';
import { deadlineLength, isLate, timeLeft } from '#services/optimizations/run/deadlines.ts';
import type { Charge, OptimizationEvent, Slot } from '#services/optimizations/run/events.ts';
import { decide, optimization } from '#services/optimizations/run/optimization.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import { isOpen } from '#services/optimizations/run/state.ts';
import type { At, RunState } from '#services/optimizations/run/state.ts';
import { nextAttempt, owedSlots } from '#services/optimizations/run/owed.ts';
import { owedJobs, settleJob } from '#services/optimizations/run/reactions.ts';
import type { Decider } from '#services/platform/command.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { Fault } from '#tests/credits/ledger-oracle.ts';
import { createAuditor } from './auditor.ts';
import type { Auditor } from './auditor.ts';
import { answerOf, createFate, drawnConcurrency, inLanes, lotsOf, scheduleOf } from './fate.ts';
import type { Persona } from './fate.ts';
import { createRefining, refused } from './refining.ts';
import type { RefineCall, RefiningGuards } from './refining.ts';
import { anytime, createQueue, createStore, execute } from '#tests/platform/memory-bus.ts';
import type { Guards, Job, Memory, Steps } from '#tests/platform/memory-bus.ts';
import {
  answers,
  create,
  fails,
  noon,
  schedule as usualSchedule,
  sevenSeats,
} from './run-script.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import { creditStream } from '#services/credits/account/events.ts';
import {
  grantCommandId,
  reserveCommandId,
  settleCommandId,
} from '#services/credits/command-ids.ts';
import { askedDays, happenings, streamOf } from '#services/optimizations/run/events.ts';

/**
 * A whole installation in memory: two people with credits, several runs each, API and worker
 * processes, models that answer, fail, refuse or hang. One seed decides who takes the next step and
 * what goes wrong: processes die between any two steps, workers are presumed dead and continue,
 * replies of the database get lost, clocks jump, people cancel, delete and refine, twice at once too.
 * The deciders and the reactions are the real ones; the tasks repeat `tasks.ts`, `sweep.ts`,
 * `begin.ts` and `routes.ts` step by step.
 */

export type RunDecider = Decider<RunState, OptimizationCommand, OptimizationEvent>;

export type WorldOptions = {
  seed: number;
  /** Rules that a test switches off, to prove that the check notices. */
  guards?: Partial<Guards & WorldGuards>;
  decider?: RunDecider;
  /** Without crashes, jumps and failures: every run completes with every seat. */
  calm?: boolean;
  /** All models answer at one provider that takes so many calls at a time; drawn unless given or calm. */
  concurrency?: number;
  /** Milliseconds from the start in which no model can be reached; drawn unless given or calm. */
  outage?: { from: number; until: number };
};

export type Figures = {
  runs: number;
  completed: number;
  bestAnswers: number;
  cancelled: number;
  failed: number;
  drafts: number;
  crashes: number;
  zombies: number;
  lateAnswers: number;
  /** Calls that met an outage. */
  unreachable: number;
  lostCalls: number;
  conflicts: number;
  repeats: number;
  rearmed: number;
  swept: number;
  /** Runs that counted earlier ones in their deadlines. */
  waited: number;
  /** Refinements that completed: included ones, then paid ones, then with a seat that had gone. */
  included: number;
  paid: number;
  withoutSeat: number;
  /** Included refinements that did not complete. */
  failedTries: number;
  /** Refinements of refinements. */
  further: number;
  /** Calls of the route that began no refinement. */
  refused: number;
  /** Runs in which the vote named no option, and that it cannot be decided. */
  noMajority: number;
  undecidable: number;
  events: number;
};

export const noFigures: Figures = {
  runs: 0,
  completed: 0,
  bestAnswers: 0,
  cancelled: 0,
  failed: 0,
  drafts: 0,
  crashes: 0,
  zombies: 0,
  lateAnswers: 0,
  unreachable: 0,
  lostCalls: 0,
  conflicts: 0,
  repeats: 0,
  rearmed: 0,
  swept: 0,
  waited: 0,
  included: 0,
  paid: 0,
  withoutSeat: 0,
  failedTries: 0,
  further: 0,
  refused: 0,
  noMajority: 0,
  undecidable: 0,
  events: 0,
};

export type World = {
  figures: Figures;
  auditor: Auditor;
  /** Run id → its stream. */
  runs: ReadonlyMap<string, readonly OptimizationEvent[]>;
  /** Every append to every stream, credits and runs, in the order of the commits. */
  log: readonly Append[];
};

export type Append = {
  streamId: string;
  events: readonly (OptimizationEvent | CreditEvent)[];
};

type Process = {
  readonly id: number;
  readonly kind: 'api' | 'worker';
  alive: boolean;
  /** Without a heartbeat its jobs are given to other workers while it continues. */
  lock: boolean;
  memory: Memory;
};

type Fiber = {
  readonly process: Process;
  readonly steps: Steps<void>;
  until: number;
  call: { runId: string; slot: string } | null;
  /** The run that its request or job is about. */
  readonly of: string | null;
  /** Of its job. */
  readonly queue: string | null;
};

/** What a person will do; `of` is read when they do it. */
type Plan = { at: number; of: () => string | null; begin: (process: Process) => Steps<void> };

type Person = { readonly userId: string; readonly monthlyLimit: number };
type Run = {
  readonly runId: string;
  readonly person: Person;
  readonly seatable: boolean;
  /** Its person cancels every refinement soon. */
  readonly regrets: boolean;
};

/** As `Guards`. */
type WorldGuards = RefiningGuards & {
  startSettles: boolean;
  /** A run counts those that began before it in its deadlines. */
  countsEarlierRuns: boolean;
  /** A refinement leaves its root as it is. */
  leavesRoot: boolean;
};

const complete: Guards & WorldGuards = {
  versions: ['credits', 'optimization'],
  startSettles: true,
  countsEarlierRuns: true,
  leavesRoot: true,
  oneAtOnce: true,
  numberedIds: true,
  countsTries: true,
};
const mostSteps = 60_000;
/** Calls of the route to refine a run, in a calm world and in others. */
const mostRefinements = { calm: 2, others: 6 };

/** Runs a world to its end. Throws a Fault when a rule was broken. */
export function live(options: WorldOptions): World {
  const { seed, decider = optimization, calm = false } = options;
  const guards = { ...complete, ...options.guards };
  const chance = createFate(seed);
  const figures = { ...noFigures };
  let now = Date.parse(noon);
  const auditor = createAuditor(() => now);
  const log: Append[] = [];
  let advancing: Fiber | null = null;
  const isoNow = () => new Date(now).toISOString();
  const begunAt = now;
  const concurrency = options.concurrency ?? (calm ? null : drawnConcurrency(seed));
  const outage = options.outage ?? (calm ? null : chance.outage());
  const isOut = () =>
    outage !== null && now - begunAt >= outage.from && now - begunAt < outage.until;
  const queue = createQueue(() => now);
  const store = createStore(guards, queue, (streamId, events, state) => {
    figures.events += events.length;
    log.push({ streamId, events: events as Append['events'] });
    if (streamId.startsWith('optimization-')) {
      const runId = streamId.slice('optimization-'.length);
      for (const event of events) {
        auditor.runEvent(runId, event as OptimizationEvent, advancing?.of ?? null);
        if (event.type === 'CallCostRecorded') figures.lateAnswers += 1;
        if (event.type === 'CallLost') figures.lostCalls += 1;
        if (event.type === 'ProcessingStarted' && event.data.waitMs) figures.waited += 1;
      }
      requireFinished(runId, state as RunState);
      if ((state as RunState).stage === 'closed') ended(runId, state as At<'closed'>);
    } else {
      const userId = streamId.slice('credits-'.length);
      auditor.creditEvents(userId, events as CreditEvent[], advancing?.of ?? null);
    }
  });

  /** A decision leaves nothing undone: a nudge after it finds nothing to do. */
  function requireFinished(runId: string, state: RunState): void {
    if (state.stage === 'none') return;
    const left = decide({ type: 'Nudge', now: isoNow() }, state);
    if (left.length > 0) throw new Fault(`undecided ${left[0]?.type ?? ''}: ${runId}`);
  }

  // ── processes ─────────────────────────────────────────────────────────────────────────────────

  const processes: Process[] = [];
  let fibers: Fiber[] = [];

  function boot(kind: Process['kind']): void {
    const id = processes.length + 1;
    processes.push({ id, kind, alive: true, lock: true, memory: new Map() });
  }
  const living = (kind: Process['kind']) =>
    processes.filter((process) => process.alive && process.kind === kind);

  function run(process: Process, steps: Steps<void>, from: Pick<Fiber, 'of' | 'queue'>): void {
    fibers.push({ process, steps, until: 0, call: null, ...from });
  }

  /** All its work stops at once; its jobs stay locked. */
  function crash(process: Process): void {
    process.alive = false;
    fibers = fibers.filter((fiber) => fiber.process !== process);
    figures.crashes += 1;
    boot(process.kind);
  }

  const network = {
    losesReply: () => !calm && chance.of(0.01),
    count(what: 'conflict' | 'repeat') {
      if (what === 'conflict') figures.conflicts += 1;
      else figures.repeats += 1;
    },
  };

  function* issue(
    process: Process,
    runId: string,
    command: OptimizationCommand,
    parts: readonly (string | number)[],
  ) {
    const commandId = uuidV5(runId, ...parts);
    const request = { streamId: streamOf(runId), command, commandId, fingerprint: commandId };
    return yield* execute(store, process.memory, decider, request, network);
  }

  function* credits(process: Process, userId: string, command: CreditCommand, commandId: string) {
    const request = {
      streamId: creditStream(userId),
      command,
      commandId,
      fingerprint: fingerprintOf(command),
    };
    return yield* execute(store, process.memory, creditAccount, request, network);
  }

  const stateOfRun = (runId: string) =>
    (store.headOf(streamOf(runId))?.state ?? null) as RunState | null;

  /** As `readWait` of `lanes.ts`. */
  function waitOf(runId: string): number {
    const state = stateOfRun(runId);
    const lanes = state && 'schedule' in state ? state.schedule.lanes : undefined;
    if (lanes === undefined || !guards.countsEarlierRuns) return 0;
    const others = [...runs.keys()].filter((other) => other !== runId);
    return waitBehind(
      lanes,
      others.flatMap((other) => stateOfRun(other) ?? []),
    );
  }

  const refinementsOf = (rootId: string) =>
    [...runs.keys()].filter((runId) => {
      const state = stateOfRun(runId);
      return state !== null && 'refines' in state && state.refines?.root === rootId;
    });
  const refining = createRefining(
    {
      stateOf: stateOfRun,
      eventsOf: (runId) =>
        (store.streams.get(streamOf(runId))?.events ?? []) as OptimizationEvent[],
      accountOf: (userId) =>
        (store.headOf(creditStream(userId))?.state ?? creditAccount.initialState()) as AccountState,
      refinementsOf,
    },
    guards,
    chance,
  );
  /** By root: how often its person called the route that refines. */
  const refineCalls = new Map<string, number>();

  // ── what people do ────────────────────────────────────────────────────────────────────────────

  const holdOf = (runId: string, { monthlyLimit }: Person, price: number): CreditCommand => ({
    type: 'Reserve',
    runId,
    credits: price,
    month: isoNow().slice(0, 7),
    limit: monthlyLimit,
  });

  function* processRun(process: Process, { runId, person, seatable }: Run): Steps<void> {
    const state = stateOfRun(runId);
    yield anytime;
    if (state?.stage !== 'draft') return;
    if (state.price > 0) {
      const hold = holdOf(runId, person, state.price);
      yield* credits(process, person.userId, hold, reserveCommandId(runId));
      yield anytime;
    }
    const start = { type: 'Start', now: isoNow(), seatable, waitMs: waitOf(runId) } as const;
    yield* issue(process, runId, start, ['start']);
  }

  function* asked(
    process: Process,
    { runId }: Run,
    type: 'Cancel' | 'Discard' | 'Hide' | 'Restore',
  ) {
    const parts = type === 'Cancel' || type === 'Discard' ? [type.toLowerCase()] : [type, now];
    if (type === 'Hide') {
      const isRefining = refinementsOf(runId).some(refining.isInWork);
      yield anytime;
      if (isRefining) throw new Problem('running', 'A refinement of this run has not ended.');
    }
    yield* issue(process, runId, { type, now: isoNow() }, parts);
  }

  function* renamed(process: Process, { runId }: Run) {
    const rename = { type: 'Rename', title: `sealed at ${now}`, same: false } as const;
    yield* issue(process, runId, rename, ['Rename', now]);
  }

  /** As `recordOutcome` of `record.ts`. */
  function* said(process: Process, runId: string, endedAt: string) {
    const newest = refinementsOf(runId).findLast(
      (id) => auditor.runs.get(id)?.outcome === 'completed',
    );
    const answer = {
      type: 'RecordOutcome',
      now: isoNow(),
      asked: chance.pick(askedDays)!,
      happened: chance.pick(happenings)!,
      did: `sealed at ${now}`,
      same: false,
      result: { runId: newest ?? runId, endedAt },
    } as const;
    yield* issue(process, runId, answer, ['RecordOutcome', now]);
  }

  /** Months later, when nothing else is left to happen, some say what came of their results. */
  function sayOutcomes(): void {
    const endedAt = isoNow();
    now += 100 * 86_400_000;
    const [process] = living('api');
    for (const runId of runs.keys()) {
      const state = stateOfRun(runId);
      if (state?.stage !== 'closed' || state.outcome !== 'completed') continue;
      if (state.refines || state.hiddenAt !== null) continue;
      for (let left = chance.below(4); left > 0; left -= 1) {
        now += 1;
        const steps = said(process!, runId, endedAt);
        advancing = { process: process!, steps, until: now, call: null, of: runId, queue: null };
        for (const _ of steps);
        advancing = null;
      }
    }
  }

  /** As `refineRun` of `begin.ts`. */
  function* refine(process: Process, call: RefineCall): Steps<void> {
    const { rootId, key, id } = call;
    const root = runs.get(rootId)!;
    const commandId = uuidV5(rootId, key);
    const isOurs = () => store.earlier(streamOf(id), commandId) !== null;
    refining.requireShown(call);
    yield anytime;
    if (!isOurs()) {
      const command = refining.command(call, (price) => holdOf(id, root.person, price));
      yield anytime;
      runs.set(id, { ...root, runId: id });
      const request = { streamId: streamOf(id), command, commandId, fingerprint: commandId };
      yield* execute(store, process.memory, decider, request, network);
      if (!isOurs()) throw refused('begun by another call');
      if (!guards.leavesRoot) yield* renamed(process, root);
    }
    try {
      yield* processRun(process, runs.get(id)!);
    } catch (error) {
      if (error instanceof Problem) yield* asked(process, runs.get(id)!, 'Discard');
      throw error;
    }
  }

  /** A refusal is an answer that people get; everything else is a fault. */
  function* refusable(steps: Steps<void>): Steps<void> {
    try {
      yield* steps;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code === 'not-refinable') figures.refused += 1;
    }
  }

  // ── what workers do ───────────────────────────────────────────────────────────────────────────

  function* startRun(process: Process, runId: string): Steps<void> {
    const seatable = runs.get(runId)?.seatable ?? false;
    yield anytime;
    const command = { type: 'Start', now: isoNow(), seatable, waitMs: waitOf(runId) } as const;
    const { state } = yield* issue(process, runId, command, ['start']);
    if (!guards.startSettles || (state.stage !== 'settling' && state.stage !== 'closed')) return;
    yield anytime;
    queue.add(settleJob(runId));
  }

  function* settleRun(process: Process, runId: string): Steps<void> {
    const state = stateOfRun(runId);
    yield anytime;
    if (state?.stage !== 'settling' && state?.stage !== 'closed') return;
    const { settlement } = state.conclusion;
    const charge =
      settlement.kind === 'nothing'
        ? { captured: 0, refunded: 0, creditsVersion: 0 }
        : yield* settled(process, runId, state.userId, settlement);
    yield anytime;
    if (state.stage === 'closed') return;
    yield* issue(process, runId, { type: 'Close', ...charge }, ['close']);
  }

  function* settled(process: Process, runId: string, userId: string, settlement: Charge) {
    const settle = { type: 'Settle', runId, settlement } as const;
    const done = yield* credits(process, userId, settle, settleCommandId(runId));
    const figure = (type: CreditEvent['type']) =>
      done.events.reduce(
        (sum, event) =>
          event.type === type && 'credits' in event.data ? sum + event.data.credits : sum,
        0,
      );
    return {
      captured: figure('CreditsCaptured'),
      refunded: figure('CreditsReturned'),
      creditsVersion: done.version,
    };
  }

  function* stageDeadline(process: Process, { payload, key }: DeadlineJob): Steps<void> {
    const { runId, stage, kind } = payload;
    if (yield* rearmed({ task: 'stage-deadline', payload, key })) return;
    yield* issue(process, runId, { type: 'Deadline', stage, kind, now: isoNow() }, [stage, kind]);
  }

  function* runDeadline(process: Process, { payload, key }: DeadlineJob): Steps<void> {
    if (yield* rearmed({ task: 'run-deadline', payload, key })) return;
    const command = { type: 'RunDeadline', now: isoNow() } as const;
    yield* issue(process, payload.runId, command, ['run-deadline']);
  }

  function* rearmed(job: DeadlineJob & { task: string }): Steps<boolean> {
    const { payload, key, task } = job;
    if (payload.rearmed || !isLate(payload.dueAt, now)) return false;
    const state = stateOfRun(payload.runId);
    yield anytime;
    if (!state || !isOpen(state)) return false;
    const lengthMs = deadlineLength(state, payload);
    const dueAt = new Date(now + lengthMs).toISOString();
    queue.add({ task, payload: { ...payload, dueAt, rearmed: true }, key, runAt: dueAt });
    figures.rearmed += 1;
    yield anytime;
    return true;
  }

  function* callModel(process: Process, runId: string, slot: Slot): Steps<void> {
    const state = stateOfRun(runId);
    if (!state) throw new Fault(`a call of a run that is not: ${runId}`);
    yield anytime;
    const attempt = nextAttempt(state, slot);
    const beganAt = isoNow();
    const begun = yield* issue(process, runId, { type: 'BeginCall', slot, attempt, now: beganAt }, [
      slot,
      attempt,
      'start',
    ]);
    const started = begun.events.find((event) => event.type === 'CallStarted');
    if (started?.type !== 'CallStarted') return;
    if (begun.repeated && started.data.startedAt !== beganAt) return;
    yield anytime;
    const timeoutMs = timeLeft(state, slot, now);
    const unreachable = isOut();
    if (unreachable) figures.unreachable += 1;
    const persona = unreachable ? 'connection' : calm ? 'ok' : chance.persona();
    const durationMs = persona === 'hang' ? Infinity : unreachable ? 20 : chance.duration(calm);
    const doneAt = now + Math.min(durationMs, timeoutMs);
    yield { until: doneAt, call: { runId, slot } };
    const end =
      now < doneAt
        ? fails(slot, 'aborted', { attempt, now: isoNow() })
        : durationMs > timeoutMs
          ? fails(slot, 'timeout', { attempt, now: isoNow() })
          : ending(persona, state, slot, attempt);
    yield anytime;
    yield* issue(process, runId, end, [slot, attempt, 'end']);
  }

  function ending(
    persona: Persona,
    state: RunState,
    slot: Slot,
    attempt: number,
  ): OptimizationCommand {
    const at = { attempt, now: isoNow(), costMicros: chance.of(0.1) ? null : chance.below(5000) };
    if (persona === 'ok' || persona === 'hang')
      return answers(slot, answerOf(state, slot, chance, calm), at);
    return fails(slot, persona, {
      ...at,
      ...(persona === 'rate_limited' ? { retryAfterMs: chance.below(60_000) } : {}),
    });
  }

  /** Jobs that a run's state owes and the queue lacks. */
  function* sweep(process: Process, runId: string): Steps<void> {
    const state = stateOfRun(runId);
    if (!state) return;
    const missing = owedJobs(runId, state).filter((job) => !queue.has(job.key));
    yield anytime;
    if (missing.length === 0) return;
    const nudge = { type: 'Nudge', now: isoNow() } as const;
    const after = yield* issue(process, runId, nudge, ['nudge', now]);
    const owed = new Set(owedJobs(runId, after.state).map((job) => job.key));
    for (const job of missing.filter(({ key }) => owed.has(key))) {
      yield anytime;
      queue.add(job);
      figures.swept += 1;
    }
  }

  /** A mail: it changes no stream. */
  function* notifyRun(): Steps<void> {
    yield anytime;
  }

  function taskOf(process: Process, { task, payload, key }: Job): Steps<void> {
    const { runId, slot } = payload as { runId: string; slot: Slot };
    switch (task) {
      case 'start-run':
        return startRun(process, runId);
      case 'settle-run':
        return settleRun(process, runId);
      case 'call-model':
        return callModel(process, runId, slot);
      case 'notify-run':
      // Money has no part in this world.
      case 'mail-receipt':
      case 'check-payment':
      case 'mail-low-balance':
        return notifyRun();
      case 'stage-deadline':
      case 'run-deadline': {
        const job = { payload: payload as DeadlineJob['payload'], key: key ?? '' };
        return task === 'run-deadline' ? runDeadline(process, job) : stageDeadline(process, job);
      }
      default:
        throw new Fault(`an unknown job: ${task}`);
    }
  }

  function* work(process: Process, job: Job): Steps<void> {
    yield anytime;
    try {
      yield* taskOf(process, job);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'busy') throw error;
      queue.fail(job.id, process.id, now);
      return;
    }
    yield anytime;
    queue.complete(job.id, process.id);
  }

  // ── who takes the next step ───────────────────────────────────────────────────────────────────

  const runs = new Map<string, Run>();
  const plans: Plan[] = [];
  let crashesLeft = 0;
  const sweeps = chance.of(0.7);

  function takeStep(): boolean {
    if (!calm) misfortune();
    const runnable = fibers.filter((fiber) => fiber.until <= now);
    const jobs = queue.due(now);
    const waiting = plans.filter((one) => one.at <= now);
    const all = runnable.length + jobs.length + waiting.length;
    if (all === 0) return passTime();
    const drawn = chance.below(all);
    if (drawn < runnable.length) advance(runnable[drawn]!);
    else if (drawn < runnable.length + jobs.length) takeJob(jobs[drawn - runnable.length]!);
    else act(waiting[drawn - runnable.length - jobs.length]!);
    return true;
  }

  function advance(fiber: Fiber): void {
    advancing = fiber;
    const step = fiber.steps.next();
    advancing = null;
    if (step.done === true) fibers = fibers.filter((one) => one !== fiber);
    else {
      fiber.until = step.value.until;
      fiber.call = step.value.call ?? null;
    }
  }

  function takeJob(job: Job): void {
    const workers = living('worker');
    const worker = workers[chance.below(workers.length)]!;
    queue.take(job, worker.id);
    // A worker works on a snapshot: a later replacement of the job does not change it.
    const { runId = null } = job.payload as { runId?: string };
    run(worker, work(worker, { ...job }), { of: runId, queue: job.queue });
  }

  function act(planned: Plan): void {
    plans.splice(plans.indexOf(planned), 1);
    const apis = living('api');
    const api = apis[chance.below(apis.length)]!;
    run(api, refusable(planned.begin(api)), { of: planned.of(), queue: null });
  }

  /** At most one thing goes wrong before each step. */
  function misfortune(): void {
    const drawn = chance.below(1000);
    if (drawn < 3 && crashesLeft > 0) {
      crashesLeft -= 1;
      const alive = processes.filter((process) => process.alive);
      if (chance.of(0.1)) for (const process of alive) crash(process);
      else crash(alive[chance.below(alive.length)]!);
    } else if (drawn < 4) {
      const workers = living('worker');
      workers[chance.below(workers.length)]!.lock = false;
      figures.zombies += 1;
    } else if (drawn < 10) {
      for (const worker of living('worker')) worker.lock = true;
    } else if (drawn < 20) {
      freeDead();
    } else if (drawn < 25) {
      stopUnwanted();
    } else if (drawn < 35 && sweeps) {
      sweepOne();
    } else if (drawn < 36) {
      now += chance.below(chance.of(0.1) ? 400_000 : 20_000);
    }
  }

  function freeDead(): void {
    queue.free(
      (id) => {
        const owner = processes[id - 1]!;
        return !owner.alive || !owner.lock;
      },
      (name, id) => fibers.some((fiber) => fiber.queue === name && fiber.process.id === id),
    );
  }

  /** Calls whose answer no longer matters. */
  function stopUnwanted(): void {
    for (const fiber of fibers) {
      const state = fiber.call && stateOfRun(fiber.call.runId);
      if (fiber.call && state && !owedSlots(state).includes(fiber.call.slot)) fiber.until = 0;
    }
  }

  function sweepOne(): void {
    const all = [...runs.keys()];
    const workers = living('worker');
    const worker = workers[chance.below(workers.length)]!;
    const runId = all[chance.below(all.length)]!;
    run(worker, refusable(sweep(worker, runId)), { of: runId, queue: null });
  }

  /** No step is possible now: moves the clock to the next possible step. */
  function passTime(): boolean {
    const times = [
      ...fibers.map((fiber) => fiber.until),
      ...plans.map((planned) => planned.at),
      queue.nextDue() ?? Infinity,
    ].filter((time) => time > now && time < Infinity);
    if (times.length > 0) now = Math.min(...times);
    else if (queue.isLocked()) freeDead();
    else return false;
    return true;
  }

  // ── the story ─────────────────────────────────────────────────────────────────────────────────

  boot('api');
  boot('api');
  boot('worker');
  boot('worker');
  for (const number of [1, 2]) {
    const person: Person = {
      userId: `usr_${number}`,
      monthlyLimit: calm || chance.of(0.7) ? -1 : 1 + chance.below(2),
    };
    const begun = now;
    for (const [index, lot] of lotsOf(chance, calm).entries()) {
      const command: CreditCommand = {
        type: 'Grant',
        lotId: `lot_${number}_${index}`,
        ...lot,
        grantedAt: isoNow(),
        reason: 'test',
        paidMinor: lot.source === 'purchase' ? lot.credits * 50 : null,
        currency: lot.source === 'purchase' ? 'usd' : null,
        paymentKey: lot.source === 'purchase' ? `pi:${number}_${index}` : null,
        ...(lot.source === 'purchase' ? { purchaseId: `pur_${number}_${index}` } : {}),
      };
      plans.push({
        at: begun,
        of: () => null,
        begin: function* grant(process) {
          yield* credits(process, person.userId, command, grantCommandId(command.lotId));
        },
      });
      if (!calm && lot.source === 'purchase' && chance.of(0.15)) {
        const { lotId, credits: amount } = command;
        const taken = 1 + chance.below(amount);
        const claim = {
          type: 'SetClawback',
          lotId,
          ref: `dp_${lotId}`,
          cause: 'dispute',
          wanted: taken,
          owes: true,
        } as const;
        plans.push({
          at: begun + chance.below(300_000),
          of: () => null,
          begin: function* dispute(process) {
            yield* credits(process, person.userId, claim, uuidV5(lotId, 'dispute'));
          },
        });
      }
    }
    const count = 1 + chance.below(3);
    for (let index = 0; index < count; index += 1) {
      const runId = `opt_${number}_${index}`;
      planRun({
        runId,
        person,
        seatable: calm || chance.of(0.97),
        regrets: !calm && chance.of(0.1),
      });
      crashesLeft += calm ? 0 : chance.below(5);
    }
  }

  function planRun(planned: Run): void {
    const { runId, person } = planned;
    runs.set(runId, planned);
    const at = now + chance.below(calm ? 1 : 20_000);
    const panel = calm ? sevenSeats : sevenSeats.slice(0, [3, 5, 7, 7][chance.below(4)]);
    const designed = calm ? usualSchedule : scheduleOf(chance);
    const command = create({
      userId: person.userId,
      price: 2 + chance.below(20),
      ...(concurrency === null
        ? { seats: panel, schedule: designed }
        : inLanes(panel, designed, concurrency)),
      seed: uuidV5('seed', seed, runId).replaceAll('-', ''),
    });
    const of = () => runId;
    plans.push({
      at,
      of,
      begin: function* createRun(process) {
        yield* issue(process, runId, command, ['create']);
      },
    });
    const soon = (most: number) => at + 1 + chance.below(most);
    const will = (probability: number) => !calm && chance.of(probability);
    const later = (probability: number, most: number, begin: (process: Process) => Steps<void>) => {
      if (will(probability)) plans.push({ at: soon(most), of, begin });
    };
    const processedAt = soon(5000);
    plans.push({ at: processedAt, of, begin: (process) => processRun(process, planned) });
    if (will(0.1))
      plans.push({ at: processedAt, of, begin: (process) => asked(process, planned, 'Cancel') });
    later(0.3, 5000, (process) => processRun(process, planned));
    later(0.08, 5000, (process) => asked(process, planned, 'Cancel'));
    later(0.2, 60_000, (process) => asked(process, planned, 'Cancel'));
    later(0.05, 5000, (process) => asked(process, planned, 'Hide'));
    later(0.1, 400_000, (process) => asked(process, planned, 'Hide'));
    later(0.1, 400_000, (process) => asked(process, planned, 'Restore'));
    later(0.1, 400_000, (process) => renamed(process, planned));
  }

  /** Once a run has ended, its person may refine the result. */
  function ended(runId: string, { refines, outcome }: At<'closed'>): void {
    const rootId = refines?.root ?? runId;
    const most = calm ? mostRefinements.calm : mostRefinements.others;
    const asksAgain = calm || runs.get(rootId)!.regrets || chance.of(0.7);
    if ((!refines && outcome !== 'completed') || !asksAgain) return;
    if ((refineCalls.get(rootId) ?? 0) < most) planRefinement(rootId);
  }

  function planRefinement(rootId: string): void {
    const root = runs.get(rootId)!;
    const at = now + 1 + chance.below(5000);
    const will = (probability: number) => !calm && chance.of(probability);
    const newest = refinementsOf(rootId).findLast(
      (runId) => auditor.runs.get(runId)?.outcome === 'completed',
    );
    const fromId = newest !== undefined && chance.of(0.5) ? newest : rootId;
    /** The same call again has the id of the first. */
    const plan = (key: string, begins: readonly number[]) => {
      const call: RefineCall = { rootId, fromId, key, id: '' };
      refineCalls.set(rootId, (refineCalls.get(rootId) ?? 0) + 1);
      for (const begin of begins)
        plans.push({
          at: begin,
          of: () => (call.id ||= refining.nextId(rootId, key)),
          begin: (process) => refine(process, call),
        });
    };
    const count = refineCalls.get(rootId) ?? 0;
    plan(`call-${count}`, [at, ...(will(0.2) ? [at + chance.below(20_000)] : [])]);
    if (will(0.2)) plan(`tab-${count}`, [at + chance.below(2) * chance.below(3000)]);
    if (will(0.1)) refining.gone.add(chance.pick(sevenSeats)!.seat);
    const next = refining.nextId(rootId, `call-${count}`);
    const later = (probability: number, most: number, what: 'Process' | 'Cancel' | 'Hide') => {
      const asks = { ...root, runId: what === 'Hide' ? rootId : next };
      if (!will(probability)) return;
      plans.push({
        at: at + chance.below(most),
        of: () => asks.runId,
        begin: (process) =>
          what === 'Process' ? processRun(process, asks) : asked(process, asks, what),
      });
    };
    later(root.regrets ? 1 : 0.1, 10_000, 'Cancel');
    later(0.1, 60_000, 'Cancel');
    later(0.1, 10_000, 'Process');
    later(0.05, 60_000, 'Hide');
  }

  let steps = 0;
  while (takeStep()) {
    steps += 1;
    if (steps > mostSteps) throw new Fault('a world without an end');
  }
  sayOutcomes();
  auditor.atEnd();
  requireReplay();
  return { figures: counted(figures, auditor), auditor, runs: streamsOfRuns(), log };

  /** The state that decisions rested on is the fold of the events, and survives JSON. */
  function requireReplay(): void {
    for (const [streamId, stream] of store.streams) {
      const isRun = streamId.startsWith('optimization-');
      const folded = isRun
        ? (stream.events as OptimizationEvent[]).reduce(
            optimization.evolve,
            optimization.initialState(),
          )
        : (stream.events as CreditEvent[]).reduce<AccountState>(
            creditAccount.evolve,
            creditAccount.initialState(),
          );
      const kept = JSON.parse(JSON.stringify(stream.state)) as unknown;
      if (!isDeepStrictEqual(kept, folded))
        throw new Fault(`a state that replays otherwise: ${streamId}`);
    }
  }

  function streamsOfRuns(): Map<string, OptimizationEvent[]> {
    return new Map(
      [...runs.keys()].flatMap((runId) => {
        const events = store.streams.get(streamOf(runId))?.events;
        return events ? [[runId, events as OptimizationEvent[]] as const] : [];
      }),
    );
  }
}

type DeadlineJob = {
  key: string;
  payload: {
    runId: string;
    dueAt: string;
    rearmed: boolean;
    stage: 'opinions' | 'claims' | 'reviews' | 'synthesis';
    kind: 'soft' | 'hard';
  };
};

function counted(figures: Figures, { runs }: Auditor): Figures {
  const all = [...runs.values()];
  const ended = (outcome: string) => all.filter((run) => run.outcome === outcome).length;
  const refined = all.filter((run) => run.refines && run.outcome === 'completed');
  return {
    ...figures,
    runs: all.length,
    completed: ended('completed'),
    bestAnswers: all.filter((run) => run.heading === 'best_single_answer').length,
    cancelled: ended('cancelled'),
    failed: ended('failed') + ended('not_started'),
    drafts: all.filter((run) => run.stage === 'draft').length,
    included: refined.filter((run) => run.price === 0).length,
    paid: refined.filter((run) => run.price > 0).length,
    withoutSeat: refined.filter((run) => run.refines?.notOffered.length).length,
    failedTries: all.filter(
      (run) => run.refines && run.price === 0 && run.started && run.outcome !== 'completed',
    ).length,
    further: all.filter((run) => run.refines && run.refines.previous !== run.refines.root).length,
    noMajority: all.filter((run) => run.heading === 'no_majority').length,
    undecidable: all.filter((run) => run.heading === 'undecidable').length,
  };
}
