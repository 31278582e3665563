import pLimit from 'p-limit';
import type pg from 'pg';
import { collectExport, exportDocument } from '#services/platform/export.ts';
import type { ExportPart, ExportRow } from '#services/platform/export.ts';

/** A user's rows in the plain tables, and the export that joins the parts of all slices. */
type PlainTable = {
  /** Its name in the export. */
  as: string;
  columns: readonly string[];
  /** Columns that are never exported, and why. */
  without: Readonly<Record<string, string>>;
  /** Selects the rows of the user $1. */
  where?: string;
  /** SQL that replaces the column of this name. */
  expressions?: Readonly<Record<string, string>>;
  order: string;
};

const secret = 'A hash by which a secret is recognised';
const whose = 'The person themselves';

/** Each column is exported or listed as left out; a test compares this with the database. */
export const plainTables: Readonly<Record<string, PlainTable>> = {
  users: {
    as: 'account',
    columns: [
      'id',
      'email',
      'name',
      'subscription_tier',
      'granted_tier',
      'avatar',
      'preferred_dashboard',
      'shares_statistics_since',
      'notify_run_finished',
      'notify_low_balance',
      'preferences',
      'email_confirmed_at',
      'onboarding_completed_at',
      'terms_version',
      'terms_accepted_at',
      'password_changed_at',
      'created_at',
      'updated_at',
    ],
    without: {
      password_hash: secret,
      signup_browser: secret,
      erasing_at: 'A user who has asked for erasure can no longer export',
    },
    where: 'id = $1',
    order: 'id',
  },
  avatar: {
    as: 'avatar',
    columns: ['id', 'bytes', 'created_at'],
    without: { user_id: whose },
    order: 'id',
  },
  sessions: {
    as: 'sessions',
    columns: [
      'id',
      'method',
      'device',
      'address',
      'remembered',
      'created_at',
      'authenticated_at',
      'last_used_at',
      'expires_at',
      'ends_at',
      'idle_seconds',
      'revoked_at',
      'ended_reason',
    ],
    without: { user_id: whose },
    order: 'created_at, id',
  },
  api_key: {
    as: 'api_keys',
    columns: [
      'id',
      'name',
      'prefix',
      'scopes',
      'monthly_cap',
      'created_at',
      'last_used_at',
      'revoked_at',
    ],
    without: { user_id: whose, key_hash: secret },
    order: 'created_at, id',
  },
  auth_link: {
    as: 'links',
    columns: [
      'id',
      'kind',
      'email',
      'redirect',
      'remembered',
      'method',
      'created_at',
      'expires_at',
      'used_at',
      'voided_at',
      'session_id',
    ],
    without: {
      user_id: whose,
      token_hash: secret,
      browser_hash: secret,
      opened_by: secret,
      code_challenge: secret,
    },
    order: 'created_at, id',
  },
  mail: {
    as: 'mails',
    columns: [
      'id',
      'kind',
      'status',
      'attempts',
      'unanswered',
      'handed_over_at',
      'not_after',
      'created_at',
      'ended_at',
    ],
    without: { user_id: whose, sealed: 'Gone once it is sent; what was sent is in the mailbox' },
    order: 'created_at, id',
  },
  audit_log: {
    as: 'audit',
    columns: ['entry_id', 'at', 'actor', 'action', 'subject', 'detail'],
    without: { user_id: whose },
    where: 'user_id = $1 or subject = $1',
    // Operators' names are not the user's data.
    expressions: {
      entry_id: 'entry_id::float8',
      actor: `regexp_replace(actor, '^operator:.*', 'operator')`,
    },
    order: 'entry_id',
  },
  erasure: {
    as: 'erased_runs',
    columns: ['key_id', 'kind', 'erased_at'],
    without: { user_id: whose },
    order: 'erased_at, key_id',
  },
  credit_analytics: {
    as: 'run_costs',
    columns: [
      'run_id',
      'seat',
      'model',
      'simulated',
      'calls',
      'answers',
      'input_tokens',
      'output_tokens',
      'cost_micros',
      'unpriced_calls',
      'unpriced_answers',
      'refinement',
      'outcome',
      'charged',
      'millicredits',
    ],
    without: { user_id: whose },
    expressions: {
      input_tokens: 'input_tokens::float8',
      output_tokens: 'output_tokens::float8',
      cost_micros: 'cost_micros::float8',
      charged: 'charged::float8',
      millicredits: 'millicredits::float8',
    },
    order: 'run_id, seat',
  },
  run_usage: {
    as: 'run_months',
    columns: ['run_id', 'month', 'by_bonus', 'released'],
    without: { user_id: whose },
    order: 'month, run_id',
  },
  purchase: {
    as: 'purchases',
    columns: [
      'id',
      'package_id',
      'kind',
      'credits',
      'amount_minor',
      'currency',
      'status',
      'success_url',
      'cancel_url',
      'session_id',
      'checkout_url',
      'payment_intent_id',
      'invoice_id',
      'subscription_id',
      'period_start',
      'period_end',
      'payment_key',
      'lot_id',
      'paid_minor',
      'tax_minor',
      'receipt_url',
      'failure',
      'created_at',
      'updated_at',
      'paid_at',
      'checked_at',
      'next_check_at',
    ],
    without: { user_id: whose, version: 'Counts our own settlements' },
    order: 'created_at, id',
  },
  plan: {
    as: 'plans',
    columns: [
      'subscription_id',
      'customer_id',
      'package_id',
      'next_package_id',
      'status',
      'current_period_start',
      'current_period_end',
      'past_due_since',
      'cancel_at_period_end',
      'ended_at',
      'due_minor',
      'invoice_id',
      'paid_since',
      'paid_until',
      'revoked_at',
      'revoked_from',
      'revoked_as',
      'next_check_at',
      'reading',
      'checked_at',
      'created_at',
      'updated_at',
    ],
    without: { user_id: whose },
    order: 'created_at, subscription_id',
  },
  dispute: {
    as: 'payment_disputes',
    columns: [
      'id',
      'purchase_id',
      'lot_id',
      'charge_id',
      'amount_minor',
      'currency',
      'status',
      'stage',
      'created_at',
      'withdrawn_at',
      'returned_at',
      'updated_at',
      'closed_at',
      'emails',
    ],
    without: { user_id: whose },
    order: 'created_at, id',
  },
  bank_refund: {
    as: 'payment_refunds_by_the_bank',
    columns: [
      'id',
      'purchase_id',
      'lot_id',
      'charge_id',
      'amount_minor',
      'currency',
      'status',
      'created_at',
      'booked_at',
      'failed_at',
      'updated_at',
    ],
    without: { user_id: whose },
    order: 'created_at, id',
  },
  fraud_warning: {
    as: 'payment_fraud_warnings',
    columns: [
      'id',
      'purchase_id',
      'charge_id',
      'fraud_type',
      'created_at',
      'settled_as',
      'settled_at',
    ],
    without: { user_id: whose },
    order: 'created_at, id',
  },
  recipe_use: {
    as: 'recipe_uses',
    columns: ['run_id', 'recipe_id', 'used_at'],
    without: { user_id: whose },
    order: 'used_at, run_id',
  },
  next_step_done: {
    as: 'next_steps_done',
    columns: ['run_id', 'step', 'done_at'],
    without: { user_id: whose },
    order: 'done_at, run_id, step',
  },
  share_link: {
    as: 'share_links',
    columns: ['id', 'run_id', 'shows_context', 'created_at', 'expires_at', 'revoked_at'],
    without: {
      user_id: whose,
      token_hash: 'A hash by which the link is recognised',
      sealed_token: 'Opens the page for anyone who has it; the run lists live links',
    },
    order: 'created_at, id',
  },
  outcome_question: {
    as: 'outcome_questions',
    columns: ['run_id', 'asked', 'emailed_at', 'dismissed_at'],
    without: { user_id: whose },
    order: 'run_id, asked',
  },
  onboarding_bonus: {
    as: 'onboarding_bonus',
    columns: ['credits', 'claimed_at', 'granted_at'],
    without: { user_id: whose, address_hash: 'A hash by which the email address is recognised' },
    order: 'user_id',
  },
  stripe_customer: {
    as: 'payment_customer',
    columns: ['customer_id', 'created_at'],
    without: { user_id: whose },
    order: 'user_id',
  },
};

/**
 * Every other table: where the export has its data about a user, or why it is left out. A test fails
 * when a table is missing here.
 */
export const otherTables: Readonly<
  Record<string, { exportedAs: readonly string[] } | { leftOut: string }>
> = {
  recipe: { exportedAs: ['recipes'] },
  asked_run: { leftOut: 'Which run a request of an API key started; the run is exported' },
  contact_message: { exportedAs: ['messages'] },
  onboarding: { exportedAs: ['onboarding'] },
  emt_messages: { exportedAs: ['credit_events', 'run_events', 'run_texts'] },
  credit_account: { exportedAs: ['credit_balance'] },
  credit_history: { exportedAs: ['credit_history'] },
  credit_ledger: { exportedAs: ['credit_postings'] },
  paid_lot: { exportedAs: ['credit_lots', 'purchases'] },
  cash_refund: { exportedAs: ['credit_refunds'] },
  stream_snapshot: { exportedAs: ['credit_lots', 'runs'] },
  optimization_list: { exportedAs: ['runs'] },
  run_outcome: { exportedAs: ['runs', 'run_events'] },
  policy_change: { leftOut: 'What the operator announced to everyone' },
  emt_streams: { leftOut: 'How many events a stream has, which are exported one by one' },
  live_text: { leftOut: 'Pieces of answers that are being written; whole in run_texts afterwards' },
  data_key: { leftOut: 'Keys that seal what is exported opened' },
  refresh_token: { leftOut: 'Hashes by which a session is recognised; the session is exported' },
  idempotency_key: {
    leftOut: 'Answers that were given, for a day, so that a repeat gets the same',
  },
  rate_limit: { leftOut: 'Counters under hashes, for a day at most' },
  service_token: { leftOut: 'Tokens of other services' },
  service_token_day: { leftOut: 'What other services consumed per day, for all users together' },
  service_token_claim: { leftOut: 'Ids of counted consumptions; no user is named' },
  stripe_event: {
    leftOut: 'Ids of the payment provider’s webhook events; their effects are exported',
  },
  webhook_poll: { leftOut: 'How far missed webhook events were fetched' },
  customer_introduction: {
    leftOut: 'Requests in progress to create a customer at the payment provider',
  },
  community_figures: { leftOut: 'Sums over all who share; no user is named' },
  platform_call: { leftOut: 'What question checks cost, for all users together' },
  model_costs: { leftOut: 'Costs of model answers, for all users together' },
  closed_account_check: { leftOut: 'How far closed accounts were checked; the user’s is open' },
  balance_transaction: { leftOut: 'The provider’s own books of all payments; no user is named' },
  cash_ledger: { leftOut: 'Computed sums for all users together; no user is named' },
  reconciliation: { leftOut: 'How often the books of ledger and provider were compared' },
  chain_anchor: { leftOut: 'Hashes over the events of all users' },
  chain_anchor_head: { leftOut: 'Hashes of the streams that an anchor covers' },
  process_heartbeat: { leftOut: 'Processes of this server' },
  projection_checkpoint: { leftOut: 'How far read models have come' },
  projection_set_aside: { leftOut: 'Which events read models could not take in' },
  epoch: { leftOut: 'Which history positions belong to' },
  database_mode: { leftOut: 'Which mode wrote this database' },
  migration: { leftOut: 'What the tables are made of' },
  read_model: { leftOut: 'What the read models are made of' },
  append_function: { leftOut: 'Versions of the append function' },
  dmb_migrations: { leftOut: 'The event store’s own bookkeeping' },
  emt_processors: { leftOut: 'The event store’s own bookkeeping, unused' },
  emt_projections: { leftOut: 'The event store’s own bookkeeping, unused' },
};

function plainPart(pool: pg.Pool): ExportPart {
  const all = Object.entries(plainTables);
  return {
    tables: Object.fromEntries(all.map(([, { as, columns }]) => [as, columns])),
    async *rows(userId) {
      for (const [table, plain] of all) {
        const { rows } = await pool.query<ExportRow>(selectOf(table, plain), [userId]);
        for (const row of rows) yield [plain.as, row];
      }
    },
  };
}

function selectOf(table: string, { columns, where, expressions, order }: PlainTable): string {
  const selected = columns.map((column) => {
    const expression = expressions?.[column];
    return expression === undefined ? column : `${expression} as ${column}`;
  });
  return `select ${selected.join(', ')} from ${table} where ${where ?? 'user_id = $1'} order by ${order}`;
}

/** `ExportReply` as the bytes of its JSON. */
export type ExportPerson = (userId: string) => Promise<AsyncIterable<Buffer>>;

/** Each export in progress holds all of its user's texts in memory, compressed. */
const exportsAtOnce = 2;

/** `parts` are those of the other slices. */
export function createExporter(options: {
  pool: pg.Pool;
  parts: readonly ExportPart[];
  clock: () => number;
}): ExportPerson {
  const { pool, parts, clock } = options;
  const few = pLimit(exportsAtOnce);
  return async (userId) => {
    const collected = await few(async () => collectExport([plainPart(pool), ...parts], userId));
    return exportDocument(collected, new Date(clock()));
  };
}
