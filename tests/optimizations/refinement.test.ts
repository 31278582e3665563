import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import type { Person } from '#tests/support/app.ts';

const question = {
  challenge: 'Should I sell my course as a subscription, or keep the one-time price?',
  challenge_type: 'product',
  strategy: 'economy',
};
let council: TestCouncil;
let person: Person;
beforeAll(async () => {
  council = await createTestCouncil();
  person = await council.signUp();
  await council.core.ledger.give({
    userId: person.userId, credits: 1000, source: 'other', reason: 'operator', actor: 'test',
    commandId: uuidV5(person.userId, 'rich'),
  });
});
afterAll(async () => council.close());
test('try', async () => {
  const root = await council.ask(person, question);
  console.log(root.status, root.result?.heading, root.result?.decision, root.refinable, root.credits);
  const claim = Object.entries(root.council.ledger!.claims).find(([, c]) => c.importance === 3)![0];
  const r = await council.data<Optimization>(`/optimizations/${root.id}/refine`, { token: person.token, body: { changed_fact: 'My customers pay twice as much.', claim_id: claim } });
  console.log(r.status, r.refines, r.credits);
  const ended = await council.ended(person, r.id);
  console.log(ended.status, ended.ended_because, ended.result, ended.models[0], ended.refinable, ended.refinements.length, ended.credits);
  console.log(council.logged.filter((l) => /"level":[45]0/.test(l)).slice(0, 5));
});
