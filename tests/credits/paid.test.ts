import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readStream } from '#db/streams.ts';
import { readAccount } from '#projections/credit-account.ts';
import { findPaidLot } from '#projections/paid-lot.ts';
import { creditAccount } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import { recordedCreditEvents, replay } from '#services/credits/audit/replay.ts';
import { createCommandBus } from '#services/platform/command.ts';
import type { CommandBus } from '#services/platform/command.ts';
import { derivedId, newId, uuidV5 } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/process/log.ts';
import { ledgerOf } from './ledger.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { creditStream } from '#services/credits/account/events.ts';

let db: TestDatabase;
let bus: CommandBus;
let ledger: Ledger;
let userId: string;
const now = Date.UTC(2026, 10, 25);
const paidAt = '2026-11-20T08:00:00.000Z';

beforeAll(async () => {
  db = await createTestDatabase({ max: 8 });
  bus = createCommandBus({
    pool: db.pool,
    functionName: db.functionName,
    clock: () => now,
    log: createLog({ level: 'silent', process: 'test' }),
  });
  ledger = ledgerOf(db.pool, bus, () => now);
});
beforeEach(() => {
  userId = newId('usr');
});
afterAll(async () => {
  await bus.close();
  await db.drop();
});

async function buy(credits = 20, key = `pi:${newId('pur')}`) {
  return ledger.grantPurchase({
    userId,
    purchaseId: `pur_of_${key}`,
    paymentKey: key,
    packageId: 'boost-20',
    credits,
    paidMinor: credits * 50,
    currency: 'usd',
    paidAt,
    actor: 'test',
  });
}

async function consume(credits: number): Promise<AccountState> {
  const command: CreditCommand = {
    type: 'Consume',
    consumptionId: newId('con'),
    credits,
    sealed: { note: 'v1.a.b.c' },
  };
  const { state } = await bus.execute(
    creditAccount,
    {
      streamId: creditStream(userId),
      command,
      commandId: uuidV5(command.consumptionId),
      actor: 'test',
      correlationId: 'test',
    },
    'job',
  );
  return state;
}

async function clawback(lotId: string, wanted: number, owes = true): Promise<AccountState> {
  const of = { userId, lotId, ref: 'dp_1', cause: 'dispute' } as const;
  return ledger.setClawback({ ...of, wanted, owes, actor: 'test' });
}

async function ask(lotId: string, refundId: string) {
  const requestedAt = '2026-11-21T08:00:00.000Z';
  return ledger.requestRefund({
    userId,
    lotId,
    refundId,
    requestedAt,
    reason: 'customer',
    actor: 'test',
  });
}

async function end(refundId: string, outcome: 'confirmed' | 'failed'): Promise<AccountState> {
  const at = '2026-11-22T08:00:00.000Z';
  return ledger.endRefund({
    userId,
    refundId,
    outcome,
    providerRefundId: 're_1',
    at,
    actor: 'test',
  });
}

async function eventTypes(): Promise<string[]> {
  const { events } = await readStream(db.pool, creditStream(userId));
  expect(replay(userId, recordedCreditEvents(events)).differences).toEqual([]);
  return events.map(({ type }) => type);
}

async function jobs(pattern: string): Promise<unknown[]> {
  const { rows } = await db.ownerPool.query<{ task: string; payload: unknown }>(
    `select job.key, job.task_identifier as task, private.payload
     from graphile_worker.jobs job
     join graphile_worker._private_jobs private on private.id = job.id
     where job.key like $1 order by job.key`,
    [pattern],
  );
  return rows.map(({ task, payload }) => [task, payload]);
}

describe('purchases', () => {
  test('a purchase is granted once, however often it is reported', async () => {
    const key = `pi:${newId('pur')}`;
    const answers = await Promise.all(Array.from({ length: 30 }, async () => buy(20, key)));
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(new Set(answers.map(({ lotId }) => lotId))).toEqual(new Set([derivedId('lot', key)]));
    expect(await eventTypes()).toEqual(['CreditsGranted']);
    expect((await buy(20, key)).state.balance.available).toBe(20);
    expect(await findPaidLot(db.pool, { paymentKey: key })).toMatchObject({
      userId,
      packageId: 'boost-20',
      paidMinor: 1000,
      grantedAt: paidAt,
    });
    expect(await jobs(`${answers[0]?.lotId}%`)).toEqual([
      ['check-payment', { userId, lotId: answers[0]?.lotId }],
      ['mail-receipt', { userId, lotId: answers[0]?.lotId }],
    ]);
  });

  test('a purchase with other figures under a known payment is refused', async () => {
    const key = `pi:${newId('pur')}`;
    await buy(20, key);
    await expect(buy(50, key)).rejects.toMatchObject({ status: 409 });
  });

  test('a purchase of a payment that another account has is refused in words', async () => {
    const key = `pi:${newId('pur')}`;
    await buy(20, key);
    userId = newId('usr');
    await expect(buy(20, key)).rejects.toMatchObject({ status: 409, code: 'lot-exists' });
    expect((await ledger.readAccount(userId)).lots).toEqual([]);
  });

  test('a purchase into a closed account is granted and asked back in one commit', async () => {
    await buy(5);
    await ledger.close({ userId, reason: 'erasure', actor: 'test' });
    const { lotId, state } = await buy(20);
    const refundId = derivedId('ref', lotId);
    expect(state.refunds[refundId]).toMatchObject({
      lotId,
      credits: 20,
      amountMinor: 1000,
      requestedAt: new Date(now).toISOString(),
    });
    expect(state.balance).toMatchObject({ available: 5, refundPending: 20 });
    expect(await jobs(`${refundId}%`)).toEqual([['send-refund', { userId, refundId }]]);
  });
});

describe('clawbacks', () => {
  test('a clawback may be repeated and may arrive several times at once', async () => {
    const { lotId } = await buy();
    await consume(12);
    await Promise.all([clawback(lotId, 20), clawback(lotId, 20), clawback(lotId, 20)]);
    const state = await clawback(lotId, 20);
    expect(state.balance).toMatchObject({ available: 0, revoked: 8, debt: 12 });
    expect(await eventTypes()).toEqual([
      'CreditsGranted',
      'CreditsConsumed',
      'ClawbackSet',
      'LotRevoked',
      'DebtIncurred',
    ]);
  });

  test('a clawback that comes back to what it was is done again', async () => {
    const { lotId } = await buy();
    for (const wanted of [20, 0, 20, 0]) await clawback(lotId, wanted);
    expect((await clawback(lotId, 20)).balance).toMatchObject({ available: 0, revoked: 20 });
  });

  test('a clawback is carried out completely, in as many commands as it takes', async () => {
    const { lotId } = await buy(40);
    await consume(40);
    await clawback(lotId, 40);
    for (let index = 0; index < 40; index += 1) await buy(1);
    const settled = await ledger.readAccount(userId);
    expect(settled.balance).toMatchObject({ available: 0, debt: 0, revoked: 40 });
    const won = await clawback(lotId, 0);
    expect(won.balance).toMatchObject({ available: 40, debt: 0, revoked: 0, consumed: 40 });
    expect(won.settlements).toEqual([]);
    expect((await eventTypes()).filter((type) => type === 'DebtSettlementReversed')).toHaveLength(
      40,
    );
  });

  test('a clawback on an unknown lot is refused', async () => {
    await expect(clawback('lot_unknown', 1)).rejects.toMatchObject({ status: 404 });
  });
});

describe('refunds', () => {
  test('a refund is requested once, and names its amount', async () => {
    const { lotId } = await buy(20);
    await consume(7);
    const refundId = newId('ref');
    const asked = { refundId, lotId, credits: 13, amountMinor: 650, currency: 'usd' };
    expect(await Promise.all([ask(lotId, refundId), ask(lotId, refundId)])).toEqual([asked, asked]);
    expect(await ask(lotId, refundId)).toEqual(asked);
    await expect(ask(lotId, newId('ref'))).rejects.toMatchObject({
      code: 'refund-not-possible',
      extras: { members: { reason: 'pending' } },
    });
    expect(await eventTypes()).toEqual([
      'CreditsGranted',
      'CreditsConsumed',
      'CashRefundRequested',
    ]);
  });

  test('a refund ends as reported, a repeat changes nothing, and a later report can change its end', async () => {
    const { lotId } = await buy(20);
    const refundId = newId('ref');
    await ask(lotId, refundId);
    const outcomes = ['confirmed', 'confirmed', 'failed', 'failed', 'confirmed', 'failed'] as const;
    const seen = [];
    for (const outcome of outcomes) {
      const { balance, refunds } = await end(refundId, outcome);
      seen.push([refunds[refundId]?.status, balance.available, balance.refunded, balance.revoked]);
    }
    expect(seen).toEqual([
      ['confirmed', 0, 20, 0],
      ['confirmed', 0, 20, 0],
      ['failed', 20, 0, 0],
      ['failed', 20, 0, 0],
      ['confirmed', 0, 0, 20],
      ['failed', 20, 0, 0],
    ]);
    expect(await readAccount(db.pool, userId)).toMatchObject({ available: 20, refunded: 0 });
    await eventTypes();
    await expect(end(newId('ref'), 'failed')).rejects.toMatchObject({ code: 'unknown-refund' });
  });

  test('a refund that failed long after it was paid gives back more than one command can', async () => {
    const { lotId } = await buy(40);
    const refundId = newId('ref');
    await ask(lotId, refundId);
    await end(refundId, 'failed');
    await consume(40);
    await end(refundId, 'confirmed');
    for (let index = 0; index < 40; index += 1) await buy(1);
    const { balance } = await end(refundId, 'failed');
    expect(balance).toMatchObject({ available: 40, debt: 0, revoked: 0, consumed: 40 });
  });
});
