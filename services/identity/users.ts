import type postgres from 'postgres';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { identityProblems } from './contract.ts';
import type { User } from './contract.ts';

/** Accounts: a plain table. Everything a person did with credits and runs is in their streams. */
export type Account = {
  id: string;
  email: string;
  name: string;
  password_hash: string | null;
  subscription_tier: 'free' | 'pro' | 'scale';
  avatar: string | null;
  created_at: Date;
  updated_at: Date;
};

const columns =
  'id, email, name, password_hash, subscription_tier, avatar, created_at, updated_at' as const;

function normalizedEmail(email: string): string {
  return email.trim().toLowerCase();
}

export async function findUserByEmail(sql: postgres.Sql, email: string): Promise<Account | null> {
  const rows = await sql<
    Account[]
  >`select ${sql.unsafe(columns)} from users where email = ${normalizedEmail(email)}`;
  return rows[0] ?? null;
}

export async function findUser(sql: postgres.Sql, id: string): Promise<Account | null> {
  const rows = await sql<Account[]>`select ${sql.unsafe(columns)} from users where id = ${id}`;
  return rows[0] ?? null;
}

/** By id or e-mail address, as operators name people. */
export async function findUserNamed(sql: postgres.Sql, named: string): Promise<Account | null> {
  return named.includes('@') ? findUserByEmail(sql, named) : findUser(sql, named);
}

export type NewAccount = {
  email: string;
  name: string;
  passwordHash: string;
  termsVersion: string | null;
  tier?: Account['subscription_tier'];
};

/** @throws Problem 409 `email-in-use` */
export async function createUser(sql: postgres.Sql, account: NewAccount): Promise<Account> {
  const rows = await sql<Account[]>`
    insert into users (id, email, name, password_hash, subscription_tier, terms_version,
      terms_accepted_at)
    values (${newId('usr')}, ${normalizedEmail(account.email)}, ${account.name},
      ${account.passwordHash}, ${account.tier ?? 'free'}, ${account.termsVersion},
      ${account.termsVersion === null ? null : new Date()})
    on conflict (email) do nothing
    returning ${sql.unsafe(columns)}`;
  const created = rows[0];
  if (created) return created;
  const { status, message } = identityProblems['email-in-use'];
  throw new Problem(status, 'email-in-use', message, {
    errors: [{ field: 'email', message }],
  });
}

/** The person as the API tells them. `used` counts the runs of this month. */
export function describeUser(account: Account, used: number, limit: number): User {
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    subscription_tier: account.subscription_tier,
    optimizations_used: used,
    optimizations_limit: limit,
    avatar_url: account.avatar,
    created_at: account.created_at.toISOString(),
    updated_at: account.updated_at.toISOString(),
  };
}
