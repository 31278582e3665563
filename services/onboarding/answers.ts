import type pg from 'pg';
import * as v from 'valibot';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import { Problem } from '#services/platform/problem.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { emptyAnswers, OnboardingAnswers } from './contract.ts';

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
  const { rows } = await pool.query<{ version: number; sealed: string }>(
    'select version, sealed from onboarding where user_id = $1',
    [userId],
  );
  const row = rows[0];
  if (row === undefined) return { version: 0, answers: emptyAnswers };
  return { version: row.version, answers: await openAnswers(sealer, userId, row.sealed) };
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

const Stored = v.pipe(v.string(), v.parseJson(), OnboardingAnswers);

/** Answers that cannot be read any more are answered again. */
async function openAnswers(
  sealer: Sealer,
  userId: string,
  sealed: string,
): Promise<OnboardingAnswers> {
  try {
    const opened = await sealer.open(sealed, place(userId));
    return 'text' in opened ? v.parse(Stored, opened.text) : emptyAnswers;
  } catch (error) {
    if (error instanceof IntegrityError) return emptyAnswers;
    throw error;
  }
}
