/**
 * Every bound on what waits, repeats or grows, by subject. The unit is in the name.
 */

/** Requests (`http.ts`, `idempotency.ts`). */
export const httpLimits = {
  bodyBytes: 100_000,
  /** Arrays and objects inside one another. */
  jsonDepth: 20,
  /** Characters of an address with its query; a mail's link with both its tokens has some 1,500. */
  addressLength: 4_000,
  /** Of all headers of a request, its first line included. */
  headerBytes: 16_384,
  /** For headers to arrive, and for the request as a whole. */
  headersMs: 10_000,
  receiveMs: 30_000,
  /**
   * A connection without a request. Proxies keep theirs for up to two minutes and have to be the ones
   * who end it, else they send a call into one that is just being closed.
   */
  keepAliveMs: 125_000,
  /**
   * A connection on which nothing moves while an answer is made or sent: whoever asks and takes
   * nothing would have us keep the answer for ever. Streams and sockets say something more often.
   */
  silenceMs: 60_000,
  /** How often connections are looked at that take too long. */
  slowCheckMs: 1_000,
  /** For so long a browser need not ask again whether it may call from another origin. */
  preflightSeconds: 600,
  /** After so long a request is given up for dead, and its Idempotency-Key may be taken over. */
  requestSeconds: 30,
  /** Idempotency-Keys that have expired and go when a new one comes. */
  expiredKeysPerKey: 10,
} as const;

/** What `GET /ready` calls ready, and how workers say that they live. */
export const healthLimits = {
  readerLagMs: 30_000,
  /** Streams that its answer names as set aside. */
  namedStreams: 10,
  heartbeatEveryMs: 10_000,
  heartbeatStaleSeconds: 30,
  /** So long a process that starts waits for a database that is away. */
  databaseUnavailableMs: 60_000,
} as const;

/** Payments: what the provider tells, and who looks after what it does not (`services/payments`). */
export const purchaseLimits = {
  /** Jobs at a time in each worker process; each may wait for the provider. */
  slots: 4,
  pollMs: 1_000,
  /** Of one delivery. */
  deliveryBytes: 262_144,
  /** The queue waits longer after each, about four days in all. */
  deliveryAttempts: 25,
  /** So long a purchase is left to its person before the provider is asked about it. */
  sweepAfterMs: 600_000,
  /** Payments, and webhook events without a job, in one pass. */
  sweepAtOnce: 20,
  /** Between two questions about one purchase: a quarter of its age, within these. */
  askAgainMs: 300_000,
  askAgainAtMostMs: 21_600_000,
  /** Unfinished purchases of one person; the next one ends the oldest. */
  openAtOnce: 10,
  /** How long a checkout can be paid; the provider allows from half an hour to a day. */
  checkoutMs: 3_600_000,
  /** So long the provider is asked again for the same checkout, when its first answer was lost. */
  resumeMs: 1_500_000,
  /** A payment that another client makes itself never ends at the provider; with us it does. */
  intentMs: 86_400_000,
  /** A delivery's job is believed lost when the delivery was not worked for so long. */
  jobMs: 120_000,
  /** How often the provider is asked for deliveries that did not arrive, and from when on. */
  lookEveryMs: 300_000,
  lookBackMs: 3_600_000,
  firstPollBackMs: 86_400_000,
  /** The provider lists events for thirty days, so none comes again after that. */
  webhookEventKeptMs: 5_184_000_000,
  /** Deliveries that go at a time. */
  purgePage: 1_000,
} as const;

/** Refunds and disputes: who looks after what nobody tells (`services/payments/refunds/tasks.ts`). */
export const refundLimits = {
  /** So long a pending refund is left to its job and to the provider's news. */
  sweepAfterMs: 300_000,
  /** Refunds, and disputes, in one pass. */
  sweepAtOnce: 20,
  /** Between two questions about one that is pending: a quarter of its age, within these. */
  askAgainMs: 300_000,
  askAgainAtMostMs: 21_600_000,
  /** What was refunded may still fail; so long it is asked about, as often as an open dispute. */
  mayFailMs: 2_592_000_000,
  dailyMs: 86_400_000,
  /** After a failure nobody who was erased can ask for it again; so long and so often a worker does. */
  failedAgainMs: 259_200_000,
  failedTries: 5,
} as const;

/**
 * Rate limits by name: so many turns in so many seconds for one key. `RATE_LIMITS` overrides single
 * rows or switches all of them off. Those that guard money or passwords count in Postgres, over all
 * processes; the others in the memory of each, which allows its part of the limit (`perProcess`).
 */
export const rateLimits = {
  /** Address and account together. */
  login: { production: [5, 60], local: [30, 60], store: 'postgres', isAudited: true },
  /** All accounts of one address. */
  'login-address': { production: [30, 60], local: [300, 60], store: 'postgres', isAudited: true },
  /** One account from anywhere: beyond it guesses take turns (`identity/slow-down.ts`). */
  'login-account': { production: [20, 900], local: [100, 900], store: 'postgres', isAudited: true },
  /** Guesses from a browser that has had a session of the account; beyond it it is like any other. */
  'login-device': { production: [10, 900], local: [30, 900], store: 'postgres', isAudited: true },
  /** Passwords given by somebody who is signed in. */
  password: { production: [5, 60], local: [30, 60], store: 'postgres', isAudited: true },
  signup: { production: [3, 3_600], local: [100, 3_600], store: 'postgres', isAudited: true },
  /** Reset links that one address asks for, of one account: a stranger's tries take none of its owner's. */
  reset: { production: [3, 3_600], local: [60, 3_600], store: 'postgres', isAudited: true },
  /** Sign-in and confirmation links, in the same way. */
  link: { production: [5, 3_600], local: [60, 3_600], store: 'postgres', isAudited: true },
  /** Changes of address to one mailbox; other mails to it are bounded by `identity/mailed-links.ts`. */
  'mail-account': {
    production: [20, 3_600],
    local: [300, 3_600],
    store: 'postgres',
    isAudited: true,
  },
  /** Mails for a browser that has had a session of the account; others' requests count for none. */
  'mail-device': {
    production: [10, 3_600],
    local: [60, 3_600],
    store: 'postgres',
    isAudited: true,
  },
  /** Mails that one address asks for, whatever the account. */
  'mail-address': {
    production: [20, 3_600],
    local: [300, 3_600],
    store: 'postgres',
    isAudited: true,
  },
  /** Tokens of links that one address tries. */
  'link-use': { production: [30, 60], local: [300, 60], store: 'postgres', isAudited: true },
  refresh: { production: [60, 60], local: [600, 60], store: 'memory', isAudited: false },
  export: { production: [10, 3_600], local: [100, 3_600], store: 'postgres', isAudited: true },
  checkout: { production: [10, 3_600], local: [100, 3_600], store: 'postgres', isAudited: false },
  refunds: { production: [10, 3_600], local: [100, 3_600], store: 'postgres', isAudited: false },
  /** Changes of a plan, visits to the provider's own pages, and purchases that one person gives up. */
  plan: { production: [20, 3_600], local: [200, 3_600], store: 'postgres', isAudited: false },
  portal: { production: [20, 3_600], local: [200, 3_600], store: 'postgres', isAudited: false },
  forget: { production: [60, 3_600], local: [600, 3_600], store: 'postgres', isAudited: false },
  /** Questions to the provider about a checkout; beyond it the answer is what is known, no refusal. */
  'checkout-state': { production: [60, 60], local: [600, 60], store: 'memory', isAudited: false },
  /** Streams that one person opens, whether or not they stay, and those of one address. */
  streams: { production: [120, 60], local: [1_200, 60], store: 'memory', isAudited: false },
  'streams-address': {
    production: [600, 60],
    local: [6_000, 60],
    store: 'memory',
    isAudited: false,
  },
  /** What one person reads, several open pages of theirs included; streams have limits of their own. */
  reads: { production: [600, 60], local: [6_000, 60], store: 'memory', isAudited: false },
  /** Questions that one person writes down; a run of them has a limit, and a price, of its own. */
  drafts: { production: [60, 3_600], local: [600, 3_600], store: 'postgres', isAudited: false },
  /**
   * Changes of runs that are there: each is an event of its run for good, or an answer that is kept
   * for a day, and whoever reads the run reads them all.
   */
  'run-changes': {
    production: [180, 3_600],
    local: [1_800, 3_600],
    store: 'postgres',
    isAudited: false,
  },
  /** Recipes that one person writes, changes or deletes. */
  recipes: { production: [120, 3_600], local: [600, 3_600], store: 'postgres', isAudited: false },
  runs: { production: [20, 3_600], local: [300, 3_600], store: 'postgres', isAudited: false },
  /** Everything of one address that is not under /api: pages, their files, the viewer of the description. */
  pages: { production: [1_200, 60], local: [12_000, 60], store: 'memory', isAudited: false },
  /** Every call of one address. */
  address: { production: [1_200, 60], local: [12_000, 60], store: 'memory', isAudited: false },
} as const satisfies Readonly<
  Record<
    string,
    {
      /** Turns and the seconds that they last. */
      production: readonly [limit: number, windowSeconds: number];
      local: readonly [limit: number, windowSeconds: number];
      store: 'postgres' | 'memory';
      /** Whether going beyond it is written to the audit table. */
      isAudited: boolean;
    }
  >
>;
export type RateLimitName = keyof typeof rateLimits;

/** What one process allows of a limit that all API processes share, each with its own counter. */
export function perProcess(limit: number, apiProcesses: number): number {
  return Math.ceil(limit / apiProcesses);
}

/** How counters are thrown away whose window is over (`rate-limits.ts`). */
export const rateLimitKeeping = {
  purgeEveryMs: 60_000,
  purgedAtOnce: 1_000,
} as const;
