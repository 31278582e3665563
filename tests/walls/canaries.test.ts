import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '#services/platform/process/log.ts';
import { mailedToken, openBrowser } from '#tests/identity/browser.ts';
import type { Answer, TestBrowser } from '#tests/identity/browser.ts';
import { tracesOf } from '#tests/identity/erasure/traces.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { deliverMails } from '#tests/support/mail.ts';
import { give, issueToken } from '#tests/support/processes/service.ts';

/**
 * One user goes through every flow, with valid and invalid input. Afterwards the test searches the log, the
 * refusals and every row of every table for values that must not be kept.
 */
let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ env: { REQUIRE_EMAIL_CONFIRMATION: 'true' } });
  here = watchedBrowser();
  elsewhere = watchedBrowser();
});
afterAll(async () => app.close());

/** Must not appear in any log, refusal, job, audit entry or other row. */
const secrets = new Set<string>();
const refusals: string[] = [];

function secret(text: string): string {
  secrets.add(text);
  return text;
}

const person = {
  name: 'Canary Quillfeather',
  email: 'canary.quillfeather@example.com',
  nextEmail: 'canary.moved@example.com',
  password: secret('Canary-Passphrase-One-71'),
  nextPassword: secret('Canary-Passphrase-Two-82'),
  lastPassword: secret('Canary-Passphrase-Three-93'),
  wrongPassword: secret('Canary-Wrong-Guess-64'),
  keyName: 'Canary program of the lighthouse',
};
const question = {
  challenge: secret('Canary challenge: shall we sell the lighthouse?'),
  context: secret('Canary context: it has not been lit for years.'),
  objectives: [secret('Canary objective: keep the lamp')],
  constraints: [secret('Canary constraint: no demolition')],
  files: [{ name: secret('Canary-file.csv'), text: secret('Canary file: oil, 4 barrels') }],
  strategy: 'ultra-economy',
};

/** A browser that remembers what it was given as secrets, and what it was refused. */
function watchedBrowser(): TestBrowser {
  const browser = openBrowser(app);
  const watched = <Data>(answer: Answer<Data>): Answer<Data> => {
    if (answer.status >= 400) refusals.push(answer.text);
    for (const value of browser.cookies.values()) secret(value);
    for (const [token] of answer.text.matchAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g)) secret(token);
    return answer;
  };
  return {
    cookies: browser.cookies,
    post: async <Data>(path: string, body?: object, token?: string) =>
      watched(await browser.post<Data>(path, body, token)),
    get: async <Data>(path: string, token?: string) =>
      watched(await browser.get<Data>(path, token)),
  };
}

type Session = { token: string; user: { id: string } };
let here: TestBrowser;
let elsewhere: TestBrowser;

async function link(kind: string, email: string, browser = here): Promise<string> {
  const token = secret(await mailedToken(app, email, kind === 'undo' ? 'email-changed' : kind));
  const { data, status } = await browser.post<{ redirect: string }>(`/auth/links/${kind}`, {
    token,
  });
  // A repeat, which is refused.
  await browser.post(`/auth/links/${kind}`, { token });
  return status === 200 ? data.redirect : '';
}

async function exchange(redirect: string): Promise<Session> {
  const [, after = ''] = redirect.split(/[#?]/);
  const pair = new URLSearchParams(after);
  const body = {
    access_token: secret(pair.get('access_token') ?? ''),
    refresh_token: secret(pair.get('refresh_token') ?? ''),
  };
  await elsewhere.post('/auth/exchange', body);
  const { data } = await here.post<Session>('/auth/exchange', body);
  await here.post('/auth/exchange', body);
  return data;
}

function ticketOf(redirect: string): string {
  return secret(redirect.split('#')[1] ?? '');
}

async function signUpAndConfirm(): Promise<void> {
  const { name, email, password } = person;
  const { data } = await here.post<{ pending_token: string }>('/auth/signup', {
    name,
    email,
    password,
  });
  await here.post('/auth/signup', { name, email, password });
  await here.post('/auth/signup', { name, email: `${email}@`, password: `${password}\u0000` });
  await here.post('/auth/login', { email, password });
  await here.post('/auth/resend-confirmation', { pending_token: secret(data.pending_token) });
  await exchange(await link('confirm', email));
}

async function wrongWaysIn(): Promise<void> {
  const { email, wrongPassword } = person;
  await here.post('/auth/login', { email, password: wrongPassword });
  await here.post('/auth/login', { email: `nobody.${email}`, password: wrongPassword });
  await here.post('/auth/login', { email: wrongPassword, password: email });
  await here.post('/auth/links/confirm', { token: secret(randomBytes(32).toString('base64url')) });
  await here.post('/auth/password/reset', {
    token: secret(randomBytes(32).toString('base64url')),
    password: wrongPassword,
  });
  await here.get(
    '/users/me',
    secret(`eyJhbGciOiJub25lIn0.${randomBytes(30).toString('base64url')}.x`),
  );
  for (const value of ['sf_refresh', 'sf_nonce'])
    elsewhere.cookies.set(value, secret(randomBytes(32).toString('base64url')));
  await elsewhere.post('/auth/refresh');
}

async function linksOfEveryKind(): Promise<void> {
  const { email, nextPassword } = person;
  await here.post('/auth/magic-link', { email, redirect: '/credits' });
  await exchange(await link('magic', email));
  const verifier = secret(randomBytes(40).toString('base64url'));
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  await here.post('/auth/magic-link', { email, code_challenge, code_challenge_method: 'S256' });
  const code = secret(/code=([\w-]+)/.exec(await link('magic', email))?.[1] ?? '');
  await here.post('/auth/exchange', { code, code_verifier: `${verifier}x` });
  await here.post('/auth/exchange', { code, code_verifier: verifier });
  await here.post('/auth/exchange', { code, code_verifier: verifier });
  await here.post('/auth/password/reset-request', { email });
  await elsewhere.post('/auth/links/reset', { token: await mailedToken(app, email, 'reset') });
  const ticket = ticketOf(await link('reset', email));
  await here.post('/auth/password/reset', { token: ticket, password: 'short' });
  await here.post('/auth/password/reset', { token: ticket, password: nextPassword });
  await here.post('/auth/password/reset', { token: ticket, password: nextPassword });
}

async function theSession(): Promise<Session> {
  const { email, nextPassword: password } = person;
  const { data } = await here.post<Session>('/auth/login', { email, password, remember_me: true });
  const old = here.cookies.get('sf_refresh') ?? '';
  await here.post('/auth/refresh');
  await here.get('/auth/session');
  await here.get('/auth/sessions', data.token);
  await here.post('/auth/sessions/end-others', {}, data.token);
  await here.post('/auth/reauthenticate', { password: person.wrongPassword }, data.token);
  await here.post('/auth/reauthenticate', { password }, data.token);
  // Two steps back: this token can only have been stolen.
  await here.post('/auth/refresh');
  const thief = watchedBrowser();
  thief.cookies.set('sf_refresh', old);
  await thief.post('/auth/refresh');
  return (await here.post<Session>('/auth/login', { email, password })).data;
}

async function theAccount({ token }: Session): Promise<Session> {
  const { email, nextEmail, nextPassword, lastPassword, wrongPassword } = person;
  await app.call('/users/me', { method: 'PATCH', token, body: { name: person.name } });
  await app.call('/users/me', { method: 'PATCH', token, body: { name: `${person.name}\u0000` } });
  await here.post('/auth/email/change', { email: nextEmail, password: wrongPassword }, token);
  await here.post('/auth/email/change', { email: nextEmail, password: nextPassword }, token);
  await link('email', nextEmail);
  await link('undo', email, elsewhere).then(async (redirect) =>
    elsewhere.post('/auth/password/reset', { token: ticketOf(redirect), password: lastPassword }),
  );
  const body = { email, password: lastPassword };
  const { data } = await here.post<Session>('/auth/login', body);
  const change = { current_password: lastPassword, new_password: wrongPassword };
  await here.post(
    '/auth/password/change',
    { ...change, current_password: wrongPassword },
    data.token,
  );
  await here.post('/auth/password/change', change, data.token);
  await here.get('/users/me/export', data.token);
  return data;
}

/** A key that is created, used where it may and where it may not, and revoked. */
async function theKey({ token }: Session): Promise<void> {
  const request = { name: person.keyName, scopes: ['read'], monthly_cap: 10 };
  await here.post('/api-keys', { ...request, scopes: [person.keyName] }, token);
  const { data } = await here.post<{ id: string; key: string }>('/api-keys', request, token);
  const key = secret(data.key);
  expect((await here.get('/optimizations', key)).status).toBe(200);
  await here.get(`/optimizations?api_key=${key}`, token);
  await here.get(`/optimizations/${key}`, token);
  await here.post('/optimizations', question, key);
  await here.get('/users/me', key);
  await here.post('/api-keys', { ...request, name: key }, key);
  await here.get('/optimizations', secret(`${key.slice(0, -2)}xx`));
  await app.call(`/api-keys/${data.id}`, { method: 'DELETE', token, body: {} });
  await here.get('/optimizations', key);
}

async function aRun({ token, user }: Session): Promise<void> {
  await give(app, user.id, 50);
  const call = async (path: string, body?: object) => {
    const response = await app.call(path, { method: 'POST', token, ...(body ? { body } : {}) });
    if (!response.ok) refusals.push(await response.text());
    return response;
  };
  await call('/optimizations', { ...question, strategy: question.challenge });
  const answer = await call('/optimizations', question);
  const { data } = (await answer.json()) as { data: { id: string } };
  await call(`/optimizations/${data.id}/process`, { canary: question.challenge });
  await call(`/optimizations/${data.id}/process`);
  await call(`/optimizations/${data.id}/cancel`);
  await call(`/optimizations/${data.id}/process`);
  await call('/optimizations/check', { challenge: question.challenge });
  await call('/optimizations/estimate', {
    strategy: 'balanced',
    challengeText: question.challenge,
  });
  const service = await issueToken(app);
  await app.call('/credits/consume', {
    token: secret(service.secret),
    key: 'canary-consumption',
    body: { user_id: user.id, credits: 1, reason: secret('Canary reason of a service') },
  });
}

/** Uses a missing mail server, which the log reports. */
async function theMails(): Promise<void> {
  const log = createLog({
    level: 'trace',
    process: 'worker',
    destination: { write: (line) => void app.logged.push(line) },
  });
  await deliverMails(app.core, { smtpUrl: 'smtp://127.0.0.1:1' }, { log });
}

function withAny(texts: readonly string[], wanted: Iterable<string>): string[] {
  return [...wanted].filter((each) => texts.some((text) => text.includes(each)));
}

test('no log, refusal, job or row holds passwords, tokens or texts of people', async () => {
  await signUpAndConfirm();
  await wrongWaysIn();
  await linksOfEveryKind();
  const session = await theAccount(await theSession());
  await theKey(session);
  await aRun(session);
  await theMails();
  await app.call('/users/me', { method: 'DELETE', token: session.token, body: {} });
  await app.settled();

  expect(secrets.size).toBeGreaterThan(45);
  expect(refusals.length).toBeGreaterThan(20);
  expect(app.logged.length).toBeGreaterThan(60);
  const identifying = [person.name, person.email, person.nextEmail, person.keyName];
  const all = [...secrets, ...identifying];
  expect(withAny(app.logged, all)).toEqual([]);
  expect(withAny(refusals, all)).toEqual([]);

  const { ownerPool } = app.database;
  const rowsOf = async (table: string) =>
    (
      await ownerPool.query<{ row: string }>(`select to_jsonb(t)::text as row from ${table} t`)
    ).rows.map(({ row }) => row);
  const [jobs, audit] = [await rowsOf('graphile_worker._private_jobs'), await rowsOf('audit_log')];
  expect(jobs.length).toBeGreaterThan(0);
  const actions = audit.map((row) => (JSON.parse(row) as { action: string }).action);
  // Every flow really ran.
  expect([...new Set(actions)].toSorted()).toEqual([
    'account.created',
    'account.erasure-asked',
    'account.exported',
    'address.changed',
    'address.confirmed',
    'address.restored',
    'api-key.created',
    'api-key.revoked',
    'link.asked',
    'link.refused',
    'link.used',
    'login.refused',
    'password.changed',
    'password.removed',
    'password.reset',
    'session.ended',
    'session.refreshed-twice',
    'session.started',
  ]);
  expect(withAny([...jobs, ...audit], all)).toEqual([]);
  // Neither in these nor anywhere else: tokens as hashes, passwords as hashes, texts sealed.
  expect(await tracesOf(ownerPool, [...secrets])).toEqual([]);
  const known = await tracesOf(ownerPool, identifying);
  expect([...new Set(known.map(({ table }) => table))].toSorted()).toEqual([
    'public.api_key',
    'public.auth_link',
    'public.users',
  ]);
});
