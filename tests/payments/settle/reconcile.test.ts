import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Stripe } from 'stripe';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { reconcileCommands, sinceOf } from '#services/cli/credits/reconcile.ts';
import { readCashBalances } from '#services/payments/settle/reconcile/cash-ledger.ts';
import type { DifferenceKind } from '#services/payments/settle/reconcile/difference.ts';
import { reconcileDaily } from '#services/payments/settle/reconcile/daily.ts';
import { reconcile } from '#services/payments/settle/reconcile/reconcile.ts';
import { createStripe } from '#services/payments/stripe/adapter.ts';
import { runHere } from '#tests/cli/in-process.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import { newId } from '#services/platform/ids.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { askBack, bought, endSubscriptions, lotOf, use } from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';

/** The books of one shop; each test begins when those of the test before are out of sight. */
const minute = 60 * 1000;
const hour = 60 * minute;
const day = 24 * hour;

let shop: TestShop;
let ann: Person;
let now = Date.parse('2026-11-20T10:00:00Z');
let begun = 0;

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
beforeEach(async () => {
  begun = later(day);
  ann = await shop.signUp();
});
/** Cleans up, so that the next test starts without differences. */
afterEach(async () => {
  endSubscriptions(shop);
  await shop.stripe.deliverAll({ drop: () => true });
  await shop.database.pool.query(
    `with events as (delete from stripe_event where processed_at is null),
       plans as (update plan set ended_at = coalesce(ended_at, now()))
     update purchase set status = 'expired' where status in ('open', 'processing')`,
  );
});
afterAll(async () => shop.close());

/** Past the age at which a difference counts as one, unless another time is given. */
function later(ms: number = hour): number {
  now += ms;
  return now;
}

type Found = { kind: DifferenceKind; object: string };

/** The differences of this test. */
async function found(): Promise<Found[]> {
  const { differences } = await reconcile(shop.payments, begun - minute);
  return differences.map(({ kind, object }) => ({ kind, object }));
}

async function kinds(): Promise<DifferenceKind[]> {
  return (await found()).map(({ kind }) => kind);
}

function sdk() {
  return createStripe({
    secretKey: 'sk_test_sandbox',
    webhookSecrets: [],
    url: shop.stripe.url,
    automaticTax: false,
  });
}

function chargeOf(intentId: string): string {
  const charge = shop.stripe.world.store.get('intent', intentId)?.latest_charge;
  if (typeof charge !== 'string') throw new Error('There is no charge');
  return charge;
}

async function invoiceOf(intentId: string): Promise<string> {
  const { rows } = await shop.database.pool.query<{ id: string }>(
    'select invoice_id as id from purchase where payment_intent_id = $1',
    [intentId],
  );
  return rows[0]?.id ?? '';
}

/** One at a time, because the latest purchase is found by its time. */
async function buy(packageId: string): Promise<Bought> {
  later(minute);
  return bought(shop, packageId, ann);
}

async function refunded(): Promise<Bought & { refundId: string; providerRefundId: string }> {
  const of = await bought(shop, 'boost-20', ann);
  const { refund } = await askBack(shop, of);
  await shop.runJobs();
  const [shown] = await shop.payments.provider.listRefunds(of.intentId);
  return { ...of, refundId: refund.id, providerRefundId: shown?.providerRefundId ?? '' };
}

describe('clean books', () => {
  test(
    'clean books differ in nothing, and the money of all that happened sums up to the cent',
    { tags: ['long'] },
    async () => {
      expect(await readCashBalances(shop.database.pool)).toEqual([]);
      await buy('boost-50');
      const back = await buy('boost-20');
      await askBack(shop, back);
      const part = await buy('boost-125');
      shop.stripe.refundAtBank(part.intentId, 1_500);
      const won = await buy('opportunity-finder');
      const { id } = shop.stripe.openDispute(won.intentId);
      await shop.deliver();
      shop.stripe.moveDispute(id, 'won');
      const lost = await buy('opportunity-finder');
      const { id: lostId } = shop.stripe.openDispute(lost.intentId);
      shop.stripe.moveDispute(lostId, 'lost');
      await shop.deliver();
      await shop.runJobs();
      await buy('side-gig-builder');
      later(32 * day);
      shop.stripe.advance(0);
      await shop.deliver();
      later();
      const result = await reconcile(shop.payments, begun - minute);
      expect([result.differences, result.settling]).toEqual([[], []]);
      expect(result.compared).toMatchObject({ charges: 7, refunds: 2, disputes: 2, lots: 7 });
      // Bought 25 + 10 + 50 + 5 + 5 and twice 25; 10 refunded by us, 15 by the bank, 5 taken back.
      const [usd] = result.cash;
      const accounts = new Map(usd?.accounts.map((one) => [one.account, one.amountMinor]));
      expect(accounts.get('deferred_revenue')).toBe(-14_500);
      expect(accounts.get('refunds')).toBe(2_500);
      expect(accounts.get('disputes')).toBe(500);
      expect(accounts.get('stripe:clearing')).toBe(0);
      expect(accounts.get('stripe:fees')).toBeGreaterThan(0);
      expect((accounts.get('stripe:balance') ?? 0) + (accounts.get('stripe:fees') ?? 0)).toBe(
        11_500,
      );
      expect([usd?.currency, usd?.sum, result.isBalanced]).toEqual(['usd', 0, true]);
      const paidOut = shop.stripe.payOut();
      const { cash } = await reconcile(shop.payments, begun - minute);
      const after = new Map(cash[0]?.accounts.map((one) => [one.account, one.amountMinor]));
      expect([after.get('bank'), after.get('stripe:balance')]).toEqual([paidOut?.amount, 0]);
      // The payout, and nothing again that was stored before.
      expect((await reconcile(shop.payments, begun - minute)).compared.balanceTransactions).toBe(0);
    },
  );
});

describe('a payment', () => {
  test('a payment whose webhook event was lost is a difference that the sweeper repairs, and settling at first', async () => {
    const { session_id: session } = await shop.checkout(ann, 'boost-20');
    shop.stripe.pay(session, 'pay');
    const young = await reconcile(shop.payments, begun - minute);
    expect([young.differences, young.settling.map(({ kind }) => kind)]).toEqual([
      [],
      ['payment-without-lot'],
    ]);
    later();
    const { differences } = await reconcile(shop.payments, begun - minute);
    expect(differences).toMatchObject([
      {
        kind: 'payment-without-lot',
        object: expect.stringMatching(/^pi_/),
        userId: ann.userId,
        expected: 'a lot for $10.00 (1000 usd)',
        cause: expect.stringContaining('the webhook event was lost'),
        repairs: expect.stringContaining('a worker asks about open purchases'),
      },
    ]);
    await shop.deliver();
    expect(await found()).toEqual([]);
  });

  test('a payment of a plan without a webhook event is found by its invoice, and the plan is behind', async () => {
    await bought(shop, 'empire-builder', await shop.signUp());
    later(32 * day);
    shop.stripe.advance(0);
    later();
    expect(new Set(await kinds())).toEqual(new Set(['payment-without-lot', 'plan-behind']));
    await shop.deliver();
    expect(await found()).toEqual([]);
  });

  test('a payment that is not ours is named as such', async () => {
    const intent = await sdk().paymentIntents.create({ amount: 700, currency: 'usd' });
    shop.stripe.pay(intent.id, 'pay');
    later();
    const { differences } = await reconcile(shop.payments, begun - minute);
    expect(differences).toMatchObject([
      {
        kind: 'payment-without-lot',
        object: intent.id,
        userId: null,
        cause: expect.stringContaining('no purchase of ours'),
        repairs: expect.stringContaining('operator'),
      },
    ]);
  });

  test('a payment that moved another amount of money than it charged is found', async () => {
    const { session_id: session } = await shop.checkout(ann, 'boost-20');
    shop.stripe.pay(session, 'pay');
    const [row] = shop.stripe.world.store.all('transaction').toReversed();
    await shop.database.pool.query(
      `insert into balance_transaction (id, type, amount_minor, fee_minor, net_minor, currency,
         created_at) values ($1, 'charge', 1, 0, 1, 'usd', $2)`,
      [row?.id, new Date(now)],
    );
    await shop.deliver();
    expect(await kinds()).toEqual(['balance-amount']);
  });
});

describe('a lot', () => {
  const grant = async (paymentKey: string, purchaseId: string, paidMinor: number) =>
    shop.payments.ledger.grantPurchase({
      userId: ann.userId,
      purchaseId,
      paymentKey,
      packageId: 'boost-20',
      credits: 20,
      paidMinor,
      currency: 'usd',
      paidAt: new Date(now).toISOString(),
      actor: 'test',
    });

  test('a lot that was not paid for is found from its own side', async () => {
    await grant('pi:pi_none', newId('pur', now), 1_000);
    await grant('invoice:in_none', newId('pur', now), 1_000);
    const open = await sdk().paymentIntents.create({ amount: 1_000, currency: 'usd' });
    await grant(`pi:${open.id}`, newId('pur', now), 1_000);
    later();
    const { differences } = await reconcile(shop.payments, begun - minute);
    const unpaid = differences.filter(({ kind }) => kind === 'lot-without-payment');
    expect(unpaid.map((one) => one.found).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'a payment that is open',
      'no such invoice',
      'no such payment',
    ]);
    expect(differences.filter(({ kind }) => kind === 'purchase-behind')).toHaveLength(3);
    expect(differences).toHaveLength(6);
  });

  test('a lot of another amount than was paid, and a second one of a purchase, are found', async () => {
    const { session_id: session, purchase_id: purchaseId } = await shop.checkout(ann, 'boost-20');
    shop.stripe.pay(session, 'pay');
    const view = await shop.payments.provider.retrieveCheckout(session);
    await grant(`pi:${view?.intentId}`, purchaseId, 999);
    await grant('pi:pi_second', purchaseId, 1_000);
    later();
    expect(new Set(await kinds())).toEqual(
      new Set(['payment-amount', 'lot-twice', 'lot-without-payment', 'purchase-behind']),
    );
  });
});

describe('an invoice', () => {
  test('an invoice that grants nothing and has a lot all the same is found, and why it grants nothing', async () => {
    const { intentId } = await bought(shop, 'side-gig-builder', ann);
    const invoiceId = await invoiceOf(intentId);
    const { store } = shop.stripe.world;
    const invoice = store.get('invoice', invoiceId);
    if (!invoice) throw new Error('There is no invoice');
    later();
    expect(await found()).toEqual([]);
    const changes: [Partial<Stripe.Invoice>, string][] = [
      [{ billing_reason: 'subscription_update' }, 'for the reason subscription_update'],
      [{ subtotal: 2_400 }, 'over $24.00 (2400 usd), and $25.00 (2500 usd) was agreed'],
      [{ lines: { ...invoice.lines, data: [] } }, 'its price is not ours'],
    ];
    for (const [change, why] of changes) {
      store.put('invoice', invoiceId, { ...invoice, ...change });
      const { differences } = await reconcile(shop.payments, begun - minute);
      expect(differences).toMatchObject([
        { kind: 'lot-without-reason', object: invoiceId, expected: expect.stringContaining(why) },
      ]);
    }
  });

  test('an invoice at another amount than was agreed grants nothing, and is reported with the reason', async () => {
    const { session_id: session } = await shop.checkout(ann, 'side-gig-builder');
    shop.stripe.pay(session, 'pay');
    const { store } = shop.stripe.world;
    const invoice = store.all('invoice').at(-1);
    if (!invoice) throw new Error('There is no invoice');
    store.put('invoice', invoice.id, { ...invoice, subtotal: 2_400 });
    await shop.deliver();
    later();
    const { differences } = await reconcile(shop.payments, begun - minute);
    expect(differences).toMatchObject([
      {
        kind: 'payment-without-lot',
        object: invoice.id,
        cause: expect.stringContaining('$25.00 (2500 usd) was agreed'),
        repairs: expect.stringContaining('operator'),
      },
    ]);
  });
});

describe('the money', () => {
  test('the money of a charge that the provider has not listed is missing, until it does', async () => {
    await bought(shop, 'boost-20', ann);
    later();
    const silent = {
      ...shop.payments,
      provider: { ...shop.payments.provider, async *listBalanceTransactions() {} },
    };
    const { differences } = await reconcile(silent, begun - minute);
    expect(differences).toMatchObject([
      { kind: 'balance-missing', object: expect.stringMatching(/^ch_/), found: 'none' },
    ]);
    expect(await found()).toEqual([]);
  });

  test('the money of a transaction that does not add up is unbalanced, and so are the books', async () => {
    const { ownerPool } = shop.database;
    await ownerPool.query(`
      alter table balance_transaction drop constraint balance_transaction_check;
      insert into balance_transaction (id, type, amount_minor, fee_minor, net_minor, currency,
        created_at) values ('txn_wrong', 'charge', 1000, 50, 900, 'usd', now())`);
    const { differences, isBalanced } = await reconcile(shop.payments, begun - minute);
    expect([differences, isBalanced]).toMatchObject([
      [{ kind: 'cash-unbalanced', object: 'txn_wrong', userId: null }],
      false,
    ]);
    await ownerPool.query(`delete from balance_transaction where id = 'txn_wrong'`);
    expect((await reconcile(shop.payments, begun - minute)).isBalanced).toBe(true);
  });
});

describe('a refund', () => {
  test('a refund that the provider has ended and the ledger has not is found, until its webhook event arrives', async () => {
    shop.stripe.faults.refunds = 'pending';
    const { providerRefundId } = await refunded();
    shop.stripe.faults.refunds = undefined;
    later();
    expect(await found()).toEqual([]);
    shop.stripe.settleRefund(providerRefundId, 'succeeded');
    expect(await found()).toEqual([{ kind: 'refund-not-booked', object: providerRefundId }]);
    await shop.deliver();
    expect(await found()).toEqual([]);
  });

  test('a refund that failed after it had been confirmed contradicts, until its webhook event arrives', async () => {
    const { providerRefundId } = await refunded();
    await shop.deliver();
    later();
    shop.stripe.settleRefund(providerRefundId, 'failed');
    expect(await found()).toEqual([{ kind: 'refund-contradicts', object: providerRefundId }]);
    await shop.deliver();
    expect(await found()).toEqual([]);
  });

  test('a refund that was never sent, and one that only the ledger knows, are found', async () => {
    const of = await bought(shop, 'boost-20', ann);
    const { lotId } = await lotOf(shop, of);
    const { ledger } = shop.payments;
    const refundId = newId('ref', now);
    const requestedAt = new Date(now).toISOString();
    const actor = 'test';
    const reason = 'customer' as const;
    await ledger.requestRefund({ userId: ann.userId, lotId, refundId, requestedAt, reason, actor });
    later();
    expect(await found()).toEqual([{ kind: 'refund-not-sent', object: refundId }]);
    await ledger.endRefund({
      userId: ann.userId,
      refundId,
      outcome: 'confirmed',
      providerRefundId: 're_none',
      at: requestedAt,
      actor,
    });
    expect(await found()).toEqual([{ kind: 'refund-only-here', object: refundId }]);
  });

  test('a refund that was sent twice, with another amount, or under an unknown id is found', async () => {
    const of = await bought(shop, 'boost-125', ann);
    await use(shop, ann, 100);
    await askBack(shop, of);
    await shop.deliver();
    const [shown] = await shop.payments.provider.listRefunds(of.intentId);
    const again = await sdk().refunds.create({
      payment_intent: of.intentId,
      amount: 10,
      metadata: { refund_id: shown?.refundId ?? '' },
    });
    const unknown = await sdk().refunds.create({
      payment_intent: of.intentId,
      amount: 10,
      metadata: { refund_id: newId('ref', now) },
    });
    later();
    const differences = await found();
    expect(differences).toEqual(
      expect.arrayContaining([
        { kind: 'refund-amount', object: again.id },
        { kind: 'refund-twice', object: again.id },
        { kind: 'refund-unknown', object: unknown.id },
        { kind: 'bank-refund', object: of.intentId },
      ]),
    );
    expect(differences).toHaveLength(4);
  });

  test('a refund by the bank takes as many credits as it paid for, both ways', async () => {
    const of = await bought(shop, 'boost-50', ann);
    shop.stripe.refundAtBank(of.intentId, 1_001);
    later();
    const { differences } = await reconcile(shop.payments, begun - minute);
    expect(differences).toMatchObject([
      {
        kind: 'bank-refund',
        object: of.intentId,
        expected: expect.stringMatching(/^21 credits/),
        found: '0 credits',
      },
    ]);
    await shop.deliver();
    expect(await found()).toEqual([]);
    // A clawback without a refund.
    const bob = await shop.signUp();
    const other = await bought(shop, 'boost-20', bob);
    const { lotId } = await lotOf(shop, other);
    await shop.payments.ledger.setClawback({
      userId: bob.userId,
      lotId,
      ref: chargeOf(other.intentId),
      cause: 'cash_refund',
      wanted: 5,
      owes: true,
      actor: 'test',
    });
    later();
    expect(await found()).toEqual([{ kind: 'bank-refund', object: other.intentId }]);
  });
});

describe('a dispute', () => {
  test('a dispute without a webhook event is found, and so is each of its moves', async () => {
    const of = await bought(shop, 'boost-20', ann);
    const { id } = shop.stripe.openDispute(of.intentId, { inquiry: true });
    later();
    expect(await found()).toEqual([{ kind: 'dispute-missing', object: id }]);
    await shop.deliver();
    expect(await found()).toEqual([]);
    for (const move of ['needs_response', 'won'] as const) {
      shop.stripe.moveDispute(id, move);
      expect(new Set(await found())).toEqual(
        new Set([
          { kind: 'dispute-stage', object: id },
          { kind: 'dispute-clawback', object: id },
        ]),
      );
      await shop.deliver();
      expect(await found()).toEqual([]);
    }
  });

  test('a dispute that only the ledger knows is found', async () => {
    const of = await bought(shop, 'boost-20', ann);
    const { lotId } = await lotOf(shop, of);
    await shop.payments.ledger.setClawback({
      userId: ann.userId,
      lotId,
      ref: 'dp_none',
      cause: 'dispute',
      wanted: 5,
      owes: true,
      actor: 'test',
    });
    expect(await found()).toEqual([{ kind: 'dispute-only-here', object: 'dp_none' }]);
  });
});

describe('our own rows', () => {
  test('our own rows show a purchase that is stuck, and one that says more than the ledger', async () => {
    const { purchase_id: stuck } = await shop.checkout(ann, 'boost-20');
    const { purchase_id: ahead } = await shop.checkout(ann, 'boost-50');
    await shop.database.pool.query(
      `update purchase set status = 'paid', paid_at = $2 where id = $1`,
      [ahead, new Date(now)],
    );
    later(27 * hour);
    expect(await found()).toEqual([
      { kind: 'purchase-stuck', object: stuck },
      { kind: 'purchase-without-lot', object: ahead },
    ]);
    await shop.database.pool.query(`update purchase set status = 'expired' where id = $1`, [stuck]);
  });

  test('our own rows are as old as our own clock says, also when that of the provider is ahead', async () => {
    const { intentId } = await bought(shop, 'boost-50', ann);
    await shop.data('/credits/create-payment-intent', {
      token: ann.token,
      body: { package_id: 'boost-20' },
    });
    later(12 * minute);
    shop.stripe.advance(31 * day);
    try {
      // Of the provider's next month, by which its clock is known to be ahead.
      shop.stripe.refundAtBank(intentId, 500);
      expect(await kinds()).toEqual([]);
    } finally {
      shop.stripe.world.store.put('setting', 'ahead', { value: 0 });
    }
  });

  test('our own rows show a webhook event that is not processed', async () => {
    const { session_id: session } = await shop.checkout(ann, 'boost-20');
    shop.stripe.pay(session, 'abandon');
    await shop.payments.provider.expireCheckout(session);
    await shop.stripe.deliverAll();
    later(2 * hour);
    expect(new Set(await kinds())).toEqual(new Set(['webhook-event-not-processed']));
    await shop.runJobs();
    expect(await found()).toEqual([]);
  });
});

describe('once a day', () => {
  test('the books are compared once a day over all workers, and what differs is kept and logged', async () => {
    const { session_id: session } = await shop.checkout(ann, 'boost-20');
    shop.stripe.pay(session, 'pay');
    later();
    shop.logged.length = 0;
    const log = shop.core.log;
    const daily = { ...shop.payments, log };
    const [first, second] = await Promise.all([reconcileDaily(daily), reconcileDaily(daily)]);
    const result = first ?? second;
    expect([first, second]).toContain(null);
    expect(result?.differences.map(({ kind }) => kind)).toContain('payment-without-lot');
    const lines = shop.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        code: 'payment-without-lot',
        msg: 'The ledger and the payment provider differ',
      }),
    );
    const { rows } = await shop.database.pool.query(
      'select differences, summary, ended_at from reconciliation order by id desc limit 1',
    );
    expect(rows).toMatchObject([
      {
        differences: result?.differences.length,
        summary: { differences: expect.any(Array), cash: expect.any(Array), is_balanced: true },
        ended_at: expect.any(Date),
      },
    ]);
    expect(await reconcileDaily(daily)).toBe(null);
    await shop.deliver();
    later(day);
    expect((await reconcileDaily(daily))?.since).toBe(
      new Date(Date.parse(result?.ranAt ?? '') - day).toISOString(),
    );
  });

  test('the daily comparison is tried again an hour after the provider was unavailable', async () => {
    const broken = {
      ...shop.payments,
      provider: {
        ...shop.payments.provider,
        listCharges: () => {
          throw new Error('away');
        },
      },
    };
    await expect(reconcileDaily(broken)).rejects.toThrow('away');
    expect(await reconcileDaily(shop.payments)).toBe(null);
    later(61 * minute);
    expect(await reconcileDaily(shop.payments)).not.toBe(null);
  });
});

describe('the command', () => {
  const ran = async (args: readonly string[], source: EnvSource) =>
    runHere(shop, reconcileCommands, ['credits', 'reconcile', ...args], source);

  test('the command ends with 1 when the books differ, and names what and why', async () => {
    const { session_id: session } = await shop.checkout(ann, 'boost-20');
    shop.stripe.pay(session, 'pay');
    later();
    const since = new Date(begun - minute).toISOString();
    const { code, out } = await ran(['--since', since, '--json'], shop.stripe.env);
    const document = JSON.parse(out) as { differences: object[]; trial_balance: object[] };
    expect(document.differences).toMatchObject([
      {
        kind: 'payment-without-lot',
        cause: expect.any(String),
        repairs: expect.any(String),
      },
    ]);
    expect(document).toMatchObject({
      balanced: true,
      trial_balance: [{ currency: 'usd', sum: 0 }],
    });
    expect(code).toBe(1);
  });

  test('the command reads what the sandbox keeps while nothing runs, and ends with 0 on clean books', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sevenfold-reconcile-'));
    // The process that looks there reads its own settings.
    vi.stubEnv('MODE', 'local');
    vi.stubEnv('DATA_DIR', folder);
    try {
      const { code, out } = await ran(['--since', new Date(now).toISOString()], {});
      expect(out).toContain('0 charges, 0 invoices, 0 refunds, 0 disputes against 0 lots');
      expect(code).toBe(0);
    } finally {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test.each(['yesterday', '2026-02-30', '2026-11-20T10', '20261120'])(
    'the command ends with 2 when it is called with --since %s',
    (since) => {
      expect(() => sinceOf(since, now)).toThrow('--since must be a day or a time');
    },
  );

  test('the command ends with 2 for a time in the future, because nothing would be compared', () => {
    expect(sinceOf(new Date(now).toISOString(), now)).toBe(now);
    for (const ahead of [new Date(now + 1).toISOString(), '9999-01-01'])
      expect(() => sinceOf(ahead, now)).toThrow('--since must not be in the future');
  });
});
