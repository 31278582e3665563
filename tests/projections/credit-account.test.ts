import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { creditAccountTable, readAccount, readBalance } from '#projections/credit-account.ts';
import { creditHistory, readHistory } from '#projections/credit-history.ts';
import { readLedger, readLedgerSums, readUnbalanced } from '#projections/credit-ledger.ts';
import { rebuild } from '#projections/rebuild.ts';
import { verify } from '#projections/verify.ts';
import { readStoredStream } from '#db/event-store.ts';
import { balanceChange, creditAccount, evolve, initialState } from '#services/credits/account.ts';
import type { AccountState, CreditCommand, CreditEvent } from '#services/credits/account.ts';
import { postings, trialBalance } from '#services/credits/postings.ts';
import { recordedCreditEvents, replay, stateOf } from '#services/credits/replay.ts';
import { creditStream, fingerprintOf } from '#services/credits/streams.ts';
import { createCommandBus } from '#services/platform/command.ts';
import type { CommandBus } from '#services/platform/command.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { anyLimit, anyLog, anySteps, play } from '#tests/credits/ledger-model.ts';
import { applyTo, pages, stored } from '#tests/credits/tables.ts';

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

describe('the statements, over random ledgers cut into random pages', () => {
  beforeEach(async () => {
    await client.query('begin');
    await client.query(creditAccountTable.create('account_of_test'));
    await client.query(creditHistory.create('history_of_test'));
  });
  afterEach(() => client.query('rollback'));

  const anyLedgers = fc.array(anyLog, { minLength: 1, maxLength: 3 });
  const anyCuts = fc.array(fc.nat({ max: 200 }), { maxLength: 4 });

  test('give the account that evolve gives, and a history that sums to its balance', async () => {
    await fc.assert(
      fc.asyncProperty(anyLedgers, anyCuts, async (logs, cuts) => {
        await client.query('truncate account_of_test, history_of_test');
        const events = logs.flatMap((log, person) => stored(`usr_${person}`, log));
        for (const page of pages(events, cuts)) {
          await applyTo(client, creditAccountTable, 'account_of_test', page);
          await applyTo(client, creditHistory, 'history_of_test', page);
        }
        const accounts = await client.query<{ row: unknown }>(
          `select to_jsonb(a) as row from account_of_test a order by user_id`,
        );
        expect(accounts.rows.map(({ row }) => row)).toEqual(
          logs.flatMap((log, person) =>
            log.length === 0
              ? []
              : [{ user_id: `usr_${person}`, version: log.length, ...foldOf(log).balance }],
          ),
        );
        const lines = await client.query<{ row: unknown }>(
          `select json_build_array(user_id, position, amount, balance_after) as row
           from history_of_test order by user_id, position`,
        );
        expect(lines.rows.map(({ row }) => row)).toEqual(
          logs.flatMap((log, person) => linesOf(`usr_${person}`, log)),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('refuse what would make a figure negative', async () => {
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
  test('equal their events in every table, also when they are rebuilt', async () => {
    const people: string[] = [];
    await fc.assert(
      fc.asyncProperty(anySteps, anyLimit, async (steps, limit) => {
        const userId = newId('usr');
        people.push(userId);
        for (const { sent, answer } of play(steps, limit)) {
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
        const history = await readHistory(db.pool, userId, { limit: 200 });
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
      }),
      { numRuns: 12 },
    );
    expect(people.length).toBeGreaterThanOrEqual(12);
    expect(await readUnbalanced(db.pool)).toEqual([]);
    expect(trialBalance(await readLedgerSums(db.pool)).balanced).toBe(true);
    for (const projection of [creditAccountTable, creditHistory]) {
      expect((await verify(db.ownerPool, projection)).differences).toEqual([]);
      await rebuild(db.ownerPool, projection);
      expect((await verify(db.ownerPool, projection)).differences).toEqual([]);
    }
  });

  test('accept ten of fifty parallel reserves of 14 on 140 credits, and fail none', async () => {
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
      total_purchased: 0,
      total_consumed: 0,
      total_credits: 140,
      used_credits: 0,
    });
    expect(replay(userId, await recorded(userId)).verified).toBe(true);
  });

  test('enqueue the start of a run with its reservation, once', async () => {
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

  test('are nothing for a person without events', async () => {
    expect(await readAccount(db.pool, 'usr_nobody')).toMatchObject({ available: 0, version: 0 });
    expect(await readHistory(db.pool, 'usr_nobody', { limit: 50 })).toEqual([]);
  });
});

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

/** Every event that changes what the person has, with the sum so far. */
function linesOf(userId: string, log: readonly CreditEvent[]): unknown[] {
  let sum = 0;
  return log.flatMap((event, index) => {
    const { available, held, debt } = balanceChange(event);
    const amount = available + held - debt;
    sum += amount;
    return amount === 0 ? [] : [[userId, index + 1, amount, sum]];
  });
}
