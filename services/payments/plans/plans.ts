import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import { derivedId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { isLive, tierOf, tierUntil } from './tier.ts';
import type { PlanRow, Tier } from './tier.ts';
import { checkSoon } from '#services/payments/purchases/rows.ts';
import type { SubscriptionView } from '#services/payments/provider.ts';

/**
 * Plans, as rows of `plan`: what was last read of a subscription, and what was paid of it. The provider
 * decides how a plan stands; `plan-tier.ts` what that means; here it is brought together, so that
 * webhook events in any order, at once and again come to the same row and the same tier.
 *
 * Two readings of the same subscription may be stored in the wrong order. So each takes the database's
 * time before it asks, and only what was asked later replaces what is there: whatever the earlier one
 * might have seen beyond it has a webhook event of its own, which asks later still.
 *
 * The tier is computed and written under a lock on the person's row, from the plans as they are then.
 */
const actor = 'system:plans';

const planLimits = {
  /** A living plan is read again after so long, in case nothing was heard of it. */
  readEveryMs: 86_400_000,
  /** After a reading that failed. */
  readAgainMs: 600_000,
  /** Plans that one sweep looks at. */
  sweepPage: 20,
} as const;

/** One period of a plan, by the invoice that paid for it. Times are milliseconds since 1970. */
export type PaidPeriod = {
  invoiceId: string;
  packageId: string;
  paidAt: number;
  /** The end of the period. */
  paidUntil: number;
};

// --- reading from the provider ---

/**
 * Reads a subscription and keeps what it says, together with an invoice of it that was paid. Null when
 * it belongs to no user, or is for nothing that we sell.
 */
export async function readPlan(
  dependencies: PaymentDependencies,
  subscriptionId: string,
  paidInvoice?: PaidPeriod,
): Promise<PlanRow | null> {
  const { pool, provider } = dependencies;
  const reading = await beginReading(pool);
  const view = await provider.retrieveSubscription(subscriptionId);
  if (view !== null) return keepView(dependencies, view, reading, paidInvoice);
  const known = await findPlan(pool, subscriptionId);
  if (known === null) return null;
  // The provider knows nothing of it any more, so it takes no more money.
  await withPerson(dependencies, known.user_id, async (client) => {
    await client.query(
      `update plan set status = 'canceled', ended_at = coalesce(ended_at, $2), due_minor = null,
         checked_at = $2, reading = $3, updated_at = $2
       where subscription_id = $1 and reading <= $3`,
      [subscriptionId, now(dependencies), reading],
    );
  });
  return findPlan(pool, subscriptionId);
}

/** Keeps the answer to something that was asked of the provider. `reading` is from before it was asked. */
export async function keepView(
  dependencies: PaymentDependencies,
  view: SubscriptionView,
  reading: string,
  paidInvoice?: PaidPeriod,
): Promise<PlanRow | null> {
  const userId = await ownerOf(dependencies.pool, view);
  if (userId === null) {
    dependencies.log.warn(
      { resource_id: view.subscriptionId },
      'A subscription belongs to no user',
    );
    return null;
  }
  const known = await findPlan(dependencies.pool, view.subscriptionId);
  const packageId = view.packageId ?? known?.next_package_id ?? null;
  if (packageId === null) return null;
  await withPerson(dependencies, userId, async (client) => {
    await storeView(client, { ...view, packageId, userId }, reading, now(dependencies));
    if (paidInvoice)
      await storeInvoice(client, view.subscriptionId, paidInvoice, now(dependencies));
  });
  return findPlan(dependencies.pool, view.subscriptionId);
}

/** By the clock of the database, which is one for all processes. */
export async function beginReading(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ now: string }>('select clock_timestamp()::text as now');
  return rows[0]!.now;
}

/** Whom the customer is, by our own records first; what stands at the provider can be edited there. */
async function ownerOf(client: Queryable, view: SubscriptionView): Promise<string | null> {
  const { rows } = await client.query<{ user_id: string }>(
    `select user_id from stripe_customer where customer_id = $1
     union all select user_id from plan where subscription_id = $2 limit 1`,
    [view.customerId, view.subscriptionId],
  );
  return rows[0]?.user_id ?? view.userId;
}

async function storeView(
  client: Queryable,
  view: SubscriptionView & { packageId: string; userId: string },
  reading: string,
  at: Date,
): Promise<void> {
  await client.query(
    `insert into plan as plan (subscription_id, user_id, customer_id, package_id, next_package_id, status,
       current_period_start, current_period_end, past_due_since, cancel_at_period_end, ended_at,
       reading, checked_at, created_at, updated_at, due_minor)
     values ($1, $2, $3, $4, $4, $5, $6, $7,
       case when $5 in ('past_due', 'unpaid') then $11::timestamptz end, $8, $9, $10, $11, $12, $11, $13)
     on conflict (subscription_id) do update set
       package_id = case when plan.invoice_id is null
         then excluded.package_id else plan.package_id end,
       next_package_id = excluded.next_package_id,
       status = excluded.status,
       current_period_start = excluded.current_period_start,
       current_period_end = excluded.current_period_end,
       past_due_since = case when excluded.past_due_since is null
         then null else coalesce(plan.past_due_since, excluded.past_due_since) end,
       cancel_at_period_end = excluded.cancel_at_period_end,
       ended_at = excluded.ended_at,
       due_minor = excluded.due_minor,
       reading = excluded.reading,
       checked_at = excluded.checked_at,
       updated_at = excluded.updated_at
     where plan.reading <= excluded.reading`,
    [
      view.subscriptionId,
      view.userId,
      view.customerId,
      view.packageId,
      view.status,
      timeOrNull(view.periodStart),
      timeOrNull(view.periodEnd),
      view.cancelsAtPeriodEnd,
      timeOrNull(view.endedAt),
      reading,
      at,
      new Date(view.createdAt),
      view.dueMinor,
    ],
  );
}

/**
 * Invoices may be paid and reported in the wrong order, and the subscription may be periods ahead of them:
 * what counts is the one whose period ends last.
 */
async function storeInvoice(
  client: Queryable,
  subscriptionId: string,
  { invoiceId, packageId, paidAt, paidUntil }: PaidPeriod,
  at: Date,
): Promise<void> {
  await client.query(
    `update plan set
       package_id = case when $5 >= coalesce(paid_until, '-infinity') then $3 else package_id end,
       invoice_id = case when $5 >= coalesce(paid_until, '-infinity') then $2 else invoice_id end,
       paid_since = least(paid_since, $4),
       paid_until = greatest(paid_until, $5),
       updated_at = $6
     where subscription_id = $1`,
    [subscriptionId, invoiceId, packageId, new Date(paidAt), new Date(paidUntil), at],
  );
}

// --- the tier ---

/** Changes the plans of one person, and then their tier, alone. */
async function withPerson(
  dependencies: PaymentDependencies,
  userId: string,
  work: (client: pg.ClientBase) => Promise<unknown>,
): Promise<void> {
  await inTransaction(dependencies.pool, async (client) => {
    const { rows } = await client.query<{ subscription_tier: Tier }>(
      'select subscription_tier from users where id = $1 for update',
      [userId],
    );
    await work(client);
    await settleTier(dependencies, client, userId, rows[0]?.subscription_tier ?? null);
  });
}

/** `current` is null for an erased account. */
async function settleTier(
  dependencies: PaymentDependencies,
  client: pg.ClientBase,
  userId: string,
  current: Tier | null,
): Promise<void> {
  const at = now(dependencies);
  const plans = await readPlans(client, userId);
  for (const plan of plans) {
    const next = nextCheckOf(plan, at.getTime());
    if (next?.getTime() !== plan.next_check_at?.getTime())
      await client.query('update plan set next_check_at = $2 where subscription_id = $1', [
        plan.subscription_id,
        next,
      ]);
  }
  const tier = tierOf(plans, at.getTime());
  if (tier === null || current === null || tier === current) return;
  await client.query('update users set subscription_tier = $2, updated_at = $3 where id = $1', [
    userId,
    tier,
    at,
  ]);
  await dependencies.audit(
    { actor, action: 'tier.changed', subject: userId, userId, detail: { from: current, to: tier } },
    client,
  );
}

/**
 * When its tier ends, and a day after the last reading while it may still change. One that we have ended
 * stays due until the provider has ended it, too.
 */
function nextCheckOf(plan: PlanRow, atMs: number): Date | null {
  const until = tierUntil(plan);
  const readAt = plan.checked_at.getTime() + planLimits.readEveryMs;
  const times = [
    ...(until !== null && until > atMs ? [until] : []),
    ...(plan.ended_at === null
      ? [plan.revoked_at === null ? Math.max(atMs + planLimits.readAgainMs, readAt) : atMs]
      : []),
  ];
  return times.length === 0 ? null : new Date(Math.min(...times));
}

// --- rows ---

export async function findPlan(client: Queryable, subscriptionId: string): Promise<PlanRow | null> {
  const { rows } = await client.query<PlanRow>('select * from plan where subscription_id = $1', [
    subscriptionId,
  ]);
  return rows[0] ?? null;
}

/** Of one person, the oldest first. */
export async function readPlans(client: Queryable, userId: string): Promise<PlanRow[]> {
  const { rows } = await client.query<PlanRow>(
    'select * from plan where user_id = $1 order by created_at, subscription_id',
    [userId],
  );
  return rows;
}

// --- ending a plan together with its tier ---

/**
 * Whether a purchase is what pays for the present period of a plan, so that giving its credits back
 * ends that plan. `at` is ISO 8601. A period that is over by our clock is the present one as long as the
 * provider has begun no other, as far as is known.
 */
export async function isCurrentPeriod(
  client: Queryable,
  purchaseId: string,
  at: string,
): Promise<boolean> {
  const { rows } = await client.query<PlanRow>(
    `select plan.* from purchase paid join plan on plan.subscription_id = paid.subscription_id
     where paid.id = $1 and paid.kind = 'invoice'
       and ($2 < paid.period_end or plan.current_period_end <= paid.period_end)
       and not exists (
       select from purchase later
       where later.subscription_id = paid.subscription_id and later.kind = 'invoice'
         and later.status = 'paid' and later.period_end > paid.period_end
         and least(later.paid_at, later.created_at) <= $2)`,
    [purchaseId, at],
  );
  const plan = rows[0];
  return plan !== undefined && Date.parse(at) < (tierUntil(plan) ?? 0);
}

/**
 * The same before the credits are given back. A period that is over by our clock may have
 * been followed by another one that we have not heard of, so the provider is asked then.
 *
 * @throws Problem 503 while the provider is unavailable and has to be asked
 */
export async function endsPlan(
  dependencies: PaymentDependencies,
  purchaseId: string,
  at: string,
): Promise<boolean> {
  const plan = await findPlanPaidBy(dependencies.pool, purchaseId);
  if (plan === null) return false;
  await readWhenOver(dependencies, plan, at);
  return isCurrentPeriod(dependencies.pool, purchaseId, at);
}

type PaidPlan = PlanRow & { period_end: Date };

async function findPlanPaidBy(client: Queryable, purchaseId: string): Promise<PaidPlan | null> {
  const { rows } = await client.query<PaidPlan>(
    `select plan.*, paid.period_end
     from purchase paid join plan on plan.subscription_id = paid.subscription_id
     where paid.id = $1 and paid.kind = 'invoice'`,
    [purchaseId],
  );
  return rows[0] ?? null;
}

/** Returns whether the period that was paid for is over by our clock. */
async function readWhenOver(
  dependencies: PaymentDependencies,
  plan: PaidPlan,
  at: string,
): Promise<boolean> {
  const isOver = plan.period_end.getTime() <= Date.parse(at);
  if (isOver && plan.revoked_at === null) await readPlan(dependencies, plan.subscription_id);
  return isOver;
}

/**
 * Ends the plan whose present period, at the time `at`, a purchase paid for, and its tier, at once. What
 * was paid for it after that time, or for a later period, goes back. Nothing happens for any other
 * purchase, or the second time.
 *
 * Once the period is over, the next one may have been begun and paid without our having heard of it. That
 * one continues, so the provider is asked before anything ends.
 *
 * @throws Problem 503 while the provider is unavailable; unless it had to be asked whether the plan has renewed,
 *   the tier has ended all the same, and the sweeper continues
 */
export async function endPlanOf(
  dependencies: PaymentDependencies,
  purchaseId: string,
  at: string,
  as: 'refunded' | 'taken_back' = 'refunded',
): Promise<void> {
  const plan = await findPlanPaidBy(dependencies.pool, purchaseId);
  if (plan === null) return;
  const isOver = await readWhenOver(dependencies, plan, at);
  if (await isCurrentPeriod(dependencies.pool, purchaseId, at))
    await revoke(
      dependencies,
      plan,
      as,
      isOver ? lastMomentOf(plan.period_end) : new Date(at),
      plan.period_end,
    );
  await finishEnding(dependencies, plan.subscription_id);
}

/** Whatever is paid for the next period is paid after it, whosever clock is ahead. */
function lastMomentOf(periodEnd: Date): Date {
  return new Date(periodEnd.getTime() - 1);
}

/**
 * Ends a plan of which nothing was ever paid, because its first payment has failed. A
 * buyer who then takes another plan is not to be charged for this one.
 */
export async function endUnpaidPlan(
  dependencies: PaymentDependencies,
  subscriptionId: string,
): Promise<void> {
  const reading = await beginReading(dependencies.pool);
  await keepView(
    dependencies,
    await dependencies.provider.cancelSubscription(subscriptionId),
    reading,
  );
}

/** Ends every plan of an account that is closed, known here or not. Nothing is paid back by that. */
export async function cancelPlansOf(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<void> {
  const { pool, provider } = dependencies;
  for (const plan of await readPlans(pool, userId)) {
    if (plan.ended_at !== null) continue;
    await revoke(dependencies, plan, 'erased', now(dependencies));
    await finishEnding(dependencies, plan.subscription_id);
  }
  const { rows } = await pool.query<{ customer_id: string }>(
    'select customer_id from stripe_customer where user_id = $1',
    [userId],
  );
  for (const { customer_id: customerId } of rows)
    for (const { subscriptionId, endedAt } of await provider.listSubscriptions(customerId))
      if (endedAt === null) await provider.cancelSubscription(subscriptionId);
}

/**
 * One person has one plan. Where two checkouts were paid, the one that was paid later is ended and its
 * credits go back. A closed account has none.
 */
export async function endSurplusPlans(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<void> {
  const { pool, billedPerson } = dependencies;
  const isGone = (await billedPerson(userId)) === null;
  if (isGone) return cancelPlansOf(dependencies, userId);
  if ((await paidAndLive(pool, userId)).length < 2) return;
  // What is known may be old: an older plan that has ended meanwhile makes no other one the second.
  for (const { subscription_id: id } of await paidAndLive(pool, userId))
    await readPlan(dependencies, id);
  const [, ...later] = await paidAndLive(pool, userId);
  for (const plan of later) {
    await revoke(dependencies, plan, 'second', now(dependencies));
    await finishEnding(dependencies, plan.subscription_id);
  }
}

/** In the order in which they were first paid, which does not depend on the order of events. */
async function paidAndLive(client: Queryable, userId: string): Promise<PlanRow[]> {
  const { rows } = await client.query<PlanRow>(
    `select * from plan where user_id = $1 and paid_since is not null
     order by paid_since, created_at, subscription_id`,
    [userId],
  );
  return rows.filter(isLive);
}

async function revoke(
  dependencies: PaymentDependencies,
  { subscription_id: subscriptionId, user_id: userId }: PlanRow,
  as: NonNullable<PlanRow['revoked_as']>,
  at: Date,
  from: Date | null = null,
): Promise<void> {
  await withPerson(dependencies, userId, async (client) => {
    const { rowCount } = await client.query(
      `update plan set revoked_at = $2, revoked_as = $3, updated_at = $4, revoked_from = $5
       where subscription_id = $1 and revoked_at is null`,
      [subscriptionId, at, as, now(dependencies), from],
    );
    if (rowCount === 1)
      await dependencies.audit(
        { actor, action: 'plan.ended', subject: subscriptionId, userId, detail: { reason: as } },
        client,
      );
  });
}

/**
 * What is left to do about a plan that was ended by us: what was paid for nothing goes back, and the
 * provider takes no more. In this order, so that a plan that has ended at the provider is done with.
 */
export async function finishEnding(
  dependencies: PaymentDependencies,
  subscriptionId: string,
): Promise<void> {
  const plan = await findPlan(dependencies.pool, subscriptionId);
  if (plan === null || plan.revoked_at === null) return;
  await returnPaidForNothing(dependencies, plan);
  if (plan.ended_at !== null) return;
  const reading = await beginReading(dependencies.pool);
  const view = await dependencies.provider.cancelSubscription(subscriptionId);
  await keepView(dependencies, view, reading);
}

/**
 * Of a second plan everything; of others what was paid after they had ended. What was used
 * meanwhile stays paid for. An erased account gives back on its own.
 */
async function returnPaidForNothing(
  { pool, ledger, log, clock }: PaymentDependencies,
  plan: PlanRow,
): Promise<void> {
  if (plan.revoked_as === 'erased') return;
  const { rows } = await pool.query<{ id: string; lot_id: string }>(
    `select purchase.id, purchase.lot_id from purchase
     where subscription_id = $1 and kind = 'invoice' and status = 'paid' and lot_id is not null
       and ($2 = 'second' or period_start >= $3)
       and exists (select from paid_lot where paid_lot.lot_id = purchase.lot_id)
     order by paid_at`,
    [plan.subscription_id, plan.revoked_as, plan.revoked_from],
  );
  for (const { id, lot_id: lotId } of rows)
    try {
      await checkSoon(pool, id, new Date(clock()));
      await ledger.requestRefund({
        userId: plan.user_id,
        lotId,
        refundId: derivedId('ref', lotId, 'ended-plan'),
        requestedAt: new Date(clock()).toISOString(),
        reason: 'operator',
        actor,
      });
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 409) throw error;
      log.warn(
        { resource_id: id, user_id: plan.user_id, code: error.code },
        'A payment for a plan that had ended could not be returned',
      );
    }
}

// --- sweeping them ---

/**
 * Looks at plans whose tier's time has come, that were ended and not finished, or that nothing was
 * heard of for a day. Each is taken by moving when it was read, to where it is due again soon should
 * the reading fail. Returns how many were due.
 */
export async function sweepPlans(dependencies: PaymentDependencies): Promise<number> {
  const { log } = dependencies;
  const due = await takeDue(dependencies);
  let isUnavailable = false;
  for (const { subscription_id: subscriptionId, user_id: userId } of due)
    try {
      // A tier ends on time also while the provider is unavailable, which may be for good.
      if (isUnavailable) await withPerson(dependencies, userId, async () => undefined);
      else await check(dependencies, subscriptionId, userId);
    } catch (error) {
      isUnavailable = error instanceof Problem && error.status === 503;
      log.warn({ err: error, user_id: userId }, 'A plan could not be checked');
      await withPerson(dependencies, userId, async () => undefined);
    }
  return due.length;
}

/** Taken by moving it, to where it is due again soon should the check fail. */
async function takeDue({ pool, clock }: PaymentDependencies): Promise<PlanRow[]> {
  const { rows } = await pool.query<PlanRow>(
    `update plan set next_check_at = $2 where subscription_id in (
       select subscription_id from plan where next_check_at <= $1
       order by next_check_at limit $3 for update skip locked)
     returning *`,
    [new Date(clock()), new Date(clock() + planLimits.readAgainMs), planLimits.sweepPage],
  );
  return rows;
}

async function check(
  dependencies: PaymentDependencies,
  subscriptionId: string,
  userId: string,
): Promise<void> {
  await readPlan(dependencies, subscriptionId);
  await finishEnding(dependencies, subscriptionId);
  await endSurplusPlans(dependencies, userId);
}

function timeOrNull(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

function now({ clock }: Pick<PaymentDependencies, 'clock'>): Date {
  return new Date(clock());
}
