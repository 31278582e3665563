import type pg from 'pg';
import * as v from 'valibot';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import { Problem } from '#services/platform/problem.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { AuditData, emptyAnswers, emptyAudit, OnboardingAnswers } from './contract.ts';

/**
 * A person's answers: one row, sealed with the account's key, with a version that grows with each
 * change.
 */
export type StoredAnswers = { version: number; answers: OnboardingAnswers };

type Store = { pool: pg.Pool; sealer: Sealer; clock: () => number };

export async function readAnswers(
  { pool, sealer }: { pool: Queryable; sealer: Sealer },
  userId: string,
): Promise<StoredAnswers> {
  const stored = await readStored({ pool, sealer }, userId);
  if (stored === null) return { version: 0, answers: emptyAnswers };
  return { version: stored.version, answers: v.parse(Stored, stored.text) };
}

/** The answers as they were written; without a text when they cannot be opened, null for none. */
export async function readStored(
  { pool, sealer }: { pool: Queryable; sealer: Sealer },
  userId: string,
): Promise<{ version: number; text: string | null } | null> {
  const { rows } = await pool.query<{ version: number; sealed: string }>(
    'select version, sealed from onboarding where user_id = $1',
    [userId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  return { version: row.version, text: await openText(sealer, userId, row.sealed) };
}

/**
 * Replaces the answers. The same answers once more are no change, so a repeat after a lost reply is none.
 * @throws Problem 409 `onboarding-changed` when another version is stored than the one that was read
 */
export async function saveAnswers(
  { pool, sealer, clock }: Store,
  userId: string,
  version: number,
  answers: OnboardingAnswers,
): Promise<StoredAnswers> {
  await sealer.createDataKey('account', userId, userId);
  const sealed = await sealer.seal(userId, place(userId), JSON.stringify(answers));
  return inTransaction(pool, async (client) => {
    // One person's changes take turns here; there may be no row to lock yet.
    await client.query('select from users where id = $1 for no key update', [userId]);
    const stored = await readAnswers({ pool: client, sealer }, userId);
    if (stored.version !== version) {
      if (JSON.stringify(stored.answers) === JSON.stringify(answers)) return stored;
      throw new Problem(
        'onboarding-changed',
        'Your answers were changed in another tab or on another device.',
        { members: { version: stored.version } },
      );
    }
    const next = version + 1;
    await client.query(
      `insert into onboarding (user_id, version, sealed, created_at, updated_at)
       values ($1, $2, $3, $4, $4)
       on conflict (user_id) do update set
         version = excluded.version, sealed = excluded.sealed, updated_at = excluded.updated_at`,
      [userId, next, sealed, new Date(clock())],
    );
    return { version: next, answers };
  });
}

const place = (userId: string) => ({ stream: `onboarding-${userId}`, field: 'answers' });

const { entries } = OnboardingAnswers;
const audit = AuditData.entries;

/** What an older release stored may not fit any more: only such fields are answered again. */
const Stored = v.fallback(
  v.pipe(
    v.string(),
    v.parseJson(),
    v.object({
      currentStage: v.fallback(entries.currentStage, emptyAnswers.currentStage),
      auditData: v.fallback(
        v.object({
          aiSubscriptions: v.fallback(audit.aiSubscriptions, emptyAudit.aiSubscriptions),
          monthlySpend: v.fallback(audit.monthlySpend, emptyAudit.monthlySpend),
          orchestrationHours: v.fallback(audit.orchestrationHours, emptyAudit.orchestrationHours),
          revenueLevel: v.fallback(audit.revenueLevel, null),
          businessType: v.fallback(audit.businessType, null),
          competitivePressure: v.fallback(audit.competitivePressure, null),
          lostDeals: v.fallback(audit.lostDeals, null),
        }),
        emptyAudit,
      ),
      selectedChallenge: v.fallback(entries.selectedChallenge, null),
      demonstration: v.fallback(entries.demonstration, null),
      question: v.fallback(entries.question, null),
    }),
  ),
  emptyAnswers,
);

async function openText(sealer: Sealer, userId: string, sealed: string): Promise<string | null> {
  try {
    const opened = await sealer.open(sealed, place(userId));
    return 'text' in opened ? opened.text : null;
  } catch (error) {
    if (error instanceof IntegrityError) return null;
    throw error;
  }
}
