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
  /** API keys that one user creates; a row stays for each. */
  'api-keys': {
    production: [20, 3_600],
    local: [200, 3_600],
    store: 'postgres',
    isAudited: true,
  },
  /** Recipes that one user writes, changes or deletes. */
  recipes: { production: [120, 3_600], local: [600, 3_600], store: 'postgres', isAudited: false },
  /** Changes of one user's onboarding; the page saves while it is filled in. */
  onboarding: {
    production: [600, 3_600],
    local: [3_000, 3_600],
    store: 'memory',
    isAudited: false,
  },
  /** Pictures that one user uploads; each is decoded. */
  avatars: { production: [30, 3_600], local: [300, 3_600], store: 'postgres', isAudited: false },
  /** Questions that one user has checked; each is a model call that we pay for. */
  checks: { production: [20, 3_600], local: [300, 3_600], store: 'postgres', isAudited: false },
  'checks-day': {
    production: [60, 86_400],
    local: [3_000, 86_400],
    store: 'postgres',
    isAudited: false,
  },
  /** Messages to the operator from one network, and receipts for them to one mailbox. */
  contact: { production: [5, 3_600], local: [100, 3_600], store: 'postgres', isAudited: false },
  'contact-receipts': {
    production: [5, 86_400],
    local: [100, 86_400],
    store: 'postgres',
    isAudited: false,
  },
  /** Files that one user has read for a question; each takes a process. */
  files: { production: [30, 3_600], local: [300, 3_600], store: 'postgres', isAudited: false },
  /** Shared results that one address reads, or tokens that it tries; each folds the events of a run. */
  shared: { production: [60, 60], local: [600, 60], store: 'memory', isAudited: false },
  /** Evidence that one user downloads: every prompt of the run is made again. */
  evidence: { production: [60, 3_600], local: [600, 3_600], store: 'postgres', isAudited: false },
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
