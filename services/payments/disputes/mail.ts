import { derivedId } from '#services/platform/ids.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import {
  disputeOverEmail,
  disputeTakenEmail,
  inquiryEmail,
} from '#services/payments/emails/dispute.ts';
import type {
  ReturnedCredits,
  TakenCredits,
  DisputeNotice,
} from '#services/payments/emails/dispute.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { moneyText } from '#services/platform/numbers.ts';
import type { DisputeView } from '#services/payments/provider.ts';
import { packageNameOf } from '#services/payments/refunds/mail.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';
import type { GrantedPayment } from '#services/payments/purchases/rows.ts';

/**
 * Emails the buyer what a dispute means for their credits: once when a bank asks, once when the money is
 * gone, once when all came back. An erased account gets none. Again the same: nothing.
 */
export async function notifyOfDispute(
  dependencies: PaymentDependencies,
  view: DisputeView,
  payment: GrantedPayment,
): Promise<void> {
  const { userId } = payment;
  const to = await dependencies.noticeAddress(userId);
  if (to === null) return;
  const email = await emailOf(dependencies, view, payment);
  if (email === null || (await isSent(dependencies, view, email))) return;
  try {
    await dependencies.queueMail({
      id: derivedId('mai', view.disputeId, email.kind),
      userId,
      to,
      ...email,
    });
    await dependencies.pool.query(
      'update dispute set emails = array_append(emails, $2) where id = $1 and $2 <> all (emails)',
      [view.disputeId, email.kind],
    );
  } catch (error) {
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}

/** The email's id keeps it single while its row is kept; this does for as long as the dispute lasts. */
async function isSent(
  { pool }: PaymentDependencies,
  { disputeId }: DisputeView,
  { kind }: DisputeMail,
): Promise<boolean> {
  const { rowCount } = await pool.query('select from dispute where id = $1 and $2 = any (emails)', [
    disputeId,
    kind,
  ]);
  return rowCount === 1;
}

type DisputeMail = {
  kind: 'dispute-inquiry' | 'dispute-taken' | 'dispute-over';
  content: EmailContent;
};

/** Null where it has moved no credits. */
async function emailOf(
  dependencies: PaymentDependencies,
  view: DisputeView,
  payment: GrantedPayment,
): Promise<DisputeMail | null> {
  const { stage, disputeId } = view;
  const state = await dependencies.ledger.readAccount(payment.userId);
  const lot = state.lots.find(({ lotId }) => lotId === payment.lotId);
  if (!lot) return null;
  const notice: DisputeNotice = {
    ...dependencies,
    amount: moneyText(view.amountMinor, view.currency),
    packageName: await packageNameOf(dependencies, lot),
  };
  if (stage === 'won' || stage === 'closed') {
    const returned = await returnedCredits(dependencies, view, payment);
    const figures = { ...returned, stillOwed: sumOf(state.debts) };
    return returned.back + returned.cancelled === 0
      ? null
      : { kind: 'dispute-over', content: disputeOverEmail(notice, figures) };
  }
  const clawback = lot.clawbacks.find(({ ref }) => ref === disputeId);
  if (!clawback) return null;
  const owed = sumOf(state.debts.filter(({ ref }) => ref === disputeId));
  const figures: TakenCredits = {
    taken: clawback.taken - owed,
    owed,
    held: Math.max(0, Math.min(lot.held, clawback.wanted - clawback.taken)),
  };
  if (figures.taken + figures.owed + figures.held === 0) return null;
  return stage === 'inquiry'
    ? { kind: 'dispute-inquiry', content: inquiryEmail(notice, figures) }
    : { kind: 'dispute-taken', content: disputeTakenEmail(notice, figures) };
}

/** What its clawback has given back since it wants nothing any more, by the events of the account. */
async function returnedCredits(
  { pool }: PaymentDependencies,
  { disputeId }: DisputeView,
  { userId }: GrantedPayment,
): Promise<Omit<ReturnedCredits, 'stillOwed'>> {
  const { rows } = await pool.query<{ back: number; cancelled: number }>(
    `with moved as (
       select stream_position as position, message_type as type, message_data as data
       from emt_messages where stream_id = $1 and message_data ->> 'ref' = $2)
     select coalesce(sum((data ->> 'credits')::bigint)
         filter (where type in ('LotReinstated', 'DebtSettlementReversed')), 0)::float8 as back,
       coalesce(sum((data ->> 'credits')::bigint)
         filter (where type = 'DebtCancelled'), 0)::float8 as cancelled
     from moved
     where position > (select max(position) from moved
       where type = 'ClawbackSet' and (data ->> 'credits')::bigint = 0)`,
    [`credits-${userId}`, disputeId],
  );
  return rows[0] ?? { back: 0, cancelled: 0 };
}

function sumOf(parts: readonly { credits: number }[]): number {
  return parts.reduce((sum, { credits }) => sum + credits, 0);
}
