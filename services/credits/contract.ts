import * as v from 'valibot';

/**
 * Requests and replies of the credit calls; all that the web imports of this slice. Amounts are whole
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
} as const;

/** `POST /credits/trial`, local mode only, gives so many; the answer is the Balance. */
export const trialCredits = 50;

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const Amount = v.pipe(
  v.number('Enter a number of credits'),
  v.safeInteger('Enter a whole number of credits'),
  v.minValue(1, 'Enter at least 1 credit'),
  v.maxValue(creditLimits.amount, `Enter at most ${creditLimits.amount} credits`),
);

/** `GET /credits/balance`. */
export const Balance = v.object({
  /** What a run can be paid from now. */
  available_credits: Count,
  /** Held by runs that have not settled yet. */
  reserved_credits: Count,
  /** Taken back after it was used; the next purchase settles it, and no run starts before. */
  debt_credits: Count,
  /** Bought, without bonus. */
  total_purchased: Count,
  /** Net of what was returned for runs. */
  total_consumed: Count,
  /** Bought, bonus and other together. */
  total_credits: Count,
  /** The same as `total_consumed`. */
  used_credits: Count,
});
export type Balance = v.InferOutput<typeof Balance>;

export const TransactionType = v.picklist(['purchase', 'consumption', 'refund', 'bonus', 'other']);
export type TransactionType = v.InferOutput<typeof TransactionType>;

/**
 * What happened, in one word of ours: `run` and `run_return` are a run's price and what came back of
 * it; `grant` is a gift that is no bonus; the rest of `other` takes credits.
 */
export const ReasonCode = v.picklist([
  'purchase',
  'bonus',
  'grant',
  'run',
  'run_return',
  'cash_refund',
  'dispute',
  'correction',
  'debt',
]);
export type ReasonCode = v.InferOutput<typeof ReasonCode>;

/**
 * A line of the ledger. All amounts of an account add up to its available and reserved credits less
 * its debt; `balance_after` is that sum up to and including this line. A reservation is no line.
 */
export const Transaction = v.object({
  id: v.string(),
  transaction_type: TransactionType,
  description: v.string(),
  created_at: v.pipe(v.string(), v.isoTimestamp()),
  /** Signed, never 0. */
  amount: v.pipe(v.number(), v.safeInteger()),
  balance_after: v.pipe(v.number(), v.safeInteger()),
  reason_code: ReasonCode,
  run_id: v.optional(v.string()),
  purchase_id: v.optional(v.string()),
  lot_id: v.optional(v.string()),
});
export type Transaction = v.InferOutput<typeof Transaction>;

/** `data` of `GET /credits/history`, newest first. */
export const History = v.array(Transaction);
export type History = v.InferOutput<typeof History>;

/** The query of `GET /credits/history`. `before` is the id of the last line one already has. */
export const HistoryQuery = v.strictObject({
  limit: v.optional(
    v.pipe(
      v.string(),
      v.digits('The limit is a whole number'),
      v.transform(Number),
      v.minValue(1, 'The limit is at least 1'),
      v.maxValue(creditLimits.historyMost, `The limit is at most ${creditLimits.historyMost}`),
    ),
    String(creditLimits.history),
  ),
  before: v.optional(v.pipe(v.string(), v.uuid('Not the id of a transaction'))),
});
export type HistoryQuery = v.InferOutput<typeof HistoryQuery>;

/** `GET /credits/analytics`. */
export const CreditAnalytics = v.object({
  /** Credits consumed in this month, net of what was returned. */
  monthly_consumption: v.pipe(v.number(), v.safeInteger()),
  /** The last twelve months, oldest first, this one included; `month` like `2026-11`. */
  consumption_by_month: v.array(
    v.object({
      month: v.pipe(v.string(), v.regex(/^\d{4}-\d{2}$/)),
      credits: v.pipe(v.number(), v.safeInteger()),
    }),
  ),
  /** What a completed run cost, to one decimal. */
  average_cost_per_optimization: v.nullable(v.pipe(v.number(), v.minValue(0))),
  completed_optimizations: Count,
  total_consumed: Count,
  /** A run's charge is shared over its seats by what they cost; the shares add up to the charge. */
  most_used_models: v.array(v.object({ model: v.string(), total_credits: Count })),
});
export type CreditAnalytics = v.InferOutput<typeof CreditAnalytics>;

/** `POST /credits/check-usage`. */
export const CheckUsageRequest = v.strictObject({ required_credits: Amount });
export type CheckUsageRequest = v.InferOutput<typeof CheckUsageRequest>;

export const CheckUsageReply = v.object({
  has_sufficient_credits: v.boolean(),
  required_credits: Count,
  current_balance: Count,
  shortfall: Count,
});
export type CheckUsageReply = v.InferOutput<typeof CheckUsageReply>;

/** The answer to a usage check. Debt makes any balance insufficient, as it does for a run. */
export function checkUsage(
  required: number,
  balance: Pick<Balance, 'available_credits' | 'debt_credits'>,
): CheckUsageReply {
  const { available_credits: available, debt_credits: debt } = balance;
  return {
    has_sufficient_credits: debt === 0 && available >= required,
    required_credits: required,
    current_balance: available,
    shortfall: Math.max(0, required - available),
  };
}

/** The words of the insufficient-credits panel and of the 402 behind it. */
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
