import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { openQuestions } from '#projections/run-outcome.ts';
import type { OpenQuestion } from '#projections/run-outcome.ts';
import { outcomeLimits } from '#services/optimizations/contract/outcomes.ts';
import type { DueOutcome, DueOutcomes } from '#services/optimizations/contract/outcomes.ts';
import { readDecision } from '#services/optimizations/dashboard/brief.ts';
import type { BriefDependencies } from '#services/optimizations/dashboard/brief.ts';
import { askedDays } from '#services/optimizations/run/events.ts';
import { askedFrom } from '#services/optimizations/run/outcomes.ts';

/** Which questions are open to whom. That one was put off or emailed is a plain row beside the run's events. */

const daysBefore = (now: number, days: number): string =>
  new Date(now - days * 86_400_000).toISOString();

/** When a result must have ended for each question to be open at `now`; parameters of `openQuestions`. */
function questionTimes(now: number): [first: string, second: string, last: string] {
  const [first, second] = askedDays;
  return [daysBefore(now, first), daysBefore(now, second), daysBefore(now, outcomeLimits.lastDay)];
}

const notDismissed = `not exists (
  select from outcome_question known
  where known.run_id = question."runId" and known.asked = question.asked
    and known.dismissed_at is not null)`;

/** A user's open questions with the results that they are about. */
export async function readDue(
  dependencies: BriefDependencies,
  userId: string,
): Promise<DueOutcomes> {
  const { pool, clock } = dependencies;
  const { rows } = await pool.query<OpenQuestion & { total: number }>(
    `select question.*, (count(*) over ())::integer as total
     from (${openQuestions}) question where ${notDismissed}
     order by "endedAt"::timestamptz + make_interval(days => asked) desc, "runId" limit $5`,
    [...questionTimes(clock()), [userId], outcomeLimits.listed],
  );
  const due: DueOutcome[] = [];
  // One after the other: each opens many texts, and other calls wait for the same process.
  for (const question of rows) {
    const run = await readDecision(dependencies, question.resultId);
    if (run === null) continue;
    due.push({
      id: question.runId,
      result_id: question.resultId,
      asked: question.asked,
      since: askedFrom(question.endedAt, question.asked),
      title: run.title,
      decision: run.decision,
      agreement_score: run.agreement_score,
      agreement_band: run.agreement_band,
      simulated: run.simulated,
    });
  }
  return { due, total: rows[0]?.total ?? 0 };
}

/** A repeat changes nothing. An account that was erased meanwhile gets no row. */
export async function dismiss(
  client: Queryable,
  { runId, asked, userId, now }: { runId: string; asked: number; userId: string; now: number },
): Promise<void> {
  await client.query(
    `insert into outcome_question (run_id, asked, user_id, dismissed_at)
     select $1, $2, id, $4 from users where id = $3 for key share
     on conflict (run_id, asked) do update
       set dismissed_at = coalesce(outcome_question.dismissed_at, excluded.dismissed_at)`,
    [runId, asked, userId, new Date(now)],
  );
}

/** A question to email, and where to. */
export type MailQuestion = OpenQuestion & { email: string };

/**
 * Open questions of users who want them by email that came within the last `mailDays` and were neither
 * emailed nor put off; at most `limit`. One that came before a user switched the emails on, or while no
 * worker ran for long, stays on the dashboard alone.
 */
export async function questionsToMail(
  pool: pg.Pool,
  now: number,
  { mailDays, limit }: { mailDays: number; limit: number },
): Promise<MailQuestion[]> {
  // None that is being erased, and no unconfirmed address, which may be a stranger's.
  const { rows: users } = await pool.query<{ id: string }>(
    `select id from users
     where (preferences ->> 'outcome_emails')::boolean and email_confirmed_at is not null
       and erasing_at is null`,
  );
  const { rows } = await pool.query<MailQuestion>(
    `select question.*, users.email
     from (${openQuestions}) question
     join users on users.id = question."userId"
     where not exists (
         select from outcome_question known
         where known.run_id = question."runId" and known.asked = question.asked)
       and "endedAt"::timestamptz + make_interval(days => asked) > $5
     order by "endedAt", "runId" limit $6`,
    [
      ...questionTimes(now),
      users.map(({ id }) => id),
      new Date(now - mailDays * 86_400_000),
      limit,
    ],
  );
  return rows;
}

/**
 * Notes that a question is emailed; false when that was noted before, or its user no longer wants it. Call it in the
 * transaction that queues the email.
 */
export async function markEmailed(
  client: Queryable,
  { runId, asked, userId }: OpenQuestion,
  now: number,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into outcome_question (run_id, asked, user_id, emailed_at)
     select $1, $2, id, $4 from users
     where id = $3 and (preferences ->> 'outcome_emails')::boolean and erasing_at is null
     for key share
     on conflict (run_id, asked) do nothing`,
    [runId, asked, userId, new Date(now)],
  );
  return rowCount === 1;
}

/** Once the texts of a run are erased, nothing more is asked about it. */
export async function forgetQuestions(client: Queryable, runId: string): Promise<void> {
  await client.query('delete from outcome_question where run_id = $1', [runId]);
}
