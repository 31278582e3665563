import type pg from 'pg';
import type { Profile, ProfileChange } from '#services/identity/contract.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { describeUser } from './users.ts';
import type { ShownAccount } from './users.ts';

/** What a user sees and changes of their own account. */
export type ProfileDependencies = {
  pool: pg.Pool;
  /** Runs of a user that count this month. */
  runsThisMonth: (userId: string) => Promise<number>;
  monthlyLimits: Readonly<Record<string, number>>;
  clock: () => number;
};

type Row = ShownAccount &
  Pick<
    Profile,
    | 'email_confirmed'
    | 'has_password'
    | 'pending_email'
    | 'shares_statistics'
    | 'notify_run_finished'
    | 'notify_low_balance'
  > & { onboarding_completed_at: Date | null };

/** @throws Problem 401 for an account that was removed during the call */
export async function readProfile(
  { pool, runsThisMonth, monthlyLimits, clock }: ProfileDependencies,
  userId: string,
): Promise<Profile> {
  const { rows } = await pool.query<Row>(
    `select id, email, name, subscription_tier, avatar, preferences, created_at, updated_at,
       email_confirmed_at is not null as email_confirmed,
       password_hash is not null as has_password,
       (select link.email from auth_link link
        where link.user_id = users.id and link.kind = 'email' and link.used_at is null
          and link.voided_at is null and link.expires_at > $2
        order by link.created_at desc limit 1) as pending_email,
       preferred_dashboard, shares_statistics_since is not null as shares_statistics,
       onboarding_completed_at, notify_run_finished,
       notify_low_balance
     from users where id = $1`,
    [userId, new Date(clock())],
  );
  const row = rows[0];
  if (!row) throw identityProblem('authentication-required');
  const used = await runsThisMonth(userId);
  return {
    ...describeUser(row, used, monthlyLimits[row.subscription_tier] ?? 0),
    email_confirmed: row.email_confirmed,
    has_password: row.has_password,
    pending_email: row.pending_email,
    shares_statistics: row.shares_statistics,
    onboarding_completed_at: row.onboarding_completed_at?.toISOString() ?? null,
    notify_run_finished: row.notify_run_finished,
    notify_low_balance: row.notify_low_balance,
  };
}

/** Changes only the named fields; `null` is a value. */
export async function changeProfile(
  { pool }: ProfileDependencies,
  userId: string,
  change: ProfileChange,
): Promise<void> {
  await pool.query(
    `update users set
       name = coalesce($2, name),
       preferred_dashboard = case when $3 then $4 else preferred_dashboard end,
       notify_run_finished = coalesce($5, notify_run_finished),
       notify_low_balance = coalesce($6, notify_low_balance),
       preferences = preferences || $7::jsonb,
       shares_statistics_since = case $8::boolean
         when true then coalesce(shares_statistics_since, now())
         when false then null
         else shares_statistics_since end,
       updated_at = now()
     where id = $1 and erasing_at is null`,
    [
      userId,
      change.name ?? null,
      change.preferred_dashboard !== undefined,
      change.preferred_dashboard ?? null,
      change.notify_run_finished ?? null,
      change.notify_low_balance ?? null,
      JSON.stringify(change.preferences ?? {}),
      change.shares_statistics ?? null,
    ],
  );
}
