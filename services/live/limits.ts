/** Bounds of the live view. Times in milliseconds unless the name says otherwise. */
export const liveLimits = {
  /** A subscriber's queue; beyond it the queue is dropped and a snapshot sent. */
  queueBytes: 256_000,
  queueMessages: 500,
  /** A connection that takes nothing for so long is closed. */
  drainedWithinMs: 30_000,
  /** So much of what waits is written in one piece. */
  chunkBytes: 65_536,
  pingEveryMs: 25_000,
  /** Streams say it in so many groups, one after the other, and not all in one turn. */
  pingGroups: 25,
  /**
   * Streams that are open at a time; one more is refused, and none is closed for it. Each API process
   * allows its part.
   */
  openPerPerson: 20,
  openPerAddress: 200,
  /** When there are as many, one has to be closed first: after so long it may be tried again. */
  openRetrySeconds: 10,
  /** How often it is asked whether the sessions of open streams have ended. */
  sessionsEveryMs: 500,
  /** How often it is asked how far the read models are that open streams wait for. */
  staleEveryMs: 1_000,
  /** A stream ends up to this long before its token does, so that not all end at once. */
  tokenSpreadMs: 60_000,
  drainSpreadMs: 2_000,
  /** Events read per page while a client resumes. */
  resumePage: 1_000,
  /** Ids older than this get a snapshot. */
  resumeHours: 24,
  /** Events of all users since the id: beyond so many a snapshot is cheaper than reading them. */
  resumeEvents: 2_000,
  knownOwners: 10_000,
  /** How often streaming text is read, while a run is watched. */
  textEveryMs: 100,
  runsInSnapshot: 20,
} as const;
