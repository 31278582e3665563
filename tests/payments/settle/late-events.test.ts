import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Difference } from '#services/payments/settle/reconcile/difference.ts';
import { askToRepair } from '#services/payments/settle/repair.ts';
import { reconcile } from '#services/payments/settle/reconcile/reconcile.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { paymentTasks } from '#services/payments/tasks.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { accountOf, askBack, bought, endSubscriptions } from '#tests/payments/purchases/bought.ts';

/** Money that went back is reported before the payment is known here, after days, or never. */
let shop: TestShop;
let ann: Person;
let now = Date.parse('2026-11-20T10:00:00Z');

const minute = 60_000;
const day = 24 * 60 * minute;

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
beforeEach(async () => {
  now += day;
  ann = await shop.signUp();
});
afterEach(async () => {
  vi.restoreAllMocks();
  endSubscriptions(shop);
  await shop.stripe.deliverAll({ drop: () => true });
  await shop.runJobs();
  await query('update plan set ended_at = coalesce(ended_at, now())');
});
afterAll(async () => shop.close());

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await shop.database.pool.query<Row>(text, values)).rows;

/** Paid at the provider, without a webhook event. */
async function paidPlan(): Promise<{ sessionId: string; intentId: string }> {
  const { session_id: sessionId } = await shop.checkout(ann, 'side-gig-builder');
  shop.stripe.pay(sessionId, 'pay');
  const paid = shop.stripe.pendingWebhookEvents().find(({ type }) => type === 'invoice.paid');
  if (paid === undefined) throw new Error('No invoice was paid');
  const { id } = paid.data.object as { id: string };
  const invoice = await shop.payments.provider.retrieveInvoice(id);
  return { sessionId, intentId: invoice?.intentId ?? '' };
}

/** How many credits clawbacks want of what this person bought. */
async function clawedBack(): Promise<number[]> {
  const { lots } = await accountOf(shop, ann);
  return lots.flatMap(({ clawbacks }) => clawbacks.map(({ wanted }) => wanted));
}

describe('an event of an unknown payment', () => {
  test('a dispute that is processed days later, and before its payment, is booked', async () => {
    const { intentId } = await paidPlan();
    shop.stripe.openDispute(intentId);
    now += 4 * day;
    await shop.deliver({ order: 'reversed' });
    expect(await clawedBack()).toEqual([50]);
    expect(await query('select stage from dispute where user_id = $1', [ann.userId])).toEqual([
      { stage: 'withdrawn' },
    ]);
  });

  test('an event of an unknown payment is retried for three days from its arrival on, however old it is', async () => {
    const { intentId } = await paidPlan();
    now += 10 * day;
    const { id } = shop.stripe.openDispute(intentId);
    const isDispute = ({ type }: { type: string }) => type === 'charge.dispute.created';
    await shop.stripe.deliverAll({ drop: (event) => !isDispute(event) });
    const worked = async () => {
      await query('update graphile_worker._private_jobs set run_at = now()');
      await shop.runJobs();
      return query('select outcome from stripe_event where object_id = $1', [id]);
    };
    await query(`update stripe_event set created_at = $2 where object_id = $1`, [
      id,
      new Date(now - 10 * day),
    ]);
    expect(await worked()).toEqual([{ outcome: null }]);
    now += 2 * day;
    expect(await worked()).toEqual([{ outcome: null }]);
    now += 2 * day;
    // The queue may still be putting the last try away, and then takes the job up a moment later.
    await expect.poll(worked).toEqual([{ outcome: 'ignored' }]);
  });

  test.each(['dispute', 'refund'] as const)(
    'a %s of an unknown payment is booked when that payment is granted',
    async (what) => {
      const { intentId } = await paidPlan();
      if (what === 'dispute') shop.stripe.openDispute(intentId);
      else shop.stripe.refundAtBank(intentId, 1_000);
      await shop.stripe.deliverAll({ drop: () => true });
      now += 40 * day;
      await sweepPayments({
        ...shop.payments,
        provider: { ...shop.payments.provider, async *listEvents() {} },
      });
      await shop.runJobs();
      expect(await clawedBack()).toEqual([what === 'dispute' ? 50 : 20]);
    },
  );
});

describe('a difference of the books', () => {
  async function compared(): Promise<readonly Difference[]> {
    now += 60 * minute;
    return (await reconcile(shop.payments, now - day)).differences;
  }
  async function repaired(): Promise<readonly Difference[]> {
    const before = await compared();
    await askToRepair(shop.database.pool, before);
    await shop.runJobs();
    const after = await compared();
    for (const { kind, repairs } of after) expect([kind, repairs]).toEqual([]);
    return before;
  }

  test('a difference is repaired by the jobs that finding it makes: what went back', async () => {
    const disputed = await bought(shop, 'boost-20', ann);
    now += minute;
    const returned = await bought(shop, 'boost-50', ann);
    const { id } = shop.stripe.openDispute(disputed.intentId);
    shop.stripe.refundAtBank(returned.intentId, 500);
    await shop.stripe.deliverAll({ drop: () => true });
    const found = await repaired();
    expect(new Set(found.map(({ kind, object }) => [kind, object]))).toEqual(
      new Set([
        ['bank-refund', returned.intentId],
        ['dispute-missing', id],
      ]),
    );
    for (const { repairs } of found) expect(repairs).toContain('a worker settles it');
    expect((await clawedBack()).toSorted((a, b) => a - b)).toEqual([10, 20]);
  });

  test('a difference is repaired: a dispute that was over and moved once more', async () => {
    const one = await bought(shop, 'boost-20', ann);
    const { id } = shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
    expect(await clawedBack()).toEqual([]);
    const { world } = shop.stripe;
    world.store.put('dispute', id, { ...world.store.get('dispute', id)!, status: 'lost' });
    await repaired();
    expect(await clawedBack()).toEqual([20]);
  });

  test('a difference is repaired: a payment that came after its purchase had ended, and one of a plan', async () => {
    const { session_id: session, purchase_id: purchase } = await shop.checkout(ann, 'boost-20');
    await query(`update purchase set status = 'expired' where id = $1`, [purchase]);
    shop.stripe.pay(session, 'pay');
    const { sessionId } = await paidPlan();
    await query(`update purchase set status = 'expired' where session_id = $1`, [sessionId]);
    await shop.stripe.deliverAll({ drop: () => true });
    expect((await repaired()).map(({ kind }) => kind)).toContain('payment-without-lot');
    expect((await accountOf(shop, ann)).balance.available).toBe(70);
  });

  test('a difference that no worker can repair is left to an operator', async () => {
    await askToRepair(shop.database.pool, [
      {
        kind: 'refund-twice',
        object: 're_1',
        userId: null,
        expected: '',
        found: '',
        cause: '',
        repairs: 'an operator',
        isSettling: false,
      },
    ]);
    const jobs = await query(`select from graphile_worker.jobs where key like 'repair:%'`);
    expect(jobs).toEqual([]);
  });
});

describe('a job that has used up its attempts', () => {
  /** The state in which the queue leaves the job after days. */
  async function usedUp(task: string): Promise<number> {
    const rows = await query(
      `update graphile_worker._private_jobs job set attempts = max_attempts, run_at = now()
       from graphile_worker._private_tasks task
       where task.id = job.task_id and task.identifier = $1 returning job.id`,
      [task],
    );
    await shop.runJobs();
    return rows.length;
  }
  async function waiting(task: string): Promise<number> {
    const rows = await query('select from graphile_worker.jobs where task_identifier = $1', [task]);
    return rows.length;
  }
  async function swept(): Promise<void> {
    now += 10 * minute;
    await sweepPayments(shop.payments);
    await sweepPayments(shop.payments);
    await shop.runJobs();
  }

  test('a webhook event whose job has used up its attempts is processed all the same', async () => {
    const { session_id: session } = await shop.checkout(ann, 'boost-20');
    shop.stripe.pay(session, 'pay');
    await shop.stripe.deliverAll();
    expect(await usedUp('process-webhook-event')).toBeGreaterThan(0);
    expect((await accountOf(shop, ann)).balance.available).toBe(0);
    await swept();
    expect((await accountOf(shop, ann)).balance.available).toBe(20);
    // The queue does not wait for the statement that removes a job.
    await vi.waitFor(async () => expect(await waiting('process-webhook-event')).toBe(0), 30_000);
  });

  test('jobs of a refund, its email, a receipt and a check that have used up their attempts continue', async () => {
    const away = async () => {
      throw new Problem('payment-provider', 'Away');
    };
    const { provider } = shop.core;
    const one = await bought(shop, 'boost-20', ann);
    vi.spyOn(provider, 'listRefunds').mockImplementation(away);
    await askBack(shop, one);
    await bought(shop, 'boost-50', ann);
    const tasks = ['send-refund', 'check-payment'];
    for (const task of tasks) expect([task, await usedUp(task)]).toEqual([task, 1]);
    vi.restoreAllMocks();
    await swept();
    for (const task of tasks)
      await vi.waitFor(async () => expect([task, await waiting(task)]).toEqual([task, 0]), 30_000);
    const { refunds } = await accountOf(shop, ann);
    expect(Object.values(refunds).map(({ status }) => status)).toEqual(['confirmed']);
  });

  test.each(['mail-receipt', 'mail-refund', 'mail-low-balance', 'repair-difference'])(
    'a job that has used up its attempts is tried again when it is due: %s',
    async (task) => {
      expect(Object.keys(paymentTasks(shop.payments))).toContain(task);
      await query(`select graphile_worker.add_job($1, '{}', job_key := 'used-up')`, [task]);
      await query(`update graphile_worker._private_jobs set attempts = max_attempts`);
      const attempts = async () =>
        query<{ attempts: number }>(
          `select attempts from graphile_worker.jobs where key = 'used-up'`,
        );
      await sweepPayments(shop.payments);
      expect(await attempts()).toEqual([{ attempts: 0 }]);
      // One that has just failed waits for its time.
      await query(
        `update graphile_worker._private_jobs set attempts = 25, run_at = now() + interval '1 hour'`,
      );
      await sweepPayments(shop.payments);
      expect(await attempts()).toEqual([{ attempts: 25 }]);
      await query(`select graphile_worker.remove_job('used-up')`);
    },
  );
});
