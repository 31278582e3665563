import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionReply, User } from '#services/identity/contract.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

const ann = { name: 'Ann Other', email: 'Ann@Example.com', password: 'Passw0rd-1' };

function cookieOf(response: Response): string {
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

test('a person signs up, is signed in at once, and signs in again in any case of letters', async () => {
  const signUp = await app.call('/auth/signup', { body: ann });
  expect(signUp.status).toBe(201);
  const { data } = (await signUp.json()) as { data: SessionReply };
  expect(data.user).toMatchObject({
    email: 'ann@example.com',
    name: 'Ann Other',
    subscription_tier: 'free',
    optimizations_used: 0,
    optimizations_limit: 5,
  });
  expect(data.access_token).toBe(data.token);
  const login = await app.data<SessionReply>('/auth/login', {
    body: { email: 'ANN@example.com', password: ann.password },
  });
  const me = await app.data<User>('/users/me', { token: login.token });
  expect(me.id).toBe(data.user.id);
});

test('an address is taken once, whatever its case', async () => {
  const again = await app.call('/auth/signup', { body: { ...ann, email: 'ANN@EXAMPLE.COM' } });
  expect(again.status).toBe(409);
  expect(await again.json()).toMatchObject({
    code: 'email-in-use',
    message: 'An account with this email already exists. Try signing in instead.',
  });
});

test.each([
  [{ ...ann, name: ' A ' }, 'name', 'Name must be at least 2 characters'],
  [{ ...ann, email: 'nowhere' }, 'email', 'Please enter a valid email address'],
  [{ ...ann, password: 'Short1' }, 'password', 'Password must be at least 8 characters'],
  [
    { ...ann, password: 'alllowercase1' },
    'password',
    'Password must contain at least one uppercase letter, one lowercase letter, and one number',
  ],
])('sign-up names the field that is wrong: %j', async (body, field, message) => {
  const response = await app.call('/auth/signup', { body });
  const text = await response.text();
  expect(response.status).toBe(400);
  expect(JSON.parse(text)).toMatchObject({ errors: [{ field, message }] });
  expect(text).not.toContain(body.password);
});

test('a wrong password and an unknown address get the same answer', async () => {
  const answers = await Promise.all(
    [
      { email: ann.email, password: 'Wrong-pass-1' },
      { email: 'nobody@example.com', password: 'Wrong-pass-1' },
    ].map(async (body) => {
      const response = await app.call('/auth/login', { body });
      const { request_id: _id, ...rest } = (await response.json()) as Record<string, unknown>;
      return { status: response.status, ...rest };
    }),
  );
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toMatchObject({
    status: 401,
    message: 'Login failed. Please check your credentials.',
  });
});

test('the cookie brings the session back after a reload, until logout', async () => {
  const login = await app.call('/auth/login', {
    body: { email: ann.email, password: ann.password, remember: true },
  });
  const setCookie = login.headers.get('set-cookie') ?? '';
  expect(setCookie).toMatch(/HttpOnly/);
  expect(setCookie).toMatch(/SameSite=Lax/);
  expect(setCookie).toMatch(/Max-Age=2592000/);
  const headers = { cookie: cookieOf(login) };
  const session = await app.data<SessionReply | null>('/auth/session', { headers });
  expect(session?.user.email).toBe('ann@example.com');
  const token = session?.token ?? '';
  expect((await app.call('/users/me', { token })).status).toBe(200);
  await app.data('/auth/logout', { method: 'POST', headers });
  expect(await app.data('/auth/session', { headers })).toBeNull();
  // A token of an ended session is worth nothing, although it has not expired.
  expect((await app.call('/users/me', { token })).status).toBe(401);
});

test('a session is not told to a page of another site', async () => {
  const response = await app.call('/auth/session', {
    headers: { 'sec-fetch-site': 'cross-site' },
  });
  expect(response.status).toBe(403);
});

test.each([
  ['nothing', undefined],
  ['no token', 'Bearer '],
  ['words', 'Bearer abc.def.ghi'],
  ['another scheme', 'Basic YWRtaW46YWRtaW4='],
  [
    'an unsigned token',
    `Bearer ${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${Buffer.from('{"sub":"usr_x"}').toString('base64url')}.`,
  ],
])('%s is no authentication', async (_what, authorization) => {
  const response = await app.call('/users/me', {
    headers: authorization === undefined ? {} : { authorization },
  });
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({ message: 'Authentication required' });
});

test('every answer carries a request id, and the log names it with the route, not the address', async () => {
  const response = await app.call('/users/me');
  const id = response.headers.get('x-request-id') ?? '';
  const problem = (await response.json()) as { request_id: string };
  expect(problem.request_id).toBe(id);
  const line = app.logged.find((one) => one.includes(id)) ?? '';
  expect(JSON.parse(line)).toMatchObject({
    request_id: id,
    route: '/api/users/me',
    status: 401,
    method: 'GET',
  });
});

test('no log line holds a password, a token or an address', () => {
  const log = app.logged.join('\n');
  for (const secret of [ann.password, 'Wrong-pass-1', 'ann@example.com', 'eyJ'])
    expect(log).not.toContain(secret);
});
