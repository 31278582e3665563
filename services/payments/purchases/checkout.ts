import { Problem } from '#services/platform/problem.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import type { CheckoutReply, Package, PaymentIntentReply } from '#services/payments/contract.ts';
import { requirePerson, withCustomer } from '#services/payments/customers.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { fulfil } from '#services/payments/settle/fulfil.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import type { CheckoutView, IntentView } from '#services/payments/provider.ts';
import {
  findOpenBeyond,
  findOpenPlanCheckout,
  hasPlan,
  insertPurchase,
  recordIntent,
  recordSession,
  recordUnpaid,
  resumeMs,
} from './rows.ts';
import type { NewPurchase, PurchaseRow } from './rows.ts';
import type { ReturnAddresses } from './return-address.ts';

/**
 * Beginning to buy. The purchase is written down before the provider is called, and its id is the key
 * of that call: a process that is killed between the two leaves a purchase without a session, which a repeat of
 * the request or the sweeper asks for again and gets the same one.
 */
export type Buying = { purchaseId: string; userId: string };

/** @throws Problem 400 `unknown-package`, 409 `plan-exists`, `checkout-ended`, `account-closed` */
export async function beginCheckout(
  dependencies: PaymentDependencies,
  { purchaseId, userId }: Buying,
  bought: Package,
  addresses: ReturnAddresses,
): Promise<CheckoutReply> {
  await requirePerson(dependencies, userId);
  const isPlan = bought.kind === 'monthly';
  const purchase: NewPurchase = {
    id: purchaseId,
    userId,
    package: bought,
    ...addresses,
    kind: isPlan ? 'plan_checkout' : 'checkout',
    now: now(dependencies),
  };
  const row = isPlan
    ? await beginPlan(dependencies, purchase)
    : await insertPurchase(dependencies.pool, purchase);
  if (row === null)
    throw planExists('You just started another plan checkout. Finish that one, or wait a moment.');
  await endOldest(dependencies, userId);
  requireUnderWay(dependencies, row);
  const view = await openCheckout(dependencies, row);
  const { sessionId, url } = view;
  // Another checkout of a plan may have ended this one while it was being made.
  const isOpen = await recordSession(dependencies.pool, row.id, view, now(dependencies));
  if (!isOpen || url === null) throw checkoutEnded();
  return { checkout_url: url, session_id: sessionId, purchase_id: row.id };
}

/** For clients that show the card form themselves. @throws as `beginCheckout` */
export async function beginIntent(
  dependencies: PaymentDependencies,
  { purchaseId, userId }: Buying,
  bought: Package,
): Promise<PaymentIntentReply> {
  await requirePerson(dependencies, userId);
  const row = await insertPurchase(dependencies.pool, {
    id: purchaseId,
    userId,
    package: bought,
    kind: 'intent',
    successUrl: null,
    cancelUrl: null,
    now: now(dependencies),
  });
  if (row === null) throw checkoutEnded();
  await endOldest(dependencies, userId);
  requireUnderWay(dependencies, row);
  const { intentId, clientSecret } = await openIntent(dependencies, row);
  const isOpen = await recordIntent(dependencies.pool, row.id, intentId, now(dependencies));
  if (!isOpen || clientSecret === null) throw checkoutEnded();
  return {
    client_secret: clientSecret,
    payment_intent_id: intentId,
    purchase_id: row.id,
    amount_cents: row.amount_minor,
    currency: row.currency,
  };
}

/** Asks the provider again for what a purchase without a session or intent was about. */
export async function resumePurchase(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
): Promise<void> {
  if (row.kind === 'intent') {
    const { intentId } = await openIntent(dependencies, row);
    await recordIntent(dependencies.pool, row.id, intentId, now(dependencies));
  } else {
    const { sessionId } = await openCheckout(dependencies, row);
    // The buyer saw an error, so it is not shown as something to be finished.
    const session = { sessionId, url: null };
    await recordSession(dependencies.pool, row.id, session, now(dependencies));
  }
}

/**
 * Whether the provider may be asked again under the same key. Later it would be asked for a checkout
 * that ends at another time, which it refuses. And what was agreed is what the purchase says: a checkout
 * is made at the catalogue's price, so one that costs another by now would be paid for nothing.
 */
export function canResume({ clock }: PaymentDependencies, row: PurchaseRow): boolean {
  const bought = packageOf(row.package_id);
  const isAgreed = bought?.price_cents === row.amount_minor && bought.currency === row.currency;
  return isAgreed && clock() - row.created_at.getTime() < resumeMs;
}

function requireUnderWay(dependencies: PaymentDependencies, row: PurchaseRow): void {
  if (row.status !== 'open' || !canResume(dependencies, row)) throw checkoutEnded();
}

/** @throws Problem 400 that names package_id */
export function requirePackage(id: string, kind?: Package['kind']): Package {
  const bought = packageOf(id);
  if (bought !== null && (kind === undefined || bought.kind === kind)) return bought;
  const message = bought === null ? "We don't offer this package." : otherKind[bought.kind];
  throw new Problem('unknown-package', message, {
    errors: [{ field: 'package_id', message }],
  });
}

/** By what the package is, where one of the other kind is wanted. */
const otherKind: Readonly<Record<Package['kind'], string>> = {
  monthly: 'This package is a plan. Buy it through a checkout session.',
  one_time: 'This package is not a plan: it is bought once, through a checkout session.',
};

// --- plans: one at a time ---

/** An older checkout of a plan is ended first, so that only the newest can be paid. */
async function beginPlan(
  dependencies: PaymentDependencies,
  purchase: NewPurchase,
): Promise<PurchaseRow | null> {
  const { pool } = dependencies;
  const { userId, id } = purchase;
  await requireNoPlan(dependencies, userId, id);
  const first = await insertPurchase(pool, purchase);
  if (first !== null) return first;
  const older = await findOpenPlanCheckout(pool, userId, id);
  if (older !== null) await endPlanCheckout(dependencies, older);
  await requireNoPlan(dependencies, userId, id);
  return insertPurchase(pool, purchase);
}

async function endPlanCheckout(dependencies: PaymentDependencies, row: PurchaseRow): Promise<void> {
  if (!(await endOpen(dependencies, row)))
    throw planExists('You are paying for a plan in another window. Finish that first.');
}

async function requireNoPlan(
  { pool }: PaymentDependencies,
  userId: string,
  exceptId: string,
): Promise<void> {
  if (await hasPlan(pool, userId, exceptId))
    throw planExists('You already have a plan. Change it on your plan page instead.');
}

function planExists(message: string): Problem {
  return new Problem('plan-exists', message);
}

function checkoutEnded(): Problem {
  return new Problem('checkout-ended', 'This checkout has closed. Please start a new one.');
}

// --- ending what was begun before ---

/** Open purchases of one user; the next one ends the oldest. */
const openAtOnce = 10;

/**
 * After the new purchase is stored, so that of several at once the last one counts them all. One that is
 * being paid stays.
 */
async function endOldest(dependencies: PaymentDependencies, userId: string): Promise<void> {
  const { pool } = dependencies;
  for (const row of await findOpenBeyond(pool, userId, openAtOnce))
    await endOpen(dependencies, row);
}

/**
 * At the provider first: what is ended with us alone could still be paid there. False when it is being
 * paid. An intent has no end at the provider; one that is paid after all is granted all the same.
 */
async function endOpen(dependencies: PaymentDependencies, row: PurchaseRow): Promise<boolean> {
  const { pool, provider } = dependencies;
  const ended = { status: 'expired' } as const;
  if (row.kind === 'intent' || (row.session_id === null && !canResume(dependencies, row))) {
    await recordUnpaid(pool, row.id, ended, now(dependencies));
    return true;
  }
  let sessionId = row.session_id;
  if (sessionId === null) {
    const view = await openCheckout(dependencies, row);
    ({ sessionId } = view);
    await recordSession(pool, row.id, view, now(dependencies));
  }
  try {
    await provider.expireCheckout(sessionId);
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error;
    // One that is not there cannot be paid, so its buyer does not have to wait until it expires.
    if (error.code === 'resource_missing') {
      await recordUnpaid(pool, row.id, ended, now(dependencies));
      return true;
    }
    return (await fulfil(dependencies, { sessionId })).outcome === 'expired';
  }
  await fulfil(dependencies, { sessionId });
  return true;
}

// --- the provider ---

async function openCheckout(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
): Promise<CheckoutView> {
  const { success_url: successUrl, cancel_url: cancelUrl } = row;
  if (successUrl === null || cancelUrl === null)
    throw new Error('A purchase through a checkout has two addresses');
  return orClose(dependencies, row, async (customerId) =>
    dependencies.provider.createCheckout({
      purchaseId: row.id,
      userId: row.user_id,
      customerId,
      packageId: row.package_id,
      kind: row.kind === 'plan_checkout' ? 'monthly' : 'one_time',
      successUrl,
      cancelUrl,
    }),
  );
}

async function openIntent(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
): Promise<IntentView> {
  return orClose(dependencies, row, async (customerId) =>
    dependencies.provider.createIntent({
      purchaseId: row.id,
      userId: row.user_id,
      customerId,
      packageId: row.package_id,
      amountMinor: row.amount_minor,
      currency: row.currency,
    }),
  );
}

/** A final refusal ends the purchase. */
async function orClose<View>(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  ask: (customerId: string) => Promise<View>,
): Promise<View> {
  try {
    return await withCustomer(dependencies, row.user_id, ask);
  } catch (error) {
    if (error instanceof ProviderRefused)
      await recordUnpaid(
        dependencies.pool,
        row.id,
        { status: 'failed', failure: 'refused' },
        now(dependencies),
      );
    throw error;
  }
}

function now({ clock }: PaymentDependencies): Date {
  return new Date(clock());
}
