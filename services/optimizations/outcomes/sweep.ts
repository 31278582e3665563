import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import { titleAndQuestion } from '#services/optimizations/reading/view.ts';
import type { ReadRun } from '#services/optimizations/reading/read-run.ts';
import { derivedId } from '#services/platform/ids.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import { ErasedKeyError, IntegrityError } from '#services/platform/seal.ts';
import { askedResult, outcomeEmail } from './email.ts';
import { markEmailed, questionsToMail } from './questions.ts';
import type { MailQuestion } from './questions.ts';

export type OutcomeMailDependencies = {
  pool: pg.Pool;
  readRun: ReadRun;
  queueMail: QueueMail;
  clock: () => number;
  publicUrl: string;
};

const outcomeMailLimits = {
  /** Days for which a question that has come is still emailed. */
  mailDays: 7,
  /** Questions that one sweep emails. */
  limit: 200,
} as const;

/** Emails each open question once to users who want that. Returns how many. */
export async function sweepOutcomes(dependencies: OutcomeMailDependencies): Promise<number> {
  const { pool, clock } = dependencies;
  const questions = await questionsToMail(pool, clock(), outcomeMailLimits);
  let queued = 0;
  for (const question of questions) if (await emailQuestion(dependencies, question)) queued += 1;
  return queued;
}

/** The row and the email are stored together: neither a killed sweep nor a second worker emails twice. */
async function emailQuestion(
  { pool, readRun, queueMail, clock, publicUrl }: OutcomeMailDependencies,
  question: MailQuestion,
): Promise<boolean> {
  const { resultId, runId, asked, userId, email: to } = question;
  try {
    const run = await readRun(resultId, () => titleAndQuestion);
    const result = run === null ? null : askedResult(run.view);
    return await inTransaction(pool, async (client) => {
      if (!(await markEmailed(client, question, clock()))) return false;
      // A result that cannot be read is not asked about again.
      if (result === null) return false;
      const id = derivedId('mai', runId, 'outcome', String(asked));
      const content = outcomeEmail(result, asked, publicUrl);
      // After a long outage the question would come late; the dashboard still asks it.
      const notAfter = new Date(clock() + outcomeMailLimits.mailDays * 86_400_000);
      await queueMail({ id, userId, to, kind: 'outcome', content, notAfter }, client);
      return true;
    });
  } catch (error) {
    // Its user has been erased since the list was read, or its title was damaged.
    if (error instanceof ErasedKeyError || error instanceof IntegrityError) return false;
    throw error;
  }
}
