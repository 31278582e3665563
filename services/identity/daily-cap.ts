import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * What a service may consume in a UTC day, counted exactly under concurrent calls.
 *
 * A consumption is a command of one user's stream, and the cap spans all users, so no stream can decide
 * it. It is counted beforehand, in one row per token and day. `on conflict do update … where` locks that
 * row and reads what the previous call left, so concurrent calls never pass the cap together. A
 * consumption that is then refused for another reason is subtracted again. Until then, a concurrent call
 * may be refused although the cap is not reached.
 *
 * A row per consumption makes its repeats count once. Each try adds an attempt to it and each refusal
 * removes one; when none is left, the count goes down. So after a crash, or when one attempt overtakes
 * another, the count may be too high until midnight and is never too low.
 */
export type Spending = {
  serviceId: string;
  /** The same for each repeat of one consumption. */
  commandId: string;
  credits: number;
};

/**
 * Runs `spend` when the cap allows it.
 *
 * @throws Problem 403 `daily-cap-reached`, 409 `idempotency-mismatch`, and whatever `spend` throws
 */
export type WithinDailyCap = <Outcome extends { repeated: boolean }>(
  spending: Spending,
  spend: () => Promise<Outcome>,
) => Promise<Outcome>;

export function createDailyCap(pool: pg.Pool, clock: () => number): WithinDailyCap {
  return async (spending, spend) => {
    const today = new Date(clock()).toISOString().slice(0, 10);
    if (!(await claim(pool, spending, today))) throw await capReached(pool, spending, today);
    try {
      const outcome = await spend();
      // An earlier attempt took it, and it has been counted since.
      if (outcome.repeated) await release(pool, spending);
      return outcome;
    } catch (error) {
      // After an internal error the outcome is unknown: it stays counted.
      if (error instanceof Problem && error.status < 500) await release(pool, spending);
      throw error;
    }
  };
}

/** False, and nothing is counted, when the cap does not allow it. */
async function claim(
  pool: pg.Pool,
  { serviceId, commandId, credits }: Spending,
  today: string,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ attempts: number; credits: number }>(
      `insert into service_token_claim as claim (token_id, command_id, day, credits, attempts)
       values ($1, $2, $3, $4, 1)
       on conflict (token_id, command_id) do update set attempts = claim.attempts + 1
       returning attempts, credits`,
      [serviceId, commandId, today, credits],
    );
    // A key that is reused after its day, for more than was counted under it.
    if (rows[0]?.credits !== credits) throw anotherConsumption();
    const isCounted = rows[0]?.attempts !== 1;
    if (isCounted || (await count(client, { serviceId, credits, today }))) return true;
    await client.query('delete from service_token_claim where token_id = $1 and command_id = $2', [
      serviceId,
      commandId,
    ]);
    return false;
  });
}

function anotherConsumption(): Problem {
  return new Problem(
    'idempotency-mismatch',
    'This Idempotency-Key was already used for a different request.',
  );
}

async function count(
  client: pg.ClientBase,
  { serviceId, credits, today }: { serviceId: string; credits: number; today: string },
): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into service_token_day as counted (token_id, day, credits)
     select id, $2::date, $3::bigint from service_token where id = $1 and daily_cap >= $3::bigint
     on conflict (token_id, day) do update set credits = counted.credits + excluded.credits
     where counted.credits + excluded.credits
       <= (select daily_cap from service_token where id = $1)`,
    [serviceId, today, credits],
  );
  if (rowCount !== 1) return false;
  await forgetOld(client, today);
  return true;
}

/** Each new row deletes a few old ones that are no longer repeated. The counts stay. */
async function forgetOld(client: pg.ClientBase, today: string): Promise<void> {
  await client.query(
    `delete from service_token_claim where ctid = any (array(
       select ctid from service_token_claim where day < $1::date - $2::integer
       limit $3 for update skip locked))`,
    [today, claimsKeptDays, claimsForgottenAtOnce],
  );
}

/** Longer than an Idempotency-Key is kept. */
const claimsKeptDays = 2;
const claimsForgottenAtOnce = 10;

async function release(pool: pg.Pool, { serviceId, commandId }: Spending): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ attempts: number }>(
      `update service_token_claim set attempts = attempts - 1
       where token_id = $1 and command_id = $2 and attempts > 0 returning attempts`,
      [serviceId, commandId],
    );
    if (rows[0]?.attempts !== 0) return;
    await client.query(
      `with ended as (
         delete from service_token_claim where token_id = $1 and command_id = $2
         returning day, credits)
       update service_token_day counted set credits = counted.credits - ended.credits
       from ended where counted.token_id = $1 and counted.day = ended.day`,
      [serviceId, commandId],
    );
  });
}

/** The refusal says what is left, so that the service can ask for less or come back. */
async function capReached(
  pool: pg.Pool,
  { serviceId, credits }: Spending,
  today: string,
): Promise<Problem> {
  const { rows } = await pool.query<{ cap: number; left: number }>(
    `select t.daily_cap as cap,
       greatest(0, t.daily_cap - coalesce(d.credits, 0))::float8 as left
     from service_token t
     left join service_token_day d on d.token_id = t.id and d.day = $2
     where t.id = $1`,
    [serviceId, today],
  );
  const nextDay = new Date(Date.parse(`${today}T00:00:00Z`) + dayMs).toISOString();
  return new Problem('daily-cap-reached', "That would exceed this token's daily credit cap.", {
    members: {
      daily_cap: rows[0]?.cap ?? null,
      remaining_credits: rows[0]?.left ?? null,
      required_credits: credits,
      resets_at: nextDay,
    },
  });
}

const dayMs = 86_400_000;
