/** Bounds of the socket. Times in milliseconds unless the name says otherwise. */
export const socketLimits = {
  /** Of one message from a client. */
  messageBytes: 16_000,
  /** For a connection to authenticate, and for one that changes its transport. */
  connectMs: 5_000,
  /** For the other side of a websocket to answer that it is closed. */
  closeMs: 1_000,
  pingEveryMs: 25_000,
  pongWithinMs: 20_000,
  /**
   * Connections that have not said yet whose they are; those that have are counted as streams. Each
   * API process allows its part.
   */
  waitingPerAddress: 200,
  /** Runs that one connection follows at a time. */
  subscriptions: 20,
  /**
   * Packets of any kind, also such as are no messages: so many at once, and so many a second over
   * time. A connection that sends more is cut.
   */
  packets: 2_000,
  packetsPerSecond: 100,
  /** What waits to be taken by a client; to one that is told more meanwhile nothing is told any more. */
  backlogBytes: 256_000,
  /** Messages that one connection sends in a second; more are refused. */
  eventsPerSecond: 20,
  /** Messages of one connection that wait for the one before them; more are refused. */
  eventsWaiting: 20,
  /** Between two reads of a run, whoever follows it. */
  readEveryMs: 100,
  /** The same while nothing has happened but that text goes on. */
  textEveryMs: 1_000,
  /** After a read that failed. */
  readAgainMs: 1_000,
  /** Over so long the connections of a process that stops are told to come back. */
  drainSpreadMs: 1_000,
} as const;
