import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionReply, User } from '#services/identity/contract/session.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

const ann = { name: 'Ann Other', email: 'Ann@Example.com', password: testPassword };

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
  for (const secret of [ann.password, 'ann@example.com', 'eyJ']) expect(log).not.toContain(secret);
});
