import { LRUCache } from 'lru-cache';
import pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import {
  alreadyAppended,
  appendCommands,
  findMessages,
  readHeads,
  readStream,
  type AppendedEvent,
  type AppendEntry,
  type AppendOutcome,
  type LogPosition,
  type StreamHead,
} from '#db/streams.ts';
import { isTransient } from '#db/transaction.ts';
import { chainHash, firstHash } from '#db/chain.ts';
import { uuidV5 } from './ids.ts';
import type { Log } from './process/log.ts';
import { Problem } from './problem.ts';
import { upcast } from '#db/recorded-event.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

/**
 * `execute` is the one way to change a stream.
 *
 * A command waits in its stream's lane. While fewer than two batches are in flight, the next turn of the
 * event loop takes lanes that are in no other batch, half of all lanes or 64, and up to 32 commands of each.
 * It decides each lane's commands in order, each on the state after the previous one, and appends all of it
 * with one call, which pays lock, commit and round trip once. The lane also serialises a stream's commands
 * in this process; between processes the expected version does.
 *
 * Decisions use the state in memory after the last append. An accepted command proves it by appending at
 * its version. A refusal or a no-op appends nothing that could expose a stale state. So it is answered only
 * when it was decided on a row read for it, or beside an append that succeeded; otherwise it takes another
 * round. That round also searches for the command's own earlier events, because its own first success may
 * be what refuses it.
 *
 * When the outcome of an append is unknown, or another command was faster, the same round decides: the
 * first message id, derived from the command's id and unique in its stream, shows whether the command has
 * happened.
 */

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export type JobSpec = {
  task: string;
  /** Ids and plain values, never a user's text. */
  payload: Record<string, JsonValue>;
  /** A later job of the same key replaces one that has not begun. */
  key: string;
  /** ISO 8601; at once when left out. */
  runAt?: string;
  /** Jobs of one queue run one at a time, over all processes. */
  queue?: string;
  /** The least goes first, then the earliest `runAt`; 0 when left out. */
  priority?: number;
  maxAttempts?: number;
};

export type StoredEvent = {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
};

export type Decider<State, Command, Event extends StoredEvent> = {
  /** The snapshot's name. */
  name: string;
  /** The snapshot's format; one of another version is not read, and the stream is folded. */
  version: number;
  initialState: () => State;
  /** Pure. Throws a Problem to refuse; no events mean that there is nothing to do. */
  decide: (command: Command, state: State) => readonly Event[];
  /** Pure, and never changes the state that it is given. A state is plain JSON. */
  evolve: (state: State, event: Event) => State;
  /** The jobs that an event causes, enqueued in the transaction that appends it. `state` is after it. */
  reactions: (event: Event, streamId: string, state: State) => readonly JobSpec[];
};

export type CommandRequest<Command> = {
  streamId: string;
  command: Command;
  /** A UUID that is equal for equal requests. */
  commandId: string;
  /** Of the request; the same id with another fingerprint is refused. */
  fingerprint?: string;
  /** A user's id, or a name such as `worker` or `operator:<id>`. */
  actor: string;
  correlationId: string;
  causationId?: string | null;
};

export type CommandOutcome<State, Event> = {
  /** Of a repeat: the events of the first time. */
  events: readonly Event[];
  /** The stream's present state. */
  state: State;
  /** The stream's version after these events: of a repeat, as it was after the first time. */
  version: number;
  /** The command had been accepted before, and nothing was appended now. */
  repeated: boolean;
  /** The position of the last event in the log; null when there are none. */
  lastPosition: LogPosition | null;
};

/** How long a conflict is retried: a user waits for the reply, a job has time. */
export type Patience = 'http' | 'job';

export type CommandBus = {
  /**
   * @throws Problem the decider's refusal; 409 `idempotency-mismatch` for an id seen with another
   * fingerprint; 503 `busy` with Retry-After when too much waits or no try succeeded, after which
   * the same command may be sent again.
   * @throws AppendError when the database refuses the command's events: an internal error.
   */
  execute<State, Command, Event extends StoredEvent>(
    decider: Decider<State, Command, Event>,
    request: CommandRequest<Command>,
    patience: Patience,
  ): Promise<CommandOutcome<State, Event>>;
  /** Drops the states in memory, which may be of another history. */
  forget(): void;
  /** Takes no more commands and waits until every one that was taken is answered. */
  close(): Promise<void>;
};

/** How commands wait for their stream, travel in batches, and are tried again. */
export const commandLimits = {
  batchesInFlight: 2,
  streamsPerBatch: 64,
  commandsPerStreamAndBatch: 32,
  /** Commands that wait in this process; further ones are refused with 503. */
  waiting: 1_000,
  waitingPerStream: 100,
  retryAfterSeconds: 1,
  /** A user waits: this many tries, then 503. */
  httpTries: 10,
  /** A job has time: it tries for this long, then fails, and its queue runs it again. */
  jobPatienceMs: 10_000,
  /** Full jitter between 0 and a ceiling that doubles from the first to the second. */
  firstBackoffMs: 5,
  longestBackoffMs: 50,
  /**
   * Streams whose state is kept in memory: enough for 128 runs, each with its account. The state of an ended
   * run is some 30 kB, and nothing else drops it.
   */
  cachedStreams: 256,
  /** Events that one command may append; its repeats are found by as many message ids. */
  eventsPerCommand: 64,
  /** What the job queue stores of a task's name, a queue's name and a key. */
  taskNameLength: 128,
  queueNameLength: 128,
  jobKeyLength: 512,
} as const;

export type CommandLimits = { readonly [Name in keyof typeof commandLimits]: number };

export type CommandBusOptions = {
  pool: pg.Pool;
  /** From `migrate`, or `appendFunction(projections).name`. */
  functionName: string;
  /** Milliseconds since 1970. */
  clock: () => number;
  log: Log;
  limits?: Partial<CommandLimits>;
  /** Sees batches, version conflicts, and batches whose outcome is unknown. */
  observe?: { batch(commands: number): void; conflict(): void; failure(): void };
};

/** The database refused a command's events: a broken CHECK, a failing projection. */
export class AppendError extends Error {
  override readonly name = 'AppendError';
  /** SQLSTATE. */
  readonly code: string;
  readonly constraint: string;

  constructor(code: string, constraint: string) {
    super(`The events could not be stored: ${code} ${constraint}`.trim());
    this.code = code;
    this.constraint = constraint;
  }
}

export function createCommandBus(options: CommandBusOptions): CommandBus {
  const { pool, functionName, clock, log, observe } = options;
  const limits: CommandLimits = { ...commandLimits, ...options.limits };
  const lanes = new Map<string, Lane>();
  const cache = createCache(limits.cachedStreams);
  const whenIdle: (() => void)[] = [];
  let waiting = 0;
  let batches = 0;
  let flushScheduled = false;
  let closed = false;

  function execute<State, Command, Event extends StoredEvent>(
    decider: Decider<State, Command, Event>,
    request: CommandRequest<Command>,
    patience: Patience,
  ): Promise<CommandOutcome<State, Event>> {
    const { streamId } = request;
    const lane = lanes.get(streamId) ?? { streamId, tasks: [], inBatch: false, resting: false };
    if (closed || waiting >= limits.waiting || lane.tasks.length >= limits.waitingPerStream)
      return Promise.reject(busy(limits));
    const answer = Promise.withResolvers<CommandOutcome<State, Event>>();
    enter(lane, [createTask(decider, request, patience, answer, limits)], 'last');
    return answer.promise;
  }

  // --- lanes ---

  function enter(lane: Lane, tasks: readonly Task[], place: 'first' | 'last'): void {
    if (place === 'first') lane.tasks.unshift(...tasks);
    else lane.tasks.push(...tasks);
    waiting += tasks.length;
    lanes.set(lane.streamId, lane);
    scheduleFlush();
  }

  /** A lane goes to the end of the queue after its turn, and is removed when it is empty. */
  function leave(lane: Lane): void {
    lane.inBatch = false;
    lanes.delete(lane.streamId);
    if (lane.tasks.length > 0) lanes.set(lane.streamId, lane);
    if (lanes.size === 0) for (const resolve of whenIdle.splice(0)) resolve();
  }

  function rest(lane: Lane, milliseconds: number): void {
    lane.resting = true;
    setTimeout(() => {
      lane.resting = false;
      scheduleFlush();
    }, milliseconds);
  }

  function scheduleFlush(): void {
    if (flushScheduled || batches >= limits.batchesInFlight) return;
    flushScheduled = true;
    setImmediate(() => {
      flushScheduled = false;
      const picks = takePicks();
      if (picks.length === 0) return;
      batches += 1;
      void flush(picks);
      scheduleFlush();
    });
  }

  async function flush(picks: readonly Pick[]): Promise<void> {
    observe?.batch(picks.reduce((sum, { tasks }) => sum + tasks.length, 0));
    await runBatch(picks);
    batches -= 1;
    for (const { lane } of picks) leave(lane);
    scheduleFlush();
  }

  function takePicks(): Pick[] {
    const picks: Pick[] = [];
    // While one half is in the database, this process answers and decides the other.
    const fits = lanes.size <= limits.streamsPerBatch;
    const most = fits ? Math.ceil(lanes.size / limits.batchesInFlight) : limits.streamsPerBatch;
    for (const lane of lanes.values()) {
      const first = lane.tasks[0];
      if (first === undefined || lane.inBatch || lane.resting) continue;
      if (first.isolated && picks.length > 0) continue;
      const tasks = takeTasks(lane.tasks, limits.commandsPerStreamAndBatch);
      waiting -= tasks.length;
      lane.inBatch = true;
      picks.push({ lane, tasks, first });
      if (first.isolated || picks.length === most) break;
    }
    return picks;
  }

  // --- one batch ---

  /** Never rejects: an error is the reply to a command, or leads to another round. */
  async function runBatch(picks: readonly Pick[]): Promise<void> {
    try {
      const { known, earlier } = await lookUp(picks);
      const decisions = known.map((pick) => decideAll(pick, earlier));
      const outcomes = await append(decisions);
      for (const decision of decisions) settle(decision, outcomes.get(decision) ?? null);
    } catch (error) {
      // Reading failed, the database refused one of the commands, or what happened is unknown.
      observe?.failure();
      const isAlone = picks.length === 1 && picks[0]!.tasks.length === 1;
      for (const pick of picks) startOver(pick, error, isAlone);
    }
  }

  /** The state of each lane, and earlier events of commands that need confirmation. */
  async function lookUp(picks: readonly Pick[]): Promise<{ known: KnownPick[]; earlier: Earlier }> {
    const known: KnownPick[] = [];
    const missing: Pick[] = [];
    for (const pick of picks) {
      const confirming = pick.tasks.some((task) => task.confirming);
      const head = confirming ? null : cache.get(pick.lane.streamId, pick.first);
      if (head === null) missing.push(pick);
      else known.push({ ...pick, head, fresh: false });
    }
    if (missing.length === 0) return { known, earlier: new Map() };

    const rows = await readHeads(
      pool,
      missing.map(({ lane }) => lane.streamId),
    );
    for (const [index, row] of rows.entries()) {
      const pick = missing[index]!;
      const head = await headOf(row, pick);
      if (head !== null) known.push({ ...pick, head, fresh: true });
    }
    return { known, earlier: await findEarlier(missing) };
  }

  /** Null when the stream cannot be folded: only its own commands fail. */
  async function headOf(row: StreamHead, { tasks, first }: Pick): Promise<Head | null> {
    const fromSnapshot = headFromSnapshot(row, first);
    if (fromSnapshot !== null) return fromSnapshot;
    const { events } = await readStream(pool, row.streamId);
    try {
      return headFromEvents(row.streamId, events, first);
    } catch (error) {
      log.error({ stream: row.streamId, err: error }, 'A stream could not be folded');
      for (const task of tasks) task.fail(error);
      return null;
    }
  }

  async function findEarlier(picks: readonly Pick[]): Promise<Earlier> {
    const wanted = picks.flatMap(({ lane, tasks }) =>
      tasks
        .filter((task) => task.confirming)
        .map((task) => ({ streamId: lane.streamId, messageIds: task.messageIds() })),
    );
    if (wanted.length === 0) return new Map();
    const found = await findMessages(pool, wanted);
    return Map.groupBy(found, (event) =>
      earlierKey(event.streamId, String(event.metadata['commandId'])),
    );
  }

  /** In order, each on the state after the previous one. */
  function decideAll(pick: KnownPick, earlier: Earlier): Decision {
    const { streamId } = pick.lane;
    const now = new Date(clock()).toISOString();
    const parts: Part[] = [];
    let after = pick.head;
    for (const task of pick.tasks) {
      const before = earlier.get(earlierKey(streamId, task.commandId));
      const part: Part =
        before === undefined
          ? { task, ...task.decide(after, now) }
          : { task, kind: 'repeated', events: before };
      if (part.kind === 'accepted') after = part.after;
      parts.push(part);
    }
    return { pick, parts, after };
  }

  async function append(decisions: readonly Decision[]): Promise<Map<Decision, AppendOutcome>> {
    const writing = decisions.filter(({ parts }) => parts.some((part) => part.kind === 'accepted'));
    if (writing.length === 0) return new Map();
    const outcomes = await appendCommands(pool, functionName, writing.map(entryOf));
    return new Map(writing.map((decision, index) => [decision, outcomes[index]!]));
  }

  // --- outcomes ---

  function settle(decision: Decision, outcome: AppendOutcome | null): void {
    const { pick, after } = decision;
    const { streamId } = pick.lane;
    if (outcome !== null && !outcome.appended) {
      cache.drop(streamId);
      observe?.conflict();
      again(pick, new Error(`${streamId} is no longer at ${pick.head.version}`));
      return;
    }
    if (outcome !== null || pick.fresh) cache.set(streamId, after);
    answerAll(decision, outcome?.positions ?? []);
  }

  /**
   * The state of these commands is proven: it was read for this batch, or an append succeeded on it. An
   * answer without events also needs the search for the command's own earlier events, for which a command
   * takes another round.
   */
  function answerAll(decision: Decision, positions: readonly LogPosition[]): void {
    const unconfirmed: Task[] = [];
    let appended = 0;
    for (const part of decision.parts) {
      const { task } = part;
      switch (part.kind) {
        case 'repeated':
          task.answerRepeat(part.events, decision.after);
          break;
        case 'accepted':
          appended += part.events.length;
          task.answer(part.decided, part.after, positions[appended - 1] ?? null);
          break;
        case 'nothing':
        case 'refused':
          if (!task.confirming) unconfirmed.push(task);
          else if (part.kind === 'refused') task.fail(part.error);
          else task.answer([], part.on, null);
      }
    }
    for (const task of unconfirmed) task.confirming = true;
    if (unconfirmed.length > 0) enter(decision.pick.lane, unconfirmed, 'first');
  }

  /** Which command the database refused is unknown until each has a batch of its own. */
  function startOver(pick: Pick, error: unknown, isAlone: boolean): void {
    const { streamId } = pick.lane;
    cache.drop(streamId);
    if (!(error instanceof pg.DatabaseError) || isTransient(error)) return again(pick, error);
    if (!isAlone || alreadyAppended(error)) {
      for (const task of pick.tasks) task.isolated = true;
      return again(pick, error);
    }
    const { code = '', constraint = '' } = error;
    log.error(
      { stream: streamId, code, reason: constraint },
      'The database refused the events of a command',
    );
    pick.first.fail(new AppendError(code, constraint));
  }

  /** After a conflict or an unknown outcome: from a fresh row, after a pause. */
  function again(pick: Pick, error: unknown): void {
    const retried: Task[] = [];
    for (const task of pick.tasks.filter(({ answered }) => !answered)) {
      task.tries += 1;
      task.confirming = true;
      if (isExhausted(task, limits)) {
        log.warn(
          { stream: pick.lane.streamId, attempt: task.tries, err: error },
          'A command gave up',
        );
        task.fail(busy(limits));
      } else {
        retried.push(task);
      }
    }
    if (retried.length === 0) return;
    rest(pick.lane, backoffMs(retried[0]!.tries, limits));
    enter(pick.lane, retried, 'first');
  }

  return {
    execute,
    forget: () => cache.clear(),
    async close() {
      closed = true;
      if (lanes.size > 0) await new Promise<void>((resolve) => whenIdle.push(resolve));
    },
  };
}

// --- types of a batch ---

/** The commands of one stream that wait in this process. */
type Lane = {
  readonly streamId: string;
  readonly tasks: Task[];
  inBatch: boolean;
  /** Between two tries. */
  resting: boolean;
};

/** The end of a stream: the hash for the next event, and the state to decide on. */
type Head = {
  readonly version: number;
  readonly hash: string;
  readonly occurredAt: string;
  readonly decider: string;
  readonly deciderVersion: number;
  readonly state: unknown;
};

type Pick = {
  readonly lane: Lane;
  readonly tasks: readonly Task[];
  readonly first: Task;
};

/** `fresh`: the head was read for this batch. */
type KnownPick = Pick & { readonly head: Head; readonly fresh: boolean };

type Verdict =
  | {
      readonly kind: 'accepted';
      readonly decided: readonly StoredEvent[];
      readonly events: readonly AppendedEvent[];
      readonly jobs: readonly JobSpec[];
      readonly after: Head;
    }
  | { readonly kind: 'nothing'; readonly on: Head }
  | { readonly kind: 'refused'; readonly error: unknown };

type Part = { readonly task: Task } & (
  | Verdict
  | { readonly kind: 'repeated'; readonly events: readonly RecordedEvent[] }
);

type Decision = {
  readonly pick: KnownPick;
  readonly parts: readonly Part[];
  readonly after: Head;
};

/** Events by stream and command. */
type Earlier = ReadonlyMap<string, readonly RecordedEvent[]>;

function earlierKey(streamId: string, commandId: string): string {
  return `${streamId} ${commandId}`;
}

/** The fold of a decider, with its types hidden. */
type Folding = {
  readonly deciderName: string;
  readonly deciderVersion: number;
  initialState(): unknown;
  evolve(state: unknown, event: RecordedEvent): unknown;
};

function foldingOf<State, Command, Event extends StoredEvent>(
  decider: Decider<State, Command, Event>,
): Folding {
  return {
    deciderName: decider.name,
    deciderVersion: decider.version,
    initialState: decider.initialState,
    evolve: (state, { type, data }) => decider.evolve(state as State, { type, data } as Event),
  };
}

/** A command in flight, with the types of its decider hidden in its functions. */
type Task = Folding & {
  readonly commandId: string;
  readonly patience: Patience;
  readonly since: number;
  tries: number;
  /** To be decided on a fresh row, after a search for its own earlier events. */
  confirming: boolean;
  /** To have a batch of its own. */
  isolated: boolean;
  answered: boolean;
  /** The ids of all events that this command can have appended. */
  messageIds(): string[];
  decide(head: Head, now: string): Verdict;
  answer(events: readonly StoredEvent[], head: Head, lastPosition: LogPosition | null): void;
  answerRepeat(events: readonly RecordedEvent[], head: Head): void;
  fail(error: unknown): void;
};

function createTask<State, Command, Event extends StoredEvent>(
  decider: Decider<State, Command, Event>,
  request: CommandRequest<Command>,
  patience: Patience,
  outcome: PromiseWithResolvers<CommandOutcome<State, Event>>,
  limits: CommandLimits,
): Task {
  const task: Task = {
    ...foldingOf(decider),
    commandId: request.commandId,
    patience,
    since: performance.now(),
    tries: 0,
    confirming: false,
    isolated: false,
    answered: false,
    messageIds: () =>
      Array.from({ length: limits.eventsPerCommand }, (_, index) =>
        uuidV5(request.commandId, index),
      ),
    decide(head, now) {
      try {
        const decided = decider.decide(request.command, head.state as State);
        if (decided.length === 0) return { kind: 'nothing', on: head };
        return {
          kind: 'accepted',
          decided,
          ...chain(decider, request, decided, head, now, limits),
        };
      } catch (error) {
        return { kind: 'refused', error };
      }
    },
    answer(events, head, lastPosition) {
      task.answered = true;
      outcome.resolve({
        events: events as readonly Event[],
        state: head.state as State,
        version: head.version,
        repeated: false,
        lastPosition,
      });
    },
    answerRepeat(events, head) {
      const fingerprint = events[0]?.metadata['fingerprint'] ?? null;
      if (fingerprint !== (request.fingerprint ?? null)) return task.fail(idempotencyMismatch());
      const last = events.at(-1);
      task.answered = true;
      outcome.resolve({
        events: events.map(upcast).map(({ type, data }) => ({ type, data }) as Event),
        state: head.state as State,
        version: last?.streamPosition ?? head.version,
        repeated: true,
        lastPosition: last ?? null,
      });
    },
    fail(error) {
      task.answered = true;
      outcome.reject(error);
    },
  };
  return task;
}

/** The command's events as they will be stored, the jobs they cause, and the head after them. */
function chain<State, Command, Event extends StoredEvent>(
  decider: Decider<State, Command, Event>,
  request: CommandRequest<Command>,
  decided: readonly Event[],
  head: Head,
  now: string,
  limits: CommandLimits,
): { events: AppendedEvent[]; jobs: JobSpec[]; after: Head } {
  if (decided.length > limits.eventsPerCommand)
    throw new Error(`A command of ${decider.name} decided ${decided.length} events`);
  const { streamId, commandId } = request;
  // Clocks of two machines differ; time in a stream must not run backwards.
  const occurredAt = now > head.occurredAt ? now : head.occurredAt;
  const metadata = {
    schemaVersion: 1,
    commandId,
    fingerprint: request.fingerprint ?? null,
    correlationId: request.correlationId,
    causationId: request.causationId ?? null,
    actor: request.actor,
    occurredAt,
  };
  const events: AppendedEvent[] = [];
  const jobs: JobSpec[] = [];
  let state = head.state as State;
  let { hash, version } = head;
  for (const [index, event] of decided.entries()) {
    const { type, data } = event;
    const messageId = uuidV5(commandId, index);
    version += 1;
    hash = chainHash(hash, { stream: streamId, version, messageId, type, data, metadata });
    events.push({ id: messageId, type, data, metadata: { ...metadata, hash } });
    state = decider.evolve(state, event);
    jobs.push(...decider.reactions(event, streamId, state));
  }
  for (const job of jobs) requireFittingJob(job, limits);
  return { events, jobs, after: { ...head, version, hash, occurredAt, state } };
}

/** The queue refuses longer ones, and with them the whole batch. */
function requireFittingJob(job: JobSpec, limits: CommandLimits): void {
  const fits =
    job.task.length > 0 &&
    job.task.length <= limits.taskNameLength &&
    job.key.length > 0 &&
    job.key.length <= limits.jobKeyLength &&
    (job.queue ?? '').length <= limits.queueNameLength;
  if (!fits) throw new Error(`A job of the task "${job.task}" has no fitting name, key and queue`);
}

function entryOf({ pick, parts, after }: Decision): AppendEntry {
  const accepted = parts.filter((part) => part.kind === 'accepted');
  const { decider, deciderVersion, hash, occurredAt, state } = after;
  return {
    streamId: pick.lane.streamId,
    expectedVersion: pick.head.version,
    events: accepted.flatMap(({ events }) => events),
    jobs: accepted.flatMap(({ jobs }) => jobs),
    snapshot: { decider, deciderVersion, hash, occurredAt, state },
  };
}

/**
 * The commands at the front of a lane that fit one entry: of one decider, and never a command beside its
 * repeat, because their events would have the same ids.
 */
function takeTasks(tasks: Task[], most: number): Task[] {
  const first = tasks[0]!;
  const taken = new Set<string>();
  for (const task of tasks) {
    const fits =
      taken.size < most &&
      !taken.has(task.commandId) &&
      task.deciderName === first.deciderName &&
      task.deciderVersion === first.deciderVersion &&
      (task === first || !(first.isolated || task.isolated));
    if (!fits) break;
    taken.add(task.commandId);
  }
  return tasks.splice(0, taken.size);
}

// --- heads ---

/** A stream's current state, from its snapshot: for a query. */
export async function readState<State, Command, Event extends StoredEvent>(
  queryable: Queryable,
  decider: Decider<State, Command, Event>,
  streamId: string,
): Promise<State> {
  const folding = foldingOf(decider);
  const [row] = await readHeads(queryable, [streamId]);
  const head = row === undefined ? null : headFromSnapshot(row, folding);
  if (head !== null) return head.state as State;
  const { events } = await readStream(queryable, streamId);
  return headFromEvents(streamId, events, folding).state as State;
}

/** Null when the snapshot is missing or of another format, and the stream has to be folded. */
function headFromSnapshot({ version, snapshot }: StreamHead, task: Folding): Head | null {
  if (version === 0) return emptyHead(task);
  const usable =
    snapshot !== null &&
    snapshot.version === version &&
    snapshot.decider === task.deciderName &&
    snapshot.deciderVersion === task.deciderVersion;
  return usable ? snapshot : null;
}

function headFromEvents(streamId: string, events: readonly RecordedEvent[], task: Folding): Head {
  const last = events.at(-1);
  if (last === undefined) return emptyHead(task);
  const { hash, occurredAt } = last.metadata;
  if (typeof hash !== 'string' || typeof occurredAt !== 'string')
    throw new Error(`The last event of ${streamId} has no hash or no time`);
  const state = events.reduce((before, event) => task.evolve(before, event), task.initialState());
  return { ...emptyHead(task), version: last.streamPosition, hash, occurredAt, state };
}

function emptyHead(task: Folding): Head {
  return {
    version: 0,
    hash: firstHash,
    occurredAt: '',
    decider: task.deciderName,
    deciderVersion: task.deciderVersion,
    state: task.initialState(),
  };
}

type Cache = {
  get(streamId: string, task: Task): Head | null;
  set(streamId: string, head: Head): void;
  drop(streamId: string): void;
  clear(): void;
};

function createCache(size: number): Cache {
  const heads = new LRUCache<string, Head>({ max: size });
  return {
    get(streamId, task) {
      const head = heads.get(streamId);
      if (head === undefined) return null;
      const fits = head.decider === task.deciderName && head.deciderVersion === task.deciderVersion;
      return fits ? head : null;
    },
    set: (streamId, head) => heads.set(streamId, head),
    drop: (streamId) => heads.delete(streamId),
    clear: () => heads.clear(),
  };
}

// --- patience ---

function isExhausted(task: Task, limits: CommandLimits): boolean {
  return task.patience === 'http'
    ? task.tries >= limits.httpTries
    : performance.now() - task.since >= limits.jobPatienceMs;
}

/** Full jitter: anything between nothing and a ceiling that doubles. */
function backoffMs(tries: number, limits: CommandLimits): number {
  const ceiling = Math.min(limits.longestBackoffMs, limits.firstBackoffMs * 2 ** (tries - 1));
  return Math.random() * ceiling;
}

function busy({ retryAfterSeconds }: CommandLimits): Problem {
  return new Problem('busy', 'The service is busy right now. Please try again in a moment.', {
    retryAfterSeconds,
  });
}

function idempotencyMismatch(): Problem {
  return new Problem(
    'idempotency-mismatch',
    'This idempotency key was already used for a different request.',
  );
}
