import type { Queryable } from '#db/connect.ts';
import { idPattern } from '#services/platform/ids.ts';
import type { Package, PurchaseStatus } from '#services/payments/contract.ts';

/**
 * Rows of `purchase`: what a user set out to buy, and how far that has come. A row moves by single
 * statements that say from where, so independent callers may move it at once. `paid` is final: whatever
 * else arrives is late.
 */
export type PurchaseKind = 'checkout' | 'intent' | 'plan_checkout' | 'invoice';

/** Milliseconds that a bank may take to confirm a payment, with a day more: some take two weeks. */
export const processingMs = 15 * 86_400_000;

/** How long the same checkout is requested again when the first response was lost. */
export const resumeMs = 1_500_000;

/** The shortest time between two checks of one payment. */
export const askAgainMs = 300_000;

/** Age of an open purchase before the provider is asked about it. */
const firstCheckMs = 600_000;

export type PurchaseRow = {
  id: string;
  user_id: string;
  package_id: string;
  kind: PurchaseKind;
  credits: number;
  amount_minor: number;
  currency: string;
  status: PurchaseStatus;
  success_url: string | null;
  cancel_url: string | null;
  session_id: string | null;
  checkout_url: string | null;
  payment_intent_id: string | null;
  invoice_id: string | null;
  subscription_id: string | null;
  period_start: Date | null;
  period_end: Date | null;
  payment_key: string | null;
  lot_id: string | null;
  paid_minor: number | null;
  tax_minor: number | null;
  receipt_url: string | null;
  failure: string | null;
  created_at: Date;
  updated_at: Date;
  paid_at: Date | null;
  version: number;
  checked_at: Date | null;
  next_check_at: Date | null;
};

export type NewPurchase = {
  id: string;
  userId: string;
  kind: Exclude<PurchaseKind, 'invoice'>;
  package: Package;
  successUrl: string | null;
  cancelUrl: string | null;
  now: Date;
};

/**
 * The purchase of this id, which is made when there is none. Null when it begins a plan and the person
 * has another beginning already.
 */
export async function insertPurchase(
  client: Queryable,
  purchase: NewPurchase,
): Promise<PurchaseRow | null> {
  const { id, userId, kind, package: bought, successUrl, cancelUrl, now } = purchase;
  await client.query(
    `insert into purchase (id, user_id, package_id, kind, credits, amount_minor, currency, success_url,
       cancel_url, created_at, updated_at, next_check_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)
     on conflict do nothing`,
    [
      id,
      userId,
      bought.id,
      kind,
      bought.credits,
      bought.price_cents,
      bought.currency,
      successUrl,
      cancelUrl,
      now,
      new Date(now.getTime() + firstCheckMs),
    ],
  );
  return findPurchase(client, { purchaseId: id });
}

export type PurchaseName = { purchaseId: string } | { sessionId: string } | { intentId: string };

/** Null also for what cannot be the id of a purchase, wherever that comes from. */
export async function findPurchase(
  client: Queryable,
  name: PurchaseName,
): Promise<PurchaseRow | null> {
  if ('purchaseId' in name && !idPattern('pur').test(name.purchaseId)) return null;
  const { rows } = await client.query<PurchaseRow>(
    `select * from purchase where id = $1 or session_id = $2 or payment_intent_id = $3`,
    [
      'purchaseId' in name ? name.purchaseId : null,
      'sessionId' in name ? name.sessionId : null,
      'intentId' in name ? name.intentId : null,
    ],
  );
  return rows[0] ?? null;
}

/** The plan that a person is about to begin, other than `exceptId`. */
export async function findOpenPlanCheckout(
  client: Queryable,
  userId: string,
  exceptId: string,
): Promise<PurchaseRow | null> {
  const { rows } = await client.query<PurchaseRow>(
    `select * from purchase
     where user_id = $1 and kind = 'plan_checkout' and status = 'open' and id <> $2`,
    [userId, exceptId],
  );
  return rows[0] ?? null;
}

/** A person's open purchases beyond the newest `count`, but for plans, which begin one at a time. */
export async function findOpenBeyond(
  client: Queryable,
  userId: string,
  count: number,
): Promise<PurchaseRow[]> {
  const { rows } = await client.query<PurchaseRow>(
    `select * from purchase
     where user_id = $1 and kind in ('checkout', 'intent') and status = 'open'
     order by created_at desc, id desc offset $2`,
    [userId, count],
  );
  return rows;
}

/**
 * Whether a person has a plan, or has paid for one that is not read yet, or whose bank still has to
 * confirm the payment.
 */
export async function hasPlan(
  client: Queryable,
  userId: string,
  exceptId: string,
): Promise<boolean> {
  const { rows } = await client.query<{ has_plan: boolean }>(
    `select exists (
         select from plan where user_id = $1 and ended_at is null
           and revoked_at is null
           and status not in ('incomplete', 'incomplete_expired', 'canceled'))
       or exists (
         select from purchase p where p.user_id = $1 and p.kind = 'plan_checkout' and p.id <> $2
           and (p.status = 'processing' or (p.status = 'paid' and not exists (
             select from plan where plan.subscription_id = p.subscription_id)))) as has_plan`,
    [userId, exceptId],
  );
  return rows[0]?.has_plan ?? false;
}

/** False when the purchase has ended meanwhile. */
export async function recordSession(
  client: Queryable,
  purchaseId: string,
  { sessionId, url }: { sessionId: string; url: string | null },
  now: Date,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update purchase set session_id = $2, checkout_url = $4, updated_at = $3, version = version + 1
     where id = $1 and status = 'open'`,
    [purchaseId, sessionId, now, url],
  );
  return rowCount === 1;
}

/** False when the purchase has ended meanwhile. */
export async function recordIntent(
  client: Queryable,
  purchaseId: string,
  intentId: string,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update purchase set payment_intent_id = $2, updated_at = $3, version = version + 1
     where id = $1 and status = 'open'`,
    [purchaseId, intentId, now],
  );
  return rowCount === 1;
}

export type PaidPurchase = {
  purchaseId: string;
  sessionId: string | null;
  intentId: string | null;
  subscriptionId: string | null;
  /** Null for what grants nothing. */
  paymentKey: string | null;
  lotId: string | null;
  paidMinor: number;
  taxMinor: number;
  receiptUrl: string | null;
  paidAt: Date;
  now: Date;
};

/** For work that is not finished: should the process be killed, the sweeper continues it. */
export function soon(now: Date): Date {
  return new Date(now.getTime() + askAgainMs);
}

/** Has the payment checked no later than soon, for something that is about to begin. */
export async function checkSoon(client: Queryable, purchaseId: string, now: Date): Promise<void> {
  await client.query(
    `update purchase set next_check_at = least(next_check_at, $2), version = version + 1
     where id = $1`,
    [purchaseId, soon(now)],
  );
}

/** True for the one who moved it. */
export async function recordPaid(client: Queryable, paid: PaidPurchase): Promise<boolean> {
  const { rowCount } = await client.query(
    `update purchase set status = 'paid', failure = null,
       session_id = coalesce(session_id, $2), payment_intent_id = coalesce(payment_intent_id, $3),
       subscription_id = $4, payment_key = $5, lot_id = $6, paid_minor = $7, tax_minor = $8,
       receipt_url = $9, paid_at = $10, updated_at = $11, version = version + 1,
       next_check_at = $12
     where id = $1 and status <> 'paid'`,
    [
      paid.purchaseId,
      paid.sessionId,
      paid.intentId,
      paid.subscriptionId,
      paid.paymentKey,
      paid.lotId,
      paid.paidMinor,
      paid.taxMinor,
      paid.receiptUrl,
      paid.paidAt,
      paid.now,
      // The checkout of a plan has no lot, so nothing of it can go back.
      paid.lotId === null ? null : soon(paid.now),
    ],
  );
  return rowCount === 1;
}

type Ending =
  | { status: 'processing'; failure?: null }
  | { status: 'expired'; failure?: null }
  | { status: 'failed'; failure: string };

/**
 * Moves a purchase to where it stands without having been paid. What expired may turn out to be under
 * way after all, but nothing that failed or was being worked on expires by a late word.
 */
export async function recordUnpaid(
  client: Queryable,
  purchaseId: string,
  { status, failure = null }: Ending,
  now: Date,
): Promise<boolean> {
  const from =
    status === 'expired' ? ['open', 'processing'] : ['open', 'processing', 'failed', 'expired'];
  const { rowCount } = await client.query(
    `update purchase set status = $2, failure = $3, updated_at = $4, version = version + 1,
       next_check_at = case when $2 = 'processing' then coalesce(next_check_at, $6) end
     where id = $1 and status = any ($5) and (status, failure) is distinct from ($2, $3)`,
    [purchaseId, status, failure, now, from, soon(now)],
  );
  return rowCount === 1;
}

/** What was paid and granted, and how the provider knows the payment. */
export type GrantedPayment = {
  userId: string;
  purchaseId: string;
  lotId: string;
  intentId: string;
  granted: number;
  /** With tax. */
  paidMinor: number;
};
