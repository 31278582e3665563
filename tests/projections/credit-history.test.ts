import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as v from 'valibot';
import { describe as inWords, readHistory } from '#projections/credit-history.ts';
import { packageName } from '#services/payments/catalogue.ts';
import { creditAccount } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { History } from '#services/credits/contract.ts';
import { createCommandBus } from '#services/platform/command.ts';
import type { CommandBus } from '#services/platform/command.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { creditStream } from '#services/credits/account/events.ts';

let db: TestDatabase;
let bus: CommandBus;
let userId: string;
let nowMs = Date.UTC(2026, 10, 20, 8);

beforeAll(async () => {
  db = await createTestDatabase();
  bus = createCommandBus({
    pool: db.pool,
    functionName: db.functionName,
    clock: () => nowMs,
    log: createLog({ level: 'silent', process: 'test' }),
  });
});
beforeEach(() => {
  userId = newId('usr');
});
afterAll(async () => {
  await bus.close();
  await db.drop();
});

async function send(...commands: CreditCommand[]): Promise<void> {
  for (const command of commands) {
    nowMs += 1000;
    await bus.execute(
      creditAccount,
      {
        streamId: creditStream(userId),
        command,
        commandId: uuidV5(userId, JSON.stringify(command)),
        actor: 'test',
        correlationId: 'test',
      },
      'job',
    );
  }
}

type Grant = Extract<CreditCommand, { type: 'Grant' }>;

function grant(lotId: string, credits: number, more: Partial<Grant> = {}): Grant {
  return {
    type: 'Grant',
    lotId,
    credits,
    source: 'other',
    paidMinor: null,
    currency: null,
    paymentKey: null,
    grantedAt: '2026-11-20T08:00:00.000Z',
    reason: 'operator',
    ...more,
  };
}

const bought: Partial<Grant> = {
  source: 'purchase',
  paidMinor: 1000,
  currency: 'usd',
  paymentKey: 'pi:1',
  purchaseId: 'pur_1',
  reason: 'boost-20',
};
const reserve = (runId: string, credits: number): CreditCommand => ({
  type: 'Reserve',
  runId,
  credits,
  month: '2026-11',
  limit: -1,
});
const capture = (runId: string, credits: number, refund: number): CreditCommand => ({
  type: 'Settle',
  runId,
  settlement: { kind: 'capture', capture: credits, refund },
});

async function lines(limit = 50) {
  const history = await readHistory(db.pool, userId, { limit }, packageName);
  return history.map(({ transaction }) => transaction);
}

describe('histories', () => {
  test('a history shows each line’s type, signed amount, reason and the balance after it, newest first', async () => {
    await send(
      grant('lot_1', 20, bought),
      grant('lot_2', 5, { source: 'bonus', reason: 'onboarding' }),
      reserve('opt_1', 14),
      capture('opt_1', 14, 7),
      {
        type: 'SetClawback',
        lotId: 'lot_1',
        ref: 'dp_1',
        cause: 'dispute',
        wanted: 20,
        owes: true,
      },
    );
    const found = await lines();
    expect(
      found.map((line) => [
        line.transaction_type,
        line.reason_code,
        line.amount,
        line.balance_after,
        line.description,
        line.run_id ?? line.purchase_id ?? line.lot_id,
      ]),
    ).toEqual([
      ['other', 'debt', -2, -2, 'Owed: used credits from a disputed payment: Boost 20', 'pur_1'],
      ['other', 'dispute', -18, 0, 'Credits from a disputed payment: Boost 20', 'pur_1'],
      ['refund', 'run_return', 7, 18, 'Optimization run: credits returned', 'opt_1'],
      ['consumption', 'run', -14, 11, 'Optimization run', 'opt_1'],
      ['bonus', 'bonus', 5, 25, 'Onboarding bonus', 'lot_2'],
      ['purchase', 'purchase', 20, 20, 'Purchase: Boost 20', 'pur_1'],
    ]);
    expect(v.parse(History, found)).toEqual(found);
  });

  test('a history shows refunds, and disputes that were won after their debt was paid', async () => {
    const refund = { refundId: 'ref_1', lotId: 'lot_a' };
    const at = '2026-11-22T00:00:00.000Z';
    const dispute = { type: 'SetClawback', lotId: 'lot_a', ref: 'dp_1', cause: 'dispute' } as const;
    await send(
      grant('lot_a', 20, { ...bought, paymentKey: 'pi:a' }),
      { type: 'RequestRefund', ...refund, requestedAt: at, reason: 'customer' },
      { type: 'EndRefund', refundId: 'ref_1', outcome: 'failed', providerRefundId: 're_1', at },
      reserve('opt_1', 14),
      capture('opt_1', 14, 0),
      { ...dispute, wanted: 20, owes: true },
      grant('lot_b', 10, { ...bought, paymentKey: 'pi:b', reason: 'boost-50' }),
      { ...dispute, wanted: 0, owes: true },
    );
    const found = (await lines()).toReversed();
    expect(found.map((line) => [line.reason_code, line.amount, line.description])).toEqual([
      ['purchase', 20, 'Purchase: Boost 20'],
      ['cash_refund', -20, 'Refund of unused credits: Boost 20'],
      ['cash_refund', 20, 'Refund failed, credits returned: Boost 20'],
      ['run', -14, 'Optimization run'],
      ['dispute', -6, 'Credits from a disputed payment: Boost 20'],
      ['debt', -14, 'Owed: used credits from a disputed payment: Boost 20'],
      ['purchase', 10, 'Purchase: Boost 50'],
      ['debt', 4, 'No longer owed: Boost 20'],
      ['debt', 10, 'Returned: credits that had settled what you owed: Boost 50'],
      ['dispute', 6, 'Dispute won, credits returned: Boost 20'],
    ]);
    expect(
      found.every((line) => ['purchase', 'consumption', 'other'].includes(line.transaction_type)),
    ).toBe(true);
    expect(found.at(-1)?.balance_after).toBe(16);
    expect(v.parse(History, found)).toEqual(found);
  });

  test('a history has no line for a hold or a release', async () => {
    await send(grant('lot_1', 20), reserve('opt_1', 14), {
      type: 'Settle',
      runId: 'opt_1',
      settlement: { kind: 'release' },
    });
    expect(await lines()).toHaveLength(1);
  });

  test('a history shows what a service used, and no line for the closing of the account', async () => {
    await send(
      grant('lot_1', 20),
      { type: 'Consume', consumptionId: 'con_1', credits: 3, sealed: { note: 'v1.a.b.c' } },
      { type: 'CloseAccount', reason: 'erasure' },
    );
    const [line, ...more] = await readHistory(db.pool, userId, { limit: 50 }, packageName);
    expect(more).toHaveLength(1);
    expect(line).toMatchObject({
      sealedNote: 'v1.a.b.c',
      transaction: {
        transaction_type: 'consumption',
        reason_code: 'service',
        amount: -3,
        balance_after: 17,
        description: 'Credits used by a connected service',
      },
    });
    expect(v.parse(History, await lines())).toHaveLength(2);
  });

  test('a history names the strategy of a run from the user’s own list of runs', async () => {
    const mine = newId('opt');
    const theirs = newId('opt');
    for (const [run, owner] of [
      [mine, userId],
      [theirs, 'usr_other'],
    ])
      await db.ownerPool.query(
        `insert into optimization_list (run_id, user_id, status, stage, answered, missing_seats,
           strategy, challenge_type, price, unpriced_calls, seats, simulated_seats, title, challenge, created_at, renamed, hidden, version)
         values ($1, $2, 'processing', 'opinions', 0, 0, 'reasoning-focused', 'other', 5, 0, 7, 0, '', '', '', false, false, 1)`,
        [run, owner],
      );
    await send(
      grant('lot_1', 20),
      reserve(mine, 5),
      capture(mine, 5, 0),
      reserve(theirs, 5),
      capture(theirs, 5, 0),
    );
    expect((await lines()).map(({ description }) => description)).toEqual([
      'Optimization run',
      'Reasoning Focused run',
      'Credits granted by the operator',
    ]);
  });

  test('a history is read page by page from any line on', async () => {
    const lots = Array.from({ length: 7 }, (_, index) => grant(`lot_${index}`, index + 1));
    await send(...lots);
    const all = await lines();
    const pages = [];
    let before: string | undefined;
    for (;;) {
      const page = await readHistory(db.pool, userId, { limit: 3, before }, packageName);
      if (page.length === 0) break;
      pages.push(page.map(({ transaction }) => transaction));
      before = page.at(-1)?.transaction.id;
    }
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
    expect(pages.flat()).toEqual(all);
  });

  test('a history shows nothing before a line of another user', async () => {
    await send(grant('lot_1', 5));
    const [theirs] = await lines();
    userId = newId('usr');
    await send(grant('lot_1', 5));
    expect(
      await readHistory(db.pool, userId, { limit: 50, before: theirs?.id }, packageName),
    ).toEqual([]);
  });

  test('a history returns an operator’s note sealed, and the time to the millisecond', async () => {
    nowMs = Date.UTC(2026, 10, 20, 9) + 122;
    await send(grant('lot_1', 5, { sealed: { note: 'v1.key.nonce.text' } }), grant('lot_2', 5));
    const history = await readHistory(db.pool, userId, { limit: 50 }, packageName);
    expect(history.map(({ sealedNote }) => sealedNote)).toEqual([null, 'v1.key.nonce.text']);
    expect(history[1]?.transaction.created_at).toBe('2026-11-20T09:00:01.122Z');
  });
});

describe('lines in words', () => {
  test.each([
    ['purchase', 'side-gig-builder', null, 'Purchase: Side-Gig Builder'],
    ['purchase', 'sold-no-longer', null, 'Purchase: sold-no-longer'],
    ['bonus', 'operator', null, 'Bonus credits'],
    ['grant', 'demo', null, 'Demo credits'],
    ['grant', 'trial', null, 'Trial credits'],
    ['grant', 'anything', null, 'Credits granted'],
    ['run', null, 'balanced', 'Balanced run'],
    ['run_return', null, 'ultra-economy', 'Ultra Economy run: credits returned'],
    ['cash_refund', null, null, 'Credits from a refunded payment'],
    ['cash_refund', 'reinstated', null, 'Payment not refunded after all, credits returned'],
    ['correction', 'reinstated', null, 'Correction, credits returned'],
    ['correction', null, null, 'Correction'],
    ['debt', 'cash_refund', null, 'Owed: used credits from a refunded payment'],
    ['debt', null, null, 'Credits owed'],
  ] as const)('%s of %s for %s reads "%s"', (reason_code, detail, strategy, words) => {
    expect(inWords({ reason_code, detail, strategy }, packageName)).toBe(words);
  });

  test.each([
    ['failed', 'Fast run failed: credits returned'],
    ['cancelled', 'Fast run canceled: credits returned'],
    ['completed', 'Fast run incomplete: credits returned'],
    ['processing', 'Fast run: credits returned'],
  ])('a line says why credits of a %s run came back: "%s"', (run_status, words) => {
    const line = { reason_code: 'run_return', detail: null, strategy: 'fast' } as const;
    expect(inWords({ ...line, run_status }, packageName)).toBe(words);
  });
});
