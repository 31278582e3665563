import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionReply } from '#services/identity/contract/session.ts';
import { demoEmail, prepareDemoAccount } from '#services/identity/accounts/demo.ts';
import { findUserByEmail } from '#services/identity/accounts/users.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

let app: TestApp;
let dataDir: string;
beforeAll(async () => {
  app = await createTestApp({ env: { REQUIRE_EMAIL_CONFIRMATION: 'true' } });
  dataDir = mkdtempSync(join(tmpdir(), 'sevenfold-demo-'));
});
afterAll(async () => {
  await app.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function prepare() {
  const { core } = app;
  return prepareDemoAccount({ ...core, dataDir });
}

test('the demo account exists once and can sign in although addresses must be confirmed', async () => {
  const [first, second] = await Promise.all([prepare(), prepare()]);
  expect(second).toEqual(first);
  const reply = await app.data<SessionReply>('/auth/login', { body: await prepare() });
  expect(reply.user).toMatchObject({ email: demoEmail, subscription_tier: 'free' });
  const balance = await app.data('/credits/balance', { token: reply.token });
  expect(balance).toMatchObject({ available_credits: 100 });
  const place = { stream: 'test', field: 'note' };
  expect(await app.core.sealer.seal(reply.user.id, place, 'A mail')).toMatch(/^v2\./);
});

test('a start continues without the demo account while that account is being deleted', async () => {
  await prepare();
  await app.database.pool.query('update users set erasing_at = now() where email = $1', [
    demoEmail,
  ]);
  const account = await findUserByEmail(app.core.pool, demoEmail);
  await app.core.sealer.eraseKey(account?.id ?? '');
  await expect(prepare()).resolves.toMatchObject({ email: demoEmail });
});
