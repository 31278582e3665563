import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  beginSession,
  endedSessions,
  endSession,
  endSessionsOf,
  listSessions,
  liveSessions,
  markAuthenticated,
  purgeSessions,
  recentlyAuthenticated,
  refreshSession,
  sessionOfToken,
  useSession,
} from '#services/identity/sessions/sessions.ts';
import type { RefreshDependencies, SessionStart } from '#services/identity/sessions/sessions.ts';
import { createAudit } from '#services/platform/audit.ts';
import { sessionsAtMost } from '#services/identity/contract.ts';
import { newId } from '#services/platform/ids.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;
let dependencies: RefreshDependencies;
beforeAll(async () => {
  // As many connections as there are refreshes at once, so that they really meet in the database.
  database = await createTestDatabase({ max: 20 });
  dependencies = { pool: database.pool, audit: createAudit(database.pool) };
});
afterAll(async () => {
  await database.drop();
});

const start = new Date('2026-03-01T08:00:00.000Z');
const [minute, hour, day] = [60, 3600, 86_400];

/** Seconds after the start of every session here. */
function at(seconds: number): Date {
  return new Date(start.getTime() + Math.round(seconds * 1000));
}

async function newUser(): Promise<string> {
  const id = newId('usr');
  await database.pool.query(`insert into users (id, email, name) values ($1, $2, 'A Person')`, [
    id,
    `${id}@example.com`,
  ]);
  return id;
}

async function begin(changes: Partial<SessionStart> = {}, now: Date = start) {
  const userId = changes.userId ?? (await newUser());
  const begun = await beginSession(
    database.pool,
    {
      userId,
      method: 'password',
      remembered: false,
      device: 'Firefox on Linux',
      address: '192.0.2.7',
      ...changes,
    },
    now,
  );
  return { ...begun, userId };
}

/** The next token. */
async function refresh(token: string, now: Date): Promise<string> {
  const refreshed = await refreshSession(dependencies, token, now);
  if (refreshed === null || refreshed === 'reused') throw new Error(`Refused: ${refreshed}`);
  return refreshed.token;
}

async function rowOf(sessionId: string) {
  const { rows } = await database.pool.query<{
    ended_reason: string | null;
    revoked_at: Date | null;
    tokens: number;
  }>(
    `select ended_reason, revoked_at,
       (select count(*)::integer from refresh_token t where t.session_id = s.id) as tokens
     from sessions s where id = $1`,
    [sessionId],
  );
  return rows[0];
}

async function isOver(sessionId: string, tokens: readonly string[], now: Date): Promise<boolean> {
  const answers = await Promise.all(
    tokens.flatMap((token) => [
      refreshSession(dependencies, token, now),
      useSession(dependencies, token, now),
    ]),
  );
  const ended = await endedSessions(database.pool, [sessionId], now);
  return ended.length === 1 && answers.every((answer) => answer === null);
}

async function lives(sessionId: string, userId: string, now: Date): Promise<boolean> {
  const users = await liveSessions(database.pool, [sessionId], now);
  return users.get(sessionId) === userId;
}

describe('a refresh token', () => {
  test('a refresh token is exchanged for its successor, which is exchanged in turn', async () => {
    const { sessionId, userId, token } = await begin();
    const first = await refreshSession(dependencies, token, at(minute));
    expect(first).toEqual({
      sessionId,
      userId,
      token: expect.stringMatching(/^[\w-]{43}$/) as string,
      cookieSeconds: null,
    });
    const second = await refresh((first as { token: string }).token, at(2 * minute));
    const third = await refresh(second, at(3 * minute));
    expect(new Set([token, second, third]).size).toBe(3);
    expect(await rowOf(sessionId)).toMatchObject({ revoked_at: null, tokens: 4 });
  });

  test('a refresh token that was never issued is refused', async () => {
    const unknown = randomBytes(32).toString('base64url');
    expect(await refreshSession(dependencies, unknown, start)).toBeNull();
    expect(await useSession(dependencies, unknown, start)).toBeNull();
    expect(await sessionOfToken(database.pool, unknown, at(1))).toBeNull();
  });

  test('neither a refresh token nor its successor is stored in the database', async () => {
    const { token } = await begin();
    const next = await refresh(token, at(minute));
    const { rows } = await database.pool.query<{ row: string }>(
      `select to_jsonb(t)::text as row from refresh_token t
       union all select to_jsonb(s)::text from sessions s`,
    );
    const stored = rows.map(({ row }) => row).join('\n');
    for (const secret of [token, next]) {
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(Buffer.from(secret, 'base64url').toString('hex'));
    }
  });

  test('a refresh token that is used twice ends its session and all its tokens within that call', async () => {
    const { sessionId, userId, token } = await begin();
    const child = await refresh(token, at(minute));
    const grandchild = await refresh(child, at(2 * minute));
    expect(await refreshSession(dependencies, token, at(3 * minute))).toBe('reused');
    expect(await rowOf(sessionId)).toMatchObject({
      ended_reason: 'refresh-reuse',
      revoked_at: at(3 * minute),
    });
    expect(await isOver(sessionId, [token, child, grandchild], at(3 * minute))).toBe(true);
    const { rows } = await database.pool.query(
      'select action, user_id, detail from audit_log where subject = $1',
      [sessionId],
    );
    expect(rows).toEqual([{ action: 'session.refreshed-twice', user_id: userId, detail: {} }]);
  });

  test('a refresh token whose successor was used ends the session even a moment later', async () => {
    const { sessionId, token } = await begin();
    const child = await refresh(token, at(60));
    const grandchild = await refresh(child, at(61));
    expect(await refreshSession(dependencies, token, at(62))).toBe('reused');
    expect(await isOver(sessionId, [child, grandchild], at(62))).toBe(true);
  });

  test.each([0, 1, 9.999, 10])(
    'a refresh token gets the same successor %d s after its exchange, and nothing is stored',
    async (seconds) => {
      const { sessionId, token } = await begin();
      const successor = await refresh(token, at(minute));
      expect(await refresh(token, at(minute + seconds))).toBe(successor);
      expect(await rowOf(sessionId)).toMatchObject({ revoked_at: null, tokens: 2 });
      expect(await refresh(successor, at(2 * minute))).not.toBe(successor);
    },
  );

  test.each([10.001, 11, minute])(
    'a refresh token ends the session %d s after its exchange',
    async (seconds) => {
      const { sessionId, token } = await begin();
      const successor = await refresh(token, at(minute));
      expect(await refreshSession(dependencies, token, at(minute + seconds))).toBe('reused');
      expect(await isOver(sessionId, [token, successor], at(minute + seconds))).toBe(true);
    },
  );

  test('a refresh token that two tabs exchange at once leaves both signed in', async () => {
    const { sessionId, token } = await begin();
    let cookie = token;
    for (let round = 1; round <= 10; round += 1) {
      const tabs = [cookie, cookie].map(async (held) => refresh(held, at(round * minute)));
      const [left, right] = await Promise.all(tabs);
      expect(left).toBe(right);
      cookie = left ?? '';
    }
    expect(await rowOf(sessionId)).toMatchObject({ revoked_at: null, tokens: 11 });
  });

  test('a refresh token that is exchanged twenty times at once has one successor', async () => {
    const { sessionId, token } = await begin();
    const asked = Array.from({ length: 20 }, async () => refresh(token, at(minute)));
    expect(new Set(await Promise.all(asked)).size).toBe(1);
    expect(await rowOf(sessionId)).toMatchObject({ revoked_at: null, tokens: 2 });
  });

  test('a replayed refresh token ends every descendant, also those being made at that moment', async () => {
    for (let round = 0; round < 15; round += 1) {
      const { sessionId, token } = await begin();
      const child = await refresh(token, at(minute));
      const now = at(2 * minute);
      // Ten of the user's, ten of the thief's, in an order that changes from round to round.
      const asked = Array.from({ length: 20 }, (_, index) =>
        (index + round) % 2 === 0 ? token : child,
      );
      const answers = await Promise.all(
        asked.map(async (one) => refreshSession(dependencies, one, now)),
      );
      expect(answers.filter((answer) => answer === 'reused')).toHaveLength(1);
      const minted = answers.flatMap((answer) =>
        answer === null || answer === 'reused' ? [] : [answer.token],
      );
      expect(await isOver(sessionId, [token, child, ...minted], now)).toBe(true);
    }
  });

  test('a token that is refreshed while its grandparent is replayed does not work', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { sessionId, token } = await begin();
      const child = await refresh(token, at(1));
      const grandchild = await refresh(child, at(2));
      const now = at(minute);
      const [minted] = await Promise.all([
        refreshSession(dependencies, grandchild, now),
        refreshSession(dependencies, token, now),
      ]);
      const last = minted === null || minted === 'reused' ? [] : [minted.token];
      expect(await isOver(sessionId, [child, grandchild, ...last], now)).toBe(true);
    }
  });
});

describe('a page that is loaded', () => {
  test('a page load gets its session and leaves the token unchanged', async () => {
    const { sessionId, userId, token } = await begin();
    for (const seconds of [1, 2, hour])
      expect(await useSession(dependencies, token, at(seconds))).toEqual({ sessionId, userId });
    expect(await rowOf(sessionId)).toMatchObject({ tokens: 1 });
  });

  test('a page load may use the parent of the newest token for ten seconds', async () => {
    const { sessionId, userId, token } = await begin();
    const child = await refresh(token, at(minute));
    expect(await useSession(dependencies, token, at(minute + 10))).toEqual({ sessionId, userId });
    expect(await useSession(dependencies, child, at(minute + 10))).toEqual({ sessionId, userId });
    expect(await useSession(dependencies, token, at(minute + 10.001))).toBe('reused');
    expect(await isOver(sessionId, [token, child], at(minute + 11))).toBe(true);
  });

  test('a page load with the older token exposes a thief who refreshed first', async () => {
    const { sessionId, token } = await begin({ remembered: true });
    const stolen = await refresh(token, at(hour));
    const later = await refresh(stolen, at(2 * hour));
    expect(await useSession(dependencies, token, at(3 * hour))).toBe('reused');
    expect(await isOver(sessionId, [stolen, later], at(3 * hour))).toBe(true);
  });
});

describe('a session', () => {
  test('a session that is not remembered ends after a day, used or not', async () => {
    const { sessionId, userId, token, cookieSeconds } = await begin();
    expect(cookieSeconds).toBeNull();
    let newest = token;
    for (let hours = 1; hours < 24; hours += 1) newest = await refresh(newest, at(hours * hour));
    expect(await useSession(dependencies, newest, at(day - 1))).toEqual({ sessionId, userId });
    expect(await lives(sessionId, userId, at(day - 1))).toBe(true);
    expect(await isOver(sessionId, [newest], at(day))).toBe(true);
    expect(await lives(sessionId, userId, at(day + 1))).toBe(false);
  });

  test('a remembered session ends after seven days without use', async () => {
    const used = await begin({ remembered: true });
    const left = await begin({ remembered: true });
    expect(used.cookieSeconds).toBe(30 * day);
    expect(await useSession(dependencies, used.token, at(7 * day - 1))).not.toBeNull();
    expect(await isOver(left.sessionId, [left.token], at(7 * day + 1))).toBe(true);
    expect(await useSession(dependencies, used.token, at(14 * day - 2))).not.toBeNull();
    expect(await isOver(used.sessionId, [used.token], at(21 * day))).toBe(true);
  });

  test('a remembered session ends after thirty days, however much it is used', async () => {
    const { sessionId, token } = await begin({ remembered: true });
    let newest = token;
    for (let days = 1; days < 30; days += 1) {
      const refreshed = await refreshSession(dependencies, newest, at(days * day));
      // The cookie lasts as long as there is something for it to refresh.
      expect(refreshed).toMatchObject({ cookieSeconds: (30 - days) * day });
      newest = (refreshed as { token: string }).token;
    }
    newest = await refresh(newest, at(30 * day - 1));
    expect(await isOver(sessionId, [newest], at(30 * day))).toBe(true);
  });

  test('an expired session is not revived, and an old token of it does not count as theft', async () => {
    const { sessionId, token } = await begin({ remembered: true });
    const child = await refresh(token, at(1));
    expect(await isOver(sessionId, [token, child], at(7 * day + 2))).toBe(true);
    expect(await rowOf(sessionId)).toMatchObject({ ended_reason: null });
  });

  test('a session is valid for its own user only', async () => {
    const { sessionId, userId } = await begin();
    const other = await newUser();
    expect(await lives(sessionId, userId, at(1))).toBe(true);
    expect(await lives(sessionId, other, at(1))).toBe(false);
    expect(await lives(newId('ses'), userId, at(1))).toBe(false);
    expect(await endSession(database.pool, sessionId, other, 'ended', at(1))).toBe(false);
    expect(await lives(sessionId, userId, at(1))).toBe(true);
  });

  test('an account that is being erased has no valid session and begins none', async () => {
    const { sessionId, userId, token } = await begin();
    await database.pool.query('update users set erasing_at = now() where id = $1', [userId]);
    expect(await lives(sessionId, userId, at(1))).toBe(false);
    expect(await isOver(sessionId, [token], at(1))).toBe(true);
    await expect(begin({ userId })).rejects.toMatchObject({ code: 'account-erasing' });
    await expect(begin({ userId: newId('usr') })).rejects.toMatchObject({
      code: 'account-erasing',
    });
  });

  test('a session counts as recently proved for five minutes', async () => {
    const { pool } = database;
    const { sessionId } = await begin();
    expect(await recentlyAuthenticated(pool, sessionId, at(299))).toBe(true);
    expect(await recentlyAuthenticated(pool, sessionId, at(300))).toBe(false);
    await markAuthenticated(pool, sessionId, at(hour));
    expect(await recentlyAuthenticated(pool, sessionId, at(hour + 299))).toBe(true);
    expect(await recentlyAuthenticated(pool, sessionId, at(hour + 301))).toBe(false);
    const refreshed = await begin();
    await refresh(refreshed.token, at(hour));
    expect(await recentlyAuthenticated(pool, refreshed.sessionId, at(hour))).toBe(false);
  });
});

describe('the sessions of a user', () => {
  test('a user has at most ten sessions, and the oldest end first', async () => {
    const userId = await newUser();
    const ids: string[] = [];
    for (let number = 0; number < 12; number += 1)
      ids.push((await begin({ userId }, at(number))).sessionId);
    const rows = await listSessions(database.pool, userId, null, at(20));
    expect(rows.map(({ id }) => id)).toEqual(ids.slice(2).toReversed());
    expect(await rowOf(ids[0] ?? '')).toMatchObject({ ended_reason: 'too-many' });
  });

  test('a user has at most ten sessions when twenty begin at once', async () => {
    const userId = await newUser();
    await Promise.all(Array.from({ length: 20 }, async () => begin({ userId })));
    expect(await listSessions(database.pool, userId, null, at(1))).toHaveLength(sessionsAtMost);
  });

  test('the list of sessions begins with the last used and leaves out ended ones', async () => {
    const userId = await newUser();
    const first = await begin({ userId, remembered: true, method: 'magic' });
    const second = await begin({ userId }, at(1));
    const ended = await begin({ userId }, at(2));
    await begin();
    await endSession(database.pool, ended.sessionId, userId, 'ended', at(3));
    await refresh(first.token, at(hour));
    expect(await listSessions(database.pool, userId, second.sessionId, at(hour))).toEqual([
      {
        id: first.sessionId,
        current: false,
        device: 'Firefox on Linux',
        address: '192.0.2.7',
        method: 'magic',
        remembered: true,
        created_at: at(0).toISOString(),
        last_used_at: at(hour).toISOString(),
        expires_at: at(hour + 7 * day).toISOString(),
      },
      expect.objectContaining({
        id: second.sessionId,
        current: true,
        last_used_at: at(1).toISOString(),
        expires_at: at(1 + day).toISOString(),
      }),
    ]);
  });

  test('all sessions of a user end, except one that is named', async () => {
    const userId = await newUser();
    const kept = await begin({ userId });
    const others = await Promise.all([begin({ userId }), begin({ userId })]);
    const stranger = await begin();
    const { pool } = database;
    expect(await endSessionsOf(pool, userId, 'password-changed', at(1), kept.sessionId)).toBe(2);
    for (const { sessionId, token } of others)
      expect(await isOver(sessionId, [token], at(1))).toBe(true);
    expect(await useSession(dependencies, kept.token, at(1))).not.toBeNull();
    expect(await endSessionsOf(pool, userId, 'erased', at(2))).toBe(1);
    expect(await endSessionsOf(pool, userId, 'erased', at(3))).toBe(0);
    expect(await useSession(dependencies, stranger.token, at(3))).not.toBeNull();
  });

  test('a session ends once, however often its end is requested', async () => {
    const { sessionId, userId, token } = await begin();
    const child = await refresh(token, at(1));
    expect(await sessionOfToken(database.pool, token, at(2))).toEqual({ sessionId, userId });
    expect(await sessionOfToken(database.pool, token, at(day))).toBeNull();
    expect(await endSession(database.pool, sessionId, userId, 'logout', at(minute))).toBe(true);
    expect(await endSession(database.pool, sessionId, userId, 'logout', at(minute))).toBe(false);
    expect(await sessionOfToken(database.pool, token, at(minute))).toBeNull();
    expect(await isOver(sessionId, [token, child], at(minute))).toBe(true);
  });

  test('sessions are deleted with their tokens a week after their end', async () => {
    const idle = await begin();
    await refresh(idle.token, at(1));
    const remembered = await begin({ remembered: true });
    const { pool } = database;
    await purgeSessions(pool, at(8 * day - 1));
    expect(await rowOf(idle.sessionId)).toMatchObject({ tokens: 2 });
    expect(await purgeSessions(pool, at(8 * day + 2))).toBeGreaterThan(0);
    expect(await rowOf(idle.sessionId)).toBeUndefined();
    expect(await rowOf(remembered.sessionId)).toMatchObject({ tokens: 1 });
    const { rowCount } = await pool.query('select from refresh_token where session_id = $1', [
      idle.sessionId,
    ]);
    expect(rowCount).toBe(0);
  });
});
