import type { Stripe } from 'stripe';
import { packageOf } from '#services/payments/catalogue.ts';
import type { TestStripe } from '#tests/support/stripe.ts';
import { Fault } from '#tests/credits/ledger-oracle.ts';

/**
 * What the provider knows, read behind the application's back, and what should follow from it. Nothing
 * here uses the application's own arithmetic.
 */
export type Payment = {
  /** `pi:<id>` or `invoice:<id>`. */
  paymentKey: string;
  intentId: string;
  chargeId: string;
  userId: string;
  packageId: string;
  credits: number;
  paidMinor: number;
  currency: string;
  /** Of a plan's payment. */
  subscriptionId: string | null;
  periodEnd: number | null;
};

export type Truth = ReturnType<typeof createTruth>;

export function createTruth({ world }: TestStripe) {
  const { store } = world;

  function idOf(given: string | { id: string } | null | undefined): string | null {
    return typeof given === 'string' ? given : (given?.id ?? null);
  }

  function invoiceOf(intentId: string): Stripe.Invoice | null {
    const paid = store
      .all('invoicePayment')
      .find(({ payment }) => idOf(payment.payment_intent) === intentId);
    return store.get('invoice', idOf(paid?.invoice ?? null) ?? '');
  }

  function known(value: string | null | undefined, what: string): string {
    if (value === null || value === undefined) throw new Fault(`No ${what} at the fake`);
    return value;
  }

  function paymentOf(intentId: string): Payment {
    const intent = store.get('intent', intentId);
    const charge = store.get('charge', idOf(intent?.latest_charge) ?? '');
    if (intent === null || charge === null || charge.status !== 'succeeded')
      throw new Fault(`${intentId} was not paid`);
    const invoice = invoiceOf(intentId);
    const common = {
      intentId,
      chargeId: charge.id,
      paidMinor: charge.amount,
      currency: charge.currency,
    };
    if (invoice === null) {
      const packageId = known(intent.metadata['package'], 'package');
      return {
        ...common,
        paymentKey: `pi:${intentId}`,
        userId: known(intent.metadata['user_id'], 'person'),
        packageId,
        credits: packageOf(packageId)?.credits ?? 0,
        subscriptionId: null,
        periodEnd: null,
      };
    }
    const [line] = invoice.lines.data;
    const price = store.get('price', idOf(line?.pricing?.price_details?.price) ?? '');
    const packageId = known(price?.metadata['package'], 'package');
    const { metadata, subscription } = invoice.parent?.subscription_details ?? {};
    return {
      ...common,
      paymentKey: `invoice:${invoice.id}`,
      userId: known(metadata?.['user_id'], 'person'),
      packageId,
      credits: packageOf(packageId)?.credits ?? 0,
      subscriptionId: idOf(subscription),
      periodEnd: (line?.period.end ?? 0) * 1000,
    };
  }

  return {
    idOf,
    /** Everything that was paid, oldest first. */
    payments(): Payment[] {
      return store
        .all('charge')
        .filter(({ status }) => status === 'succeeded')
        .map((charge) => paymentOf(known(idOf(charge.payment_intent), 'intent')));
    },
    paymentOf,
    paymentByKey(paymentKey: string): Payment | null {
      const [kind, id = ''] = paymentKey.split(':');
      const intentId =
        kind === 'pi'
          ? id
          : idOf(
              store.all('invoicePayment').find(({ invoice }) => idOf(invoice) === id)?.payment
                .payment_intent,
            );
      const intent = store.get('intent', intentId ?? '');
      return intent?.status === 'succeeded' ? paymentOf(intent.id) : null;
    },
    refundsOf(intentId: string): Stripe.Refund[] {
      return store.all('refund').filter((refund) => idOf(refund.payment_intent) === intentId);
    },
    refunds: () => store.all('refund'),
    refund: (id: string) => store.get('refund', id),
    disputes: () => store.all('dispute'),
    dispute: (id: string) => store.get('dispute', id),
    charges: () => store.all('charge').filter(({ status }) => status === 'succeeded'),
    charge: (id: string) => store.get('charge', id),
    sessions: () => store.all('session'),
    session: (id: string) => store.get('session', id),
    subscriptions: () => store.all('subscription'),
    intents: () => store.all('intent'),
    customers: () => store.all('customer'),
  };
}

/** The effect of a dispute: whether it claws back, and whether used credits become debt. */
export function clawbackOf(dispute: Stripe.Dispute): { takes: boolean; owes: boolean } {
  switch (dispute.status) {
    case 'warning_needs_response':
    case 'warning_under_review':
      return { takes: true, owes: false };
    case 'needs_response':
    case 'under_review':
    case 'lost':
      return { takes: true, owes: true };
    case 'won':
    case 'warning_closed':
      return { takes: false, owes: false };
    default:
      throw new Fault(`The fake has a dispute that is ${dispute.status}`);
  }
}

export function isLive({ status }: Stripe.Subscription): boolean {
  return status === 'active' || status === 'past_due';
}

/** The credits that an amount of a payment has bought; a part of one counts whole. */
export function creditsBought(
  { granted, paidMinor }: { granted: number; paidMinor: number },
  amountMinor: number,
): number {
  const exact = BigInt(granted) * BigInt(amountMinor);
  const whole = exact / BigInt(paidMinor);
  return Math.min(granted, Number(whole * BigInt(paidMinor) < exact ? whole + 1n : whole));
}
