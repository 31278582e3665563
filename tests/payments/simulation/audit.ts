import { anchorNow, verifyAnchors } from '#db/anchors.ts';
import { verifyEvents } from '#db/verify-events.ts';
import { readLedgerSums, readUnbalanced } from '#projections/credit-ledger.ts';
import { projections } from '#projections/index.ts';
import { verify } from '#projections/engine/verify.ts';
import type { AccountBalance } from '#services/credits/account/events.ts';
import type { LedgerAccount } from '#services/credits/account/movements.ts';
import { recordedCreditEvents, replay } from '#services/credits/audit/replay.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import type { Difference } from '#services/payments/settle/reconcile/difference.ts';
import { reconcile } from '#services/payments/settle/reconcile/reconcile.ts';
import { Fault, requireThat } from '#tests/credits/ledger-oracle.ts';
import type { BookedLot } from '#tests/credits/ledger-oracle.ts';
import type { WatchedAccount } from './ledger-watch.ts';
import { clawbackOf, isLive } from './truth.ts';
import type { World } from './world.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

/** The sweepers run after minutes, some hours, or a day. */
const hops = [6 * minute, 45 * minute, 7 * 60 * minute, 25 * 60 * minute, 20 * minute];

/** Stops all faults and advances time until no work is left. */
export async function settle(world: World): Promise<void> {
  world.clearFaults();
  delete world.shop.stripe.faults.refunds;
  for (const { life } of [world.api(), world.worker()]) life.arm(null);
  letBanksDecide(world);
  let quiet = 0;
  for (let round = 0; round < 60; round += 1) {
    const before = world.events();
    await world.shop.stripe.deliverAll({ order: (events) => world.chance.shuffled(events) });
    await world.runJobs();
    await world.look();
    await world.tidy();
    await world.pass(hops[round % hops.length]!);
    await world.sweep();
    await world.runJobs();
    await world.look();
    await world.tidy();
    const isQuiet =
      world.events() === before &&
      world.shop.stripe.pendingWebhookEvents().length === 0 &&
      (await openWork(world)).length === 0;
    quiet = isQuiet ? quiet + 1 : 0;
    // Once through all of them: some are swept every few hours, or once a day.
    if (quiet === hops.length) return;
  }
  throw new Fault(`Nothing comes to rest: ${JSON.stringify(await openWork(world))}`);
}

/** The fake lets a bank confirm a checkout after some days, but no payment of another client. */
function letBanksDecide({ shop, truth, now }: World): void {
  const ofSessions = new Set(truth.sessions().map((one) => truth.idOf(one.payment_intent)));
  for (const { id, status, created, metadata } of truth.intents()) {
    const isOld = status === 'processing' && created * 1000 < now() - 5 * day;
    if (isOld && 'purchase_id' in metadata && !ofSessions.has(id))
      shop.stripe.settleLater(id, 'paid');
  }
}

/** Jobs and webhook events that are not processed. */
async function openWork({ shop }: World): Promise<unknown[]> {
  const { rows } = await shop.database.ownerPool.query<{ work: string }>(
    `select task_identifier || ' ' || coalesce(key, '') || ' ' || attempts || ' '
       || coalesce(left(last_error, 200), '') as work
     from graphile_worker.jobs
     where task_identifier not in ('send-mail', 'call-model', 'notify-run', 'stage-deadline',
       'run-deadline')
     union all
     select id || ' ' || type from stripe_event where processed_at is null`,
  );
  return rows;
}

/** After everything has settled: both books, every read model, every chain. */
export async function audit(world: World): Promise<void> {
  requirePayments(world);
  requireRefunds(world);
  requireClaims(world);
  requireFrozen(world);
  await requirePlans(world);
  await requirePurchases(world);
  await requireGone(world);
  requireNoHolds(world);
  await requireReconciled(world);
  await requireVerified(world);
}

/** L7: every payment is granted, to its own user, and nothing else is. */
function requirePayments({ truth, watch }: World): void {
  const granted = new Map(
    [...watch.accounts.values()].flatMap(({ userId, lots }) =>
      [...lots.values()].flatMap((lot) =>
        lot.paymentKey === null ? [] : [[lot.paymentKey, { userId, ...lot }] as const],
      ),
    ),
  );
  const payments = truth.payments();
  for (const payment of payments) {
    const lot = granted.get(payment.paymentKey);
    requireThat(
      lot?.userId === payment.userId &&
        lot.granted === payment.credits &&
        lot.paidMinor === payment.paidMinor,
      'L7: what was paid was not granted',
      { payment, lot: lot?.lotId },
    );
  }
  requireThat(payments.length === granted.size, 'L7: more was granted than was paid', {
    payments: payments.length,
    granted: granted.size,
  });
}

/** L7: each refund of ours is one refund there, and the other way round. */
function requireRefunds({ truth, watch }: World): void {
  const known = new Map(
    [...watch.accounts.values()].flatMap(({ refunds }) => [...refunds.entries()]),
  );
  const shown = truth.refunds().filter(({ metadata }) => metadata?.['refund_id'] !== undefined);
  for (const refund of shown) {
    const ours = known.get(refund.metadata?.['refund_id'] ?? '');
    const expected = { succeeded: 'confirmed', pending: 'pending', failed: 'failed' }[
      refund.status ?? ''
    ];
    requireThat(
      ours?.amountMinor === refund.amount && ours.status === expected,
      'L7: a refund is another in the ledger',
      { refund, ours },
    );
  }
  for (const account of watch.accounts.values())
    for (const lot of account.lots.values()) {
      const paidBack = [...account.refunds.values()]
        .filter(({ lotId, status }) => lotId === lot.lotId && status !== 'failed')
        .reduce((sum, { amountMinor }) => sum + amountMinor, watch.byBanks(lot));
      requireThat(paidBack <= lot.paidMinor, 'More is paid back than was paid', lot.lotId);
    }
  for (const ours of known.values()) {
    const count = shown.filter(({ metadata }) => metadata?.['refund_id'] === ours.refundId).length;
    requireThat(
      count === 1 || (count === 0 && ours.status === 'failed'),
      'L7: a refund of the ledger was not made once',
      { ours, count },
    );
  }
}

/** What banks have taken back is what clawbacks take. */
function requireClaims({ truth, watch }: World): void {
  for (const account of watch.accounts.values())
    for (const lot of account.lots.values()) {
      const payment = lot.paymentKey === null ? null : truth.paymentByKey(lot.paymentKey);
      const refs = new Set(lot.clawbacks.keys());
      if (payment !== null) {
        refs.add(payment.chargeId);
        for (const { id, charge } of truth.disputes())
          if (truth.idOf(charge) === payment.chargeId) refs.add(id);
      }
      for (const ref of refs) {
        const clawback = lot.clawbacks.get(ref);
        const expected = watch.expectedClawback(account, lot, ref);
        requireThat(
          expected?.wanted === (clawback?.wanted ?? 0) &&
            (expected.wanted === 0 || expected.owes === clawback?.owes),
          'A clawback is not what the provider shows',
          { lotId: lot.lotId, ref, clawback, expected },
        );
      }
    }
}

const tiers = ['free', 'pro', 'scale'];

/** One plan per user; only its paid periods give its tier. */
async function requirePlans(world: World): Promise<void> {
  const { shop, truth, people, now } = world;
  const { rows } = await shop.database.pool.query<{ id: string; revoked: boolean }>(
    'select subscription_id as id, revoked_at is not null as revoked from plan',
  );
  const revoked = new Set(rows.filter((row) => row.revoked).map(({ id }) => id));
  const { rows: users } = await shop.database.pool.query<{ id: string; tier: string }>(
    'select id, subscription_tier as tier from users',
  );
  const payments = truth.payments();
  for (const { userId, name, hasLeft } of people) {
    const plans = truth.subscriptions().filter(({ metadata }) => metadata['user_id'] === userId);
    const live = plans.filter(isLive);
    requireThat(live.length <= (hasLeft ? 0 : 1), 'A user has more than one plan', {
      name,
      hasLeft,
      live: live.map(({ id }) => id),
    });
    requireThat(
      plans.every((plan) => !revoked.has(plan.id) || !isLive(plan)),
      'A plan that we ended continues',
      name,
    );
    for (const { id } of live) requirePaidPeriod(world, id);
    const user = users.find(({ id }) => id === userId);
    if (user === undefined) continue;
    const paid = plans
      .filter(({ id }) => !revoked.has(id))
      .flatMap((plan) => {
        const own = payments.filter(({ subscriptionId }) => subscriptionId === plan.id);
        const last = own.at(-1);
        const tier = tiers.indexOf(packageOf(last?.packageId ?? '')?.tier ?? 'free');
        const until = Math.max(0, ...own.map(({ periodEnd }) => periodEnd ?? 0));
        return last === undefined ? [] : [{ tier, until, isLive: isLive(plan) }];
      });
    const least = Math.max(0, ...paid.filter(({ until }) => now() < until).map((one) => one.tier));
    const possible = paid.filter((one) => now() < one.until + (one.isLive ? 15 * day : 0));
    const most = Math.max(0, ...possible.map((one) => one.tier));
    const rank = tiers.indexOf(user.tier);
    requireThat(rank >= least && rank <= most, 'A tier is not what was paid for', {
      name,
      tier: user.tier,
      paid,
      now: now(),
    });
  }
}

/** A plan whose present period was refunded or clawed back in full has ended. */
function requirePaidPeriod(world: World, subscriptionId: string): void {
  const { truth, watch, now } = world;
  const own = truth.payments().filter((payment) => payment.subscriptionId === subscriptionId);
  const last = own.at(-1);
  if (last === undefined || (last.periodEnd ?? 0) <= now()) return;
  const account = watch.accountOf(last.userId);
  const lot = [...account.lots.values()].find(({ paymentKey }) => paymentKey === last.paymentKey);
  const isAskedBack = [...account.refunds.values()].some(({ lotId }) => lotId === lot?.lotId);
  const isTakenBack = truth
    .disputes()
    .some(
      (one) =>
        truth.idOf(one.charge) === last.chargeId &&
        clawbackOf(one).owes &&
        one.amount === last.paidMinor,
    );
  requireThat(!isAskedBack && !isTakenBack, 'A plan continues whose period is not paid for', {
    subscriptionId,
    isAskedBack,
    isTakenBack,
  });
}

/** A purchase has the state of its checkout at the provider. */
async function requirePurchases({ shop, truth }: World): Promise<void> {
  const { rows } = await shop.database.pool.query<{ id: string; status: string; kind: string }>(
    'select id, status, kind from purchase',
  );
  const sessions = new Map(
    truth.sessions().map((session) => [session.metadata?.['purchase_id'] ?? '', session]),
  );
  for (const { id, status, kind } of rows) {
    const session = sessions.get(id);
    if (kind === 'invoice' || session === undefined) continue;
    const isPaid = session.payment_status === 'paid';
    requireThat((status === 'paid') === isPaid, 'A purchase is not what its checkout is', {
      id,
      status,
      session: [session.status, session.payment_status],
    });
    if (status === 'open')
      requireThat(session.status === 'open', 'A purchase stays open', {
        id,
        session: session.status,
      });
  }
}

/** A user who asked to be erased is gone, here and at the provider. */
async function requireGone({ shop, truth, watch, people }: World): Promise<void> {
  const left = people.filter(({ hasLeft }) => hasLeft).map(({ userId }) => userId);
  const { rows } = await shop.database.pool.query<{ id: string }>(
    `select id from users where id = any ($1)
     union all select customer_id from stripe_customer where user_id = any ($1)`,
    [left],
  );
  requireThat(rows.length === 0, 'An erased user is still stored', rows);
  for (const account of watch.accounts.values())
    requireThat(watch.stuck(account).length === 0, 'Money of an erased user is kept', [
      account.userId,
      ...watch.stuck(account).map(({ lotId }) => lotId),
    ]);
  const kept = truth
    .customers()
    .filter((one) => one.deleted !== true && left.includes(one.metadata['user_id'] ?? ''));
  requireThat(
    kept.length === 0,
    'The provider still knows who left',
    kept.map(({ id }) => id),
  );
}

/** L10: every run has ended. */
function requireNoHolds({ watch }: World): void {
  for (const { userId, holds } of watch.accounts.values())
    requireThat(holds.size === 0, 'L10: credits are still held', [userId, ...holds.keys()]);
}

async function requireReconciled(world: World): Promise<void> {
  const found = await reconcile(world.shop.payments, world.begun);
  const { cash, isBalanced } = found;
  const differences = [...found.differences, ...found.settling].filter(
    (one) => !isForSomebody(world, one),
  );
  requireThat(differences.length === 0, 'The books differ', differences);
  requireThat(isBalanced, 'The money does not sum to 0', cash);
  for (const { accounts } of cash)
    for (const { account, amountMinor } of accounts)
      requireThat(
        account !== 'stripe:clearing' || amountMinor === 0,
        'Money is left between the ledger and the provider',
        cash,
      );
  world.count('reconciliations');
}

/** A difference that no worker can repair is reported as long as it lasts. */
function isForSomebody(world: World, { kind, object, userId }: Difference): boolean {
  const account = world.watch.accounts.get(userId ?? '');
  if (account === undefined) return false;
  if (kind === 'refund-failed-erased') {
    world.count('refunds that no bank takes');
    return account.closed !== null && account.refunds.get(object)?.status === 'failed';
  }
  if (kind !== 'clawback-unfilled') return false;
  world.count('money that went back twice');
  return [...account.lots.values()].some(
    (lot) => lot.clawbacks.has(object) && wentBack(world, lot) > lot.paidMinor,
  );
}

/** An account that got a payment back twice was frozen for it once, even if an operator lifted that since. */
function requireFrozen({ watch, truth, count }: World): void {
  for (const account of watch.accounts.values())
    for (const lot of account.lots.values()) {
      if (watch.overpaidOf(lot) === 0) continue;
      const payment = truth.paymentByKey(lot.paymentKey ?? '');
      requireThat(
        truth
          .disputes()
          .some(
            (one) => truth.idOf(one.charge) === payment?.chargeId && account.frozenBy.has(one.id),
          ),
        'A payment went back twice and freezes nothing',
        { userId: account.userId, lotId: lot.lotId },
      );
      count('freezes');
    }
}

/** All money of a payment that is no longer with us. */
function wentBack({ truth }: World, { paymentKey }: BookedLot): number {
  const payment = paymentKey === null ? null : truth.paymentByKey(paymentKey);
  if (payment === null) return 0;
  const refunded = truth
    .refundsOf(payment.intentId)
    .filter(({ status }) => status !== 'failed')
    .reduce((sum, { amount }) => sum + amount, 0);
  return truth
    .disputes()
    .filter((one) => truth.idOf(one.charge) === payment.chargeId && clawbackOf(one).owes)
    .reduce((sum, { amount }) => sum + amount, refunded);
}

/** L4 to L6, and L8: accounts, runs, read models, chains and their anchors. */
async function requireVerified(world: World): Promise<void> {
  const { shop, watch, chance, now } = world;
  const { pool, ownerPool } = shop.database;
  const { faults } = await verifyEvents(pool);
  requireThat(faults.length === 0, 'L8: a chain is broken', faults);
  for (const projection of projections.filter(({ kind }) => kind === 'inline')) {
    const { differences } = await verify(ownerPool, projection);
    requireThat(differences.length === 0, `L6: ${projection.name} differs`, differences);
  }
  const unbalanced = await readUnbalanced(pool);
  requireThat(unbalanced.length === 0, 'L1: a transaction does not sum to 0', unbalanced);
  for (const account of watch.accounts.values()) await requireLedger(world, account);
  for (const { userId } of watch.accounts.values()) {
    const { events } = await shop.core.readStream(`credits-${userId}`);
    const recorded = recordedCreditEvents(events);
    const whole = replay(userId, recorded);
    requireThat(whole.verified, 'An account is not what its events say', whole.differences);
    const cut = chance.pick(recorded);
    if (cut === undefined) continue;
    const earlier = replay(userId, recorded, { position: cut.position });
    requireThat(earlier.verified, 'L6: an earlier account is another', earlier.differences);
  }
  await anchorNow({ pool, clock: now, log: shop.context.log });
  const anchors = await verifyAnchors(pool);
  requireThat(anchors.broken.length === 0, 'L8: an anchor is not reached', anchors.broken);
  world.count('audits');
}

/** The double entry of a user equals the account's own books. */
async function requireLedger({ shop }: World, account: WatchedAccount): Promise<void> {
  const debt = account.debt();
  const lines = await readLedgerSums(shop.database.pool, account.userId);
  const of = (name: LedgerAccount) => lines.get(name) ?? 0;
  const found: Omit<AccountBalance, 'freezes'> = {
    available: of('user:available'),
    held: of('user:held'),
    debt: -of('user:debt'),
    consumed: of('sys:consumed') + of('sys:refunded_job'),
    refundPending: of('sys:cash_pending'),
    refunded: of('sys:cash_refunded'),
    // Debt has been clawed back too; it is only unpaid.
    revoked: of('sys:revoked') - debt,
    purchased: -of('sys:issued_paid'),
    bonus: -of('sys:issued_bonus'),
    other: -of('sys:issued_other'),
  };
  const expected = account.balance();
  for (const [name, credits] of Object.entries(found))
    requireThat(
      credits === expected[name as keyof AccountBalance],
      'The double entry says something else of a person',
      { userId: account.userId, found, expected },
    );
}
