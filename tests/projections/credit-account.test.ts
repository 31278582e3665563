import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cashRefund, readCashRefunds } from '#projections/cash-refund.ts';
import { creditAccountTable, readAccount, readBalance } from '#projections/credit-account.ts';
import { creditHistory, readHistory } from '#projections/credit-history.ts';
import { readLedger, readLedgerSums, readUnbalanced } from '#projections/credit-ledger.ts';
import { findPaidLot, paidLot } from '#projections/paid-lot.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { verify } from '#projections/engine/verify.ts';
import { readStoredStream } from '#db/streams.ts';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { balanceChange, postings, trialBalance } from '#services/credits/account/movements.ts';
import { recordedCreditEvents, replay, stateOf } from '#services/credits/audit/replay.ts';
import { createCommandBus } from '#services/platform/command.ts';
import type { CommandBus } from '#services/platform/command.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { anyLimit, anyLogs, anySteps, createBus, play } from '#tests/credits/ledger-model.ts';
import { applyTo, pages, stored } from '#tests/credits/tables.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import { creditStream } from '#services/credits/account/events.ts';

let db: TestDatabase;
let bus: CommandBus;
let client: pg.PoolClient;

beforeAll(async () => {
  db = await createTestDatabase({ max: 8 });
  bus = createCommandBus({
    pool: db.pool,
    functionName: db.functionName,
    clock: Date.now,
    log: createLog({ level: 'silent', process: 'test' }),
  });
  client = await db.ownerPool.connect();
});
afterAll(async () => {
  client.release();
  await bus.close();
  await db.drop();
});

function foldOf(log: readonly CreditEvent[]): AccountState {
  return log.reduce<AccountState>(evolve, initialState());
}

/** Sends a command as the routes and jobs do; a refusal is an answer. */
async function send(userId: string, commandId: string, command: CreditCommand): Promise<string> {
  try {
    const { repeated } = await bus.execute(
      creditAccount,
      {
        streamId: creditStream(userId),
        command,
        commandId: uuidV5(userId, commandId),
        fingerprint: fingerprintOf(command),
        actor: 'test',
        correlationId: 'test',
      },
      'job',
    );
    return repeated ? 'repeated' : 'done';
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

async function recorded(userId: string) {
  const { events } = await readStoredStream(db.pool, creditStream(userId));
  return recordedCreditEvents(events);
}

describe('statements over random pages', () => {
  // Not in a transaction: one that lasts holds up the readers of every database of the server.
  beforeEach(async () => {
    await client.query(creditAccountTable.create('account_of_test'));
    await client.query(creditHistory.create('history_of_test'));
    await client.query(paidLot.create('paid_of_test'));
    await client.query(cashRefund.create('refunds_of_test'));
  });
  afterEach(async () =>
    client.query('drop table account_of_test, history_of_test, paid_of_test, refunds_of_test'),
  );

  const anyCuts = fc.array(fc.nat({ max: 200 }), { maxLength: 4 });

  test('the statements give the account that evolve gives, and a history that sums to its balance', async () => {
    await fc.assert(
      fc.asyncProperty(anyLogs, anyCuts, async (logs, cuts) => {
        await client.query(
          'truncate account_of_test, history_of_test, paid_of_test, refunds_of_test',
        );
        const events = logs.flatMap((log, person) => stored(`usr_${person}`, log));
        for (const page of pages(events, cuts)) {
          await applyTo(client, creditAccountTable, 'account_of_test', page);
          await applyTo(client, creditHistory, 'history_of_test', page);
          await applyTo(client, paidLot, 'paid_of_test', page);
          await applyTo(client, cashRefund, 'refunds_of_test', page);
        }
        const accounts = await client.query<{ row: unknown }>(
          `select to_jsonb(a) as row from account_of_test a order by user_id`,
        );
        expect(accounts.rows.map(({ row }) => row)).toEqual(
          logs.flatMap((log, person) =>
            log.length === 0
              ? []
              : [{ user_id: `usr_${person}`, version: log.length, ...columnsOf(foldOf(log)) }],
          ),
        );
        const lines = await client.query<{ row: unknown }>(
          `select json_build_array(user_id, position, amount, balance_after) as row
           from history_of_test order by user_id, position`,
        );
        expect(lines.rows.map(({ row }) => row)).toEqual(
          logs.flatMap((log, person) => linesOf(`usr_${person}`, log)),
        );
        const paid = await client.query<{ row: unknown }>(
          `select json_build_array(user_id, lot_id, payment_key, purchase_id, credits, paid_minor,
             currency) as row from paid_of_test order by user_id, lot_id`,
        );
        expect(paid.rows.map(({ row }) => row)).toEqual(
          logs.flatMap((log, person) => paidLotsOf(`usr_${person}`, foldOf(log))),
        );
        const refunds = await client.query<{ row: unknown }>(
          `select json_build_array(user_id, refund_id, lot_id, status, credits, amount_minor,
             ended_at is null) as row from refunds_of_test order by user_id, refund_id`,
        );
        expect(refunds.rows.map(({ row }) => row)).toEqual(
          logs.flatMap((log, person) => refundsOf(`usr_${person}`, foldOf(log))),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('the statements refuse what would make a figure negative', async () => {
    const [granted] = stored('usr_1', [
      {
        type: 'CreditsReserved',
        data: {
          runId: 'opt_1',
          credits: 5,
          allocations: [],
          bonusMonth: null,
          balance: initialState().balance,
        },
      },
    ]);
    await expect(
      applyTo(client, creditAccountTable, 'account_of_test', granted ? [granted] : []),
    ).rejects.toMatchObject({ code: '23514' });
  });
});

describe('accounts that the command bus writes', () => {
  test('accounts that the command bus writes equal their events in every table, also when they are rebuilt', async () => {
    const people: string[] = [];
    await fc.assert(
      fc.asyncProperty(anySteps, anyLimit, async (steps, limit) => {
        const userId = newId('usr');
        people.push(userId);
        for (const { sent, answer } of play(steps, limit, createBus(), people.length)) {
          if (!sent || !answer) continue;
          const expected =
            answer.kind === 'refused'
              ? answer.code
              : answer.kind === 'done' && answer.repeated
                ? 'repeated'
                : 'done';
          expect(await send(userId, sent.commandId, sent.command)).toBe(expected);
        }
        const events = await recorded(userId);
        const state = stateOf(events);
        const account = await readAccount(db.pool, userId);
        expect(account).toEqual({ ...state.balance, version: events.length });
        const history = await readHistory(db.pool, userId, { limit: 200 }, String);
        const { available, held, debt } = state.balance;
        expect(history.reduce((sum, line) => sum + line.transaction.amount, 0)).toBe(
          available + held - debt,
        );
        expect(replay(userId, events)).toMatchObject({
          verified: true,
          differences: [],
          balance: state.balance,
        });
        const lines = await readLedger(db.pool, userId);
        expect(lines.map(({ event, postings: both }) => ({ event, both }))).toEqual(
          events
            .map(({ event }) => ({ event: event.type, both: postings(event) }))
            .filter(({ both }) => both.length > 0),
        );
        expect(trialBalance(await readLedgerSums(db.pool, userId))).toEqual(
          replay(userId, events).trial_balance,
        );
        const refunds = await readRefundsOf(userId);
        expect(
          Object.fromEntries(refunds.map((one) => [one.refundId, [one.status, one.endedAt]])),
        ).toEqual(
          Object.fromEntries(
            Object.entries(state.refunds).map(([id, one]) => [id, [one.status, one.endedAt]]),
          ),
        );
      }),
      { numRuns: 12 },
    );
    expect(people.length).toBeGreaterThanOrEqual(12);
    expect(await readUnbalanced(db.pool)).toEqual([]);
    expect(trialBalance(await readLedgerSums(db.pool)).balanced).toBe(true);
    for (const projection of [creditAccountTable, creditHistory, paidLot, cashRefund]) {
      expect((await verify(db.ownerPool, projection)).differences).toEqual([]);
      await rebuild(db.ownerPool, projection);
      expect((await verify(db.ownerPool, projection)).differences).toEqual([]);
    }
  });

  test('an account of 140 credits accepts ten of fifty parallel reservations of 14, and none fails', async () => {
    const userId = newId('usr');
    await send(userId, 'grant', grantOf(140));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, run) =>
        send(userId, `reserve ${run}`, {
          type: 'Reserve',
          runId: `opt_${run}`,
          credits: 14,
          month: '2026-11',
          limit: -1,
        }),
      ),
    );
    expect(answers.filter((answer) => answer === 'done')).toHaveLength(10);
    expect(answers.filter((answer) => answer === 'insufficient-credits')).toHaveLength(40);
    expect(await readBalance(db.pool, userId)).toEqual({
      available_credits: 0,
      reserved_credits: 140,
      debt_credits: 0,
      spending_frozen: false,
      total_purchased: 0,
      total_consumed: 0,
      total_credits: 140,
      used_credits: 0,
    });
    expect(replay(userId, await recorded(userId)).verified).toBe(true);
  });

  test('a reservation enqueues the start of its run once', async () => {
    const userId = newId('usr');
    const runId = newId('opt');
    await send(userId, 'grant', grantOf(20));
    const reserve: CreditCommand = {
      type: 'Reserve',
      runId,
      credits: 14,
      month: '2026-11',
      limit: -1,
    };
    expect(await send(userId, 'reserve', reserve)).toBe('done');
    expect(await send(userId, 'reserve', { ...reserve, month: '2026-12' })).toBe('repeated');
    const { rows } = await db.ownerPool.query<{ key: string; task: string }>(
      `select key, task_identifier as task from graphile_worker.jobs where key like $1`,
      [`${runId}%`],
    );
    expect(rows).toEqual([{ key: `${runId}:start`, task: 'start-run' }]);
  });

  test('the account of a user without events is empty', async () => {
    expect(await readAccount(db.pool, 'usr_nobody')).toMatchObject({ available: 0, version: 0 });
    expect(await readHistory(db.pool, 'usr_nobody', { limit: 50 }, String)).toEqual([]);
  });
});

describe('lots and refunds', () => {
  const bought = (lotId: string, paymentKey: string): CreditCommand => ({
    type: 'Grant',
    lotId,
    credits: 20,
    source: 'purchase',
    paidMinor: 1000,
    currency: 'usd',
    paymentKey,
    purchaseId: `pur_of_${lotId}`,
    grantedAt: '2026-11-20T08:00:00.123Z',
    reason: 'boost-20',
  });

  test('a lot is found by its id, its payment and its purchase', async () => {
    const userId = newId('usr');
    const lotId = newId('lot');
    await send(userId, 'grant', bought(lotId, `pi:${lotId}`));
    const lot = {
      lotId,
      userId,
      purchaseId: `pur_of_${lotId}`,
      paymentKey: `pi:${lotId}`,
      packageId: 'boost-20',
      credits: 20,
      paidMinor: 1000,
      currency: 'usd',
      grantedAt: '2026-11-20T08:00:00.123Z',
    };
    expect(await findPaidLot(db.pool, { lotId })).toEqual(lot);
    expect(await findPaidLot(db.pool, { paymentKey: lot.paymentKey })).toEqual(lot);
    expect(await findPaidLot(db.pool, { purchaseId: lot.purchaseId })).toEqual(lot);
    expect(await findPaidLot(db.pool, { paymentKey: 'pi:unknown' })).toBeNull();
  });

  test('one payment is never two lots, in whatever account', async () => {
    const paymentKey = `pi:${newId('lot')}`;
    await send(newId('usr'), 'grant', bought(newId('lot'), paymentKey));
    const other = newId('usr');
    await expect(send(other, 'grant', bought(newId('lot'), paymentKey))).rejects.toMatchObject({
      code: '23505',
      constraint: 'paid_lot_payment_key_key',
    });
    expect(await recorded(other)).toEqual([]);
  });

  test('a refund is read until it ends, and then by the time of its end or by its id', async () => {
    const userId = newId('usr');
    const lotId = newId('lot');
    const refundId = newId('ref');
    const requestedAt = '2026-11-21T08:00:00.000Z';
    await send(userId, 'grant', bought(lotId, `pi:${lotId}`));
    const asked: CreditCommand = {
      type: 'RequestRefund',
      refundId,
      lotId,
      requestedAt,
      reason: 'customer',
    };
    expect(await send(userId, 'ask', asked)).toBe('done');
    const pending = {
      refundId,
      userId,
      lotId,
      credits: 20,
      amountMinor: 1000,
      currency: 'usd',
      reason: 'customer',
      status: 'pending',
      providerRefundId: null,
      requestedAt,
      endedAt: null,
    };
    const at = '2026-11-22T00:00:00.000Z';
    const after = Date.parse(at) + 1;
    expect(await readRefundsOf(userId, after)).toEqual([pending]);
    for (const [outcome, providerRefundId] of [
      ['confirmed', 're_1'],
      ['failed', null],
    ] as const)
      await send(userId, outcome, { type: 'EndRefund', refundId, outcome, providerRefundId, at });
    const ended = { ...pending, status: 'failed', providerRefundId: 're_1', endedAt: at };
    expect(await readRefundsOf(userId, Date.parse(at))).toEqual([ended]);
    expect(await readRefundsOf(userId, after)).toEqual([]);
    expect(await readRefundsOf(userId, after, [refundId])).toEqual([ended]);
  });
});

async function readRefundsOf(userId: string, since = 0, named: string[] = []) {
  const refunds = await readCashRefunds(db.pool, since, named);
  return refunds.filter((refund) => refund.userId === userId);
}

/** As the row names them. */
function columnsOf({ balance: { refundPending, ...balance } }: AccountState) {
  return { ...balance, refund_pending: refundPending };
}

function paidLotsOf(userId: string, { lots }: AccountState): unknown[] {
  return lots
    .filter((lot) => lot.source === 'purchase')
    .map((lot) => [
      userId,
      lot.lotId,
      lot.paymentKey,
      lot.purchaseId,
      lot.granted,
      lot.paidMinor,
      lot.currency,
    ])
    .toSorted(([, left], [, right]) => (String(left) < String(right) ? -1 : 1));
}

function refundsOf(userId: string, { refunds }: AccountState): unknown[] {
  return Object.entries(refunds)
    .map(([refundId, refund]) => [
      userId,
      refundId,
      refund.lotId,
      refund.status,
      refund.credits,
      refund.amountMinor,
      refund.endedAt === null,
    ])
    .toSorted(([, left], [, right]) => (String(left) < String(right) ? -1 : 1));
}

function grantOf(credits: number): CreditCommand {
  return {
    type: 'Grant',
    lotId: newId('lot'),
    credits,
    source: 'other',
    paidMinor: null,
    currency: null,
    paymentKey: null,
    grantedAt: '2026-11-20T08:00:00.000Z',
    reason: 'operator',
  };
}

/** Every event that changes the user's total, with the sum so far. */
function linesOf(userId: string, log: readonly CreditEvent[]): unknown[] {
  let sum = 0;
  return log.flatMap((event, index) => {
    const { available, held, debt } = balanceChange(event);
    const amount = available + held - debt;
    sum += amount;
    return amount === 0 ? [] : [[userId, index + 1, amount, sum]];
  });
}
