import { setTimeout } from 'node:timers/promises';
import type { AccountState } from '#services/credits/account/state.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import { bankRefundsOf, readBankRefunds } from '#services/payments/refunds/rows.ts';
import type { BankRefundRow } from '#services/payments/refunds/rows.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import { paymentLimits } from '#services/payments/contract.ts';
import type { Purchase, Refund } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { fulfilForPage } from '#services/payments/settle/fulfil.ts';
import { isCurrentPeriod } from '#services/payments/plans/period.ts';
import { processingMs } from './rows.ts';
import type { PurchaseRow } from './rows.ts';

/**
 * What a user has bought, newest first, and what can be asked back of it now. Rows say what was set
 * out to be bought and what was paid; everything about credits is from the ledger, also when a row has
 * not heard of its grant yet.
 */
export async function listPurchases(
  dependencies: PaymentDependencies,
  userId: string,
  before: string | null,
): Promise<Purchase[]> {
  if (before === null) await checkNewest(dependencies, userId);
  const rows = await readPage(dependencies, userId, before);
  const state = await dependencies.ledger.readAccount(userId);
  const banks = await readBankRefunds(dependencies.pool, userId);
  return Promise.all(rows.map(async (row) => purchaseOf(dependencies, row, state, banks)));
}

/** Open payments that the list has checked, and how long it waits for them. */
const checkedAtOnce = 3;
const waitMs = 2_000;

/**
 * A buyer who has just paid should not read that it is not finished, only because its webhook event is
 * late. The list does not wait for the provider for long, and is there while it is unavailable.
 */
async function checkNewest(dependencies: PaymentDependencies, userId: string): Promise<void> {
  const { rows } = await dependencies.pool.query<{ id: string }>(
    `select id from purchase
     where user_id = $1 and status in ('open', 'processing')
       and (session_id is not null or payment_intent_id is not null)
     order by created_at desc, id desc limit $2`,
    [userId, checkedAtOnce],
  );
  if (rows.length === 0) return;
  const checked = Promise.all(rows.map(async ({ id }) => check(dependencies, id)));
  const waiting = new AbortController();
  const enough = setTimeout(waitMs, undefined, { signal: waiting.signal });
  await Promise.race([checked, enough]);
  waiting.abort();
  await enough.catch(() => undefined);
}

async function check(dependencies: PaymentDependencies, purchaseId: string): Promise<void> {
  try {
    await fulfilForPage(dependencies, purchaseId);
  } catch (error) {
    dependencies.log.warn(
      { err: error, resource_id: purchaseId },
      'A payment could not be checked',
    );
  }
}

/**
 * A checkout that begins a plan is no purchase: its invoices are. An expired one is not shown, and neither
 * is one whose page was never opened. A payment that failed is, for as long as it might have been pending. One
 * that does not fit its purchase (`mismatch-…`) was paid, so it is an operator's.
 */
async function readPage(
  { pool, clock }: PaymentDependencies,
  userId: string,
  before: string | null,
): Promise<PurchaseRow[]> {
  const { rows } = await pool.query<PurchaseRow>(
    `select * from purchase
     where user_id = $1 and kind <> 'plan_checkout' and (status in ('open', 'processing', 'paid')
         or (status = 'failed' and updated_at > $4
           and failure <> 'refused' and failure not like 'mismatch-%'))
       and (status <> 'open' or checkout_url is not null or payment_intent_id is not null)
       and ($2::text is null or (created_at, id) < (
         select last.created_at, last.id from purchase last where last.user_id = $1 and last.id = $2))
     order by created_at desc, id desc limit $3`,
    [userId, before, paymentLimits.purchases, new Date(clock() - processingMs)],
  );
  return rows;
}

async function purchaseOf(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  state: AccountState,
  banks: readonly BankRefundRow[],
): Promise<Purchase> {
  const lot = state.lots.find(({ purchaseId }) => purchaseId === row.id) ?? null;
  const bought = packageOf(row.package_id);
  return {
    id: row.id,
    package_id: row.package_id,
    package_name: bought?.name ?? row.package_id,
    kind: row.kind === 'invoice' ? 'monthly' : 'one_time',
    status: lot === null ? row.status : 'paid',
    credits: lot?.granted ?? row.credits,
    amount_cents: lot?.paidMinor ?? row.paid_minor ?? row.amount_minor,
    currency: row.currency,
    created_at: row.created_at.toISOString(),
    paid_at: row.paid_at?.toISOString() ?? lot?.grantedAt ?? null,
    receipt_url: row.receipt_url,
    checkout_url: lot === null && row.status === 'open' ? row.checkout_url : null,
    lot_id: lot?.lotId ?? null,
    unused_credits: lot?.available ?? 0,
    taken_back: lot?.clawbacks.some(({ wanted }) => wanted > 0) ?? false,
    ...(await offerOf(dependencies, state, lot)),
    refunds: lot === null ? [] : refundsOf(state, lot, banks),
  };
}

async function offerOf(
  dependencies: PaymentDependencies,
  state: AccountState,
  lot: Lot | null,
): Promise<Pick<Purchase, 'refundable' | 'refusal'>> {
  if (lot === null) return { refundable: null, refusal: 'not_paid' };
  const now = dependencies.clock();
  const offer = dependencies.ledger.refundOffer(state, lot, now);
  if ('refusal' in offer) return { refundable: null, refusal: offer.refusal };
  const { credits, amountMinor, until } = offer;
  const endsPlan =
    lot.purchaseId !== null &&
    (await isCurrentPeriod(dependencies.pool, lot.purchaseId, new Date(now).toISOString()));
  return {
    refundable: { credits, amount_cents: amountMinor, until, ends_plan: endsPlan },
    refusal: null,
  };
}

/** Ours and the bank's, newest first. */
function refundsOf(state: AccountState, lot: Lot, banks: readonly BankRefundRow[]): Refund[] {
  return Object.entries(state.refunds)
    .filter(([, refund]) => refund.lotId === lot.lotId)
    .map(([refundId, refund]) => refundReply(refundId, refund))
    .concat(bankRefundsOf(state, lot, banks))
    .toSorted((left, right) => (left.requested_at < right.requested_at ? 1 : -1));
}

export function refundReply(refundId: string, refund: AccountState['refunds'][string]): Refund {
  return {
    id: refundId,
    status: refund.status === 'confirmed' ? 'done' : refund.status,
    credits: refund.credits,
    amount_cents: refund.amountMinor,
    currency: refund.currency,
    requested_at: refund.requestedAt,
    ended_at: refund.endedAt,
  };
}
