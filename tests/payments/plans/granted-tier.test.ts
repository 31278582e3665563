import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { userCommands } from '#services/cli/users.ts';
import { sweepPlans } from '#services/payments/plans/sweep.ts';
import { runHere } from '#tests/cli/in-process.ts';
import type { Person } from '#tests/support/app.ts';
import { createPlanShop, day } from './plan-shop.ts';
import type { PlanShop } from './plan-shop.ts';

let shop: PlanShop;
const env = { MONTHLY_LIMITS: 'free:1,pro:3,scale:-1' };

beforeAll(async () => {
  vi.stubEnv('SUDO_USER', 'olga');
  shop = await createPlanShop();
});
afterEach(async () => shop.endPlans());
afterAll(async () => {
  vi.unstubAllEnvs();
  await shop.close();
});

async function setTier({ email }: Person, tier: string, ...more: string[]) {
  const words = ['users', 'set-tier', email, tier, '--reason', 'Ticket 7', ...more];
  return runHere(shop, userCommands, words, env);
}

test('users set-tier gives a tier, shows the change of the limit, and is audited', async () => {
  const person = await shop.newPerson();
  const { code, out } = await setTier(person, 'scale');
  expect(code).toBe(0);
  expect(out).toContain('The tier was free and is scale.');
  expect(out).toContain('1 before, unlimited now');
  expect(await shop.planOf(person)).toMatchObject({ tier: 'scale', monthly_limit: -1, plan: null });
  expect(await shop.data('/users/me', { token: await shop.tokenOf(person) })).toMatchObject({
    subscription_tier: 'scale',
  });
  expect(await shop.audited(person, 'tier.granted')).toEqual([
    { from: 'free', to: 'scale', granted_before: null, reason: 'Ticket 7' },
  ]);
  expect(JSON.parse((await setTier(person, 'free', '--json')).out)).toEqual({
    id: person.userId,
    from: 'scale',
    to: 'free',
    paid_tier: null,
    bonus_runs: { before: -1, now: 1 },
  });
  expect(await shop.tierOf(person)).toBe('free');
});

test('a granted tier survives the sweeps of a plan, and the end of that plan', async () => {
  const person = await shop.subscriber();
  const { out } = await setTier(person, 'scale');
  expect(out).toContain('The paid plan for pro continues and is charged as before.');
  await shop.renew(person);
  await sweepPlans(shop.payments);
  expect(await shop.tierOf(person)).toBe('scale');
  await shop.act(person, { action: 'cancel' });
  await shop.toPeriodEnd(person);
  await shop.deliver();
  shop.move(8 * day);
  await sweepPlans(shop.payments);
  expect((await shop.planOf(person)).plan?.status).toBe('ended');
  expect(await shop.tierOf(person)).toBe('scale');
  expect((await setTier(person, 'free')).code).toBe(0);
  expect(await shop.tierOf(person)).toBe('free');
});

test('users set-tier never lowers what a paid plan brings', async () => {
  const person = await shop.subscriber('empire-builder');
  const { code, said } = await setTier(person, 'pro');
  expect([code, said]).toEqual([1, expect.stringMatching(/^A paid plan brings scale until 202/)]);
  expect((await setTier(person, 'free')).code).toBe(1);
  expect(await shop.tierOf(person)).toBe('scale');
  expect((await setTier(person, 'scale')).out).toContain('When it ends, scale stays.');
});

test('users set-tier requires a known tier and a reason without personal data', async () => {
  const person = await shop.newPerson();
  await expect(setTier(person, 'gold')).rejects.toThrow('must be one of: free, pro, scale');
  const named = ['users', 'set-tier', person.email, 'pro', '--reason', `for ${person.email}`];
  await expect(runHere(shop, userCommands, named, env)).rejects.toThrow(UsageError);
});
