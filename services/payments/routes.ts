import type { Context } from 'hono';
import type { Queryable } from '#db/connect.ts';
import { readBalance } from '#projections/credit-account.ts';
import { requireUser } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import { originsOf } from '#services/platform/http/cors.ts';
import { answer, bodyOf } from '#services/platform/http/endpoints.ts';
import { createRouter, notFound } from '#services/platform/http/http.ts';
import type { HttpContext, HttpEnv } from '#services/platform/http/http.ts';
import { answerOnce } from '#services/platform/http/idempotency.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { packageName, packages } from './catalogue.ts';
import { beginCheckout, beginIntent, requirePackage } from './purchases/checkout.ts';
import type { CheckoutState } from './contract.ts';
import { paymentEndpoints } from './endpoints.ts';
import type { PaymentDependencies } from './dependencies.ts';
import { fulfil } from './purchases/fulfil.ts';
import { findPurchase } from './purchases/purchases.ts';
import type { PurchaseRow } from './purchases/purchases.ts';
import { isReceiptMailed } from './purchases/receipts.ts';
import { returnAddresses } from './purchases/return-address.ts';

export type PaymentRouteDependencies = PaymentDependencies & {
  rateLimits: RateLimits;
  /** Other origins whose pages are ours, too. */
  corsOrigins: readonly string[];
  isLocal: boolean;
};

/** What can be bought, and buying it. */
export function paymentRoutes(dependencies: PaymentRouteDependencies, authenticate: Authenticate) {
  const signedIn = requireUser(authenticate);
  const buy = async (context: HttpContext, name: BuyingEndpoint) =>
    buyPackage(dependencies, context, name);
  return createRouter()
    .get('/credits/packages', (context) => {
      const reply = answer(context, paymentEndpoints['GET /credits/packages'], [...packages]);
      // The same for everybody, and part of the program.
      reply.headers.set('Cache-Control', 'public, max-age=300');
      return reply;
    })
    .post('/credits/create-checkout-session', signedIn, async (context) =>
      buy(context, 'POST /credits/create-checkout-session'),
    )
    .post('/credits/purchase', signedIn, async (context) => buy(context, 'POST /credits/purchase'))
    .post('/credits/create-payment-intent', signedIn, async (context) =>
      buyByIntent(dependencies, context),
    )
    .get('/credits/checkout-sessions/:id', signedIn, async (context) => {
      const row = await findPurchase(dependencies.pool, { sessionId: sessionIdOf(context) });
      if (row === null || row.user_id !== context.get('userId')) throw notFound();
      return answer(
        context,
        paymentEndpoints['GET /credits/checkout-sessions/{id}'],
        await stateOf(dependencies, await latest(dependencies, row)),
      );
    });
}

type BuyingEndpoint = 'POST /credits/create-checkout-session' | 'POST /credits/purchase';

async function buyPackage(
  dependencies: PaymentRouteDependencies,
  context: HttpContext,
  name: BuyingEndpoint,
): Promise<Response> {
  const endpoint = paymentEndpoints[name];
  const body = await bodyOf(context, endpoint);
  const bought = requirePackage(body.package_id);
  const { own, foreign } = originsOf(dependencies);
  const addresses = returnAddresses(body, bought.id, {
    publicUrl: dependencies.publicUrl,
    origins: new Set([...own, ...foreign]),
  });
  return answerOnce(
    context,
    endpoint,
    { ...onceOf(dependencies), route: name, body },
    async ({ resourceId: purchaseId }) => {
      const userId = context.get('userId');
      await dependencies.rateLimits.take('checkout', userId, { userId });
      return beginCheckout(dependencies, { purchaseId, userId }, bought, addresses);
    },
  );
}

async function buyByIntent(
  dependencies: PaymentRouteDependencies,
  context: HttpContext,
): Promise<Response> {
  const endpoint = paymentEndpoints['POST /credits/create-payment-intent'];
  const body = await bodyOf(context, endpoint);
  const bought = requirePackage(body.package_id, 'one_time');
  const userId = context.get('userId');
  // A repeat asks the provider again, so it takes a turn, too.
  const begin = async (purchaseId: string) => {
    await dependencies.rateLimits.take('checkout', userId, { userId });
    return beginIntent(dependencies, { purchaseId, userId }, bought);
  };
  return answerOnce(
    context,
    endpoint,
    {
      ...onceOf(dependencies),
      route: 'POST /credits/create-payment-intent',
      body,
      // Whoever has the client's secret can pay.
      remake: begin,
    },
    async ({ resourceId }) => begin(resourceId),
  );
}

function onceOf({ pool, clock }: PaymentRouteDependencies) {
  return { pool, newResourceId: () => newId('pur', clock()) };
}

function sessionIdOf(context: Context<HttpEnv, '/credits/checkout-sessions/:id'>): string {
  const id = context.req.param('id');
  if (!/^cs_[A-Za-z0-9_]{1,200}$/.test(id)) throw notFound();
  return id;
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
    return (await fulfil(dependencies, { purchaseId: row.id })).purchase ?? row;
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
