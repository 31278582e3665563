import type { Task } from 'graphile-worker';
import * as v from 'valibot';
import { refundLimits } from '#services/platform/limits.ts';
import { Problem } from '#services/platform/problem.ts';
import { askBackOfClosed, dueClosedAccounts } from './closed-accounts.ts';
import { bookDispute } from '#services/payments/disputes/disputes.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { paymentOfLot } from '#services/payments/settle/granted-payment.ts';
import { tellOfRefund } from './mail.ts';
import { bookBankRefunds, bookRefund, readRefund, sendRefund } from './refunds.ts';
import type { NamedRefund, RefundOutcome } from './refunds.ts';

const SendPayload = v.object({ userId: v.string(), refundId: v.string() });
const MailPayload = v.object({
  ...SendPayload.entries,
  outcome: v.picklist(['confirmed', 'failed']),
});

/** The jobs of refunds; each may run twice or be killed anywhere. */
export function refundTasks(
  dependencies: PaymentDependencies,
): Readonly<Record<'send-refund' | 'mail-refund', Task>> {
  return {
    'send-refund': async (payload) => {
      const named = v.parse(SendPayload, payload);
      const outcome = await sendRefund(dependencies, named);
      if (outcome === 'pending') await tellOfRefund(dependencies, named, 'pending');
    },
    'mail-refund': async (payload) => {
      const { outcome, ...named } = v.parse(MailPayload, payload);
      await tellOfRefund(dependencies, named, outcome);
    },
  };
}

/**
 * Looks after what nobody told us: refunds that stay pending, refunds that were made and failed later,
 * disputes that moved, money that came free when nobody was left to ask for it. Called often and by several processes; what is due is clawed back by the statement
 * that finds it, so each is asked about by one of them.
 */
export async function sweepRefunds(dependencies: PaymentDependencies): Promise<void> {
  const asked: Asked[] = [
    // The provider is not asked for these, so they come first: it may be away.
    ...(await dueClosedAccounts(dependencies)).map((id) => ({
      id,
      ask: async () => askBackOfClosed(dependencies, id),
    })),
    ...(await dueRefunds(dependencies)).map((due) => ({
      id: due.refundId,
      ask: async () => askAboutRefund(dependencies, due),
    })),
    ...(await dueDisputes(dependencies)).map((id) => ({
      id,
      ask: async () => bookDispute(dependencies, id),
    })),
  ];
  for (const { id, ask } of asked) {
    try {
      await ask();
    } catch (error) {
      dependencies.log.warn({ err: error, resource_id: id }, 'Money could not be asked about');
      // The provider is away: the others are due again soon enough.
      if (error instanceof Problem && error.status === 503) return;
    }
  }
}

type Asked = { id: string; ask: () => Promise<unknown> };

type DueRefund = NamedRefund & { status: RefundOutcome; providerRefundId: string | null };

/**
 * Pending ones: after a while, and then less and less often, because banks take days. Those that were
 * made: once a day while they may still fail.
 */
async function dueRefunds({ pool, clock }: PaymentDependencies): Promise<DueRefund[]> {
  const { rows } = await pool.query<DueRefund>(
    `with due as (
       insert into refund_check as asked (refund_id, checked_at)
       select r.refund_id, $1 from cash_refund r left join refund_check c using (refund_id)
       where (r.status = 'pending' and r.requested_at <= $1::timestamptz - $2::interval
           and (c.checked_at is null or c.checked_at <= $1::timestamptz - least($4::interval,
             greatest($3::interval, ($1::timestamptz - r.requested_at) / 4))))
         or (r.status = 'confirmed' and r.ended_at > $1::timestamptz - $5::interval
           and coalesce(c.checked_at, r.ended_at) <= $1::timestamptz - $6::interval)
       order by c.checked_at nulls first, r.requested_at
       limit $7
       on conflict (refund_id) do update set checked_at = excluded.checked_at
         where asked.checked_at <= excluded.checked_at - $3::interval
       returning asked.refund_id)
     select r.refund_id as "refundId", r.user_id as "userId", r.status,
       r.provider_refund_id as "providerRefundId"
     from due join cash_refund r using (refund_id)`,
    [
      new Date(clock()),
      milliseconds(refundLimits.sweepAfterMs),
      milliseconds(refundLimits.askAgainMs),
      milliseconds(refundLimits.askAgainAtMostMs),
      milliseconds(refundLimits.mayFailMs),
      milliseconds(refundLimits.dailyMs),
      refundLimits.sweepAtOnce,
    ],
  );
  return rows;
}

async function askAboutRefund(dependencies: PaymentDependencies, due: DueRefund): Promise<void> {
  if (due.status === 'pending') {
    await sendRefund(dependencies, due);
    return;
  }
  const view =
    due.providerRefundId === null
      ? null
      : await dependencies.provider.retrieveRefund(due.providerRefundId);
  if (view === null) throw new Error('The provider does not show a refund that it made');
  if ((await bookRefund(dependencies, due, view)) !== 'failed') return;
  const { lot } = await readRefund(dependencies, due);
  await bookBankRefunds(dependencies, await paymentOfLot(dependencies, due.userId, lot));
}

/** Once a day while they are open. */
async function dueDisputes({ pool, clock }: PaymentDependencies): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `update dispute set updated_at = $1 where id in (
       select id from dispute
       where closed_at is null and updated_at <= $1::timestamptz - $2::interval
       order by updated_at limit $3 for update skip locked)
     returning id`,
    [new Date(clock()), milliseconds(refundLimits.dailyMs), refundLimits.sweepAtOnce],
  );
  return rows.map(({ id }) => id);
}

function milliseconds(count: number): string {
  return `${count} milliseconds`;
}
