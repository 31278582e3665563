import * as v from 'valibot';
import { Balance, creditLimits, Month, Transaction } from '#services/credits/contract.ts';
import { tiers } from '#services/identity/contract/session.ts';
import { Format, IdText, Time } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';

export { tiers };

/**
 * Requests and replies of buying, plans, refunds and statements; all that the web imports of this
 * slice. Money is in minor units of its currency, credits are whole, times ISO 8601 UTC.
 */

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const Credits = v.pipe(Count, v.description('Whole credits'));
const Minor = v.pipe(Count, v.description("In the currency's smallest unit, such as cents"));
const CheckedTime = v.pipe(Time, v.isoTimestamp());
const Currency = v.pipe(
  v.string(),
  v.regex(/^[a-z]{3}$/),
  v.description('ISO 4217 in lower case, like `usd`'),
);
const PurchaseId = v.pipe(v.string(), v.description("The purchase's id: `pur_` and 26 characters"));
const LotId = v.pipe(
  v.string(),
  v.description('The id of a lot, credits added together: `lot_` and 26 characters'),
);
const ReceiptUrl = v.pipe(
  v.nullable(v.string()),
  v.description("The payment provider's receipt; null if there is none"),
);
const Tier = v.picklist(tiers);

export const paymentLimits = {
  /** Days of 24 hours in which unused credits of a purchase can be given back. */
  refundDays: creditLimits.refundDays,
  /** Rows of `GET /credits/purchases`. */
  purchases: 50,
  /** Below so many available credits a person is asked whether to buy more. */
  lowBalance: creditLimits.lowBalance,
  /** Days that a plan's tier is kept after its payment failed. */
  pastDueDays: 7,
  /** Characters of an address to come back to. */
  address: 2_000,
} as const;

/** A row of `GET /credits/packages`. `price_usd` is `price_cents` / 100. */
export const Package = v.object({
  id: v.pipe(
    v.string(),
    v.regex(/^[a-z0-9-]{1,40}$/),
    v.description('A package id, as `GET /credits/packages` lists it'),
  ),
  name: v.string(),
  price_usd: v.pipe(
    v.number(),
    v.minValue(0),
    v.description('USD, before tax: `price_cents` / 100'),
  ),
  price_cents: v.pipe(Minor, v.minValue(1), v.description('Cents, before tax')),
  currency: Currency,
  credits: v.pipe(Count, v.minValue(1), v.description('Credits it adds; each month for a plan')),
  description: v.string(),
  kind: v.picklist(['one_time', 'monthly']),
  popular: v.pipe(
    v.boolean(),
    v.description(
      'The package that the pages call `Most Popular` where the operator switches that on; not a measurement',
    ),
  ),
  tier: v.pipe(
    v.nullable(Tier),
    v.description(
      'The tier that it brings while it is paid for; null when it leaves the tier alone',
    ),
  ),
});
export type Package = v.InferOutput<typeof Package>;

const PackageId = v.pipe(
  v.string('Choose a package'),
  v.regex(/^[a-z0-9-]{1,40}$/, 'Choose a package'),
  v.description('A package id from `GET /credits/packages`'),
);
const Address = v.pipe(
  v.string('Enter a full web address'),
  v.maxLength(paymentLimits.address, 'This address is too long'),
);

/**
 * `POST /credits/create-checkout-session` and `/credits/purchase`. The addresses must be of our own
 * origins; `session_id` is added to the first one's query. Without them the provider comes back to
 * /credits/success and /credits/purchase.
 */
export const CheckoutRequest = v.strictObject({
  package_id: PackageId,
  success_url: v.optional(
    v.pipe(
      Address,
      v.description(
        'Where to return after paying; must be on one of our own origins. `session_id` is added to its query',
      ),
    ),
  ),
  cancel_url: v.optional(
    v.pipe(
      Address,
      v.description('Where to return without paying; must be on one of our own origins'),
    ),
  ),
});
export type CheckoutRequest = v.InferOutput<typeof CheckoutRequest>;

export const CheckoutReply = v.object({
  checkout_url: v.pipe(v.string(), v.description('The URL of the page to pay on')),
  session_id: v.pipe(v.string(), v.description("The provider's id of the checkout")),
  purchase_id: PurchaseId,
});
export type CheckoutReply = v.InferOutput<typeof CheckoutReply>;

/** `POST /credits/create-payment-intent`, for other clients; one-time packages only. */
export const PaymentIntentRequest = v.strictObject({ package_id: PackageId });
export const PaymentIntentReply = v.object({
  client_secret: v.pipe(v.string(), v.description("For the payment provider's client library")),
  payment_intent_id: v.pipe(v.string(), v.description("The provider's id")),
  purchase_id: PurchaseId,
  amount_cents: v.pipe(Minor, v.description('Cents, before tax')),
  currency: Currency,
});
export type PaymentIntentReply = v.InferOutput<typeof PaymentIntentReply>;

export const PurchaseStatus = v.picklist(['open', 'processing', 'paid', 'failed', 'expired']);
export type PurchaseStatus = v.InferOutput<typeof PurchaseStatus>;

/** `GET /credits/checkout-sessions/{id}`: what became of it, asked of the provider when it is open. */
export const CheckoutState = v.object({
  session_id: v.pipe(v.string(), v.description("The provider's id of the checkout")),
  purchase_id: PurchaseId,
  package_id: v.pipe(v.string(), v.description('A package id from `GET /credits/packages`')),
  package_name: v.string(),
  kind: v.picklist(['one_time', 'monthly']),
  status: PurchaseStatus,
  credits: Credits,
  settled_credits: v.pipe(Count, v.description('How many of its credits settled a debt')),
  amount_cents: v.pipe(
    Minor,
    v.description('The price in cents: before tax until it is paid, with tax afterward'),
  ),
  currency: Currency,
  receipt_url: ReceiptUrl,
  receipt_by_email: v.pipe(
    v.boolean(),
    v.description(
      'Whether we emailed a receipt, or will once it is paid: false without a confirmed address or a mail server',
    ),
  ),
  balance: Balance,
});
export type CheckoutState = v.InferOutput<typeof CheckoutState>;

const RefundStatus = v.picklist(['pending', 'done', 'failed']);

export const Refund = v.object({
  id: v.pipe(
    v.string(),
    v.description("Our id, `rfd_…`; the provider's id if the bank made the refund"),
  ),
  status: RefundStatus,
  credits: v.pipe(Count, v.description('Credits given up for the refund')),
  amount_cents: v.pipe(Minor, v.description('Cents refunded')),
  currency: Currency,
  requested_at: CheckedTime,
  ended_at: v.pipe(
    v.nullable(CheckedTime),
    v.description('When it succeeded or failed, ISO 8601 in UTC; null while pending'),
  ),
});
export type Refund = v.InferOutput<typeof Refund>;

/**
 * `POST /credits/purchases/{id}/refund`; the answer is the Refund. `credits` is the number that was
 * shown, `ends_plan` whether the end of the plan was shown: what has changed since is refused with 409
 * `refund-changed`.
 */
export const RefundRequest = v.strictObject({
  credits: v.optional(
    v.pipe(
      Count,
      v.minValue(1, 'Refund at least 1 credit'),
      v.description('The credits shown to the user; all unused credits if left out'),
    ),
  ),
  ends_plan: v.optional(
    v.pipe(
      v.boolean(),
      v.description('Whether the user was shown that the refund ends their plan'),
    ),
  ),
});
export type RefundRequest = v.InferOutput<typeof RefundRequest>;

/** A row of `GET /credits/purchases`, newest first: what was paid, or is about to be. */
export const Purchase = v.object({
  id: PurchaseId,
  package_id: v.pipe(v.string(), v.description('A package id from `GET /credits/packages`')),
  package_name: v.string(),
  kind: v.picklist(['one_time', 'monthly']),
  status: PurchaseStatus,
  credits: Credits,
  amount_cents: v.pipe(
    Minor,
    v.description('The price in cents: before tax until it is paid, with tax afterward'),
  ),
  currency: Currency,
  created_at: CheckedTime,
  paid_at: v.pipe(
    v.nullable(CheckedTime),
    v.description('When it was paid, ISO 8601 in UTC; null until then'),
  ),
  receipt_url: ReceiptUrl,
  checkout_url: v.pipe(
    v.nullable(v.string()),
    v.description("The provider's page where an open checkout can still be paid; null otherwise"),
  ),
  lot_id: v.nullable(LotId),
  unused_credits: v.pipe(
    Count,
    v.description('Its credits that are unused, not reserved, and not taken back'),
  ),
  taken_back: v.pipe(
    v.boolean(),
    v.description('A dispute or a bank refund has taken some of its credits'),
  ),
  /** What can be asked back now; null when nothing can, and `refusal` says why. */
  refundable: v.nullable(
    v.object({
      credits: v.pipe(Count, v.description('Credits that would be given up')),
      amount_cents: v.pipe(Minor, v.description('Cents that would be refunded')),
      until: v.pipe(CheckedTime, v.description('The last moment to request it, ISO 8601 in UTC')),
      ends_plan: v.pipe(
        v.boolean(),
        v.description('Whether the refund would end the plan that this purchase started'),
      ),
    }),
  ),
  refusal: v.nullable(
    v.picklist(['not_paid', 'nothing_left', 'too_old', 'pending', 'taken_back', 'debt', 'free']),
  ),
  refunds: v.array(Refund),
});
export type Purchase = v.InferOutput<typeof Purchase>;

/**
 * `POST /credits/purchases/{id}/forget`, without fields: what became of one that was not finished.
 * `expired` once it is forgotten; `paid` when it had been paid all the same.
 */
export const ForgetReply = v.object({ status: PurchaseStatus });
export type ForgetReply = v.InferOutput<typeof ForgetReply>;

export const PurchasesQuery = v.strictObject({
  before: v.optional(
    v.pipe(
      IdText('pur'),
      v.description(
        'A cursor: the `id` of the last purchase received; the reply continues with older ones',
      ),
    ),
  ),
});

/** `GET /credits/plan`. */
export const Plan = v.object({
  tier: Tier,
  monthly_limit: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('Runs a month that bonus credits can pay for; −1 is unlimited'),
  ),
  plan: v.nullable(
    v.object({
      package_id: v.pipe(v.string(), v.description('A package id from `GET /credits/packages`')),
      package_name: v.string(),
      status: v.picklist(['active', 'past_due', 'cancelling', 'ended']),
      credits: v.pipe(Count, v.description('Credits it adds each month')),
      amount_cents: v.pipe(Minor, v.description('Cents a month, before tax')),
      currency: Currency,
      current_period_end: v.pipe(
        v.nullable(CheckedTime),
        v.description('When it renews or ends, ISO 8601 in UTC; null while unknown'),
      ),
      due_cents: v.pipe(
        v.nullable(Minor),
        v.description(
          'Cents that are still to be paid, with tax, after a payment failed; null when nothing is',
        ),
      ),
      grace_until: v.pipe(
        v.nullable(CheckedTime),
        v.description('After a failed payment, the tier is kept until then; ISO 8601 in UTC'),
      ),
      next_package_id: v.pipe(
        v.nullable(v.string()),
        v.description('The package it changes to at renewal; null if it does not change'),
      ),
    }),
  ),
});
export type Plan = v.InferOutput<typeof Plan>;

/** `POST /credits/plan`; the answer is the Plan. A change takes effect when the plan renews. */
export const PlanRequest = v.variant('action', [
  v.strictObject({ action: v.literal('change'), package_id: PackageId }),
  v.strictObject({ action: v.literal('cancel') }),
  v.strictObject({ action: v.literal('resume') }),
]);
export type PlanRequest = v.InferOutput<typeof PlanRequest>;

/** `POST /credits/portal-session`: the provider's own pages for cards and invoices. */
export const PortalRequest = v.strictObject({ return_url: v.optional(Address) });
export const PortalReply = v.object({
  url: v.pipe(v.string(), v.description("The URL of the provider's page")),
});
export type PortalReply = v.InferOutput<typeof PortalReply>;

/**
 * `GET /credits/statements/{yyyy-mm}`, a UTC month, oldest line first; the same as CSV with
 * `?format=csv`. opening + all amounts = closing, in the sense of `Transaction`, and a month opens with
 * what the one before closed with. One that has passed without a line has an empty statement; one that
 * has not begun has none, 404.
 */
export const Statement = v.object({
  month: Month,
  name: v.pipe(v.string(), v.description("The person's billing name, as on an invoice")),
  email: v.string(),
  opening_balance: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('The closing balance of the month before, in credits'),
  ),
  closing_balance: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('The opening balance plus all amounts, in credits'),
  ),
  is_running: v.pipe(v.boolean(), v.description('Whether the month is still in progress')),
  totals: v.object({
    purchased: v.pipe(Count, v.description('Credits')),
    bonus: v.pipe(Count, v.description('Credits')),
    consumed: v.pipe(v.number(), v.safeInteger(), v.description('Credits, net of returns')),
    other: v.pipe(
      v.number(),
      v.safeInteger(),
      v.description('Everything else, in credits; signed'),
    ),
  }),
  lines: v.array(
    v.object({
      ...Transaction.entries,
      /** Money that moved with the line: paid, or, negative, asked back or taken back by a bank. */
      payment: v.nullable(
        v.object({
          amount_cents: v.pipe(
            v.number(),
            v.safeInteger(),
            v.description(
              'Cents that moved with the line: paid, or, negative, asked back or taken back by a bank',
            ),
          ),
          currency: Currency,
          receipt_url: ReceiptUrl,
        }),
      ),
      /** The lots whose credits the line is about, and what paid for them. */
      lots: v.array(
        v.object({
          lot_id: LotId,
          credits: v.pipe(Count, v.description("Credits of this line's lot")),
          purchase_id: v.pipe(
            v.nullable(v.string()),
            v.description('Null for credits that were not bought'),
          ),
          receipt_url: ReceiptUrl,
        }),
      ),
    }),
  ),
});
export type Statement = v.InferOutput<typeof Statement>;

export const StatementQuery = v.strictObject({ format: Format('csv') });

export const StatementMonth = v.pipe(
  v.string(),
  v.regex(/^2\d{3}-(?:0[1-9]|1[0-2])$/, 'A month is written like 2026-11'),
  v.description('A calendar month in UTC, like `2026-11`'),
);

export const StatementPath = v.strictObject({ month: StatementMonth });

/** Months with at least one line, newest first: `GET /credits/statements`. */
export const StatementMonths = v.array(Month);
export type StatementMonths = v.InferOutput<typeof StatementMonths>;

/** `POST /webhooks/stripe`: it is stored, and processed later. */
export const ReceivedReply = v.object({ received: v.literal(true) });

/** Buying credits, plans, getting money back, and the statement of it all. */
export const paymentEndpoints = {
  'GET /credits/packages': {
    summary: 'List what can be bought',
    description: 'One-time packages and monthly plans, with their prices.',
    access: 'everyone',
    cacheSeconds: 300,
    status: 200,
    reply: v.array(Package),
  },
  'POST /credits/create-checkout-session': {
    summary: 'Start a purchase',
    description: "The response contains the payment provider's page to pay on.",
    access: 'person',
    body: CheckoutRequest,
    status: 201,
    reply: CheckoutReply,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
  'POST /credits/purchase': {
    summary: 'Start a purchase (older name)',
    description: 'The same as `POST /credits/create-checkout-session`.',
    access: 'person',
    body: CheckoutRequest,
    status: 201,
    reply: CheckoutReply,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
  'POST /credits/create-payment-intent': {
    summary: 'Start a purchase that the client pays itself',
    description:
      "For one-time packages. `client_secret` is for the payment provider's client library.",
    access: 'person',
    body: PaymentIntentRequest,
    status: 201,
    reply: PaymentIntentReply,
    refuses: [409, 503],
    idempotencyKey: 'optional',
  },
  'GET /credits/checkout-sessions/{id}': {
    summary: 'Get the state of a checkout',
    description: 'While the checkout is open, this call asks the payment provider.',
    access: 'person',
    status: 200,
    reply: CheckoutState,
  },
  'GET /credits/purchases': {
    summary: "List the user's purchases",
    description: 'Newest first. Each has its refunds and what can still be refunded.',
    access: 'person',
    query: PurchasesQuery,
    status: 200,
    reply: v.array(Purchase),
  },
  'POST /credits/purchases/{id}/refund': {
    summary: 'Request a refund',
    description:
      'Refunds unused credits to the original payment method. With `credits`, the call fails with 409 `refund-changed` if a different amount is due.',
    access: 'person',
    body: RefundRequest,
    status: 201,
    reply: Refund,
    refuses: [409],
    idempotencyKey: 'optional',
  },
  'POST /credits/purchases/{id}/forget': {
    summary: 'Drop an unpaid purchase',
    description:
      'Ends the checkout at the payment provider. If it was paid in the meantime, the credits are added.',
    access: 'person',
    status: 200,
    reply: ForgetReply,
    refuses: [503],
  },
  'GET /credits/plan': {
    summary: 'Get the plan and its tier',
    description: '`plan` is null if the user never had one.',
    access: 'person',
    status: 200,
    reply: Plan,
  },
  'POST /credits/plan': {
    summary: 'Change, cancel, or resume the plan',
    description:
      'Changes and cancellations take effect at the end of the paid period. Canceling a past-due plan ends it right away.',
    access: 'person',
    body: PlanRequest,
    status: 200,
    reply: Plan,
    refuses: [409, 503],
  },
  'POST /credits/portal-session': {
    summary: "Open the payment provider's pages",
    description: 'Returns a link to where the user manages cards and invoices.',
    access: 'person',
    body: PortalRequest,
    status: 201,
    reply: PortalReply,
    refuses: [409, 503],
  },
  'GET /credits/statements': {
    summary: 'List the months that have a statement',
    description: 'Newest first.',
    access: 'person',
    status: 200,
    reply: StatementMonths,
  },
  'GET /credits/statements/{month}': {
    summary: 'Get the statement of a month',
    description: 'With `format=csv`, returns it as a file.',
    access: 'person',
    path: StatementPath,
    query: StatementQuery,
    status: 200,
    reply: Statement,
    files: ['text/csv'],
  },
  'POST /webhooks/stripe': {
    summary: 'Receive a webhook event',
    description:
      'Called by the payment provider. Its signature over the body is in the header `Stripe-Signature`.',
    access: 'everyone',
    sends: ['application/json'],
    status: 200,
    reply: ReceivedReply,
    refuses: [503],
  },
} as const satisfies EndpointList;
