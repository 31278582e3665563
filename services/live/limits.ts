/** Bounds of the live view. Times in milliseconds unless the name says otherwise. */
export const liveLimits = {
  /** A subscriber's queue; beyond it the queue is dropped and a snapshot sent. */
  queueBytes: 256_000,
  queueMessages: 500,
  /** A connection that takes nothing for this long is closed. */
  drainedWithinMs: 30_000,
  /** Bytes of the queue that are written at once. */
  chunkBytes: 65_536,
  pingEveryMs: 25_000,
  /** Groups of streams that ping one after another, not all in one turn. */
  pingGroups: 25,
  /**
   * Open streams; the next one is refused, and none is closed for it. Each API process allows its part.
   */
  openPerPerson: 20,
  openPerAddress: 200,
  /** When to try again after a refusal. */
  openRetrySeconds: 10,
  /** How often the sessions of open streams are checked. */
  sessionsEveryMs: 500,
  /** How often the progress of the awaited read models is checked. */
  staleEveryMs: 1_000,
  /** A stream ends up to this long before its token does, so that not all end at once. */
  tokenSpreadMs: 60_000,
  drainSpreadMs: 2_000,
  /** The pause after a failure to begin again in another epoch. */
  beginAgainMs: 250,
  /** Events read per page while a client resumes. */
  resumePage: 1_000,
  /** A client that missed an event older than this gets a snapshot. */
  resumeHours: 24,
  /** Events of all users since the id, beyond which a snapshot is cheaper. */
  resumeEvents: 2_000,
  knownOwners: 10_000,
  /** How often streaming text is read, while a run is watched. */
  textEveryMs: 100,
  runsInSnapshot: 20,
} as const;
