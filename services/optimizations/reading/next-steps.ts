import type { Queryable } from '#db/connect.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { FieldsOf } from './view.ts';

/** Which next steps of a result its owner has ticked off: plain rows beside the run's events. */

/** The run with `done` for each next step; the fold of its events knows none. */
export async function withTicks(client: Queryable, run: Optimization): Promise<Optimization> {
  if (run.result === null || run.result.next_steps.length === 0) return run;
  const { rows } = await client.query<{ step: number }>(
    'select step from next_step_done where run_id = $1',
    [run.id],
  );
  const done = new Set(rows.map(({ step }) => step));
  const steps = run.result.next_steps.map((step, index) => ({ ...step, done: done.has(index) }));
  return { ...run, result: { ...run.result, next_steps: steps } };
}

/** A repeat changes nothing. An account that was erased meanwhile gets no row. */
export async function tick(
  client: Queryable,
  { runId, step, userId, done, now }: Tick,
): Promise<void> {
  if (!done) {
    await client.query('delete from next_step_done where run_id = $1 and step = $2', [runId, step]);
    return;
  }
  await client.query(
    `insert into next_step_done (run_id, step, user_id, done_at)
     select $1, $2, id, $4 from users where id = $3 for key share
     on conflict (run_id, step) do nothing`,
    [runId, step, userId, new Date(now)],
  );
}

type Tick = { runId: string; step: number; userId: string; done: boolean; now: number };

/** What a recommendation says, with nothing else of the run: enough to know its steps. */
export const draftsAlone: FieldsOf = (event) =>
  event.type === 'CallSucceeded' && event.data.outcome.kind === 'draft' ? ['reply'] : [];

/** Once the texts of the run and of its refinements are erased, nothing is left to tick. */
export async function forgetTicks(client: Queryable, runId: string): Promise<void> {
  await client.query(
    `delete from next_step_done
     where run_id in (select run_id from optimization_list where run_id = $1 or root_id = $1)`,
    [runId],
  );
}
