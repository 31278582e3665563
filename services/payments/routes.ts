import type { Queryable } from '#db/connect.ts';
import { readBalance } from '#projections/credit-account.ts';
import { originsOf } from '#services/platform/http/cors.ts';
import { notFound } from '#services/platform/http/http.ts';
import type { Once } from '#services/platform/http/idempotency.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { Call, Handlers, ServeDependencies } from '#services/platform/http/serve.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { packageName, packages } from './catalogue.ts';
import { beginCheckout, beginIntent, requirePackage } from './purchases/checkout.ts';
import { paymentEndpoints } from './contract.ts';
import type { CheckoutReply, CheckoutState } from './contract.ts';
import type { PaymentRouteDependencies } from './dependencies.ts';
import { planHandlers } from './plans/routes.ts';
import { forgetHandlers } from './purchases/forget-routes.ts';
import { fulfilForPage } from './settle/fulfil.ts';
import { findPurchase } from './purchases/rows.ts';
import type { PurchaseRow } from './purchases/rows.ts';
import { isReceiptMailed } from './purchases/receipts.ts';
import { returnAddresses } from './purchases/return-address.ts';
import { refundHandlers } from './refunds/routes.ts';
import { statementHandlers } from './statement-routes.ts';
import { webhookHandlers } from './webhook-routes.ts';

/** Buying credits, plans, refunds and statements. */
export function paymentRoutes(dependencies: PaymentRouteDependencies & ServeDependencies) {
  return serve(
    paymentEndpoints,
    {
      ...purchaseHandlers(dependencies),
      ...forgetHandlers(dependencies),
      ...refundHandlers(dependencies),
      ...planHandlers(dependencies),
      ...statementHandlers(dependencies),
      ...webhookHandlers(dependencies),
    },
    dependencies,
  );
}

function purchaseHandlers(dependencies: PaymentRouteDependencies) {
  return {
    'GET /credits/packages': () => [...packages],
    'POST /credits/create-checkout-session': (call) => buyPackage(dependencies, call),
    'POST /credits/purchase': (call) => buyPackage(dependencies, call),
    'POST /credits/create-payment-intent': ({ userId, body }) => {
      const bought = requirePackage(body.package_id, 'one_time');
      // A repeat asks the provider again, so it takes a turn, too.
      const begin = async (purchaseId: string) => {
        await dependencies.rateLimits.take('checkout', userId, { userId });
        return beginIntent(dependencies, { purchaseId, userId }, bought);
      };
      return {
        newResourceId: () => newId('pur', dependencies.clock()),
        // The client's secret is enough to pay.
        remake: begin,
        work: async ({ resourceId }) => begin(resourceId),
      };
    },
    'GET /credits/checkout-sessions/{id}': async ({ userId, path }) => {
      if (!/^cs_[A-Za-z0-9_]{1,200}$/.test(path.id)) throw notFound();
      const row = await findPurchase(dependencies.pool, { sessionId: path.id });
      if (row === null || row.user_id !== userId) throw notFound();
      return stateOf(dependencies, await latest(dependencies, row));
    },
  } satisfies Partial<Handlers<typeof paymentEndpoints>>;
}

function buyPackage(
  dependencies: PaymentRouteDependencies,
  { userId, body }: Call<typeof paymentEndpoints, 'POST /credits/purchase'>,
): Once<CheckoutReply> {
  const bought = requirePackage(body.package_id);
  const { own, foreign } = originsOf(dependencies);
  const addresses = returnAddresses(body, bought.id, {
    publicUrl: dependencies.publicUrl,
    origins: new Set([...own, ...foreign]),
  });
  return {
    newResourceId: () => newId('pur', dependencies.clock()),
    work: async ({ resourceId: purchaseId }) => {
      await dependencies.rateLimits.take('checkout', userId, { userId });
      return beginCheckout(dependencies, { purchaseId, userId }, bought, addresses);
    },
  };
}

/**
 * As the provider says now. While it cannot be asked, or was asked too often, the person sees what is
 * known: the page asks again, and the webhook event or the sweeper comes, too.
 */
async function latest(
  dependencies: PaymentRouteDependencies,
  row: PurchaseRow,
): Promise<PurchaseRow> {
  if (row.status === 'paid') return row;
  const { user_id: userId } = row;
  if ((await dependencies.rateLimits.count('checkout-state', userId, { userId })) > 0) return row;
  try {
    return (await fulfilForPage(dependencies, row.id)) ?? row;
  } catch (error) {
    if (!(error instanceof Problem && error.status === 503)) throw error;
    dependencies.log.warn(
      { err: error, resource_id: row.id },
      'A purchase could not be asked about',
    );
    return row;
  }
}

async function stateOf(
  dependencies: PaymentRouteDependencies,
  row: PurchaseRow,
): Promise<CheckoutState> {
  const { pool, ledger } = dependencies;
  const lotId = await lotOf(pool, row);
  const { settlements } = await ledger.readAccount(row.user_id);
  return {
    session_id: row.session_id ?? '',
    purchase_id: row.id,
    package_id: row.package_id,
    package_name: packageName(row.package_id),
    kind: row.kind === 'plan_checkout' ? 'monthly' : 'one_time',
    status: row.status,
    credits: row.credits,
    settled_credits: settlements
      .filter((settled) => settled.lotId === lotId)
      .reduce((sum, { credits }) => sum + credits, 0),
    amount_cents: row.paid_minor ?? row.amount_minor,
    currency: row.currency,
    receipt_url: row.receipt_url,
    receipt_by_email: await isReceiptMailed(dependencies, row.user_id, lotId),
    balance: await readBalance(pool, row.user_id),
  };
}

/** What a checkout granted; that of a plan grants by its first invoice. Null before it is paid. */
async function lotOf(client: Queryable, row: PurchaseRow): Promise<string | null> {
  if (row.lot_id !== null || row.subscription_id === null) return row.lot_id;
  const { rows } = await client.query<{ lot_id: string | null }>(
    `select lot_id from purchase where subscription_id = $1 and kind = 'invoice'
     order by period_start limit 1`,
    [row.subscription_id],
  );
  return rows[0]?.lot_id ?? null;
}
