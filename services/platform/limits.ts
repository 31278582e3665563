/**
 * Limits that several slices use. The unit is in the name.
 */

/** Requests (`http.ts`, `idempotency.ts`). */
export const httpLimits = {
  bodyBytes: 100_000,
  /** Depth of arrays and objects. */
  jsonDepth: 20,
  /** Characters of an address with its query; a link in an email with both tokens has some 1,500. */
  addressLength: 4_000,
  /** Of all headers of a request, its first line included. */
  headerBytes: 16_384,
  /** For headers to arrive, and for the request as a whole. */
  headersMs: 10_000,
  receiveMs: 30_000,
  /**
   * A connection without a request. Proxies keep theirs for up to two minutes and must be the ones to end
   * it, else they send a request while we close.
   */
  keepAliveMs: 125_000,
  /**
   * A connection without progress during a response: a client that reads nothing would make us keep the
   * response for ever. Streams and sockets send something more often.
   */
  silenceMs: 60_000,
  /** How often slow connections are checked. */
  slowCheckMs: 1_000,
  /** How long a browser may cache a preflight. */
  preflightSeconds: 600,
  /** After this a request counts as dead, and its Idempotency-Key may be taken over. */
  requestSeconds: 30,
  /** Expired Idempotency-Keys that a new one deletes. */
  expiredKeysPerKey: 10,
} as const;

/** Readiness, and the heartbeat of workers. */
export const healthLimits = {
  readerLagMs: 30_000,
  /** Set-aside streams that its response names. */
  namedStreams: 10,
  heartbeatEveryMs: 10_000,
  heartbeatStaleSeconds: 30,
  /** How long a starting process waits for an unavailable database. */
  databaseUnavailableMs: 60_000,
} as const;

/** Payments: webhook events and sweeps (`services/payments`). */
export const purchaseLimits = {
  /** Concurrent jobs of each worker process; each may wait for the provider. */
  slots: 4,
  pollMs: 1_000,
  /** Of one webhook event. */
  deliveryBytes: 262_144,
  /** The queue waits longer after each, about four days in all. */
  deliveryAttempts: 25,
  /** Age of an open purchase before the provider is asked about it. */
  sweepAfterMs: 600_000,
  /** Payments, and webhook events without a job, in one pass. */
  sweepAtOnce: 20,
  /** Between two checks of one purchase: a quarter of its age, within these. */
  askAgainMs: 300_000,
  askAgainAtMostMs: 21_600_000,
  /** Open purchases of one user; the next one ends the oldest. */
  openAtOnce: 10,
  /** How long a checkout can be paid; the provider allows from half an hour to a day. */
  checkoutMs: 3_600_000,
  /** How long the same checkout is requested again when the first response was lost. */
  resumeMs: 1_500_000,
  /** A payment intent never expires at the provider; here it does. */
  intentMs: 86_400_000,
  /** A webhook event that is unprocessed for this long has lost its job. */
  jobMs: 120_000,
  /** How often missed webhook events are fetched, and how far back. */
  lookEveryMs: 300_000,
  lookBackMs: 3_600_000,
  firstPollBackMs: 86_400_000,
  /** The provider lists events for thirty days only. */
  webhookEventKeptMs: 5_184_000_000,
  /** Webhook events that are deleted at a time. */
  purgePage: 1_000,
} as const;

/** Sweeps of refunds and disputes. */
export const refundLimits = {
  /** Age of a pending refund before the sweep asks about it. */
  sweepAfterMs: 300_000,
  /** Refunds, and disputes, in one pass. */
  sweepAtOnce: 20,
  /** Between two checks of a pending one: a quarter of its age, within these. */
  askAgainMs: 300_000,
  askAgainAtMostMs: 21_600_000,
  /** How long a refund may still fail; until then it is checked as often as an open dispute. */
  mayFailMs: 2_592_000_000,
  dailyMs: 86_400_000,
  /** An erased user cannot ask again after a failure; a worker does, for this long and this often. */
  failedAgainMs: 259_200_000,
  failedTries: 5,
} as const;

/**
 * Rate limits by name: calls per window of seconds for one key. `RATE_LIMITS` overrides single rows or
 * switches all off. Limits that guard money or passwords count in Postgres, over all processes; the others
 * in the memory of each process, which allows its part (`perProcess`).
 */
export const rateLimits = {
  /** Address and account together. */
  login: { production: [5, 60], local: [30, 60], store: 'postgres', isAudited: true },
  /** All accounts of one address. */
  'login-address': { production: [30, 60], local: [300, 60], store: 'postgres', isAudited: true },
  /** One account from anywhere: beyond it guesses take turns (`identity/slow-down.ts`). */
  'login-account': { production: [20, 900], local: [100, 900], store: 'postgres', isAudited: true },
  /** Guesses from a browser that has had a session of the account; beyond it, it counts like any other. */
  'login-device': { production: [10, 900], local: [30, 900], store: 'postgres', isAudited: true },
  /** Passwords given by signed-in users. */
  password: { production: [5, 60], local: [30, 60], store: 'postgres', isAudited: true },
  signup: { production: [3, 3_600], local: [100, 3_600], store: 'postgres', isAudited: true },
  /** Reset links that one address asks for, of one account: a stranger's tries take none of its owner's. */
  reset: { production: [3, 3_600], local: [60, 3_600], store: 'postgres', isAudited: true },
  /** Sign-in and confirmation links, in the same way. */
  link: { production: [5, 3_600], local: [60, 3_600], store: 'postgres', isAudited: true },
  /** Changes of address to one mailbox; other emails to it are bounded by `identity/links/mailed.ts`. */
  'mail-account': {
    production: [20, 3_600],
    local: [300, 3_600],
    store: 'postgres',
    isAudited: true,
  },
  /** Emails for a browser that has had a session of the account; others' requests count for none. */
  'mail-device': {
    production: [10, 3_600],
    local: [60, 3_600],
    store: 'postgres',
    isAudited: true,
  },
  /** Emails that one address asks for, over all accounts. */
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
  /** Changes of a plan, visits to the provider's own pages, and purchases that one user gives up. */
  plan: { production: [20, 3_600], local: [200, 3_600], store: 'postgres', isAudited: false },
  portal: { production: [20, 3_600], local: [200, 3_600], store: 'postgres', isAudited: false },
  forget: { production: [60, 3_600], local: [600, 3_600], store: 'postgres', isAudited: false },
  /** Checks of a checkout at the provider; beyond it the known state is returned. */
  'checkout-state': { production: [60, 60], local: [600, 60], store: 'memory', isAudited: false },
  /** Streams that one user opens, and those of one address. */
  streams: { production: [120, 60], local: [1_200, 60], store: 'memory', isAudited: false },
  'streams-address': {
    production: [600, 60],
    local: [6_000, 60],
    store: 'memory',
    isAudited: false,
  },
  /** Reads of one user; streams have limits of their own. */
  reads: { production: [600, 60], local: [6_000, 60], store: 'memory', isAudited: false },
  /** Drafts of one user; runs have a limit, and a price, of their own. */
  drafts: { production: [60, 3_600], local: [600, 3_600], store: 'postgres', isAudited: false },
  /**
   * Changes of existing runs: each is an event for ever, or a response kept for a day, and every reader of
   * the run reads them all.
   */
  'run-changes': {
    production: [180, 3_600],
    local: [1_800, 3_600],
    store: 'postgres',
    isAudited: false,
  },
  /** Recipes that one user writes, changes or deletes. */
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
      /** Calls, and the window in seconds. */
      production: readonly [limit: number, windowSeconds: number];
      local: readonly [limit: number, windowSeconds: number];
      store: 'postgres' | 'memory';
      /** Whether going beyond it is written to the audit table. */
      isAudited: boolean;
    }
  >
>;
export type RateLimitName = keyof typeof rateLimits;

/** One process's part of a limit that all API processes share. */
export function perProcess(limit: number, apiProcesses: number): number {
  return Math.ceil(limit / apiProcesses);
}

/** How counters are thrown away whose window is over (`rate-limits.ts`). */
export const rateLimitKeeping = {
  purgeEveryMs: 60_000,
  purgedAtOnce: 1_000,
} as const;
