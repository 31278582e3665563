import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '#db/connect.ts';
import { keptKey, tooMany } from '#services/platform/http/rate-limits.ts';

/**
 * Beyond the limit, guesses of one account's password take turns over all processes. Each guess reserves
 * the time after the one before it, and the pauses between them grow. A guess whose turn is too far away
 * is refused and reserves nothing, so the account is never locked: its next turn is less than
 * `longestMs` and `waitMs` away. An account that does not exist has the same turns.
 */
export type SlowDown = {
  /**
   * `over`: guesses beyond the limit, this one included; 0 does not wait.
   * @throws Problem 429 `rate-limited` with Retry-After
   */
  wait: (account: string, over: number) => Promise<void>;
};

const slowDownLimits = {
  /** The pause after the first guess beyond the limit; each further one doubles it. */
  firstMs: 1_000,
  longestMs: 30_000,
  /** A turn further away is refused. */
  waitMs: 5_000,
  /** Guesses that wait in this process, of all accounts. */
  places: 256,
} as const;

export function createSlowDown(
  pool: Queryable,
  limits: { readonly [Name in keyof typeof slowDownLimits]: number } = slowDownLimits,
): SlowDown {
  const { firstMs, longestMs, waitMs, places } = limits;
  let waiting = 0;
  return {
    async wait(account, over) {
      if (over <= 0) return;
      if (waiting >= places) throw tooMany(Math.ceil(waitMs / 1000));
      const pauseMs = Math.min(longestMs, firstMs * 2 ** Math.min(over - 1, 30));
      waiting += 1;
      try {
        await sleep(await reserveTurn(pool, account, { pauseMs, waitMs }));
      } finally {
        waiting -= 1;
      }
    },
  };
}

/**
 * Milliseconds until the reserved turn. `expire` is when the next turn may begin; after that the row is
 * deleted with the other counters.
 */
async function reserveTurn(
  pool: Queryable,
  account: string,
  { pauseMs, waitMs }: { pauseMs: number; waitMs: number },
): Promise<number> {
  const key = `login-turn:${keptKey(account)}`;
  const { rows: reserved } = await pool.query<{ ms: number }>(
    `insert into rate_limit as turn (key, points, expire)
     values ($1, 1, (extract(epoch from clock_timestamp()) * 1000)::bigint + $2)
     on conflict (key) do update set
       expire = greatest(turn.expire, (extract(epoch from clock_timestamp()) * 1000)::bigint) + $2
       where turn.expire <= (extract(epoch from clock_timestamp()) * 1000)::bigint + $3
     returning (turn.expire - $2 - extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    [key, pauseMs, waitMs],
  );
  if (reserved[0]) return Math.max(0, reserved[0].ms);
  const { rows } = await pool.query<{ ms: number }>(
    `select (expire - extract(epoch from clock_timestamp()) * 1000)::float8 as ms
     from rate_limit where key = $1`,
    [key],
  );
  throw tooMany(Math.max(1, Math.ceil(((rows[0]?.ms ?? 0) - waitMs) / 1000)));
}
