import * as v from 'valibot';
import { Time, WholeText } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/**
 * Requests and replies of the credit calls; the web imports only this file of the slice. Amounts are whole
 * credits, times ISO 8601 UTC, months UTC months. `null` means unknown, never 0.
 */

export const creditLimits = {
  /** Transactions a reply. */
  history: 50,
  historyMost: 200,
  /** Rows of `most_used_models`. */
  models: 5,
  /** Months of `consumption_by_month`, this one included. */
  months: 12,
  /** The most that anyone can ask about or be granted at once. */
  amount: 1_000_000,
  /** Characters that a service may write about what it used credits for. */
  reason: 200,
  /** Days of 24 hours in which unused credits of a purchase can be given back. */
  refundDays: 30,
  /** Below this balance the user gets an email. */
  lowBalance: 20,
  /** Days over which the cost of answers is measured. */
  measuredDays: 90,
  /** Fewer answers of a model would reveal single runs, so no figure is shown. */
  measuredAnswers: 20,
} as const;

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const CheckedTime = v.pipe(Time, v.isoTimestamp());
/** A month of a statement or a figure. */
export const Month = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d{2}$/),
  v.description('A calendar month in UTC, like `2026-11`'),
);
const Amount = v.pipe(
  v.number('Enter a number of credits'),
  v.safeInteger('Enter a whole number of credits'),
  v.minValue(1, 'Enter at least 1 credit'),
  v.maxValue(creditLimits.amount, `Enter at most ${creditLimits.amount} credits`),
  v.description('Whole credits'),
);

/** `GET /credits/balance`. */
export const Balance = v.object({
  available_credits: v.pipe(Count, v.description('Credits that a run can be paid from now')),
  reserved_credits: v.pipe(Count, v.description('Credits held by runs that have not settled yet')),
  debt_credits: v.pipe(
    Count,
    v.description(
      'Credits taken back after they were used; the next purchase settles them, and no run starts before',
    ),
  ),
  spending_frozen: v.pipe(
    v.boolean(),
    v.description(
      'A payment was refunded and then also taken back by the bank; nothing can be spent until the operator lifts it',
    ),
  ),
  total_purchased: v.pipe(Count, v.description('Credits bought so far, without bonus')),
  total_consumed: v.pipe(
    Count,
    v.description('Credits used so far, net of what was returned for runs'),
  ),
  total_credits: v.pipe(Count, v.description('Credits bought, bonus and other together, so far')),
  used_credits: v.pipe(Count, v.description('Credits; the same as `total_consumed`')),
});
export type Balance = v.InferOutput<typeof Balance>;

export const TransactionType = v.picklist(['purchase', 'consumption', 'refund', 'bonus', 'other']);
export type TransactionType = v.InferOutput<typeof TransactionType>;

export const ReasonCode = v.pipe(
  v.picklist([
    'purchase',
    'bonus',
    'grant',
    'run',
    'run_return',
    'service',
    'cash_refund',
    'dispute',
    'inquiry',
    'correction',
    'debt',
  ]),
  v.description(
    "What happened: `run` and `run_return` are a run's price and what came back of it; `service` is what another service used; `grant` is a gift that is no bonus; `inquiry` is a bank's question about a payment, and `dispute` its money taken back; the rest of `other` takes credits",
  ),
);
export type ReasonCode = v.InferOutput<typeof ReasonCode>;

/**
 * A line of the ledger. All amounts of an account add up to its available and reserved credits less
 * its debt; `balance_after` is that sum up to and including this line. A reservation is no line.
 */
export const Transaction = v.object({
  id: v.pipe(
    v.string(),
    v.description('Of this line, a UUID; the cursor `before` of the next page'),
  ),
  transaction_type: TransactionType,
  description: v.pipe(v.string(), v.description('The line in words')),
  created_at: CheckedTime,
  amount: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('Credits, signed: what the line adds to the account or takes from it; never 0'),
  ),
  balance_after: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('Credits: available and held less debt, up to and including this line'),
  ),
  reason_code: ReasonCode,
  run_id: v.optional(v.pipe(v.string(), v.description('The run that it is about, `opt_…`'))),
  purchase_id: v.optional(
    v.pipe(v.string(), v.description('The purchase that it is about, `pur_…`')),
  ),
  lot_id: v.optional(
    v.pipe(v.string(), v.description('The lot of credits that it is about, `lot_…`')),
  ),
});
export type Transaction = v.InferOutput<typeof Transaction>;

/** `data` of `GET /credits/history`, newest first. */
export const History = v.array(Transaction);
export type History = v.InferOutput<typeof History>;

/** The query of `GET /credits/history`. `before` is the id of the last line already read. */
export const HistoryQuery = v.strictObject({
  limit: v.optional(
    v.pipe(
      WholeText(1, creditLimits.historyMost, {
        notWhole: 'The limit is a whole number',
        tooSmall: 'The limit is at least 1',
        tooLarge: `The limit is at most ${creditLimits.historyMost}`,
      }),
      v.description('Lines, at most'),
    ),
    String(creditLimits.history),
  ),
  before: v.optional(
    v.pipe(
      v.string(),
      v.uuid('Not the id of a transaction'),
      v.description('A cursor: the `id` of the last line that one has; older lines follow'),
    ),
  ),
});
export type HistoryQuery = v.InferOutput<typeof HistoryQuery>;

/** `GET /credits/analytics`. */
export const CreditAnalytics = v.object({
  monthly_consumption: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('Credits used in this month (UTC), net of what was returned'),
  ),
  /** The last twelve months, oldest first, this one included; `month` like `2026-11`. */
  consumption_by_month: v.array(
    v.object({
      month: Month,
      credits: v.pipe(
        v.number(),
        v.safeInteger(),
        v.description('Credits used in the month, net of what was returned'),
      ),
    }),
  ),
  average_cost_per_optimization: v.pipe(
    v.nullable(v.pipe(v.number(), v.minValue(0))),
    v.description(
      'Credits that a completed run was charged, to one decimal; null before the first',
    ),
  ),
  completed_optimizations: v.pipe(Count, v.description('Runs, over all time')),
  total_consumed: v.pipe(
    Count,
    v.description('Credits, over all time; net of what was returned for runs'),
  ),
  /** A run's charge is shared over its seats by their cost; the shares sum to the charge. */
  most_used_models: v.array(
    v.object({
      model: v.pipe(v.string(), v.description('The id of the model')),
      total_credits: v.pipe(
        Count,
        v.description(
          "Credits: the model's share of what its runs were charged, by what its calls cost",
        ),
      ),
    }),
  ),
  as_of: v.pipe(
    CheckedTime,
    v.description('The figures hold everything that happened until then; ISO 8601 in UTC'),
  ),
});
export type CreditAnalytics = v.InferOutput<typeof CreditAnalytics>;

const PerMillionTokens = v.pipe(
  v.nullable(v.pipe(v.number(), v.minValue(0))),
  v.description('List price, USD for a million tokens; null where the catalogue names none'),
);
const Measured = v.object({
  answers: v.pipe(
    v.nullable(Count),
    v.description('Answers in the last 90 days whose cost is known; null for fewer than 20'),
  ),
  average_cost: v.pipe(
    v.nullable(v.pipe(v.number(), v.minValue(0))),
    v.description('USD of one answer, on average over these; null for fewer than 20'),
  ),
});

/** `GET /credits/model-costs`: list prices, and the measured cost of answers over all users. */
export const ModelCosts = v.object({
  models: v.array(
    v.object({
      id: v.pipe(v.string(), v.description('Of the model, as strategies name it')),
      name: v.string(),
      provider: v.string(),
      input_price: PerMillionTokens,
      cached_input_price: PerMillionTokens,
      output_price: PerMillionTokens,
      ...Measured.entries,
      /** The same for simulated answers, at the prices of the simulated model. */
      simulated: Measured,
    }),
  ),
  as_of: v.pipe(
    CheckedTime,
    v.description('Measured figures hold everything that happened until then; ISO 8601 in UTC'),
  ),
});
export type ModelCosts = v.InferOutput<typeof ModelCosts>;

/** `POST /credits/check-usage`. */
export const CheckUsageRequest = v.strictObject({ required_credits: Amount });
export type CheckUsageRequest = v.InferOutput<typeof CheckUsageRequest>;

export const CheckUsageReply = v.object({
  has_sufficient_credits: v.pipe(
    v.boolean(),
    v.description('Whether a run of this price could start now; if not, `refusal` says why'),
  ),
  required_credits: v.pipe(Count, v.description('Credits, as asked')),
  current_balance: v.pipe(Count, v.description('Credits that a run can be paid from now')),
  shortfall: v.pipe(Count, v.description('Credits that are missing; 0 when there are enough')),
  refusal: v.pipe(
    v.nullable(
      v.object({
        status: v.pipe(v.number(), v.description('Status')),
        code: v.pipe(
          v.string(),
          v.description(
            '`insufficient-credits`, `debt`, `monthly-limit`, `spending-frozen`, `account-closed` or `paused`',
          ),
        ),
        message: v.pipe(v.string(), v.description('A sentence')),
      }),
    ),
    v.description('What the start of a run of this price would be refused with; null for nothing'),
  ),
});
export type CheckUsageReply = v.InferOutput<typeof CheckUsageReply>;

/** `POST /credits/consume`, for other services only; `Idempotency-Key` is required. */
export const ConsumeRequest = v.strictObject({
  user_id: v.pipe(
    v.string('Name the user'),
    v.regex(/^usr_[0-9a-hjkmnp-tv-z]{26}$/, 'Not the id of a user'),
    v.description('Whose credits: `usr_` and 26 characters'),
  ),
  credits: Amount,
  reason: v.pipe(
    v.string('Say what the credits are for'),
    v.trim(),
    v.minLength(1, 'Say what the credits are for'),
    v.maxLength(creditLimits.reason, `Use at most ${creditLimits.reason} characters`),
    v.description("What for, in the service's words; kept sealed, as part of the person's ledger"),
  ),
});
export type ConsumeRequest = v.InferOutput<typeof ConsumeRequest>;

export const ConsumeReply = v.object({
  consumption_id: v.pipe(v.string(), v.description('Of this use, `con_…`')),
  consumed_credits: v.pipe(Count, v.description('Credits')),
  /** The account after it. */
  balance: Balance,
});
export type ConsumeReply = v.InferOutput<typeof ConsumeReply>;

/** The reason why a frozen account cannot spend, in the API and on the pages. */
export const spendingFrozenSentence =
  'Your credits cannot be spent: a payment was refunded to you, and then your bank took it back as well. Write to us to settle it.';

/** The text of the insufficient-credits panel and of its 402. */
export function insufficientCreditsSentence(of: {
  required: number;
  balance: number;
  shortfall: number;
}): string {
  return (
    `You need ${of.required} credits to run this optimization, ` +
    `but you only have ${of.balance} credits available. ` +
    `You're short by ${of.shortfall} credits.`
  );
}

/** A user's credits: balance, sources and uses. */
export const creditEndpoints = {
  'GET /credits/balance': {
    summary: 'The balance',
    description: 'Always current: it includes every change that was answered before.',
    isConditional: true,
    access: 'person',
    status: 200,
    reply: Balance,
  },
  'GET /credits/history': {
    summary: 'The ledger, newest line first',
    description: '`before` is the id of the last line that the caller has.',
    access: 'person',
    query: HistoryQuery,
    status: 200,
    reply: History,
  },
  'GET /credits/analytics': {
    summary: 'What credits were used for',
    description:
      'The months and the total are always current. Models, the average and the count of runs follow the events: `as_of` says up to when they are complete, usually a few seconds ago.',
    access: 'person',
    status: 200,
    reply: CreditAnalytics,
  },
  'GET /credits/model-costs': {
    summary: 'Prices of models, and the average cost of an answer',
    description:
      'Prices are USD for a million tokens. `average_cost` is USD for one answer to a question, measured over all users and the last 90 days; both it and `answers` are null below 20 answers, so that no single run shows. Simulated answers are counted apart. Measured figures follow the events: `as_of` says up to when they are complete, usually a few seconds ago.',
    access: 'everyone',
    status: 200,
    reply: ModelCosts,
  },
  'POST /credits/check-usage': {
    summary: 'Whether a run of this price could start now',
    description: 'Decides as the start itself does and holds nothing. Rate limits are not checked.',
    access: 'person',
    body: CheckUsageRequest,
    status: 200,
    reply: CheckUsageReply,
  },
  'POST /credits/consume': {
    summary: "Consume a user's credits for another service",
    description:
      'For services with a token of their own. The `Idempotency-Key` is required, so that a service can repeat a call whose outcome it does not know.',
    access: 'service',
    body: ConsumeRequest,
    status: 201,
    reply: ConsumeReply,
    refuses: [402, 403, 404, 409],
    idempotencyKey: 'required',
  },
} as const satisfies EndpointList;
