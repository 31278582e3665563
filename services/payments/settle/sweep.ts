import { purchaseLimits } from '#services/platform/limits.ts';
import { Problem } from '#services/platform/problem.ts';
import { canResume, resumePurchase } from '#services/payments/purchases/checkout.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { leftOver, notGranted } from '#services/payments/disputes/fraud-warnings.ts';
import { fulfil } from '#services/payments/purchases/fulfil.ts';
import { recordUnpaid } from '#services/payments/purchases/purchases.ts';
import type { PurchaseRow } from '#services/payments/purchases/purchases.ts';
import { paymentTasks } from '#services/payments/tasks.ts';
import { acceptWebhookEvent } from '#services/payments/webhooks.ts';

/**
 * Looks after what nobody told us: purchases that stay open, deliveries whose job is gone, deliveries
 * that never came. Called often and by several processes; what is due is taken by the statement that
 * finds it.
 */
export async function sweepPurchases(dependencies: PaymentDependencies): Promise<void> {
  try {
    await askAboutPurchases(dependencies);
    await addLostJobs(dependencies);
    await tryJobsAgain(dependencies);
    await forgetWebhookEvents(dependencies);
    await fetchMissedEvents(dependencies);
  } catch (error) {
    // Where nothing can be bought there is nobody to ask.
    if (!(error instanceof Problem && error.code === 'payments-unavailable')) throw error;
  }
}

// --- purchases that stay open ---

async function askAboutPurchases(dependencies: PaymentDependencies): Promise<void> {
  for (const row of await duePurchases(dependencies)) {
    try {
      await askAbout(dependencies, row);
    } catch (error) {
      dependencies.log.warn(
        { err: error, resource_id: row.id },
        'A purchase could not be asked about',
      );
      // The provider is away: the others are due again soon enough.
      if (error instanceof Problem && error.status === 503) return;
    }
  }
}

/** Each is clawed back by moving `checked_at`. A bank may take two weeks, and is asked less and less often. */
async function duePurchases({ pool, clock }: PaymentDependencies): Promise<PurchaseRow[]> {
  const now = clock();
  const { rows } = await pool.query<PurchaseRow>(
    `update purchase set checked_at = $1 where id in (
       select id from purchase
       where status in ('open', 'processing') and kind <> 'invoice' and created_at <= $2
         and (checked_at is null or checked_at <= $1::timestamptz - least($4::interval,
           greatest($3::interval, ($1::timestamptz - created_at) / 4)))
       order by checked_at nulls first, created_at
       limit $5 for update skip locked)
     returning *`,
    [
      new Date(now),
      new Date(now - purchaseLimits.sweepAfterMs),
      `${purchaseLimits.askAgainMs} milliseconds`,
      `${purchaseLimits.askAgainAtMostMs} milliseconds`,
      purchaseLimits.sweepAtOnce,
    ],
  );
  return rows;
}

/** Whatever is ended here and turns out to be paid becomes paid all the same. */
async function askAbout(dependencies: PaymentDependencies, row: PurchaseRow): Promise<void> {
  const providerId = row.kind === 'intent' ? row.payment_intent_id : row.session_id;
  if (providerId === null)
    return canResume(dependencies, row) ? resumeOrEnd(dependencies, row) : end(dependencies, row);
  const { outcome } = await fulfil(dependencies, { purchaseId: row.id });
  const age = dependencies.clock() - row.created_at.getTime();
  if (outcome === 'open' && row.kind === 'intent' && age >= purchaseLimits.intentMs)
    await end(dependencies, row);
}

/** Whoever was killed before the answer was stored has left neither session nor refusal. */
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

// --- deliveries whose job is gone ---

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
    [
      new Date(clock() - purchaseLimits.jobMs),
      purchaseLimits.sweepAtOnce,
      purchaseLimits.deliveryAttempts,
    ],
  );
  if (rowCount !== null && rowCount > 0)
    log.warn({ count: rowCount }, 'Jobs of deliveries had gone missing and were added again');
}

/**
 * Of all jobs of payments those that have used up their attempts, because the provider was away for
 * days, begin anew when they would have been due.
 */
async function tryJobsAgain(dependencies: PaymentDependencies): Promise<void> {
  const { pool, log } = dependencies;
  const { rowCount } = await pool.query(
    `select from graphile_worker.reschedule_jobs(array(
       select id from graphile_worker.jobs
       where task_identifier = any ($1) and attempts >= max_attempts and locked_at is null
         and run_at <= now()
       order by run_at limit $2), attempts := 0)`,
    [Object.keys(paymentTasks(dependencies)), purchaseLimits.sweepAtOnce],
  );
  if (rowCount !== null && rowCount > 0)
    log.warn({ count: rowCount }, 'Jobs of payments had used up their attempts and begin anew');
}

/** A warning that waits for an operator is kept until somebody has settled it. */
async function forgetWebhookEvents({ pool, clock }: PaymentDependencies): Promise<void> {
  await pool.query(
    `delete from stripe_event where id in (
       select id from stripe_event where processed_at < $2 and not (${leftOver})
       limit $3 for update skip locked)`,
    [notGranted, new Date(clock() - purchaseLimits.webhookEventKeptMs), purchaseLimits.purgePage],
  );
}

// --- deliveries that never came ---

/**
 * Feeds in what the provider could not deliver. It goes back a little further than the last look,
 * because an event may be listed later than it happened; what has come already is not taken again.
 */
async function fetchMissedEvents(dependencies: PaymentDependencies): Promise<void> {
  const { pool, provider, clock, log } = dependencies;
  const now = clock();
  const since = await takePoll(dependencies, now);
  if (since === null) return;
  let found = 0;
  for await (const delivery of provider.listEvents(since, true))
    if (await acceptWebhookEvent(pool, delivery, new Date(now))) found += 1;
  await pool.query('update webhook_poll set seen_until = $1 where seen_until < $1', [
    new Date(now),
  ]);
  if (found > 0) log.warn({ count: found }, 'Deliveries had not arrived and were asked for');
}

/** From when on to look; null when it is not due, or somebody else has taken the turn. */
async function takePoll({ pool }: PaymentDependencies, now: number): Promise<number | null> {
  const { rows } = await pool.query<{ seen_until: Date }>(
    `insert into webhook_poll as look (tried_at, seen_until) values ($1, $3)
     on conflict (only_row) do update set tried_at = excluded.tried_at where look.tried_at <= $2
     returning seen_until`,
    [
      new Date(now),
      new Date(now - purchaseLimits.lookEveryMs),
      new Date(now - purchaseLimits.firstPollBackMs),
    ],
  );
  const seenUntil = rows[0]?.seen_until;
  return seenUntil === undefined ? null : seenUntil.getTime() - purchaseLimits.lookBackMs;
}
