import { createHmac, randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import type { Audit } from '#services/platform/audit.ts';
import { newId } from '#services/platform/ids.ts';
import { sessionsAtMost } from '#services/identity/contract.ts';
import type { SessionRow } from '#services/identity/contract.ts';
import { hashOf } from '#services/identity/token-hash.ts';
import { identityProblem } from '#services/identity/problems.ts';

/**
 * Sessions. A session is a family of refresh tokens: opaque, 256 bits, in an HttpOnly cookie, stored
 * as hashes. Each is exchanged once for the next. When a token is used a second time, one of its two
 * holders is a thief. It is unknown which, so the whole family ends.
 *
 * The successor is the HMAC of the token under a salt in the token's row, so a repeat gets the same
 * successor although no token is stored. Tabs that refresh at once, or a browser that lost the response,
 * get it as long as it is unused and the exchange is not older than `graceSeconds`. Neither the table
 * alone nor an old token alone is enough to compute it.
 *
 * A rotation locks the session's row, and every request checks its access token against that row. So
 * ending the row ends every descendant, also one that is being made at that moment.
 */
export type SessionMethod = SessionRow['method'];

const daySeconds = 86_400;
const sessionLimits = {
  /** Remembered sessions outlive the browser; the others end with it, or after a day. */
  remembered: { idleSeconds: 7 * daySeconds, absoluteSeconds: 30 * daySeconds },
  brief: { idleSeconds: daySeconds, absoluteSeconds: daySeconds },
  /** How long an exchanged token still gets its successor. */
  graceSeconds: 10,
  /** How long a given password counts as recent proof of who is there. */
  authenticatedSeconds: 300,
  /** How long after their end sessions are deleted, and how many at a time. */
  keptSeconds: 7 * daySeconds,
  purgedAtOnce: 1_000,
} as const;

export type SessionStart = {
  userId: string;
  method: SessionMethod;
  /** Kept beyond the end of the browser. */
  remembered: boolean;
  /** Such as 'Firefox on Linux'. */
  device: string;
  address: string;
};

/** What the browser's cookie holds. `cookieSeconds` is null for one that ends with the browser. */
export type CookieContent = { token: string; cookieSeconds: number | null };

/**
 * A new session and its first token. The oldest sessions beyond ten end.
 *
 * @throws Problem 409 `account-erasing`, also when there is no such account
 */
export async function beginSession(
  pool: Queryable,
  start: SessionStart,
  now: Date,
): Promise<CookieContent & { sessionId: string }> {
  const sessionId = newId('ses');
  const token = randomBytes(32).toString('base64url');
  const length = start.remembered ? sessionLimits.remembered : sessionLimits.brief;
  // The lock makes a session and the erasure of its account follow one another.
  const { rowCount } = await pool.query(
    `with person as (
       select id from users where id = $2 and erasing_at is null for share),
     session as (
       insert into sessions (id, user_id, method, remembered, device, address, created_at,
         authenticated_at, last_used_at, expires_at, ends_at, idle_seconds)
       select $1, id, $3, $4, $5, $6, $7, $7, $7, $7::timestamptz + make_interval(secs => $8),
         $7::timestamptz + make_interval(secs => $9), $8
       from person returning id, user_id)
     insert into refresh_token (token_hash, session_id, user_id, successor_salt, issued_at)
     select $10, id, user_id, $11, $7 from session`,
    [
      sessionId,
      start.userId,
      start.method,
      start.remembered,
      start.device,
      start.address,
      now,
      length.idleSeconds,
      length.absoluteSeconds,
      hashOf(token),
      randomBytes(32),
    ],
  );
  if (rowCount !== 1) throw identityProblem('account-erasing');
  await endOldest(pool, start.userId, now);
  return { sessionId, token, cookieSeconds: start.remembered ? length.absoluteSeconds : null };
}

/** A statement of its own, so that the last of several sees every session begun at the same time. */
async function endOldest(pool: Queryable, userId: string, now: Date): Promise<void> {
  await pool.query(
    `update sessions set revoked_at = $2, ended_reason = 'too-many'
     where id in (
       select id from sessions
       where user_id = $1 and revoked_at is null and expires_at > $2
       order by created_at desc, id desc offset $3)`,
    [userId, now, sessionsAtMost],
  );
}

// --- refresh tokens ---

export type Session = { sessionId: string; userId: string };

export type RefreshDependencies = { pool: pg.Pool; audit: Audit };

/**
 * Exchanges a token for its successor. Null when the token is not known or its session has ended;
 * 'reused' when it had been exchanged before and has now ended its session.
 */
export async function refreshSession(
  { pool, audit }: RefreshDependencies,
  presented: string,
  now: Date,
): Promise<(Session & CookieContent) | 'reused' | null> {
  return inTransaction(pool, async (client) => {
    const family = await holdFamily(client, presented, now);
    if (family === null) return null;
    if (family.standing === 'reused') return revokeFamily(client, audit, family, now);
    if (family.standing === 'newest') await insertSuccessor(client, family, presented, now);
    await moveIdleEnd(client, family, now);
    return {
      sessionId: family.id,
      userId: family.user_id,
      token: successorOf(presented, family.successor_salt),
      cookieSeconds: family.remembered ? wholeSeconds(family.ends_at, now) : null,
    };
  });
}

/**
 * The session of a cookie, with its idle end extended and no token rotated: a page load asks this, and
 * may lose the response without harm.
 *
 * Only the newest token counts, and during the grace its immediate parent, because another tab may be
 * refreshing. Any other token ends the session here, too. If the thief refreshed first, the user is the
 * one who presents the old token, and a page load asks nowhere else.
 */
export async function useSession(
  { pool, audit }: RefreshDependencies,
  presented: string,
  now: Date,
): Promise<Session | 'reused' | null> {
  return inTransaction(pool, async (client) => {
    const family = await holdFamily(client, presented, now);
    if (family === null) return null;
    if (family.standing === 'reused') return revokeFamily(client, audit, family, now);
    await moveIdleEnd(client, family, now);
    return { sessionId: family.id, userId: family.user_id };
  });
}

type Family = {
  id: string;
  user_id: string;
  remembered: boolean;
  ends_at: Date;
  successor_salt: Buffer;
  /** Of the token that was presented. */
  standing: 'newest' | 'parent-of-newest' | 'reused';
};

/** Locks the session of a token before reading the token, so that it cannot change. */
async function holdFamily(client: Queryable, presented: string, now: Date): Promise<Family | null> {
  const hash = hashOf(presented);
  const { rows: sessions } = await client.query<
    Pick<Family, 'id' | 'user_id' | 'remembered' | 'ends_at'>
  >(
    `select s.id, s.user_id, s.remembered, s.ends_at from sessions s
     where s.id = (select session_id from refresh_token where token_hash = $1)
       and s.revoked_at is null and s.expires_at > $2
       and exists (select from users u where u.id = s.user_id and u.erasing_at is null)
     for update of s`,
    [hash, now],
  );
  const session = sessions[0];
  if (!session) return null;
  const { rows: tokens } = await client.query<{ successor_salt: Buffer; used_at: Date | null }>(
    'select successor_salt, used_at from refresh_token where token_hash = $1',
    [hash],
  );
  const token = tokens[0];
  if (!token) return null;
  const { successor_salt, used_at } = token;
  if (used_at === null) return { ...session, successor_salt, standing: 'newest' };
  const isFresh = now.getTime() - used_at.getTime() <= sessionLimits.graceSeconds * 1000;
  const isParent = isFresh && (await isNewest(client, successorOf(presented, successor_salt)));
  return { ...session, successor_salt, standing: isParent ? 'parent-of-newest' : 'reused' };
}

async function isNewest(client: Queryable, token: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'select from refresh_token where token_hash = $1 and used_at is null',
    [hashOf(token)],
  );
  return rowCount === 1;
}

async function insertSuccessor(
  client: Queryable,
  family: Family,
  presented: string,
  now: Date,
): Promise<void> {
  await client.query(
    `with used as (
       update refresh_token set used_at = $5 where token_hash = $1)
     insert into refresh_token (token_hash, session_id, user_id, successor_salt, issued_at)
     values ($2, $3, $4, $6, $5)`,
    [
      hashOf(presented),
      hashOf(successorOf(presented, family.successor_salt)),
      family.id,
      family.user_id,
      now,
      randomBytes(32),
    ],
  );
}

async function moveIdleEnd(client: Queryable, { id }: Family, now: Date): Promise<void> {
  await client.query(
    `update sessions
     set last_used_at = $2,
       expires_at = least(ends_at, $2::timestamptz + make_interval(secs => idle_seconds))
     where id = $1`,
    [id, now],
  );
}

async function revokeFamily(
  client: pg.ClientBase,
  audit: Audit,
  { id, user_id }: Family,
  now: Date,
): Promise<'reused'> {
  await client.query(
    `update sessions set revoked_at = $2, ended_reason = 'refresh-reuse' where id = $1`,
    [id, now],
  );
  await audit(
    { actor: 'system:sessions', action: 'session.refreshed-twice', subject: id, userId: user_id },
    client,
  );
  return 'reused';
}

function successorOf(token: string, salt: Buffer): string {
  return createHmac('sha256', salt).update(token).digest('base64url');
}

function wholeSeconds(until: Date, now: Date): number {
  return Math.max(1, Math.floor((until.getTime() - now.getTime()) / 1000));
}

// --- what lives and what has ended ---

/** Of these sessions the ones that have not ended and whose accounts take calls, each with its user's id. */
export async function liveSessions(
  pool: Queryable,
  ids: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, string>> {
  // Named, so that it is parsed once per connection: every call asks this.
  const { rows } = await pool.query<{ id: string; user_id: string }>({
    name: 'live-sessions',
    text: `select s.id, s.user_id from sessions s join users u on u.id = s.user_id
           where s.id = any ($1) and s.revoked_at is null and s.expires_at > $2
             and u.erasing_at is null`,
    values: [ids, now],
  });
  return new Map(rows.map((row) => [row.id, row.user_id]));
}

/** Of these sessions the ones that have ended, or never were. */
export async function endedSessions(
  pool: Queryable,
  ids: readonly string[],
  now: Date,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select wanted.id from unnest($1::text[]) as wanted (id)
     where not exists (
       select from sessions s join users u on u.id = s.user_id
       where s.id = wanted.id and s.revoked_at is null and s.expires_at > $2
         and u.erasing_at is null)`,
    [ids, now],
  );
  return rows.map(({ id }) => id);
}

/** The live sessions of a person, newest use first. */
export async function listSessions(
  pool: Queryable,
  userId: string,
  currentId: string | null,
  now: Date,
): Promise<SessionRow[]> {
  const { rows } = await pool.query<
    Pick<SessionRow, 'id' | 'device' | 'address' | 'method' | 'remembered'> &
      Record<'created_at' | 'last_used_at' | 'expires_at', Date>
  >(
    `select id, device, address, method, remembered, created_at, last_used_at, expires_at
     from sessions
     where user_id = $1 and revoked_at is null and expires_at > $2
     order by last_used_at desc, id desc`,
    [userId, now],
  );
  return rows.map((row) => ({
    ...row,
    current: row.id === currentId,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  }));
}

/** Ends one session of a person; false when they have no such session, or it had ended. */
export async function endSession(
  pool: Queryable,
  sessionId: string,
  userId: string,
  reason: string,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update sessions set revoked_at = $4, ended_reason = $3
     where id = $1 and user_id = $2 and revoked_at is null and expires_at > $4`,
    [sessionId, userId, reason, now],
  );
  return rowCount === 1;
}

/**
 * The live session of a cookie's token, also of an old one: it identifies the session as well as the
 * newest does.
 */
export async function sessionOfToken(
  pool: Queryable,
  token: string,
  now: Date,
): Promise<Session | null> {
  const { rows } = await pool.query<Session>(
    `select s.id as "sessionId", s.user_id as "userId" from sessions s
     join refresh_token t on t.session_id = s.id
     where t.token_hash = $1 and s.revoked_at is null and s.expires_at > $2`,
    [hashOf(token), now],
  );
  return rows[0] ?? null;
}

/** Ends the session of a cookie's token and returns it; null when it had ended. */
export async function endSessionOfToken(
  pool: Queryable,
  token: string,
  reason: string,
  now: Date,
): Promise<Session | null> {
  const { rows } = await pool.query<Session>(
    `update sessions set revoked_at = $3, ended_reason = $2
     where id = (select session_id from refresh_token where token_hash = $1)
       and revoked_at is null and expires_at > $3
     returning id as "sessionId", user_id as "userId"`,
    [hashOf(token), reason, now],
  );
  return rows[0] ?? null;
}

/** Ends a user's live sessions, except one if it is named. Returns how many. */
export async function endSessionsOf(
  pool: Queryable,
  userId: string,
  reason: string,
  now: Date,
  exceptSessionId?: string,
): Promise<number> {
  // Locked in one order, so that two of these at once cannot wait for each other.
  const { rowCount } = await pool.query(
    `update sessions set revoked_at = $3, ended_reason = $2
     where id in (
       select id from sessions
       where user_id = $1 and revoked_at is null and expires_at > $3
         and id is distinct from $4
       order by id for update)`,
    [userId, reason, now, exceptSessionId ?? null],
  );
  return rowCount ?? 0;
}

/** Of all users, with their refresh tokens. Returns how many. */
export async function endEverySession(
  client: Queryable,
  reason: string,
  now: Date,
): Promise<number> {
  const { rowCount } = await client.query(
    `update sessions set revoked_at = $2, ended_reason = $1
     where revoked_at is null and expires_at > $2`,
    [reason, now],
  );
  return rowCount ?? 0;
}

/** The person has just proved again who they are. */
export async function markAuthenticated(
  pool: Queryable,
  sessionId: string,
  now: Date,
): Promise<void> {
  await pool.query('update sessions set authenticated_at = $2 where id = $1', [sessionId, now]);
}

/** Whether the person has proved who they are within the last five minutes. */
export async function recentlyAuthenticated(
  pool: Queryable,
  sessionId: string,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from sessions
     where id = $1 and revoked_at is null
       and authenticated_at > $2::timestamptz - make_interval(secs => $3)`,
    [sessionId, now, sessionLimits.authenticatedSeconds],
  );
  return rowCount === 1;
}

/**
 * Deletes sessions that expired a week ago, with their tokens. A live session keeps all of its tokens:
 * each can still expose a thief.
 */
export async function purgeSessions(pool: Queryable, now: Date): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from sessions where id in (
       select id from sessions
       where expires_at < $1::timestamptz - make_interval(secs => $2)
       order by expires_at limit $3 for update skip locked)`,
    [now, sessionLimits.keptSeconds, sessionLimits.purgedAtOnce],
  );
  return rowCount ?? 0;
}
