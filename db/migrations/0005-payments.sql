-- Payments: what people set out to buy, their plans, and what the payment provider tells of. No credits
-- stand here: those are events, and a payment is tied to its lot by the payment key.

-- How the payment provider knows a person.
create table stripe_customer (
  user_id text primary key,
  customer_id text not null unique check (customer_id like 'cus\_%'),
  created_at timestamptz not null default now()
);

-- That the provider is being told of a person; gone once the customer that came of it stands above.
-- Whoever is killed in between leaves it, and with it that there may be a customer whose id nobody knows.
create table customer_introduction (
  id bigint generated always as identity primary key,
  user_id text not null,
  begun_at timestamptz not null
);
create index customer_introduction_user_id on customer_introduction (user_id);

-- One attempt to buy, or one paid invoice of a plan. Written before the provider is asked.
create table purchase (
  id text primary key check (id like 'pur\_%'),
  user_id text not null,
  package_id text not null,
  -- `plan_checkout` begins a plan and never grants; each of the plan's invoices is a purchase.
  kind text not null check (kind in ('checkout', 'intent', 'plan_checkout', 'invoice')),
  credits integer not null check (credits > 0),
  -- The price, without tax.
  amount_minor integer not null check (amount_minor >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  status text not null default 'open'
    check (status in ('open', 'processing', 'paid', 'failed', 'expired')),
  -- Where the provider was told to come back to: when it is asked again under the same key, it must be
  -- told the same.
  success_url text,
  cancel_url text,
  session_id text unique,
  -- The page on which that session can be paid, while it is open.
  checkout_url text,
  payment_intent_id text unique,
  invoice_id text unique,
  subscription_id text,
  -- What an invoice of a plan paid for.
  period_start timestamptz,
  period_end timestamptz,
  -- `pi:<id>` or `invoice:<id>`, once it is paid; the lot that it was granted as.
  payment_key text unique,
  lot_id text unique,
  -- With tax, as paid; of it the tax.
  paid_minor integer check (paid_minor >= 0),
  tax_minor integer check (tax_minor >= 0),
  receipt_url text,
  -- Why it failed, as a code of ours.
  failure text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  paid_at timestamptz,
  -- Counts what was settled of it: a reading from before another settlement is not applied.
  version integer not null default 0,
  -- When the provider was last asked about it, and when it is asked next; null when nothing is open.
  checked_at timestamptz,
  next_check_at timestamptz
);
create index purchase_user_id on purchase (user_id, created_at desc, id desc);
create index purchase_open on purchase (created_at) where status in ('open', 'processing');
create index purchase_next_check on purchase (next_check_at) where next_check_at is not null;
-- Two plans at once would be paid twice, so a person begins one at a time.
create unique index purchase_open_plan on purchase (user_id)
  where kind = 'plan_checkout' and status = 'open';
create index purchase_subscription_id on purchase (subscription_id) where subscription_id is not null;

-- A plan is a subscription at the provider; the row is what was last read of it, and what was paid.
create table plan (
  subscription_id text primary key,
  user_id text not null,
  customer_id text not null,
  -- What the last paid invoice was for; the tier follows it. Before the first one, what it will be for.
  package_id text not null,
  -- What the next invoice will be for.
  next_package_id text not null,
  status text not null check (status in ('incomplete', 'incomplete_expired', 'trialing', 'active',
    'past_due', 'canceled', 'unpaid', 'paused')),
  current_period_start timestamptz,
  current_period_end timestamptz,
  -- When we learned that a payment had failed.
  past_due_since timestamptz,
  cancel_at_period_end boolean not null default false,
  ended_at timestamptz,
  -- What is to be paid of its latest invoice, with tax; null when nothing is overdue.
  due_minor integer check (due_minor >= 0),
  -- The paid invoice whose period ends last; null before the first one, and until then the plan brings
  -- no tier.
  invoice_id text,
  -- When the first one was paid, and the end of that last period.
  paid_since timestamptz,
  paid_until timestamptz,
  -- Ended by us together with its tier, whatever was paid: its credits went back, its payment was taken
  -- back, it was the second plan of one person, or the person goes.
  revoked_at timestamptz,
  -- The end of the period that was given back: what was paid for later ones goes back, too.
  revoked_from timestamptz,
  revoked_as text check (revoked_as in ('refunded', 'taken_back', 'second', 'erased')),
  -- When its tier ends, as far as is known now; somebody looks then.
  tier_due_at timestamptz,
  -- When the reading of the provider began that this row is from, by the clock of this database: of two
  -- readings the one that began later counts, whichever is stored last.
  reading timestamptz not null,
  -- The same moment by the application's clock.
  checked_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index plan_user_id on plan (user_id, created_at desc);
create index plan_tier_due on plan (tier_due_at) where tier_due_at is not null;
create index plan_checked on plan (checked_at) where ended_at is null;

-- Events as they were delivered, each once. What they tell of is read from the provider again, so only
-- their names are kept.
create table stripe_event (
  id text primary key check (id like 'evt\_%'),
  type text not null,
  object_id text,
  created_at timestamptz not null,
  received_at timestamptz not null default now(),
  processed_at timestamptz,
  -- What it came to, in one word of ours: `fulfilled`, `closed`, `unchanged`, `ignored` …
  outcome text
);
create index stripe_event_open on stripe_event (received_at) where processed_at is null;

-- How far somebody has looked at the provider for deliveries that never came. One of several workers
-- takes a turn, by moving `tried_at`; `seen_until` moves when it has seen everything up to then.
create table webhook_poll (
  only_row boolean primary key default true check (only_row),
  tried_at timestamptz not null,
  seen_until timestamptz not null
);

-- A bank took a payment back, or asks about it. What it took of a lot stands in the ledger, under the
-- same id.
create table dispute (
  id text primary key,
  user_id text not null,
  purchase_id text not null references purchase (id),
  lot_id text not null,
  charge_id text not null,
  amount_minor integer not null check (amount_minor >= 0),
  currency text not null,
  status text not null,
  -- `inquiry` freezes, `withdrawn` takes and owes, `won` and `closed` give back, `lost` stays.
  stage text not null check (stage in ('inquiry', 'withdrawn', 'won', 'lost', 'closed')),
  created_at timestamptz not null,
  -- When we learned that the money had left us, and that it had come back.
  withdrawn_at timestamptz,
  returned_at timestamptz,
  updated_at timestamptz not null default now(),
  closed_at timestamptz
);
create index dispute_user_id on dispute (user_id);
create index dispute_open on dispute (created_at) where closed_at is null;

-- The card network warns that a payment is probably fraud, before anybody disputes it.
create table fraud_warning (
  id text primary key,
  user_id text not null,
  purchase_id text not null references purchase (id),
  charge_id text not null,
  fraud_type text not null,
  created_at timestamptz not null,
  -- What an operator did about it.
  settled_as text check (settled_as in ('refunded', 'kept')),
  settled_at timestamptz
);
create index fraud_warning_user_id on fraud_warning (user_id);

-- How far somebody has looked whether an account that was closed has to be paid back: its version then,
-- and when to look again though nothing has moved, because a bank has refused.
create table closed_account_check (
  user_id text primary key,
  seen_version bigint not null,
  again_at timestamptz
);

-- What was paid back without us: by the bank, or by somebody at the provider's own pages. What it took of
-- the lot stands in the ledger, as a claim; how much money it was stands here.
create table bank_refund (
  id text primary key,
  user_id text not null,
  purchase_id text not null references purchase (id),
  lot_id text not null,
  charge_id text,
  amount_minor integer not null check (amount_minor >= 0),
  currency text not null,
  status text not null check (status in ('pending', 'succeeded', 'failed')),
  created_at timestamptz not null,
  -- When we learned of it, and that it had failed.
  booked_at timestamptz not null,
  failed_at timestamptz,
  updated_at timestamptz not null default now()
);
create index bank_refund_user_id on bank_refund (user_id);
create index bank_refund_lot_id on bank_refund (lot_id);

-- A mail when few credits are left.
alter table users add column notify_low_balance boolean not null default true;
