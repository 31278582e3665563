/**
 * Every bound on what waits, repeats or grows, by subject. The unit is in the name.
 */

/** How commands wait for their stream, travel in batches, and try again (`command.ts`). */
export const commandLimits = {
  batchesInFlight: 2,
  /** Streams in one batch. Never more: each is a subtransaction, and Postgres caches 64 of them. */
  streamsPerBatch: 64,
  commandsPerStreamAndBatch: 32,
  /** Commands that wait in this process; one more is answered 503. */
  waiting: 1_000,
  waitingPerStream: 100,
  retryAfterSeconds: 1,
  /** A person waits: this many tries, then 503. */
  httpTries: 10,
  /** A job has time: tries for so long, then fails and is run again by its queue. */
  jobPatienceMs: 10_000,
  /** Full jitter between 0 and a ceiling that doubles from the first to the second. */
  firstBackoffMs: 5,
  longestBackoffMs: 50,
  /** Streams whose state is kept in memory. */
  cachedStreams: 10_000,
  /** Events that one command may append; its repeats are found by as many message ids. */
  eventsPerCommand: 64,
  /** What the job queue stores of a name and of a key. */
  taskNameLength: 128,
  jobKeyLength: 512,
} as const;

/** Requests (`http.ts`, `idempotency.ts`). */
export const httpLimits = {
  bodyBytes: 100_000,
  /** After so long a request is given up for dead, and its Idempotency-Key may be taken over. */
  requestSeconds: 30,
  /** Idempotency-Keys that have expired and go when a new one comes. */
  expiredKeysPerKey: 10,
} as const;

/** Keys that seal text (`seal.ts`). */
export const sealLimits = {
  /** Unwrapped data keys that are kept in memory. */
  cachedKeys: 5_000,
  /** For so long a process may still open what another one has erased. */
  keyAgeMs: 5_000,
  /** Keys that a rotation reads at a time. */
  rewrapPage: 500,
} as const;

/** What `GET /ready` calls ready, and how workers say that they live. */
export const healthLimits = {
  readerLagMs: 30_000,
  heartbeatEveryMs: 10_000,
  heartbeatStaleSeconds: 30,
  /** So long a process that starts waits for a database that is away. */
  databaseAwayMs: 60_000,
} as const;

/** Jobs and those who work on them (`job-locks.ts`, `worker.ts`). */
export const workerLimits = {
  /** Start, deadlines, settlements: they never wait for a model. */
  controlSlots: 8,
  /** Calls to one provider at a time, over all worker processes. */
  callsPerProvider: 32,
  /** How often jobs are looked at whose worker may be gone. */
  sweepEveryMs: 10_000,
  /** Before a lock that is free, or a job that nobody works on, is believed. */
  settleMs: 3_000,
  reconnectMs: 250,
  /** For one statement of the session that holds the locks, and for opening it. */
  sessionTimeoutMs: 10_000,
  /** How often runs are looked at for jobs that have gone missing. */
  nudgeEveryMs: 30_000,
  /**
   * The queue's poll beside its notifications, for jobs that become due; each slot polls by itself,
   * so the many slots for calls poll less often.
   */
  controlPollMs: 500,
  callsPollMs: 2_000,
} as const;
