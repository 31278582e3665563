import { afterAll, beforeAll, expect, test } from 'vitest';
import { give } from '#tests/support/processes/service.ts';
import { createSlowCouncil } from '#tests/support/slow/council.ts';

/** Whole runs at a provider that answers one call at a time. */
let council: Awaited<ReturnType<typeof createSlowCouncil>>;

beforeAll(async () => {
  council = await createSlowCouncil({
    strategy: 'fast',
    tokensPerSecond: 40_000,
    secondsPerCall: 120,
    factor: 1,
  });
});
afterAll(async () => council.close());

test('two runs that begin together complete, and the provider never has two calls at once', async () => {
  const person = await council.signUp();
  await give(council, person.userId, 20);
  const ask = async (challenge: string) =>
    council.ask(person, { challenge, challenge_type: 'other', strategy: 'fast' });
  const runs = await Promise.all([ask('Lease or buy the van?'), ask('Sell the old van now?')]);
  for (const run of runs) {
    expect(run).toMatchObject({ status: 'completed', simulated: false });
    expect(run.models.map(({ status }) => status)).toEqual(run.models.map(() => 'completed'));
  }
  expect(council.provider.calls.length).toBeGreaterThanOrEqual(36);
  expect(council.provider.mostAtOnce()).toBe(1);
});
