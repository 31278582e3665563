import { Problem } from '#services/platform/problem.ts';
import { canResume, resumePurchase } from '#services/payments/purchases/checkout.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { askBackOfClosed, dueClosedAccounts } from '#services/payments/refunds/closed-accounts.ts';
import { leftOver, notGranted } from '#services/payments/disputes/fraud-warnings.ts';
import { jobAttempts } from './lock.ts';
import { settle } from './settle.ts';
import { recordUnpaid, soon } from '#services/payments/purchases/rows.ts';
import type { PurchaseRow } from '#services/payments/purchases/rows.ts';
import { paymentTasks } from '#services/payments/tasks.ts';
import { acceptWebhookEvent } from '#services/payments/webhooks.ts';

/** Payments, and webhook events without a job, in one pass. */
const sweepAtOnce = 20;

/** A payment intent never expires at the provider; here it does. */
const intentMs = 86_400_000;

/** A webhook event that is unprocessed for this long has lost its job. */
const jobMs = 120_000;

/** The provider lists events for thirty days only. */
const webhookEventKeptMs = 5_184_000_000;
const purgedAtOnce = 1_000;

/** How often missed webhook events are fetched, and how far back: at first as far as the provider lists. */
const pollEveryMs = 300_000;
const pollBackMs = 3_600_000;
const firstPollBackMs = 2_592_000_000;

/**
 * Finds what no webhook event has reported: payments that are due for a check, closed accounts with
 * credits, lost jobs, and events that never arrived. Called often and by several processes; what is due
 * is taken by the statement that finds it.
 */
export async function sweepPayments(dependencies: PaymentDependencies): Promise<void> {
  // The provider is not asked for these, so they do not wait for it.
  await askBackFromClosedAccounts(dependencies);
  try {
    await checkDuePayments(dependencies);
    await addLostJobs(dependencies);
    await tryJobsAgain(dependencies);
    await forgetWebhookEvents(dependencies);
    await fetchMissedEvents(dependencies);
  } catch (error) {
    // Where nothing can be bought there is no provider to ask.
    if (!(error instanceof Problem && error.code === 'payments-unavailable')) throw error;
  }
}

async function askBackFromClosedAccounts(dependencies: PaymentDependencies): Promise<void> {
  for (const userId of await dueClosedAccounts(dependencies))
    await askBackOfClosed(dependencies, userId).catch((error: unknown) =>
      dependencies.log.warn({ err: error, user_id: userId }, 'A closed account was not paid back'),
    );
}

// --- payments that are due for a check ---

async function checkDuePayments(dependencies: PaymentDependencies): Promise<void> {
  for (const row of await takeDue(dependencies)) {
    try {
      await check(dependencies, row);
    } catch (error) {
      dependencies.log.warn({ err: error, resource_id: row.id }, 'A payment could not be checked');
      // The provider is unavailable: the others are due again soon enough.
      if (error instanceof Problem && error.status === 503) return;
    }
  }
}

/** Taken by moving it, to where it is due again soon should the check fail. */
async function takeDue({ pool, clock }: PaymentDependencies): Promise<PurchaseRow[]> {
  const now = new Date(clock());
  const { rows } = await pool.query<PurchaseRow>(
    `update purchase set next_check_at = $2 where id in (
       select id from purchase where next_check_at <= $1
       order by next_check_at limit $3 for update skip locked)
     returning *`,
    [now, soon(now), sweepAtOnce],
  );
  return rows;
}

/** Whatever is ended here and turns out to be paid becomes paid all the same. */
async function check(dependencies: PaymentDependencies, row: PurchaseRow): Promise<void> {
  const providerId = row.kind === 'intent' ? row.payment_intent_id : row.session_id;
  if (row.status === 'open' && providerId === null)
    return canResume(dependencies, row) ? resumeOrEnd(dependencies, row) : end(dependencies, row);
  const { outcome } = await settle(dependencies, { purchaseId: row.id });
  const age = dependencies.clock() - row.created_at.getTime();
  if (outcome === 'open' && row.kind === 'intent' && age >= intentMs) await end(dependencies, row);
}

/** A process that was killed before the answer was stored has left neither session nor refusal. */
async function resumeOrEnd(dependencies: PaymentDependencies, row: PurchaseRow): Promise<void> {
  try {
    await resumePurchase(dependencies, row);
  } catch (error) {
    const isGone = error instanceof Problem && error.code === 'account-closed';
    if (!isGone) throw error;
    await end(dependencies, row);
  }
}

async function end({ pool, clock }: PaymentDependencies, row: PurchaseRow): Promise<void> {
  await recordUnpaid(pool, row.id, { status: 'expired' }, new Date(clock()));
}

// --- webhook events whose job is gone ---

/** A job that has used up its attempts is as good as none. */
async function addLostJobs({ pool, clock, log }: PaymentDependencies): Promise<void> {
  const { rowCount } = await pool.query(
    `select graphile_worker.add_job('process-webhook-event', json_build_object('eventId', lost.id),
       job_key := lost.id, max_attempts := $3)
     from (
       select id from stripe_event e
       where processed_at is null and received_at < $1 and not exists (
         select from graphile_worker.jobs job
         where job.key = e.id and (job.attempts < job.max_attempts or job.locked_at is not null))
       order by received_at limit $2) lost`,
    [new Date(clock() - jobMs), sweepAtOnce, jobAttempts],
  );
  if (rowCount !== null && rowCount > 0)
    log.warn({ count: rowCount }, 'Lost jobs of webhook events were added again');
}

/** Jobs that have used up their attempts, because the provider was unavailable for days, begin again. */
async function tryJobsAgain(dependencies: PaymentDependencies): Promise<void> {
  const { pool, log } = dependencies;
  const { rowCount } = await pool.query(
    `select from graphile_worker.reschedule_jobs(array(
       select id from graphile_worker.jobs
       where task_identifier = any ($1) and attempts >= max_attempts and locked_at is null
         and run_at <= now()
       order by run_at limit $2), attempts := 0)`,
    [Object.keys(paymentTasks(dependencies)), sweepAtOnce],
  );
  if (rowCount !== null && rowCount > 0)
    log.warn({ count: rowCount }, 'Jobs of payments had used up their attempts and begin again');
}

/** A warning that waits for an operator is kept until it is settled. */
async function forgetWebhookEvents({ pool, clock }: PaymentDependencies): Promise<void> {
  await pool.query(
    `delete from stripe_event where id in (
       select id from stripe_event where processed_at < $2 and not (${leftOver})
       limit $3 for update skip locked)`,
    [notGranted, new Date(clock() - webhookEventKeptMs), purgedAtOnce],
  );
}

// --- webhook events that never arrived ---

/**
 * Fetches events that the provider could not send. It goes back a little further than the last poll,
 * because an event may be listed later than it happened; what has arrived already is not taken again.
 */
async function fetchMissedEvents(dependencies: PaymentDependencies): Promise<void> {
  const { pool, provider, clock, log } = dependencies;
  const now = clock();
  const since = await takePoll(dependencies, now);
  if (since === null) return;
  let found = 0;
  for await (const event of provider.listEvents(since, true))
    if (await acceptWebhookEvent(pool, event, new Date(now))) found += 1;
  await pool.query('update webhook_poll set seen_until = $1 where seen_until < $1', [
    new Date(now),
  ]);
  if (found > 0) log.warn({ count: found }, 'Webhook events had not arrived and were fetched');
}

/** From when on to list; null when it is not due, or another process has taken the turn. */
async function takePoll({ pool }: PaymentDependencies, now: number): Promise<number | null> {
  const { rows } = await pool.query<{ seen_until: Date }>(
    `insert into webhook_poll as poll (tried_at, seen_until) values ($1, $3)
     on conflict (only_row) do update set tried_at = excluded.tried_at where poll.tried_at <= $2
     returning seen_until`,
    [new Date(now), new Date(now - pollEveryMs), new Date(now - firstPollBackMs)],
  );
  const seenUntil = rows[0]?.seen_until;
  return seenUntil === undefined ? null : seenUntil.getTime() - pollBackMs;
}
