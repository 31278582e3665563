import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { give } from '#tests/support/processes/service.ts';
import { createSlowCouncil } from '#tests/support/slow/council.ts';

/** Whole runs at an Ollama, which answers one call at a time. */
let council: Awaited<ReturnType<typeof createSlowCouncil>>;

beforeAll(async () => {
  council = await createSlowCouncil({ tokensPerSecond: 40_000, factor: 1 });
});
afterAll(async () => council.close());

/** When each call began, ISO 8601 UTC. */
function begins({ council: view }: Optimization): string[] {
  return Object.values(view.calls).flatMap(({ attempts }) =>
    Object.values(attempts).map(({ startedAt }) => startedAt ?? ''),
  );
}

test(
  'two runs complete one after the other, and Ollama never has two calls at once',
  { tags: ['long'] },
  async () => {
    const person = await council.signUp();
    await give(council, person.userId, 20);
    const start = async (challenge: string) =>
      council.start(person, { challenge, challenge_type: 'other', strategy: 'fast' });
    const started = [await start('Lease or buy the van?'), await start('Sell the old van now?')];
    const runs = await Promise.all(started.map(({ id }) => council.ended(person, id)));
    for (const run of runs) {
      expect(run).toMatchObject({ status: 'completed', simulated: false });
      expect(run.models.map(({ status }) => status)).toEqual(run.models.map(() => 'completed'));
    }
    const [earlier = [], later = []] = runs.map((run) => begins(run).toSorted());
    expect(earlier.length).toBeGreaterThanOrEqual(18);
    expect(earlier.at(-1)! < later[0]!).toBe(true);
    expect(council.provider.mostAtOnce()).toBe(1);
  },
);
