import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startListening } from '#db/listen.ts';
import type { Listener } from '#db/listen.ts';
import { projections } from '#projections/index.ts';
import { startProjectionRunner } from '#projections/engine/run.ts';
import type { Runner } from '#projections/engine/run.ts';
import type { Usage } from '#services/optimizations/contract/panel.ts';
import { newId } from '#services/platform/ids.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { give } from '#tests/support/processes/service.ts';
import { nowListeningTo } from './client.ts';
import type { Heard } from './client.ts';

let app: TestApp;
let listener: Listener;
let runner: Runner | undefined;

beforeAll(async () => {
  app = await createTestApp();
  listener = startListening({ url: app.database.appUrl });
});
afterAll(async () => {
  await runner?.close();
  await listener.close();
  await app.close();
});

function startReadModels(): void {
  const { database, core } = app;
  runner = startProjectionRunner({
    url: database.appUrl,
    pool: core.pool,
    projections,
    wake: listener.onWake,
  });
}

async function hold(userId: string): Promise<void> {
  const month = new Date().toISOString().slice(0, 7);
  const runId = newId('opt');
  await app.core.ledger.reserve({ userId, runId, credits: 1, month, limit: 5, actor: userId });
}

async function runsOf({ token }: Person): Promise<number> {
  return (await app.data<Usage>('/optimizations/usage', { token })).current_month;
}

const isStale = (heard: Heard) => heard.event === 'stale';

async function listening(person: Person, until: (heard: Heard) => boolean) {
  const { token } = person;
  return nowListeningTo(app, { token, enough: until, timeoutMs: 60_000 });
}

test('only a user whose figures have changed is notified, once the new figures can be read', async () => {
  const [ann, bob, zoe] = [await app.signUp(), await app.signUp(), await app.signUp()];
  for (const { userId } of [ann, bob, zoe]) await give(app, userId, 10);
  // Sets the place up to which the read models have read.
  startReadModels();
  await hold(zoe.userId);
  await expect.poll(() => runsOf(zoe), { timeout: 30_000 }).toBe(1);
  await runner?.close();

  let isRead = false;
  let isEarly = false;
  const { hearing: annHears } = await listening(ann, (heard) => {
    isEarly ||= isStale(heard) && !isRead;
    return isStale(heard);
  });
  const { hearing: bobHears } = await listening(bob, ({ data }) => data['version'] === 2);
  await hold(ann.userId);
  // Longer than the interval of the check.
  await sleep(1_500);
  isRead = true;
  startReadModels();
  const heard = await annHears;
  expect(isEarly).toBe(false);
  expect(heard.filter(isStale)).toEqual([
    { event: 'stale', id: undefined, data: { name: 'run_usage' } },
  ]);
  expect(await runsOf(ann)).toBe(1);
  await hold(bob.userId);
  expect((await bobHears).filter(isStale)).toEqual([]);
});
