import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import { newId } from '#services/platform/ids.ts';
import { defaultPreferences } from '#services/identity/contract/preferences.ts';
import type { Preferences } from '#services/identity/contract/preferences.ts';
import type { Tier, User } from '#services/identity/contract/session.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { identityProblems } from '#services/identity/refusals.ts';

/** Accounts: a plain table. Everything a person did with credits and runs is in their streams. */
export type Account = {
  id: string;
  email: string;
  name: string;
  password_hash: string | null;
  subscription_tier: Tier;
  avatar: string | null;
  preferred_dashboard: User['preferred_dashboard'];
  /** Null until the user has proved that they read mail there, even where they may sign in before. */
  email_confirmed_at: Date | null;
  onboarding_completed_at: Date | null;
  terms_version: string | null;
  terms_accepted_at: Date | null;
  /** SHA-256 of the nonce of the browser that signed up. */
  signup_browser: Buffer | null;
  /** An email when a run has ended. */
  notify_run_finished: boolean;
  /** An email when few credits are left. */
  notify_low_balance: boolean;
  /** Those that the user has chosen. */
  preferences: Partial<Preferences>;
  password_changed_at: Date | null;
  /** Set once the user has asked for erasure; from then on the account refuses every command. */
  erasing_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

export const accountColumns = `id, email, name, password_hash, subscription_tier, avatar,
  preferred_dashboard, email_confirmed_at, onboarding_completed_at, terms_version, terms_accepted_at,
  signup_browser, notify_run_finished, notify_low_balance, preferences, password_changed_at, erasing_at, created_at, updated_at`;

/** One spelling per mailbox: trimmed and in lower case, otherwise unchanged. */
export function normalizedEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** Compared to see whether the password was changed or removed since it was proved. */
export function changedAt({
  password_changed_at: at,
}: Pick<Account, 'password_changed_at'>): number | null {
  return at === null ? null : at.getTime();
}

export async function findUserByEmail(pool: Queryable, email: string): Promise<Account | null> {
  const { rows } = await pool.query<Account>(
    `select ${accountColumns} from users where email = $1`,
    [normalizedEmail(email)],
  );
  return rows[0] ?? null;
}

export async function findUser(pool: Queryable, id: string): Promise<Account | null> {
  const { rows } = await pool.query<Account>(`select ${accountColumns} from users where id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/** The newest first. */
export async function listUsers(pool: Queryable, limit: number): Promise<Account[]> {
  const { rows } = await pool.query<Account>(
    `select ${accountColumns} from users order by created_at desc, id desc limit $1`,
    [limit],
  );
  return rows;
}

/** By id or email address. */
export async function findUserNamed(pool: Queryable, named: string): Promise<Account | null> {
  return named.includes('@') ? findUserByEmail(pool, named) : findUser(pool, named);
}

export type NewAccount = {
  /** New when left out. */
  id?: string;
  email: string;
  name: string;
  passwordHash: string;
  termsVersion: string | null;
  /** Only in the browser that signed up does the first proof of the address also sign in. */
  signupBrowser?: Buffer | null;
};

/**
 * The new account, or null when the address is taken: by an account, or by one that changed it within
 * the last week and can still undo that.
 *
 * The undo is checked in a second statement, after the insert. An insert that meets an account which is
 * leaving the address waits for that commit but keeps its older view of the data. In one statement, a
 * thief who moves a stolen account could sign up with its old address, and the owner would lose it.
 */
export async function insertUser(pool: pg.Pool, account: NewAccount): Promise<Account | null> {
  const email = normalizedEmail(account.email);
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Account>(
      `insert into users (id, email, name, password_hash, subscription_tier, terms_version,
         terms_accepted_at, signup_browser)
       values ($1, $2, $3, $4, 'free', $5, $6, $7)
       on conflict (email) do nothing
       returning ${accountColumns}`,
      [
        account.id ?? newId('usr'),
        email,
        account.name,
        account.passwordHash,
        account.termsVersion,
        account.termsVersion === null ? null : new Date(),
        account.signupBrowser ?? null,
      ],
    );
    const created = rows[0];
    if (!created) return null;
    const { rowCount: held } = await client.query(
      `delete from users where id = $1 and exists (
         select from auth_link where kind = 'undo' and email = $2 and used_at is null
           and voided_at is null and expires_at > now())`,
      [created.id, email],
    );
    return held === 0 ? created : null;
  });
}

/** @throws Problem 409 `email-in-use` */
export async function createUser(pool: pg.Pool, account: NewAccount): Promise<Account> {
  const created = await insertUser(pool, account);
  if (created) return created;
  throw identityProblem('email-in-use', {
    errors: [{ field: 'email', message: identityProblems['email-in-use'].title }],
  });
}

/** The columns that every view of an account needs. */
export type ShownAccount = Pick<
  Account,
  | 'id'
  | 'email'
  | 'name'
  | 'subscription_tier'
  | 'avatar'
  | 'preferred_dashboard'
  | 'preferences'
  | 'created_at'
  | 'updated_at'
>;

/** The user as the API returns them. `used` counts the runs of this month. */
export function describeUser(account: ShownAccount, used: number, limit: number): User {
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    subscription_tier: account.subscription_tier,
    optimizations_used: used,
    optimizations_limit: limit,
    avatar_url: account.avatar,
    preferred_dashboard: account.preferred_dashboard,
    preferences: { ...defaultPreferences, ...account.preferences },
    created_at: account.created_at.toISOString(),
    updated_at: account.updated_at.toISOString(),
  };
}
