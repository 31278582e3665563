import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { creditAccount } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { CheckUsageReply } from '#services/credits/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { creditStream } from '#services/credits/account/events.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ env: { MONTHLY_LIMITS: 'free:2', DAILY_COST_LIMIT_USD: '5' } });
});
afterAll(async () => app.close());

async function order({ userId }: Person, command: CreditCommand): Promise<void> {
  await app.core.bus.execute(
    creditAccount,
    {
      streamId: creditStream(userId),
      command,
      commandId: randomUUID(),
      actor: 'test',
      correlationId: userId,
    },
    'http',
  );
}

/** One thing that can happen to an account, as payments, gifts, runs and the bank bring it about. */
type Step =
  | { kind: 'bonus' | 'other' | 'purchase'; credits: number }
  | { kind: 'run'; credits: number; end: 'open' | 'captured' | 'released' }
  | { kind: 'dispute'; credits: number }
  | { kind: 'close' };

const amount = fc.integer({ min: 1, max: 40 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom('bonus', 'other'), credits: amount }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('purchase'), credits: amount }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('run'),
      credits: amount,
      end: fc.constantFrom('open', 'captured', 'released'),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('dispute'), credits: amount }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'close' as const }) },
);

/** Random accounts rarely reach all of these. */
const eachRefusal: Step[][] = [
  [
    { kind: 'purchase', credits: 20 },
    { kind: 'run', credits: 6, end: 'captured' },
    { kind: 'dispute', credits: 20 },
  ],
  [
    { kind: 'bonus', credits: 20 },
    { kind: 'bonus', credits: 20 },
    { kind: 'bonus', credits: 20 },
    { kind: 'close' },
  ],
];

async function take(person: Person, step: Step, bought: string[]): Promise<void> {
  switch (step.kind) {
    case 'bonus':
    case 'other':
    case 'purchase': {
      const isPaid = step.kind === 'purchase';
      const lotId = newId('lot');
      if (isPaid) bought.push(lotId);
      return order(person, {
        type: 'Grant',
        lotId,
        credits: step.credits,
        source: step.kind,
        paidMinor: isPaid ? 500 : null,
        currency: isPaid ? 'usd' : null,
        paymentKey: isPaid ? `pi:${lotId}` : null,
        ...(isPaid ? { purchaseId: newId('pur') } : {}),
        grantedAt: new Date().toISOString(),
        reason: 'test',
      });
    }
    case 'run': {
      const runId = newId('opt');
      const month = new Date().toISOString().slice(0, 7);
      await order(person, { type: 'Reserve', runId, credits: step.credits, month, limit: 2 });
      if (step.end === 'open') return undefined;
      const settlement =
        step.end === 'released'
          ? ({ kind: 'release' } as const)
          : ({ kind: 'capture', capture: step.credits, refund: 0 } as const);
      return order(person, { type: 'Settle', runId, settlement });
    }
    case 'dispute': {
      const lotId = bought.at(-1);
      if (lotId === undefined) return undefined;
      const { credits: wanted } = step;
      return order(person, {
        type: 'SetClawback',
        lotId,
        ref: randomUUID(),
        cause: 'dispute',
        wanted,
        owes: true,
      });
    }
    case 'close':
      return order(person, { type: 'CloseAccount', reason: 'erasure' });
  }
}

/** The result of the check, and the response to a start at the same price. */
async function both({ token }: Person) {
  const run = await app.data<Optimization>('/optimizations', {
    token,
    body: { challenge: 'Lease or buy the van?', strategy: 'balanced' },
  });
  const check = await app.data<CheckUsageReply>('/credits/check-usage', {
    token,
    body: { required_credits: run.credits.price },
  });
  const started = await app.call(`/optimizations/${run.id}/process`, { method: 'POST', token });
  const body = (await started.json()) as { code?: string; message?: string };
  const refusal = started.ok
    ? null
    : { status: started.status, code: body.code, message: body.message };
  return { check, refusal };
}

test(
  'a usage check gives every account the answer that the start of a run then gives',
  { tags: ['long'] },
  async () => {
    const seen = new Set<string | undefined>();
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 6, maxLength: 12 }), async (steps) => {
        const person = await app.signUp();
        const bought: string[] = [];
        for (const step of steps) {
          // A refusal leaves the account unchanged; a run that starts is one more step.
          await take(person, step, bought).catch((error: unknown) => {
            if (!(error instanceof Problem)) throw error;
          });
          const { check, refusal } = await both(person);
          seen.add(refusal?.code);
          expect(check.has_sufficient_credits).toBe(refusal === null);
          expect(check.refusal).toEqual(refusal);
        }
      }),
      { numRuns: 10, examples: eachRefusal.map((steps): [Step[]] => [steps]) },
    );
    expect(seen).toEqual(
      new Set(['account-closed', 'debt', 'insufficient-credits', 'monthly-limit', undefined]),
    );
  },
);

test('a usage check says so while the service accepts no more runs today', async () => {
  const person = await app.signUp();
  await take(person, { kind: 'other', credits: 30 }, []);
  const { check, refusal } = await both(person);
  expect([check.has_sufficient_credits, refusal]).toEqual([true, null]);
  await app.database.ownerPool.query(
    `update optimization_list set started_at = $1, simulated_seats = 0, cost_micros = 5000000
     where user_id = $2`,
    [new Date().toISOString(), person.userId],
  );
  const paused = await both(person);
  expect(paused.refusal).toMatchObject({ status: 503, code: 'paused' });
  expect(paused.check.has_sufficient_credits).toBe(false);
  expect(paused.check.refusal).toEqual(paused.refusal);
});
