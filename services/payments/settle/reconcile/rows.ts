import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { repairers, settleMs } from './difference.ts';
import type { Difference } from './difference.ts';
import type { PlanRow } from '#services/payments/plans/rows.ts';
import type { PaymentProvider, SubscriptionView } from '#services/payments/provider.ts';
import { processingMs } from '#services/payments/purchases/rows.ts';
import { readCashBalances, readUnbalancedCash } from './cash-ledger.ts';
import type { CashBalance } from './cash-ledger.ts';
import type { Books } from './books.ts';

/** Our own rows against the ledger: purchases that are stuck or behind, webhook events that wait. */
const hour = 60 * 60 * 1000;
/** A checkout can be paid for an hour and an intent for a day. */
const openMs = 26 * hour;

type OpenRow = { id: string; user_id: string; status: string; created_at: Date };

export async function compareRows(client: Queryable, books: Books): Promise<Difference[]> {
  return [
    ...(await stuckPurchases(client, books)),
    ...(await behindPurchases(client, books)),
    ...(await withoutLots(client, books)),
    ...(await unprocessedWebhookEvents(client, books)),
  ];
}

async function stuckPurchases(client: Queryable, { ourNow }: Books): Promise<Difference[]> {
  const { rows } = await client.query<OpenRow>(
    `select id, user_id, status, created_at from purchase
     where (status = 'open' and created_at < $1) or (status = 'processing' and created_at < $2)
     order by created_at, id`,
    [new Date(ourNow - openMs), new Date(ourNow - processingMs)],
  );
  return rows.map((row) => ({
    kind: 'purchase-stuck',
    object: row.id,
    userId: row.user_id,
    expected: 'paid, failed or expired by now',
    found: `${row.status} since ${row.created_at.toISOString()}`,
    cause: 'no worker has asked the provider about it, or the provider does not answer',
    repairs: repairers.purchases,
    isSettling: false,
  }));
}

/** The grant comes before the row: a process that was killed in between has left this. */
async function behindPurchases(client: Queryable, { since, now }: Books): Promise<Difference[]> {
  const { rows } = await client.query<{
    lot_id: string;
    user_id: string;
    purchase_id: string;
    status: string | null;
    granted_at: Date;
  }>(
    `select l.lot_id, l.user_id, l.purchase_id, p.status, l.granted_at
     from paid_lot l left join purchase p on p.id = l.purchase_id
     where l.granted_at >= $1 and (p.id is null or p.status <> 'paid' or p.lot_id <> l.lot_id
       or p.payment_key <> l.payment_key or p.user_id <> l.user_id)
     order by l.granted_at, l.lot_id`,
    [new Date(since)],
  );
  return rows.map((row) => ({
    kind: 'purchase-behind',
    object: row.purchase_id ?? row.lot_id,
    userId: row.user_id,
    expected: `a paid purchase for ${row.lot_id}`,
    found: row.status === null ? 'no purchase' : `one that is ${row.status}`,
    cause: 'the process was killed after the grant, before the purchase was written',
    repairs: row.status === null ? repairers.operator : repairers.purchases,
    isSettling: now - row.granted_at.getTime() < settleMs,
  }));
}

async function withoutLots(client: Queryable, { since }: Books): Promise<Difference[]> {
  const { rows } = await client.query<{ id: string; user_id: string; payment_key: string | null }>(
    `select id, user_id, payment_key from purchase p
     where status = 'paid' and kind <> 'plan_checkout' and paid_at >= $1
       and not exists (select from paid_lot l where l.purchase_id = p.id)
     order by paid_at, id`,
    [new Date(since)],
  );
  return rows.map((row) => ({
    kind: 'purchase-without-lot',
    object: row.id,
    userId: row.user_id,
    expected: `a lot for ${row.payment_key ?? 'it'}`,
    found: 'no lot',
    cause: 'the purchase says that it was granted, and the ledger does not',
    repairs: row.payment_key?.startsWith('invoice:') ? repairers.settling : repairers.operator,
    isSettling: false,
  }));
}

async function unprocessedWebhookEvents(
  client: Queryable,
  { ourNow }: Books,
): Promise<Difference[]> {
  const { rows } = await client.query<{ id: string; type: string; received_at: Date }>(
    `select id, type, received_at from stripe_event
     where processed_at is null and received_at < $1 order by received_at, id limit 100`,
    [new Date(ourNow - hour)],
  );
  return rows.map((row) => ({
    kind: 'webhook-event-not-processed',
    object: row.id,
    userId: null,
    expected: `${row.type} processed within an hour`,
    found: `waiting since ${row.received_at.toISOString()}`,
    cause: 'its job fails or was lost, or no worker runs',
    repairs: 'a worker adds lost jobs again after two minutes; its log says why one fails',
    isSettling: false,
  }));
}

// --- plans ---

/** A living plan says what its subscription does. */
export async function comparePlans(
  { pool, provider }: { pool: pg.Pool; provider: PaymentProvider },
  { ourNow }: Books,
): Promise<Difference[]> {
  const found: Difference[] = [];
  for await (const plan of livingPlans(pool)) {
    const view = await provider.retrieveSubscription(plan.subscription_id);
    const wrong = view === null ? ['no such subscription'] : planDifferences(plan, view);
    if (wrong.length === 0) continue;
    found.push({
      kind: 'plan-behind',
      object: plan.subscription_id,
      userId: plan.user_id,
      expected: view === null ? 'a subscription' : planText(view),
      found: view === null ? 'none at the provider' : `another ${wrong.join(', ')}`,
      cause: 'the webhook event of a change was lost or is still on its way',
      repairs: repairers.plans,
      isSettling: ourNow - plan.checked_at.getTime() < settleMs,
    });
  }
  return found;
}

const plansAtOnce = 200;

async function* livingPlans(client: Queryable): AsyncGenerator<PlanRow> {
  for (let after = ''; ;) {
    const { rows }: { rows: PlanRow[] } = await client.query<PlanRow>(
      `select * from plan where ended_at is null and subscription_id > $1
       order by subscription_id limit $2`,
      [after, plansAtOnce],
    );
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < plansAtOnce) return;
    after = last.subscription_id;
  }
}

function planDifferences(plan: PlanRow, view: SubscriptionView): string[] {
  return [
    ...(plan.status === view.status ? [] : ['status']),
    ...(plan.cancel_at_period_end === view.cancelsAtPeriodEnd ? [] : ['word on its end']),
    ...((plan.current_period_end?.getTime() ?? null) === view.periodEnd ? [] : ['period']),
    ...(view.packageId === null || packagesOf(plan).includes(view.packageId) ? [] : ['package']),
    ...(view.endedAt === null ? [] : ['end']),
  ];
}

/** What was paid, and what it becomes: the subscription's price is the latter when there is one. */
function packagesOf(plan: PlanRow): (string | null)[] {
  return [plan.next_package_id ?? plan.package_id];
}

function planText(view: SubscriptionView): string {
  const end = view.periodEnd === null ? 'no end' : new Date(view.periodEnd).toISOString();
  return `${view.packageId ?? 'an unknown price'}, ${view.status}, paid until ${end}`;
}

// --- the money ---

export type CashReport = { balances: CashBalance[]; differences: Difference[] };

/** Each charge has moved the balance by its amount, and each transaction of the double entry sums to 0. */
export async function compareCash(client: Queryable, books: Books): Promise<CashReport> {
  const unbalanced = (await readUnbalancedCash(client)).map((id): Difference => ({
    kind: 'cash-unbalanced',
    object: id,
    userId: null,
    expected: 'lines that sum to 0',
    found: 'lines that do not',
    cause: 'an event or a balance transaction does not hold what it should',
    repairs: repairers.operator,
    isSettling: false,
  }));
  return {
    balances: await readCashBalances(client),
    differences: [...(await compareCharges(client, books)), ...unbalanced],
  };
}

async function compareCharges(client: Queryable, books: Books): Promise<Difference[]> {
  const charges = books.charges.filter(
    ({ isPaid, balanceTransactionId }) => isPaid && balanceTransactionId !== null,
  );
  const { rows } = await client.query<{ id: string; amount: number; currency: string }>(
    `select id, amount_minor::float8 as amount, currency from balance_transaction
     where id = any ($1)`,
    [charges.map(({ balanceTransactionId }) => balanceTransactionId)],
  );
  const moved = new Map(rows.map((row) => [row.id, row]));
  return charges.flatMap((charge): Difference[] => {
    const row = moved.get(charge.balanceTransactionId ?? '');
    const common = {
      object: charge.chargeId,
      userId: null,
      expected: `a balance transaction of ${charge.amountMinor} ${charge.currency}`,
    };
    if (!row)
      return [
        {
          ...common,
          kind: 'balance-missing',
          found: 'none',
          cause: 'the provider has not listed it so far',
          repairs: repairers.next,
          isSettling: books.now - charge.createdAt < settleMs,
        },
      ];
    // In another currency it was exchanged, and the amounts cannot be compared.
    if (row.currency !== charge.currency || row.amount === charge.amountMinor) return [];
    return [
      {
        ...common,
        kind: 'balance-amount',
        found: `one of ${row.amount} ${row.currency}`,
        cause: 'the provider moved another amount than it charged',
        repairs: repairers.operator,
        isSettling: false,
      },
    ];
  });
}
