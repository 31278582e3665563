import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import type { Catalogue } from '#services/models/catalogue.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { createCallModel } from '#services/optimizations/call-task.ts';
import { issue } from '#services/optimizations/commands.ts';
import type { prepareCall } from '#services/optimizations/prompts/calls.ts';
import { foldRun } from '#services/optimizations/reading/read-run.ts';
import type { OpenRun, ReadRunEvent } from '#services/optimizations/reading/read-run.ts';
import type { OptimizationEvent, Slot } from '#services/optimizations/run/events.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { optimization } from '#services/optimizations/run/optimization.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import { stageOf } from '#services/optimizations/run/slots.ts';
import type { Stage } from '#services/optimizations/run/slots.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import type { CommandBus, CommandOutcome, JobSpec } from '#services/platform/command.ts';
import type { Log } from '#services/platform/process/log.ts';
import { inClear, notingText, openCallsOf } from './in-memory.ts';

/**
 * A run without a database: the product's decider, prompts, calls and deadlines, with its events, jobs
 * and texts in memory. Nothing of the council is decided here.
 */
export type World = {
  /** Of the run's condition. */
  registry: ModelRegistry;
  catalogue: Catalogue;
  clock: () => number;
  log: Log;
  callsPerProvider: number;
  /** Lanes of providers that answer few calls at a time, over all runs. */
  lanes: Map<string, LimitFunction>;
  signal: AbortSignal;
};

/** How a condition differs from the council as it is sold. */
export type Variation = {
  /** The run ends with the reply to this call; null: it runs to its end. */
  onlySlot: Slot | null;
  /** What stands in place of the reviews, once they would begin; null: they take place. */
  inPlaceOfReviews: ((state: RunState) => OptimizationEvent[]) | null;
  prepare: typeof prepareCall;
};

export type DrivenRun = { run: OpenRun; events: readonly OptimizationEvent[] };

/** @throws the reason of the signal once it is aborted */
export async function driveRun(
  create: OptimizationCommand,
  variation: Variation,
  world: World,
): Promise<DrivenRun> {
  const { clock, signal } = world;
  const runId = 'opt_evaluated';
  const streamId = streamOf(runId);
  const isoNow = () => new Date(clock()).toISOString();
  const stream: ReadRunEvent[] = [];
  const answered = new Map<string, CommandOutcome<RunState, OptimizationEvent>>();
  const timers = new Map<string, NodeJS.Timeout>();
  const underWay = new Set<Promise<void>>();
  const calls = openCallsOf(signal);
  const written = new Map<string, number>();
  const ended = Promise.withResolvers<void>();
  let state: RunState = optimization.initialState();

  const isDone = () => {
    if (state.stage === 'closed') return true;
    const call =
      variation.onlySlot !== null && 'calls' in state ? state.calls[variation.onlySlot] : undefined;
    return call !== undefined && (call.outcome !== null || call.dead !== null);
  };
  const append = (events: readonly OptimizationEvent[]) => {
    for (const event of events) {
      state = optimization.evolve(state, event);
      const texts = 'sealed' in event.data ? { ...event.data.sealed } : {};
      stream.push({ event, position: stream.length + 1, at: isoNow(), texts });
      for (const job of optimization.reactions(event, streamId, state)) schedule(job);
    }
    if (state.stage === 'reviews' && variation.inPlaceOfReviews !== null) {
      append(variation.inPlaceOfReviews(state));
      append(optimization.decide({ type: 'Nudge', now: isoNow() }, state));
    }
    calls.stopUnwanted(state);
    if (isDone()) ended.resolve();
  };
  const execute = (commandId: string, command: OptimizationCommand) => {
    const before = answered.get(commandId);
    if (before !== undefined) return { ...before, state, repeated: true };
    const events = optimization.decide(command, state);
    append(events);
    const outcome = { events, state, version: stream.length, repeated: false, lastPosition: null };
    if (events.length > 0) answered.set(commandId, outcome);
    return outcome;
  };
  const bus = {
    execute: async (_decider, request) =>
      execute(request.commandId, request.command as OptimizationCommand) as never,
    forget: () => undefined,
    close: async () => undefined,
  } satisfies CommandBus;
  const callModel = createCallModel(
    {
      ...world,
      bus,
      sealer: inClear,
      liveText: notingText(written, clock),
      openCalls: calls,
      readRun: async () => foldRun(runId, stream),
    },
    variation.prepare,
  );

  const schedule = (job: JobSpec) => {
    clearTimeout(timers.get(job.key));
    const work = () => {
      timers.delete(job.key);
      const running = workOf(job).catch((error: unknown) => ended.reject(error));
      underWay.add(running);
      void running.then(() => underWay.delete(running));
    };
    const delayMs = job.runAt === undefined ? 0 : Date.parse(job.runAt) - clock();
    timers.set(job.key, setTimeout(work, Math.max(0, delayMs)));
  };
  const workOf = async (job: JobSpec): Promise<void> => {
    if (isDone()) return;
    const { slot = '', stage = '', kind = '' } = job.payload as Record<string, string>;
    switch (job.task) {
      case 'call-model':
        if (variation.onlySlot !== null && slot !== variation.onlySlot) return;
        await laneOf(world, job.queue)(async () => callModel(runId, slot));
        return;
      case 'stage-deadline': {
        // As in `tasks.ts`: a model in mid-answer is waited for.
        const isWriting = [...written].some(
          ([of, at]) => stageOf(of) === stage && clock() - at < writtenWithinMs,
        );
        if (kind === 'soft' && isWriting) {
          schedule({ ...job, runAt: new Date(clock() + writtenWithinMs).toISOString() });
          return;
        }
        const deadline = { type: 'Deadline', stage: stage as Stage, now: isoNow() } as const;
        await issue({ bus }, runId, { ...deadline, kind: kind === 'soft' ? kind : 'hard' }, [
          stage,
          kind,
        ]);
        return;
      }
      case 'run-deadline':
        await issue({ bus }, runId, { type: 'RunDeadline', now: isoNow() }, ['run-deadline']);
        return;
      case 'settle-run': {
        const nothing = { captured: 0, refunded: 0, creditsVersion: 0 };
        await issue({ bus }, runId, { type: 'Close', ...nothing }, ['close']);
        return;
      }
      // Nobody is waiting for an email.
      default:
    }
  };
  const interrupt = () => ended.reject(signal.reason);

  signal.addEventListener('abort', interrupt, { once: true });
  try {
    signal.throwIfAborted();
    execute('create', create);
    execute('start', { type: 'Start', now: isoNow(), seatable: true });
    await ended.promise;
  } finally {
    signal.removeEventListener('abort', interrupt);
    for (const timer of timers.values()) clearTimeout(timer);
    calls.stopAll();
    await Promise.all(underWay);
  }
  const run = foldRun(runId, stream);
  if (run === null) throw new Error('The run has no events');
  return { run, events: stream.map(({ event }) => event) };
}

const writtenWithinMs = 10_000;

/** Jobs of one queue run one at a time, over all runs. */
function laneOf({ lanes }: World, queue: string | undefined): LimitFunction {
  if (queue === undefined) return unlimited;
  const lane = lanes.get(queue) ?? pLimit(1);
  lanes.set(queue, lane);
  return lane;
}

const unlimited = pLimit(Number.POSITIVE_INFINITY);
