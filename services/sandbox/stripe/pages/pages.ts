import { Hono } from 'hono';
import type { Context } from 'hono';
import * as v from 'valibot';
import { loopbackNames } from '#services/platform/http/cors.ts';
import { wantsJson } from '#services/platform/http/page-frame.ts';
import type { Html } from '#services/platform/http/page-frame.ts';
import { retrieveSession } from '#services/sandbox/stripe/objects/checkout.ts';
import type { Outcome } from '#services/sandbox/stripe/objects/checkout.ts';
import { checkoutPage } from './checkout.ts';
import type { FakeStripe } from '#services/sandbox/stripe/fake-stripe.ts';
import { controlPage } from './control.ts';
import { paymentsFrame } from './words.ts';
import { invoicePage, portalPage, receiptPage } from './papers.ts';
import {
  retrieveSubscription,
  updateSubscription,
} from '#services/sandbox/stripe/objects/subscriptions.ts';
import { invalid, WireError } from '#services/sandbox/stripe/wire.ts';
import { daySeconds } from '#services/sandbox/stripe/world.ts';

/**
 * What people see of the payment provider, under `/dev/stripe`: the checkout page, receipts, the page
 * for plans, and one on which a developer plays the bank, the card network and time.
 * Each button is a form, and each form is a call for scripts, too, which are answered in JSON.
 */
export function stripePages(fake: FakeStripe, productName: string): Hono {
  const pages = new Hono().basePath('/dev/stripe');
  const { world } = fake;
  const show = (context: Context, title: string, main: Html, more: Shown = {}) =>
    context.html(
      paymentsFrame.document(`${title} · ${productName}`, main),
      more.status ?? 200,
      paymentsFrame.headers(more.formOrigins),
    );

  pages.use(async (context, next) => {
    if (!loopbackNames.has(new URL(context.req.url).hostname)) return context.notFound();
    if (context.req.method !== 'GET' && isForeign(context)) return context.notFound();
    await next();
    return undefined;
  });

  pages.onError((error, context) => {
    if (!(error instanceof WireError)) throw error;
    const status = error.status === 404 ? 404 : 400;
    if (wantsJson(context)) return context.json({ error: error.message }, status, noStore);
    return show(context, 'That does not work', refusal(error), { status });
  });

  pages.get('/', (context) => show(context, 'Payments', controlPage(fake)));

  pages.get('/checkout/:session', (context) => {
    const session = retrieveSession(world, context.req.param('session'));
    const formOrigins = [session.success_url, session.cancel_url].flatMap(originOf);
    const page = checkoutPage(world, session);
    return show(context, page.title, page.main, { formOrigins });
  });

  pages.post('/checkout/:session/:outcome', (context) => {
    const { session, outcome } = context.req.param();
    const { redirect } = fake.pay(session, parsed(OutcomeName, outcome));
    return wantsJson(context)
      ? context.json({ redirect }, 200, noStore)
      : leadTo(context, redirect ?? '/dev/stripe');
  });

  pages.get('/receipts/:charge', (context) =>
    show(context, 'Receipt', receiptPage(world, context.req.param('charge'))),
  );
  pages.get('/invoices/:invoice', (context) =>
    show(context, 'Invoice', invoicePage(world, context.req.param('invoice'))),
  );
  pages.get('/portal/:portal', (context) =>
    show(context, 'Your plan', portalPage(world, context.req.param('portal'))),
  );
  pages.post('/portal/:portal/:change', (context) => {
    const { portal, change } = context.req.param();
    const customer = world.store.get('portal', portal)?.customer;
    const wanted = parsed(v.picklist(['cancel', 'resume']), change);
    const plan = world.store
      .all('subscription')
      .find((one) => one.customer === customer && one.ended_at === null);
    if (customer === undefined || plan === undefined) throw invalid('There is no plan');
    fake.act(() =>
      updateSubscription(world, plan.id, { cancel_at_period_end: String(wanted === 'cancel') }),
    );
    return leadTo(context, `/dev/stripe/portal/${portal}`);
  });

  /** A control: its input, what it does with it, and what it answers. */
  const control = <S extends v.GenericSchema>(
    path: string,
    schema: S,
    run: (input: v.InferOutput<S>, id: string) => unknown,
  ) =>
    pages.post(path, async (context) => {
      const input = parsed(schema, await bodyOf(context));
      const result = run(input, context.req.param('id') ?? '');
      return wantsJson(context)
        ? context.json(result ?? {}, 200, noStore)
        : leadTo(context, '/dev/stripe');
    });

  control('/clock', v.object({ advance: seconds }), ({ advance }) => {
    fake.advance(advance * 1000);
    return { now: new Date(fake.nowMs()).toISOString() };
  });
  control('/later/:id', v.object({ outcome: v.picklist(['paid', 'failed']) }), (input, id) =>
    fake.settleLater(id, input.outcome),
  );
  control(
    '/disputes',
    v.object({ payment: v.string(), amount: v.optional(minor), inquiry: v.optional(flag) }),
    ({ payment, amount, inquiry = false }) =>
      fake.openDispute(payment, {
        inquiry,
        ...(amount === undefined ? {} : { amountMinor: amount }),
      }),
  );
  control('/disputes/:id', v.object({ move: DisputeMoveName }), ({ move }, id) =>
    fake.moveDispute(id, move),
  );
  control('/fraud-warnings', v.object({ payment: v.string() }), ({ payment }) =>
    fake.warnOfFraud(payment),
  );
  control(
    '/bank-refunds',
    v.object({ payment: v.string(), amount: minor }),
    ({ payment, amount }) => fake.refundAtBank(payment, amount),
  );
  control('/refunds/:id', v.object({ outcome: v.picklist(['succeeded', 'failed']) }), (input, id) =>
    fake.settleRefund(id, input.outcome),
  );
  control('/intents/:id', v.object({ outcome: OutcomeName }), ({ outcome }, id) =>
    fake.pay(id, outcome),
  );
  control('/subscriptions/:id/failures', v.object({ tries: minor }), ({ tries }, id) => {
    retrieveSubscription(world, id);
    fake.failNextRenewal(id, tries);
  });
  control('/payouts', v.object({}), () => fake.payOut());
  control('/faults', Faults, (input) => Object.assign(fake.faults, input));

  pages.all('*', () => {
    throw new WireError(404, 'invalid_request_error', "There's nothing at this address.");
  });
  return pages;
}

type Shown = { status?: 200 | 400 | 404; formOrigins?: readonly string[] };

const noStore = { 'Cache-Control': 'no-store' };

// --- input ---

/** From a form or from JSON. */
const wholeNumber = v.pipe(
  v.union([v.string(), v.number()]),
  v.transform(Number),
  v.number(),
  v.safeInteger(),
);
const minor = v.pipe(wholeNumber, v.minValue(0));
const longestSeconds = 400 * daySeconds;
const seconds = v.pipe(wholeNumber, v.minValue(1), v.maxValue(longestSeconds));
const flag = v.union([
  v.boolean(),
  v.pipe(
    v.picklist(['true', 'false']),
    v.transform((word) => word === 'true'),
  ),
]);

const OutcomeName = v.picklist(['pay', 'decline', 'pay-later', 'abandon'] satisfies Outcome[]);
const DisputeMoveName = v.picklist([
  'needs_response',
  'under_review',
  'won',
  'lost',
  'warning_closed',
]);

/** An empty or missing field of the form changes nothing. */
const count = v.optional(minor);
const Faults = v.object({
  tooMany: count,
  failAfterCommit: count,
  loseReply: count,
  duplicate: count,
  delayMs: count,
  drop: count,
  signatureSkewSeconds: v.optional(wholeNumber),
  reorder: v.optional(flag),
  refunds: v.optional(v.picklist(['succeeded', 'pending', 'failed'])),
});

function parsed<S extends v.GenericSchema>(schema: S, input: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, input);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const name = (issue.path ?? []).map(({ key }) => String(key)).join('.');
  throw invalid(name === '' ? 'That is not one of the choices.' : `This is not right: ${name}`);
}

async function bodyOf(context: Context): Promise<unknown> {
  const type = context.req.header('content-type') ?? '';
  if (!type.startsWith('application/json')) {
    const form = await context.req.parseBody();
    return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
  }
  try {
    return await context.req.json();
  } catch {
    throw invalid('This is not JSON.');
  }
}

/** A form on another page; scripts and old browsers send no origin. */
function isForeign(context: Context): boolean {
  const site = context.req.header('sec-fetch-site');
  const origin = context.req.header('origin');
  if (site !== undefined) return site !== 'same-origin';
  return origin !== undefined && origin !== new URL(context.req.url).origin;
}

function leadTo(context: Context, address: string): Response {
  return context.body(null, 303, { ...noStore, Location: address });
}

function originOf(address: string | null): string[] {
  return address !== null && URL.canParse(address) ? [new URL(address).origin] : [];
}

function refusal(error: WireError): Html {
  return paymentsFrame.refusal(error.message);
}
