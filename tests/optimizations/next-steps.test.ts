import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';

let council: TestCouncil;
let person: Person;
let run: Optimization;

const question = 'Should I sell my course as a subscription, or keep the one-time price?';

beforeAll(async () => {
  council = await createTestCouncil();
  person = await council.signUp();
  await council.core.ledger.give({
    userId: person.userId,
    credits: 10,
    source: 'other',
    reason: 'operator',
    actor: 'test',
    commandId: uuidV5(person.userId, 'ticks'),
  });
  run = await council.ask(person, { challenge: question, strategy: 'fast' });
});
afterAll(async () => council.close());

async function tick(
  index: number | string,
  done: unknown,
  { id, by }: { id?: string; by?: Person } = {},
) {
  const response = await council.call(`/optimizations/${id ?? run.id}/next-steps/${index}`, {
    method: 'PUT',
    token: (by ?? person).token,
    body: { done },
  });
  return [response.status, ((await response.json()) as { code?: string }).code ?? 'ok'];
}

async function ticked(): Promise<boolean[]> {
  const read = await council.data<Optimization>(`/optimizations/${run.id}`, {
    token: person.token,
  });
  return (read.result?.next_steps ?? []).map(({ done }) => done);
}

test('a step of a result can be ticked and unticked, and a repeat changes nothing', async () => {
  const none = run.result!.next_steps.map(() => false);
  expect(none.length).toBeGreaterThan(1);
  expect(await ticked()).toEqual(none);
  for (const done of [true, true, false, false, true]) {
    expect(await tick(1, done)).toEqual([200, 'ok']);
    expect(await ticked()).toEqual(none.with(1, done));
  }
});

test('only the owner ticks a step, and only a step that the result has', async () => {
  const stranger = await council.signUp();
  const { id } = await council.data<Optimization>('/optimizations', {
    token: person.token,
    body: { challenge: question, strategy: 'fast' },
  });
  expect(await tick(0, true, { by: stranger })).toEqual([404, 'not-found']);
  expect(await tick(99, true)).toEqual([404, 'not-found']);
  for (const index of ['-1', 'first', '1.5'])
    expect(await tick(index, true)).toEqual([400, 'validation']);
  expect(await tick(0, 'yes')).toEqual([400, 'validation']);
  expect(await tick(0, true, { id })).toEqual([409, 'no-result']);
});
