import type { Decider, JobSpec, StoredEvent } from '#services/platform/command.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * Streams, jobs and commands in memory, with the guarantees of the real ones. Code between two yields
 * is atomic. The driver of the generators interleaves their steps, and may abandon a generator.
 */

export type Steps<Result> = Generator<Pause, Result, void>;
/** The earliest time of a step, in milliseconds since the epoch; a call can be stopped earlier. */
export type Pause = { until: number; call?: { runId: string; slot: string } };
export const anytime: Pause = { until: 0 };

// ── streams ─────────────────────────────────────────────────────────────────────────────────────

type Head = { version: number; state: unknown };
type Appended = { events: readonly StoredEvent[]; version: number; fingerprint: string };
type Stream = Head & {
  events: StoredEvent[];
  messageIds: Set<string>;
  byCommand: Map<string, Appended>;
};

/** Rules that a test switches off, to prove that the check notices. */
export type Guards = {
  /** Appends to these streams are refused unless they were decided on the stream's version. */
  versions: readonly ('credits' | 'optimization')[];
};

export type Store = {
  streams: ReadonlyMap<string, Stream>;
  append<State, Command, Event extends StoredEvent>(
    decider: Decider<State, Command, Event>,
    append: {
      streamId: string;
      commandId: string;
      fingerprint: string;
      expected: number;
      events: readonly Event[];
    },
  ): Head | null;
  headOf(streamId: string): Head | null;
  earlier(streamId: string, commandId: string): Appended | null;
};

export function createStore(
  guards: Guards,
  queue: Queue,
  onAppend: (streamId: string, events: readonly StoredEvent[], state: unknown) => void,
): Store {
  const streams = new Map<string, Stream>();
  const found = (streamId: string) => streams.get(streamId) ?? null;
  return {
    streams,
    headOf: found,
    earlier: (streamId, commandId) => found(streamId)?.byCommand.get(commandId) ?? null,
    append(decider, { streamId, commandId, fingerprint, expected, events }) {
      const stream: Stream = found(streamId) ?? {
        version: 0,
        state: decider.initialState(),
        events: [],
        messageIds: new Set(),
        byCommand: new Map(),
      };
      const ids = events.map((_event, index) => uuidV5(commandId, index));
      const versioned = guards.versions.some((kind) => streamId.startsWith(kind));
      if (versioned && stream.version !== expected) return null;
      if (ids.some((id) => stream.messageIds.has(id))) return null;
      const jobs: JobSpec[] = [];
      let state = stream.state as ReturnType<typeof decider.initialState>;
      for (const event of events) {
        state = decider.evolve(state, event);
        // Texts are erased a month later; no other job of a run waits that long.
        jobs.push(
          ...decider.reactions(event, streamId, state).filter(({ task }) => task !== 'forget-run'),
        );
      }
      stream.events.push(...events);
      for (const id of ids) stream.messageIds.add(id);
      stream.version += events.length;
      stream.state = state;
      stream.byCommand.set(commandId, { events, version: stream.version, fingerprint });
      streams.set(streamId, stream);
      // Of two jobs with one key in one append the later counts, as in the append function.
      queue.add(...new Map(jobs.map((job) => [job.key, job])).values());
      onAppend(streamId, events, state);
      return { version: stream.version, state };
    },
  };
}

// ── commands ────────────────────────────────────────────────────────────────────────────────────

/** What one process remembers of the streams it has written. */
export type Memory = Map<string, Head>;

export type Outcome<State, Event> = {
  events: readonly Event[];
  state: State;
  version: number;
  repeated: boolean;
};

export type Request<Command> = {
  streamId: string;
  command: Command;
  commandId: string;
  fingerprint: string;
};

const httpTries = 10;

/**
 * One command as `execute` carries it out: decided on what the process remembers; a refusal or a
 * no-op only on a fresh row, after it has searched for the command's own earlier events; after a conflict, or
 * when the reply was lost, from the start. Throws a Problem: the decider's, or 503 when it gives up.
 */
export function* execute<State, Command, Event extends StoredEvent>(
  store: Store,
  memory: Memory,
  decider: Decider<State, Command, Event>,
  request: Request<Command>,
  network: { losesReply: () => boolean; count: (what: 'conflict' | 'repeat') => void },
): Steps<Outcome<State, Event>> {
  const { streamId, command, commandId, fingerprint } = request;
  let confirming = false;
  for (let tries = 0; tries < httpTries;) {
    const remembered = confirming ? undefined : memory.get(streamId);
    const fresh = store.headOf(streamId) ?? { version: 0, state: decider.initialState() };
    const head = remembered ?? { version: fresh.version, state: fresh.state };
    const earlier = confirming ? store.earlier(streamId, commandId) : null;
    yield anytime;
    if (earlier) {
      network.count('repeat');
      if (earlier.fingerprint !== fingerprint)
        throw new Problem('idempotency-mismatch', 'Another request had this id.');
      return {
        events: earlier.events as readonly Event[],
        state: head.state as State,
        version: earlier.version,
        repeated: true,
      };
    }
    const decided = attempt(() => decider.decide(command, head.state as State));
    const events = 'refused' in decided ? [] : decided.events;
    if (events.length > 0) {
      const after = store.append(decider, {
        streamId,
        commandId,
        fingerprint,
        expected: head.version,
        events,
      });
      const known = after !== null && !network.losesReply();
      if (known) memory.set(streamId, after);
      yield anytime;
      if (known) return { events, ...after, state: after.state as State, repeated: false };
      network.count('conflict');
      memory.delete(streamId);
      confirming = true;
      tries += 1;
    } else if (confirming) {
      if ('refused' in decided) throw decided.refused;
      return { events, state: head.state as State, version: head.version, repeated: false };
    } else {
      confirming = true;
    }
  }
  throw new Problem('busy', 'The service is busy right now.');
}

function attempt<Event>(
  decide: () => readonly Event[],
): { events: readonly Event[] } | { refused: Problem } {
  try {
    return { events: decide() };
  } catch (error) {
    if (error instanceof Problem) return { refused: error };
    throw error;
  }
}

// ── jobs ────────────────────────────────────────────────────────────────────────────────────────

export type Job = {
  readonly id: number;
  task: string;
  payload: JobSpec['payload'];
  key: string | null;
  queue: string | null;
  priority: number;
  runAt: number;
  lockedBy: number | null;
  attempts: number;
};

/**
 * As graphile-worker keeps them: at least once, `replace` by key, one at a time of each queue; a dead
 * worker's jobs and queues stay locked.
 */
export type Queue = {
  readonly jobs: ReadonlyMap<number, Job>;
  add(...specs: readonly JobSpec[]): void;
  /** Jobs that a worker may take at this time. */
  due(now: number): Job[];
  nextDue(): number | null;
  /** A job or a queue is locked. */
  isLocked(): boolean;
  take(job: Job, worker: number): void;
  /** A worker that was presumed dead ends a job that another has taken over. */
  complete(id: number, worker: number): void;
  /** Only by the worker that holds it. */
  fail(id: number, worker: number, now: number): void;
  /** Jobs and queues of dead workers, and queues that no job of their worker holds. */
  free(
    isGone: (worker: number) => boolean,
    isHeld: (queue: string, worker: number) => boolean,
  ): void;
  has(key: string): boolean;
};

const maximumAttempts = 25;

export function createQueue(now: () => number): Queue {
  const jobs = new Map<number, Job>();
  /** Each queue that is locked, by the worker that locked it. */
  const locked = new Map<string, number>();
  let last = 0;
  const available = (job: Job) => job.lockedBy === null && job.attempts < maximumAttempts;
  const unlock = (queue: string | null, worker: number) => {
    if (queue !== null && locked.get(queue) === worker) locked.delete(queue);
  };
  /** The first of its queue, in the order in which graphile-worker takes jobs. */
  const isNext = (job: Job, ready: readonly Job[]) =>
    job.queue !== null &&
    !locked.has(job.queue) &&
    !ready.some(
      (other) =>
        other.queue === job.queue &&
        (other.priority - job.priority || other.runAt - job.runAt || other.id - job.id) < 0,
    );
  const byKey = (key: string) => [...jobs.values()].find((job) => job.key === key);
  const insert = (spec: JobSpec) => {
    last += 1;
    jobs.set(last, {
      id: last,
      task: spec.task,
      payload: spec.payload,
      key: spec.key,
      queue: spec.queue ?? null,
      priority: spec.priority ?? 0,
      runAt: dueAt(spec),
      lockedBy: null,
      attempts: 0,
    });
  };
  const dueAt = (spec: JobSpec) => (spec.runAt === undefined ? now() : Date.parse(spec.runAt));
  return {
    jobs,
    add(...specs) {
      for (const spec of specs) {
        const known = byKey(spec.key);
        if (known && available(known)) {
          // In place: a worker presumed dead that ends the old job also removes the new one.
          const { task, payload, queue = null, priority = 0 } = spec;
          const replaced = { task, payload, queue, priority, runAt: dueAt(spec), attempts: 0 };
          Object.assign(known, replaced);
          continue;
        }
        if (known) {
          // It has begun with the old payload: it loses its key and is not retried.
          known.key = null;
          known.attempts = maximumAttempts;
        }
        insert(spec);
      }
    },
    due(time) {
      const ready = [...jobs.values()].filter((job) => available(job) && job.runAt <= time);
      return ready.filter((job) => job.queue === null || isNext(job, ready));
    },
    nextDue() {
      const times = [...jobs.values()].filter(available).map((job) => job.runAt);
      return times.length === 0 ? null : Math.min(...times);
    },
    isLocked: () => locked.size > 0 || [...jobs.values()].some((job) => job.lockedBy !== null),
    take(job, worker) {
      job.lockedBy = worker;
      job.attempts += 1;
      if (job.queue !== null) locked.set(job.queue, worker);
    },
    complete(id, worker) {
      unlock(jobs.get(id)?.queue ?? null, worker);
      jobs.delete(id);
    },
    fail(id, worker, time) {
      const job = jobs.get(id);
      if (job?.lockedBy !== worker) return;
      job.lockedBy = null;
      unlock(job.queue, worker);
      job.runAt = Math.max(time, job.runAt) + 1000 * Math.exp(Math.min(job.attempts, 10));
    },
    free(isGone, isHeld) {
      for (const job of jobs.values())
        if (job.lockedBy !== null && isGone(job.lockedBy)) job.lockedBy = null;
      for (const [queue, worker] of locked)
        if (isGone(worker) || !isHeld(queue, worker)) locked.delete(queue);
    },
    has(key) {
      const known = byKey(key);
      return known !== undefined && (known.attempts < maximumAttempts || known.lockedBy !== null);
    },
  };
}
