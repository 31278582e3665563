import { afterAll, beforeAll, expect, test } from 'vitest';
import { eraseAccount } from '#services/identity/erasure/erasure.ts';
import { beginSession } from '#services/identity/sessions/sessions.ts';
import { sweepUnconfirmed } from '#services/identity/accounts/unconfirmed.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { erasureOf } from '#services/core.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ env: { REQUIRE_EMAIL_CONFIRMATION: 'true' } });
});
afterAll(async () => app.close());

/** A user who signed up this many days ago and has not confirmed. */
async function signedUp(daysAgo: number): Promise<string> {
  const email = `${newId('usr')}@example.com`;
  await app.data('/auth/signup', { body: { name: 'Ann Other', email, password: testPassword } });
  const { rows } = await app.database.pool.query<{ id: string }>(
    'update users set created_at = now() - make_interval(days => $2) where email = $1 returning id',
    [email, daysAgo],
  );
  return rows[0]?.id ?? '';
}

/** A run from a time when confirmation was not required. */
async function ranOnce(userId: string): Promise<void> {
  const { rows } = await app.database.pool.query<{ email: string }>(
    'update users set email_confirmed_at = now() where id = $1 returning email',
    [userId],
  );
  const login = { email: rows[0]?.email, password: testPassword };
  const { token } = await app.data<{ token: string }>('/auth/login', { body: login });
  await app.data('/optimizations', {
    token,
    key: newId('opt'),
    body: {
      challenge: 'Should the observatory charge an entrance fee?',
      objectives: ['Eleven hundred visitors'],
      constraints: [],
      challenge_type: 'other',
      strategy: 'fast',
    },
  });
  await app.database.pool.query('update users set email_confirmed_at = null where id = $1', [
    userId,
  ]);
  await app.database.pool.query('update sessions set revoked_at = now() where user_id = $1', [
    userId,
  ]);
}

async function asked(): Promise<string[]> {
  const { rows } = await app.database.ownerPool.query<{ subject: string }>(
    `select subject from audit_log
     where actor = 'system:unconfirmed' and action = 'account.erasure-asked'`,
  );
  return rows.map(({ subject }) => subject);
}

test('only an account that was neither confirmed nor used for thirty days is erased', async () => {
  const { pool } = app.database;
  const old = await signedUp(31);
  await signedUp(29);
  const confirmed = await signedUp(31);
  await pool.query('update users set email_confirmed_at = now() where id = $1', [confirmed]);
  const paid = await signedUp(31);
  await app.core.ledger.give({
    userId: paid,
    credits: 5,
    source: 'other',
    reason: 'operator',
    actor: 'operator:test',
    commandId: uuidV5(paid, 'given'),
  });
  const signedIn = await signedUp(31);
  await beginSession(
    pool,
    { userId: signedIn, method: 'password', remembered: false, device: '', address: '' },
    new Date(),
  );
  const busy = await signedUp(31);
  await ranOnce(busy);
  expect(await sweepUnconfirmed(app.core)).toBe(1);
  expect(await asked()).toEqual([old]);
  expect(await sweepUnconfirmed(app.core)).toBe(0);
  await app.database.pool.query(`update mail set status = 'sent', sealed = null`);
  expect(await eraseAccount(erasureOf(app.core), old)).toBe('erased');
});
