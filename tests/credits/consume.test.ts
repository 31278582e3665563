import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readStream } from '#db/streams.ts';
import { readAccount } from '#projections/credit-account.ts';
import { ConsumeReply, History } from '#services/credits/contract.ts';
import { newId } from '#services/platform/ids.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { consume, give, issueToken } from '#tests/support/processes/service.ts';
import { creditStream } from '#services/credits/account/events.ts';

let app: TestApp;
let now = Date.now();

beforeAll(async () => {
  app = await createTestApp({ clock: () => now });
});
afterAll(async () => app.close());

async function personWith(credits: number): Promise<Person> {
  const person = await app.signUp();
  if (credits > 0) await give(app, person.userId, credits);
  return person;
}

async function consumed(userId: string): Promise<number> {
  return (await readAccount(app.core.pool, userId)).consumed;
}

const Noted = v.object({ sealed: v.object({ note: v.string() }) });

type Refused = { code: string; message: string } & Record<string, unknown>;
async function refusal(answer: Promise<Response>): Promise<[number, Refused]> {
  const response = await answer;
  return [response.status, (await response.json()) as Refused];
}

async function statuses(answers: readonly Promise<Response>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('consumptions', () => {
  test('a consumption takes credits in the order of the ledger and answers the balance', async () => {
    const { id, secret } = await issueToken(app);
    const ann = await personWith(20);
    const bonus = await give(app, ann.userId, 3, 'bonus');
    const answer = await consume(app, secret, { user_id: ann.userId, credits: 5 });
    expect(answer.status).toBe(201);
    const { data } = (await answer.json()) as { data: unknown };
    const reply = v.parse(v.strictObject(ConsumeReply.entries), data);
    expect(reply).toMatchObject({
      consumed_credits: 5,
      balance: { available_credits: 18, reserved_credits: 0, total_consumed: 5 },
    });
    expect(await app.data('/credits/balance', { token: ann.token })).toEqual(reply.balance);
    const { events } = await readStream(app.core.pool, creditStream(ann.userId));
    const event = events.at(-1);
    expect(event).toMatchObject({
      type: 'CreditsConsumed',
      data: { consumptionId: reply.consumption_id, credits: 5, balance: { available: 18 } },
      metadata: { actor: id, correlationId: reply.consumption_id },
    });
    expect(event?.data['byLot']).toMatchObject([{ lotId: bonus, credits: 3 }, { credits: 2 }]);
  });

  test('a consumption is a line of its own in the person’s history, and counts in the month', async () => {
    const { secret } = await issueToken(app);
    const ann = await personWith(20);
    await consume(app, secret, { user_id: ann.userId, credits: 5 });
    const [line] = v.parse(History, await app.data('/credits/history', { token: ann.token }));
    expect(line).toMatchObject({
      transaction_type: 'consumption',
      reason_code: 'service',
      description: 'Credits used by a connected service',
      amount: -5,
      balance_after: 15,
    });
    const analytics = await app.data('/credits/analytics', { token: ann.token });
    expect(analytics).toMatchObject({
      monthly_consumption: 5,
      total_consumed: 5,
      average_cost_per_optimization: null,
      most_used_models: [],
    });
  });

  test('a consumption keeps the service’s words sealed under the key of the account', async () => {
    const { secret } = await issueToken(app);
    const ann = await personWith(20);
    const reason = 'Canaryreason for Ann';
    const key = randomUUID();
    await consume(app, secret, { user_id: ann.userId, reason }, key);
    const { events } = await readStream(app.core.pool, creditStream(ann.userId));
    const { note } = v.parse(Noted, events.at(-1)?.data).sealed;
    const place = { stream: creditStream(ann.userId), field: 'note' };
    expect(await app.core.sealer.open(note, place)).toEqual({ text: reason });
    for (const table of ['emt_messages', 'credit_history', 'idempotency_key', 'stream_snapshot']) {
      const { rows } = await app.database.ownerPool.query(
        `select from ${table} t where t::text like '%Canaryreason%'`,
      );
      expect([table, rows.length]).toEqual([table, 0]);
    }
    expect(app.logged.join('\n')).not.toContain('Canaryreason');
  });

  test('a consumption needs an Idempotency-Key, and the refusal names it', async () => {
    const { secret } = await issueToken(app);
    const ann = await personWith(20);
    const body = { user_id: ann.userId, credits: 5, reason: 'A report' };
    const without = app.call('/credits/consume', { token: secret, body });
    const [status, problem] = await refusal(without);
    expect([status, problem.code]).toEqual([400, 'validation']);
    expect(problem.message).toContain('Idempotency-Key');
    expect(problem['errors']).toMatchObject([{ field: 'Idempotency-Key' }]);
    expect((await consume(app, secret, body, 'with space')).status).toBe(400);
    expect(await consumed(ann.userId)).toBe(0);
  });

  test.each([
    ['no user', { user_id: undefined }, 'user_id'],
    ['a user named by address', { user_id: 'canary@example.com' }, 'user_id'],
    ['no credits', { credits: 0 }, 'credits'],
    ['less than none', { credits: -5 }, 'credits'],
    ['a part of a credit', { credits: 1.5 }, 'credits'],
    ['more than an account can hold', { credits: 1_000_001 }, 'credits'],
    ['credits in words', { credits: 'canary' }, 'credits'],
    ['no reason', { reason: undefined }, 'reason'],
    ['a reason of spaces', { reason: '   ' }, 'reason'],
    ['a reason too long', { reason: 'canary'.repeat(40) }, 'reason'],
    ['a field that is not known', { canary: 1 }, ''],
  ])('a consumption is refused for %s, and the reply repeats no value', async (_, wrong, field) => {
    const { secret } = await issueToken(app);
    const ann = await personWith(20);
    const [status, problem] = await refusal(
      consume(app, secret, { user_id: ann.userId, ...wrong }),
    );
    expect([status, problem.code]).toEqual([400, 'validation']);
    expect(problem['errors']).toMatchObject([{ field }]);
    expect(JSON.stringify({ ...problem, errors: [] })).not.toContain('canary');
    expect(await consumed(ann.userId)).toBe(0);
  });

  test('a consumption of an unknown user and of one who is being erased are refused alike', async () => {
    const { secret } = await issueToken(app, 5);
    const ann = await personWith(20);
    const unknown = await refusal(consume(app, secret, { user_id: newId('usr') }));
    await app.database.ownerPool.query('update users set erasing_at = now() where id = $1', [
      ann.userId,
    ]);
    const erasing = await refusal(consume(app, secret, { user_id: ann.userId }));
    expect(unknown[0]).toBe(404);
    expect({ ...erasing[1], request_id: '' }).toEqual({ ...unknown[1], request_id: '' });
    const bob = await personWith(20);
    await app.core.sealer.eraseKey(bob.userId);
    const erased = await refusal(consume(app, secret, { user_id: bob.userId }));
    expect([erased[0], erased[1].code]).toEqual([404, unknown[1].code]);
    const carl = await personWith(20);
    expect((await consume(app, secret, { user_id: carl.userId })).status).toBe(201);
  });

  test('a consumption of too many credits says what is missing, changes nothing, and works once they are available', async () => {
    const { secret } = await issueToken(app, 12);
    const ann = await personWith(8);
    const key = randomUUID();
    const ask = async () => consume(app, secret, { user_id: ann.userId, credits: 12 }, key);
    const [status, problem] = await refusal(ask());
    expect([status, problem.code]).toEqual([402, 'insufficient-credits']);
    expect(problem).toMatchObject({ required_credits: 12, current_balance: 8, shortfall: 4 });
    await give(app, ann.userId, 4);
    expect((await ask()).status).toBe(201);
    expect(await consumed(ann.userId)).toBe(12);
  });
});

describe('repeats', () => {
  test('repeats with the same key are one consumption, and all get the first reply', async () => {
    const { secret } = await issueToken(app);
    const ann = await personWith(100);
    const key = randomUUID();
    const ask = async () => consume(app, secret, { user_id: ann.userId, credits: 7 }, key);
    const counts = await statuses(Array.from({ length: 30 }, ask));
    expect((counts[201] ?? 0) + (counts[409] ?? 0)).toBe(30);
    expect(counts[201]).toBeGreaterThanOrEqual(1);
    const [first, second] = [await (await ask()).json(), await (await ask()).json()];
    expect(first).toEqual(second);
    expect(first).toMatchObject({ data: { balance: { available_credits: 93 } } });
    expect(await consumed(ann.userId)).toBe(7);
  });

  test('a repeat with the same key continues the first one, if that was cut off after the credits were taken', async () => {
    const { secret } = await issueToken(app, 10);
    const ann = await personWith(100);
    const key = randomUUID();
    const ask = async () => consume(app, secret, { user_id: ann.userId, credits: 7 }, key);
    const first = await (await ask()).json();
    await app.database.ownerPool.query(
      `update idempotency_key set status = null, body = null, created_at = '-infinity'
       where key = $1`,
      [key],
    );
    const again = await ask();
    expect([again.status, await again.json()]).toEqual([201, first]);
    expect(await consumed(ann.userId)).toBe(7);
    // Three are left: it was counted once.
    expect((await consume(app, secret, { user_id: ann.userId, credits: 3 })).status).toBe(201);
  });

  test('a repeat with the same key and another body is refused', async () => {
    const { secret } = await issueToken(app);
    const [ann, bob] = [await personWith(100), await personWith(100)];
    const key = randomUUID();
    await consume(app, secret, { user_id: ann.userId }, key);
    for (const other of [{ user_id: bob.userId }, { user_id: ann.userId, credits: 6 }]) {
      const [status, problem] = await refusal(consume(app, secret, other, key));
      expect([status, problem.code]).toEqual([409, 'idempotency-mismatch']);
    }
    expect([await consumed(ann.userId), await consumed(bob.userId)]).toEqual([5, 0]);
  });

  test('the same key of another service is another consumption', async () => {
    const [one, other] = [await issueToken(app), await issueToken(app)];
    const ann = await personWith(100);
    const key = randomUUID();
    for (const { secret } of [one, other])
      expect((await consume(app, secret, { user_id: ann.userId }, key)).status).toBe(201);
    expect(await consumed(ann.userId)).toBe(10);
  });
});

describe('the daily cap', () => {
  async function countedToday(tokenId: string): Promise<number> {
    const { rows } = await app.core.pool.query<{ credits: number }>(
      'select credits::float8 as credits from service_token_day where token_id = $1 and day = $2',
      [tokenId, new Date(now).toISOString().slice(0, 10)],
    );
    return rows[0]?.credits ?? 0;
  }

  test('the daily cap lets through exactly what it allows when fifty calls come at once', async () => {
    const { id, secret } = await issueToken(app, 100);
    const people = await Promise.all([personWith(500), personWith(500), personWith(500)]);
    const calls = Array.from({ length: 50 }, async (_, index) =>
      consume(app, secret, { user_id: people[index % 3]?.userId, credits: 7 }),
    );
    expect(await statuses(calls)).toEqual({ 201: 14, 403: 36 });
    const sums = await Promise.all(people.map(async ({ userId }) => consumed(userId)));
    expect(sums.reduce((sum, credits) => sum + credits, 0)).toBe(98);
    expect(await countedToday(id)).toBe(98);
  });

  test('the daily cap is reached by its last credit and says when it begins again', async () => {
    const { secret } = await issueToken(app, 10);
    const ann = await personWith(50);
    const ask = async (credits: number) => consume(app, secret, { user_id: ann.userId, credits });
    expect((await ask(11)).status).toBe(403);
    expect((await ask(9)).status).toBe(201);
    const [status, problem] = await refusal(ask(2));
    expect([status, problem.code]).toEqual([403, 'daily-cap-reached']);
    expect(problem).toMatchObject({
      daily_cap: 10,
      remaining_credits: 1,
      required_credits: 2,
      resets_at: `${new Date(now + 86_400_000).toISOString().slice(0, 10)}T00:00:00.000Z`,
    });
    expect((await ask(1)).status).toBe(201);
    expect((await ask(1)).status).toBe(403);
    expect(await consumed(ann.userId)).toBe(10);
  });

  test('the daily cap is counted for each token separately', async () => {
    const ann = await personWith(50);
    for (const { secret } of [await issueToken(app, 5), await issueToken(app, 5)])
      expect((await consume(app, secret, { user_id: ann.userId })).status).toBe(201);
  });

  test('the daily cap begins again at midnight UTC and not a millisecond before', async () => {
    const before = now;
    const { secret } = await issueToken(app, 5);
    const ann = await personWith(50);
    const midnight = Date.UTC(2027, 2, 28);
    const ask = async () => (await consume(app, secret, { user_id: ann.userId })).status;
    try {
      now = midnight - 1;
      expect([await ask(), await ask()]).toEqual([201, 403]);
      now = midnight;
      expect([await ask(), await ask()]).toEqual([201, 403]);
    } finally {
      now = before;
    }
    expect(await consumed(ann.userId)).toBe(10);
  });

  test('the daily cap does not count what was refused for want of credits, whatever came at once', async () => {
    const { id, secret } = await issueToken(app, 60);
    const ann = await personWith(20);
    const calls = Array.from({ length: 12 }, async () =>
      consume(app, secret, { user_id: ann.userId }),
    );
    expect(await statuses(calls)).toEqual({ 201: 4, 402: 8 });
    expect(await countedToday(id)).toBe(20);
    const { rows } = await app.core.pool.query(
      'select attempts from service_token_claim where token_id = $1',
      [id],
    );
    expect(rows).toEqual(Array.from({ length: 4 }, () => ({ attempts: 1 })));
  });
});
