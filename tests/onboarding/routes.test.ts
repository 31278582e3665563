import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { erasureOf } from '#services/core.ts';
import type { Transaction } from '#services/credits/contract.ts';
import { eraseAccount } from '#services/identity/erasure/erasure.ts';
import { mailboxOf } from '#services/platform/mail/mailbox-of.ts';
import { emptyAnswers } from '#services/onboarding/contract.ts';
import type { Onboarding, OnboardingRequest } from '#services/onboarding/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { answers } from './answers.ts';
import { testPassword } from '#tests/support/password.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

const read = async ({ token }: Person) => app.data<Onboarding>('/onboarding', { token });
const save = async ({ token }: Person, change: Partial<OnboardingRequest> = {}) =>
  app.call('/onboarding', { method: 'PUT', token, body: { ...answers, ...change } });
const post = async ({ token }: Person, what: 'activate' | 'complete') =>
  app.data<Onboarding>(`/onboarding/${what}`, { method: 'POST', token, body: {} });

async function signedUp(email: string): Promise<Person> {
  const { token, user } = await app.data<{ token: string; user: { id: string } }>('/auth/signup', {
    body: { name: 'A Person', email, password: testPassword },
  });
  return { token, userId: user.id, email };
}

async function confirm({ userId }: Person): Promise<void> {
  await app.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
    userId,
  ]);
}

async function confirmed(email?: string): Promise<Person> {
  const person = email === undefined ? await app.signUp() : await signedUp(email);
  await confirm(person);
  return person;
}

const history = async ({ token }: Person) =>
  (await app.data<Transaction[]>('/credits/history', { token })).map(
    ({ transaction_type: type, description, amount }) => [type, description, amount],
  );
const bonusLine = ['bonus', 'Onboarding bonus', 50];

describe('the answers', () => {
  test('a person who never began is at stage 1 with nothing answered', async () => {
    const ann = await app.signUp();
    expect(await read(ann)).toMatchObject({
      ...emptyAnswers,
      userId: ann.userId,
      version: 0,
      wasteAnalysis: null,
      creditsActivated: false,
      completedAt: null,
    });
  });

  test('saved answers come back with their stages and the waste analysis, on any device', async () => {
    const ann = await app.signUp();
    expect((await save(ann)).status).toBe(200);
    const { version: _version, ...kept } = answers;
    const stored = await read(ann);
    expect(stored).toMatchObject({ ...kept, version: 1 });
    expect(stored.wasteAnalysis).toMatchObject({
      annualWaste: 520,
      dollarValueWaste: 260_000,
      opportunityCost: 130_000,
      competitiveRisk: 'CRITICAL',
    });
    expect(stored.stages.map(({ id, completed }) => [id, completed])).toEqual([
      ['audit', true],
      ['challenge', true],
      ['demonstration', true],
      ['activation', false],
    ]);
  });

  test('of two tabs that save from one version, the second is refused, and a repeat of the first is not', async () => {
    const ann = await app.signUp();
    const [one, other] = await Promise.all([
      save(ann, { selectedChallenge: 'market-expansion' }),
      save(ann, { selectedChallenge: 'acquisition-targets' }),
    ]);
    expect(new Set([one.status, other.status])).toEqual(new Set([200, 409]));
    const refused = (await (one.status === 409 ? one : other).json()) as { code: string };
    expect(refused).toMatchObject({ code: 'onboarding-changed', version: 1 });
    const { selectedChallenge } = await read(ann);
    expect((await save(ann, { selectedChallenge })).status).toBe(200);
    expect((await read(ann)).version).toBe(1);
  });

  test.each([
    ['auditData.orchestrationHours', 169],
    ['auditData.orchestrationHours', -1],
    ['auditData.orchestrationHours', 1.5],
    ['auditData.monthlySpend', -20],
    ['auditData.lostDeals', '3'],
    ['auditData.revenueLevel', '500k'],
    ['auditData.businessType', 'bakery'],
    ['auditData.competitivePressure', 'yes'],
    ['auditData.aiSubscriptions.0', 'A pocket calculator'],
    ['selectedChallenge', 'world-peace'],
    ['currentStage', 5],
    ['version', null],
  ])('a refusal names %s when it is %j', async (field, value) => {
    const ann = await app.signUp();
    const body = structuredClone(answers) as Record<string, unknown>;
    const names = field.split('.');
    const last = names.pop()!;
    const holder = names.reduce((part, name) => part[name] as Record<string, unknown>, body);
    holder[last] = value;
    const response = await app.call('/onboarding', { method: 'PUT', token: ann.token, body });
    const { errors } = (await response.json()) as { errors: { field: string }[] };
    expect([response.status, errors.map((error) => error.field)]).toEqual([400, [field]]);
  });

  test('168 hours a week are taken, and so are no answers at all', async () => {
    const ann = await app.signUp();
    const auditData = { ...answers.auditData, orchestrationHours: 168 };
    expect((await save(ann, { auditData })).status).toBe(200);
    expect((await save(ann, { ...emptyAnswers, version: 1 })).status).toBe(200);
    expect((await read(ann)).wasteAnalysis).toBeNull();
  });

  test('a demonstration names a run of one’s own, and stays when that run is deleted', async () => {
    const [ann, bob] = [await app.signUp(), await app.signUp()];
    const { id } = await app.data<Optimization>('/optimizations', {
      token: ann.token,
      body: {
        challenge: 'Can we charge more?',
        strategy: 'ultra-economy',
        challenge_type: 'marketing',
      },
    });
    const demonstration = { kind: 'run', run_id: id } as const;
    expect((await save(bob, { demonstration })).status).toBe(404);
    expect((await save(ann, { demonstration })).status).toBe(200);
    expect((await read(ann)).demonstration).toEqual({
      ...demonstration,
      status: 'pending',
      finished: false,
    });
    await app.call(`/optimizations/${id}`, { method: 'DELETE', token: ann.token });
    expect((await read(ann)).demonstration).toMatchObject({ status: null });
    expect((await save(ann, { version: 1, demonstration, currentStage: 4 })).status).toBe(200);
  });

  test('an answer that this release does not know is asked again, the others stay, and the export holds it', async () => {
    const ann = await app.signUp();
    await save(ann);
    const { version: _version, ...kept } = answers;
    const older = {
      ...kept,
      auditData: { ...answers.auditData, businessType: 'bakery', pets: 3 },
      selectedChallenge: 'world-peace',
    };
    await app.database.pool.query('update onboarding set sealed = $2 where user_id = $1', [
      ann.userId,
      await app.core.sealer.seal(
        ann.userId,
        { stream: `onboarding-${ann.userId}`, field: 'answers' },
        JSON.stringify(older),
      ),
    ]);
    expect(await read(ann)).toMatchObject({
      ...kept,
      auditData: { ...answers.auditData, businessType: null },
      selectedChallenge: null,
    });
    const { tables } = await app.data<{ tables: Record<string, object[]> }>('/users/me/export', {
      token: ann.token,
    });
    expect(tables['onboarding']).toEqual([{ version: 1, ...older }]);
    expect((await save(ann, { version: 1 })).status).toBe(200);
    expect(await read(ann)).toMatchObject({ ...kept, version: 2 });
  });

  test('answers are sealed where they are stored, exported in full, and gone with the account', async () => {
    const ann = await app.signUp();
    await save(ann);
    const { rows } = await app.database.pool.query<{ sealed: string }>(
      'select sealed from onboarding where user_id = $1',
      [ann.userId],
    );
    expect(rows[0]?.sealed).not.toContain('agency');
    const { tables } = await app.data<{ tables: Record<string, object[]> }>('/users/me/export', {
      token: ann.token,
    });
    expect(tables['onboarding']).toMatchObject([{ version: 1, auditData: answers.auditData }]);
    await app.core.pool.query('update users set erasing_at = now() where id = $1', [ann.userId]);
    await eraseAccount(erasureOf(app.core), ann.userId);
    const left = await app.database.pool.query('select from onboarding where user_id = $1', [
      ann.userId,
    ]);
    expect(left.rowCount).toBe(0);
  });
});

describe('completing', () => {
  test('completion grants the bonus once, names it in the history, and keeps the first time', async () => {
    const ann = await confirmed();
    expect((await read(ann)).bonus).toEqual({ credits: 50, worth_usd: 25, state: 'available' });
    const [one] = await Promise.all([
      post(ann, 'complete'),
      post(ann, 'complete'),
      post(ann, 'activate'),
    ]);
    expect(one).toMatchObject({ creditsActivated: true, bonus: { credits: 50, state: 'granted' } });
    const again = await post(ann, 'complete');
    expect(again.completedAt).toBe(one.completedAt);
    expect(await history(ann)).toEqual([bonusLine]);
    const profile = await app.data<{ onboarding_completed_at: string }>('/users/me', {
      token: ann.token,
    });
    expect(profile.onboarding_completed_at).toBe(one.completedAt);
    expect(again.stages.at(-1)).toMatchObject({ id: 'activation', completed: true });
  });

  test('the bonus can be activated before the end, to pay for a real run', async () => {
    const ann = await confirmed();
    expect(await post(ann, 'activate')).toMatchObject({
      creditsActivated: true,
      completedAt: null,
    });
    await post(ann, 'complete');
    expect(await history(ann)).toEqual([bonusLine]);
  });

  test('without a confirmed address the onboarding completes, and the bonus waits for the confirmation', async () => {
    const ann = await app.signUp();
    const completed = await post(ann, 'complete');
    expect(completed.completedAt).not.toBeNull();
    expect(completed.bonus.state).toBe('needs-confirmed-email');
    expect(await history(ann)).toEqual([]);
    await app.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
      ann.userId,
    ]);
    expect((await post(ann, 'activate')).bonus.state).toBe('granted');
  });

  test('a second account with another spelling of the mailbox gets no second bonus, and learns it once its address is confirmed', async () => {
    await post(await confirmed('ada.lovelace@gmail.com'), 'complete');
    const second = await signedUp('adalovelace+two@googlemail.com');
    expect((await read(second)).bonus.state).toBe('needs-confirmed-email');
    await confirm(second);
    expect((await post(second, 'complete')).bonus.state).toBe('already-given');
    expect(await history(second)).toEqual([]);
  });

  test('a grant that ended after its claim is given by the next request', async () => {
    const ann = await confirmed();
    const failing = vi
      .spyOn(app.core.ledger, 'give')
      .mockRejectedValueOnce(new Error('The process ended'));
    const failed = await app.call('/onboarding/complete', {
      method: 'POST',
      token: ann.token,
      body: {},
    });
    failing.mockRestore();
    expect(failed.status).toBe(500);
    expect((await read(ann)).bonus.state).toBe('available');
    expect((await post(ann, 'complete')).bonus.state).toBe('granted');
    expect(await history(ann)).toEqual([bonusLine]);
  });

  test('an operator who set no bonus gives none', async () => {
    const none = await createTestApp({ env: { ONBOARDING_BONUS_CREDITS: '0' } });
    try {
      const { token } = await none.signUp();
      const completed = await none.data<Onboarding>('/onboarding/complete', {
        method: 'POST',
        token,
        body: {},
      });
      expect(completed.bonus).toEqual({ credits: 0, worth_usd: null, state: 'off' });
      expect(await none.data('/credits/history', { token })).toEqual([]);
    } finally {
      await none.close();
    }
  });
});

test.each([
  ['Ann@Example.com', 'ann@example.com'],
  ['ann+shop@example.com', 'ann@example.com'],
  ['a.nn@example.com', 'a.nn@example.com'],
  ['A.N.N+1@googlemail.com', 'ann@gmail.com'],
])('%s is the mailbox %s', (email, mailbox) => {
  expect(mailboxOf(email)).toBe(mailbox);
});
