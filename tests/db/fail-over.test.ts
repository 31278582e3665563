import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBalance } from '#projections/credit-account.ts';
import { openCore } from '#services/core.ts';
import type { Core } from '#services/core.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { readEnv } from '#services/platform/process/env.ts';
import { createLog } from '#services/platform/process/log.ts';
import { temporaryFolder } from '#tests/support/processes/processes.ts';
import { startPair } from '#tests/support/processes/standby.ts';
import type { Pair } from '#tests/support/processes/standby.ts';

/** One writer; `npm run proof` has the whole application under load (`tests/proof/fail-over.test.ts`). */
const folder = temporaryFolder();
let pair: Pair;

beforeAll(async () => {
  pair = await startPair(folder.path);
}, 120_000);
afterAll(async () => {
  await (pair as Pair | undefined)?.[Symbol.asyncDispose]();
  folder.remove();
});

async function openWriter(resources: AsyncDisposableStack): Promise<Core> {
  const env = readEnv({
    DATABASE_URL: pair.appUrl,
    DATA_DIR: join(folder.path, 'app'),
    DATA_KEY: randomBytes(32).toString('base64'),
    SANDBOX_URL: 'http://127.0.0.1:1',
  });
  const log = createLog({ level: 'silent', process: 'test' });
  return openCore('test', { env, log, resources }, 4);
}

test('no acknowledged command is lost or repeated when a standby takes over, and the epoch changes', async () => {
  await using resources = new AsyncDisposableStack();
  const core = await openWriter(resources);
  const userId = newId('usr', Date.now());
  const epoch = await core.epoch.current();
  const begun = performance.now();
  let [given, refused] = [0, 0];
  /** Repeats a command until it is acknowledged, as a job does. */
  const give = async (credits: number) => {
    for (;;)
      try {
        return await core.ledger.give({
          userId,
          credits: 1,
          source: 'other',
          reason: 'operator',
          actor: 'operator:test',
          commandId: uuidV5(userId, String(credits)),
        });
      } catch {
        refused += 1;
      }
  };
  const over = new AbortController();
  const writing = (async () => {
    while (!over.signal.aborted) {
      await give(given + 1);
      given += 1;
    }
  })();
  await expect.poll(() => given).toBeGreaterThan(20);
  await pair.killPrimary();
  const atDeath = given;
  // The proxy may lead to a standby before it takes over: such connections are refused.
  pair.switchOver();
  await expect.poll(() => refused).toBeGreaterThan(0);
  await pair.promote();
  await expect.poll(() => given).toBeGreaterThan(atDeath + 20);
  over.abort();
  await writing;
  console.info(`${atDeath} before, ${given} after ${Math.round(performance.now() - begun)} ms`);
  expect(await readBalance(core.pool, userId)).toMatchObject({ available_credits: given });
  expect(await core.epoch.current()).not.toBe(epoch);
});
