import { createHash, randomBytes } from 'node:crypto';
import type postgres from 'postgres';
import { newId } from '#services/platform/ids.ts';

/**
 * Sessions: an opaque token of 256 bits in an HttpOnly cookie, stored as its hash. Remembered ones
 * last 30 days and end after 7 without use; the others end with the browser, after 24 hours at most.
 */
export type Session = { id: string; userId: string };

const daySeconds = 86_400;
const lengths = {
  remembered: { idleSeconds: 7 * daySeconds, absoluteSeconds: 30 * daySeconds },
  brief: { idleSeconds: daySeconds, absoluteSeconds: daySeconds },
} as const;

export async function beginSession(
  sql: postgres.Sql,
  userId: string,
  remember: boolean,
): Promise<{ session: Session; token: string; cookieSeconds: number | null }> {
  const token = randomBytes(32).toString('base64url');
  const id = newId('ses');
  const { idleSeconds, absoluteSeconds } = remember ? lengths.remembered : lengths.brief;
  await sql`
    insert into sessions (id, user_id, token_hash, expires_at, ends_at, idle_seconds)
    values (${id}, ${userId}, ${hashOf(token)}, now() + make_interval(secs => ${idleSeconds}),
      now() + make_interval(secs => ${absoluteSeconds}), ${idleSeconds})`;
  return { session: { id, userId }, token, cookieSeconds: remember ? absoluteSeconds : null };
}

/** The session of a cookie, and its idle end moved on; null when it has ended. */
export async function useSession(sql: postgres.Sql, token: string): Promise<Session | null> {
  const rows = await sql<{ id: string; user_id: string }[]>`
    update sessions
    set expires_at = least(ends_at, now() + make_interval(secs => idle_seconds))
    where token_hash = ${hashOf(token)} and revoked_at is null and expires_at > now()
    returning id, user_id`;
  const found = rows[0];
  return found ? { id: found.id, userId: found.user_id } : null;
}

export async function sessionLives(sql: postgres.Sql, id: string): Promise<boolean> {
  const rows = await sql`
    select 1 from sessions where id = ${id} and revoked_at is null and expires_at > now()`;
  return rows.length > 0;
}

/** Of these sessions the ones that have ended, or never were. */
export async function endedSessions(
  sql: postgres.Sql,
  ids: readonly string[],
): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    select wanted.id from unnest(${[...ids]}::text[]) as wanted (id)
    where not exists (
      select from sessions s
      where s.id = wanted.id and s.revoked_at is null and s.expires_at > now())`;
  return rows.map(({ id }) => id);
}

export async function endSession(sql: postgres.Sql, token: string): Promise<void> {
  await sql`
    update sessions set revoked_at = now()
    where token_hash = ${hashOf(token)} and revoked_at is null`;
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
