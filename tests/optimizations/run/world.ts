import { isDeepStrictEqual } from 'node:util';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { FailureClass } from '#services/models/model.ts';
import { waitingFor } from '#services/models/waiting.ts';
import { waitBehind } from '#services/optimizations/lanes.ts';
import { deadlineLength, isLate, timeLeft } from '#services/optimizations/run/deadlines.ts';
import { callsByStage } from '#services/optimizations/run/lanes.ts';
import type {
  OptimizationEvent,
  Schedule,
  Seat,
  Slot,
} from '#services/optimizations/run/events.ts';
import { decide, optimization } from '#services/optimizations/run/optimization.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import { isOpen } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { nextAttempt, owedSlots } from '#services/optimizations/run/owed.ts';
import { owedJobs, settleJob } from '#services/optimizations/run/reactions.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import { councilBefore } from '#services/optimizations/refinement/before.ts';
import { offerOf } from '#services/optimizations/refinement/offer.ts';
import type { Refinement } from '#services/optimizations/refinement/offer.ts';
import { claimsToVoteOn } from '#services/optimizations/run/second-round.ts';
import type { Decider } from '#services/platform/command.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { Fault } from '#tests/credits/ledger-oracle.ts';
import { createChance } from '#tests/support/chance.ts';
import { createAuditor } from './auditor.ts';
import type { Auditor } from './auditor.ts';
import { anytime, createQueue, createStore, execute } from '#tests/platform/memory-bus.ts';
import type { Guards, Job, Memory, Steps } from '#tests/platform/memory-bus.ts';
import {
  answers,
  create,
  draft,
  failedChecks,
  fails,
  ledgerOf,
  noon,
  opinion,
  schedule as usualSchedule,
  reviewBy,
  sevenSeats,
  verdict,
} from './run-script.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import { creditStream } from '#services/credits/account/events.ts';
import {
  grantCommandId,
  reserveCommandId,
  settleCommandId,
} from '#services/credits/command-ids.ts';
import { streamOf } from '#services/optimizations/run/events.ts';

/**
 * A whole installation in memory: two people with credits, several runs each, API and worker
 * processes, models that answer, fail, refuse or hang. One seed decides who takes the next step and
 * what goes wrong: processes die between any two steps, workers are presumed dead and continue,
 * replies of the database get lost, clocks jump, people cancel. The deciders and the reactions are
 * the real ones; the tasks repeat `tasks.ts`, `sweep.ts` and `routes.ts` step by step.
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
  /** Runs that refine another, which count as runs, too. */
  refinements: number;
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
  events: number;
};

export const noFigures: Figures = {
  runs: 0,
  completed: 0,
  bestAnswers: 0,
  cancelled: 0,
  failed: 0,
  drafts: 0,
  refinements: 0,
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
  /** Of its job. */
  readonly queue: string | null;
};

type Person = { readonly userId: string; readonly monthlyLimit: number };
type Run = {
  readonly runId: string;
  readonly person: Person;
  readonly seatable: boolean;
  readonly price: number;
};

/** As `Guards`. */
type WorldGuards = {
  startSettles: boolean;
  /** A run counts those that began before it in its deadlines. */
  countsEarlierRuns: boolean;
};

const complete: Guards & WorldGuards = {
  versions: ['credits', 'optimization'],
  startSettles: true,
  countsEarlierRuns: true,
};
const mostSteps = 60_000;
/** Of a call in a calm world. */
const longestMs = 12_500;

/** Runs a world to its end. Throws a Fault when a rule was broken. */
export function live(options: WorldOptions): World {
  const { seed, decider = optimization, calm = false } = options;
  const guards = { ...complete, ...options.guards };
  const chance = createFate(seed);
  const figures = { ...noFigures };
  const auditor = createAuditor();
  const log: Append[] = [];
  let now = Date.parse(noon);
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
        auditor.runEvent(runId, event as OptimizationEvent);
        if (event.type === 'CallCostRecorded') figures.lateAnswers += 1;
        if (event.type === 'CallLost') figures.lostCalls += 1;
        const refines = refinesOf(event as OptimizationEvent);
        if (refines) requireOneRefinement(refines.root);
        if (event.type === 'ProcessingStarted' && event.data.waitMs) figures.waited += 1;
      }
      requireFinished(runId, state as RunState);
    } else {
      const userId = streamId.slice('credits-'.length);
      auditor.creditEvents(userId, events as CreditEvent[]);
    }
  });

  /** Of a root: one at a time, and its price covers three tries and one that completes. */
  function requireOneRefinement(root: string): void {
    figures.refinements += 1;
    const chain = [...runs.keys()].filter((id) => id.startsWith(`${root}_r`));
    const rows = chain.flatMap((id) => rowOf(id) ?? []);
    const open = rows.filter(({ status }) => status === 'pending' || status === 'processing');
    const included = rows.filter((row) => row.price === 0 && row.started_at !== null);
    if (open.length > 1) throw new Fault(`two refinements at once: ${root}`);
    if (included.length > 3) throw new Fault(`too many tries: ${root}`);
    if (included.filter(({ status }) => status === 'completed').length > 1)
      throw new Fault(`two included refinements completed: ${root}`);
  }

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

  function run(process: Process, steps: Steps<void>, ofQueue: string | null = null): void {
    fibers.push({ process, steps, until: 0, call: null, queue: ofQueue });
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

  // ── what people do ────────────────────────────────────────────────────────────────────────────

  function* processRun(process: Process, { runId, person, price, seatable }: Run): Steps<void> {
    const state = stateOfRun(runId);
    yield anytime;
    if (state?.stage !== 'draft') return;
    const { userId, monthlyLimit } = person;
    if (price > 0) {
      const hold: CreditCommand = {
        type: 'Reserve',
        runId,
        credits: price,
        month: isoNow().slice(0, 7),
        limit: monthlyLimit,
      };
      yield* credits(process, userId, hold, reserveCommandId(runId));
      yield anytime;
    }
    const start = { type: 'Start', now: isoNow(), seatable, waitMs: waitOf(runId) } as const;
    yield* issue(process, runId, start, ['start']);
  }

  /** As `refineRun` of `refinement/begin.ts`; `from` is the root or one of its refinements. */
  function* refine(process: Process, root: Run, changed: 'c1' | undefined): Steps<void> {
    const chain = [...runs.keys()].filter((id) => id.startsWith(`${root.runId}_r`));
    const refinements = chain.flatMap((id) => rowOf(id) ?? []);
    const number = refinements.length + 1;
    const previous =
      refinements.findLast(({ status }) => status === 'completed')?.run_id ?? root.runId;
    const ground = rowOf(root.runId);
    const isOpenOne = ({ status }: Refinement) => status === 'pending' || status === 'processing';
    if (ground?.status !== 'completed' || refinements.some(isOpenOne)) return;
    yield anytime;
    const events = store.streams.get(streamOf(previous))?.events as OptimizationEvent[];
    const { before, seats, contested } = councilBefore(previous, events);
    if (!before.scored) return;
    const { price } = offerOf(root.price, refinements);
    const runId = `${root.runId}_r${number}`;
    const planned: Run = { ...root, runId, price };
    // Of two at once the second begins nothing: the stream is there.
    if (!runs.has(runId)) runs.set(runId, planned);
    const state = stateOfRun(previous);
    if (!state || !('schedule' in state)) throw new Fault(`a refinement of nothing: ${runId}`);
    const command = create({
      userId: root.person.userId,
      price,
      seats,
      schedule: { ...state.schedule, extractors: [] },
      seed: uuidV5('seed', seed, runId).replaceAll('-', ''),
      refines: {
        root: root.runId,
        previous,
        number,
        included: price === 0,
        about: changed === undefined ? 'contested' : 'fact',
        claims: claimsToVoteOn(before.ledger, contested, changed),
        notOffered: chance.of(0.2) ? [seats.at(-1)!.seat] : [],
        before,
      },
    });
    const begun = yield* issue(process, runId, command, ['create', process.id, now]);
    if (begun.events.length === 0) return;
    yield anytime;
    yield* processRun(process, planned);
  }

  /** As the list shows a run; null before it was created. */
  function rowOf(runId: string): Refinement | null {
    const state = stateOfRun(runId);
    if (state === null || state.stage === 'none') return null;
    const status = () => {
      if (state.stage === 'draft') return 'pending';
      if (state.stage !== 'closed') return 'processing';
      return state.outcome === 'not_started' ? 'failed' : state.outcome;
    };
    const isBegun =
      'startedAt' in state || ('calls' in state && Object.keys(state.calls).length > 0);
    return {
      run_id: runId,
      status: status(),
      price: state.price,
      started_at: isBegun ? noon : null,
    };
  }

  function* asked(process: Process, { runId }: Run, type: 'Cancel' | 'Hide' | 'Restore') {
    const parts = type === 'Cancel' ? ['cancel'] : [type, now];
    yield* issue(process, runId, { type, now: isoNow() }, parts);
  }

  function* renamed(process: Process, { runId }: Run) {
    const rename = { type: 'Rename', title: `sealed at ${now}`, same: false } as const;
    yield* issue(process, runId, rename, ['Rename', now]);
  }

  /** A refusal is an answer that people get; everything else is a fault. */
  function* refusable(steps: Steps<void>): Steps<void> {
    try {
      yield* steps;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
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
    if (settlement.kind === 'nothing') {
      const close = { type: 'Close', captured: 0, refunded: 0, creditsVersion: 0 } as const;
      if (state.stage === 'settling') yield* issue(process, runId, close, ['close']);
      return;
    }
    const settle = { type: 'Settle', runId, settlement } as const;
    const done = yield* credits(process, state.userId, settle, settleCommandId(runId));
    yield anytime;
    if (state.stage === 'closed') return;
    const figure = (type: CreditEvent['type']) =>
      done.events.reduce(
        (sum, event) =>
          event.type === type && 'credits' in event.data ? sum + event.data.credits : sum,
        0,
      );
    const close = {
      type: 'Close',
      captured: figure('CreditsCaptured'),
      refunded: figure('CreditsReturned'),
      creditsVersion: done.version,
    } as const;
    yield* issue(process, runId, close, ['close']);
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
  /** What people will do, and when. */
  const plans: { at: number; begin: (process: Process) => Steps<void> }[] = [];
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
    const step = fiber.steps.next();
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
    run(worker, work(worker, { ...job }), job.queue);
  }

  function act(planned: (typeof plans)[number]): void {
    plans.splice(plans.indexOf(planned), 1);
    const apis = living('api');
    const api = apis[chance.below(apis.length)]!;
    run(api, refusable(planned.begin(api)));
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
    run(worker, refusable(sweep(worker, all[chance.below(all.length)]!)));
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
        price: 2 + chance.below(20),
      });
      crashesLeft += calm ? 0 : chance.below(5);
    }
  }

  function planRun(planned: Run): void {
    const { runId, person, price } = planned;
    runs.set(runId, planned);
    const at = now + chance.below(calm ? 1 : 20_000);
    const panel = calm ? sevenSeats : sevenSeats.slice(0, [3, 5, 7, 7][chance.below(4)]);
    const designed = calm ? usualSchedule : scheduleOf(chance);
    const command = create({
      userId: person.userId,
      price,
      ...(concurrency === null
        ? { seats: panel, schedule: designed }
        : inLanes(panel, designed, concurrency)),
      seed: uuidV5('seed', seed, runId).replaceAll('-', ''),
    });
    plans.push({
      at,
      begin: function* createRun(process) {
        yield* issue(process, runId, command, ['create']);
      },
    });
    const soon = (most: number) => at + 1 + chance.below(most);
    const will = (probability: number) => !calm && chance.of(probability);
    const later = (probability: number, most: number, begin: (process: Process) => Steps<void>) => {
      if (will(probability)) plans.push({ at: soon(most), begin });
    };
    const processedAt = soon(5000);
    plans.push({ at: processedAt, begin: (process) => processRun(process, planned) });
    if (will(0.1))
      plans.push({ at: processedAt, begin: (process) => asked(process, planned, 'Cancel') });
    later(0.3, 5000, (process) => processRun(process, planned));
    later(0.08, 5000, (process) => asked(process, planned, 'Cancel'));
    later(0.2, 60_000, (process) => asked(process, planned, 'Cancel'));
    later(0.05, 5000, (process) => asked(process, planned, 'Hide'));
    later(0.1, 400_000, (process) => asked(process, planned, 'Hide'));
    later(0.1, 400_000, (process) => asked(process, planned, 'Restore'));
    later(0.1, 400_000, (process) => renamed(process, planned));
    // Two at once, and some to cancel.
    for (const most of [200_000, 300_000, 400_000, 500_000])
      later(0.5, most, (process) => refine(process, planned, chance.of(0.5) ? 'c1' : undefined));
    later(0.3, 400_000, function* cancelRefinement(process) {
      const one = runs.get(`${runId}_r1`);
      if (one) yield* asked(process, one, 'Cancel');
    });
  }

  let steps = 0;
  while (takeStep()) {
    steps += 1;
    if (steps > mostSteps) throw new Fault('a world without an end');
  }
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

function refinesOf(event: OptimizationEvent) {
  return event.type === 'OptimizationCreated' ? event.data.refines : undefined;
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
  return {
    ...figures,
    runs: all.length,
    completed: ended('completed'),
    bestAnswers: all.filter((run) => run.heading === 'best_single_answer').length,
    cancelled: ended('cancelled'),
    failed: ended('failed') + ended('not_started'),
    drafts: all.filter((run) => run.stage === 'draft').length,
  };
}

// ── chance ──────────────────────────────────────────────────────────────────────────────────────

type Persona = 'ok' | 'hang' | FailureClass;
type Fate = ReturnType<typeof createFate>;

function createFate(seed: number) {
  const chance = createChance(seed);
  // How unlucky this world is; most are mostly well.
  const unlucky = [0.02, 0.05, 0.15, 0.4][chance.below(4)]!;
  return {
    ...chance,
    persona(): Persona {
      if (!chance.of(unlucky)) return 'ok';
      return personas[chance.below(personas.length)]!;
    },
    /** In three worlds of ten all providers are unavailable for up to five minutes. */
    outage(): { from: number; until: number } | null {
      if (!chance.of(0.3)) return null;
      const from = chance.below(120_000);
      return { from, until: from + chance.below(chance.of(0.5) ? 15_000 : 300_000) };
    },
    /** Milliseconds; in a calm world no model is slow. */
    duration: (calm: boolean) =>
      500 + chance.below(!calm && chance.of(0.05) ? 150_000 : longestMs - 500),
  };
}

const personas: readonly Persona[] = [
  'rate_limited',
  'unavailable',
  'connection',
  'timeout',
  'refusal',
  'malformed',
  'truncated',
  'billing',
  'hang',
];

function scheduleOf(chance: Fate): Schedule {
  return {
    ...usualSchedule,
    reviewsPerSeat: 1 + chance.below(6),
    minFamilies: 2 + chance.below(2),
    deadlinesMs: {
      opinionsSoft: 5000 + chance.below(30_000),
      opinionsHard: 40_000 + chance.below(60_000),
      claims: 10_000 + chance.below(60_000),
      reviewsSoft: 5000 + chance.below(30_000),
      reviewsHard: 40_000 + chance.below(60_000),
      synthesis: 30_000 + chance.below(60_000),
      run: 60_000 + chance.below(400_000),
    },
  };
}

/** In three worlds of ten all calls wait for the same provider. The other worlds do not depend on it. */
function drawnConcurrency(seed: number): number | null {
  const chance = createChance(seed + 1);
  return chance.of(0.3) ? 1 + chance.below(3) : null;
}

/** The same panel at one provider, with deadlines that are long enough for calls of `longestMs`. */
function inLanes(
  panel: readonly Seat[],
  designed: Schedule,
  concurrency: number,
): { seats: readonly Seat[]; schedule: Schedule } {
  const provider = 'few-at-a-time';
  const there = <Model extends { provider: string }>(model: Model) => ({ ...model, provider });
  const seats = panel.map((seat, index) => ({ ...there(seat), model: `model-${index % 3}` }));
  const models = {
    extractors: designed.extractors.map(there),
    synthesizers: designed.synthesizers.map(there),
    verifiers: designed.verifiers.map((pair) => pair.map(there)),
  };
  const lanes = { [provider]: { concurrency, secondsPerCall: longestMs / 1500 } };
  const second = { softMs: 1000, hardMs: 1000 };
  const waiting = waitingFor(
    { opinions: second, claimsMs: 1000, reviews: second, synthesisMs: 1000, runMs: 1000 },
    callsByStage({ seats, ...models }),
    lanes,
  );
  if ('unavailable' in waiting) throw new Fault(waiting.unavailable);
  const { opinions, claimsMs, reviews, synthesisMs, runMs } = waiting.deadlines;
  return {
    seats,
    schedule: {
      ...designed,
      ...models,
      lanes,
      deadlinesMs: {
        opinionsSoft: opinions.softMs,
        opinionsHard: opinions.hardMs,
        claims: claimsMs,
        reviewsSoft: reviews.softMs,
        reviewsHard: reviews.hardMs,
        synthesis: synthesisMs,
        run: runMs,
      },
    },
  };
}

function lotsOf(chance: Fate, calm: boolean) {
  const lots = [
    { source: 'bonus', credits: 5 + chance.below(20) },
    { source: 'other', credits: 5 + chance.below(20) },
    { source: 'purchase', credits: calm ? 200 : 10 + chance.below(50) },
  ] as const;
  return lots.filter((lot) => calm || lot.source === 'purchase' || chance.of(0.7));
}

function answerOf(state: RunState, slot: Slot, chance: Fate, calm: boolean) {
  const rarely = (probability: number) => !calm && chance.of(probability);
  const parts = parseSlot(slot);
  switch (parts.kind) {
    case 'opinion':
      return opinion({ confidence: chance.below(101), injectionFound: rarely(0.05) });
    case 'claims':
      return ledgerOf('accepted' in state ? state.accepted : []);
    case 'review': {
      if (!('order' in state)) throw new Fault(`a review in the stage ${state.stage}`);
      if (state.refines)
        return {
          kind: 'second_vote' as const,
          votes: Object.fromEntries(
            state.refines.claims.map((id) => [
              id,
              {
                stance: (['agree', 'disagree', 'unsure'] as const)[chance.below(3)]!,
                confidence: 60,
              },
            ]),
          ),
          optionId: chance.of(0.5) ? 'o1' : 'o2',
        };
      return reviewBy(state, parts.seat, {
        stance: (['agree', 'agree', 'disagree', 'unsure'] as const)[chance.below(4)]!,
        optionId: chance.of(0.7) ? 'o1' : 'o2',
        suspects: rarely(0.2) ? [state.order[0]!] : [],
        reversed: chance.of(0.3),
      });
    }
    case 'draft':
      return rarely(0.3) ? draft(failedChecks) : draft();
    case 'verify':
      return verdict(rarely(0.15));
  }
}
