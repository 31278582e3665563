import type { Queryable } from '#db/connect.ts';
import { originsOf } from '#services/platform/http/cors.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import { Problem } from '#services/platform/problem.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Tier } from '#services/identity/contract/session.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import { requirePackage } from '#services/payments/purchases/checkout.ts';
import type { paymentEndpoints, Plan, PlanRequest } from '#services/payments/contract.ts';
import { knownCustomer, withCustomer } from '#services/payments/customers.ts';
import type { PaymentRouteDependencies } from '#services/payments/dependencies.ts';
import { planMovedEmail } from '#services/payments/emails/plan.ts';
import type { MovedPlan } from '#services/payments/emails/plan.ts';
import { isLive, isPastDue, tierUntil } from './tier.ts';
import { beginReading, keepView } from './read.ts';
import { readPlans } from './rows.ts';
import type { PlanRow } from './rows.ts';
import type { SubscriptionView } from '#services/payments/provider.ts';
import { ownAddress } from '#services/payments/purchases/return-address.ts';

/** A user's plan, changes of it, and the provider's own pages about it. */
export function planHandlers(dependencies: PaymentRouteDependencies) {
  return {
    'GET /credits/plan': async ({ userId }) => planReply(dependencies, userId),
    'POST /credits/plan': async ({ userId, body }) => {
      await dependencies.rateLimits.take('plan', userId, { userId });
      await changePlan(dependencies, userId, body);
      return planReply(dependencies, userId);
    },
    'POST /credits/portal-session': async ({ userId, body }) => {
      const { own, foreign } = originsOf(dependencies);
      const returnUrl =
        body.return_url === undefined
          ? new URL('/credits/plan', dependencies.publicUrl)
          : ownAddress(body.return_url, 'return_url', new Set([...own, ...foreign]));
      await dependencies.rateLimits.take('portal', userId, { userId });
      await requireCustomer(dependencies, userId);
      const { url } = await withCustomer(dependencies, userId, async (customerId) =>
        dependencies.provider.createPortal({ customerId, returnUrl: returnUrl.href }),
      );
      return { url };
    },
  } satisfies Partial<Handlers<typeof paymentEndpoints>>;
}

// --- showing it ---

async function planReply(
  { pool, monthlyLimits, clock }: PaymentRouteDependencies,
  userId: string,
): Promise<Plan> {
  const { rows } = await pool.query<{ tier: Tier }>(
    'select subscription_tier as tier from users where id = $1',
    [userId],
  );
  const tier = rows[0]?.tier ?? 'free';
  const plan = shownPlan(await readPlans(pool, userId));
  return {
    tier,
    monthly_limit: monthlyLimits[tier] ?? 0,
    plan: plan === null ? null : describePlan(plan, await findPrice(pool, plan), clock()),
  };
}

/** The live plan, or else the last one of which something was paid. */
function shownPlan(plans: readonly PlanRow[]): PlanRow | null {
  const paid = plans.filter((plan) => plan.paid_since !== null && plan.revoked_as !== 'second');
  return paid.find(isLive) ?? paid.at(-1) ?? null;
}

type Price = { amount_minor: number; currency: string };

/** As it was last paid: a plan keeps the price that it was begun with. */
async function findPrice(client: Queryable, { invoice_id: id }: PlanRow): Promise<Price | null> {
  const { rows } = await client.query<Price>(
    'select amount_minor, currency from purchase where invoice_id = $1',
    [id],
  );
  return rows[0] ?? null;
}

function describePlan(
  plan: PlanRow,
  price: Price | null,
  nowMs: number,
): NonNullable<Plan['plan']> {
  const { package_id: packageId, next_package_id: nextId } = plan;
  const bought = packageOf(packageId);
  const status = statusOf(plan);
  const until = tierUntil(plan);
  const isGrace = status === 'past_due' && until !== null && until > nowMs;
  return {
    package_id: packageId,
    package_name: bought?.name ?? packageId,
    status,
    credits: bought?.credits ?? 0,
    amount_cents: price?.amount_minor ?? bought?.price_cents ?? 0,
    currency: price?.currency ?? bought?.currency ?? 'usd',
    current_period_end: endOf(plan, status)?.toISOString() ?? null,
    due_cents: status === 'past_due' ? plan.due_minor : null,
    grace_until: isGrace ? new Date(until).toISOString() : null,
    next_package_id: status === 'ended' || nextId === packageId ? null : nextId,
  };
}

/** The provider's present period of an unpaid plan is one that was not paid. */
function endOf(plan: PlanRow, status: NonNullable<Plan['plan']>['status']): Date | null {
  if (status === 'active') return plan.current_period_end;
  return status === 'ended'
    ? (plan.revoked_at ?? plan.ended_at ?? plan.paid_until)
    : plan.paid_until;
}

function statusOf(plan: PlanRow): NonNullable<Plan['plan']>['status'] {
  if (!isLive(plan)) return 'ended';
  if (isPastDue(plan)) return 'past_due';
  return plan.cancel_at_period_end ? 'cancelling' : 'active';
}

// --- changing it ---

/** @throws Problem 409 `no-plan`, `plan-past-due`, `plan-cancelling`, 400 `unknown-package` */
async function changePlan(
  dependencies: PaymentRouteDependencies,
  userId: string,
  request: PlanRequest,
): Promise<void> {
  const plan = shownPlan(await readPlans(dependencies.pool, userId));
  if (plan === null || !isLive(plan)) throw new Problem('no-plan', "You don't have a plan.");
  switch (request.action) {
    case 'change':
      return changePackage(dependencies, plan, request.package_id);
    case 'cancel':
      return cancel(dependencies, plan);
    case 'resume':
      return resume(dependencies, plan);
  }
}

async function changePackage(
  dependencies: PaymentRouteDependencies,
  plan: PlanRow,
  packageId: string,
): Promise<void> {
  const wanted = requirePackage(packageId, 'monthly');
  if (isPastDue(plan))
    throw new Problem(
      'plan-past-due',
      "Your last plan payment didn't go through. Update your card first, then change your plan.",
    );
  if (plan.cancel_at_period_end)
    throw new Problem(
      'plan-cancelling',
      "Your plan is canceled and won't renew. Resume it first, then change it.",
    );
  if (plan.next_package_id === wanted.id) return;
  await update(dependencies, plan, 'plan.changed', async ({ provider }) =>
    provider.changeSubscription(plan.subscription_id, wanted.id),
  );
}

/**
 * A paid period stays to its end. A plan that is past due has none left, so it ends now, also when the
 * provider is the first to say that it is.
 */
async function cancel(dependencies: PaymentRouteDependencies, plan: PlanRow): Promise<void> {
  const { subscription_id: id, package_id: packageId } = plan;
  const isCancelled = plan.cancel_at_period_end && plan.next_package_id === packageId;
  if (isCancelled && !isPastDue(plan)) return;
  await update(dependencies, plan, 'plan.cancelled', async ({ provider }) => {
    if (isPastDue(plan)) return provider.cancelSubscription(id);
    const view = await provider.setCancelAtPeriodEnd(id, true, packageId);
    return isPastDue(view) ? provider.cancelSubscription(id) : view;
  });
}

/** A change that was planned before is dropped: the plan renews as it was paid last. */
async function resume(dependencies: PaymentRouteDependencies, plan: PlanRow): Promise<void> {
  if (!plan.cancel_at_period_end) return;
  await update(dependencies, plan, 'plan.resumed', async ({ provider }) =>
    provider.setCancelAtPeriodEnd(plan.subscription_id, false, plan.package_id),
  );
}

/** Changes the subscription and stores the answer; a repeat changes nothing. */
async function update(
  dependencies: PaymentRouteDependencies,
  { subscription_id: subject, user_id: userId }: PlanRow,
  action: MovedPlan['action'],
  ask: (dependencies: PaymentRouteDependencies) => Promise<SubscriptionView>,
): Promise<void> {
  const reading = await beginReading(dependencies.pool);
  const view = await ask(dependencies);
  const kept = await keepView(dependencies, view, reading);
  if (kept !== null) await writeTo(dependencies, kept, action);
  const detail = { package_id: view.packageId };
  await dependencies.audit({ actor: userId, action, subject, userId, detail });
}

/** An email says what the change means. It goes to confirmed addresses only. */
async function writeTo(
  dependencies: PaymentRouteDependencies,
  plan: PlanRow,
  action: MovedPlan['action'],
): Promise<void> {
  const to = await dependencies.noticeAddress(plan.user_id);
  if (to === null) return;
  const { package_id: packageId, next_package_id: nextId, user_id: userId } = plan;
  const next = nextId === packageId ? null : packageOf(nextId);
  const price = await findPrice(dependencies.pool, plan);
  const bought = next ?? packageOf(packageId);
  try {
    await dependencies.queueMail({
      userId,
      to,
      kind: 'plan-moved',
      content: planMovedEmail({
        ...dependencies,
        action,
        packageName: packageOf(packageId)?.name ?? packageId,
        nextName: next?.name ?? null,
        amountMinor: (next === null ? price?.amount_minor : null) ?? bought?.price_cents ?? 0,
        currency: price?.currency ?? bought?.currency ?? 'usd',
        until: isLive(plan) ? plan.paid_until : null,
      }),
    });
  } catch (error) {
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}

// --- the provider's pages ---

/** @throws Problem 409 `nothing-bought` */
async function requireCustomer(
  dependencies: PaymentRouteDependencies,
  userId: string,
): Promise<void> {
  if ((await knownCustomer(dependencies, userId)) === null)
    throw new Problem(
      'nothing-bought',
      "You haven't bought anything yet, so there are no cards or invoices to show.",
    );
}
