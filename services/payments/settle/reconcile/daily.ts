import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import type { Log } from '#services/platform/process/log.ts';
import { askToRepair } from '#services/payments/settle/repair.ts';
import { reconcile } from './reconcile.ts';
import type { Reconciliation, ReconcileDependencies } from './reconcile.ts';

/**
 * The comparison of the books once a UTC day, over all workers once, from where the last one that came
 * to its end began. What it found stays in the table `reconciliation`.
 */
const hour = 60 * 60 * 1000;
/** In the night, after the day's last payments have settled. */
const startHour = 3;
/** What was settling the last time is compared again. */
const overlapMs = 24 * hour;
/** One that has not ended by then never will: its process is gone, or the provider was away. */
const tryAgainMs = hour;
/** Any number; held while one of several workers takes the day. */
const dayLock = 7_305_021;

export async function reconcileDaily(
  dependencies: ReconcileDependencies & { log: Log },
): Promise<Reconciliation | null> {
  const { pool, clock, log } = dependencies;
  const turn = await takeTurn(pool, clock());
  if (turn === null) return null;
  const result = await reconcile(dependencies, turn.since);
  await keep(pool, turn.id, result, new Date(clock()));
  report(log, result);
  await askToRepair(pool, result.differences);
  return result;
}

type Turn = { id: string; since: number };

/** Null when this day has its comparison, when it is too early, or when another worker is at it. */
async function takeTurn(pool: pg.Pool, now: number): Promise<Turn | null> {
  const day = new Date(now - startHour * hour).toISOString().slice(0, 10);
  if (!(await isDue(pool, day, now))) return null;
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [dayLock]);
    if (!(await isDue(client, day, now))) return null;
    const { rows } = await client.query<{ id: string; since: Date }>(
      `insert into reconciliation (day, ran_at, since)
       select $1, $2, coalesce(
         (select max(ran_at) - $3::interval from reconciliation where ended_at is not null),
         (select min(created_at) from purchase), $2)
       returning id::text, since`,
      [day, new Date(now), `${overlapMs} milliseconds`],
    );
    const [row] = rows;
    return row === undefined ? null : { id: row.id, since: row.since.getTime() };
  });
}

async function isDue(client: Queryable, day: string, now: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from reconciliation
     where day = $1 and (ended_at is not null or ran_at > $2)`,
    [day, new Date(now - tryAgainMs)],
  );
  return rowCount === 0;
}

async function keep(
  client: Queryable,
  id: string,
  { compared, differences, settling, cash, isBalanced }: Reconciliation,
  endedAt: Date,
): Promise<void> {
  await client.query(
    `update reconciliation set ended_at = $2, differences = $3, summary = $4 where id = $1`,
    [
      id,
      endedAt,
      differences.length,
      JSON.stringify({
        compared,
        differences: differences.map(({ kind, object }) => ({ kind, object })),
        settling: settling.length,
        cash,
        is_balanced: isBalanced,
      }),
    ],
  );
}

function report(log: Log, { differences, isBalanced }: Reconciliation): void {
  for (const { kind, object, userId } of differences)
    log.error(
      { code: kind, resource_id: object, user_id: userId },
      'The ledger and the payment provider differ',
    );
  if (!isBalanced) log.error('The double entry of the money does not sum to 0');
  log.info({ count: differences.length }, 'The books were compared');
}
