/** Bounds of the socket. Times in milliseconds unless the name says otherwise. */
export const socketLimits = {
  /** Of one message from a client. */
  messageBytes: 16_000,
  /** Between an error on our side and the end of the connection, at least; at most twice as long. */
  faultMs: 2_000,
  /** For a connection to authenticate, and for one that changes its transport. */
  connectMs: 5_000,
  /** For the other side of a websocket to answer the close frame. */
  closeMs: 1_000,
  pingEveryMs: 25_000,
  pongWithinMs: 20_000,
  /** Connections that have not authenticated yet. Each API process allows its share. */
  waitingPerAddress: 200,
  /** Runs that one connection follows at a time. */
  subscriptions: 20,
  /** Packets of any kind: so many at once, and so many a second over time. Beyond that it is cut. */
  packets: 2_000,
  packetsPerSecond: 100,
  /** Sent to a client and not yet read. A client that is sent more is cut. */
  backlogBytes: 256_000,
  /** Messages that one connection sends in a second; more are refused. */
  eventsPerSecond: 20,
  /** Messages of one connection that wait for the one before them; more are refused. */
  eventsWaiting: 20,
  /** Between two reads of a run, however many follow it. */
  readEveryMs: 100,
  /** The same while only text arrives. */
  textEveryMs: 1_000,
  /** After a read that failed. */
  readAgainMs: 1_000,
  /** The time over which a stopping process closes its connections. */
  drainSpreadMs: 1_000,
} as const;
