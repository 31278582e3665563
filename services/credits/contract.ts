import * as v from 'valibot';
import { Format, Time, WholeText } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/**
 * Requests and replies of the credit calls; the web imports only this file of the slice. Amounts are whole
 * credits, times ISO 8601 UTC, months UTC months. `null` means unknown, never 0.
 */

export const creditLimits = {
  /** Transactions a reply. */
  history: 50,
  historyMost: 200,
  /** Transactions in a file. */
  historyFile: 10_000,
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
  v.maxValue(creditLimits.amount, `Enter up to ${creditLimits.amount} credits.`),
  v.description('Whole credits'),
);

/** `GET /credits/balance`. */
export const Balance = v.object({
  available_credits: v.pipe(Count, v.description('Credits available to pay for runs now')),
  reserved_credits: v.pipe(
    Count,
    v.description('Credits reserved by runs that have not settled yet'),
  ),
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
  total_purchased: v.pipe(
    Count,
    v.description('Credits bought so far, not counting bonus credits'),
  ),
  total_consumed: v.pipe(Count, v.description('Credits used so far, net of returns')),
  total_credits: v.pipe(
    Count,
    v.description('All credits received so far: bought, bonus, and other'),
  ),
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
  id: v.pipe(v.string(), v.description("The line's id, a UUID; use it as the cursor `before`")),
  transaction_type: TransactionType,
  description: v.pipe(v.string(), v.description('The line, in words')),
  created_at: CheckedTime,
  amount: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('Credits, signed: what the line adds to or takes from the account; never 0'),
  ),
  balance_after: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('The balance after this line, in credits: available plus reserved, minus debt'),
  ),
  reason_code: ReasonCode,
  run_id: v.optional(v.pipe(v.string(), v.description('The run this line is about, `opt_…`'))),
  purchase_id: v.optional(
    v.pipe(v.string(), v.description('The purchase this line is about, `pur_…`')),
  ),
  lot_id: v.optional(v.pipe(v.string(), v.description('The lot this line is about, `lot_…`'))),
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
        tooSmall: 'The limit must be at least 1.',
        tooLarge: `The limit can be up to ${creditLimits.historyMost}.`,
      }),
      v.description(
        `The most lines to return; ${creditLimits.history} by default, and ${creditLimits.historyFile} in a file`,
      ),
    ),
  ),
  before: v.optional(
    v.pipe(
      v.string(),
      v.uuid('Not the id of a transaction'),
      v.description(
        'A cursor: the `id` of the last line received; the reply continues with older lines',
      ),
    ),
  ),
  format: Format('csv'),
});
export type HistoryQuery = v.InferOutput<typeof HistoryQuery>;

const Millicredits = v.pipe(
  Count,
  v.description(
    "Credits, in thousandths: the model's share of what its runs were charged, by what its calls cost",
  ),
);

/** `GET /credits/analytics`. */
export const CreditAnalytics = v.object({
  monthly_consumption: v.pipe(
    v.number(),
    v.safeInteger(),
    v.description('Credits used this month (UTC), net of returns'),
  ),
  /** The last twelve months, oldest first, this one included; `month` like `2026-11`. */
  consumption_by_month: v.array(
    v.object({
      month: Month,
      credits: v.pipe(
        v.number(),
        v.safeInteger(),
        v.description('Credits used in the month, net of returns'),
      ),
    }),
  ),
  consumption_by_day: v.pipe(
    v.array(
      v.object({
        day: v.pipe(v.string(), v.isoDate(), v.description('A day in UTC, like `2026-11-22`')),
        credits: v.pipe(
          v.number(),
          v.safeInteger(),
          v.description('Credits used on the day, net of what was returned'),
        ),
      }),
    ),
    v.description('The last 90 days, the oldest first, this one included'),
  ),
  average_cost_per_optimization: v.pipe(
    v.nullable(v.pipe(v.number(), v.minValue(0))),
    v.description(
      'Credits that a completed run was charged, to one decimal; null before the first',
    ),
  ),
  completed_optimizations: v.pipe(Count, v.description('Runs, over all time')),
  total_consumed: v.pipe(Count, v.description('Credits used over all time, net of returns')),
  /** A run's charge is shared over the seats that answered, by their cost; the shares sum to it. */
  most_used_models: v.pipe(
    v.array(
      v.object({
        model: v.pipe(v.string(), v.description('The id of the model')),
        name: v.pipe(v.string(), v.description('Of the model, as people read it')),
        total_credits: v.pipe(Count, v.description('`millicredits` as credits, rounded')),
        millicredits: Millicredits,
      }),
    ),
    v.description('The five with most credits'),
  ),
  models: v.pipe(
    v.array(
      v.object({
        model: v.pipe(v.string(), v.description('The id of the model')),
        name: v.pipe(v.string(), v.description('Of the model, as people read it')),
        maker: v.pipe(
          v.nullable(v.string()),
          v.description('Who made it; null for a model that the catalogue does not list'),
        ),
        simulated: v.pipe(
          v.boolean(),
          v.description('The simulator answered for it in at least one run'),
        ),
        calls: v.pipe(Count, v.description('Calls that began, failed ones included')),
        answers: v.pipe(Count, v.description('Answers and votes that it gave')),
        input_tokens: v.pipe(Count, v.description('Of the calls that reported them')),
        output_tokens: v.pipe(Count, v.description('Of the calls that reported them')),
        cost: v.pipe(
          v.number(),
          v.minValue(0),
          v.description(
            'USD that its calls cost us; of simulated calls, what they would have cost',
          ),
        ),
        cost_is_minimum: v.pipe(
          v.boolean(),
          v.description('A call whose cost is unknown is not in `cost`'),
        ),
        millicredits: Millicredits,
      }),
    ),
    v.description(
      "Every model called in the user's runs, over all time, the one with most credits first. Answers and votes only: calls that collect claims, write and check the recommendation are not listed by model",
    ),
  ),
  as_of: v.pipe(
    CheckedTime,
    v.description('The figures are complete up to this time; ISO 8601 in UTC'),
  ),
});
export type CreditAnalytics = v.InferOutput<typeof CreditAnalytics>;

const PerMillionTokens = v.pipe(
  v.nullable(v.pipe(v.number(), v.minValue(0))),
  v.description('List price, USD per million tokens; null if the catalog has none'),
);
const Measured = v.object({
  answers: v.pipe(
    v.nullable(Count),
    v.description('Answers in the last 90 days with a known cost; null below 20'),
  ),
  average_cost: v.pipe(
    v.nullable(v.pipe(v.number(), v.minValue(0))),
    v.description('Average cost of one answer in USD; null below 20 answers'),
  ),
});

/** `GET /credits/model-costs`: list prices, and the measured cost of answers over all users. */
export const ModelCosts = v.object({
  models: v.array(
    v.object({
      id: v.pipe(v.string(), v.description("The model's id, as strategies use it")),
      name: v.string(),
      provider: v.string(),
      maker: v.pipe(v.string(), v.description('Who made it, as people read it')),
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
    v.description('Measured figures are complete up to this time; ISO 8601 in UTC'),
  ),
});
export type ModelCosts = v.InferOutput<typeof ModelCosts>;

/** `POST /credits/check-usage`. */
export const CheckUsageRequest = v.strictObject({ required_credits: Amount });
export type CheckUsageRequest = v.InferOutput<typeof CheckUsageRequest>;

export const CheckUsageReply = v.object({
  has_sufficient_credits: v.pipe(
    v.boolean(),
    v.description('Whether a run at this price could start now; if not, `refusal` says why'),
  ),
  required_credits: v.pipe(Count, v.description('Credits requested')),
  current_balance: v.pipe(Count, v.description('Credits available to pay for runs now')),
  shortfall: v.pipe(Count, v.description('Credits missing; 0 if there are enough')),
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
    v.description(
      'The refusal that starting a run at this price would get; null if it could start',
    ),
  ),
});
export type CheckUsageReply = v.InferOutput<typeof CheckUsageReply>;

/** `POST /credits/consume`, for other services only; `Idempotency-Key` is required. */
export const ConsumeRequest = v.strictObject({
  user_id: v.pipe(
    v.string('Name the user'),
    v.regex(/^usr_[0-9a-hjkmnp-tv-z]{26}$/, 'Not the id of a user'),
    v.description("The id of the credits' owner: `usr_` and 26 characters"),
  ),
  credits: Amount,
  reason: v.pipe(
    v.string('Say what the credits are for'),
    v.trim(),
    v.minLength(1, 'Say what the credits are for'),
    v.maxLength(creditLimits.reason, `Use at most ${creditLimits.reason} characters`),
    v.description("The purpose, in the service's words; stored encrypted in the person's ledger"),
  ),
});
export type ConsumeRequest = v.InferOutput<typeof ConsumeRequest>;

export const ConsumeReply = v.object({
  consumption_id: v.pipe(v.string(), v.description('The id of this consumption, `con_…`')),
  consumed_credits: v.pipe(Count, v.description('Credits')),
  /** The account after it. */
  balance: Balance,
});
export type ConsumeReply = v.InferOutput<typeof ConsumeReply>;

/** The reason why a frozen account cannot spend, in the API and on the pages. */
export const spendingFrozenSentence =
  "You can't spend your credits: we refunded one of your payments, and then your bank took back the same payment. Contact us to settle it.";

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
    summary: 'Get the balance',
    description: 'Always current: it includes every change already confirmed.',
    isConditional: true,
    access: 'person',
    scope: 'credits:read',
    status: 200,
    reply: Balance,
  },
  'GET /credits/history': {
    summary: 'List the ledger, newest line first',
    description: `\`before\` is the id of the last line the caller has. With \`format=csv\` the response is a file, with up to ${creditLimits.historyFile.toLocaleString('en-US')} lines; one with fewer is the last.`,
    access: 'person',
    scope: 'credits:read',
    query: HistoryQuery,
    status: 200,
    reply: History,
    files: ['text/csv'],
  },
  'GET /credits/analytics': {
    summary: 'Get usage figures',
    description:
      'The months and the total are always current. Models, the average, and the number of runs follow a few seconds later: they are complete up to `as_of`.',
    access: 'person',
    scope: 'credits:read',
    status: 200,
    reply: CreditAnalytics,
  },
  'GET /credits/model-costs': {
    summary: 'List model prices and the average cost of an answer',
    description:
      'Prices are USD for a million tokens. `average_cost` is USD for one answer to a question, measured over all users and the last 90 days; both it and `answers` are null below 20 answers, so that no single run shows. Simulated answers are counted apart. Measured figures follow the events: `as_of` says up to when they are complete, usually a few seconds ago.',
    access: 'everyone',
    status: 200,
    reply: ModelCosts,
  },
  'POST /credits/check-usage': {
    summary: 'Check whether a run at this price could start now',
    description: 'Decides as the start does, but reserves nothing. Rate limits are not checked.',
    access: 'person',
    body: CheckUsageRequest,
    status: 200,
    reply: CheckUsageReply,
  },
  'POST /credits/consume': {
    summary: "Consume a user's credits for another service",
    description:
      'For services with their own token. The `Idempotency-Key` is required so that a service can safely retry.',
    access: 'service',
    body: ConsumeRequest,
    status: 201,
    reply: ConsumeReply,
    refuses: [402, 403, 404, 409],
    idempotencyKey: 'required',
  },
} as const satisfies EndpointList;
