import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionRow } from '#services/identity/contract.ts';
import type { SessionReply, User } from '#services/identity/contract/session.ts';
import { deviceOf } from '#services/identity/sessions/cookie.ts';
import { liveLimits } from '#services/live/limits.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { nowListeningTo } from '#tests/live/client.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const began = Date.now();
let now = began;
let app: TestApp;
let ann: Person;
let ben: Person;
beforeAll(async () => {
  app = await createTestApp({ clock: () => now });
  ann = await app.signUp();
  ben = await app.signUp();
});
afterAll(async () => app.close());

type SignedIn = { token: string; cookie: string; setCookie: string };

function signedInBy(response: Response, token: string): SignedIn {
  const setCookie = response.headers.getSetCookie().find((one) => /refresh=/.test(one)) ?? '';
  return { token, cookie: setCookie.split(';')[0] ?? '', setCookie };
}

async function signIn(person: Person, options: { remembered?: boolean; device?: string } = {}) {
  const response = await app.call('/auth/login', {
    body: { email: person.email, password: testPassword, remember_me: options.remembered ?? false },
    headers: options.device === undefined ? {} : { 'user-agent': options.device },
    address: '192.0.2.7',
  });
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: SessionReply };
  return signedInBy(response, data.token);
}

async function refresh(cookie: string): Promise<{ status: number } & SignedIn> {
  const response = await app.call('/auth/refresh', { method: 'POST', headers: { cookie } });
  const body = (await response.json()) as { data?: SessionReply };
  return { status: response.status, ...signedInBy(response, body.data?.token ?? '') };
}

async function session(cookie: string): Promise<SessionReply | null> {
  return app.data<SessionReply | null>('/auth/session', { headers: { cookie } });
}

async function statusFor(token: string): Promise<number> {
  return (await app.call('/users/me', { token })).status;
}

async function sessions(token: string): Promise<SessionRow[]> {
  return app.data<SessionRow[]>('/auth/sessions', { token });
}

async function currentId(token: string): Promise<string> {
  return (await sessions(token)).find(({ current }) => current)?.id ?? '';
}

async function audited(action: string, userId: string): Promise<object[]> {
  const { rows } = await app.database.pool.query<{ detail: object }>(
    'select detail from audit_log where action = $1 and user_id = $2 order by entry_id',
    [action, userId],
  );
  return rows.map(({ detail }) => detail);
}

const cleared = /^sf_refresh=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/;

describe('POST /auth/refresh', () => {
  test('a refresh answers as a login does, with a fresh token and the next cookie', async () => {
    const { cookie } = await signIn(ann);
    const response = await app.call('/auth/refresh', { body: {}, headers: { cookie } });
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { data } = (await response.json()) as { data: SessionReply };
    expect(data).toEqual({
      token: data.access_token,
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) as string,
      expires_at: expect.stringMatching(/Z$/) as string,
      expires_in: expect.any(Number) as number,
      user: expect.objectContaining({ id: ann.userId, email: ann.email }) as User,
    });
    expect(data.expires_in).toBeGreaterThan(590);
    expect(await statusFor(data.token)).toBe(200);
    const next = signedInBy(response, data.token);
    expect(next.cookie).toMatch(/^sf_refresh=[\w-]{43}$/);
    expect(next.cookie).not.toBe(cookie);
    expect(JSON.stringify(data)).not.toContain(next.cookie.split('=')[1]);
  });

  test('a refresh is refused without a cookie and with an unknown one, which it deletes', async () => {
    const unknown = randomBytes(32).toString('base64url');
    for (const headers of [
      {},
      { cookie: `sf_refresh=${unknown}` },
      { cookie: 'sf_refresh=' },
      { cookie: `__Host-refresh=${unknown}` },
    ]) {
      const response = await app.call('/auth/refresh', { method: 'POST', headers });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ message: 'Authentication required' });
      expect(response.headers.get('set-cookie')).toMatch(cleared);
    }
  });

  test('a refresh takes nothing but the cookie', async () => {
    const { cookie } = await signIn(ann);
    const response = await app.call('/auth/refresh', {
      body: { refresh_token: cookie.split('=')[1] },
      headers: { cookie },
    });
    expect(response.status).toBe(400);
    expect(await session(cookie)).not.toBeNull();
  });

  test('two tabs can refresh at once, and both stay signed in', async () => {
    let { cookie } = await signIn(ann);
    for (let round = 0; round < 5; round += 1) {
      const [left, right] = await Promise.all([refresh(cookie), refresh(cookie)]);
      expect([left.status, right.status]).toEqual([200, 200]);
      expect(left.cookie).toBe(right.cookie);
      expect(await statusFor(left.token)).toBe(200);
      expect(await statusFor(right.token)).toBe(200);
      cookie = left.cookie;
    }
  });

  test('a refresh with a used cookie ends the session and all its tokens at once', async () => {
    const first = await signIn(ann);
    const second = await refresh(first.cookie);
    const third = await refresh(second.cookie);
    const thief = await refresh(first.cookie);
    expect(thief.status).toBe(401);
    expect(thief.setCookie).toMatch(cleared);
    for (const { token } of [first, second, third]) expect(await statusFor(token)).toBe(401);
    expect((await refresh(third.cookie)).status).toBe(401);
    expect(await session(third.cookie)).toBeNull();
    expect(await audited('session.refreshed-twice', ann.userId)).toHaveLength(1);
  });

  test('a refresh with a used cookie leaves no descendant alive, however many are being made', async () => {
    const first = await signIn(ann);
    const second = await refresh(first.cookie);
    now += 11_000;
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        refresh(index % 2 === 0 ? first.cookie : second.cookie),
      ),
    );
    for (const { token, cookie } of answers) {
      expect(await statusFor(token)).toBe(401);
      expect((await refresh(cookie)).status).toBe(401);
    }
    expect(await statusFor(second.token)).toBe(401);
  });

  test('refreshes are limited by address', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'refresh=2/m' } });
    try {
      const statuses: number[] = [];
      for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2']) {
        const response = await limited.call('/auth/refresh', { method: 'POST', address });
        statuses.push(response.status);
      }
      expect(statuses).toEqual([401, 401, 429, 401]);
    } finally {
      await limited.close();
    }
  });
});

describe('GET /auth/session', () => {
  test('the session is null for a caller without one, and no cookie is set', async () => {
    for (const headers of [{}, { cookie: 'sf_refresh=unknown' }]) {
      const response = await app.call('/auth/session', { headers });
      expect(await response.json()).toEqual({ data: null });
      expect(response.headers.get('set-cookie')).toBeNull();
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('each read of the session returns a token and leaves the cookie unchanged', async () => {
    const { cookie } = await signIn(ann);
    for (let time = 0; time < 3; time += 1) {
      const response = await app.call('/auth/session', { headers: { cookie } });
      expect(response.headers.get('set-cookie')).toBeNull();
      const { data } = (await response.json()) as { data: SessionReply };
      expect(data.user.id).toBe(ann.userId);
      expect(await statusFor(data.token)).toBe(200);
    }
    expect((await refresh(cookie)).status).toBe(200);
  });

  test('a read with a cookie that was used long ago ends the session', async () => {
    const first = await signIn(ann);
    const second = await refresh(first.cookie);
    now += 10_000;
    expect(await session(first.cookie)).not.toBeNull();
    now += 1;
    const response = await app.call('/auth/session', { headers: { cookie: first.cookie } });
    expect(await response.json()).toEqual({ data: null });
    expect(response.headers.get('set-cookie')).toMatch(cleared);
    expect(await statusFor(second.token)).toBe(401);
    expect((await refresh(second.cookie)).status).toBe(401);
  });

  test('the session is refused to a page of another site', async () => {
    const { cookie } = await signIn(ann);
    const headers = { cookie, 'sec-fetch-site': 'cross-site' };
    expect((await app.call('/auth/session', { headers })).status).toBe(403);
    for (const path of ['/auth/refresh', '/auth/logout'])
      expect((await app.call(path, { method: 'POST', headers })).status).toBe(403);
    expect(await session(cookie)).not.toBeNull();
  });
});

describe('the cookie', () => {
  test('the cookie ends with the browser unless the user is remembered', async () => {
    const brief = await signIn(ann);
    expect(brief.setCookie).toMatch(/^sf_refresh=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    expect((await refresh(brief.cookie)).setCookie).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/);
    const kept = await signIn(ann, { remembered: true });
    expect(kept.setCookie).toMatch(
      /^sf_refresh=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
  });

  test('the cookie of a remembered user lasts exactly as long as the session can', async () => {
    const before = now;
    let { cookie } = await signIn(ann, { remembered: true });
    for (let days = 6; days < 30; days += 6) {
      now = before + days * day;
      const next = await refresh(cookie);
      expect(next.setCookie).toContain(`; Max-Age=${((30 - days) * day) / 1000}; `);
      cookie = next.cookie;
    }
    now = before + 30 * day - 1000;
    const last = await refresh(cookie);
    expect(last.setCookie).toContain('; Max-Age=1; ');
    now += 2000;
    expect((await refresh(last.cookie)).status).toBe(401);
    // The access token would have lasted longer than its session.
    expect(await statusFor(last.token)).toBe(401);
    now = before;
  });

  test('the cookie is bound to the host over https', async () => {
    const secure = await createTestApp({
      env: { PUBLIC_URL: 'https://sevenfold.example', ALLOW_PUBLIC_SANDBOX: 'true' },
    });
    try {
      const response = await secure.call('/auth/signup', {
        body: { name: 'Ann Other', email: 'ann@example.com', password: testPassword },
      });
      const { cookie, setCookie } = signedInBy(response, '');
      expect(setCookie).toMatch(
        /^__Host-refresh=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      );
      const unprefixed = cookie.replace('__Host-refresh', 'sf_refresh');
      const call = async (held: string) =>
        secure.data('/auth/session', { headers: { cookie: held } });
      expect(await call(cookie)).not.toBeNull();
      expect(await call(unprefixed)).toBeNull();
      const logout = await secure.call('/auth/logout', { method: 'POST', headers: { cookie } });
      expect(logout.headers.get('set-cookie')).toBe(
        '__Host-refresh=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax',
      );
    } finally {
      await secure.close();
    }
  });
});

describe('POST /auth/logout', () => {
  test('a logout ends the session, deletes the cookie and clears the browser’s cached pages', async () => {
    const { cookie, token } = await signIn(ann);
    const response = await app.call('/auth/logout', { method: 'POST', headers: { cookie } });
    expect(await response.json()).toEqual({ data: { ok: true } });
    expect(response.headers.get('set-cookie')).toMatch(cleared);
    expect(response.headers.get('clear-site-data')).toBe('"cache"');
    // The token has not expired, but its session has ended.
    expect(await statusFor(token)).toBe(401);
    expect(await session(cookie)).toBeNull();
    expect((await refresh(cookie)).status).toBe(401);
    expect(await audited('session.ended', ann.userId)).toContainEqual({ reason: 'logout' });
  });

  test('a logout with a cookie that was just exchanged ends the session', async () => {
    const first = await signIn(ann);
    const second = await refresh(first.cookie);
    await app.data('/auth/logout', { method: 'POST', headers: { cookie: first.cookie } });
    expect(await statusFor(second.token)).toBe(401);
    expect((await refresh(second.cookie)).status).toBe(401);
  });

  test('a logout with a token ends the session of a client without cookies', async () => {
    const { token, cookie } = await signIn(ann);
    await app.data('/auth/logout', { method: 'POST', token });
    expect(await statusFor(token)).toBe(401);
    expect(await session(cookie)).toBeNull();
    // A second logout is no error.
    expect(await app.data('/auth/logout', { method: 'POST', token })).toEqual({ ok: true });
  });

  test('a logout without a session is no error', async () => {
    expect(await app.data('/auth/logout', { method: 'POST' })).toEqual({ ok: true });
  });
});

describe('signing in again', () => {
  test('a login begins a new session and ends this browser’s earlier one, also of another user', async () => {
    const first = await signIn(ann);
    const again = await app.call('/auth/login', {
      body: { email: ben.email, password: testPassword },
      headers: { cookie: first.cookie },
    });
    const second = signedInBy(again, '');
    expect(second.cookie).not.toBe(first.cookie);
    expect(await statusFor(first.token)).toBe(401);
    expect((await session(second.cookie))?.user.id).toBe(ben.userId);
    expect(await audited('session.ended', ann.userId)).toContainEqual({ reason: 'replaced' });
  });

  test('a login with a wrong password ends no session', async () => {
    const { cookie, token } = await signIn(ann);
    const refused = await app.call('/auth/login', {
      body: { email: ann.email, password: 'Wrong-pass-1' },
      headers: { cookie },
    });
    expect(refused.status).toBe(401);
    expect(await statusFor(token)).toBe(200);
  });
});

describe('the sessions of a user', () => {
  test('the list of sessions names their browsers and marks the current one', async () => {
    const person = await app.signUp();
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    now += 1000;
    const { token } = await signIn(person, { remembered: true, device: firefox });
    const rows = await sessions(token);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toEqual({
      id: expect.stringMatching(/^ses_[0-9a-z]{26}$/) as string,
      current: true,
      device: 'Firefox on Linux',
      address: '192.0.2.7',
      method: 'password',
      remembered: true,
      created_at: new Date(now).toISOString(),
      last_used_at: new Date(now).toISOString(),
      expires_at: new Date(now + 7 * day).toISOString(),
    });
    expect(rows[1]).toMatchObject({ current: false, method: 'signup', remembered: false });
  });

  test('a user can end single sessions, and those of other users are not found', async () => {
    const mine = await signIn(ann);
    const other = await signIn(ann);
    const path = `/auth/sessions/${await currentId(other.token)}`;
    const theirs = await app.call(path, { method: 'DELETE', token: ben.token });
    expect(theirs.status).toBe(404);
    expect(await statusFor(other.token)).toBe(200);
    const ended = await app.call(path, { method: 'DELETE', token: mine.token });
    expect(await ended.json()).toEqual({ data: { id: path.split('/').at(-1), deleted: true } });
    expect(ended.headers.get('set-cookie')).toBeNull();
    expect(await statusFor(other.token)).toBe(401);
    const again = await app.call(path, { method: 'DELETE', token: mine.token });
    const never = await app.call('/auth/sessions/ses_none', {
      method: 'DELETE',
      token: mine.token,
    });
    expect([again.status, never.status]).toEqual([404, 404]);
  });

  test('a session that ends itself is logged out', async () => {
    const { token } = await signIn(ann);
    const path = `/auth/sessions/${await currentId(token)}`;
    const response = await app.call(path, { method: 'DELETE', token });
    expect(response.status).toBe(200);
    expect(response.headers.get('set-cookie')).toMatch(cleared);
    expect(await statusFor(token)).toBe(401);
  });

  test('a user can end all sessions except the current one', async () => {
    const person = await app.signUp();
    const [kept, other] = [await signIn(person), await signIn(person)];
    const answer = await app.data('/auth/sessions/end-others', {
      method: 'POST',
      token: kept.token,
    });
    expect(answer).toEqual({ ended: 2 });
    expect(await statusFor(kept.token)).toBe(200);
    for (const { token } of [other, person]) expect(await statusFor(token)).toBe(401);
    expect(await statusFor(ben.token)).toBe(200);
    expect(await audited('session.ended', person.userId)).toEqual([
      { reason: 'others-ended', count: 2 },
    ]);
  });

  test('a caller without a session gets no list of sessions', async () => {
    for (const [method, path] of [
      ['GET', '/auth/sessions'],
      ['DELETE', '/auth/sessions/ses_none'],
      ['POST', '/auth/sessions/end-others'],
      ['POST', '/auth/reauthenticate'],
    ] as const)
      expect((await app.call(path, { method })).status).toBe(401);
  });
});

describe('POST /auth/reauthenticate', () => {
  async function reauthenticate(token: string, password: string): Promise<Response> {
    return app.call('/auth/reauthenticate', { token, body: { password } });
  }

  test('a reauthentication takes the user’s password and records the time', async () => {
    const { token } = await signIn(ann);
    now += hour;
    const fresh = await session((await signIn(ann)).cookie);
    expect(await statusFor(token)).toBe(401);
    const response = await reauthenticate(fresh?.token ?? '', testPassword);
    expect(await response.json()).toEqual({ data: { ok: true } });
    const id = await currentId(fresh?.token ?? '');
    const { rows } = await app.database.pool.query<{ authenticated_at: Date }>(
      'select authenticated_at from sessions where id = $1',
      [id],
    );
    expect(rows[0]?.authenticated_at.getTime()).toBe(now);
    now -= hour;
  });

  test('a reauthentication refuses a wrong password, and the session does not end', async () => {
    const { token } = await signIn(ann);
    const response = await reauthenticate(token, 'Wrong-pass-1');
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: 'wrong-password' });
    expect(await statusFor(token)).toBe(200);
    expect(await audited('login.refused', ann.userId)).toContainEqual({ reason: 'wrong-password' });
  });

  test('a reauthentication says when the account has no password', async () => {
    const person = await app.signUp();
    await app.database.pool.query('update users set password_hash = null where id = $1', [
      person.userId,
    ]);
    const response = await reauthenticate(person.token, testPassword);
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: 'no-password' });
  });

  test('reauthentications are limited by user', async () => {
    const limited = await createTestApp({ env: { RATE_LIMITS: 'password=2/m' } });
    try {
      const { token } = await limited.signUp();
      const statuses: number[] = [];
      for (const password of ['Wrong-pass-1', 'Wrong-pass-2', testPassword])
        statuses.push(
          (await limited.call('/auth/reauthenticate', { token, body: { password } })).status,
        );
      expect(statuses).toEqual([403, 403, 429]);
    } finally {
      await limited.close();
    }
  });
});

describe('a stream', () => {
  const ends: [string, (held: SignedIn, person: Person) => Promise<unknown>][] = [
    [
      'is ended by the user elsewhere',
      async ({ token }, person) => {
        const { token: other } = await signIn(person);
        const path = `/auth/sessions/${await currentId(token)}`;
        return app.data(path, { method: 'DELETE', token: other });
      },
    ],
    [
      'ends with all others',
      async (_held, person) => {
        const { token } = await signIn(person);
        return app.data('/auth/sessions/end-others', { method: 'POST', token });
      },
    ],
    [
      'was refreshed with a used cookie',
      async ({ cookie }) => {
        await refresh((await refresh(cookie)).cookie);
        return refresh(cookie);
      },
    ],
    [
      'has expired',
      async () => {
        now += day;
      },
    ],
    [
      'makes room for an eleventh',
      async (_held, person) => {
        now += minute;
        for (let count = 0; count < 10; count += 1) await signIn(person);
        now -= minute;
      },
    ],
    [
      'is of an account that is being erased',
      async (_held, { userId }) =>
        app.database.pool.query('update users set erasing_at = now() where id = $1', [userId]),
    ],
    [
      'is of an account that is gone',
      async (_held, { userId }) =>
        app.database.pool.query('delete from users where id = $1', [userId]),
    ],
  ];

  test('the sessions of open streams are checked more than once a second', () => {
    expect(liveLimits.sessionsEveryMs).toBeLessThan(1000);
  });

  test.each(ends)('a stream is closed when its session %s', async (_how, end) => {
    const before = now;
    const person = await app.signUp();
    const held = await signIn(person);
    let isOver = false;
    const { hearing } = await nowListeningTo(app, { token: held.token, enough: () => false });
    const ending = hearing.finally(() => {
      isOver = true;
    });
    await sleep(50);
    expect(isOver).toBe(false);
    await end(held, person);
    expect((await ending).at(-1)).toMatchObject({ event: 'bye', data: { reason: 'session' } });
    expect((await app.call('/stream', { token: held.token })).status).toBe(401);
    now = before;
  });
});

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
    'Chrome on Windows',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
    'Safari on iPhone',
  ],
  [
    'Mozilla/5.0 (Linux; Android 16; Pixel 10) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
    'Chrome on Android',
  ],
  ['curl/8.14.1', 'curl'],
  // What stands further on is not read.
  [`${'Version/1.'.repeat(50)} Safari/1 Firefox/1`, ''],
  ['<script>alert(1)</script>', ''],
  ['', ''],
  [undefined, ''],
])('%s is called %j', (userAgent, device) => {
  expect(deviceOf(userAgent)).toBe(device);
});

test('no log line and no entry of the audit table holds a password, a token or an address', async () => {
  const { rows } = await app.database.pool.query<{ row: string }>(
    'select to_jsonb(a)::text as row from audit_log a',
  );
  const kept = [...app.logged, ...rows.map(({ row }) => row)].join('\n');
  for (const secret of [testPassword, 'Wrong-pass-1', ann.email, 'sf_refresh', 'eyJ', '192.0.2.7'])
    expect(kept).not.toContain(secret);
});
