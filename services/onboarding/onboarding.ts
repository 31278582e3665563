import type pg from 'pg';
import type { RunStatus } from '#services/optimizations/contract/summary.ts';
import { Problem } from '#services/platform/problem.ts';
import { notFound } from '#services/platform/http/http.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { readAnswers, saveAnswers } from './answers.ts';
import type { StoredAnswers } from './answers.ts';
import { isCalculable, wasteOf } from './audit.ts';
import { grantBonus, readBonus } from './bonus.ts';
import type { BonusDependencies, Person } from './bonus.ts';
import type { Onboarding, OnboardingAnswers, OnboardingRequest } from './contract.ts';
import { stagesOf } from './stages.ts';

export type OnboardingDependencies = BonusDependencies & {
  pool: pg.Pool;
  sealer: Sealer;
  /** The status of a user's own run; null for any other, and for a deleted one. */
  statusOfRun: (userId: string, runId: string) => Promise<RunStatus | null>;
};

export async function readOnboarding(
  dependencies: OnboardingDependencies,
  userId: string,
): Promise<Onboarding> {
  return describe(dependencies, userId, await readAnswers(dependencies, userId));
}

/** @throws Problem 409 `onboarding-changed`, 404 for a run that is not the user's */
export async function saveOnboarding(
  dependencies: OnboardingDependencies,
  userId: string,
  { version, ...answers }: OnboardingRequest,
): Promise<Onboarding> {
  const { demonstration } = answers;
  if (demonstration?.kind === 'run') {
    const stored = await readAnswers(dependencies, userId);
    const isKnown = JSON.stringify(stored.answers.demonstration) === JSON.stringify(demonstration);
    // A run that was deleted since may stay in the answers.
    if (!isKnown && (await dependencies.statusOfRun(userId, demonstration.run_id)) === null)
      throw notFound('Failed to get optimization');
  }
  return describe(dependencies, userId, await saveAnswers(dependencies, userId, version, answers));
}

export async function activate(
  dependencies: OnboardingDependencies,
  userId: string,
): Promise<Onboarding> {
  const { person } = await readPerson(dependencies.pool, userId);
  await grantBonus(dependencies, userId, person);
  return readOnboarding(dependencies, userId);
}

export async function complete(
  dependencies: OnboardingDependencies,
  userId: string,
): Promise<Onboarding> {
  const { pool, clock } = dependencies;
  await pool.query(
    `update users set onboarding_completed_at = $2, updated_at = $2
     where id = $1 and onboarding_completed_at is null`,
    [userId, new Date(clock())],
  );
  return activate(dependencies, userId);
}

async function describe(
  dependencies: OnboardingDependencies,
  userId: string,
  { version, answers }: StoredAnswers,
): Promise<Onboarding> {
  const { person, completedAt } = await readPerson(dependencies.pool, userId);
  const bonus = await readBonus(dependencies, userId, person);
  const demonstration = await demonstrationOf(dependencies, userId, answers);
  const { auditData } = answers;
  return {
    userId,
    version,
    ...answers,
    stages: stagesOf(answers, demonstration, completedAt !== null),
    wasteAnalysis: isCalculable(auditData) ? wasteOf(auditData) : null,
    demonstration,
    creditsActivated: bonus.state === 'granted',
    bonus,
    completedAt: completedAt?.toISOString() ?? null,
  };
}

async function demonstrationOf(
  { statusOfRun }: OnboardingDependencies,
  userId: string,
  { demonstration }: OnboardingAnswers,
): Promise<Onboarding['demonstration']> {
  if (demonstration?.kind !== 'run') return demonstration;
  const status = await statusOfRun(userId, demonstration.run_id);
  return { ...demonstration, status, finished: status === 'completed' };
}

async function readPerson(
  pool: pg.Pool,
  userId: string,
): Promise<{ person: Person; completedAt: Date | null }> {
  const { rows } = await pool.query<{
    email: string;
    is_confirmed: boolean;
    onboarding_completed_at: Date | null;
  }>(
    `select email, email_confirmed_at is not null as is_confirmed, onboarding_completed_at
     from users where id = $1`,
    [userId],
  );
  const row = rows[0];
  // The account was removed during the call.
  if (row === undefined) throw new Problem('authentication-required', 'Authentication required');
  return {
    person: { email: row.email, isConfirmed: row.is_confirmed },
    completedAt: row.onboarding_completed_at,
  };
}
