import { createHash } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import type pg from 'pg';
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Queryable } from '#db/connect.ts';
import type { Audit } from '#services/platform/audit.ts';
import { networkOf, networksOf } from './client-address.ts';
import type { Env, Mode, RateLimitRule } from '#services/platform/process/env.ts';
import type { HttpEnv } from './http.ts';
import { perProcess, rateLimits } from '#services/platform/limits.ts';
import type { RateLimitName } from '#services/platform/limits.ts';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * Turns by name of a limit and key. Keys are kept as hashes, because some hold the address of a
 * mailbox. A limit that guards money or passwords counts in Postgres, exactly and over all processes;
 * while that cannot be reached, each process counts its part for itself, so no limit is ever open.
 */
export type RateLimits = {
  /** Takes one turn. @throws Problem 429 `rate-limited` with Retry-After when there is none left */
  take(limit: RateLimitName, key: string, about?: TakenBy): Promise<void>;
  /**
   * Takes one turn of an address and of the wider networks of IPv6 around it, which have more turns.
   * `of` narrows it, such as to one account. @throws as `take`; then no wider network is counted
   */
  takeFrom(
    limit: RateLimitName,
    address: string,
    about?: { userId?: string; of?: string },
  ): Promise<void>;
  /** Takes one turn and returns how many are over the limit (0 while within it); never refuses. */
  count(limit: RateLimitName, key: string, about?: TakenBy): Promise<number>;
};

/** For the audit table, which keeps a network of the address. */
export type TakenBy = { userId?: string; address?: string };

export type RateLimitDependencies = {
  pool: pg.Pool;
  mode: Mode;
  overrides: Env['rateLimits'];
  /** Of the whole installation: a counter in memory allows one process its part. */
  apiProcesses: number;
  log: Log;
  audit: Audit;
};

export function createRateLimits(dependencies: RateLimitDependencies): RateLimits {
  const { mode, overrides, log } = dependencies;
  const limiters = new Map<RateLimitName, readonly Limiter[]>();
  for (const name of limitNames) {
    const rule = ruleOf(name, mode, overrides);
    if (rule === 'off') continue;
    const wider = widths.map((width) => ({ ...rule, limit: rule.limit * width }));
    limiters.set(
      name,
      wider.map((one) => createLimiter(name, one, dependencies)),
    );
  }
  const purge = createPurge(dependencies);
  const turn = async (
    name: RateLimitName,
    key: string,
    about: TakenBy,
    way: Way,
    width: number = 0,
  ) => {
    const limiter = limiters.get(name)?.[width];
    if (limiter === undefined) return null;
    if (limiter.isShared) await purge();
    const turnTaken = await limiter.turn(keptKey(key), way);
    if (turnTaken.isFirstOver) await report(dependencies, name, about);
    return turnTaken;
  };
  if (limiters.size === 0) log.warn('No rate limit is on');
  return {
    async take(name, key, about = {}) {
      const turnTaken = await turn(name, key, about, 'consume');
      if (turnTaken && turnTaken.over > 0) throw tooMany(turnTaken.retryAfterSeconds);
    },
    async takeFrom(name, address, { userId, of } = {}) {
      const about = { address, ...(userId === undefined ? {} : { userId }) };
      for (const [width, network] of networksOf(address).entries()) {
        const key = of === undefined ? network : `${network} ${of}`;
        const turnTaken = await turn(name, key, about, 'consume', width);
        if (turnTaken && turnTaken.over > 0) throw tooMany(turnTaken.retryAfterSeconds);
      }
    },
    async count(name, key, about = {}) {
      return (await turn(name, key, about, 'penalty'))?.over ?? 0;
    },
  };
}

/** Turns of an address, of its /56 and of its /48, as multiples of the limit. */
const widths = [1, 4, 16];

/** The stored form of a key; some keys are email addresses. */
export function keptKey(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}

/** Deletes the turns that were taken under exactly these keys, of any limit. */
export async function forgetTurns(client: Queryable, keys: readonly string[]): Promise<void> {
  await client.query(`delete from rate_limit where split_part(key, ':', 2) = any ($1)`, [
    keys.map(keptKey),
  ]);
}

/** Every request takes a turn of its address. */
export function limitByAddress(
  limits: RateLimits,
  limit: 'address' | 'pages',
): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    await limits.takeFrom(limit, context.get('address'));
    await next();
  };
}

const limitNames = Object.keys(rateLimits) as RateLimitName[];

function ruleOf(name: RateLimitName, mode: Mode, overrides: Env['rateLimits']): RateLimitRule {
  if (overrides === 'off') return 'off';
  const [limit, windowSeconds] = rateLimits[name][mode];
  return overrides[name] ?? { limit, windowSeconds };
}

/** The words that clients read; `message` also holds what older ones look for. */
export function tooMany(retryAfterSeconds: number): Problem {
  return new Problem(
    'rate-limited',
    'The rate limit is reached. Please wait a moment before trying again.',
    {
      title: 'Too many attempts',
      detail: 'Please wait a moment before trying again.',
      retryAfterSeconds,
    },
  );
}

// --- one limit ---

type Turn = {
  /** Turns beyond the limit, this one included; 0 within it. */
  over: number;
  /** This turn is the one that went beyond it: there is one such in each window. */
  isFirstOver: boolean;
  retryAfterSeconds: number;
};
type Way = 'consume' | 'penalty';
type Limiter = { isShared: boolean; turn(key: string, way: Way): Promise<Turn> };

function createLimiter(
  name: RateLimitName,
  { limit, windowSeconds }: Exclude<RateLimitRule, 'off'>,
  { pool, apiProcesses, log }: RateLimitDependencies,
): Limiter {
  const options = { keyPrefix: name, points: limit, duration: windowSeconds };
  const own = new RateLimiterMemory({ ...options, points: perProcess(limit, apiProcesses) });
  if (rateLimits[name].store === 'memory')
    return { isShared: false, turn: async (key, way) => turnAt(own, way, key) };
  const shared = new RateLimiterPostgres({
    ...options,
    storeClient: pool,
    tableName: 'rate_limit',
    tableCreated: true,
    // A flood over the limit is refused from memory and does not reach the database.
    inMemoryBlockOnConsumed: limit + 1,
    // It would delete by a timer for each limiter, and hide what fails.
    clearExpiredByTimeout: false,
  });
  let isUnavailable = false;
  return {
    isShared: true,
    async turn(key, way) {
      try {
        const turn = await turnAt(shared, way, key);
        isUnavailable = false;
        return turn;
      } catch (error) {
        // One line for each outage, not one for each call of a flood.
        if (!isUnavailable)
          log.warn({ err: error, reason: name }, 'A limit counts in memory for now');
        isUnavailable = true;
        return turnAt(own, way, key);
      }
    },
  };
}

/** `consume` rejects with a result when the limit is passed; `penalty` only counts. */
async function turnAt(
  limiter: RateLimiterMemory | RateLimiterPostgres,
  way: Way,
  key: string,
): Promise<Turn> {
  try {
    return turnOf(await limiter[way](key), limiter.points);
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    const turn = turnOf(error, limiter.points);
    // Refused from memory, where nothing is counted.
    return { ...turn, over: Math.max(1, turn.over) };
  }
}

function turnOf({ consumedPoints, msBeforeNext }: RateLimiterRes, limit: number): Turn {
  return {
    over: Math.max(0, consumedPoints - limit),
    isFirstOver: consumedPoints === limit + 1,
    retryAfterSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  };
}

// --- reports and expired counters ---

/** Limits of identity are recorded: the caller may be trying passwords or addresses. */
async function report(
  { audit, log }: RateLimitDependencies,
  name: RateLimitName,
  { userId, address }: TakenBy,
): Promise<void> {
  log.info(
    { reason: name, ...(userId === undefined ? {} : { user_id: userId }) },
    'A limit is reached',
  );
  if (!rateLimits[name].isAudited) return;
  try {
    await audit({
      actor: userId ?? 'anonymous',
      action: 'limit.reached',
      subject: userId ?? 'unknown',
      ...(userId === undefined ? {} : { userId }),
      detail: { limit: name, ...(address === undefined ? {} : { network: networkOf(address) }) },
    });
  } catch (error) {
    // A caller over the limit is refused, whether or not it can be recorded.
    log.warn({ err: error }, 'A limit that was reached could not be recorded');
  }
}

const purgeEveryMs = 60_000;
const purgedAtOnce = 1_000;

/** Each turn may delete rows whose window is over, so the table stays small. */
function createPurge({ pool, log }: RateLimitDependencies): () => Promise<void> {
  let next = 0;
  return async () => {
    const now = Date.now();
    if (now < next) return;
    next = now + purgeEveryMs;
    try {
      await purgeExpiredLimits(pool, now);
    } catch (error) {
      log.warn({ err: error }, 'Expired limits could not be deleted');
    }
  };
}

export async function purgeExpiredLimits(pool: pg.Pool, now: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from rate_limit where key in (
       select key from rate_limit where expire <= $1 order by expire limit $2
       for update skip locked)`,
    [now, purgedAtOnce],
  );
  return rowCount ?? 0;
}
